package ctorch

// #include "shim.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Operands holds the arguments of an operator, in the order of its row in the shim. The Handle 0
// stands for an omitted tensor.
type Operands struct {
	Tensors []Handle
	Ints    []int
	Numbers []float64
}

// operators maps operators' names to their numbers.
var operators = sync.OnceValue(func() map[string]C.int {
	numbers := map[string]C.int{}
	for i := C.int(0); ; i++ {
		name := C.tp_op_name(i)
		if name == nil {
			return numbers
		}
		numbers[C.GoString(name)] = i
	}
})

// Run runs the operator called name and stores its results in results, which must have the right
// length. grad is the grad mode of the call.
func Run(name string, o Operands, grad bool, results []Handle) error {
	op, known := operators()[name]
	if !known {
		return fmt.Errorf("the library has no operator %s", name)
	}
	return failure(C.tp_op(op, handles(o.Tensors), C.int(len(o.Tensors)), ints(o.Ints), C.int(len(o.Ints)),
		(*C.double)(unsafe.SliceData(o.Numbers)), C.int(len(o.Numbers)), flag(grad), handles(results),
		C.int(len(results))))
}

// Result runs an operator with one result, without recording gradients.
func Result(name string, o Operands) (Handle, error) {
	var h [1]Handle
	err := Run(name, o, false, h[:])
	return h[0], err
}

// Act runs an operator without a result.
func Act(name string, o Operands) error { return Run(name, o, false, nil) }
