package pe_test

import (
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestPath(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "path", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("path-rank", "0"), petest.Code("path-forget", "true"),
			petest.Code("path-rank", "3")},
		Constant: []string{"pe.beta.bias", "pe.forget.bias"},
	})
}

func init() { vectors["path"] = pathVector }

// byToken returns the matrix [R,D] whose column t holds the numbers of token t of a [N,..]: it maps the
// t-th unit vector to them.
func byToken(a petest.Array, d int) (values []float64) {
	n := a.Shape[0]
	rows := len(a.Values) / n
	for r := range rows {
		for t := range d {
			if t < n {
				values = append(values, a.Values[t*rows+r])
			} else {
				values = append(values, 0)
			}
		}
	}
	return values
}

// pathVector: the tokens are unit vectors, so that the maps' columns are what the case gives for each.
func pathVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	q, heads := c.Input(t, "q"), c.Int("heads", 1)
	n, d := q.Shape[0], heads*q.Shape[2]
	if scale := 1 / math.Sqrt(float64(q.Shape[2])); math.Abs(c.Float("scale", scale)-scale) > 1e-12 || n > d {
		t.Fatalf("scale %g, %d tokens: ours is %g, and the test needs at most %d tokens",
			c.Float("scale", scale), n, scale, d)
	}
	in := petest.HeadInputs{
		Q: q, K: forQueries(c.Input(t, "k"), heads), V: forQueries(c.Input(t, "v"), heads),
		X: widened(petest.Array{Shape: []int{n, n}, Values: identity(n)}, d),
	}
	beta := forQueries(c.Input(t, "beta"), heads)
	for i, v := range beta.Values {
		beta.Values[i] = math.Log(v / (2 - v)) // of which 2 sigmoid is v
	}
	sp := petest.Spec{
		Scheme: "path", Heads: heads, DModel: d, Layers: 1, Positions: pe.Line(n),
		Given: pe.Options{"path-rank": "0"},
		Set: map[string][]float64{"pe.up": byToken(forQueries(c.Input(t, "w"), heads), d),
			"pe.beta.weight": byToken(beta, d), "pe.beta.bias": make([]float64, heads)},
	}
	if c.Bool("forget_gate") {
		logs := forQueries(c.Input(t, "log_f"), heads)
		for i, v := range logs.Values {
			logs.Values[i] = -math.Log(math.Expm1(-v))
		}
		sp.Given["path-forget"], sp.Set["pe.forget.weight"] = "true", byToken(logs, d)
	}
	got := in.Attend(sp.Model(t), sp.Positions, false)
	return petest.Outputs{"logits": got.Logits, "output": got.Output.Reshaped(q.Shape...)}
}
