package torchpe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// live checks how many tensors there are beyond those before.
func live(t *testing.T, what string, before, want int) {
	t.Helper()
	expect.Equal(t, what, Live()-before, want)
}

// TestScopeOwns checks that a scope frees what was made in it, a child what was made in the child,
// and that closing twice does nothing.
func TestScopeOwns(t *testing.T) {
	before := Live()
	s := NewScope()
	x := Full(s, 2, Float64, CPU, 3)
	x.Square()
	c := s.Child()
	x.In(c).Exp().Sqrt()
	live(t, "two in the scope, two in its child", before, 4)
	c.Close()
	live(t, "after the child closed", before, 2)
	c.Close()
	near(t, "the parent's tensor", x.Float64s(), []float64{2, 2, 2}, 0)
	s.Close()
	s.Close()
	live(t, "after the scope closed", before, 0)
}

// TestDo checks that of what f makes only its result stays, as a tensor of the parent, at any
// depth, and that everything goes where f fails.
func TestDo(t *testing.T) {
	before := Live()
	s := kept(t, NewScope())
	x := Full(s, 3, Float64, CPU)
	y := s.Do(func(c *Scope) Tensor {
		return c.Do(func(d *Scope) Tensor { return x.In(d).Square().AddScalar(1).Sqrt().Square() }).AddScalar(-1)
	})
	expect.Equal(t, "the result belongs to another scope", y.Scope() != s, false)
	near(t, "result", []float64{y.Item()}, []float64{9}, 1e-14)
	live(t, "operand and result", before, 2)

	if same := s.Do(x.In); same.Item() != 3 || same.Scope() != s {
		t.Error("an outer tensor is not given through")
	}
	if none := s.Do(func(*Scope) Tensor { return Tensor{} }); none.Defined() {
		t.Error("no tensor became one")
	}
	live(t, "an outer tensor and none given through", before, 2)

	failing(t, "MatMul", func() { s.Do(func(c *Scope) Tensor { return x.In(c).Exp().MatMul(x) }) })
	live(t, "after a failure inside", before, 2)
	func() {
		defer func() {
			expect.Equal(t, "another panic", recover(), "other")
		}()
		s.Do(func(c *Scope) Tensor { x.In(c).Exp(); panic("other") })
	}()
	live(t, "after another panic inside", before, 2)
}

// TestInnermost checks which scope a result belongs to, in both orders of the operands.
func TestInnermost(t *testing.T) {
	outer := kept(t, NewScope())
	inner := outer.Child()
	defer inner.Close()
	deepest := inner.Child()
	defer deepest.Close()
	a, b, c := Full(outer, 1, Float64, CPU), Full(inner, 2, Float64, CPU), Full(deepest, 3, Float64, CPU)
	for _, r := range []struct {
		name string
		have Tensor
		want *Scope
	}{
		{"outer + outer", a.Add(a), outer}, {"outer + inner", a.Add(b), inner},
		{"inner + outer", b.Add(a), inner}, {"deepest + outer", c.Add(a), deepest},
		{"outer in deepest", a.In(deepest).Exp(), deepest},
		{"three", Stack(0, a, c, b), deepest}, {"stack", Stack(0, a, b, a), inner},
		{"grad", b.RequireGrad().Square().Detach(), inner},
	} {
		if r.have.Scope() != r.want {
			t.Errorf("%s belongs to another scope", r.name)
		}
	}
	failing(t, "In", func() { c.In(outer) })
	failing(t, "In", func() { Tensor{}.In(outer) })
}

// TestUnrelatedScopes checks that operands from scopes that are not nested are
// refused, siblings too.
func TestUnrelatedScopes(t *testing.T) {
	before := Live()
	s, other := NewScope(), NewScope()
	left, right := s.Child(), s.Child()
	a, b, l, r := Full(s, 1, Float64, CPU, 2, 2), Full(other, 1, Float64, CPU, 2, 2),
		Full(left, 1, Float64, CPU, 2, 2), Full(right, 1, Float64, CPU, 2, 2)
	for _, pair := range [][2]Tensor{{a, b}, {b, a}, {l, r}, {r, l}, {l, b}} {
		expect.Contains(t, failing(t, "Add", func() { pair[0].Add(pair[1]) }).Msg, "scopes")
		failing(t, "Stack", func() { Stack(0, a, pair[0], pair[1]) })
		failing(t, "Linear", func() { Linear(pair[0], pair[1].Unsqueeze(0), Tensor{}) })
		failing(t, "In", func() { a.In(other) })
	}
	for _, x := range []*Scope{left, right, s, other} {
		x.Close()
	}
	live(t, "after all", before, 0)
}

