package torchpe

import (
	"fmt"
	"math"
	"slices"
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
	ClipNorm        float64   // scales a member's gradient, over all parameters, down to this norm; 0 = off
	Groups          []Group   // columns with settings of their own, in ascending order; nil for none
}

// Group is a range of columns of the buffer [E,P] of trained parameters with its own settings, as a parameter group of PyTorch.
type Group struct {
	From, To        int       // columns From...To-1
	LR, WeightDecay []float64 // [E]
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
	if err := o.checkGroups(set); err != nil {
		return err
	}
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
	err := o.stepGroups(set.Groups, members)
	if err == nil {
		o.step++
	}
	return err
}

// checkGroups checks what must hold before anything is changed.
func (o *Optimizer) checkGroups(set StepSettings) error {
	at, e := 0, o.ps.Members
	if len(set.Groups) > 0 && (len(set.LR) != e || len(set.WeightDecay) != e || len(set.Active) != e) {
		return fmt.Errorf("settings of %d, %d and %d members for %d", len(set.LR), len(set.WeightDecay), len(set.Active), e)
	}
	for _, g := range set.Groups {
		if g.From < at || g.To <= g.From || g.To > o.ps.Count() {
			return fmt.Errorf("columns %d to %d of a group are not ascending in %d to %d", g.From, g.To, at, o.ps.Count())
		}
		if len(g.LR) != e || len(g.WeightDecay) != e {
			return fmt.Errorf("%d learning rates and %d weight decays of a group for %d members", len(g.LR), len(g.WeightDecay), e)
		}
		at = g.To
	}
	return nil
}

// stepGroups changes the columns of each group, and those between them by the members' own settings.
func (o *Optimizer) stepGroups(groups []Group, members ctorch.Members) error {
	if len(groups) == 0 {
		return o.update(o.ps.flat, o.ps.grads, o.m, o.v, members)
	}
	at := 0
	for _, g := range groups {
		if err := o.columns(at, g.From, members); err != nil {
			return err
		}
		own := members
		own.LR, own.WeightDecay = g.LR, g.WeightDecay
		if err := o.columns(g.From, g.To, own); err != nil {
			return err
		}
		at = g.To
	}
	return o.columns(at, o.ps.Count(), members)
}

// columns changes some columns of the buffer.
func (o *Optimizer) columns(from, to int, members ctorch.Members) error {
	if from == to {
		return nil
	}
	var views [4]ctorch.Handle // of parameters, gradients, and Adam's moments
	defer func() {
		ctorch.Release(slices.DeleteFunc(views[:], func(h ctorch.Handle) bool { return h == 0 }))
	}()
	for i, h := range []ctorch.Handle{o.ps.flat, o.ps.grads, o.m, o.v} {
		if h == 0 {
			continue
		}
		var err error
		if views[i], err = ctorch.Narrow(h, 1, from, to-from, false); err != nil {
			return err
		}
	}
	return o.update(views[0], views[1], views[2], views[3], members)
}

// update makes one step of a buffer.
func (o *Optimizer) update(p, g, m, v ctorch.Handle, members ctorch.Members) error {
	if o.method == SGD {
		return ctorch.SGD(p, g, members)
	}
	return ctorch.Adam(p, g, m, v, members, beta1, beta2, eps, o.step+1, o.method == AdamW)
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
