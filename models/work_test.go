package models

import (
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// TestStepWork holds StepWork against what the fused operators counted while they ran, in a version that
// had such counters: operations exactly; bytes within 4 %, because biases and tables are left out, and
// not those of rope, which its rotations add.
func TestStepWork(t *testing.T) {
	for _, c := range []struct {
		name                string
		change              func(*Config)
		batch, tokens, read int
		gflop, mb           float64
	}{
		{"quick", func(*Config) {}, 128, 16, 1, 1.458364416 + .077070336, 98.38272},
		{"quick, 4 heads", func(c *Config) { c.Heads = 4 }, 128, 16, 1, 1.877532672, 121.295744},
		{"quick, rope", func(c *Config) { c.PE = "rope" }, 128, 16, 1, 1.924718592, 0},
		{"nmar", func(c *Config) {
			c.Positions, c.TokenInput, c.MaskToken, c.ReadOut, c.Classes = pe.Line(15), Scalar, LearnedMask,
				ReadTokens, 1
		}, 128, 15, 8, 1.58738688 + .07815168, 104.88968},
		{"fmri", func(c *Config) {
			c.Positions, c.TokenInput, c.MaskToken, c.ReadOut, c.Classes = pe.Line(360), Scalar, LearnedMask,
				ReadTokens, 1
		}, 32, 360, 180, 20.541272064, 691.0592},
	} {
		config := Config{
			Positions: pe.Grid(4, 4), Symbols: 6, Classes: 4, Layers: 4, Heads: 1, DModel: 64, FFMultiple: 4,
			TokenInput: OneHot, EmbeddingInit: LikeLinear, ReadOut: LastToken, PE: "learn",
			Sigma: []float64{0.2}, Seeds: []uint64{1}, DType: torchpe.Float32, Device: torchpe.CPU,
		}
		c.change(&config)
		scheme, err := pe.Find(config.PE)
		if err != nil {
			t.Fatal(err)
		}
		if config.PEOptions, err = scheme.Resolve("code", nil); err != nil {
			t.Fatal(err)
		}
		m, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		s := torchpe.NewScope()
		work := m.StepWork(s, c.batch, c.tokens, c.read)
		s.Close()
		m.Close()
		if math.Abs(work.Operations/1e9-c.gflop) > 1e-9 || c.mb > 0 && math.Abs(work.Bytes/1e6/c.mb-1) > 0.04 {
			t.Errorf("%s: %.9f GFLOP, %g MB, want %g, %g", c.name, work.Operations/1e9, work.Bytes/1e6, c.gflop, c.mb)
		}
	}
}
