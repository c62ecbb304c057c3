package torchpe

import (
	"errors"
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

// Optimizer updates all trained parameters of a ParamSet with one call per step.
type Optimizer struct {
	method Method
	ps     *ParamSet
	m, v   ctorch.Handle // Adam's moments [E,P]; 0 for SGD
	step   int

	// The last prepared step:
	settings ctorch.Handle // float64 [parts,E,6] on the device: the members' settings, then those of each group
	parts    int
	groups   []Group
	clip     float64
	closed   bool
}

// StepSettings are each member's settings of one step.
type StepSettings struct {
	LR, WeightDecay []float64 // [E]
	Active          []bool    // [E]; false leaves the member unchanged
	ClipNorm        float64   // scales a member's gradient, over all parameters, down to this norm; 0 = off
	Groups          []Group   // columns with their own settings, in ascending order; nil for none
}

// Group is a range of columns of the buffer [E,P] of trained parameters with its own settings, like
// a parameter group of PyTorch.
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
		if *h, err = ctorch.Full([]int{ps.Members, ps.Columns()}, 0, int(ps.DType), int(ps.Device)); err != nil {
			o.Close()
			return nil, fmt.Errorf("allocating the optimizer's state: %w", err)
		}
	}
	return o, nil
}

// Steps returns the number of steps done.
func (o *Optimizer) Steps() int { return o.step }

// SetSteps sets the number of steps done, when the state comes from a checkpoint.
func (o *Optimizer) SetSteps(n int) { o.step = n }

// State returns the buffers [E,P] that a checkpoint must hold, by name; they share the optimizer's
// memory.
func (o *Optimizer) State(s *Scope) map[string]Tensor {
	if o.method == SGD {
		return nil
	}
	return map[string]Tensor{"adam.m": {o.m, s}, "adam.v": {o.v, s}}
}

// ZeroGrad sets all gradients to zero.
func (o *Optimizer) ZeroGrad() error {
	return ctorch.Act("ZeroGradients", ctorch.Operands{
		Tensors: append([]ctorch.Handle{o.ps.grads}, o.ps.leaves...)})
}

// Step updates the parameters with the gradients of Backward.
func (o *Optimizer) Step(set StepSettings) error {
	if err := o.Prepare(set); err != nil {
		return err
	}
	if err := o.Apply(Tensor{}); err != nil {
		o.step--
		return err
	}
	return nil
}

// Prepare copies the settings of the next step to the device and counts the step; Apply executes it.
func (o *Optimizer) Prepare(set StepSettings) error {
	if o.closed {
		return errors.New("the optimizer is closed")
	}
	if err := o.checkGroups(set); err != nil {
		return err
	}
	if err := o.allocateSettings(1 + len(set.Groups)); err != nil {
		return err
	}
	if err := ctorch.Write(o.settings, o.settingsOf(set, o.step+1)); err != nil {
		return err
	}
	o.groups, o.clip = set.Groups, set.ClipNorm
	o.step++
	return nil
}

// settingsOf returns the settings [parts,E,6] of a step, counted from 1.
func (o *Optimizer) settingsOf(set StepSettings, step int) (values []float64) {
	parts := [][2][]float64{{set.LR, set.WeightDecay}}
	for _, g := range set.Groups {
		parts = append(parts, [2][]float64{g.LR, g.WeightDecay})
	}
	t := float64(step)
	correction1, root := 1-math.Pow(beta1, t), math.Sqrt(1-math.Pow(beta2, t))
	for _, p := range parts {
		for e := range o.ps.Members {
			values = append(values, p[0][e], p[1][e], 1, float64(oneIf(set.Active[e])), correction1, root)
		}
	}
	return values
}

// allocateSettings allocates the settings of members and groups, unless they exist.
func (o *Optimizer) allocateSettings(parts int) (err error) {
	if o.settings != 0 && o.parts == parts {
		return nil
	}
	o.release(&o.settings)
	o.parts = parts
	shape := []int{parts, o.ps.Members, settingColumns}
	if o.settings, err = ctorch.Full(shape, 0, ctorch.Float64, int(o.ps.Device)); err != nil {
		return fmt.Errorf("allocating the optimizer's settings: %w", err)
	}
	return nil
}

