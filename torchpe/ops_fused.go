package torchpe

import (
	"slices"

	"torchpe/torchpe/internal/ctorch"
)

// Operators that do in one pass what otherwise takes several.

// Linear returns x w^T + b for each member: x [E,...,I], w [E,O,I], b [E,O] or the zero Tensor ->
// [E,...,O].
func Linear(x, w, b Tensor) Tensor { return operator("Linear", x, w, b) }

// LinearGELU returns GELU(x w^T + b); shapes as in Linear.
func LinearGELU(x, w, b Tensor) Tensor { return operator("LinearGELU", x, w, b) }

// ProjectQKV returns the queries, keys and values [E,B,H,N,Dh] of x [E,B,N,D]: w [E,3D,D] holds
// their weights stacked, b [E,3D] (or the zero Tensor) their biases.
func ProjectQKV(x, w, b Tensor, heads int) (q, k, v Tensor) {
	return project(x, TokenRows{}, w, b, heads)
}

// ProjectRows is ProjectQKV of TakeRows of r, but projects each row only once.
func ProjectRows(r TokenRows, w, b Tensor, heads int) (q, k, v Tensor) {
	return project(Tensor{}, r, w, b, heads)
}

func project(x Tensor, r TokenRows, w, b Tensor, heads int) (q, k, v Tensor) {
	all := call{op: "ProjectQKV", tensors: slices.Concat([]Tensor{x}, r.operands(), []Tensor{w, b}),
		ints: []int{heads}}.results(3)
	return all[0], all[1], all[2]
}

// TokenRows holds tokens that share rows, one for each of S symbols at each of N places: token n of
// sample b is All[e, Index[e,b,n], n] + Values[e,b,n] Slope[e].
type TokenRows struct {
	All           Tensor // [E,S,N,D]; for TakeRows only, also split into heads [E,S,H,N,Dh], Slope [E,H*Dh]
	Index         Tensor // int64 [E,B,N]
	Values, Slope Tensor // [E,B,N] and [E,D], or the zero Tensor for both
}

func (r TokenRows) operands() []Tensor { return []Tensor{r.All, r.Index, r.Values, r.Slope} }

// TakeRows returns the tokens [E,B,N,D], or [E,B,H,N,Dh] laid out as ProjectQKV's.
func TakeRows(r TokenRows) Tensor { return operator("TakeRows", r.operands()...) }

// AttentionLogits returns scale q k^T: q [E,B,H,N,Dh], k [E,B,H,M,Dh] -> [E,B,H,N,M].
func AttentionLogits(q, k Tensor, scale float64) Tensor {
	return call{op: "AttentionLogits", tensors: []Tensor{q, k}, numbers: []float64{scale}}.result()
}

// AttentionValues returns w v: w [E,B,H,N,M], v [E,B,H,M,Dh] -> [E,B,H,N,Dh], laid out so that
// merging heads needs no copy.
func AttentionValues(w, v Tensor) Tensor { return operator("AttentionValues", w, v) }

// Attention returns softmax(scale q k^T + bias) v: q [E,B,H,N,Dh], k [E,B,H,M,Dh], v [E,B,H,M,Dv]
// -> [E,B,H,N,Dv], laid out so that merging heads needs no copy. bias is the zero Tensor for none,
// or broadcasts to [E,B,H,N,M]: -inf hides a key, and a row whose keys are all hidden is NaN, as in
// Softmax. It combines AttentionLogits, Softmax and AttentionValues; for many tokens on the CPU
// neither logits nor weights are ever stored completely.
func Attention(q, k, v, bias Tensor, scale float64) Tensor {
	return call{op: "Attention", tensors: []Tensor{q, k, v, bias}, numbers: []float64{scale}}.result()
}

// RotatePairs rotates the pairs (x[2k], x[2k+1]) of the last axis, or if half (x[k], x[k+D/2]), by the
// angles with the given cosines and sines: x [...,N,D], cos and sin [...,N,D/2] (they broadcast).
func RotatePairs(x, cos, sin Tensor, half bool) Tensor {
	return call{op: "RotatePairs", tensors: []Tensor{x, cos, sin}, ints: []int{oneIf(half)}}.result()
}

// Norm is a layer norm: gain and bias [E,D]. Table [E,N,D], or the zero Tensor for none, is added to
// its result, which is then [E,B,N,D].
type Norm struct {
	Gain, Bias Tensor
	Eps        float64
	Table      Tensor
}

func (n Norm) operands() []Tensor { return []Tensor{n.Gain, n.Bias, n.Table} }

