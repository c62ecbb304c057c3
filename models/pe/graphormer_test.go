package pe_test

import (
	"fmt"
	"strconv"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestGraphormer(t *testing.T) {
	odd, err := pe.GraphOf([][]float64{{0, 1.5}, {1.5, 0}})
	if err != nil {
		t.Fatal(err)
	}
	petest.Run(t, petest.Case{
		Scheme: "graphormer", Shift: petest.Moved,
		Variants: []petest.Variant{
			petest.Code("graphormer-centrality", "false"), petest.Code("graphormer-degrees", "2"),
			petest.Code("graphormer-distances", "2"),
			petest.Code("graphormer-edges", "simple"), petest.Code("graphormer-edges", "2"),
			petest.Code("graphormer-virtual-node", "first"),
			petest.Code("graphormer-edges", "5", "graphormer-virtual-node", "first", "graphormer-centrality", "false"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("an edge of no kind", petest.Spec{
				Positions: pe.Positions{Index: []int{0, 1}, Graph: odd},
				Given:     pe.Options{"graphormer-edges": "simple"},
			}, "graphormer", "--graphormer-edges", "weighs 1.5"),
			petest.Refuse("no hops", petest.Spec{Given: pe.Options{"graphormer-edges": "0"}},
				"--graphormer-edges", `"0"`),
		},
	})
}

func init() { vectors["graphormer"] = only(graphormerVector) }

// withVirtualNode returns the places of a graph's nodes after one of a virtual node.
func withVirtualNode(t testing.TB, weights [][]float64) pe.Positions {
	t.Helper()
	n := len(weights) + 1
	all := [][]float64{make([]float64, n)}
	for _, row := range weights {
		all = append(all, append([]float64{0}, row...))
	}
	g, err := pe.GraphOf(all)
	if err != nil {
		t.Fatal(err)
	}
	p := pe.Line(n)
	p.Graph = g
	return p
}

// graphormerVector: their rows are ours with one before them, for padding; the last of ours is for
// nodes that no path joins, theirs is 511. An edge's feature is its weight.
func graphormerVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	if c.Has("atom_features") {
		return centralityVector(t, c)
	}
	features, adjacency := c.Input(t, "edge_feature"), c.Input(t, "adjacency")
	n, heads := features.Shape[0], c.Int("heads", 1)
	weights := make([][]float64, n)
	for i := range weights {
		weights[i] = features.Row(i)
		for j, w := range adjacency.Row(i) {
			if (w != 0) != (weights[i][j] != 0) {
				t.Fatalf("nodes %d and %d: adjacency %g, edge feature %g", i, j, w, weights[i][j])
			}
		}
	}
	p := withVirtualNode(t, weights)
	sp := petest.Spec{
		Scheme: "graphormer", Layers: 1, Heads: heads, DModel: 2 * heads, Positions: p,
		Given: pe.Options{"graphormer-virtual-node": "first", "graphormer-edges": "simple",
			"graphormer-centrality": "false"},
		Set: map[string][]float64{"pe.virtual": c.Param(t, "graph_token_virtual_distance.weight").Values},
	}
	if c.Text("edge_type", "") == "multi_hop" {
		hops := c.Int("multi_hop_max_dist", 5)
		sp.Given["graphormer-edges"] = fmt.Sprint(hops)
		sp.Set["pe.hops"] = c.Param(t, "edge_dis_encoder.weight").Values[:hops*heads*heads]
	}
	rows, spatial := petest.Spec(sp).Model(t).Params.Get("pe.edges").Shape[2], make([]float64, 511*heads)
	sp.Set["pe.edges"] = c.Param(t, "edge_encoder.weight").Values[:rows*heads]
	for number, row := range c.Rows(t, "spatial_pos_rows") {
		at, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		copy(spatial[(at-1)*heads:], row)
	}
	sp.Set["pe.distances"] = spatial
	out := petest.Outputs{
		"spd": distances(p.Graph, n), "bias_with_virtual_node": petest.AddedToLogits(sp.Model(t), 0, p),
	}
	checkGraphInputs(t, c, out["spd"], features)
	return out
}

// distances returns those between the nodes after the virtual one, 510 where there is no path.
func distances(g *pe.Graph, n int) petest.Array {
	a := petest.Array{Shape: []int{n, n}}
	for _, row := range g.Distances()[1:] {
		for _, d := range row[1:] {
			if d < 0 {
				d = 510
			}
			a.Values = append(a.Values, float64(d))
		}
	}
	return a
}

// checkGraphInputs holds the indices that the other code's module received against ours; those of
// hops are seen in the bias.
func checkGraphInputs(t testing.TB, c *petest.VectorCase, spd, features petest.Array) {
	t.Helper()
	shifted := func(a petest.Array) petest.Array {
		b := petest.Array{Shape: a.Shape}
		for _, v := range a.Values {
			b.Values = append(b.Values, v+1)
		}
		return b
	}
	petest.Near(t, "shifted distances", shifted(spd), c.Input(t, "spatial_pos_shifted"), 0)
	petest.Near(t, "kinds of edges", shifted(features), c.Input(t, "attn_edge_type_index").
		Reshaped(features.Shape...), 0)
	c.Unused("edge_input_shifted")
}

// centralityVector: degrees are numbers, which no graph need have.
func centralityVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	atoms, features := c.Param(t, "atom_encoder.weight"), c.Input(t, "atom_features")
	n, d := features.Shape[0], atoms.Shape[1]
	out := petest.Array{Shape: []int{n + 1, d},
		Values: append([]float64(nil), c.Param(t, "graph_token.weight").Values...)}
	for i := range n {
		sum := make([]float64, d)
		for _, atom := range features.Row(i) {
			for j, v := range atoms.Row(int(atom)) {
				sum[j] += v
			}
		}
		out.Values = append(out.Values, sum...)
	}
	weights := make([][]float64, n)
	for i := range weights {
		weights[i] = make([]float64, n)
	}
	p := withVirtualNode(t, weights)
	degrees := func(side string) []int { // 0 is padding to them
		all := []int{0}
		for _, shifted := range c.Input(t, side+"_degree_shifted").Values {
			all = append(all, int(shifted)-1)
		}
		return all
	}
	in, outgoing := c.Param(t, "in_degree_encoder.weight"), c.Param(t, "out_degree_encoder.weight")
	sp := petest.Spec{
		Scheme: "graphormer", Layers: 1, DModel: d, Positions: p,
		Given: pe.Options{"graphormer-virtual-node": "first", "graphormer-degrees": fmt.Sprint(in.Shape[0] - 2)},
		Set:   map[string][]float64{"pe.in": in.Values[d:], "pe.out": outgoing.Values[d:]},
	}
	m := sp.Model(t)
	pe.SetDegrees(m.Encoding, degrees("in"), degrees("out"))
	for i, v := range petest.Added(m, 0, sp.Positions).Values {
		out.Values[i] += v
	}
	return petest.Outputs{"node_features_with_graph_token": out}
}

