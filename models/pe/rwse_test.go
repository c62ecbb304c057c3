package pe_test

import (
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestRWSE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme:   "rwse",
		Variants: []petest.Variant{petest.Code("rwse-steps", "2,4,7-8"), petest.Code("rwse-dimensions", "2")},
		Refuse: []petest.Refusal{
			petest.Refuse("steps that go back", petest.Spec{Given: pe.Options{"rwse-steps": "4,2"}},
				"--rwse-steps", "ascending"),
		},
	})
}

func init() { vectors["rwse"] = rwseVector }

// graphOf returns tokens in the graph of a case's adjacency matrix.
func graphOf(t testing.TB, c *petest.VectorCase) pe.Positions {
	t.Helper()
	adjacency := c.Input(t, "adjacency")
	var rows [][]float64
	for i := range adjacency.Shape[0] {
		rows = append(rows, adjacency.Row(i))
	}
	g, err := pe.LoopedGraphOf(rows)
	if err != nil {
		t.Fatal(err)
	}
	checkEdges(t, c, g)
	p := pe.Line(g.Nodes())
	p.Graph = g
	return p
}

// checkEdges holds the list of edges of a case, with their weights if there are any, against a graph.
func checkEdges(t testing.TB, c *petest.VectorCase, g *pe.Graph) {
	t.Helper()
	index, weights := c.Input(t, "edge_index"), petest.Array{}
	if c.Has("edge_weight") {
		weights = c.Input(t, "edge_weight")
	}
	for k, from := range index.Row(0) {
		want := 1.0
		if weights.Values != nil {
			want = weights.Values[k]
		}
		if got := g.Weight(int(from), int(index.Row(1)[k])); got != want {
			t.Fatalf("edge %d weighs %g in the matrix, %g in the list", k, got, want)
		}
	}
}

// rwseVector: with the identity for C, what is added is z itself.
func rwseVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	p, steps := graphOf(t, c), c.Floats("steps")
	if c.Has("edge_weight") {
		t.Fatal("weights in the degrees alone: ours are ignored")
	}
	var list []string
	for _, k := range steps {
		list = append(list, format(k))
	}
	return petest.Outputs{"pe": petest.Added(petest.Spec{
		Scheme: "rwse", DModel: len(steps), Positions: p,
		Set: map[string][]float64{"pe.weight": identity(len(steps)), "pe.bias": make([]float64, len(steps))},
		Given: pe.Options{"rwse-steps": strings.Join(list, ","),
			"rwse-dimensions": format(c.Float("space_dim", 0))},
	}.Model(t), 0, p)}
}
