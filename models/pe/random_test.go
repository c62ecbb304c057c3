package pe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestRandom(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "random",
		Drawn:  []string{"pe.table"},
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Text("pe-placement", "block"), petest.Code("random", "ruoss"),
			petest.Text("random-max", "20"), petest.Text("random-max", "8"),
			petest.Text("random-base", "learn"), petest.Text("random-base", "rope"),
			petest.Text("random-base", "learn", "pe-placement", "block"),
			petest.Text("random-base", "transformer-xl").Still(),
			petest.Text("random-base", "alibi").Still(),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("fewer positions than tokens",
				petest.Spec{Fidelity: "text", Given: pe.Options{"random-max": "7"}},
				"--random-max 7", "8 tokens"),
			petest.Refuse("more positions than float32 can tell apart",
				petest.Spec{Given: pe.Options{"random-max": "16777217"}}, "--random-max",
				"16777217"),
			petest.Refuse("odd heads", petest.Spec{Fidelity: "text", DModel: 7,
				Given: pe.Options{"random-base": "rope"}}, "random", "head width 7", "odd"),
			petest.Refuse("a base of a frozen table",
				petest.Spec{Given: pe.Options{"random-base": "rope"}}, "--random-base rope",
				"--random ruoss"),
		},
	})
}

// embedAt returns what the first block adds to tokens at the drawn positions, [N,D].
func embedAt(m *models.Model, drawn []float64) (added petest.Array) {
	n, d := len(drawn), m.Config.DModel
	petest.Closed(func(s *torchpe.Scope) {
		p := pe.Line(n)
		p.Drawn = torchpe.Of(s, torchpe.CPU, drawn, 1, 1, n)
		hooks := m.Encoding.Begin(s, p)
		added = petest.ArrayOf(hooks.Embed(0, torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, 1, 1,
			n, d))).Reshaped(n, d)
	})
	return added
}

func init() { vectors["randomized_pe"] = randomisedVector }

// randomisedVector: DeepMind's sinusoids have all sines before all cosines where ours alternate as
// in the paper's other schemes: the columns are compared in our order.
func randomisedVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	n, draw := c.Int("n", 0), "draw_unsorted"
	if c.Has("permutation") {
		draw = "permutation"
	}
	drawn, out := sortedDraw(t, c, draw, n), petest.Outputs{}
	if c.Has("positions") {
		out["positions"] = petest.Array{Shape: []int{n}, Values: drawn}
	}
	sp := petest.Spec{
		Scheme: "random", Fidelity: "text", Layers: 1, DModel: c.Int("d", 0),
		Heads: c.Int("heads", 1), Positions: pe.Line(n),
		Given: pe.Options{"random-max": fmt.Sprint(c.Int("L", 0))},
	}
	switch {
	case c.Text("base", "") == "sinusoidal_1d_concat":
		ours := embedAt(sp.Model(t), drawn)
		theirs := petest.Array{Shape: ours.Shape}
		for i := range n {
			for k := range sp.DModel {
				theirs.Values = append(theirs.Values, ours.Row(i)[k%(sp.DModel/2)*2+k/(sp.DModel/2)])
			}
		}
		out["table"] = theirs
	case c.Has("table") && c.Has("permutation"):
		sp.Given["random-base"] = "learn"
		sp.Set = map[string][]float64{"pe.rows": c.Param(t, "table").Values}
		out["table"] = embedAt(sp.Model(t), drawn)
	default:
		sp.Given["random-base"] = "rope"
		sp.DModel *= sp.Heads
		out["y"] = turnedAt(sp.Model(t), c.Input(t, "x"), drawn)
	}
	return out
}

// turnedAt returns the queries x [B,N,H,Dh] as the drawn positions turn them, in every sample the
// same.
func turnedAt(m *models.Model, x petest.Array, drawn []float64) (turned petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		p := pe.Line(len(drawn))
		p.Drawn = torchpe.Of(s, torchpe.CPU, drawn, 1, 1, len(drawn))
		q := x.Tensor(s).Unsqueeze(0).Transpose(2, 3) // [1,B,H,N,Dh]
		q, _, _ = m.Encoding.Begin(s, p).QKV(pe.Attn{Q: q, K: q, V: q})
		turned = petest.ArrayOf(q.Transpose(2, 3).Squeeze(0))
	})
	return turned
}

