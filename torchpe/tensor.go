package torchpe

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// DType is the type of a tensor's elements.
type DType int

// The element types.
const (
	Float32 = DType(ctorch.Float32)
	Float64 = DType(ctorch.Float64)
	Int64   = DType(ctorch.Int64)
	Bool    = DType(ctorch.Bool)
)

func (d DType) String() string {
	switch d {
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Int64:
		return "int64"
	case Bool:
		return "bool"
	}
	return fmt.Sprintf("DType(%d)", int(d))
}

// ParseDType returns the floating-point type called name: float32 or float64.
func ParseDType(name string) (DType, error) {
	for _, d := range []DType{Float32, Float64} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dtype %q is unknown; it is float32 or float64", name)
}

// Device names a processor: CPU, which is the zero value, or CUDA(i).
type Device int

// CPU is the processor.
const CPU = Device(ctorch.CPU)

// CUDA returns the i-th NVIDIA GPU.
func CUDA(i int) Device { return Device(1 + i) }

// GPU returns i of CUDA(i), and false for the processor.
func (d Device) GPU() (i int, ok bool) { return int(d) - 1, d > CPU }

func (d Device) String() string {
	if i, ok := d.GPU(); ok {
		return fmt.Sprintf("cuda:%d", i)
	}
	return "cpu"
}

// ParseDevice returns the device called name: cpu, cuda, cuda:i, or auto, which is cuda:0 if there
// is one, else cpu. A missing GPU is an error.
func ParseDevice(name string) (Device, error) {
	sys := ctorch.DescribeSystem()
	switch {
	case name == "cpu":
		return CPU, nil
	case name == "auto":
		if sys.GPUs > 0 {
			return CUDA(0), nil
		}
		return CPU, nil
	case name == "cuda" || strings.HasPrefix(name, "cuda:"):
		index := 0
		if _, text, ok := strings.Cut(name, ":"); ok {
			i, err := strconv.Atoi(text)
			if err != nil || i < 0 {
				return 0, fmt.Errorf("device %q: %q is not a GPU number; write cuda:0 or cuda:1", name, text)
			}
			index = i
		}
		if !sys.CUDAAvailable {
			return 0, fmt.Errorf("device %q: %s (libtorch %s; %s); see `torchpe doctor`",
				name, sys.CUDAReason, sys.Running, nvidiaSeen())
		}
		if index >= sys.GPUs {
			return 0, fmt.Errorf("device %q: libtorch finds %d, numbered from 0 (%s)", name, sys.GPUs, nvidiaSeen())
		}
		return CUDA(index), nil
	}
	return 0, fmt.Errorf("device %q is unknown; it is auto, cpu, cuda or cuda:i", name)
}

// nvidiaSeen describes the NVIDIA driver and the GPUs that this process may use.
func nvidiaSeen() string {
	driver := "no NVIDIA driver"
	if text, err := os.ReadFile("/proc/driver/nvidia/version"); err == nil {
		driver, _, _ = strings.Cut(strings.TrimPrefix(string(text), "NVRM version: "), "\n")
	}
	visible := "CUDA_VISIBLE_DEVICES is not set"
	if v, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		visible = fmt.Sprintf("CUDA_VISIBLE_DEVICES=%q", v)
	}
	return driver + "; " + visible
}

// Tensor is an n-dimensional array of libtorch. It is a small value that is passed by copy; its
// memory belongs to its Scope. The zero Tensor stands for no tensor: Defined is false.
type Tensor struct {
	h ctorch.Handle
	s *Scope
}

// Element lists the Go types from whose slices a tensor can be created.
type Element interface {
	float32 | float64 | int64 | bool
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int64:
		return Int64
	}
	return Bool
}

// Of copies data into a tensor of s with the given shape; T gives its dtype.
func Of[T Element](s *Scope, dev Device, data []T, shape ...int) Tensor {
	const op = "Of"
	if n := product(shape); n != len(data) {
		fail(op, fmt.Sprintf("%d values for the shape %v, which holds %d", len(data), shape, n))
	}
	create := func() (ctorch.Handle, error) { return ctorch.FromData(data, shape, int(dtypeOf[T]()), int(dev)) }
	if c := s.constants; c != nil {
		return c.take(s, op, digest(c, data, shape, dev), create)
	}
	h, err := create()
	return s.own(op, h, err)
}

