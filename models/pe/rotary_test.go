package pe_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// wave is an array [N,H,Dh] of numbers without pattern.
func wave(n, heads, dh int, phase float64) petest.Array {
	a := zeros(n, heads, dh)
	for i := range a.Values {
		a.Values[i] = math.Sin(float64(i*i) + phase)
	}
	return a
}

// turned returns what a scheme makes of the queries wave(n, 1, D, 0) at its positions.
func turned(t *testing.T, sp petest.Spec) petest.Array {
	t.Helper()
	m := sp.Model(t)
	q := wave(m.Config.Positions.Tokens(), 1, m.Config.DModel, 0)
	out, _ := rotated(m, q, q, m.Config.Positions)
	return out
}

// TestSameTurns: with the tokens it was trained on, a sequence of s times as many is turned as with
// scale s, and a shorter one as by rope; without a search rope-longrope stretches as rope-ntk; a grid is
// one frame of a box.
func TestSameTurns(t *testing.T) {
	for _, c := range []struct {
		one, options, other, others string
		tolerance                   float64
	}{
		{"rope-pi", "rope-trained-tokens=2", "rope-pi", "rope-scale=4", 0},
		{"rope-pi", "rope-trained-tokens=9", "rope", "", 0},
		{"rope-ntk", "rope-trained-tokens=9", "rope", "", 0},
		{"rope-yarn", "rope-trained-tokens=9 rope-yarn=dynamic", "rope", "", 1e-14},
		{"rope-longrope", "longrope-magnitude=1", "rope-ntk", "", 1e-12},
		{"rope-3d", "grid=2x4", "rope-3d", "box=1x2x4", 0},
	} {
		one, other := petest.Read(c.options), petest.Read(c.others)
		one.Scheme, other.Scheme = c.one, c.other
		petest.Near(t, c.one+" "+c.options, turned(t, one), turned(t, other), c.tolerance)
	}
}

// TestFrequencies: with base 16 and Dh = 8 the frequencies are 1, 1/2, 1/4 and 1/8. With hope, over 20
// tokens a pair turns once at 2 pi/20 = 0.314, over 4 tokens none does but the first, which is always
// turned. With longrope, at the trained length the stretch is none, at s times it is the factors given,
// and between in proportion (microsoft/LongRoPE, rope/longrope.py).
func TestFrequencies(t *testing.T) {
	for _, c := range []struct {
		scheme, spec string
		want         []float64
	}{
		{"hope", "rope-trained-tokens=20", []float64{1, 0.5, 0, 0}},
		{"hope", "rope-trained-tokens=25", []float64{1, 0.5, 0, 0}},
		{"hope", "rope-trained-tokens=26", []float64{1, 0.5, 0.25, 0}},
		{"hope", "rope-trained-tokens=4", []float64{1, 0, 0, 0}},
		{"hope", "rope-trained-tokens=51", []float64{1, 0.5, 0.25, 0.125}},
		{"rope-longrope", "line=4", []float64{1, 0.5, 0.25, 0.125}},
		{"rope-longrope", "line=8", []float64{1, 0.5 / (1 + 0.5/3), 0.25 / (1 + 1./3), 0.125 / (1 + 2./3)}},
		{"rope-longrope", "line=16", []float64{1, 0.5 / 1.5, 0.25 / 2, 0.125 / 3}},
	} {
		text := c.spec + " rope-base=16"
		if c.scheme == "rope-longrope" {
			text += " longrope-stretch=dynamic longrope-factors=1,1.5,2,3 rope-scale=4 rope-trained-tokens=4"
		}
		sp := petest.Read(text)
		sp.Scheme = c.scheme
		for k, angle := range anglesAt(t, sp.Model(t), 1) {
			expect.Near(t, fmt.Sprintf("%s %s, pair %d: frequency", c.scheme, c.spec, k), angle, c.want[k], 1e-15)
		}
	}
}

// TestLogN: over 4 trained tokens a query is longer by ln n/ln 4 where it sees n > 4 keys (Qwen's logn_list):
// 1 for n = 4, 1.5 for 8, 2 for 16. Without a number the trained tokens are those of the model.
func TestLogN(t *testing.T) {
	for options, want := range map[string]map[int]float64{
		"logn=qwen:4":  {0: 1, 3: 1, 7: 1.5, 15: 2},
		"logn=qwen":    {0: 1, 15: 1},
		"logn=llama4":  {0: 1, 15: 1},
		"logn=qwen:16": {15: 1},
	} {
		sp := petest.Read(options)
		sp.Scheme, sp.Positions = "logn", pe.Line(16)
		got, q := turned(t, sp), wave(16, 1, 8, 0)
		for place, factor := range want {
			for c, v := range got.Row(place) {
				expect.Near(t, fmt.Sprintf("%s, place %d", options, place), v, factor*q.Row(place)[c], 1e-14)
			}
		}
	}
}

