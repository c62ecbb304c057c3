package pe_test

import (
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestGraphormerPaths: hops of paths on a graph with several shortest ones, by hand: Floyd and
// Warshall go through node 1 from 0 to 3.
func TestGraphormerPaths(t *testing.T) {
	// 0 - 1 - 3 and 0 - 2 - 3, by edges of kinds 1, 2 and 3, 4.
	g := weighted([][]float64{{0, 1, 3, 0}, {1, 0, 0, 2}, {3, 0, 0, 4}, {0, 2, 4, 0}})
	sp := petest.Spec{Scheme: "graphormer", Layers: 1, DModel: 2, Positions: graphPositions(g),
		Given: given("graphormer-edges=2 graphormer-centrality=false"),
		Set: map[string][]float64{"pe.distances": make([]float64, 511), "pe.edges": {0, 0, 1, 10, 100, 1000},
			"pe.hops": {1, 7}}}
	want := petest.Array{Shape: []int{1, 4, 4}, Values: []float64{
		0, 1, 100, (1 + 7*10) / 2.,
		1, 0, (1 + 7*100) / 2., 10,
		100, (100 + 7*1) / 2., 0, 1000,
		(10 + 7*1) / 2., 10, 1000, 0,
	}}
	petest.Near(t, "bias of edges", biasOf(t, sp), want, 1e-12)
}

// TestRelativeAsksOfAttention: the readings differ also in what is around them: the
// published code's is causal and has no output projection.
func TestRelativeAsksOfAttention(t *testing.T) {
	for fidelity, want := range map[string]pe.Attention{"text": pe.PlainAttention,
		"code": {Causal: true, Temperature: 1, Bias: true, LinearInit: true}} {
		m := petest.Spec{Scheme: "relative", Fidelity: fidelity}.Model(t)
		expect.Equal(t, fidelity, m.Encoding.Attention(0), want)
	}
}

// TestFactorisedDense: Tay et al. 2021, section 3: A, B = F_A(X_i), F_B(X_i), C = H_A(A) * H_B(B), in
// plain loops.
func TestFactorisedDense(t *testing.T) {
	const n, d, heads, a, b = 6, 4, 2, 2, 3
	aW, aB, bW, bB := wave(heads, a, d, 1), wave(heads, a, 1, 2), wave(heads, b, d, 3), wave(heads, b, 1, 4)
	x, places := wave(n, 1, d, 5).Reshaped(n, d), []int{3, 0, 5, 1, 4, 2} // of the tokens
	for form, of := range map[string]func(j int) (p, r int){
		"factorised-dense": func(j int) (p, r int) { return j / b, j % b },
		// a and b have no common divisor: all columns differ here too
		"factorised-dense-tiled": func(j int) (p, r int) { return j % a, j % b },
	} {
		sp := petest.Spec{Scheme: "synthesizer", Layers: 1, Heads: heads, DModel: d, Positions: pe.Line(n),
			Given: given("synthesizer=%s", form), Set: map[string][]float64{"pe.a.weight": aW.Values,
				"pe.a.bias": aB.Values, "pe.b.weight": bW.Values, "pe.b.bias": bB.Values}}
		none := Projections{QKV: zeros(3*d, d)}
		got := none.Attend(sp.Model(t), x, sp.Positions.Permuted(places), false).Logits
		want := zeros(heads, n, n)
		for at := range want.Values {
			h, i := at/(n*n), at/n%n
			project := func(w, bias petest.Array, k int) float64 {
				sum := bias.Row(h)[k]
				for j, v := range x.Row(i) {
					sum += w.Row(h)[k*d+j] * v
				}
				return sum
			}
			p, r := of(places[at%n])
			want.Values[at] = project(aW, aB, p) * project(bW, bB, r)
		}
		petest.Near(t, form, got, want, 1e-14)
	}
}

// TestRandomisedDistances: a draw gives transformer-xl and alibi the logits of tokens whose distances are
// the drawn ones. Queries and keys are alike for all tokens, so that offsets alone tell them apart; the
// offsets of token 0 are those of the fixed scheme at the drawn places.
func TestRandomisedDistances(t *testing.T) {
	drawn, n, heads := []float64{0, 2, 3, 9, 11, 12, 30, 49}, 8, 2
	for base, c := range map[string]struct {
		options pe.Options
		names   []string
	}{
		"transformer-xl": {given("xl-direction=bidirectional"), []string{"pe.u", "pe.v", "pe.keys"}},
		"alibi":          {given("alibi=sided"), nil},
	} {
		fixed := petest.Spec{Scheme: base, Heads: heads, Positions: pe.Line(50), Given: c.options}.Model(t)
		set := map[string][]float64{}
		for _, name := range c.names {
			set[name] = valuesOf(fixed, name)
		}
		random := petest.Spec{Scheme: "random", Fidelity: "text", Heads: heads, Set: set,
			Given: given("random-base=%s random-max=50", base)}.Model(t)
		far := logitsAt(fixed, pe.Line(50).Permuted(whole(drawn)), nil)
		want := reordered(far, func(at int) int {
			h, i, j := at/(n*n), at/n%n, at%n
			return (h*n+max(i-j, 0))*n + max(j-i, 0)
		}, heads, n, n)
		petest.Near(t, base, logitsAt(random, pe.Line(n), drawn), want, 1e-12)
	}
}

// logitsAt returns what the second block adds to the logits of tokens at positions p, or at drawn ones,
// that are all alike, [H,N,N].
func logitsAt(m *models.Model, p pe.Positions, drawn []float64) (added petest.Array) {
	n, heads := p.Tokens(), m.Config.Heads
	one := wave(1, heads, m.Config.DModel/heads, 0)
	all := petest.Array{Shape: []int{n, m.Config.DModel}, Values: slices.Repeat(one.Values, n)}
	petest.Closed(func(s *torchpe.Scope) {
		if drawn != nil {
			p = drawnLine(s, drawn)
		}
		q := byHeads(s, all, heads)
		a := pe.Attn{Layer: 1, Q: q, K: q, V: q, Scale: 0.5}
		added = petest.ArrayOf(m.Encoding.Begin(s, p).Logits(a, zeros(1, 1, heads, n, n).Tensor(s))).
			Reshaped(heads, n, n)
	})
	return added
}
