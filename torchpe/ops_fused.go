package torchpe

import "torchpe/torchpe/internal/ctorch"

// Operators that do in one pass what a transformer does in several.

// optional returns the operands that are not the zero Tensor. A parameter of a set that is closed,
// or not built yet, has no tensor either, but is an error: it was not meant to be left out.
func optional(op string, ts ...Tensor) []Tensor {
	var given []Tensor
	for _, t := range ts {
		switch {
		case t.Defined():
			given = append(given, t)
		case t.s != nil:
			fail(op, "an operand is a parameter of a set that is closed or not built", given...)
		}
	}
	return given
}

// Linear returns x w^T + b for each member: x [E,...,I], w [E,O,I], b [E,O] or the zero Tensor ->
// [E,...,O].
func Linear(x, w, b Tensor) Tensor { return linear(x, w, b, false) }

// LinearGELU returns GELU(x w^T + b); shapes as in Linear.
func LinearGELU(x, w, b Tensor) Tensor { return linear(x, w, b, true) }

func linear(x, w, b Tensor, gelu bool) Tensor {
	op := "Linear"
	if gelu {
		op = "LinearGELU"
	}
	operands := optional(op, x, w, b)
	s := innermost(op, operands...)
	h, err := ctorch.Linear(x.h, w.h, b.h, gelu, !s.noGrad)
	return s.own(op, h, err, operands...)
}

// ProjectQKV returns the queries, keys and values [E,B,H,N,Dh] of x [E,B,N,D]: w [E,3D,D] holds
// their weights one below the other, b [E,3D] (or the zero Tensor) their biases.
func ProjectQKV(x, w, b Tensor, heads int) (q, k, v Tensor) {
	return project("ProjectQKV", x, TokenRows{}, w, b, heads)
}

func project(op string, x Tensor, r TokenRows, w, b Tensor, heads int) (q, k, v Tensor) {
	operands := optional(op, append(r.operands(), x, w, b)...)
	s := innermost(op, operands...)
	hs, err := ctorch.ProjectQKV(x.h, r.handles(), w.h, b.h, heads, !s.noGrad)
	q = s.own(op, hs[0], err, operands...)
	return q, s.own(op, hs[1], nil), s.own(op, hs[2], nil)
}

// TokenRows holds tokens that share rows, one for each of S symbols at each of N places: token n of
// sample b is All[e, Index[e,b,n], n] + Values[e,b,n] Slope[e].
type TokenRows struct {
	All           Tensor // [E,S,N,D]; of TakeRows alone also split into heads [E,S,H,N,Dh], Slope [E,H*Dh]
	Index         Tensor // int64 [E,B,N]
	Values, Slope Tensor // [E,B,N] and [E,D], or the zero Tensor for both
}

func (r TokenRows) operands() []Tensor { return []Tensor{r.All, r.Index, r.Values, r.Slope} }

func (r TokenRows) handles() ctorch.Rows {
	return ctorch.Rows{All: r.All.h, Index: r.Index.h, Values: r.Values.h, Slope: r.Slope.h}
}

// TakeRows returns the tokens [E,B,N,D], or [E,B,H,N,Dh] laid out as ProjectQKV's.
func TakeRows(r TokenRows) Tensor {
	const op = "TakeRows"
	operands := optional(op, r.operands()...)
	s := innermost(op, operands...)
	h, err := ctorch.TakeRows(r.handles(), !s.noGrad)
	return s.own(op, h, err, operands...)
}

// ProjectRows is ProjectQKV of TakeRows of r, for which each row is projected once.
func ProjectRows(r TokenRows, w, b Tensor, heads int) (q, k, v Tensor) {
	return project("ProjectRows", Tensor{}, r, w, b, heads)
}

// AttentionLogits returns scale q k^T: q [E,B,H,N,Dh], k [E,B,H,M,Dh] -> [E,B,H,N,M].
func AttentionLogits(q, k Tensor, scale float64) Tensor {
	s := innermost("AttentionLogits", q, k)
	h, err := ctorch.AttentionLogits(q.h, k.h, scale, !s.noGrad)
	return s.own("AttentionLogits", h, err, q, k)
}

