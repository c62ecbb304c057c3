package torchpe

import (
	"runtime"

	"torchpe/torchpe/internal/ctorch"
)

// Scope owns the tensors created in it, and the grad mode and random draws of the operators that
// create them. Use one for each training step and a child for each block whose intermediates need
// not outlive it.
type Scope struct {
	parent  *Scope
	depth   int
	noGrad  bool
	closed  bool
	handles []ctorch.Handle
	pinned  runtime.Pinner // the memory of Share's tensors
	noise   *noise

	constants *Constants // nil for none
}

// noise holds the state on which the draws of a step's random operators depend.
type noise struct {
	host  []int64 // [1+E], the step and the bits of each member's seed
	drawn Tensor  // the same on the device; undefined if host is used
	calls int     // number of random operators so far
}

// NewScope returns a scope in which gradients are recorded. Call Close when done.
func NewScope() *Scope { return &Scope{} }

// NewScopeNoGrad returns a scope in which no gradients are recorded. Call Close when done.
func NewScopeNoGrad() *Scope { return &Scope{noGrad: true} }

// Child returns a scope inside s, with its grad mode and random draws. Close it before s.
func (s *Scope) Child() *Scope {
	return &Scope{parent: s, depth: s.depth + 1, noGrad: s.noGrad, noise: s.noise, constants: s.constants}
}

// ChildNoGrad returns a child in which no gradients are recorded.
func (s *Scope) ChildNoGrad() *Scope {
	c := s.Child()
	c.noGrad = true
	return c
}

// Do runs f in a child scope and returns its result as a tensor of s; all other tensors of f are freed.
func (s *Scope) Do(f func(c *Scope) Tensor) Tensor {
	c := s.Child()
	defer c.Close()
	return c.give(f(c), s)
}

// Seed makes the random operators in s and its children draw, for member e, from (seeds[e], step)
// and the number of draws since. A repeated step draws the same numbers.
func (s *Scope) Seed(seeds []uint64, step int) {
	host := []int64{int64(step)}
	for _, seed := range seeds {
		host = append(host, int64(seed))
	}
	s.noise = &noise{host: host}
}

// SeedFrom is Seed with drawn, int64 [1+E] on the device: the step and each member's seed.
func (s *Scope) SeedFrom(drawn Tensor) { s.noise = &noise{drawn: drawn} }

// Close frees every tensor of the scope in one call. Closing twice does nothing.
func (s *Scope) Close() {
	if s.closed {
		return
	}
	s.closed = true
	hs := s.handles
	s.handles = nil
	defer s.pinned.Unpin()
	release("Scope.Close", hs...)
}

// give moves t, a tensor of s, to the ancestor scope to. A tensor of an outer scope stays there.
func (s *Scope) give(t Tensor, to *Scope) Tensor {
	if !t.Defined() {
		return Tensor{}
	}
	for i := len(s.handles) - 1; i >= 0; i-- {
		if s.handles[i] == t.h {
			s.handles = append(s.handles[:i], s.handles[i+1:]...)
			to.handles = append(to.handles, t.h)
			break
		}
	}
	return Tensor{t.h, to}
}

// within reports whether s is c or an ancestor of c.
func (s *Scope) within(c *Scope) bool {
	for c != nil && c.depth > s.depth {
		c = c.parent
	}
	return c == s
}

// innermost returns the scope to which a result of op on these operands belongs.
func innermost(op string, operands ...Tensor) *Scope {
	if len(operands) == 0 {
		fail(op, "every operand is the zero Tensor")
	}
	var in *Scope
	for _, t := range operands {
		if t.s == nil {
			fail(op, "an operand is the zero Tensor, which belongs to no scope", operands...)
		}
		if in == nil || t.s.depth > in.depth {
			in = t.s
		}
	}
	for _, t := range operands {
		if !t.s.within(in) {
			fail(op, "the operands belong to scopes that are not nested", operands...)
		}
	}
	if in.closed {
		fail(op, "the scope is closed", operands...)
	}
	return in
}

// own makes the scope the owner of a result; it panics on an error.
func (s *Scope) own(op string, h ctorch.Handle, err error, operands ...Tensor) Tensor {
	if err != nil {
		fail(op, err.Error(), operands...)
	}
	if s.closed {
		release(op, h)
		fail(op, "the scope is closed")
	}
	s.handles = append(s.handles, h)
	return Tensor{h, s}
}

// Live returns the number of tensors that exist in the whole program.
func Live() int { return ctorch.Live() }
