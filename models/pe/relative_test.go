package pe_test

import (
	"fmt"
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestRelative(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "relative", Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("relative", "shaw"), petest.Text("relative-clip", "2"), petest.Text("relative-values", "true"),
			petest.Text("relative-values", "true", "relative-clip", "3"), petest.Code("attention-init", "xavier"),
		},
		Refuse: []petest.Refusal{
			petest.Refuse("values in the skewed reading",
				petest.Spec{Given: pe.Options{"relative-values": "true"}}, "--relative-values",
				"--relative shaw"),
			petest.Refuse("no clip", petest.Spec{Fidelity: "text",
				Given: pe.Options{"relative-clip": "0"}}, "--relative-clip", `"0"`),
			petest.Refuse("a clip that overflows",
				petest.Spec{Fidelity: "text",
					Given: pe.Options{"relative-clip": "9223372036854775807"}}, "--relative-clip"),
		},
	})
}

// reversed returns the rows in the opposite order.
func reversed(a petest.Array) petest.Array {
	b := petest.Array{Shape: a.Shape}
	for i := range a.Shape[0] {
		b.Values = append(b.Values, a.Row(a.Shape[0]-1-i)...)
	}
	return b
}

func init() {
	vectors["shaw"] = shawVector
	vectors["music_transformer"] = musicTransformerVector
}

// shawVector: BERT's relative_key counts i-j where Shaw has j-i: its table is ours with the rows
// reversed, and without clipping where it has rows for all offsets. A causal mask is no part of
// --relative shaw; it is the test's own.
func shawVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x := c.Input(t, "x")
	w, keys, values := shawWeights(t, c)
	given := pe.Options{"relative": "shaw", "relative-clip": fmt.Sprint(keys.Shape[0] / 2),
		"relative-values": fmt.Sprint(values.Values != nil)}
	sp := petest.Spec{
		Scheme: "relative", Fidelity: "text", Given: given, Layers: 1,
		DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(x.Shape[0]),
		Set: map[string][]float64{"pe.keys": keys.Values},
	}
	if values.Values != nil {
		sp.Set["pe.values"] = values.Values
	}
	got := w.Attend(sp.Model(t), x, sp.Positions, c.Bool("auto_regression"))
	output := "output"
	if !c.Has(output) {
		output = "context"
	}
	return petest.Outputs{"logits": got.Logits, "weights": got.Weights, output: got.Output}
}

// shawWeights reads a case's projections and its tables of keys and values, in Shaw's order; no
// values where it has none.
func shawWeights(t testing.TB, c *petest.VectorCase) (w petest.Projections, keys, values petest.Array) {
	t.Helper()
	if c.Has("distance_embedding.weight") {
		w.QKV = petest.StackRows(c.Param(t, "query.weight"), c.Param(t, "key.weight"), c.Param(t, "value.weight"))
		w.QKVB = petest.StackRows(c.Param(t, "query.bias"), c.Param(t, "key.bias"), c.Param(t, "value.bias"))
		return w, reversed(c.Param(t, "distance_embedding.weight")), values
	}
	w.QKV = petest.StackRows(c.Param(t, "W_query.weight"), c.Param(t, "W_key.weight"), c.Param(t, "W_value.weight"))
	w.Out, w.OutB = c.Param(t, "out_proj.weight"), c.Param(t, "out_proj.bias")
	if c.Has("value_relative_positions_embeddings") {
		values = c.Param(t, "value_relative_positions_embeddings")
	}
	return w, c.Param(t, "key_relative_positions_embeddings"), values
}

