package train

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// worthProducts is the share of the time of libtorch's kernel that products may take to be chosen: of
// two that are as fast, the same one is chosen each time.
const worthProducts = 0.95

// choosesAttention says whether the form of attention over many tokens is to be chosen by measurement:
// where it was not given, and there may be a choice.
func (e *ensemble) choosesAttention() bool {
	c := e.config
	return e.device != torchpe.CPU && c.Attention == "" && c.precisionOn(e.device) != "bf16" &&
		e.dtype == torchpe.Float32 && !c.Deterministic && e.model.Config.Positions.Tokens() > torchpe.FewTokens
}

// chooseAttention sets the form of attention over many tokens, of those that compute with the
// configuration's precision, in which a training step is fastest, and returns it with the
// milliseconds of a step in each form that could be; "" and none where a step's attention has no
// other form. Flash in bfloat16 is measured too, and never chosen.
func (e *ensemble) chooseAttention() (form string, ms map[string]float64, err error) {
	if !e.choosesAttention() {
		return "", nil, nil
	}
	steps := e.optimizer.Steps()
	defer func() {
		e.buffers.dropGraphs()
		e.optimizer.SetSteps(steps)
		err = errors.Join(err, e.buffers.reset(newTrainSums(e.members()), e.settings.Active))
	}()
	// No member is active: no parameter changes.
	if err := e.buffers.reset(newTrainSums(e.members()), make([]bool, e.members())); err != nil {
		return "", nil, err
	}
	const efficient, products = "efficient", "products"
	if err := torchpe.SetAttentionForm(products); err != nil {
		return "", nil, err
	}
	moved, err := torchpe.CountMoved(func() error { return e.step(0, 1) })
	if err != nil && !outOfMemory(err) {
		return "", nil, err
	}
	if !slices.ContainsFunc(moved, func(m torchpe.Moved) bool { return m.Kernel == torchpe.SoftmaxKernel }) {
		return "", nil, torchpe.SetAttentionForm(efficient)
	}
	ms, form = map[string]float64{}, efficient
	for _, f := range torchpe.AttentionForms() {
		if f == "flash" && !(torchpe.LibtorchAtLeast(2, 6) && e.config.TakesFlash()) {
			continue
		}
		took, err := e.timeAttention(f)
		switch {
		case err == nil:
			ms[f] = took
		case f == efficient || deviceLost(err):
			return "", nil, err
		} // another that cannot be, or has no memory, is not chosen
	}
	if took, ok := ms[products]; ok && took <= worthProducts*ms[efficient] {
		form = products
	}
	return form, ms, torchpe.SetAttentionForm(form)
}

// timeAttention returns the median milliseconds of a step with a form of attention, recorded where
// the run's steps are.
func (e *ensemble) timeAttention(form string) (float64, error) {
	e.buffers.dropGraphs()
	if err := torchpe.SetAttentionForm(form); err != nil {
		return 0, err
	}
	times, err := e.timeSteps(BenchOptions{Warmup: eagerRuns + 2, Steps: 2 * blocks})
	if err != nil {
		return 0, err
	}
	slices.Sort(times)
	return ms(times[len(times)/2]), nil
}

// settleAttention chooses the form of attention of a new run, says so and notes it in its environment.
// A resumed run takes what it began with, so that its results do not depend on times.
func (t *trainer) settleAttention(resumed bool) (err error) {
	env := &t.environment
	if !resumed {
		if env.Attention, env.AttentionMS, err = t.chooseAttention(); env.Attention != "" {
			t.observer.Noticed(describeAttention(*env))
		}
		return err
	}
	before, err := t.run.Environments()
	if errors.Is(err, fs.ErrNotExist) || !t.choosesAttention() {
		return nil
	}
	for _, was := range before {
		env.Attention = cmp.Or(was.Attention, env.Attention)
	}
	if err == nil && env.Attention != "" {
		err = torchpe.SetAttentionForm(env.Attention)
	}
	return err
}

// describeAttention says what was chosen, and by which times.
func describeAttention(env runlog.Environment) string {
	text := fmt.Sprintf("attention over many tokens: auto chose %s, %.2f ms a step", env.Attention,
		env.AttentionMS[env.Attention])
	for _, f := range torchpe.AttentionForms() {
		if took, ok := env.AttentionMS[f]; ok && f != env.Attention {
			text += fmt.Sprintf("; %s would take %.2f", f, took)
		}
	}
	return text + " (flash has its operands in bf16)"
}