// TestFoPEAtRest: with an identity for coefficients the pairs that have a sum are turned as by rope
// in halves, and in the paper's reading the others stay: 1, 0.32 and 0.1 are at least 2 pi/64.
func TestFoPEAtRest(t *testing.T) {
	const n, dh, sums = 8, 16, 3
	q := wave(n, 1, dh, 0)
	want := turned(t, petest.Spec{Scheme: "rope", DModel: dh, Given: given("rope-layout=half")})
	got := turned(t, petest.Spec{Scheme: "fope", DModel: dh,
		Given: given("fope-rest=still rope-trained-tokens=64 fope-basis=one"),
		Set:   map[string][]float64{"pe.coefficients": {1, 0, 0, 0, 1, 0, 0, 0, 1}}})
	for i := range want.Values {
		if i%(dh/2) >= sums {
			want.Values[i] = q.Values[i]
		}
	}
	petest.Near(t, "turned", got, want, 1e-14)
}

// TestRoPEAxes: block a of w = 2 floor(Dh/2M) dimensions is rope of coordinate a, or with pixel
// frequencies turned by pi (1 + k (m/2-1)/(w/2-1)) x, x from -1 to 1 (rotary-embedding-torch,
// get_axial_freqs and freqs_for="pixel").
func TestRoPEAxes(t *testing.T) {
	const dh, base, highest = 20, 50., 8.
	for _, dims := range [][]int{{8}, {2, 4}, {2, 2, 3}, {2, 1, 2, 3}} {
		p := crossed(dims...)
		n, pairs := p.Tokens(), dh/(2*len(dims))
		for _, pixel := range []bool{false, true} {
			sp := petest.Spec{Scheme: "rope-3d", DModel: dh, Positions: p,
				Given: given("rope-axes=%d rope-base=%v", len(dims), base)}
			if pixel {
				sp.Given["rope-max-frequency"] = fmt.Sprint(highest)
			}
			want := wave(n, 1, dh, 0)
			for at := 0; at < len(want.Values); at += 2 {
				i, k, angle := at/dh, at%dh/2, 0.0
				if axis, within := k/pairs, float64(k%pairs); axis < len(dims) && !pixel {
					angle = p.Points[i][axis] * math.Pow(base, -within/float64(pairs))
				} else if axis < len(dims) {
					x := 2*p.Points[i][axis]/math.Max(1, float64(dims[axis]-1)) - 1
					angle = x * math.Pi * (1 + within*(highest/2-1)/math.Max(1, float64(pairs-1)))
				}
				z := complex(want.Values[at], want.Values[at+1]) * cmplx.Rect(1, angle)
				want.Values[at], want.Values[at+1] = real(z), imag(z)
			}
			petest.Near(t, fmt.Sprintf("%v, pixel %v", dims, pixel), turned(t, sp), want, 1e-13)
		}
	}
}

// TestGoldenGateRange: cells of a grid of 3 x 5 are turned as points from -1 to 1 as they are.
func TestGoldenGateRange(t *testing.T) {
	var at [][]float64
	for _, cell := range pe.Grid(3, 5).Cells {
		at = append(at, []float64{float64(cell[0]) - 1, float64(cell[1])/2 - 1})
	}
	unit := petest.Spec{Scheme: "golden-gate", Positions: pe.Grid(3, 5)}
	raw := petest.Spec{Scheme: "golden-gate", Positions: points(at...), Given: given("golden-gate-range=raw")}
	petest.Near(t, "turned", turned(t, unit), turned(t, raw), 1e-13)
}

// TestMixedStart: mixed frequencies start along two orthogonal directions, each of the axial
// magnitude 10^(-4k/Dh) (Heo et al., section 3.2), own to each head and layer.
func TestMixedStart(t *testing.T) {
	const heads, pairs = 2, 4
	m := petest.Spec{Scheme: "rope-2d", DModel: 16, Heads: heads, Given: given("rope-2d=mixed")}.Model(t)
	values, starts := valuesOf(m, "pe.frequencies"), map[float64]bool{} // [L,2,H,pairs]
	for layer := range 2 {
		for i := range heads * pairs {
			x, y := values[layer*2*heads*pairs+i], values[(layer*2+1)*heads*pairs+i]
			want := math.Pow(10, -float64(i%(pairs/2))/2)
			expect.Near(t, fmt.Sprintf("layer %d, head %d, pair %d: length of (%g, %g)", layer, i/pairs, i%pairs,
				x, y), math.Hypot(x, y), want, 1e-12)
			if i%pairs < pairs/2 {
				starts[math.Atan2(y, x)] = true
				other := values[layer*2*heads*pairs+i+pairs/2]*x + values[(layer*2+1)*heads*pairs+i+pairs/2]*y
				expect.Near(t, fmt.Sprintf("layer %d, head %d, pair %d times its other", layer, i/pairs, i%pairs),
					other, 0, 1e-12)
			}
		}
	}
	if len(starts) < 2*heads {
		t.Errorf("heads and layers start along %d directions", len(starts))
	}
}

