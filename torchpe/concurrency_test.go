package torchpe

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"torchpe/internal/expect"
)

// TestManyGoroutines has 64 goroutines work at once, each with scopes of its own, with gradients
// and without, on shared parameters. Calls that fail name shapes that no other call has: an error
// that was lost, or that went to another goroutine, shows, and so does a grad mode that did.
func TestManyGoroutines(t *testing.T) {
	const goroutines = 64
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	before := Live()
	ps := NewParamSet(1, Float64, CPU)
	p := ps.Add("p", true, Constant(0.5), 2, 3)
	expect.NoError(t, ps.Build([]uint64{1}))
	var all sync.WaitGroup
	failures := make(chan error, goroutines)
	for g := range goroutines {
		all.Go(func() {
			for round := range rounds {
				if err := oneRound(p, g, round); err != nil {
					failures <- fmt.Errorf("goroutine %d, round %d: %w", g, round, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	ps.Close()
	live(t, "after all goroutines", before, 0)
}

// TestGradientsOverThreads: gradients are added in the order of the graph, on whichever threads of the
// operating system its operators were called: 1 + (-1e16) + 1e16 is 0, and 1 in another order.
func TestGradientsOverThreads(t *testing.T) {
	calls := make(chan func())
	defer close(calls)
	ready := make(chan struct{})
	go func() { // on a thread that has made no nodes yet, and ends with it
		runtime.LockOSThread()
		for call := range calls {
			call()
			ready <- struct{}{}
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := kept(t, NewScope())
	leaf := Of(s, CPU, []float64{1}, 1).RequireGrad()
	for range 100 {
		leaf.MulScalar(2)
	}
	x := leaf.MulScalar(1)
	sum := x.MulScalar(1e16).Add(x.MulScalar(-1e16))
	var last Tensor
	calls <- func() { last = x.MulScalar(1) }
	<-ready
	sum.Add(last).Sum().Backward()
	expect.Equal(t, "the gradient", leaf.Grad().Item(), 0)
}

// oneRound makes some thirty calls and returns what was wrong with them.
func oneRound(p *Param, g, round int) (err error) {
	grad := (g+round)%2 == 0
	s := NewScopeNoGrad()
	if grad {
		s = NewScope()
	}
	defer s.Close()
	defer func() { // an operator that fails where it should not
		if e, ok := recover().(*Error); ok {
			err = e
		}
	}()
	x := Full(s, float64(g+1), Float64, CPU, 1, 4, 3).RequireGrad()
	own := 1000*g + round + 10 // a length that nobody else has at this time
	for range 3 {
		y := LinearGELU(x, p.In(s), Tensor{})
		for what, r := range map[string]Tensor{"fused": y, "plain": x.Exp().Sum(), "parameter": p.In(s).Square()} {
			if r.RequiresGrad() != grad {
				return fmt.Errorf("a %s result wants a gradient: %v; its scope records: %v", what,
					r.RequiresGrad(), grad)
			}
		}
		r := x.In(s.ChildNoGrad()).Square()
		if r.RequiresGrad() {
			return errors.New("a result in a child without gradients wants one")
		}
		r.Scope().Close()
		if err := refused("MatMul", fmt.Sprintf("(1x%d and %dx1)", own, own+1), func() {
			Full(s, 0, Float64, CPU, 1, own).MatMul(Full(s, 0, Float64, CPU, own+1, 1))
		}); err != nil {
			return err
		}
		if err := refused("Linear", fmt.Sprintf("[1, %d]", own),
			func() { Linear(Full(s, 0, Float64, CPU, 1, own), p.In(s), Tensor{}) }); err != nil {
			return err
		}
	}
	if !grad {
		return refused("Backward", "does not require grad", func() { x.Square().Sum().Backward() })
	}
	x.Square().Sum().Backward()
	for _, d := range x.Grad().Float64s() {
		if d != 2*float64(g+1) {
			return fmt.Errorf("the gradient of x^2 at %d is %g", g+1, d)
		}
	}
	return nil
}

// refused checks that f fails in the operator with an error of its own.
func refused(op, text string, f func()) error {
	var e *Error
	if err := Catch(f); !errors.As(err, &e) {
		return fmt.Errorf("%s should fail with %q, but its error is lost: %v", op, text, err)
	}
	if e.Op != op || !strings.Contains(e.Msg, text) {
		return fmt.Errorf("%s should fail with %q, but got the error of %s: %s", op, text, e.Op, e.Msg)
	}
	return nil
}