// AttentionValues returns w v: w [E,B,H,N,M], v [E,B,H,M,Dh] -> [E,B,H,N,Dh], laid out so that
// merging heads copies nothing.
func AttentionValues(w, v Tensor) Tensor {
	s := innermost("AttentionValues", w, v)
	h, err := ctorch.AttentionValues(w.h, v.h, !s.noGrad)
	return s.own("AttentionValues", h, err, w, v)
}

// Attention returns softmax(scale q k^T + bias) v: q [E,B,H,N,Dh], k [E,B,H,M,Dh], v [E,B,H,M,Dv]
// -> [E,B,H,N,Dv], laid out so that merging heads copies nothing. bias is the zero Tensor for none,
// or broadcasts to [E,B,H,N,M]: -inf hides a key, and a row whose keys are all hidden is NaN, as in
// Softmax. It is AttentionLogits, Softmax and AttentionValues in one; for many tokens on the CPU
// neither logits nor weights are ever written to memory as a whole.
func Attention(q, k, v, bias Tensor, scale float64) Tensor {
	const op = "Attention"
	operands := optional(op, q, k, v, bias)
	s := innermost(op, operands...)
	h, err := ctorch.Attention(q.h, k.h, v.h, bias.h, scale, !s.noGrad)
	return s.own(op, h, err, operands...)
}

// RotatePairs turns the pairs (x[2k], x[2k+1]) of the last axis, or (x[k], x[k+D/2]) where half, by
// the angles whose cosines and sines are given: x [...,N,D], cos and sin [...,N,D/2] (they
// broadcast).
func RotatePairs(x, cos, sin Tensor, half bool) Tensor {
	s := innermost("RotatePairs", x, cos, sin)
	h, err := ctorch.Rotate(x.h, cos.h, sin.h, half, !s.noGrad)
	return s.own("RotatePairs", h, err, x, cos, sin)
}

// Norm is a layer norm: gain and bias [E,D]. Table [E,N,D], or the zero Tensor for none, is added to
// its result, which is then [E,B,N,D].
type Norm struct {
	Gain, Bias Tensor
	Eps        float64
	Table      Tensor
}

func (n Norm) handles() ctorch.Norm {
	return ctorch.Norm{Gain: n.Gain.h, Bias: n.Bias.h, Table: n.Table.h, Eps: n.Eps}
}

// AddLayerNorm returns the layer norm n of x + y over the last axis: x, y [E,...,D]; y may be the
// zero Tensor.
func AddLayerNorm(x, y Tensor, n Norm) Tensor {
	const op = "AddLayerNorm"
	operands := optional(op, x, y, n.Gain, n.Bias, n.Table)
	s := innermost(op, operands...)
	h, err := ctorch.AddLayerNorm(x.h, y.h, n.handles(), !s.noGrad)
	return s.own(op, h, err, operands...)
}

// SelfAttention holds the operands of AttentionBlock: weights [E,3D,D] and [E,D,D] with biases
// [E,3D] and [E,D], as ProjectQKV and Linear take them, and Attention's mask. The biases, Mask and
// Read may be the zero Tensor.
type SelfAttention struct {
	QKVWeight, QKVBias, OutWeight, OutBias, Mask Tensor
	Heads                                        int
	Scale                                        float64
	Read                                         Tensor    // int64 [E,B,M]: only these tokens are asked for
	Rows                                         TokenRows // where given, x must be TakeRows of them
}

// AttentionBlock returns the layer norm n of x + Linear(a, OutWeight, OutBias), where a is
// Attention of the queries, keys and values that ProjectQKV makes of x [E,B,N,D], its heads merged;
// with Read, those tokens [E,B,M,D] of it. It is the first half of a transformer's block in one
// operator, which on a GPU makes fewer passes over memory than its parts. On a CPU it multiplies the
// maps of one head out in pairs where there are many tokens, and then takes 0 for the gradient of the
// keys' bias, which is 0 but for rounding.
func AttentionBlock(x Tensor, a SelfAttention, n Norm) Tensor {
	const op = "AttentionBlock"
	operands := optional(op, append(a.Rows.operands(), x, a.QKVWeight, a.QKVBias, a.Mask, a.OutWeight, a.OutBias,
		a.Read, n.Gain, n.Bias, n.Table)...)
	s := innermost(op, operands...)
	h, err := ctorch.AttentionBlock(x.h, ctorch.SelfAttention{QKVWeight: a.QKVWeight.h, QKVBias: a.QKVBias.h,
		OutWeight: a.OutWeight.h, OutBias: a.OutBias.h, Mask: a.Mask.h, Read: a.Read.h, Rows: a.Rows.handles(),
		Heads: a.Heads, Scale: a.Scale}, n.handles(), !s.noGrad)
	return s.own(op, h, err, operands...)
}