// Apply executes the prepared step. It reads nothing from the host, so that a graph can record it;
// the groups' columns and ClipNorm become part of the recording. gate [E] (float64, or the zero
// Tensor for all) is 0 for members to leave unchanged.
func (o *Optimizer) Apply(gate Tensor) error {
	if o.settings == 0 {
		return errors.New("the step has no settings: call Prepare first")
	}
	return Catch(func() {
		s := NewScopeNoGrad()
		defer s.Close()
		o.ps.settle()
		all := Tensor{o.settings, s}
		if o.clip > 0 {
			total := Tensor{o.ps.grads, s}.op("MemberNorm").AddScalar(1e-6) // the 1e-6 of PyTorch's clip_grad_norm_
			scale := Full(s, o.clip, Float64, o.ps.Device, o.ps.Members).Div(total).Clamp(math.Inf(-1), 1)
			setColumn(all, 2, scale)
		}
		if gate.Defined() {
			setColumn(all, 3, all.Select(2, 3).Mul(Tensor{gate.h, s}))
		}
		o.stepGroups(all)
	})
}

// settingColumns is the number of columns of the settings: lr, weight decay, factor on the
// gradient, active, and Adam's two corrections.
const settingColumns = 6

// setColumn puts values [E] or [parts,E] into a column of the settings [parts,E,6].
func setColumn(all Tensor, column int, values Tensor) {
	into := all.Select(2, column)
	into.CopyFrom(values.Expand(into.Shape()...))
}

// checkGroups checks the settings before anything is changed.
func (o *Optimizer) checkGroups(set StepSettings) error {
	at, e := 0, o.ps.Members
	if len(set.LR) != e || len(set.WeightDecay) != e || len(set.Active) != e {
		return fmt.Errorf("%d learning rates, %d weight decays and %d members that are active or not, "+
			"for %d members", len(set.LR), len(set.WeightDecay), len(set.Active), e)
	}
	for _, g := range set.Groups {
		if g.From < at || g.To <= g.From || g.To > o.ps.Columns() {
			return fmt.Errorf("columns %d to %d of a group are not ascending in %d to %d", g.From,
				g.To, at, o.ps.Columns())
		}
		if len(g.LR) != e || len(g.WeightDecay) != e {
			return fmt.Errorf("%d learning rates and %d weight decays of a group for %d members",
				len(g.LR), len(g.WeightDecay), e)
		}
		at = g.To
	}
	return nil
}

// stepGroups updates the columns of each group with the group's settings and the others with the
// members' own: all [parts,E,6] holds the members' settings, then those of each group.
func (o *Optimizer) stepGroups(all Tensor) {
	at := 0
	for i, g := range o.groups {
		o.updateColumns(at, g.From, all.Select(0, 0))
		o.updateColumns(g.From, g.To, all.Select(0, 1+i))
		at = g.To
	}
	o.updateColumns(at, o.ps.Columns(), all.Select(0, 0))
}

// updateColumns executes the step on columns from...to-1 of the buffers.
func (o *Optimizer) updateColumns(from, to int, settings Tensor) {
	if from == to {
		return
	}
	buffers := [4]Tensor{}
	for i, h := range []ctorch.Handle{o.ps.flat, o.ps.grads, o.m, o.v} {
		buffers[i] = Tensor{h, settings.s}
		if h != 0 && (from > 0 || to < o.ps.Columns()) {
			buffers[i] = buffers[i].Narrow(1, from, to-from)
		}
	}
	if o.method == SGD { // has no moments
		call{op: "SGD", tensors: []Tensor{buffers[0], buffers[1], settings}}.act()
		return
	}
	call{op: "Adam", tensors: append(buffers[:], settings), ints: []int{oneIf(o.method == AdamW)},
		numbers: []float64{beta1, beta2, eps}}.act()
}

// Close frees the optimizer's state. Closing twice does nothing.
func (o *Optimizer) Close() {
	o.closed = true
	for _, h := range []*ctorch.Handle{&o.m, &o.v, &o.settings} {
		o.release(h)
	}
}

func (o *Optimizer) release(h *ctorch.Handle) {
	if *h != 0 {
		release("Optimizer", *h)
		*h = 0
	}
}
