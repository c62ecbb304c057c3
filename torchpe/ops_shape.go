package torchpe

import "torchpe/torchpe/internal/ctorch"

// Operators on shapes, and reductions. Axes count from 0; -1 is the last.

// Reshape returns t with another shape; one length may be -1.
func (t Tensor) Reshape(shape ...int) Tensor { return t.op("Reshape", shape...) }

// Expand returns t with axes of length 1 repeated, without a copy.
func (t Tensor) Expand(shape ...int) Tensor { return t.op("Expand", shape...) }

// Permute returns t with its axes in the order dims.
func (t Tensor) Permute(dims ...int) Tensor { return t.op("Permute", dims...) }

// Transpose returns t with axes a and b exchanged.
func (t Tensor) Transpose(a, b int) Tensor { return t.op("Transpose", a, b) }

// Unsqueeze returns t with a new axis of length 1 before dim.
func (t Tensor) Unsqueeze(dim int) Tensor { return t.op("Unsqueeze", dim) }

// Squeeze returns t without axis dim, whose length must be 1.
func (t Tensor) Squeeze(dim int) Tensor { return t.op("Squeeze", dim) }

// Narrow returns length entries of axis dim from start.
func (t Tensor) Narrow(dim, start, length int) Tensor { return t.op("Narrow", dim, start, length) }

// Select returns entry index of axis dim, which is removed.
func (t Tensor) Select(dim, index int) Tensor { return t.op("Select", dim, index) }

// Unbind returns all entries of axis dim, which is removed. Its backward pass collects the
// gradients of all entries at once, whereas that of each Select fills a gradient of the size of t.
func (t Tensor) Unbind(dim int) []Tensor {
	return call{op: "Unbind", tensors: []Tensor{t}, ints: []int{dim}}.results(t.Size(dim))
}

// Flip returns t with axis dim reversed.
func (t Tensor) Flip(dim int) Tensor { return t.op("Flip", dim) }

// Argmax returns the index (int64) of the largest entry of axis dim.
func (t Tensor) Argmax(dim int) Tensor { return t.op("Argmax", dim) }

// Cumsum returns the running sum over axis dim.
func (t Tensor) Cumsum(dim int) Tensor { return t.op("Cumsum", dim) }

// Softmax returns e^t over its sum along dim.
func (t Tensor) Softmax(dim int) Tensor { return t.op("Softmax", dim) }

// LogSoftmax returns the logarithm of Softmax.
func (t Tensor) LogSoftmax(dim int) Tensor { return t.op("LogSoftmax", dim) }

// Pad returns t with before and after entries of value put at the ends of axis dim.
func (t Tensor) Pad(dim, before, after int, value float64) Tensor {
	return call{op: "Pad", tensors: []Tensor{t}, ints: []int{dim, before, after}, numbers: []float64{value}}.result()
}

// OneHot returns, for an int64 tensor [...], a tensor [...,classes] with a one at each index.
func (t Tensor) OneHot(classes int, dtype DType) Tensor {
	return t.op("OneHot", classes, int(dtype))
}

// To returns t with another dtype or device.
func (t Tensor) To(dtype DType, dev Device) Tensor {
	if t.s != nil && t.s.constants != nil && dev != CPU && t.Device() == CPU { // copied from the host
		c := t.s.constants
		values := read[float64]("To", t)
		return c.take(t.s, "To", digest(c, values, t.Shape(), dev)+uint64(dtype), func() (ctorch.Handle, error) {
			return ctorch.Result("To", to(t.h, dtype, dev))
		})
	}
	return t.op("To", int(dtype), int(dev))
}

// to returns the operands of To.
func to(h ctorch.Handle, dtype DType, dev Device) ctorch.Operands {
	return ctorch.Operands{Tensors: []ctorch.Handle{h}, Ints: []int{int(dtype), int(dev)}}
}

// IndexSelect returns the entries of axis dim with the indices index (int64 [n]).
func (t Tensor) IndexSelect(dim int, index Tensor) Tensor {
	return call{op: "IndexSelect", tensors: []Tensor{t, index}, ints: []int{dim}}.result()
}

// Gather returns, for each entry of index (int64, the rank of t), the entry of t at that index of axis dim.
func (t Tensor) Gather(dim int, index Tensor) Tensor {
	return call{op: "Gather", tensors: []Tensor{t, index}, ints: []int{dim}}.result()
}

// Cat joins tensors along the axis dim.
func Cat(dim int, xs ...Tensor) Tensor { return joined("Cat", dim, xs) }

// Stack joins tensors of one shape along a new axis dim.
func Stack(dim int, xs ...Tensor) Tensor { return joined("Stack", dim, xs) }

func joined(op string, dim int, xs []Tensor) Tensor {
	if len(xs) == 0 {
		fail(op, "no tensors")
	}
	return call{op: op, tensors: xs, ints: []int{dim}}.result()
}

// Sum returns the sum over the axes dims, which are removed; over all axes if none is given.
func (t Tensor) Sum(dims ...int) Tensor { return t.op("Sum", append([]int{0}, dims...)...) }

// SumKeep returns the sum over the axes dims, which keep the length 1.
func (t Tensor) SumKeep(dims ...int) Tensor { return t.op("Sum", append([]int{1}, dims...)...) }

// Mean returns the mean over the axes dims, which are removed; over all axes if none is given.
func (t Tensor) Mean(dims ...int) Tensor { return t.op("Mean", append([]int{0}, dims...)...) }
