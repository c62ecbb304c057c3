package torchpe

import (
	"runtime"
	"testing"

	"torchpe/internal/expect"
)

// The loops take denormal numbers for zeros, which cost a hundred times what others cost; Go's own
// arithmetic on the same thread does not.
func TestDenormals(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the loops flush denormal numbers on amd64 and arm64 only")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := kept(t, NewScopeNoGrad())
	tiny, small := float32(1e-30), float32(1e-12) // their product is a denormal number
	x, w := Of(s, CPU, []float32{tiny, 0, 1, 0}, 1, 2, 2), Of(s, CPU, []float32{small, 0}, 1, 1, 2)
	expect.Equal(t, "products", Values[float32](Linear(x, w, Tensor{})), []float32{0, small})
	if v := tiny * small; v == 0 {
		t.Error("Go's numbers are flushed too")
	}
	if v := Of(s, CPU, []float32{tiny}, 1).MulScalar(float64(small)).Item(); v == 0 {
		t.Error("libtorch's numbers are flushed too")
	}
}
