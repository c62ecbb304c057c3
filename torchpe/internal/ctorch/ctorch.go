// Package ctorch calls the C interface of lib/libtorchpe.so (shim/shim.h, shim/functions.h) and turns its
// results into Go values. It is the only package with import "C". It handles tensors by number (Handle);
// scopes, shapes and panics belong to package torchpe. Each call returns its own error.
//
// The library is loaded when one of its functions is first called (load.c). A program looks for it
// in ../lib beside its own folder, then in its own folder. Tests, which `go test` builds in a
// temporary folder, then look in lib of this clone. The tag `installed`, which `make build` sets,
// omits that last step, so that a copied or moved program never loads the library of another clone.
//
// The package imports the standard library only.
package ctorch

/*
#cgo CFLAGS: -I${SRCDIR}/shim -DTORCHPE_ABI=21
#cgo LDFLAGS: -ldl -Wl,-rpath,$ORIGIN/../lib -Wl,-rpath,$ORIGIN
#cgo !installed LDFLAGS: -Wl,-rpath,${SRCDIR}/../../../lib
#cgo noescape tp_op
#cgo nocallback tp_op
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unsafe"
)

// Handle identifies a tensor of the shim; 0 is none.
type Handle uint64

// Data types, as shim.h numbers them.
const (
	Float32 = int(C.TP_FLOAT32)
	Float64 = int(C.TP_FLOAT64)
	Int64   = int(C.TP_INT64)
	Bool    = int(C.TP_BOOL)
)

// CPU is the device number of the processor; cuda:i has number 1 + i.
const CPU = int(C.TP_CPU)

// MaxRank is the largest number of axes of a tensor.
const MaxRank = int(C.TP_MAX_RANK)

// abi is TP_ABI of shim.h. Go's build cache does not see that header change: a new number in CFLAGS
// above forces a rebuild.
const abi = int(C.TORCHPE_ABI)

// failure turns a C error text into a Go error and frees it.
func failure(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.tp_free_text(text)
	return errors.New(plain(C.GoString(text)))
}

// shortOfMemory matches the error of libtorch's CPU allocator, which starts with a line of its source.
var shortOfMemory = regexp.MustCompile(`^\[enforce fail at [^\]]*\].*can't allocate memory: ` +
	`you tried to allocate (\d+) bytes`)

// plain rewrites libtorch's message for users.
func plain(text string) string {
	if m := shortOfMemory.FindStringSubmatch(text); m != nil {
		bytes, _ := strconv.ParseFloat(m[1], 64) // digits
		return fmt.Sprintf("can't allocate memory: %.4g GB at once", bytes/1e9)
	}
	return text
}

func result(r C.tp_result) (Handle, error) {
	return Handle(r.tensor), failure(r.error)
}

// taken copies a C text that the caller owns and frees it.
func taken(text *C.char) string {
	if text == nil {
		return ""
	}
	defer C.tp_free_text(text)
	return C.GoString(text)
}

func c(h Handle) C.tp_tensor { return C.tp_tensor(h) }

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// ints returns a slice's memory for C; int has 64 bits on every platform on which libtorch runs.
func ints(v []int) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(v))) }

func handles(v []Handle) *C.tp_tensor { return (*C.tp_tensor)(unsafe.Pointer(unsafe.SliceData(v))) }

// Live returns the number of tensors that exist.
func Live() int { return int(C.tp_live()) }

// Release frees tensors in one call. All open ones are freed; closed ones among them are an error.
func Release(hs []Handle) error {
	if len(hs) == 0 {
		return nil
	}
	return failure(C.tp_release(handles(hs), C.int64_t(len(hs))))
}

// FromData copies an array into a new tensor. T must be the Go type of dtype, and the shape must
// have as many elements.
func FromData[T float32 | float64 | int64 | bool](data []T, shape []int, dtype, device int) (Handle, error) {
	if err := checkData(data, shape, dtype); err != nil {
		return 0, err
	}
	return result(C.tp_from_data(unsafe.Pointer(unsafe.SliceData(data)), ints(shape),
		C.int(len(shape)), C.int(dtype), C.int(device)))
}

// ShareData returns a tensor on the CPU that uses an array's own memory, which the caller must pin
// (runtime.Pinner) as long as any tensor uses it.
func ShareData[T float32 | float64](data []T, shape []int, dtype int) (Handle, error) {
	if err := checkData(data, shape, dtype); err != nil {
		return 0, err
	}
	return result(C.tp_share_data(unsafe.Pointer(unsafe.SliceData(data)), ints(shape), C.int(len(shape)), C.int(dtype)))
}

// checkData checks that T is the Go type of dtype and that the shape has as many elements.
func checkData[T float32 | float64 | int64 | bool](data []T, shape []int, dtype int) error {
	n := 1
	for _, d := range shape {
		n *= d // if this overflows, C refuses the shape
	}
	var zero T
	if size := elementSize(dtype); n != len(data) || size != 0 && size != unsafe.Sizeof(zero) {
		return fmt.Errorf("%d values of %T for shape %v and dtype number %d", len(data), zero, shape, dtype)
	}
	return nil
}

// elementSize is the size in bytes of a data type, or 0 for an unknown one.
func elementSize(dtype int) uintptr {
	switch dtype {
	case Float32:
		return 4
	case Float64, Int64:
		return 8
	case Bool:
		return 1
	}
	return 0
}

// Full makes a tensor of one value.
func Full(shape []int, value float64, dtype, device int) (Handle, error) {
	return result(C.tp_full(ints(shape), C.int(len(shape)), C.double(value), C.int(dtype), C.int(device)))
}

// RandN draws from N(0,1) with libtorch's generator seeded by seed.
func RandN(shape []int, seed uint64, dtype, device int) (Handle, error) {
	return result(C.tp_randn(ints(shape), C.int(len(shape)), C.uint64_t(seed), C.int(dtype), C.int(device)))
}

// Info describes a tensor.
type Info struct {
	Shape         []int
	DType, Device int
	RequiresGrad  bool
}

// Describe returns shape, dtype, device and whether a gradient is required.
func Describe(h Handle) (Info, error) {
	r := C.tp_info(c(h))
	if err := failure(r.error); err != nil {
		return Info{}, err
	}
	shape := make([]int, int(r.rank))
	for i := range shape {
		shape[i] = int(r.shape[i])
	}
	return Info{shape, int(r.dtype), int(r.device), r.requires_grad != 0}, nil
}

// Read copies a tensor's values into out, whose length must be the tensor's.
func Read[T float32 | float64 | int64 | bool](h Handle, out []T) error {
	var zero T
	return failure(C.tp_read(c(h), unsafe.Pointer(unsafe.SliceData(out)), C.int64_t(len(out)*int(unsafe.Sizeof(zero)))))
}
