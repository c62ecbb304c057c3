package pe_test

import (
	"math"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// Projections are the linear maps of one attention layer as PyTorch stores them, [out,in]; Out and
// the biases may be the zero Array, for none.
type Projections struct {
	QKV  petest.Array // [3D,D], one below the other
	QKVB petest.Array // [3D]
	Out  petest.Array // [D,D]
	OutB petest.Array // [D]
}

// Attended holds the intermediates and the output of one layer's attention for one sequence.
type Attended struct {
	Q, K            petest.Array // [N,H,Dh], after the QKV hook
	Logits, Weights petest.Array // [H,N,N]; masked logits are as the hook left them
	Output          petest.Array // [N,D]
}

// Attend calls the hooks on queries, keys, logits and output around plain attention over x [N,D].
// It repeats a layer of the model for this test, so that a scheme can be compared with code of
// attention alone. Where causal or the scheme asks for it, token i sees no j after it.
func (w Projections) Attend(m *models.Model, x petest.Array, p pe.Positions, causal bool) (a Attended) {
	petest.Closed(func(s *torchpe.Scope) {
		member := func(a petest.Array) torchpe.Tensor { // with the axis E
			if a.Values == nil {
				return torchpe.Tensor{}
			}
			return a.Reshaped(append([]int{1}, a.Shape...)...).Tensor(s)
		}
		qkvW, qkvB := member(w.QKV), member(w.QKVB)
		attn := pe.Attn{X: member(x.Reshaped(append([]int{1}, x.Shape...)...))}
		attn.Project = func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
			return torchpe.ProjectQKV(y, qkvW, qkvB, m.Config.Heads)
		}
		attn.Q, attn.K, attn.V = attn.Project(attn.X)
		out := a.attend(m, attn, p, causal)
		if w.Out.Values != nil {
			out = torchpe.Linear(out, member(w.Out), member(w.OutB))
		}
		a.Output = petest.ArrayOf(out).Reshaped(x.Shape...)
	})
	return a
}

// HeadInputs are queries, keys and values [N,H,Dh], or [N,Dh] for one head. V may be the zero Array; X
// [N,D] is for schemes that read the tokens too.
type HeadInputs struct{ Q, K, V, X petest.Array }

// Attend does the same as that of Projections from queries, keys and values on. There is no output
// projection.
func (h HeadInputs) Attend(m *models.Model, p pe.Positions, causal bool) (a Attended) {
	q, k, v := h.Q, h.K, h.V
	if v.Values == nil {
		v = q
	}
	n, heads := q.Shape[0], m.Config.Heads
	petest.Closed(func(s *torchpe.Scope) {
		attn := pe.Attn{Q: byHeads(s, q, heads), K: byHeads(s, k, heads), V: byHeads(s, v, heads)}
		if h.X.Values != nil {
			attn.X = h.X.Reshaped(1, 1, n, h.X.Shape[1]).Tensor(s)
		}
		a.Output = petest.ArrayOf(a.attend(m, attn, p, causal)).Reshaped(n, len(v.Values)/n)
		a.Q.Shape, a.K.Shape = q.Shape, k.Shape
	})
	return a
}

// attend does layer 0 from the projections on and returns the merged heads [1,1,N,D].
func (a *Attended) attend(m *models.Model, attn pe.Attn, p pe.Positions, causal bool) torchpe.Tensor {
	s, shape := attn.Q.Scope(), attn.Q.Shape()
	heads, n, dh := shape[2], shape[3], shape[4]
	hooks, wants := begin(s, m, p), m.Encoding.Attention(0)
	attn.Scale = wants.LogitScale(dh)
	attn.Q, attn.K, attn.V = hooks.QKV(attn)
	a.Q, a.K = fromHeads(attn.Q), fromHeads(attn.K)
	logits := hooks.Logits(attn, torchpe.AttentionLogits(attn.Q, attn.K, attn.Scale))
	a.Logits = petest.ArrayOf(logits).Reshaped(heads, n, n)
	logits = logits.MulScalar(1 / wants.Temperature)
	if causal || wants.Causal {
		later := make([]float64, 0, n*n) // softmax of it is exactly zero
		for _, i := range p.Index {
			for _, j := range p.Index {
				v := 0.0
				if j > i {
					v = -1e300
				}
				later = append(later, v)
			}
		}
		logits = logits.Add(torchpe.Of(s, torchpe.CPU, later, n, n))
	}
	weights := logits.Softmax(-1)
	a.Weights = petest.ArrayOf(weights).Reshaped(heads, n, n)
	return hooks.Output(attn, weights, torchpe.AttentionValues(weights, attn.V)).
		Permute(0, 1, 3, 2, 4).Reshape(1, 1, n, heads*dh)
}

// embed returns the output of a layer's Embed hook for tokens x [B,N,D] or [N,D].
func embed(m *models.Model, layer int, x petest.Array, p pe.Positions) (out petest.Array) {
	n, d := p.Tokens(), m.Config.DModel
	petest.Closed(func(s *torchpe.Scope) {
		tokens := x.Reshaped(1, len(x.Values)/n/d, n, d).Tensor(s)
		out = petest.ArrayOf(begin(s, m, p).Embed(layer, tokens)).Reshaped(x.Shape...)
	})
	return out
}

// added returns the addend of a layer's Embed hook for the tokens of the one member, [N,D].
func added(m *models.Model, layer int, p pe.Positions) petest.Array {
	return embed(m, layer, zeros(p.Tokens(), m.Config.DModel), p)
}

