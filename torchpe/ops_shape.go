package torchpe

import "torchpe/torchpe/internal/ctorch"

// Operators on shapes, and reductions. Axes count from 0; -1 is the last.

func (t Tensor) shaped(op string, f func(grad bool) (ctorch.Handle, error)) Tensor {
	s := innermost(op, t)
	h, err := f(!s.noGrad)
	return s.own(op, h, err, t)
}

// Reshape returns t with another shape; one length may be -1.
func (t Tensor) Reshape(shape ...int) Tensor {
	return t.shaped("Reshape", func(grad bool) (ctorch.Handle, error) { return ctorch.Reshape(t.h, shape, grad) })
}

// Expand returns t with axes of length 1 repeated, without a copy.
func (t Tensor) Expand(shape ...int) Tensor {
	return t.shaped("Expand", func(grad bool) (ctorch.Handle, error) { return ctorch.Expand(t.h, shape, grad) })
}

// Permute returns t with its axes in the order dims.
func (t Tensor) Permute(dims ...int) Tensor {
	return t.shaped("Permute", func(grad bool) (ctorch.Handle, error) { return ctorch.Permute(t.h, dims, grad) })
}

// Transpose returns t with axes a and b exchanged.
func (t Tensor) Transpose(a, b int) Tensor {
	return t.shaped("Transpose", func(grad bool) (ctorch.Handle, error) { return ctorch.Transpose(t.h, a, b, grad) })
}

// Unsqueeze returns t with a new axis of length 1 before dim.
func (t Tensor) Unsqueeze(dim int) Tensor {
	return t.shaped("Unsqueeze", func(grad bool) (ctorch.Handle, error) { return ctorch.Unsqueeze(t.h, dim, grad) })
}

// Squeeze returns t without axis dim, whose length must be 1.
func (t Tensor) Squeeze(dim int) Tensor {
	return t.shaped("Squeeze", func(grad bool) (ctorch.Handle, error) { return ctorch.Squeeze(t.h, dim, grad) })
}

// Narrow returns length entries of axis dim from start.
func (t Tensor) Narrow(dim, start, length int) Tensor {
	return t.shaped("Narrow", func(grad bool) (ctorch.Handle, error) {
		return ctorch.Narrow(t.h, dim, start, length, grad)
	})
}

// Select returns entry index of axis dim, which goes.
func (t Tensor) Select(dim, index int) Tensor {
	return t.shaped("Select", func(grad bool) (ctorch.Handle, error) { return ctorch.Select(t.h, dim, index, grad) })
}

// Unbind returns all entries of axis dim, which goes. Their gradients are collected at a time,
// where each Select fills a gradient of the whole of t.
func (t Tensor) Unbind(dim int) []Tensor {
	s := innermost("Unbind", t)
	hs, err := ctorch.Unbind(t.h, dim, t.Size(dim), !s.noGrad)
	if err != nil {
		fail("Unbind", err.Error(), t)
	}
	parts := make([]Tensor, len(hs))
	for i, h := range hs {
		parts[i] = s.own("Unbind", h, nil)
	}
	return parts
}

// Flip returns t with axis dim reversed.
func (t Tensor) Flip(dim int) Tensor {
	return t.shaped("Flip", func(grad bool) (ctorch.Handle, error) { return ctorch.Flip(t.h, dim, grad) })
}

// Argmax returns the index (int64) of the largest entry of axis dim.
func (t Tensor) Argmax(dim int) Tensor {
	return t.shaped("Argmax", func(grad bool) (ctorch.Handle, error) { return ctorch.Argmax(t.h, dim, grad) })
}

// Cumsum returns the running sum over axis dim.
func (t Tensor) Cumsum(dim int) Tensor {
	return t.shaped("Cumsum", func(grad bool) (ctorch.Handle, error) { return ctorch.Cumsum(t.h, dim, grad) })
}

// Softmax returns e^t over its sum along dim.
func (t Tensor) Softmax(dim int) Tensor {
	return t.shaped("Softmax", func(grad bool) (ctorch.Handle, error) { return ctorch.Softmax(t.h, dim, grad) })
}

