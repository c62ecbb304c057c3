package pe_test

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestLaplacian(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "laplacian",
		Variants: []petest.Variant{
			petest.Code("laplacian-first", "3"), petest.Code("laplacian-last", "2"),
			petest.Text("laplacian-scale", "z-score"),
			petest.Code("laplacian-alpha", "2"),
		},
	})
}

func init() { vectors["laplacian_pe"] = laplacianVector }

// laplacianVector: with the identity for C, what is added is z itself. Tab-PET's eigenvectors are z
// without its z-score.
func laplacianVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	adjacency := c.Input(t, "adjacency")
	var rows [][]float64
	for i := range adjacency.Shape[0] {
		rows = append(rows, adjacency.Row(i))
	}
	g, err := pe.GraphOf(rows)
	if err != nil {
		t.Fatal(err)
	}
	for k, e := range edges(c) { // the same, named one by one
		if g.Weight(e[0], e[1]) == 0 {
			t.Errorf("edge %d %v is not in the adjacency matrix", k, e)
		}
	}
	p := pe.Line(g.Nodes())
	p.Graph = g
	first, last := c.Int("k_first", c.Int("k", 0)), c.Int("k_last", 0)
	columns := func(scale string) petest.Array {
		k := first + last
		identity := make([]float64, k*k)
		for i := range k {
			identity[i*k+i] = 1
		}
		return petest.Added(petest.Spec{
			Scheme: "laplacian", DModel: k, Positions: p,
			Set: map[string][]float64{"pe.weight": identity, "pe.bias": make([]float64, k)},
			Given: pe.Options{"laplacian-first": fmt.Sprint(first),
				"laplacian-last": fmt.Sprint(last), "laplacian-scale": scale},
		}.Model(t), 0, p)
	}
	c.UpToSign("pe")
	if !strings.Contains(fmt.Sprint(c.SourceSymbol), "apply_simple_pe_normalization") {
		return petest.Outputs{"pe": columns("none")}
	}
	c.UpToSign("eigenvectors_selected")
	values, _ := g.Laplacian()
	return petest.Outputs{
		"pe": columns("z-score"), "eigenvectors_selected": columns("none"),
		"eigenvalues": {Shape: []int{len(values)}, Values: values},
	}
}

// edges are those of the case's configuration; nil where it has none.
func edges(c *petest.VectorCase) (list [][2]int) {
	pairs, _ := c.Value("edges").([]any)
	for _, pair := range pairs {
		ends := pair.([]any)
		list = append(list, [2]int{int(ends[0].(float64)), int(ends[1].(float64))})
	}
	return list
}