// TestDINOv3Draws: draws are within their bounds, differ between steps and members, and are made in
// training alone.
func TestDINOv3Draws(t *testing.T) {
	sp := petest.Spec{Scheme: "rope-dinov3", Seeds: []uint64{1, 2}, Given: given("dinov3-shift=0.5"), DModel: 4}
	m := sp.Model(t)
	plain, seen := anglesAt(t, m, 0), map[float64]bool{}
	for step := range 50 {
		for _, p := range []pe.Positions{pe.Grid(2, 4), training(pe.Grid(2, 4))} {
			petest.Closed(func(s *torchpe.Scope) {
				s.Seed([]uint64{1, 2}, step)
				cos, sin := pe.RotationOf(m.Encoding.Begin(s, p))
				c, d := cos.Float64s(), sin.Float64s()
				for at := 0; at < len(c); at += len(c) / 2 { // of a member
					turned := (math.Atan2(d[at], c[at]) - plain[0]) / (2 * math.Pi)
					turned -= math.Round(turned)
					if !p.Training && math.Abs(turned) > 1e-12 || turned < -0.5 || turned >= 0.5+1e-12 {
						t.Errorf("step %d, training %v: shifted by %g", step, p.Training, turned)
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

// TestLieRETurns: the matrices are rotations, R R^T = 1, also of blocks of 16 and coordinates in the
// hundreds.
func TestLieRETurns(t *testing.T) {
	for _, steps := range []string{"0", "1", "raw"} {
		sp := petest.Spec{Scheme: "liere", DModel: 16, Positions: pe.Grid(3, 40),
			Given: given("liere-block=16 liere-steps=%s", steps)}
		petest.Closed(func(s *torchpe.Scope) {
			r := pe.LieRETurns(begin(s, sp.Model(t), sp.Positions))
			for i, v := range r.MatMul(r.Transpose(-1, -2)).Float64s() {
				if want := identity(16)[i%256]; math.Abs(v-want) > 1e-9 {
					t.Fatalf("--liere-steps %s: element %d of R R^T is %g, want %g", steps, i%256, v, want)
				}
			}
		})
	}
}

// TestStringExponential: queries are exp(sum_a (C_a - C_a^T) r_a) q, with the exponential summed as a
// series, for heads of even and odd width on a grid.
func TestStringExponential(t *testing.T) {
	for _, d := range []int{3, 4, 7, 8} {
		const heads = 2
		p := pe.Grid(3, 3).Permuted([]int{4, 0, 8, 2, 6, 1})
		c, q := wave(heads, 2, d, 1), wave(6, heads, d, 3)
		for i := range c.Values {
			c.Values[i] *= 0.3
		}
		m := petest.Spec{Scheme: "string", Heads: heads, DModel: heads * d, Layers: 1, Positions: pe.Grid(3, 3),
			Set: map[string][]float64{"pe.c": c.Values}}.Model(t)
		got := HeadInputs{Q: q, K: q}.Attend(m, p, false)
		want := petest.Array{Shape: q.Shape}
		for i, cell := range p.Cells {
			for h := range heads {
				want.Values = append(want.Values, expSeries(func(a, b int) (sum float64) {
					for axis, r := range cell {
						of := c.Row(h)[axis*d:]
						sum += float64(r) * (of[(a-b+d)%d] - of[(b-a+d)%d])
					}
					return sum
				}, q.Row(i)[h*d:(h+1)*d])...)
			}
		}
		petest.Near(t, "queries", got.Q, want, 1e-12)
		petest.Near(t, "keys", got.K, want, 1e-12)
	}
}

// TestComRoPEExponential: each block of the queries is exp(s (P - P^T)) q, with the exponential summed as a
// series: s = sum_a f_a r_a, or the block's one coordinate, r = (i + 1/2)/n; a rest of the head stays.
func TestComRoPEExponential(t *testing.T) {
	for _, form := range []string{"ld", "ap"} {
		const heads, d, g, blocks = 2, 7, 3, 2
		sides := []int{3, 2}
		p := pe.Grid(sides[0], sides[1]).Permuted([]int{4, 0, 2, 1, 3, 5})
		skew, factors, q := wave(heads, blocks, g*(g-1)/2, 1), wave(1, 2, blocks, 2), wave(6, heads, d, 3)
		sp := petest.Spec{Scheme: "comrope", Heads: heads, DModel: heads * d, Layers: 1,
			Positions: pe.Grid(sides[0], sides[1]), Given: given("comrope=%s comrope-block=%d", form, g),
			Set: map[string][]float64{"pe.skew": skew.Values}}
		if form == "ld" {
			sp.Set["pe.factors"] = factors.Values
		}
		got, want := HeadInputs{Q: q, K: q}.Attend(sp.Model(t), p, false), petest.Array{Shape: q.Shape}
		for i, cell := range p.Cells {
			for h := range heads {
				x := q.Row(i)[h*d : (h+1)*d]
				for b := range blocks {
					s := (float64(cell[b]) + 0.5) / float64(sides[b])
					if form == "ld" {
						s = 0
						for axis, r := range cell {
							s += factors.Values[axis*blocks+b] * (float64(r) + 0.5) / float64(sides[axis])
						}
					}
					upper := skew.Row(h)[b*3:]
					want.Values = append(want.Values, expSeries(func(row, column int) float64 {
						if row == column {
							return 0
						}
						v := s * upper[row+column-1] // (0,1), (0,2), (1,2)
						if row > column {
							v = -v
						}
						return v
					}, x[b*g:(b+1)*g])...)
				}
				want.Values = append(want.Values, x[d-1])
			}
		}
		petest.Near(t, form+": queries", got.Q, want, 1e-12)
		petest.Near(t, form+": keys", got.K, want, 1e-12)
	}
}

// expSeries returns exp(m) x as the sum of m^n x / n!.
func expSeries(m func(a, b int) float64, x []float64) []float64 {
	sum, term := append([]float64(nil), x...), append([]float64(nil), x...)
	for n := 1; n < 80; n++ {
		next := make([]float64, len(x))
		for a := range next {
			for b := range term {
				next[a] += m(a, b) * term[b] / float64(n)
			}
			sum[a] += next[a]
		}
		term = next
	}
	return sum
}

// TestFloaterConverges: where h has no kink on the way, a tenth of the time step changes the place
// reached by 1e-4 of the error of a whole one, for the method is of order 4; Euler's error falls to
// a tenth.
func TestFloaterConverges(t *testing.T) {
	end := func(solver string, places int) []float64 {
		open := make([]float64, 8) // b_1 so large that relu is the identity
		for i := range open {
			open[i] = 100
		}
		p := pe.Line(places + 1)
		m := petest.Spec{Scheme: "floater", Layers: 1, Positions: p,
			Given: given("floater-dt=%v floater-solver=%s", 1.2/float64(places), solver),
			Set:   map[string][]float64{"pe.in.bias": open, "pe.start": make([]float64, 3*8)}}.Model(t)
		return flowBiases(m, p).Row(places)
	}
	best := end("rk4", 60)
	for solver, falls := range map[string]float64{"rk4": 2e-4, "euler": 0.2} {
		coarse, fine := norm(difference(end(solver, 1), best)), norm(difference(end(solver, 10), best))
		if !(fine < falls*coarse) || coarse == 0 {
			t.Errorf("%s: the errors of one token and of ten are %.1e and %.1e", solver, coarse, fine)
		}
	}
}

// TestDETR: queries and keys see DETR's table, that of 2d-fixed in concatenated halves, and
// values see no positions; the learned tables start with U(0, 1).
func TestDETR(t *testing.T) {
	const n, d = 12, 8
	for table, normalise := range map[string]bool{"sine": false, "normalised": true} {
		sp := petest.Spec{Scheme: "detr", Layers: 1, DModel: d, Positions: pe.Grid(3, 4),
			Given: given("detr-table=%s", table)}
		one := petest.Array{Shape: []int{d, d}, Values: identity(d)}
		got := Projections{QKV: stackRows(one, one, one)}.Attend(sp.Model(t), zeros(n, d),
			sp.Positions, false)
		sp.Scheme = "2d-fixed"
		sp.Given = given("fixed-pe-dropout=0 positions-from=1 grid-order=rows-first grid-normalize=%v",
			normalise)
		want := tableOf(t, sp).Reshaped(n, 1, d)
		petest.Near(t, table+": queries", got.Q, want, 1e-12)
		petest.Near(t, table+": keys", got.K, want, 1e-12)
		petest.Near(t, table+": values", got.Output, zeros(n, d), 0)
	}
	m := petest.Spec{Scheme: "detr", Given: given("detr-table=learned")}.Model(t)
	for _, name := range []string{"pe.row", "pe.column"} {
		for _, v := range valuesOf(m, name) {
			if v < 0 || v >= 1 {
				t.Errorf("%s starts with %g, want U(0, 1)", name, v)
			}
		}
	}
}
