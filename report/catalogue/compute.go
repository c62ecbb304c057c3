package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"torchpe/data/array"
	"torchpe/torchpe"
)

// findAngles stores the setting's angles if they reproduce the scheme's outputs.
func (c *Check) findAngles(own trial, expected []array.Array) {
	if len(c.Given.Params) > 0 {
		return
	}
	c.cache = map[string]*angles{}
	base, err := c.anglesOf(own)
	if err != nil || slices.ContainsFunc(c.Given.Outputs, func(o Output) bool { return !base.gives(o.Kind) }) {
		return
	}
	c.base = base
	as := c.expecting(expected)
	if got, err := c.computeAngles(own); err != nil || as.firstDifference(own, got) != nil {
		c.base = nil
	}
}

// expecting returns a check of the expected arrays instead of the given ones.
func (c Check) expecting(expected []array.Array) Check {
	c.Given.Outputs = slices.Clone(c.Given.Outputs)
	for i := range expected {
		c.Given.Outputs[i].Array = expected[i]
	}
	return c
}

// build returns the scheme with the options and positions of a trial.
func (c Check) build(t trial) (*Instance, error) {
	t.Tokens = t.at.Tokens()
	return Build(c.Scheme, t.Setting, t.at, Start{1, 1})
}

// compute returns each output for a trial.
func (c Check) compute(t trial) (all []array.Array, err error) {
	if c.base != nil && (c.tokens != nil || len(t.angles) > 0) {
		if all, err = c.computeAngles(t); !errors.Is(err, errNoAngles) {
			return all, err
		}
	}
	if len(t.angles) > 0 {
		return nil, errNoEffect
	}
	i, err := c.build(t)
	if err != nil {
		return nil, err
	}
	defer i.Close()
	if err := c.setParams(i); err != nil {
		return nil, err
	}
	for _, change := range t.changes {
		if err := change(i); err != nil {
			return nil, err
		}
	}
	for _, o := range c.Given.Outputs {
		a, err := c.computeOne(i, t, o)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// computeAngles returns each output for a trial, computed only from its angles.
func (c Check) computeAngles(t trial) (all []array.Array, err error) {
	if len(t.changes) > 0 || t.pairs != "" || t.factors[kindBias] != 0 || t.added != nil {
		return nil, errNoEffect
	}
	base, err := c.anglesOf(t)
	if err != nil {
		return nil, err
	}
	a := base.clone()
	for _, change := range t.angles {
		if err := change(a); err != nil {
			return nil, err
		}
		a.changed = true
	}
	places := func(tokens []int) []int { return gather(t.at.Index, c.rows(tokens)) }
	for _, o := range c.Given.Outputs {
		x := a.values(c.Given, o, t, places(t.queries), places(t.keys))
		if len(o.Shape) == 2 && len(x.Shape) == 3 { // [N,D], heads side by side
			x = merged(x)
		}
		all = append(all, x)
	}
	return all, nil
}

// anglesOf returns the angles of a trial's options and positions.
func (c Check) anglesOf(t trial) (*angles, error) {
	options, all := maps.Clone(t.Given), maps.Clone(c.resolved)
	maps.Copy(all, options)
	layout := layoutOf(all)
	for _, name := range []string{"rope-layout", "dinov3-layout"} {
		delete(options, name) // pairs do not affect angles
	}
	key := fmt.Sprint(options, t.at.Index, t.at.Cells, t.at.Points)
	if a := c.cache[key]; a != nil {
		b := *a
		b.layout = newLayout(layout, b.pairs, len(b.law.slope))
		return &b, nil
	}
	i, err := c.build(t)
	if err != nil {
		return nil, err
	}
	defer i.Close()
	a := newAngles(i)
	if a == nil {
		return nil, errNoAngles
	}
	if len(c.cache) > 1<<22/len(a.cos[0]) {
		clear(c.cache)
	}
	c.cache[key] = a
	return a, nil
}

// errNoAngles is returned for options with which a scheme has no cosines and sines.
var errNoAngles = errors.New("the scheme has no angles")

// rows returns the rows of the tokens to compute; nil means all rows, in order.
func (c Check) rows(tokens []int) []int {
	switch {
	case tokens == nil && c.tokens == nil:
		return indices(0, c.Positions.Tokens())
	case tokens == nil:
		return c.tokens
	case c.tokens == nil:
		return tokens
	}
	return gather(tokens, c.tokens)
}

// gather returns the values at the given places.
func gather[T any](values []T, at []int) []T {
	all := make([]T, len(at))
	for i, k := range at {
		all[i] = values[k]
	}
	return all
}

// setParams sets the given parameters, except computed ones: a trial computes its own.
func (c Check) setParams(i *Instance) (err error) {
	if len(c.Given.Params) == 0 {
		if slices.ContainsFunc(i.params.All(), func(p *torchpe.Param) bool { return p.Trainable }) {
			return fmt.Errorf("%s has trained numbers that the arrays lack: add arrays with these names, or "+
				"give --params: %s", i.Scheme.Name, i.Parameters())
		}
		return nil
	}
	given := slices.DeleteFunc(slices.Clone(c.Given.Params), func(a array.Array) bool {
		p := i.parameter(a.Name)
		if p == nil || err != nil {
			return false
		}
		var computed bool
		computed, err = i.isComputed(p)
		return computed
	})
	if err != nil {
		return err
	}
	return i.Set(given, c.Member)
}

func (c Check) computeOne(i *Instance, t trial, o Output) (array.Array, error) {
	queries, keys := c.rows(t.queries), c.rows(t.keys)
	if o.Kind == kindCos || o.Kind == kindSin {
		a := newAngles(i)
		if a == nil || a.fixed != nil {
			return array.Array{}, fmt.Errorf("%s has no fixed table %s", i.Scheme.Name, o.Kind)
		}
		return a.columnsOf(o, gather(t.at.Index, queries)), nil
	}
	if c.tokens != nil { // only the trial's tokens to compute
		rows := slices.Concat(queries, keys)
		slices.Sort(rows)
		rows = slices.Compact(rows)
		for _, list := range []*[]int{&queries, &keys} {
			*list = slices.Clone(*list)
			for k, row := range *list {
				(*list)[k], _ = slices.BinarySearch(rows, row)
			}
		}
		part := *i
		part.Positions = t.at.Permuted(rows)
		i = &part
	}
	size := i.Positions.Tokens()
	a, _, err := i.Values(Want{
		Kind: o.Kind, Layer: c.Layer,
		X: place(t.scaled(kindInput, c.Given.X), queries, size),
		Q: place(t.scaled(kindQuery, t.paired(c.Given.Q, false)), queries, size),
		K: place(t.paired(c.Given.K, false), keys, size),
		V: place(c.Given.V, keys, size),
	})
	if err != nil {
		return a, err
	}
	if a, err = t.withAdded(i, o, a); err != nil {
		return a, err
	}
	switch o.Kind {
	case kindBias, kindLogits, kindWeights:
		a = selectAlong(selectAlong(a, 2, keys), 1, queries)
	case kindQuery:
		a = t.paired(selectAlong(a, 1, queries), true)
	case kindKey, kindValue:
		a = selectAlong(a, 1, keys)
		if o.Kind == kindKey {
			a = t.paired(a, true)
		}
	default:
		a = selectAlong(a, 0, queries)
	}
	if o.Kind == kindBias {
		a = t.scaled(kindBias, a)
	}
	if len(o.Shape) == 2 && len(a.Shape) == 3 { // [N,D], heads side by side
		return merged(a), nil
	}
	return a, nil
}

// withAdded returns a bias or logits [H,N,N] with the trial's addition.
func (t trial) withAdded(i *Instance, o Output, a array.Array) (array.Array, error) {
	if t.added == nil || o.Kind != kindBias && o.Kind != kindLogits {
		return a, nil
	}
	added, err := t.added(i)
	if err != nil {
		return a, err
	}
	a.Data = slices.Clone(a.Data)
	n := a.Shape[2]
	for k := range a.Data {
		a.Data[k] += added(k/(n*n), k/n%n, k%n)
	}
	return a, nil
}
