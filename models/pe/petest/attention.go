package petest

import (
	"math"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Projections are the linear maps of one attention layer as PyTorch stores them, [out,in]; Out and
// the biases may be the zero Array, for none.
type Projections struct {
	QKV  Array // [3D,D], one below the other
	QKVB Array // [3D]
	Out  Array // [D,D]
	OutB Array // [D]
}

// StackRows puts arrays one below the other.
func StackRows(parts ...Array) Array {
	all := Array{Shape: append([]int{0}, parts[0].Shape[1:]...)}
	for _, p := range parts {
		all.Shape[0] += p.Shape[0]
		all.Values = append(all.Values, p.Values...)
	}
	return all
}

// Attended holds the intermediates and the output of one layer's attention for one sequence.
type Attended struct {
	Q, K            Array // [N,H,Dh], after the QKV hook
	Logits, Weights Array // [H,N,N]; masked logits are as the hook left them
	Output          Array // [N,D]
}

// Attend calls the hooks on queries, keys, logits and output around plain attention over x [N,D].
// It repeats a layer of the model for this test, so that a scheme can be compared with code of
// attention alone. Where causal or the scheme asks for it, token i sees no j after it.
func (w Projections) Attend(m *models.Model, x Array, p pe.Positions, causal bool) (a Attended) {
	Closed(func(s *torchpe.Scope) {
		member := func(a Array) torchpe.Tensor { // with the axis E
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
		a.Output = ArrayOf(out).Reshaped(x.Shape...)
	})
	return a
}

// HeadInputs are queries, keys and values [N,H,Dh], or [N,Dh] for one head. V may be the zero Array; X
// [N,D] is for schemes that read the tokens too.
type HeadInputs struct{ Q, K, V, X Array }

// Attend does the same as that of Projections from queries, keys and values on. There is no output
// projection.
func (h HeadInputs) Attend(m *models.Model, p pe.Positions, causal bool) (a Attended) {
	q, k, v := h.Q, h.K, h.V
	if v.Values == nil {
		v = q
	}
	n, heads := q.Shape[0], m.Config.Heads
	Closed(func(s *torchpe.Scope) {
		attn := pe.Attn{Q: ByHeads(s, q, heads), K: ByHeads(s, k, heads), V: ByHeads(s, v, heads)}
		if h.X.Values != nil {
			attn.X = h.X.Reshaped(1, 1, n, h.X.Shape[1]).Tensor(s)
		}
		a.Output = ArrayOf(a.attend(m, attn, p, causal)).Reshaped(n, len(v.Values)/n)
		a.Q.Shape, a.K.Shape = q.Shape, k.Shape
	})
	return a
}

// attend does layer 0 from the projections on and returns the merged heads [1,1,N,D].
func (a *Attended) attend(m *models.Model, attn pe.Attn, p pe.Positions, causal bool) torchpe.Tensor {
	s, shape := attn.Q.Scope(), attn.Q.Shape()
	heads, n, dh := shape[2], shape[3], shape[4]
	hooks, wants := Begin(s, m, p), m.Encoding.Attention()
	attn.Scale = wants.LogitScale(dh)
	attn.Q, attn.K, attn.V = hooks.QKV(attn)
	a.Q, a.K = FromHeads(attn.Q), FromHeads(attn.K)
	logits := hooks.Logits(attn, torchpe.AttentionLogits(attn.Q, attn.K, attn.Scale))
	a.Logits = ArrayOf(logits).Reshaped(heads, n, n)
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
	a.Weights = ArrayOf(weights).Reshaped(heads, n, n)
	return hooks.Output(attn, weights, torchpe.AttentionValues(weights, attn.V)).
		Permute(0, 1, 3, 2, 4).Reshape(1, 1, n, heads*dh)
}

// AttendInModel holds one whole layer of a model against Weights and Output of other code's attention
// over x [N,D]: the model's symbols are embedded as the rows of x, and its MLP is set to zero, so that
// it must return LN(LN(x + output)), which is computed here from the other code's output.
func (w Projections) AttendInModel(t testing.TB, sp Spec, x Array, other Attended) {
	t.Helper()
	n, d := x.Shape[0], x.Shape[1]
	sp.Layers, sp.DModel = 1, d
	if sp.Positions.Index == nil {
		sp.Positions = pe.Line(n)
	}
	sp.Change = func(c *models.Config) { c.Symbols, c.TokenInput = n, models.Embedding }
	m := sp.Model(t)
	set := func(name string, values []float64) {
		if p := m.Params.Get(name); p == nil && values != nil {
			t.Fatalf("the model has no %s, which the other code has", name)
		} else if p != nil {
			if values == nil {
				values = make([]float64, p.PerMember())
			}
			if err := m.Params.Set(name, values); err != nil {
				t.Fatal(err)
			}
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
	b := Batch{Members: 1, Size: 1, Tokens: n, Probe: []int64{0}, positions: window(sp.Positions, 0, n)}
	for i := range n {
		b.Symbols = append(b.Symbols, int64(i))
	}
	run := b.forward(m)
	Near(t, "weights in the model", run["attention/0"].Reshaped(other.Weights.Shape...), other.Weights, 1e-12)
	want := Array{Shape: []int{1, 1, n, d}}
	for i := range n {
		sum := make([]float64, d)
		for j := range sum {
			sum[j] = x.Row(i)[j] + other.Output.Row(i)[j]
		}
		want.Values = append(want.Values, LayerNorm(LayerNorm(sum))...)
	}
	Near(t, "output in the model", run["hidden/0"], want, 1e-11)
}

// LayerNorm returns (x - mean)/sqrt(variance + 1e-5), as torch.nn.LayerNorm does.
func LayerNorm(x []float64) []float64 {
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
