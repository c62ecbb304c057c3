package ctorch

// #include "shim.h"
import "C"

// The operators of libtorch itself, one Go function for each C function; functions.h says what they do.
// grad is the grad mode of the call.

// Unary is an operator with one operand.
type Unary func(x Handle, grad bool) (Handle, error)

// Binary is an operator with two operands, which broadcast.
type Binary func(a, b Handle, grad bool) (Handle, error)

func Neg(x Handle, grad bool) (Handle, error)      { return result(C.tp_neg(c(x), flag(grad))) }
func Abs(x Handle, grad bool) (Handle, error)      { return result(C.tp_abs(c(x), flag(grad))) }
func Exp(x Handle, grad bool) (Handle, error)      { return result(C.tp_exp(c(x), flag(grad))) }
func Log1p(x Handle, grad bool) (Handle, error)    { return result(C.tp_log1p(c(x), flag(grad))) }
func Sqrt(x Handle, grad bool) (Handle, error)     { return result(C.tp_sqrt(c(x), flag(grad))) }
func Square(x Handle, grad bool) (Handle, error)   { return result(C.tp_square(c(x), flag(grad))) }
func Sin(x Handle, grad bool) (Handle, error)      { return result(C.tp_sin(c(x), flag(grad))) }
func Cos(x Handle, grad bool) (Handle, error)      { return result(C.tp_cos(c(x), flag(grad))) }
func Sigmoid(x Handle, grad bool) (Handle, error)  { return result(C.tp_sigmoid(c(x), flag(grad))) }
func Softplus(x Handle, grad bool) (Handle, error) { return result(C.tp_softplus(c(x), flag(grad))) }
func ReLU(x Handle, grad bool) (Handle, error)     { return result(C.tp_relu(c(x), flag(grad))) }
func GELU(x Handle, grad bool) (Handle, error)     { return result(C.tp_gelu(c(x), flag(grad))) }
func Floor(x Handle, grad bool) (Handle, error)    { return result(C.tp_floor(c(x), flag(grad))) }
func Contiguous(x Handle, grad bool) (Handle, error) {
	return result(C.tp_contiguous(c(x), flag(grad)))
}
func Detach(x Handle, grad bool) (Handle, error) { return result(C.tp_detach(c(x), flag(grad))) }
func Clone(x Handle, grad bool) (Handle, error)  { return result(C.tp_clone(c(x), flag(grad))) }

func Add(a, b Handle, grad bool) (Handle, error) { return result(C.tp_add(c(a), c(b), flag(grad))) }
func Sub(a, b Handle, grad bool) (Handle, error) { return result(C.tp_sub(c(a), c(b), flag(grad))) }
func Mul(a, b Handle, grad bool) (Handle, error) { return result(C.tp_mul(c(a), c(b), flag(grad))) }
func Div(a, b Handle, grad bool) (Handle, error) { return result(C.tp_div(c(a), c(b), flag(grad))) }
func Maximum(a, b Handle, grad bool) (Handle, error) {
	return result(C.tp_maximum(c(a), c(b), flag(grad)))
}
func MatMul(a, b Handle, grad bool) (Handle, error) {
	return result(C.tp_matmul(c(a), c(b), flag(grad)))
}

func AddScalar(x Handle, v float64, grad bool) (Handle, error) {
	return result(C.tp_add_scalar(c(x), C.double(v), flag(grad)))
}

func MulScalar(x Handle, v float64, grad bool) (Handle, error) {
	return result(C.tp_mul_scalar(c(x), C.double(v), flag(grad)))
}

func Clamp(x Handle, low, high float64, grad bool) (Handle, error) {
	return result(C.tp_clamp(c(x), C.double(low), C.double(high), flag(grad)))
}

func Reshape(x Handle, shape []int, grad bool) (Handle, error) {
	return result(C.tp_reshape(c(x), ints(shape), C.int(len(shape)), flag(grad)))
}

func Expand(x Handle, shape []int, grad bool) (Handle, error) {
	return result(C.tp_expand(c(x), ints(shape), C.int(len(shape)), flag(grad)))
}

func Permute(x Handle, dims []int, grad bool) (Handle, error) {
	return result(C.tp_permute(c(x), ints(dims), C.int(len(dims)), flag(grad)))
}

func Transpose(x Handle, a, b int, grad bool) (Handle, error) {
	return result(C.tp_transpose(c(x), C.int64_t(a), C.int64_t(b), flag(grad)))
}

func Unsqueeze(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_unsqueeze(c(x), C.int64_t(dim), flag(grad)))
}

func Squeeze(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_squeeze(c(x), C.int64_t(dim), flag(grad)))
}

func Narrow(x Handle, dim, start, length int, grad bool) (Handle, error) {
	return result(C.tp_narrow(c(x), C.int64_t(dim), C.int64_t(start), C.int64_t(length), flag(grad)))
}

func Select(x Handle, dim, index int, grad bool) (Handle, error) {
	return result(C.tp_select(c(x), C.int64_t(dim), C.int64_t(index), flag(grad)))
}

func Unbind(x Handle, dim, n int, grad bool) ([]Handle, error) {
	hs := make([]Handle, n)
	return hs, failure(C.tp_unbind(c(x), C.int64_t(dim), C.int(n), flag(grad), handles(hs)))
}

func Cat(xs []Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_cat(handles(xs), C.int(len(xs)), C.int64_t(dim), flag(grad)))
}

func Stack(xs []Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_stack(handles(xs), C.int(len(xs)), C.int64_t(dim), flag(grad)))
}

func Flip(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_flip(c(x), C.int64_t(dim), flag(grad)))
}

func Pad(x Handle, dim, before, after int, value float64, grad bool) (Handle, error) {
	return result(C.tp_pad(c(x), C.int64_t(dim), C.int64_t(before), C.int64_t(after), C.double(value), flag(grad)))
}

func IndexSelect(x Handle, dim int, index Handle, grad bool) (Handle, error) {
	return result(C.tp_index_select(c(x), C.int64_t(dim), c(index), flag(grad)))
}

func Gather(x Handle, dim int, index Handle, grad bool) (Handle, error) {
	return result(C.tp_gather(c(x), C.int64_t(dim), c(index), flag(grad)))
}

func OneHot(index Handle, classes, dtype int, grad bool) (Handle, error) {
	return result(C.tp_one_hot(c(index), C.int64_t(classes), C.int(dtype), flag(grad)))
}

func To(x Handle, dtype, device int, grad bool) (Handle, error) {
	return result(C.tp_to(c(x), C.int(dtype), C.int(device), flag(grad)))
}

// Reduction is an operator over the axes dims, all where dims is empty; keep leaves them with
// length 1.
type Reduction func(x Handle, dims []int, keep, grad bool) (Handle, error)

func Sum(x Handle, dims []int, keep, grad bool) (Handle, error) {
	return result(C.tp_sum(c(x), ints(dims), C.int(len(dims)), flag(keep), flag(grad)))
}

func Mean(x Handle, dims []int, keep, grad bool) (Handle, error) {
	return result(C.tp_mean(c(x), ints(dims), C.int(len(dims)), flag(keep), flag(grad)))
}

func Argmax(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_argmax(c(x), C.int64_t(dim), flag(grad)))
}

func Cumsum(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_cumsum(c(x), C.int64_t(dim), flag(grad)))
}

func Softmax(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_softmax(c(x), C.int64_t(dim), flag(grad)))
}

func LogSoftmax(x Handle, dim int, grad bool) (Handle, error) {
	return result(C.tp_log_softmax(c(x), C.int64_t(dim), flag(grad)))
}
