package torchpe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"torchpe/internal/expect"
)

// TestGroupsPyTorch holds groups against torch.optim's param_groups (scripts/reference_groups.py),
// with the norm of all gradients clipped. The case runs as the second of two members.
func TestGroupsPyTorch(t *testing.T) {
	text := expect.Must(os.ReadFile("testdata/groups.json"))
	var file struct {
		Cases []struct {
			Method           Method
			Clip             float64
			Cut              int
			Start            []float64
			Gradients, After [][]float64
			LR               []float64
			PELR             []float64 `json:"pe_lr"`
			WeightDecay      float64   `json:"weight_decay"`
			PEWeightDecay    float64   `json:"pe_weight_decay"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) != 6 {
		t.Fatalf("%d cases: %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		n := len(c.Start)
		ps := parameters(t, 2, n, Float64)
		o := optimizerOf(c.Method, ps)
		s := NewScope()
		ps.Flat(s).Select(0, 1).Narrow(0, 0, n).CopyFrom(Of(s, CPU, c.Start, n))
		s.Close()
		for k, g := range c.Gradients {
			setGradients(ps, append(make([]float64, n), g...))
			expect.NoError(t, o.Step(StepSettings{
				LR: []float64{1, c.LR[k]}, WeightDecay: []float64{0, c.WeightDecay},
				Active: []bool{true, true}, ClipNorm: c.Clip,
				Groups: []Group{{0, c.Cut, []float64{1, c.PELR[k]}, []float64{0, c.PEWeightDecay}}},
			}))
			near(t, fmt.Sprintf("%s, clipping at %g, step %d", c.Method, c.Clip, k+1), flat(ps)[n:], c.After[k], 1e-12)
		}
		o.Close()
		ps.Close()
	}
}

// TestBadGroups: groups that overlap, are empty or outside, or have settings of other members are
// errors that change nothing.
func TestBadGroups(t *testing.T) {
	ps := parameters(t, 2, 7, Float64)
	defer ps.Close()
	setGradients(ps, normals(rand.New(rand.NewPCG(65, 0)), 14))
	o := optimizerOf(Adam, ps)
	defer o.Close()
	before, two, on := flat(ps), []float64{0.1, 0.1}, []bool{true, true}
	for name, groups := range map[string][]Group{
		"overlap": {{0, 4, two, two}, {3, 5, two, two}}, "empty": {{2, 2, two, two}},
		"outside": {{5, ps.Columns() + 1, two, two}}, "negative": {{-1, 3, two, two}},
		"one rate": {{0, 3, two[:1], two}}, "no decay": {{0, 3, two, nil}},
	} {
		expect.Refused(t, name, o.Step(StepSettings{LR: two, WeightDecay: two, Active: on, Groups: groups}))
	}
	expect.Refused(t, "one rate beside a group",
		o.Step(StepSettings{LR: two[:1], WeightDecay: two, Active: on, Groups: []Group{{0, 3, two, two}}}))
	identical(t, "after refused steps", flat(ps), before)
	expect.Equal(t, "counted steps", o.Steps(), 0)
}