// Share returns a tensor of s on the CPU that uses the memory of data. Until s is closed, nothing
// may change data, and no tensor of another scope may use it.
func Share[T float32 | float64](s *Scope, data []T, shape ...int) Tensor {
	const op = "Share"
	if n := product(shape); n != len(data) {
		fail(op, fmt.Sprintf("%d values for the shape %v, which holds %d", len(data), shape, n))
	}
	if len(data) > 0 {
		s.pinned.Pin(&data[0])
	}
	h, err := ctorch.ShareData(data, shape, int(dtypeOf[T]()))
	return s.own(op, h, err)
}

// product returns the number of elements of a shape.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Full returns a tensor whose elements are all value.
func Full(s *Scope, value float64, dtype DType, dev Device, shape ...int) Tensor {
	h, err := ctorch.Full(shape, value, int(dtype), int(dev))
	return s.own("Full", h, err)
}

// Zeros returns a tensor of zeros.
func Zeros(s *Scope, dtype DType, dev Device, shape ...int) Tensor {
	return Full(s, 0, dtype, dev, shape...)
}

// RandN draws from N(0,1) with libtorch's generator, seeded by seed: the same on every device.
func RandN(s *Scope, seed uint64, dtype DType, dev Device, shape ...int) Tensor {
	h, err := ctorch.RandN(shape, seed, int(dtype), int(dev))
	return s.own("RandN", h, err)
}

// Defined reports whether t is not the zero Tensor.
func (t Tensor) Defined() bool { return t.h != 0 }

// Scope returns the scope that t belongs to.
func (t Tensor) Scope() *Scope { return t.s }

// In returns t as an operand in c, a scope inside t's own: results then belong to c.
func (t Tensor) In(c *Scope) Tensor {
	if t.s == nil || !t.s.within(c) {
		fail("In", "the scope is not inside the tensor's", t)
	}
	return Tensor{t.h, c}
}

func (t Tensor) info(op string) ctorch.Info {
	info, err := ctorch.Describe(t.h)
	if err != nil {
		fail(op, err.Error())
	}
	return info
}

// Shape returns the lengths of the axes.
func (t Tensor) Shape() []int { return t.info("Shape").Shape }

// Size returns the length of axis dim; -1 is the last.
func (t Tensor) Size(dim int) int {
	shape := t.info("Size").Shape
	if dim < 0 {
		dim += len(shape)
	}
	if dim < 0 || dim >= len(shape) {
		fail("Size", fmt.Sprintf("no axis %d", dim), t)
	}
	return shape[dim]
}

// DType returns the type of the elements.
func (t Tensor) DType() DType { return DType(t.info("DType").DType) }

// Device returns the device of the tensor.
func (t Tensor) Device() Device { return Device(t.info("Device").Device) }

// RequiresGrad reports whether Backward computes a gradient for t or through t.
func (t Tensor) RequiresGrad() bool { return t.info("RequiresGrad").RequiresGrad }

// Values copies the elements of t out, in row-major order, converted to T. It panics if t belongs
// to a repeated computation: see Constants.
func Values[T Element](t Tensor) []T {
	const op = "Values"
	if t.info(op); t.s.constants != nil {
		fail(op, "a repeated computation must not read tensors: keep what it needs on the device", t)
	}
	return read[T](op, t)
}

func read[T Element](op string, t Tensor) []T {
	info := t.info(op)
	out := make([]T, product(info.Shape))
	h := t.h
	if info.DType != int(dtypeOf[T]()) {
		converted, err := ctorch.Result("To", to(t.h, dtypeOf[T](), Device(info.Device)))
		if err != nil {
			fail(op, err.Error(), t)
		}
		defer release(op, converted)
		h = converted
	}
	if err := ctorch.Read(h, out); err != nil {
		fail(op, err.Error(), t)
	}
	return out
}

// Float64s copies the elements out as float64, in row-major order.
func (t Tensor) Float64s() []float64 { return Values[float64](t) }

// Item returns the only element of t.
func (t Tensor) Item() float64 {
	v := t.Float64s()
	if len(v) != 1 {
		fail("Item", fmt.Sprintf("%d elements, not one", len(v)), t)
	}
	return v[0]
}

// Write copies values into t, which must be dense and have T's dtype and as many elements. On a GPU the copy
// is queued in order with other work, and the host does not wait; values may be reused at once.
func Write[T Element](t Tensor, values []T) {
	const op = "Write"
	info := t.info(op)
	if info.DType != int(dtypeOf[T]()) {
		fail(op, fmt.Sprintf("values of another dtype (%s)", dtypeOf[T]()), t)
	}
	if err := ctorch.Write(t.h, values); err != nil {
		fail(op, err.Error(), t)
	}
}