// MLP holds the operands of MLPBlock: weights [E,I,D] and [E,D,I], biases [E,I] and [E,D] or the
// zero Tensor.
type MLP struct {
	InWeight, InBias, OutWeight, OutBias Tensor
}

// MLPBlock returns the layer norm n of x + LinearGELU(LinearGELU(x, InWeight, InBias), OutWeight,
// OutBias), x [E,...,D]: the second half, in the same way.
func MLPBlock(x Tensor, m MLP, n Norm) Tensor {
	const op = "MLPBlock"
	operands := optional(op, x, m.InWeight, m.InBias, m.OutWeight, m.OutBias, n.Gain, n.Bias, n.Table)
	s := innermost(op, operands...)
	h, err := ctorch.MLPBlock(x.h, ctorch.MLP{InWeight: m.InWeight.h, InBias: m.InBias.h,
		OutWeight: m.OutWeight.h, OutBias: m.OutBias.h}, n.handles(), !s.noGrad)
	return s.own(op, h, err, operands...)
}

// Dropout returns t [E,...] with each element zero with probability p and divided by 1-p otherwise.
// What member e drops depends on its seed, the step and the number of the call alone: see
// Scope.Seed and Scope.SeedFrom.
func (t Tensor) Dropout(p float64) Tensor {
	const op = "Dropout"
	s := innermost(op, t)
	if p == 0 {
		return t
	}
	if s.noise == nil {
		fail(op, "the scope has no seed: call Scope.Seed first", t)
	}
	call := s.noise.call
	s.noise.call++
	var h ctorch.Handle
	var err error
	if s.noise.drawn.Defined() {
		h, err = ctorch.DropoutDrawn(t.h, p, s.noise.drawn.h, call, !s.noGrad)
	} else {
		h, err = ctorch.Dropout(t.h, p, s.noise.seeds, s.noise.step, call, !s.noGrad)
	}
	return s.own(op, h, err, t)
}

// CrossEntropy returns each member's mean cross-entropy [E] of logits [E,B,C] for the classes
// target (int64 [E,B]).
func CrossEntropy(logits, target Tensor) Tensor {
	s := innermost("CrossEntropy", logits, target)
	h, err := ctorch.CrossEntropy(logits.h, target.h, !s.noGrad)
	return s.own("CrossEntropy", h, err, logits, target)
}

// CountCorrect returns float64 [E], the number of rows of logits [E,B,C] whose largest entry, the
// first of equals, is at target (int64 [E,B]). It has no gradient.
func CountCorrect(logits, target Tensor) Tensor {
	s := innermost("CountCorrect", logits, target)
	h, err := ctorch.CountCorrect(logits.h, target.h)
	return s.own("CountCorrect", h, err, logits, target)
}

// Backward adds the gradient of t, which has one element, to that of every parameter it depends on.
func (t Tensor) Backward() {
	if err := ctorch.Backward(t.h); err != nil {
		fail("Backward", err.Error(), t)
	}
}

// RequireGrad makes Backward compute the gradient of t, a tensor without history, and returns t.
func (t Tensor) RequireGrad() Tensor {
	if err := ctorch.SetRequiresGrad(t.h, true); err != nil {
		fail("RequireGrad", err.Error(), t)
	}
	return t
}

// Grad returns the gradient that Backward left in t.
func (t Tensor) Grad() Tensor {
	s := innermost("Grad", t)
	h, err := ctorch.Grad(t.h)
	return s.own("Grad", h, err, t)
}
