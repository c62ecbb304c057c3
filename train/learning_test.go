package train

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// ownLearning is a short run whose PE learns in a way of its own, in everything that there is.
func ownLearning(t *testing.T) Config {
	c := tiny(t, "learn")
	c.Epochs, c.Optimizer, c.WarmupSteps, c.Schedule, c.ClipNorm = 2, string(torchpe.AdamW), 3, config.Linear, 0.5
	c.PEInit, c.PEInitScale, c.PEWarmupSteps, c.PEDropout, c.InitScale = "sinusoidal-2d", "sigma", new(9), 0.2, new(0.5)
	c.Members[0].PELR, c.Members[0].PEWeightDecay = new(5e-4), new(0.3)
	c.Members[1].PELR = new(0.0)
	return c
}

// trained runs c and returns its final checkpoint.
func trained(t *testing.T, c Config) *runlog.Checkpoint {
	t.Helper()
	dir, _ := runTiny(t, c)
	return checkpointOf(t, dir)
}

// TestOwnLearning: a run with every setting of the PE's learning that is interrupted ends with the same
// bits; each member ends as it does alone, and one with a rate of 0 keeps its table.
func TestOwnLearning(t *testing.T) {
	c := ownLearning(t)
	whole, _ := runTiny(t, c)
	resumesTo(t, c, whole, 7)

	both := floats(t, checkpointOf(t, whole), "w/pe.table")
	n := len(both) / 2
	for e := range 2 {
		alone := c
		alone.Members = c.Members[e : e+1]
		expect.Equal(t, fmt.Sprintf("member %d alone ends with another table", e),
			!reflect.DeepEqual(floats(t, trained(t, alone), "w/pe.table"), both[e*n:(e+1)*n]), false)
	}
	start := c
	start.LimitSteps, start.PEDropout = 1, 0
	first := floats(t, trained(t, start), "w/pe.table")
	expect.Equal(t, "a table with --pe-lr 0 has changed", first[n:], both[n:])
	expect.Equal(t, "a table with a learning rate has not changed", reflect.DeepEqual(first[:n], both[:n]), false)
}

// TestGroupOfEqualSettings: a group with the settings of the rest trains as no group does, up to
// the rounding of shorter loops; PE settings that are not given leave every bit and every key of
// the configuration as they were.
func TestGroupOfEqualSettings(t *testing.T) {
	plain := tiny(t, "learn")
	plain.Epochs, plain.WarmupSteps, plain.DType = 2, 5, "float64"
	grouped := plain
	grouped.Members = []Member{plain.Members[0], plain.Members[1]}
	grouped.PEWarmupSteps = new(5)
	for i := range grouped.Members {
		grouped.Members[i].PELR, grouped.Members[i].PEWeightDecay = new(plain.Members[i].LR), new(
			plain.Members[i].WeightDecay)
	}
	a, b := trained(t, plain), trained(t, grouped)
	for _, name := range a.Names() {
		x, y := floats(t, a, name), floats(t, b, name)
		for i := range x {
			if math.Abs(x[i]-y[i]) > 1e-10*(1+math.Abs(x[i])) {
				t.Fatalf("%s[%d]: %g with a group, %g without", name, i, y[i], x[i])
			}
		}
	}
	said := plain
	said.PEInit, said.InitScale = "normal", new(1.0)
	c := trained(t, said)
	for _, name := range a.Names() {
		x, _ := a.Tensor(name)
		if y, _ := c.Tensor(name); !bytes.Equal(x.Data, y.Data) {
			t.Errorf("%s differs where the defaults are said", name)
		}
	}
	for _, c := range []Config{plain, said} {
		expect.NoError(t, c.Resolve())
		text := expect.Must(c.JSON())
		for _, key := range []string{"pe_init", "pe_lr", "pe_weight_decay", "pe_warmup_steps", "pe_dropout",
			"init_scale"} {
			if strings.Contains(string(text), key) {
				t.Errorf("a configuration of defaults has the key %s", key)
			}
		}
	}
}