// LogSoftmax returns the logarithm of Softmax.
func (t Tensor) LogSoftmax(dim int) Tensor {
	return t.shaped("LogSoftmax", func(grad bool) (ctorch.Handle, error) { return ctorch.LogSoftmax(t.h, dim, grad) })
}

// Pad returns t with before and after entries of value put at the ends of axis dim.
func (t Tensor) Pad(dim, before, after int, value float64) Tensor {
	return t.shaped("Pad", func(grad bool) (ctorch.Handle, error) {
		return ctorch.Pad(t.h, dim, before, after, value, grad)
	})
}

// OneHot returns, for an int64 tensor [...], a tensor [...,classes] with a one at each index.
func (t Tensor) OneHot(classes int, dtype DType) Tensor {
	return t.shaped("OneHot", func(grad bool) (ctorch.Handle, error) {
		return ctorch.OneHot(t.h, classes, int(dtype), grad)
	})
}

// To returns t with another dtype or device.
func (t Tensor) To(dtype DType, dev Device) Tensor {
	if t.s != nil && t.s.constants != nil && dev != CPU && t.Device() == CPU { // brought from the host
		c := t.s.constants
		values := read[float64]("To", t)
		return c.take(t.s, "To", digest(c, values, t.Shape(), dev)+uint64(dtype), func() (ctorch.Handle, error) {
			return ctorch.To(t.h, int(dtype), int(dev), false)
		})
	}
	return t.shaped("To", func(grad bool) (ctorch.Handle, error) { return ctorch.To(t.h, int(dtype), int(dev), grad) })
}

// IndexSelect returns the entries of axis dim that index (int64 [n]) names.
func (t Tensor) IndexSelect(dim int, index Tensor) Tensor {
	s := innermost("IndexSelect", t, index)
	h, err := ctorch.IndexSelect(t.h, dim, index.h, !s.noGrad)
	return s.own("IndexSelect", h, err, t, index)
}

// Gather returns, for each entry of index (int64, the rank of t), the entry of t at that place of
// axis dim.
func (t Tensor) Gather(dim int, index Tensor) Tensor {
	s := innermost("Gather", t, index)
	h, err := ctorch.Gather(t.h, dim, index.h, !s.noGrad)
	return s.own("Gather", h, err, t, index)
}

func joined(op string, xs []Tensor, f func(hs []ctorch.Handle, grad bool) (ctorch.Handle, error)) Tensor {
	if len(xs) == 0 {
		fail(op, "no tensors")
	}
	s := innermost(op, xs...)
	hs := make([]ctorch.Handle, len(xs))
	for i, x := range xs {
		hs[i] = x.h
	}
	h, err := f(hs, !s.noGrad)
	return s.own(op, h, err, xs...)
}

// Cat joins tensors along the axis dim.
func Cat(dim int, xs ...Tensor) Tensor {
	return joined("Cat", xs, func(hs []ctorch.Handle, grad bool) (ctorch.Handle, error) {
		return ctorch.Cat(hs, dim, grad)
	})
}

// Stack joins tensors of one shape along a new axis dim.
func Stack(dim int, xs ...Tensor) Tensor {
	return joined("Stack", xs, func(hs []ctorch.Handle, grad bool) (ctorch.Handle, error) {
		return ctorch.Stack(hs, dim, grad)
	})
}

func (t Tensor) reduce(op string, f ctorch.Reduction, dims []int, keep bool) Tensor {
	s := innermost(op, t)
	h, err := f(t.h, dims, keep, !s.noGrad)
	return s.own(op, h, err, t)
}

// Sum returns the sum over the axes dims, which go; over all where none is named.
func (t Tensor) Sum(dims ...int) Tensor { return t.reduce("Sum", ctorch.Sum, dims, false) }

// Mean returns the mean over the axes dims, which go; over all where none is named.
func (t Tensor) Mean(dims ...int) Tensor { return t.reduce("Mean", ctorch.Mean, dims, false) }

// SumKeep returns the sum over the axes dims, which stay with length 1.
func (t Tensor) SumKeep(dims ...int) Tensor { return t.reduce("SumKeep", ctorch.Sum, dims, true) }