// sortedDraw returns the first n of the case's draw, in ascending order.
func sortedDraw(t testing.TB, c *petest.VectorCase, name string, n int) []float64 {
	t.Helper()
	draw := slices.Clone(c.Input(t, name).Values[:n])
	slices.Sort(draw)
	return draw
}

func whole(values []float64) []int {
	list := make([]int, len(values))
	for i, v := range values {
		list[i] = int(v)
	}
	return list
}

// TestRandomisedBases: at the draw 0..N-1 the other bases are learn and rope.
func TestRandomisedBases(t *testing.T) {
	first := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	learn := petest.Spec{Scheme: "learn", Fidelity: "text", Positions: pe.Line(20)}.Model(t)
	rows, err := learn.Params.Values("pe.table")
	if err != nil {
		t.Fatal(err)
	}
	random := petest.Spec{
		Scheme: "random", Fidelity: "text", Given: pe.Options{"random-max": "20",
			"random-base": "learn"}, Set: map[string][]float64{"pe.rows": rows},
	}.Model(t)
	petest.Near(t, "learn", embedAt(random, first), petest.Added(learn, 0, pe.Line(8)), 0)
	x := wave(8, 2, 4, 0)
	rope := petest.Spec{Scheme: "rope", Heads: 2, Given: pe.Options{"positions-from": "0"}}.Model(t)
	want, _ := rotated(rope, x, x, pe.Line(8))
	angles := petest.Spec{Scheme: "random", Fidelity: "text", Heads: 2,
		Given: pe.Options{"random-base": "rope"}}.Model(t)
	petest.Near(t, "rope", turnedAt(angles, x, first), want, 1e-14)
}

// TestRandomisedDistances: the draw 0..N-1 gives transformer-xl and alibi themselves; another gives
// the logits of tokens whose distances are the drawn ones.
func TestRandomisedDistances(t *testing.T) {
	first, drawn := []float64{0, 1, 2, 3, 4, 5, 6, 7}, []float64{0, 2, 3, 9, 11, 12, 30, 49}
	far := pe.Line(50)
	for base, c := range map[string]struct {
		options pe.Options
		names   []string
	}{
		"transformer-xl": {pe.Options{"xl-direction": "bidirectional"}, []string{"pe.u", "pe.v", "pe.keys"}},
		"alibi":          {pe.Options{"alibi": "sided"}, nil},
	} {
		fixed := petest.Spec{Scheme: base, Heads: 2, Layers: 2, Positions: far, Given: c.options}.Model(t)
		set := map[string][]float64{}
		for _, name := range c.names {
			values, err := fixed.Params.Values(name)
			if err != nil {
				t.Fatal(err)
			}
			set[name] = values
		}
		random := petest.Spec{Scheme: "random", Fidelity: "text", Heads: 2, Layers: 2, Set: set,
			Given: pe.Options{"random-base": base, "random-max": "50"}}.Model(t)
		petest.Near(t, base, logitsAt(random, 8, first), logitsAt(fixed, 8, nil), 1e-12)
		got := logitsAt(random, 8, drawn)
		for i := range 8 {
			for j := range 8 {
				// in the fixed scheme over places 0..49, the pair at the drawn distance
				apart := int(drawn[max(i-j, j-i)])
				query, key := apart, 0
				if i < j {
					query, key = 0, apart
				}
				want := pairLogit(fixed, query, key, i, j)
				for h := range 2 {
					if v := got.Values[(h*8+i)*8+j]; math.Abs(v-want[h]) > 1e-12 {
						t.Fatalf("%s: logit %d,%d of head %d is %g, want %g", base, i, j, h, v, want[h])
					}
				}
			}
		}
	}
}