// AddLayerNorm returns the layer norm n of x + y over the last axis: x, y [E,...,D]; y may be the
// zero Tensor.
func AddLayerNorm(x, y Tensor, n Norm) Tensor {
	return call{op: "AddLayerNorm", tensors: append([]Tensor{x, y}, n.operands()...),
		numbers: []float64{n.Eps}}.result()
}

// SelfAttention holds the operands of AttentionBlock: weights [E,3D,D] and [E,D,D] with biases
// [E,3D] and [E,D], as in ProjectQKV and Linear, and Attention's mask. The biases, Mask and Read
// may be the zero Tensor.
type SelfAttention struct {
	QKVWeight, QKVBias, OutWeight, OutBias, Mask Tensor
	Heads                                        int
	Scale                                        float64
	Folds                                        bool      // a single head's maps are multiplied out, on a CPU
	Read                                         Tensor    // int64 [E,B,M]: results for these tokens only
	Rows                                         TokenRows // if given, x must be TakeRows of them
}

// AttentionBlock returns the layer norm n of x + Linear(a, OutWeight, OutBias), where a is
// Attention of the queries, keys and values that ProjectQKV computes from x [E,B,N,D], with merged
// heads; with Read, only those tokens [E,B,M,D]. It is the first half of a transformer block in one
// operator, which on a GPU needs fewer passes over memory than its parts. With Folds, the gradient
// of the keys' bias is set to 0, its value up to rounding.
func AttentionBlock(x Tensor, a SelfAttention, n Norm) Tensor {
	return call{op: "AttentionBlock", tensors: slices.Concat(
		[]Tensor{x, a.QKVWeight, a.QKVBias, a.OutWeight, a.OutBias, a.Mask, a.Read}, a.Rows.operands(), n.operands()),
		ints: []int{a.Heads, oneIf(a.Folds)}, numbers: []float64{a.Scale, n.Eps}}.result()
}

// MLP holds the operands of MLPBlock: weights [E,I,D] and [E,D,I], biases [E,I] and [E,D] or the
// zero Tensor.
type MLP struct {
	InWeight, InBias, OutWeight, OutBias Tensor
}

// MLPBlock returns the layer norm n of x + LinearGELU(LinearGELU(x, InWeight, InBias), OutWeight,
// OutBias), x [E,...,D]: the second half of a transformer block.
func MLPBlock(x Tensor, m MLP, n Norm) Tensor {
	return call{op: "MLPBlock", tensors: append([]Tensor{x, m.InWeight, m.InBias, m.OutWeight, m.OutBias},
		n.operands()...), numbers: []float64{n.Eps}}.result()
}

// Dropout returns t [E,...] with each element zero with probability p and divided by 1-p otherwise.
// The elements that member e drops depend only on its seed, the step and the number of the call:
// see Scope.Seed and Scope.SeedFrom.
func (t Tensor) Dropout(p float64) Tensor {
	const op = "Dropout"
	noise := innermost(op, t).noise
	switch {
	case p == 0:
		return t
	case noise == nil:
		fail(op, "the scope has no seed: call Scope.Seed first", t)
	}
	number := noise.calls
	noise.calls++
	if noise.drawn.Defined() {
		return t.dropout(p, noise.drawn, number)
	}
	s := t.s.Child()
	defer s.Close()
	h, err := ctorch.FromData(noise.host, []int{len(noise.host)}, ctorch.Int64, int(t.Device()))
	return s.give(t.In(s).dropout(p, s.own(op, h, err), number), t.s)
}

func (t Tensor) dropout(p float64, drawn Tensor, number int) Tensor {
	return call{op: "Dropout", tensors: []Tensor{t, drawn}, ints: []int{number}, numbers: []float64{p}}.result()
}

// CrossEntropy returns each member's mean cross-entropy [E] of logits [E,B,C] for the classes
// target (int64 [E,B]).
func CrossEntropy(logits, target Tensor) Tensor { return operator("CrossEntropy", logits, target) }

// CountCorrect returns float64 [E], the number of rows of logits [E,B,C] whose largest entry, the
// first of equals, is at target (int64 [E,B]). It has no gradient.
func CountCorrect(logits, target Tensor) Tensor { return operator("CountCorrect", logits, target) }

// Backward adds the gradient of t, which has one element, to that of every parameter on which it depends.
func (t Tensor) Backward() { call{op: "Backward", tensors: []Tensor{t}}.act() }

// RequireGrad makes Backward compute the gradient of t, a tensor without history, and returns t.
func (t Tensor) RequireGrad() Tensor {
	call{op: "RequireGrad", tensors: []Tensor{t}}.act()
	return t
}

// Grad returns the gradient that Backward left in t.
func (t Tensor) Grad() Tensor { return t.op("Grad") }