// TestPEWarmup: the rates that the two groups have at each step, by hand.
func TestPEWarmup(t *testing.T) {
	c := tiny(t, "learn")
	c.WarmupSteps, c.PEWarmupSteps, c.Schedule = 2, new(4), config.Linear
	c.Members[0].PELR = new(0.5)
	e := started(t, c)
	if g := e.settingsAt(0, 10).Groups; len(g) != 1 || g[0].From != 0 || g[0].To != 2*16*16 ||
		!reflect.DeepEqual(g[0].WeightDecay, []float64{0, 0.1}) {
		t.Fatalf("groups %+v; a table of 16 x 16 in each of 2 blocks comes first", g)
	}
	for step, want := range [][2]float64{{0.5, 0.25}, {1, 0.5}, {1, 0.75}, {0.875, 1}, {0.75, 1}, {0.625, 5.0 / 6}} {
		set := e.settingsAt(step, 10)
		for m := range e.members() {
			lr, pe := c.Members[m].LR, []float64{0.5, c.Members[1].LR}[m]
			if math.Abs(set.LR[m]-want[0]*lr) > 1e-15 ||
				math.Abs(set.Groups[0].LR[m]-want[1]*pe) > 1e-15 {
				t.Errorf("step %d, member %d: rates %g and %g", step, m, set.LR[m], set.Groups[0].LR[m])
			}
		}
	}
}

// TestInitScale: every weight but the PE and those of layer norm is multiplied, the embedding's twice.
func TestInitScale(t *testing.T) {
	with := func(all, embedding *float64) *ensemble {
		c := tiny(t, "learn")
		c.InitScale, c.EmbedInitScale = all, embedding
		return started(t, c)
	}
	plain, scaled := with(nil, nil), with(new(0.25), new(8.)) // powers of 2: exact in float32
	for _, p := range plain.model.Params.All() {
		x := expect.Must(plain.model.Params.Values(p.Name))
		y := expect.Must(scaled.model.Params.Values(p.Name))
		by := 0.25
		if strings.HasPrefix(p.Name, "pe.") || strings.Contains(p.Name, "norm") {
			by = 1
		} else if strings.HasPrefix(p.Name, "embed.") {
			by = 2
		}
		for i := range x {
			if y[i] != by*x[i] {
				t.Fatalf("%s[%d] is %g, %g without a scale", p.Name, i, y[i], x[i])
			}
		}
	}
}

// TestRefusedLearning: settings that a scheme has nothing for, and values outside of their range.
func TestRefusedLearning(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"--pe-init zeros: it has no learned table":    func(c *Config) { c.PE, c.PEInit = "rope", "zeros" },
		"is not one of normal, uniform":               func(c *Config) { c.PEInit = "gauss" },
		"only sinusoids have a scale":                 func(c *Config) { c.PEInitScale = "sigma" },
		"--pe-dropout: 2d-fixed has no learned table": func(c *Config) { c.PE, c.PEDropout = "2d-fixed", 0.1 },
		"nope has no trained parameters":              func(c *Config) { c.PE, c.PEWarmupSteps = "nope", new(3) },
		"rope has no trained parameters": func(c *Config) {
			c.PE,
				c.Members[1].PELR = "rope", new(1e-4)
		},
		"--pe-lr: -1 (member 0)": func(c *Config) { c.Members[0].PELR = new(-1.0) },
		"--sigma: learn is initialised with sigma, but member 1 has none": func(c *Config) {
			c.Members[1].Sigma = nil
		},
		"--pe-weight-decay: NaN (member 1)": func(c *Config) {
			c.Members[1].PEWeightDecay = new(math.NaN())
		},
		"--pe-dropout: 1 is not in [0, 1)":                      func(c *Config) { c.PEDropout = 1 },
		"--pe-warmup-steps: -1 is less than 0":                  func(c *Config) { c.PEWarmupSteps = new(-1) },
		"--init-scale: 0 is not in (0, 1e6]":                    func(c *Config) { c.InitScale = new(0.0) },
		"--pe-init: \"low-rank\": after the colon comes a rank": func(c *Config) { c.PEInit = "low-rank" },
		"--pe-init: \"matched:x\": after the colon comes the name": func(c *Config) {
			c.PEInit = "matched:x"
		},
	} {
		c := tiny(t, "learn")
		change(&c)
		expect.Error(t, c.Resolve(), says)
	}
	c := tiny(t, "t5") // trained parameters, but no table
	c.PEWarmupSteps, c.Members[0].PELR = new(3), new(1e-4)
	expect.NoError(t, c.Resolve())
}
