package torchpe

import "torchpe/torchpe/internal/ctorch"

// Elementwise operators and products. Operands broadcast as in libtorch.

func (t Tensor) unary(op string, f ctorch.Unary) Tensor {
	s := innermost(op, t)
	h, err := f(t.h, !s.noGrad)
	return s.own(op, h, err, t)
}

func binary(op string, f ctorch.Binary, a, b Tensor) Tensor {
	s := innermost(op, a, b)
	h, err := f(a.h, b.h, !s.noGrad)
	return s.own(op, h, err, a, b)
}

// Neg returns -t.
func (t Tensor) Neg() Tensor { return t.unary("Neg", ctorch.Neg) }

// Abs returns |t|.
func (t Tensor) Abs() Tensor { return t.unary("Abs", ctorch.Abs) }

// Exp returns e^t.
func (t Tensor) Exp() Tensor { return t.unary("Exp", ctorch.Exp) }

// Log1p returns log(1+t).
func (t Tensor) Log1p() Tensor { return t.unary("Log1p", ctorch.Log1p) }

// Sqrt returns the square root.
func (t Tensor) Sqrt() Tensor { return t.unary("Sqrt", ctorch.Sqrt) }

// Square returns t*t.
func (t Tensor) Square() Tensor { return t.unary("Square", ctorch.Square) }

// Sin returns the sine.
func (t Tensor) Sin() Tensor { return t.unary("Sin", ctorch.Sin) }

// Cos returns the cosine.
func (t Tensor) Cos() Tensor { return t.unary("Cos", ctorch.Cos) }

// Sigmoid returns 1/(1+e^-t).
func (t Tensor) Sigmoid() Tensor { return t.unary("Sigmoid", ctorch.Sigmoid) }

// Softplus returns log(1+e^t).
func (t Tensor) Softplus() Tensor { return t.unary("Softplus", ctorch.Softplus) }

// ReLU returns max(t, 0).
func (t Tensor) ReLU() Tensor { return t.unary("ReLU", ctorch.ReLU) }

// GELU returns t Phi(t), Phi the distribution function of N(0,1).
func (t Tensor) GELU() Tensor { return t.unary("GELU", ctorch.GELU) }

// Floor returns the largest integer not above t.
func (t Tensor) Floor() Tensor { return t.unary("Floor", ctorch.Floor) }

// Contiguous returns t with its elements in row-major order in memory.
func (t Tensor) Contiguous() Tensor { return t.unary("Contiguous", ctorch.Contiguous) }

// Detach returns t without its history: no gradient flows through.
func (t Tensor) Detach() Tensor { return t.unary("Detach", ctorch.Detach) }

// Clone returns a copy.
func (t Tensor) Clone() Tensor { return t.unary("Clone", ctorch.Clone) }

// Add returns t + b.
func (t Tensor) Add(b Tensor) Tensor { return binary("Add", ctorch.Add, t, b) }

// Sub returns t - b.
func (t Tensor) Sub(b Tensor) Tensor { return binary("Sub", ctorch.Sub, t, b) }

// Mul returns t * b, element by element.
func (t Tensor) Mul(b Tensor) Tensor { return binary("Mul", ctorch.Mul, t, b) }

// Div returns t / b.
func (t Tensor) Div(b Tensor) Tensor { return binary("Div", ctorch.Div, t, b) }

// Maximum returns the larger of t and b.
func (t Tensor) Maximum(b Tensor) Tensor { return binary("Maximum", ctorch.Maximum, t, b) }

// MatMul returns the matrix product over the last two axes.
func (t Tensor) MatMul(b Tensor) Tensor { return binary("MatMul", ctorch.MatMul, t, b) }

// AddScalar returns t + c.
func (t Tensor) AddScalar(c float64) Tensor {
	return t.unary("AddScalar", func(x ctorch.Handle, grad bool) (ctorch.Handle, error) {
		return ctorch.AddScalar(x, c, grad)
	})
}

// MulScalar returns c t.
func (t Tensor) MulScalar(c float64) Tensor {
	return t.unary("MulScalar", func(x ctorch.Handle, grad bool) (ctorch.Handle, error) {
		return ctorch.MulScalar(x, c, grad)
	})
}

// Clamp returns t limited to [low, high].
func (t Tensor) Clamp(low, high float64) Tensor {
	return t.unary("Clamp", func(x ctorch.Handle, grad bool) (ctorch.Handle, error) {
		return ctorch.Clamp(x, low, high, grad)
	})
}

// CopyFrom copies src's values into t's memory, without a record for Backward. The shapes must be
// equal.
func (t Tensor) CopyFrom(src Tensor) {
	if err := ctorch.Copy(t.h, src.h); err != nil {
		fail("CopyFrom", err.Error(), t, src)
	}
}

// Fill sets every element of t, without a record for Backward.
func (t Tensor) Fill(value float64) {
	if err := ctorch.Fill(t.h, value); err != nil {
		fail("Fill", err.Error(), t)
	}
}