// TestUseAfterClose uses tensors of a closed scope and closed scopes in every way: an *Error each
// time, and nothing is left.
func TestUseAfterClose(t *testing.T) {
	ps := NewParamSet(1, Float64, CPU)
	p := ps.Add("p", true, Constant(1), 2, 4)
	x4, wide := ps.Add("x", false, Constant(1), 1, 2, 4), ps.Add("wide", false, Constant(1), 12, 4)
	expect.NoError(t, ps.Build([]uint64{1}))
	before := Live()
	s := NewScope()
	x := Full(s, 1, Float64, CPU, 1, 4)
	s.Close()
	for op, f := range map[string]func(){
		"Exp": func() { x.Exp() }, "Add": func() { x.Add(x) }, "Reshape": func() { x.Reshape(4) },
		"Sum": func() { x.Sum() }, "Cat": func() { Cat(0, x, x) },
		"Linear": func() { Linear(x, p.In(s), Tensor{}) }, "Shape": func() { x.Shape() },
		"Values": func() { x.Float64s() }, "Fill": func() { x.Fill(1) },
		"CopyFrom": func() { x.CopyFrom(x) }, "Backward": func() { x.Backward() },
		"RequireGrad": func() { x.RequireGrad() }, "Grad": func() { x.Grad() },
		"Full": func() { Full(s, 1, Float64, CPU) }, "Of": func() { Of(s, CPU, []int64{1}, 1) },
		"RandN":      func() { RandN(s, 1, Float64, CPU) },
		"Square":     func() { p.In(s).Square() }, // the parameter lives, its scope does not
		"ProjectQKV": func() { ProjectQKV(x4.In(s), wide.In(s), Tensor{}, 2) },
	} {
		failing(t, op, f)
	}
	live(t, "after use of a closed scope", before, 0)
	ps.Close()
	ps.Close()
	s = NewScope()
	defer s.Close()
	failing(t, "Square", func() { p.In(s).Square() })
}

// TestZeroTensor gives operators the zero Tensor, which is none: an *Error, but where an operand
// may be missing.
func TestZeroTensor(t *testing.T) {
	s := kept(t, NewScope())
	var none Tensor
	x := Full(s, 1, Float64, CPU, 1, 2)
	for op, f := range map[string]func(){
		"Exp": func() { none.Exp() }, "Add": func() { x.Add(none) }, "Sub": func() { none.Sub(x) },
		"Cat": func() { Cat(0) }, "Stack": func() { Stack(0, x, none) },
		"Linear":         func() { Linear(none, none, none) },
		"LinearGELU":     func() { LinearGELU(none, x, x) },
		"AddLayerNorm":   func() { AddLayerNorm(none, none, normed(none, none, 1)) },
		"AttentionBlock": func() { AttentionBlock(x, SelfAttention{Heads: 1}, normed(x, x, 1)) },
		"MLPBlock":       func() { MLPBlock(x, MLP{}, normed(x, x, 1)) },
		"ProjectQKV":     func() { ProjectQKV(none, none, none, 1) },
		"Shape":          func() { none.Shape() },
		"Values":         func() { none.Float64s() },
		"Backward":       func() { none.Backward() }, "Dropout": func() { none.Dropout(0.5) },
		"CopyFrom": func() { x.CopyFrom(none) }, "Fill": func() { none.Fill(0) },
		"RequireGrad": func() { none.RequireGrad() }, "Grad": func() { none.Grad() },
	} {
		failing(t, op, f)
	}
	if none.Defined() || !x.Defined() {
		t.Error("Defined is wrong")
	}
}

// TestClosedParameterIsNotMissing checks that a parameter of a closed set, or of one not yet built,
// is an error where an operand may be missing: it must not be left out silently.
func TestClosedParameterIsNotMissing(t *testing.T) {
	ps, open := NewParamSet(1, Float64, CPU), NewParamSet(1, Float64, CPU)
	b, w := ps.Add("b", true, Constant(1), 2), open.Add("w", true, Constant(1), 2, 3)
	expect.NoError(t, open.Build([]uint64{1}))
	defer open.Close()
	s := kept(t, NewScope())
	x := Full(s, 1, Float64, CPU, 1, 3)
	failing(t, "Linear", func() { Linear(x, w.In(s), b.In(s)) })
	expect.NoError(t, ps.Build([]uint64{1}))
	near(t, "with bias", Linear(x, w.In(s), b.In(s)).Float64s(), []float64{4, 4}, 0)
	near(t, "without", Linear(x, w.In(s), Tensor{}).Float64s(), []float64{3, 3}, 0)
	ps.Close()
	failing(t, "Linear", func() { Linear(x, w.In(s), b.In(s)) })
}

// TestGradMode checks that recording belongs to the scope of the result.
func TestGradMode(t *testing.T) {
	ps := NewParamSet(1, Float64, CPU)
	p := ps.Add("p", true, Constant(2), 3)
	expect.NoError(t, ps.Build([]uint64{1}))
	defer ps.Close()
	for _, c := range []struct {
		name string
		s    *Scope
		want bool
	}{
		{"NewScope", NewScope(), true}, {"NewScopeNoGrad", NewScopeNoGrad(), false},
		{"Child", NewScope().Child(), true}, {"child without", NewScope().ChildNoGrad(), false},
		{"child of a scope without", NewScopeNoGrad().Child(), false},
		{"grandchild of a child without", NewScope().ChildNoGrad().Child(), false},
	} {
		expect.Equal(t, fmt.Sprintf("a result in a scope of %s wants a gradient", c.name),
			p.In(c.s).Square().RequiresGrad(), c.want)
		if !p.In(c.s).RequiresGrad() {
			t.Errorf("the parameter in a scope of %s wants none", c.name)
		}
		c.s.Close()
	}
}

// TestCatch checks that it returns *Error, lets others pass, and that errors say operator, shapes
// and cause.
func TestCatch(t *testing.T) {
	s := kept(t, NewScope())
	expect.NoError(t, Catch(func() {}))
	err := Catch(func() { Zeros(s, Float32, CPU, 2, 3).MatMul(Zeros(s, Float32, CPU, 4, 5)) })
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "MatMul") ||
		!strings.Contains(err.Error(), "[2 3], [4 5]") ||
		!strings.Contains(err.Error(), "2x3 and 4x5") {
		t.Errorf("the error says %v", err)
	}
	defer func() {
		expect.Equal(t, "another panic", recover(), "other")
	}()
	Catch(func() { panic("other") })
}
