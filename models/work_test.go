package models_test

import (
	"math"
	"testing"

	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestStepWork holds StepWork against what the fused operators counted while they ran, in a version that
// had such counters: operations exactly; bytes within 4 %, because biases and tables are left out, and
// not those of rope, which its rotations add.
func TestStepWork(t *testing.T) {
	masked := func(c *models.Config) {
		c.TokenInput, c.MaskToken, c.ReadOut, c.Classes = arch.Scalar, arch.LearnedMask, arch.ReadTokens, 1
	}
	for _, c := range []struct {
		name                string
		spec                petest.Spec
		batch, tokens, read int
		gflop, mb           float64
	}{
		{"quick", petest.Spec{}, 128, 16, 1, 1.458364416 + .077070336, 98.38272},
		{"quick, 4 heads", petest.Spec{Heads: 4}, 128, 16, 1, 1.877532672, 121.295744},
		{"quick, rope", petest.Spec{Scheme: "rope"}, 128, 16, 1, 1.924718592, 0},
		{"nmar", petest.Spec{Positions: pe.Line(15), Change: masked}, 128, 15, 8, 1.58738688 + .07815168, 104.88968},
		{"fmri", petest.Spec{Positions: pe.Line(360), Change: masked}, 32, 360, 180, 20.541272064, 691.0592},
	} {
		sp := c.spec
		sp.Layers, sp.DModel = 4, 64
		if sp.Scheme == "" {
			sp.Scheme = "learn"
		}
		if sp.Positions.Index == nil {
			sp.Positions = pe.Grid(4, 4)
		}
		sp.Change = func(to *models.Config) {
			to.Symbols, to.Classes, to.FFMultiple, to.ReadOut, to.DType = 6, 4, 4, arch.LastToken, torchpe.Float32
			if c.spec.Change != nil {
				c.spec.Change(to)
			}
		}
		s := torchpe.NewScope()
		work := sp.Model(t).StepWork(s, c.batch, c.tokens, c.read)
		s.Close()
		if math.Abs(work.Operations/1e9-c.gflop) > 1e-9 || c.mb > 0 && math.Abs(work.Bytes/1e6/c.mb-1) > 0.04 {
			t.Errorf("%s: %.9f GFLOP, %g MB, want %g, %g", c.name, work.Operations/1e9, work.Bytes/1e6, c.gflop, c.mb)
		}
	}
}
