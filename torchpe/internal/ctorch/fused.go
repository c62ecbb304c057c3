package ctorch

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import "unsafe"

// The fused operators, the gradients and the optimizers; functions.h says what they do.

func Linear(x, w, b Handle, gelu, grad bool) (Handle, error) {
	return result(C.tp_linear(c(x), c(w), c(b), flag(gelu), flag(grad)))
}

// Rows is a tp_rows.
type Rows struct{ All, Index, Values, Slope Handle }

func (r Rows) c() C.tp_rows {
	return C.tp_rows{all: c(r.All), index: c(r.Index), values: c(r.Values), slope: c(r.Slope)}
}

func TakeRows(r Rows, grad bool) (Handle, error) { return result(C.tp_take_rows(r.c(), flag(grad))) }

func ProjectQKV(x Handle, r Rows, w, b Handle, heads int, grad bool) (qkv [3]Handle, err error) {
	err = failure(C.tp_project_qkv(c(x), r.c(), c(w), c(b), C.int64_t(heads), flag(grad), handles(qkv[:])))
	return qkv, err
}

func AttentionLogits(q, k Handle, scale float64, grad bool) (Handle, error) {
	return result(C.tp_attention_logits(c(q), c(k), C.double(scale), flag(grad)))
}

func AttentionValues(w, v Handle, grad bool) (Handle, error) {
	return result(C.tp_attention_values(c(w), c(v), flag(grad)))
}

func Attention(q, k, v, bias Handle, scale float64, grad bool) (Handle, error) {
	return result(C.tp_attention(c(q), c(k), c(v), c(bias), C.double(scale), flag(grad)))
}

func Rotate(x, cos, sin Handle, half, grad bool) (Handle, error) {
	return result(C.tp_rotate(c(x), c(cos), c(sin), flag(half), flag(grad)))
}

// Norm is a tp_norm.
type Norm struct {
	Gain, Bias, Table Handle
	Eps               float64
}

func (n Norm) c() C.tp_norm {
	return C.tp_norm{gain: c(n.Gain), bias: c(n.Bias), table: c(n.Table), eps: C.double(n.Eps)}
}

func AddLayerNorm(x, y Handle, n Norm, grad bool) (Handle, error) {
	return result(C.tp_add_layer_norm(c(x), c(y), n.c(), flag(grad)))
}

// SelfAttention is a tp_self_attention.
type SelfAttention struct {
	QKVWeight, QKVBias, OutWeight, OutBias, Mask, Read Handle
	Rows                                               Rows
	Heads                                              int
	Scale                                              float64
}

func AttentionBlock(x Handle, a SelfAttention, n Norm, grad bool) (Handle, error) {
	return result(C.tp_attention_block(c(x), C.tp_self_attention{qkv_w: c(a.QKVWeight), qkv_b: c(a.QKVBias),
		out_w: c(a.OutWeight), out_b: c(a.OutBias), mask: c(a.Mask), read: c(a.Read), rows: a.Rows.c(),
		heads: C.int64_t(a.Heads), scale: C.double(a.Scale)}, n.c(), flag(grad)))
}

// MLP is a tp_mlp.
type MLP struct{ InWeight, InBias, OutWeight, OutBias Handle }

func MLPBlock(x Handle, m MLP, n Norm, grad bool) (Handle, error) {
	return result(C.tp_mlp_block(c(x), C.tp_mlp{in_w: c(m.InWeight), in_b: c(m.InBias), out_w: c(m.OutWeight),
		out_b: c(m.OutBias)}, n.c(), flag(grad)))
}

func Dropout(x Handle, p float64, seeds []uint64, step, call uint64, grad bool) (Handle, error) {
	return result(C.tp_dropout(c(x), C.double(p),
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(seeds))), C.int64_t(len(seeds)),
		C.uint64_t(step), C.uint64_t(call), flag(grad)))
}

// DropoutDrawn is Dropout with the step and the members' seeds in draws, int64 [1+E] on x's device.
func DropoutDrawn(x Handle, p float64, draws Handle, call uint64, grad bool) (Handle, error) {
	return result(C.tp_dropout_drawn(c(x), C.double(p), c(draws), C.uint64_t(call), flag(grad)))
}

func CrossEntropy(logits, target Handle, grad bool) (Handle, error) {
	return result(C.tp_cross_entropy(c(logits), c(target), flag(grad)))
}

func CountCorrect(logits, target Handle) (Handle, error) {
	return result(C.tp_right_answers(c(logits), c(target)))
}

// Backward computes the gradients of every leaf that loss depends on.
func Backward(loss Handle) error { return failure(C.tp_backward(c(loss))) }

// SetRequiresGrad says whether x, a leaf, wants a gradient.
func SetRequiresGrad(x Handle, on bool) error {
	return failure(C.tp_set_requires_grad(c(x), flag(on)))
}

// Grad returns the gradient that Backward left in x.
func Grad(x Handle) (Handle, error) { return result(C.tp_grad(c(x))) }

// ZeroGradients sets the gradients of leaves, which lie in a buffer, to zero, or lets them count as
// zero; SettleGradients fills those that still do. See tp_zero_gradients.
func ZeroGradients(buffer Handle, leaves []Handle) error {
	return failure(C.tp_zero_gradients(c(buffer), handles(leaves), C.int64_t(len(leaves))))
}

func SettleGradients(leaves []Handle) error {
	return failure(C.tp_settle_gradients(handles(leaves), C.int64_t(len(leaves))))
}

// Leaf returns a parameter of shape [E,...] that lives in columns offset... of the buffer x [E,P],
// with its gradient in the same columns of grads; grads = 0 gives one without a gradient.
func Leaf(x Handle, offset int, shape []int, grads Handle) (Handle, error) {
	return result(C.tp_leaf(c(x), C.int64_t(offset), ints(shape), C.int(len(shape)), c(grads)))
}

// AdamState holds the buffers [E,P] that a step of Adam reads and writes: parameters, gradients, and
// the means of gradients and of their squares.
type AdamState struct{ Parameters, Gradients, Means, Squares Handle }

// AdamRule holds the constants of Adam, or of AdamW where Decoupled.
type AdamRule struct {
	Beta1, Beta2, Eps float64
	Decoupled         bool
}

// Adam makes one step with settings [E,6] on the device.
func Adam(s AdamState, settings Handle, r AdamRule) error {
	return failure(C.tp_adam_(c(s.Parameters), c(s.Gradients), c(s.Means), c(s.Squares), c(settings),
		C.double(r.Beta1), C.double(r.Beta2), C.double(r.Eps), flag(r.Decoupled)))
}

// SGD makes one step of gradient descent without momentum, with settings [E,6] on the device.
func SGD(p, g, settings Handle) error {
	return failure(C.tp_sgd_(c(p), c(g), c(settings)))
}

// Account adds what a training step saw to state [5,E]; see tp_account_. correct may be 0.
func Account(each, correct Handle, examples float64, step, state Handle) error {
	return failure(C.tp_account_(c(each), c(correct), C.double(examples), c(step), c(state)))
}

func MemberNorm(g Handle, grad bool) (Handle, error) {
	return result(C.tp_member_norm(c(g), flag(grad)))
}
