package torchpe

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

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
				want := c.run(l, dtype, nil, 1)
				var have outcome
				calls := Operators(func() { have = c.runOn(CUDA(0), l, dtype, nil, 1) })
				// Libtorch's attention inside the block, in float32 and without a mask.
				many := z.N > 32 && strings.Contains(c.name, "Attention")
				taken := !many || (dtype == Float32 && LibtorchAtLeast(2, 6) && !strings.Contains(c.name, "causal"))
				// Shared rows, and tokens that are read behind a mask, are composed on a GPU.
				taken = taken && !strings.Contains(c.name, ": ")
				if l == dense && taken && DescribeSystem().CUDAKernels && strings.Contains(c.name, "Block") &&
					backwardPasses(calls, "MLPOnGpu")+backwardPasses(calls, "AttentionBlockOnGpu") != 1 {
					t.Errorf("%s is left to others: %v", name, calls)
				}
				errors.add(c.name, dtype, name, have, want)
			}
		}
	}
	errors.report(t)
}

// Linear maps and blocks in each precision on a GPU against float64 on the CPU, to what the precision
// allows; with bfloat16 a block of many tokens is one operator too.
func TestPrecisionOnGPU(t *testing.T) {
	if s := DescribeSystem(); !s.CUDA {
		t.Skip("needs an NVIDIA GPU: " + s.CUDAReason)
	}
	defer SetPrecision("fp32")
	for _, z := range []sizes{{E: 2, B: 3, H: 2, N: 17, M: 17, Dh: 16, O: 33},
		{E: 2, B: 1, H: 2, N: 70, M: 70, Dh: 24, O: 5}} {
		for _, c := range fusedFunctions(z) {
			if !strings.HasPrefix(c.name, "Linear") && !strings.Contains(c.name, "Block") && c.name != "ProjectQKV" {
				continue
			}
			exact := c.run(dense, Float64, nil, 1)
			for precision, eps := range map[string]float64{"tf32": 0x1p-10, "bf16": 0x1p-7} {
				expect.NoError(t, SetPrecision(precision))
				var have outcome
				calls := Operators(func() { have = c.runOn(CUDA(0), dense, Float32, nil, 1) })
				name := fmt.Sprintf("%s in %s, %+v", c.name, precision, z)
				have.near(t, name, exact, 4*eps)
				if c.name == "AttentionBlock" && DescribeSystem().CUDAKernels && LibtorchAtLeast(2, 6) &&
					backwardPasses(calls, "AttentionBlockOnGpu") != 1 {
					t.Errorf("%s is left to others: %v", name, calls)
				}
			}
			SetPrecision("fp32")
		}
	}
}
