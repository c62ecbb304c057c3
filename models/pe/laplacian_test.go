package pe_test

import (
	"fmt"
	"math"
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

// TestLaplacianOfCycle: the normalised Laplacian of a cycle of n nodes has the eigenvalues 1 -
// cos(2 pi k/n), of which most are there twice (Chung 1997, section 1.2); eigenvectors are
// orthonormal and are such. A node alone has degree 1 by convention: its eigenvalue is 1.
func TestLaplacianOfCycle(t *testing.T) {
	const n = 12
	var ring [][2]int
	for i := range n {
		ring = append(ring, [2]int{i, (i + 1) % n})
	}
	g := newGraph(t, n+1, ring)
	values, vectors := g.Laplacian()
	left := append([]float64(nil), values...)
	for k := range n + 1 {
		want := 1 - math.Cos(2*math.Pi*float64(k)/n)
		if k == n {
			want = 1
		}
		found := false
		for i, v := range left {
			if math.Abs(v-want) < 1e-12 && !found {
				left[i], found = math.NaN(), true
			}
		}
		if !found {
			t.Errorf("no eigenvalue %g among %v", want, values)
		}
	}
	for i, u := range vectors {
		if i > 0 && values[i] < values[i-1]-1e-11 {
			t.Errorf("eigenvalues are not sorted: %v", values)
		}
		for j, w := range vectors {
			product := 0.0
			for node := range u {
				product += u[node] * w[node]
			}
			if want := map[bool]float64{true: 1, false: 0}[i == j]; math.Abs(product-want) > 1e-12 {
				t.Errorf("eigenvectors %d and %d have the product %g", i, j, product)
			}
		}
		for node, v := range u {
			lu := v
			if node < n {
				lu -= (u[(node+1)%n] + u[(node+n-1)%n]) / 2
			}
			if math.Abs(lu-values[i]*v) > 1e-12 {
				t.Errorf("L u = %g at node %d of eigenvector %d, want %g", lu, node, i, values[i]*v)
			}
		}
	}
}
