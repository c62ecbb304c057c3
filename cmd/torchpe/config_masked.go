package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"torchpe/train"
)

// maskedFlags are the flags of masked prediction.
type maskedFlags struct {
	c    train.MaskedConfig
	nmar train.NMAR
}

func (f *maskedFlags) add(fl *pflag.FlagSet) {
	d, _ := train.Preset("nmar", "code")
	m := d.Masked
	fl.Float64Var(&f.c.Level, "mask-level", m.Level, "share of tokens masked in training [masked prediction]")
	fl.StringVar(&f.c.Draw, "mask-draw", m.Draw, "masks with an exact count or each token by itself: exact, bernoulli [masked prediction]")
	fl.StringVar(&f.c.Token, "mask-token", m.Token, "what a masked token carries: learned, zero [masked prediction]")
	fl.Float64SliceVar(&f.c.TestLevels, "test-levels", m.TestLevels, "shares of tokens masked in tests [masked prediction]")
	fl.Float64Var(&f.c.TestShare, "test-share", m.TestShare, "share of the time points that is held out, the last ones [masked prediction]")
	fl.IntVar(&f.c.TestFrames, "test-frames", m.TestFrames, "held-out time points that are measured, evenly spaced; 0 = all [masked prediction]")
	fl.BoolVar(&f.c.ZScore, "zscore", m.ZScore, "bring each token of a run to mean 0 and SD 1 [masked prediction]")
	fl.StringVar(&f.c.Distance, "pe-distance", m.Distance, "distance between learned PEs for the network scores: euclidean, sign-aligned, corr2, cosine [masked prediction]")
	fl.IntVar(&f.nmar.Nodes, "nmar-nodes", m.NMAR.Nodes, "nodes of the simulated network [nmar]")
	fl.IntVar(&f.nmar.Modules, "nmar-modules", m.NMAR.Modules, "modules of the simulated network [nmar]")
	fl.IntVar(&f.nmar.Frames, "nmar-frames", m.NMAR.Frames, "time points of the simulation [nmar]")
	fl.Float64Var(&f.nmar.Scale, "nmar-scale", m.NMAR.Scale, "factor on the autoregressive weights; 0 = what keeps the process stable [nmar]")
}

// set copies the values of given flags into c, and returns which of them its task has no use for.
func (f *maskedFlags) set(c *train.Config, given map[string]bool) (unused []string) {
	m, n := c.Masked, (*train.NMAR)(nil)
	if m != nil {
		copied := *m
		m = &copied
		c.Masked = m
		if m.NMAR != nil {
			simulated := *m.NMAR
			n = &simulated
			m.NMAR = n
		}
	}
	ofMasked := map[string]func(){
		"mask-level": func() { m.Level = f.c.Level }, "mask-draw": func() { m.Draw = f.c.Draw }, "mask-token": func() { m.Token = f.c.Token },
		"test-levels": func() { m.TestLevels = f.c.TestLevels }, "test-share": func() { m.TestShare = f.c.TestShare },
		"test-frames": func() { m.TestFrames = f.c.TestFrames }, "zscore": func() { m.ZScore = f.c.ZScore },
		"pe-distance": func() { m.Distance = f.c.Distance },
	}
	ofNMAR := map[string]func(){
		"nmar-nodes": func() { n.Nodes = f.nmar.Nodes }, "nmar-modules": func() { n.Modules = f.nmar.Modules },
		"nmar-frames": func() { n.Frames = f.nmar.Frames }, "nmar-scale": func() { n.Scale = f.nmar.Scale },
	}
	for _, group := range []struct {
		setters map[string]func()
		has     bool
	}{{ofMasked, m != nil}, {ofNMAR, n != nil}} {
		for name, set := range group.setters {
			switch {
			case given[name] && group.has:
				set()
			case given[name]:
				unused = append(unused, fmt.Sprintf("--%s has no effect on task %s", name, c.Task))
			}
		}
	}
	return unused
}
