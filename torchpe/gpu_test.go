package torchpe

import (
	"fmt"
	"strings"
	"testing"
)

// onGPU is run on the first GPU.
func (c function) onGPU(l layout, dtype DType) (result []float64, gradients [][]float64) {
	s := NewScope()
	defer s.Close()
	x := make([]Tensor, len(c.inputs))
	for i, p := range c.inputs {
		x[i] = l.tensor(s, p, dtype).To(dtype, CUDA(0)).RequireGrad()
	}
	y := c.f(x)
	result = y.Float64s()
	weighted(y.To(dtype, CPU)).Backward()
	for i := range x {
		gradients = append(gradients, x[i].Grad().Float64s())
	}
	return result, gradients
}

// The fused operators on a GPU, by own kernels where nvcc compiled them and else composed, against
// the CPU's loops.
func TestFusedOperatorsOnGPU(t *testing.T) {
	if s := DescribeSystem(); !s.CUDA {
		t.Skip("needs an NVIDIA GPU: " + s.CUDAReason)
	}
	errors := twinErrors{}
	for k, z := range kernelSizes() {
		for i, c := range fusedFunctions(z) {
			for _, dtype := range []DType{Float64, Float32} {
				l := layout((i + k) % 3)
				name := fmt.Sprintf("%s, %s, %s, %+v", c.name, dtype, l, z)
				want, gradients := c.run(l, dtype, nil, 1)
				var have []float64
				var haveGradients [][]float64
				calls := Operators(func() { have, haveGradients = c.onGPU(l, dtype) })
				// Libtorch's attention inside the block, in float32 and without a mask.
				many := z.N > 32 && strings.Contains(c.name, "Attention")
				taken := !many || (dtype == Float32 && LibtorchAtLeast(2, 6) && !strings.Contains(c.name, "causal"))
				if l == dense && taken && DescribeSystem().CUDAKernels && strings.Contains(c.name, "Block") &&
					backwardPasses(calls, "MLPOnGpu")+backwardPasses(calls, "AttentionBlockOnGpu") != 1 {
					t.Errorf("%s is left to others: %v", name, calls)
				}
				errors.add(c.name, dtype, name, append([][]float64{have}, haveGradients...),
					append([][]float64{want}, gradients...))
			}
		}
	}
	errors.report(t)
}
