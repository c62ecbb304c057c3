package ctorch

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// The fused operators, the gradients and the optimizers; shim.h says what they do.

func Linear(x, w, b Handle, gelu, grad bool) (Handle, error) {
	return result(C.tp_linear(c(x), c(w), c(b), flag(gelu), flag(grad)))
}

func ProjectQKV(x, w, b Handle, heads int, grad bool) (qkv [3]Handle, err error) {
	err = failure(C.tp_project_qkv(c(x), c(w), c(b), C.int64_t(heads), flag(grad), handles(qkv[:])))
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

func AddLayerNorm(x, y, gain, bias Handle, eps float64, grad bool) (Handle, error) {
	return result(C.tp_add_layer_norm(c(x), c(y), c(gain), c(bias), C.double(eps), flag(grad)))
}

func Dropout(x Handle, p float64, seeds []uint64, step, call uint64, grad bool) (Handle, error) {
	return result(C.tp_dropout(c(x), C.double(p), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(seeds))), C.int64_t(len(seeds)),
		C.uint64_t(step), C.uint64_t(call), flag(grad)))
}

// DropoutDrawn is Dropout with the step and the members' seeds in draws, int64 [1+E] on x's device.
func DropoutDrawn(x Handle, p float64, draws Handle, call uint64, grad bool) (Handle, error) {
	return result(C.tp_dropout_drawn(c(x), C.double(p), c(draws), C.uint64_t(call), flag(grad)))
}

func CrossEntropy(logits, target Handle, grad bool) (Handle, error) {
	return result(C.tp_cross_entropy(c(logits), c(target), flag(grad)))
}

// Backward computes the gradients of every leaf that loss depends on.
func Backward(loss Handle) error { return failure(C.tp_backward(c(loss))) }

// SetRequiresGrad says whether x, a leaf, wants a gradient.
func SetRequiresGrad(x Handle, on bool) error {
	return failure(C.tp_set_requires_grad(c(x), flag(on)))
}

// Grad returns the gradient that Backward left in x.
func Grad(x Handle) (Handle, error) { return result(C.tp_grad(c(x))) }

// Leaf returns a parameter of shape [E,...] that lives in columns offset... of the buffer x [E,P], with its
// gradient in the same columns of grads; grads = 0 gives one without a gradient.
func Leaf(x Handle, offset int, shape []int, grads Handle) (Handle, error) {
	return result(C.tp_leaf(c(x), C.int64_t(offset), ints(shape), C.int(len(shape)), c(grads)))
}

// Members holds each member's settings of an optimizer step.
type Members struct {
	LR, WeightDecay []float64
	Scale           []float64 // nil = 1
	Active          []bool    // false leaves the member as it is
}

// in copies the settings into C memory for one call; free gives it back.
func (m Members) in() (cm C.tp_members, free func(), err error) {
	n := len(m.LR)
	if n == 0 || len(m.WeightDecay) != n || len(m.Active) != n || m.Scale != nil && len(m.Scale) != n {
		return cm, nil, fmt.Errorf("settings of %d learning rates, %d weight decays, %d scales and %d members that are active or not; one of each member is needed",
			n, len(m.WeightDecay), len(m.Scale), len(m.Active))
	}
	words := 3 * n
	block := C.malloc(C.size_t(8*words + n + 8))
	values := unsafe.Slice((*float64)(block), words)
	copy(values, m.LR)
	copy(values[n:], m.WeightDecay)
	cm.lr = (*C.double)(unsafe.Pointer(&values[0]))
	cm.weight_decay = (*C.double)(unsafe.Pointer(&values[n]))
	if m.Scale != nil {
		copy(values[2*n:], m.Scale)
		cm.scale = (*C.double)(unsafe.Pointer(&values[2*n]))
	}
	active := unsafe.Slice((*byte)(unsafe.Add(block, 8*words)), n)
	for i, on := range m.Active {
		active[i] = 0
		if on {
			active[i] = 1
		}
	}
	cm.active = (*C.uint8_t)(unsafe.Pointer(&active[0]))
	cm.members = C.int64_t(n)
	return cm, func() { C.free(block) }, nil
}

// Adam makes one step of Adam, or AdamW where decoupled.
func Adam(p, g, m, v Handle, members Members, beta1, beta2, eps float64, step int, decoupled bool) error {
	cm, free, err := members.in()
	if err != nil {
		return err
	}
	defer free()
	return failure(C.tp_adam_(c(p), c(g), c(m), c(v), cm, C.double(beta1), C.double(beta2), C.double(eps), C.int64_t(step), flag(decoupled)))
}

// SGD makes one step of gradient descent without momentum.
func SGD(p, g Handle, members Members) error {
	cm, free, err := members.in()
	if err != nil {
		return err
	}
	defer free()
	return failure(C.tp_sgd_(c(p), c(g), cm))
}

// AdamSettings is Adam with the settings of each member in a tensor, float64 [E,6] on p's device: learning rate, weight decay, scale
// of the gradient, 1 or 0 for active or not, 1-beta1^t and sqrt(1-beta2^t).
func AdamSettings(p, g, m, v, settings Handle, beta1, beta2, eps float64, decoupled bool) error {
	return failure(C.tp_adam_settings_(c(p), c(g), c(m), c(v), c(settings), C.double(beta1), C.double(beta2), C.double(eps), flag(decoupled)))
}

// SGDSettings is SGD with such settings, of which it takes the first four columns.
func SGDSettings(p, g, settings Handle) error {
	return failure(C.tp_sgd_settings_(c(p), c(g), c(settings)))
}

func MemberNorm(g Handle, grad bool) (Handle, error) {
	return result(C.tp_member_norm(c(g), flag(grad)))
}
