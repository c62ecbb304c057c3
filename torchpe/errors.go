package torchpe

import (
	"fmt"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// Error describes a failed operator: its name, the shapes of its operands and libtorch's message.
// The operator panics with it.
type Error struct {
	Op     string
	Shapes [][]int // of the operands that were still open
	Msg    string
}

func (e *Error) Error() string {
	if len(e.Shapes) == 0 {
		return fmt.Sprintf("torchpe: %s: %s", e.Op, e.Msg)
	}
	shapes := make([]string, len(e.Shapes))
	for i, s := range e.Shapes {
		shapes[i] = fmt.Sprint(s)
	}
	return fmt.Sprintf("torchpe: %s of %s: %s", e.Op, strings.Join(shapes, ", "), e.Msg)
}

// Catch runs f and returns the *Error that an operator in it panicked with; other panics continue.
func Catch(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Error:
			err = p
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

// release frees handles. It panics if one is not open, which is a bug of this package.
func release(op string, hs ...ctorch.Handle) {
	if err := ctorch.Release(hs); err != nil {
		panic(&Error{Op: op, Msg: err.Error()})
	}
}

// fail panics with an Error about op. Only this path queries the shapes.
func fail(op string, msg string, operands ...Tensor) {
	e := &Error{Op: op, Msg: msg}
	for _, t := range operands {
		if info, err := ctorch.Describe(t.h); err == nil {
			e.Shapes = append(e.Shapes, info.Shape)
		}
	}
	panic(e)
}
