package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"torchpe/data/array"
)

// DType is the element type of a tensor, spelled as in the file.
type DType string

// The element types that are read. Tensors of others are listed and keep their bytes.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	BOOL DType = "BOOL"
)

// Size returns the bytes of one element, or 0 for a dtype that is not read.
func (d DType) Size() int {
	switch d {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case I8, U8, BOOL:
		return 1
	}
	return 0
}

// MaxRank is the largest number of dimensions of a tensor.
const MaxRank = 64

// Tensor is a named array in row-major order. An empty Shape is a scalar.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte // little-endian, product(Shape) * DType.Size() bytes
}

// Element is a Go type that holds the elements of one dtype.
type Element interface {
	float64 | float32 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8 | bool
}

// dtypes holds the dtype of the elements of each kind.
var dtypes = map[reflect.Kind]DType{
	reflect.Float64: F64, reflect.Float32: F32, reflect.Bool: BOOL,
	reflect.Int64: I64, reflect.Int32: I32, reflect.Int16: I16, reflect.Int8: I8,
	reflect.Uint64: U64, reflect.Uint32: U32, reflect.Uint16: U16, reflect.Uint8: U8,
}

// New returns a tensor with a copy of values. It fails when the shape does not hold len(values)
// elements.
func New[T Element](name string, shape []int, values []T) (Tensor, error) {
	t := Tensor{Name: name, DType: dtypes[reflect.TypeFor[T]().Kind()], Shape: append([]int{}, shape...)}
	n, err := count(t.Shape, t.DType.Size())
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	if n != len(values) {
		return Tensor{}, fmt.Errorf("tensor %q: shape %v holds %d elements, got %d", name, shape, n,
			len(values))
	}
	// Preallocated, because binary.Append grows step by step.
	t.Data, err = binary.Append(make([]byte, 0, n*t.DType.Size()), binary.LittleEndian, values)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	return t, nil
}

// Float64s returns the elements as float64, regardless of the dtype; BOOL gives 0 and 1. Values of I64 and
// U64 beyond 2^53 are an error.
func (t Tensor) Float64s() ([]float64, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := array.Uint(t.DType.Size()) // also of BOOL
	switch t.DType {
	case F64, F32, F16:
		n = array.Float(n.Bytes)
	case I64, I32, I16, I8:
		n = array.Int(n.Bytes)
	}
	values := make([]float64, len(t.Data)/n.Bytes)
	for i := range values {
		b := t.Data[i*n.Bytes:]
		if t.DType == BF16 {
			values[i] = float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
			continue
		}
		var err error
		if t.DType == BOOL && b[0] > 1 {
			err = fmt.Errorf("is the byte %d, and a boolean is 0 or 1: could the file be damaged?", b[0])
		} else {
			values[i], err = n.Exact(b, le)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: the element at index %v %w", t.Name,
				array.Index(i, t.Shape, false), err)
		}
	}
	return values, nil
}

// Check reports what makes the tensor one that cannot be written: its name, dtype, shape or number
// of bytes.
func (t Tensor) Check() error {
	if problem := nameProblem(t.Name); problem != "" {
		return fmt.Errorf("tensor %q: %s", t.Name, problem)
	}
	n, err := byteCount(t.DType, t.Shape)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	if n != len(t.Data) {
		return fmt.Errorf("tensor %q: %s%v needs %d bytes, has %d", t.Name, t.DType, t.Shape, n,
			len(t.Data))
	}
	return nil
}

// byteCount returns the bytes that a tensor needs, or why there can be no such tensor.
func byteCount(d DType, shape []int) (int, error) {
	if d.Size() == 0 {
		return 0, fmt.Errorf("dtype %.80q is not read: store it as F32 or F64, and complex numbers as "+
			"their real and imaginary parts", d)
	}
	n, err := count(shape, d.Size())
	return n * d.Size(), err
}

// count returns the product of the dimensions, or why there is none. bytes are those of an element.
func count(shape []int, bytes int) (int, error) {
	if len(shape) > MaxRank {
		return 0, fmt.Errorf("%d dimensions, at most %d are allowed", len(shape), MaxRank)
	}
	return array.Count(shape, bytes)
}
