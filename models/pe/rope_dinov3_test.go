package pe_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestRoPEDINOv3(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope-dinov3", Shift: petest.Unmoved, Apart: [2][]int{{0, 1, 4, 5}, {2, 3, 6, 7}},
		Variants: []petest.Variant{
			petest.Code("rope-2d-base", "7"), petest.Code("dinov3-periods", "2,50"),
			petest.Code("dinov3-normalize", "max"), petest.Code("dinov3-normalize", "min").For(1),
			petest.Code("dinov3-offset", "0.25"), petest.Code("dinov3-layout", "interleaved"),
			petest.Code("dinov3-shift", "0.3"), petest.Code("dinov3-jitter", "1.5"), petest.Code("dinov3-rescale", "2"),
			petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("a line", petest.Spec{Positions: pe.Line(8)}, "rope-dinov3", "grid", "a line of 8"),
			petest.Refuse("heads of 6", petest.Spec{DModel: 12, Heads: 2}, "head width 6 = 12/2", "4"),
			petest.Refuse("one period", petest.Spec{Given: pe.Options{"dinov3-periods": "2"}},
				"--dinov3-periods 2", "1 numbers"),
		},
	})
}

func init() { vectors["rope_dinov3"] = dinov3Vector }

func dinov3Vector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, k, heads, dh := c.Input(t, "q"), c.Input(t, "k"), c.Int("heads", 1), c.Int("d_head", 0)
	given := pe.Options{
		"rope-2d-base": fmt.Sprint(c.Float("temperature", 100)), "dinov3-layout": "half",
		"dinov3-normalize": c.Text("normalize_coords", "separate"),
		"dinov3-offset":    fmt.Sprint(c.Float("grid_offset", 0)),
	}
	if least := c.Float("min_period", 0); least != 0 {
		given["dinov3-periods"] = fmt.Sprintf("%v,%v", least, c.Float("max_period", 0))
	}
	if c.Value("rotate_half") == false {
		given["dinov3-layout"] = "interleaved"
	}
	draws := petest.Array{Shape: []int{1, 5}}
	if limits, ok := c.Value("augment").(map[string]any); ok {
		for name, value := range limits {
			if value != nil {
				given["dinov3-"+name] = fmt.Sprint(value)
			}
		}
		for _, name := range []string{"shift", "jitter_log", "rescale_log"} {
			values := make([]float64, 2-len(name)/11) // of the rescale one
			if c.Has(name) {
				values = c.Input(t, name).Values
			}
			draws.Values = append(draws.Values, values...)
		}
	}
	sp := petest.Spec{Scheme: "rope-dinov3", Layers: 1, Heads: heads, DModel: heads * dh, Given: given,
		Positions: pe.Grid(c.Int("H", 0), c.Int("W", 0))}
	m, p, out := sp.Model(t), sp.Positions, petest.Outputs{}
	n := p.Tokens()
	petest.Closed(func(s *torchpe.Scope) {
		hooks := petest.Begin(s, m, p)
		if draws.Values != nil {
			hooks = pe.DINOv3Drawn(m.Encoding, s, p, draws.Tensor(s))
		}
		cos, sin := pe.RotationOf(hooks)
		for name, x := range map[string]torchpe.Tensor{"cos": cos, "sin": sin} {
			if given["dinov3-layout"] == "half" {
				x = torchpe.Cat(-1, x, x)
			} else {
				x = torchpe.Stack(-1, x, x)
			}
			out[name] = petest.ArrayOf(x).Reshaped(n, dh)
		}
		in := func(x petest.Array) torchpe.Tensor {
			return x.Reshaped(1, 1, n, heads, dh).Tensor(s).Permute(0, 1, 3, 2, 4)
		}
		back := func(x torchpe.Tensor) petest.Array {
			return petest.ArrayOf(x.Permute(0, 1, 3, 2, 4)).Reshaped(n, heads, dh)
		}
		qt, kt, _ := hooks.QKV(pe.Attn{Q: in(q), K: in(k)})
		out["q_rot"], out["k_rot"] = back(qt), back(kt)
	})
	out["logits"] = logitsOf(out["q_rot"].Reshaped(1, n, heads, dh), out["k_rot"].Reshaped(1, n, heads, dh))
	out["periods"] = dinoPeriodsOf(t, sp)
	return out
}

// dinoPeriodsOf returns the periods of a model's turns, which are at least 1/2: the third of four
// rows lies at 1/4.
func dinoPeriodsOf(t testing.TB, sp petest.Spec) petest.Array {
	t.Helper()
	sp.Positions, sp.Given = pe.Grid(4, 1), maps.Clone(sp.Given)
	sp.Given["dinov3-normalize"], sp.Given["dinov3-offset"] = "separate", "0"
	angles := anglesAt(t, sp.Model(t), 2)
	angles = angles[:len(angles)/2]
	periods := petest.Array{Shape: []int{len(angles)}}
	for _, angle := range angles {
		periods.Values = append(periods.Values, math.Pi/2/angle)
	}
	return periods
}

// TestDINOv3Draws: draws are within their bounds, differ between steps and members, and are made in
// training alone.
func TestDINOv3Draws(t *testing.T) {
	sp := petest.Spec{Scheme: "rope-dinov3", Seeds: []uint64{1, 2}, Given: pe.Options{"dinov3-shift": "0.5"},
		DModel: 4, Positions: pe.Grid(2, 4)}
	m := sp.Model(t)
	plain := anglesAt(t, sp.Model(t), 0)
	seen := map[float64]bool{}
	for step := range 50 {
		for _, training := range []bool{true, false} {
			petest.Closed(func(s *torchpe.Scope) {
				s.Seed([]uint64{1, 2}, step)
				p := pe.Grid(2, 4)
				p.Training = training
				cos, sin := pe.RotationOf(m.Encoding.Begin(s, p))
				c, d := cos.Float64s(), sin.Float64s()
				for member := range 2 {
					at := member * len(c) / 2
					turned := math.Atan2(d[at], c[at])/(2*math.Pi) - plain[0]/(2*math.Pi)
					turned -= math.Round(turned)
					if !training && math.Abs(turned) > 1e-12 || turned < -0.5 || turned >= 0.5+1e-12 {
						t.Errorf("step %d, member %d, training %v: shifted by %g", step, member, training, turned)
					}
					seen[turned] = true
				}
			})
		}
	}
	if len(seen) < 100 {
		t.Errorf("%d different shifts in 50 steps of 2 members", len(seen))
	}
}

// TestUniform: numbers are in [0, 1), and their mean and variance those of U(0, 1), 1/2 and 1/12,
// within five standard errors: sqrt(1/12/n) and sqrt(1/180/n).
func TestUniform(t *testing.T) {
	petest.Closed(func(s *torchpe.Scope) {
		s.Seed([]uint64{3}, 1)
		const n = 20000
		mean, variance := 0.0, 0.0
		for _, v := range pe.UniformForTest(s, torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, 1, n)).Float64s() {
			if v < 0 || v >= 1 {
				t.Fatalf("%g is not in [0, 1)", v)
			}
			mean += v / n
			variance += (v - 0.5) * (v - 0.5) / n
		}
		if math.Abs(mean-0.5) > 5*math.Sqrt(1./12/n) || math.Abs(variance-1./12) > 5*math.Sqrt(1./180/n) {
			t.Errorf("mean %g, variance %g", mean, variance)
		}
	})
}