// addedToLogits returns the output of the first layer's Logits hook for logits, queries and keys of
// zero: the bias [H,N,N] of schemes that add one.
func addedToLogits(m *models.Model, p pe.Positions) petest.Array {
	return HeadInputs{}.Logits(m, petest.Array{}, p)
}

// Logits returns the output of the first layer's Logits hook for logits [H,N,N]. The zero Array stands
// for zeros among logits, queries and keys.
func (h HeadInputs) Logits(m *models.Model, logits petest.Array, p pe.Positions) (out petest.Array) {
	n, heads, dh := p.Tokens(), m.Config.Heads, m.Config.DModel/m.Config.Heads
	orZeros := func(x petest.Array, shape ...int) petest.Array {
		if x.Values == nil {
			return zeros(shape...)
		}
		return x
	}
	petest.Closed(func(s *torchpe.Scope) {
		q, k := byHeads(s, orZeros(h.Q, n, heads, dh), heads), byHeads(s, orZeros(h.K, n, heads, dh), heads)
		attn := pe.Attn{X: zeros(1, 1, n, heads*dh).Tensor(s), Q: q, K: k, V: k,
			Scale: m.Encoding.Attention(0).LogitScale(dh)}
		before := orZeros(logits, heads, n, n).Reshaped(1, 1, heads, n, n)
		out = petest.ArrayOf(begin(s, m, p).Logits(attn, before.Tensor(s))).Reshaped(heads, n, n)
	})
	return out
}

// byHeads copies queries, keys or values [N,H,Dh], [N,H Dh] or [B,N,H,Dh] into a tensor [1,B,H,N,Dh].
func byHeads(s *torchpe.Scope, x petest.Array, heads int) torchpe.Tensor {
	b, n := 1, x.Shape[0]
	if len(x.Shape) == 4 {
		b, n = x.Shape[0], x.Shape[1]
	}
	return x.Reshaped(1, b, n, heads, len(x.Values)/(b*n*heads)).Tensor(s).Permute(0, 1, 3, 2, 4)
}

// fromHeads returns a tensor [1,B,H,N,Dh] as an array [N,H,Dh] for one sample, [B,N,H,Dh] for more.
func fromHeads(x torchpe.Tensor) petest.Array {
	a := petest.ArrayOf(x.Permute(0, 1, 3, 2, 4))
	if a.Shape[1] == 1 {
		return a.Reshaped(a.Shape[2:]...)
	}
	return a.Reshaped(a.Shape[1:]...)
}

// stackRows puts arrays one below the other.
func stackRows(parts ...petest.Array) petest.Array {
	all := petest.Array{Shape: append([]int{0}, parts[0].Shape[1:]...)}
	for _, p := range parts {
		all.Shape[0] += p.Shape[0]
		all.Values = append(all.Values, p.Values...)
	}
	return all
}

// AttendInModel holds one whole layer of a model against Weights and Output of other code's attention
// over x [N,D]: the model's symbols are embedded as the rows of x, and its MLP is set to zero, so that
// it must return LN(LN(x + output)), which is computed here from the other code's output.
func (w Projections) AttendInModel(t testing.TB, sp petest.Spec, x petest.Array, other Attended) {
	t.Helper()
	n, d := x.Shape[0], x.Shape[1]
	sp.Layers, sp.DModel = 1, d
	if sp.Positions.Index == nil {
		sp.Positions = pe.Line(n)
	}
	sp.Change = func(c *models.Config) { c.Symbols, c.TokenInput = n, arch.Embedding }
	m := sp.Model(t)
	set := func(name string, values []float64) {
		if p := m.Params.Get(name); p == nil && values != nil {
			t.Fatalf("the model has no %s, which the other code has", name)
		} else if p != nil {
			if values == nil {
				values = make([]float64, p.PerMember())
			}
			expect.NoError(t, m.Params.Set(name, values))
		}
	}
	set("embed.weight", x.Values)
	set("block0.attn.in.weight", w.QKV.Values)
	set("block0.attn.in.bias", w.QKVB.Values)
	set("block0.attn.out.weight", w.Out.Values)
	set("block0.attn.out.bias", w.OutB.Values)
	for _, name := range []string{"block0.mlp.in.weight", "block0.mlp.in.bias",
		"block0.mlp.out.weight", "block0.mlp.out.bias"} {
		set(name, nil)
	}
	b := petest.Batch{Members: 1, Size: 1, Tokens: n, Probe: []int64{0},
		Positions: sp.Positions.Permuted(places(0, n))}
	for i := range n {
		b.Symbols = append(b.Symbols, int64(i))
	}
	run := forward(b, m)
	weights := run["attention/0"].Reshaped(other.Weights.Shape...)
	petest.Near(t, "weights in the model", weights, other.Weights, 1e-12)
	want := petest.Array{Shape: []int{1, 1, n, d}}
	for i := range n {
		sum := make([]float64, d)
		for j := range sum {
			sum[j] = x.Row(i)[j] + other.Output.Row(i)[j]
		}
		want.Values = append(want.Values, layerNorm(layerNorm(sum))...)
	}
	petest.Near(t, "output in the model", run["hidden/0"], want, 1e-11)
}

// layerNorm returns (x - mean)/sqrt(variance + 1e-5), as torch.nn.LayerNorm does.
func layerNorm(x []float64) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v - mean) / math.Sqrt(variance+1e-5)
	}
	return out
}