// TestGraphormerPaths: hops of paths on a graph with several shortest ones, by hand: Floyd and
// Warshall go through node 1 from 0 to 3.
func TestGraphormerPaths(t *testing.T) {
	// 0 - 1 - 3 and 0 - 2 - 3, by edges of kinds 1, 2 and 3, 4.
	g, err := pe.GraphOf([][]float64{{0, 1, 3, 0}, {1, 0, 0, 2}, {3, 0, 0, 4}, {0, 2, 4, 0}})
	if err != nil {
		t.Fatal(err)
	}
	p := pe.Line(4)
	p.Graph = g
	m := petest.Spec{
		Scheme: "graphormer", Layers: 1, DModel: 2, Positions: p,
		Given: pe.Options{"graphormer-edges": "2", "graphormer-centrality": "false"},
		Set: map[string][]float64{
			"pe.distances": make([]float64, 511), "pe.edges": {0, 0, 1, 10, 100, 1000}, "pe.hops": {1, 7},
		},
	}.Model(t)
	want := petest.Array{Shape: []int{1, 4, 4}, Values: []float64{
		0, 1, 100, (1 + 7*10) / 2.,
		1, 0, (1 + 7*100) / 2., 10,
		100, (100 + 7*1) / 2., 0, 1000,
		(10 + 7*1) / 2., 10, 1000, 0,
	}}
	petest.Near(t, "bias of edges", petest.AddedToLogits(m, 0, p), want, 1e-12)
}