// musicTransformerVector: a table with more rows than tokens is one built for more positions, of
// which the tokens take the first. The causal mask and the missing output projection are the
// scheme's, so that a whole layer of the model must agree.
func musicTransformerVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x, table := c.Input(t, "x"), c.Param(t, "Er")
	w := petest.Projections{
		QKV:  petest.StackRows(c.Param(t, "query.weight"), c.Param(t, "key.weight"), c.Param(t, "value.weight")),
		QKVB: petest.StackRows(c.Param(t, "query.bias"), c.Param(t, "key.bias"), c.Param(t, "value.bias")),
	}
	sp := petest.Spec{
		Scheme: "relative", Layers: 1, DModel: x.Shape[1], Heads: c.Int("heads", 1), Positions: pe.Line(table.Shape[0]),
		Set: map[string][]float64{"pe.keys": table.Values},
	}
	got := w.Attend(sp.Model(t), x, petest.At(sp.Positions, places(0, x.Shape[0])...), false)
	w.AttendInModel(t, sp, x, got)
	return petest.Outputs{"weights": got.Weights, "output": got.Output}
}

// TestShawByHand holds keys and values against equations 3 to 5 of Shaw et al. 2018 as loops, with
// tokens in any order.
func TestShawByHand(t *testing.T) {
	const n, dh, clip = 8, 4, 2
	order := []int{5, 0, 3, 7, 1, 6, 2, 4}
	m := petest.Spec{
		Scheme: "relative", Fidelity: "text", DModel: dh, Layers: 2,
		Given: pe.Options{"relative-values": "true", "relative-clip": fmt.Sprint(clip)},
	}.Model(t)
	table := func(name string, layer int) petest.Array {
		values, err := m.Params.Values(name)
		if err != nil {
			t.Fatal(err)
		}
		return petest.Array{Shape: []int{2*clip + 1, dh}, Values: values[layer*(2*clip+1)*dh : (layer+1)*(2*clip+1)*dh]}
	}
	p := petest.At(pe.Line(n), order...)
	petest.Closed(func(s *torchpe.Scope) {
		draw := func(seed uint64, shape ...int) torchpe.Tensor {
			return torchpe.RandN(s, seed, torchpe.Float64, torchpe.CPU, shape...)
		}
		q, k := draw(1, 1, 1, 1, n, dh), draw(2, 1, 1, 1, n, dh)
		weights := draw(3, 1, 1, 1, n, n).Softmax(-1)
		zeros := func(shape ...int) torchpe.Tensor { return torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, shape...) }
		hooks := m.Encoding.Begin(s, p)
		for layer := range 2 {
			attn := pe.Attn{Layer: layer, Q: q, K: k, V: k, Scale: 1 / math.Sqrt(dh)}
			keys, values := table("pe.keys", layer), table("pe.values", layer)
			logits, out := petest.Array{Shape: []int{1, 1, 1, n, n}},
				petest.Array{Shape: []int{1, 1, 1, n, dh}, Values: make([]float64, n*dh)}
			query, weight := q.Float64s(), weights.Float64s()
			for i := range n {
				for j := range n {
					row := max(-clip, min(clip, order[j]-order[i])) + clip
					sum := 0.0
					for c := range dh {
						sum += query[i*dh+c] * keys.Row(row)[c] / math.Sqrt(dh)
						out.Values[i*dh+c] += weight[i*n+j] * values.Row(row)[c]
					}
					logits.Values = append(logits.Values, sum)
				}
			}
			petest.Near(t, "what is added to the logits",
				petest.ArrayOf(hooks.Logits(attn, zeros(1, 1, 1, n, n))), logits, 1e-13)
			petest.Near(t, "what is added to the output",
				petest.ArrayOf(hooks.Output(attn, weights, zeros(1, 1, 1, n, dh))), out, 1e-13)
		}
	})
}

// TestRelativeAsksOfAttention: the readings differ also in what is around them: the
// published code's is causal and has no output projection.
func TestRelativeAsksOfAttention(t *testing.T) {
	code := petest.Spec{Scheme: "relative"}.Model(t).Encoding.Attention()
	if want := (pe.Attention{Causal: true, Temperature: 1, Bias: true, LinearInit: true}); code != want {
		t.Errorf("code: %+v, want %+v", code, want)
	}
	if text := (petest.Spec{Scheme: "relative", Fidelity: "text"}).Model(t).
		Encoding.Attention(); text != pe.PlainAttention {
		t.Errorf("text: %+v, want %+v", text, pe.PlainAttention)
	}
}
