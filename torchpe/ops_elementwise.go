package torchpe

// Elementwise operators and products. Operands broadcast as in libtorch.

// Neg returns -t.
func (t Tensor) Neg() Tensor { return t.op("Neg") }

// Abs returns |t|.
func (t Tensor) Abs() Tensor { return t.op("Abs") }

// Exp returns e^t.
func (t Tensor) Exp() Tensor { return t.op("Exp") }

// Log1p returns log(1+t).
func (t Tensor) Log1p() Tensor { return t.op("Log1p") }

// Sqrt returns the square root.
func (t Tensor) Sqrt() Tensor { return t.op("Sqrt") }

// Square returns t*t.
func (t Tensor) Square() Tensor { return t.op("Square") }

// Sin returns the sine.
func (t Tensor) Sin() Tensor { return t.op("Sin") }

// Cos returns the cosine.
func (t Tensor) Cos() Tensor { return t.op("Cos") }

// Sigmoid returns 1/(1+e^-t).
func (t Tensor) Sigmoid() Tensor { return t.op("Sigmoid") }

// Softplus returns log(1+e^t).
func (t Tensor) Softplus() Tensor { return t.op("Softplus") }

// ReLU returns max(t, 0).
func (t Tensor) ReLU() Tensor { return t.op("ReLU") }

// GELU returns t Phi(t), Phi the distribution function of N(0,1).
func (t Tensor) GELU() Tensor { return t.op("GELU") }

// Floor returns the largest integer not above t.
func (t Tensor) Floor() Tensor { return t.op("Floor") }

// Contiguous returns t with its elements in row-major order in memory.
func (t Tensor) Contiguous() Tensor { return t.op("Contiguous") }

// Detach returns t without its history: gradients do not flow through it.
func (t Tensor) Detach() Tensor { return t.op("Detach") }

// Clone returns a copy.
func (t Tensor) Clone() Tensor { return t.op("Clone") }

// Add returns t + b.
func (t Tensor) Add(b Tensor) Tensor { return operator("Add", t, b) }

// Sub returns t - b.
func (t Tensor) Sub(b Tensor) Tensor { return operator("Sub", t, b) }

// Mul returns t * b, element by element.
func (t Tensor) Mul(b Tensor) Tensor { return operator("Mul", t, b) }

// Div returns t / b.
func (t Tensor) Div(b Tensor) Tensor { return operator("Div", t, b) }

// Maximum returns the larger of t and b.
func (t Tensor) Maximum(b Tensor) Tensor { return operator("Maximum", t, b) }

// MatMul returns the matrix product over the last two axes.
func (t Tensor) MatMul(b Tensor) Tensor { return operator("MatMul", t, b) }

// AddScalar returns t + c.
func (t Tensor) AddScalar(c float64) Tensor { return t.scalars("AddScalar", c) }

// MulScalar returns c t.
func (t Tensor) MulScalar(c float64) Tensor { return t.scalars("MulScalar", c) }

// Clamp returns t limited to [low, high].
func (t Tensor) Clamp(low, high float64) Tensor { return t.scalars("Clamp", low, high) }

func (t Tensor) scalars(name string, numbers ...float64) Tensor {
	return call{op: name, tensors: []Tensor{t}, numbers: numbers}.result()
}

// CopyFrom copies src's values into t's memory, without a record for Backward. The shapes must be
// equal.
func (t Tensor) CopyFrom(src Tensor) { call{op: "CopyFrom", tensors: []Tensor{t, src}}.act() }

// Fill sets every element of t, without a record for Backward.
func (t Tensor) Fill(value float64) {
	call{op: "Fill", tensors: []Tensor{t}, numbers: []float64{value}}.act()
}
