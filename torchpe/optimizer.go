package torchpe

import (
	"fmt"
	"math"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// Method is an optimizer's rule.
type Method string

// The optimizers. Adam adds weight decay to the gradient (L2), AdamW shrinks the weights themselves
// (Loshchilov & Hutter 2019); SGD has no momentum.
const (
	Adam  Method = "adam"
	AdamW Method = "adamw"
	SGD   Method = "sgd"
)

// Methods lists the optimizers.
func Methods() []string { return []string{string(Adam), string(AdamW), string(SGD)} }

// Adam's constants, as in Kingma & Ba 2015 and PyTorch.
const (
	beta1 = 0.9
	beta2 = 0.999
	eps   = 1e-8
)

// Optimizer changes all trained parameters of a ParamSet in one call a step.
type Optimizer struct {
	method Method
	ps     *ParamSet
	m, v   ctorch.Handle // Adam's moments [E,P]; 0 for SGD
	step   int
}

// StepSettings are each member's settings of one step.
type StepSettings struct {
	LR, WeightDecay []float64 // [E]
	Active          []bool    // [E]; false leaves the member as it is
	ClipNorm        float64   // scales a member's gradient down to this norm; 0 = off
}

// NewOptimizer returns an optimizer of ps, which must be built.
func NewOptimizer(method Method, ps *ParamSet) (*Optimizer, error) {
	o := &Optimizer{method: method, ps: ps}
	switch method {
	case SGD:
		return o, nil
	case Adam, AdamW:
	default:
		return nil, fmt.Errorf("optimizer %q is unknown; it is %s", method, strings.Join(Methods(), ", "))
	}
	for _, h := range []*ctorch.Handle{&o.m, &o.v} {
		var err error
		if *h, err = ctorch.Full([]int{ps.Members, ps.Count()}, 0, int(ps.DType), int(ps.Device)); err != nil {
			o.Close()
			return nil, fmt.Errorf("allocating the optimizer's state: %w", err)
		}
	}
	return o, nil
}

// Steps returns how many steps were made.
func (o *Optimizer) Steps() int { return o.step }

// SetSteps says how many steps the state has behind it, when it comes from a checkpoint.
func (o *Optimizer) SetSteps(n int) { o.step = n }

// State returns the buffers [E,P] that a checkpoint must hold, by name; they share the optimizer's memory.
func (o *Optimizer) State(s *Scope) map[string]Tensor {
	if o.method == SGD {
		return nil
	}
	return map[string]Tensor{"adam.m": {o.m, s}, "adam.v": {o.v, s}}
}

// ZeroGrad sets all gradients to zero.
func (o *Optimizer) ZeroGrad() error { return ctorch.Fill(o.ps.grads, 0) }

// Step changes the parameters by the gradients that Backward left.
func (o *Optimizer) Step(set StepSettings) error {
	members := ctorch.Members{LR: set.LR, WeightDecay: set.WeightDecay, Active: set.Active}
	if set.ClipNorm > 0 {
		norms, err := o.GradNorms()
		if err != nil {
			return err
		}
		members.Scale = make([]float64, len(norms))
		for e, n := range norms {
			members.Scale[e] = math.Min(1, set.ClipNorm/(n+1e-6)) // the 1e-6 of PyTorch's clip_grad_norm_
		}
	}
	var err error
	if o.method == SGD {
		err = ctorch.SGD(o.ps.flat, o.ps.grads, members)
	} else {
		err = ctorch.Adam(o.ps.flat, o.ps.grads, o.m, o.v, members, beta1, beta2, eps, o.step+1, o.method == AdamW)
	}
	if err == nil {
		o.step++
	}
	return err
}

// GradNorms returns the Euclidean norm of each member's gradient.
func (o *Optimizer) GradNorms() ([]float64, error) {
	h, err := ctorch.MemberNorm(o.ps.grads, false)
	if err != nil {
		return nil, err
	}
	defer ctorch.Release([]ctorch.Handle{h})
	norms := make([]float64, o.ps.Members)
	return norms, ctorch.Read(h, norms)
}

// Close frees the optimizer's state. Closing twice does nothing.
func (o *Optimizer) Close() {
	for _, h := range []*ctorch.Handle{&o.m, &o.v} {
		if *h != 0 {
			ctorch.Release([]ctorch.Handle{*h})
			*h = 0
		}
	}
}