// logitsAt returns what the second block adds to the logits of n tokens, [H,N,N]; drawn is nil for
// a scheme that draws nothing.
func logitsAt(m *models.Model, n int, drawn []float64) (added petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		p := pe.Line(n)
		if drawn != nil {
			p.Drawn = torchpe.Of(s, torchpe.CPU, drawn, 1, 1, n)
		}
		added = petest.ArrayOf(addedAt(s, m, p, wave(n, 2, 4, 0).Tensor(s)))
	})
	return added
}

// addedAt returns what the second block adds to logits, where queries are also keys, x [B,N,H,Dh].
func addedAt(s *torchpe.Scope, m *models.Model, p pe.Positions, x torchpe.Tensor) torchpe.Tensor {
	q := x.Unsqueeze(0).Transpose(2, 3) // [1,B,H,N,Dh]
	n, heads := q.Size(3), q.Size(2)
	a := pe.Attn{Layer: 1, Q: q, K: q, V: q, Scale: 0.5}
	zero := torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, 1, 1, heads, n, n)
	return m.Encoding.Begin(s, p).Logits(a, zero).Reshape(heads, n, n)
}

// pairLogit returns what logitsAt has for the vectors of tokens i and j of eight at two other places,
// of each head.
func pairLogit(m *models.Model, query, key, i, j int) (each []float64) {
	petest.Closed(func(s *torchpe.Scope) {
		x := wave(8, 2, 4, 0).Tensor(s)
		two := torchpe.Cat(1, x.Narrow(1, i, 1), x.Narrow(1, j, 1))
		added := addedAt(s, m, petest.At(m.Config.Positions, query, key), two).Float64s()
		if i == j { // the token and itself
			each = []float64{added[0], added[4]}
			return
		}
		each = []float64{added[1], added[5]}
	})
	return each
}

// TestRandomisedNeedsADraw: a batch without drawn positions is an error that says so.
func TestRandomisedNeedsADraw(t *testing.T) {
	m := petest.Spec{Scheme: "random", Fidelity: "text"}.Model(t)
	petest.Closed(func(s *torchpe.Scope) {
		err := torchpe.Catch(func() { m.Encoding.Begin(s, pe.Line(8)) })
		if err == nil || !strings.Contains(err.Error(), "drawn") {
			t.Errorf("without drawn positions the error is %v", err)
		}
	})
}

// TestFrozenTable: the published code's table is N(0,1), one for each block, and not trained.
func TestFrozenTable(t *testing.T) {
	m := petest.Spec{Scheme: "random", Layers: 4, DModel: 160, Positions: pe.Grid(4, 4)}.Model(t)
	if m.Encoding.Draw().Range != 0 {
		t.Error("the frozen table wants positions drawn")
	}
	if p := m.Params.Get("pe.table"); p.Trainable {
		t.Error("the frozen table is trained")
	}
	values, err := m.Params.Values("pe.table")
	if err != nil {
		t.Fatal(err)
	}
	// Four standard errors of the share of N(0,1) within one and two standard deviations, and of
	// its SD.
	n := float64(len(values))
	for within, share := range map[float64]float64{1: 0.682689, 2: 0.954500} {
		count := 0.0
		for _, v := range values {
			if math.Abs(v) < within {
				count++
			}
		}
		if math.Abs(count/n-share) > 4*math.Sqrt(share*(1-share)/n) {
			t.Errorf("%g of the values lie within %g, want %g", count/n, within, share)
		}
	}
	if sd := norm(values) / math.Sqrt(n); math.Abs(sd-1) > 4/math.Sqrt(2*n) {
		t.Errorf("standard deviation %g of %g values, want 1", sd, n)
	}
	for layer := 1; layer < 4; layer++ {
		tables := petest.Array{Shape: []int{4, 16 * 160}, Values: values}
		if slices.Equal(tables.Row(layer), tables.Row(0)) {
			t.Errorf("blocks 0 and %d share a table", layer)
		}
	}
}
