package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"torchpe/data/series"
	"torchpe/train"
)

// maskedFlags are the flags of masked prediction.
type maskedFlags struct {
	c         train.MaskedConfig
	nmar      train.NMAR
	data      []string
	source    sourceFlags
	surrogate string
}

func (f *maskedFlags) add(fl *pflag.FlagSet) {
	d, _ := train.Preset("nmar", "code")
	m := d.Masked
	fl.Float64Var(&f.c.Level, "mask-level", m.Level, "share of tokens masked in training [masked prediction]")
	fl.StringVar(&f.c.Draw, "mask-draw", m.Draw, "masks with an exact count or each token by itself: exact, bernoulli [masked prediction]")
	fl.StringVar(&f.c.Token, "mask-token", m.Token, "what a masked token carries: learned, zero [masked prediction]")
	fl.Float64Var(&f.c.TokenSD, "mask-sd", m.TokenSD, "standard deviation of the initial learned mask token [masked prediction]")
	fl.Float64SliceVar(&f.c.TestLevels, "test-levels", m.TestLevels, "shares of tokens masked in tests [masked prediction]")
	fl.StringVar(&f.c.Split, "split", m.Split, "what is held out: subjects, time (the end of each run), random (time points), auto (subjects where there are several, else time) [masked prediction]")
	fl.Float64Var(&f.c.TestShare, "test-share", m.TestShare, "share of subjects or time points that is held out [masked prediction]")
	fl.IntVar(&f.c.TestFrames, "test-frames", m.TestFrames, "held-out time points that are measured, evenly spaced; 0 = all [masked prediction]")
	fl.BoolVar(&f.c.ZScore, "zscore", m.ZScore, "bring each token of a run to mean 0 and SD 1 [masked prediction]")
	fl.StringVar(&f.c.Distance, "pe-distance", m.Distance, "distance between learned PEs for the network scores: euclidean, sign-aligned, corr2, cosine [masked prediction]")
	fl.IntVar(&f.nmar.Nodes, "nmar-nodes", m.NMAR.Nodes, "nodes of the simulated network; couplings are divided where it is larger than the paper's 15 nodes in 3 modules, so that their sums stay [nmar]")
	fl.IntVar(&f.nmar.Modules, "nmar-modules", m.NMAR.Modules, "modules of the simulated network [nmar]")
	fl.IntVar(&f.nmar.Frames, "nmar-frames", m.NMAR.Frames, "time points of the simulation [nmar]")
	fl.Float64Var(&f.nmar.Scale, "nmar-scale", m.NMAR.Scale, "factor on the autoregressive weights; 0 = one over the 3 lags, which keeps the process stable (1, as printed, diverges) [nmar]")
	const own = " [fmri, masked]"
	fl.StringArrayVar(&f.data, "data", nil, "file or folder with series; may be given several times, and more files may follow the flags"+own)
	f.source.add(fl, own)
	fl.StringVar(&f.source.s.Modules, "modules", "", "file with the tokens' modules, for the network scores: CAB-NP's LabelKey or list, names and labels, dlabel.nii"+own)
	fl.StringVar(&f.source.s.Subjects, "subjects", "", "table with the columns subject, set (train or test) and, if names of files do not tell, file"+own)
	fl.StringVar(&f.surrogate, "surrogate", "", "made-up data where none is given, such as subjects=12,frames=1195 [fmri]")
}

// set copies the values of given flags into c, and returns which of them its task has no use for.
func (f *maskedFlags) set(c *train.Config, given map[string]bool) (unused []string, err error) {
	m := &train.MaskedConfig{}
	if c.Masked != nil {
		copied := *c.Masked
		m = &copied
		c.Masked = m
	}
	if err := f.setSource(m, c.Task, given); err != nil {
		return nil, err
	}
	n, own := m.NMAR, m.Files
	if n != nil {
		copied := *n
		n, m.NMAR = &copied, &copied
	}
	setters := map[string]func(){
		"mask-level": func() { m.Level = f.c.Level }, "mask-draw": func() { m.Draw = f.c.Draw }, "mask-token": func() { m.Token = f.c.Token }, "mask-sd": func() { m.TokenSD = f.c.TokenSD },
		"test-levels": func() { m.TestLevels = f.c.TestLevels }, "split": func() { m.Split = f.c.Split }, "test-share": func() { m.TestShare = f.c.TestShare },
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
	}{{setters, c.Masked != nil}, {ofNMAR, n != nil}, {f.source.setters(own), own != nil}} {
		for name, set := range group.setters {
			switch {
			case given[name] && group.has:
				set()
			case given[name]:
				unused = append(unused, fmt.Sprintf("--%s has no effect on task %s without --data", name, c.Task))
				if c.Task == "lst" || c.Task == "nmar" {
					unused[len(unused)-1] = fmt.Sprintf("--%s has no effect on task %s", name, c.Task)
				}
			}
		}
	}
	if given["zscore"] && m.Surrogate != nil {
		unused = append(unused, "--zscore has no effect on the surrogate, which is made with mean 0 and SD 1")
	}
	return unused, nil
}

// setSource chooses between files and the surrogate.
func (f *maskedFlags) setSource(m *train.MaskedConfig, task string, given map[string]bool) error {
	takes := task == "fmri" || task == "masked"
	switch {
	case given["data"] && !takes:
		return fmt.Errorf("--data: task %s makes its own data; tasks fmri and masked read files", task)
	case given["surrogate"] && task != "fmri":
		return fmt.Errorf("--surrogate: task %s has none; task fmri has", task)
	case given["data"] && given["surrogate"]:
		return fmt.Errorf("--data and --surrogate both say what the data is: give one of them")
	case given["surrogate"]:
		s, err := parseSurrogate(f.surrogate, defaultSurrogate())
		m.Surrogate, m.Files = &s, nil
		return err
	case m.Files != nil || given["data"]:
		own := series.Source{}
		if m.Files != nil {
			own = *m.Files
		}
		if given["data"] {
			own.Data = f.data
		}
		m.Files, m.Surrogate = &own, nil
	}
	return nil
}
