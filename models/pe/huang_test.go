package pe_test

import (
	"fmt"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestHuang(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "huang", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("huang-method", "1"), petest.Code("huang-method", "2"),
			petest.Code("huang-method", "3"), petest.Code("huang-clip", "3"),
			petest.Code("huang-method", "1", "huang-clip", "3"), petest.Code("huang-method", "2", "huang-clip", "2"),
			petest.Code("huang-method", "3", "huang-clip", "2"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("no clip", petest.Spec{Given: pe.Options{"huang-clip": "0"}}, "--huang-clip", `"0"`),
		},
	})
}

func init() {
	for _, method := range []string{"1", "2", "3", "4"} {
		vectors["huang_m"+method] = only(func(t testing.TB, c *petest.VectorCase) petest.Outputs {
			return huangVector(t, c, method)
		})
	}
}

// huangVector: BERT's relative_key_query is method 4 with offsets i-j, as in shawVector.
func huangVector(t testing.TB, c *petest.VectorCase, method string) petest.Outputs {
	x := c.Input(t, "x")
	var w petest.Projections
	var table petest.Array
	output := "output"
	if c.Has("distance_embedding.weight") {
		output = "context"
		w, table, _ = shawWeights(t, c)
	} else {
		w = plainWeights(t, c)
		for _, name := range []string{"key_relative_positions_embeddings", "relative_parameters"} {
			if c.Has(name) {
				table = c.Param(t, name)
			}
		}
	}
	clip := table.Shape[0] / 2
	if method == "1" {
		clip = table.Shape[0] - 1
	}
	sp := petest.Spec{
		Scheme: "huang", Given: pe.Options{"huang-method": method, "huang-clip": fmt.Sprint(clip)},
		Layers: 1, DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(x.Shape[0]),
		Set: map[string][]float64{"pe.table": table.Values},
	}
	got := w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression"))
	return petest.Outputs{"logits": got.Logits, "weights": got.Weights, output: got.Output}
}
