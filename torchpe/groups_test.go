package torchpe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestGroupsTwin makes twelve steps with two groups of columns and gaps beside them, against twins
// that each hold a group's columns of a member. Clipping is of the whole gradient: the twins get it
// scaled.
func TestGroupsTwin(t *testing.T) {
	const E, n = 3, 37
	ranges := [][2]int{{0, 5}, {5, 9}, {9, 20}, {20, 21}, {21, 37}} // the second and the fourth are groups
	for _, method := range []Method{Adam, AdamW, SGD} {
		for _, dtype := range []DType{Float64, Float32} {
			for _, fused := range []bool{true, false} {
				SetFused(fused)
				ps := parameters(t, E, n, dtype)
				o := optimizerOf(t, method, ps)
				var twins []*twin
				start := flat(ps)
				for e := range E {
					for _, r := range ranges {
						p := slices.Clone(start[e*n+r[0] : e*n+r[1]])
						twins = append(twins, &twin{method, p, make([]float64, len(p)), make([]float64, len(p)), 0})
					}
				}
				rng := rand.New(rand.NewPCG(64, 0))
				for step := range 12 {
					g := normals(rng, E*n)
					set := StepSettings{
						LR: []float64{0.1, 0.01, 0.2}, WeightDecay: []float64{0, 0.1, 0.02},
						Active: []bool{true, step%3 != 1, true},
						Groups: []Group{
							{5, 9, []float64{0.05, 0, 0.3 / float64(step+1)}, []float64{0.3, 0, 0.01}},
							{20, 21, []float64{0.02, 0.03, 0.04}, []float64{0, 0.2, 0.1}},
						},
					}
					setGradients(ps, g)
					noError(t, o.Step(set))
					var want []float64
					for k, w := range twins {
						e, r := k/len(ranges), ranges[k%len(ranges)]
						lr, decay := set.LR[e], set.WeightDecay[e]
						if k%len(ranges)%2 == 1 {
							group := set.Groups[k%len(ranges)/2]
							lr, decay = group.LR[e], group.WeightDecay[e]
						}
						w.step(g[e*n+r[0]:e*n+r[1]], lr, decay, 0, set.Active[e])
						want = append(want, w.p...)
					}
					near(t, fmt.Sprintf("%s %s, fused %v, step %d", method, dtype, fused, step+1),
						flat(ps), want, map[DType]float64{Float64: 1e-13, Float32: 2e-5}[dtype])
				}
				o.Close()
				ps.Close()
			}
		}
	}
	SetFused(true)
}

// TestGroupsPyTorch holds groups against torch.optim's param_groups (scripts/reference_groups.py),
// with the norm of all gradients clipped. The case runs as the second of two members.
func TestGroupsPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/groups.json")
	if err != nil {
		t.Fatal(err)
	}
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
		o := optimizerOf(t, c.Method, ps)
		s := NewScope()
		ps.Flat(s).Select(0, 1).Narrow(0, 0, n).CopyFrom(Of(s, CPU, c.Start, n))
		s.Close()
		for k, g := range c.Gradients {
			setGradients(ps, append(make([]float64, n), g...))
			if err := o.Step(StepSettings{
				LR: []float64{1, c.LR[k]}, WeightDecay: []float64{0, c.WeightDecay},
				Active: []bool{true, true}, ClipNorm: c.Clip,
				Groups: []Group{{0, c.Cut, []float64{1, c.PELR[k]}, []float64{0, c.PEWeightDecay}}},
			}); err != nil {
				t.Fatal(err)
			}
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
	o := optimizerOf(t, Adam, ps)
	defer o.Close()
	before, two, on := flat(ps), []float64{0.1, 0.1}, []bool{true, true}
	for name, groups := range map[string][]Group{
		"overlap": {{0, 4, two, two}, {3, 5, two, two}}, "empty": {{2, 2, two, two}},
		"outside": {{5, ps.Columns() + 1, two, two}}, "negative": {{-1, 3, two, two}},
		"one rate": {{0, 3, two[:1], two}}, "no decay": {{0, 3, two, nil}},
	} {
		if err := o.Step(StepSettings{LR: two, WeightDecay: two, Active: on, Groups: groups}); err == nil {
			t.Errorf("groups with %s are taken", name)
		}
	}
	if err := o.Step(StepSettings{LR: two[:1], WeightDecay: two, Active: on,
		Groups: []Group{{0, 3, two, two}}}); err == nil {
		t.Error("one rate beside a group is taken")
	}
	identical(t, "after refused steps", flat(ps), before)
	if o.Steps() != 0 {
		t.Errorf("%d refused steps are counted", o.Steps())
	}
}
