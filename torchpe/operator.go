package torchpe

import "torchpe/torchpe/internal/ctorch"

// call is an operator of the shim, by name, with its operands, in the order of its row there.
type call struct {
	op      string
	tensors []Tensor // the zero Tensor for an omitted one
	ints    []int
	numbers []float64
}

// op calls an operator of one tensor.
func (t Tensor) op(name string, ints ...int) Tensor {
	return call{op: name, tensors: []Tensor{t}, ints: ints}.result()
}

// operator calls an operator that takes only tensors.
func operator(name string, operands ...Tensor) Tensor {
	return call{op: name, tensors: operands}.result()
}

// result runs an operator with one result, in the innermost scope of its operands.
func (c call) result() Tensor {
	var h [1]ctorch.Handle
	s, given := c.run(h[:])
	return s.own(c.op, h[0], nil, given...)
}

// results runs an operator with n results, in the innermost scope of its operands.
func (c call) results(n int) []Tensor {
	hs := make([]ctorch.Handle, n)
	s, given := c.run(hs)
	ts := make([]Tensor, n)
	for i, h := range hs {
		ts[i] = s.own(c.op, h, nil, given...)
	}
	return ts
}

// run returns the scope of the results, and the given operands.
func (c call) run(results []ctorch.Handle) (*Scope, []Tensor) {
	given := given(c.op, c.tensors)
	s := innermost(c.op, given...)
	if err := ctorch.Run(c.op, c.operands(), !s.noGrad, results); err != nil {
		fail(c.op, err.Error(), given...)
	}
	return s, given
}

// act runs an operator that has no result and changes its operands, without a record for Backward.
func (c call) act() {
	if err := ctorch.Act(c.op, c.operands()); err != nil {
		fail(c.op, err.Error(), given(c.op, c.tensors)...)
	}
}

func (c call) operands() ctorch.Operands {
	hs := make([]ctorch.Handle, len(c.tensors))
	for i, t := range c.tensors {
		hs[i] = t.h
	}
	return ctorch.Operands{Tensors: hs, Ints: c.ints, Numbers: c.numbers}
}

// given returns the operands that are not the zero Tensor. A parameter of a set that is closed or
// not yet built has no tensor either, but is an error: the caller did not mean to omit it.
func given(op string, ts []Tensor) []Tensor {
	all := make([]Tensor, 0, len(ts))
	for _, t := range ts {
		switch {
		case t.Defined():
			all = append(all, t)
		case t.s != nil:
			fail(op, "an operand is a parameter of a set that is closed or not built", all...)
		}
	}
	return all
}

// oneIf returns 1 for true and 0 for false.
func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
