package torchpe

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// TestKernelBlocks checks that the halves of a block are one operator where they can be, and that
// what they cannot take is left to others.
func TestKernelBlocks(t *testing.T) {
	for _, c := range fusedFunctions(sizes{E: 2, B: 3, H: 2, N: 17, M: 17, Dh: 10, O: 33}) {
		want := map[string]string{"MLPBlock": "MLPOnGpu",
			"AttentionBlock": "AttentionBlockOnGpu"}[strings.Fields(c.name)[0]]
		if want == "" {
			continue
		}
		expect.Equal(t, c.name+": backward passes of "+want, emulatedPasses(c, dense, want), 1)
	}
	// More tokens than the kernel takes.
	for _, c := range fusedFunctions(sizes{E: 2, B: 1, H: 1, N: 33, M: 33, Dh: 4, O: 3}) {
		if c.name == "AttentionBlock" {
			expect.Equal(t, "33 tokens are taken", emulatedPasses(c, dense, "AttentionBlockOnGpu"), 0)
		}
	}
}

// TestKernelBlocksStrided puts a whole block between operations that leave its operands and the
// gradient of its result strided, with masks of all shapes. Gains and biases of norms are dense,
// for else a block is left to others.
func TestKernelBlocksStrided(t *testing.T) {
	for k, z := range []sizes{{E: 2, B: 3, H: 2, N: 16, Dh: 5, O: 17},
		{E: 1, B: 2, H: 1, N: 1, Dh: 1, O: 1}, {E: 3, B: 1, H: 1, N: 20, Dh: 33, O: 40},
		{E: 1, B: 2, H: 3, N: 32, Dh: 100, O: 9}} {
		D := z.H * z.Dh
		row, narrow := []int{z.E, D}, 1/math.Sqrt(float64(D))
		in := inputs(uint64(90+k), []int{z.E, z.B, z.N, D}, []int{z.E, 3 * D, D}, []int{z.E, 3 * D},
			[]int{z.E, D, D}, row, row, row,
			[]int{z.E, z.O, D}, []int{z.E, z.O}, []int{z.E, D, z.O}, row, row, row)
		for _, mask := range [][]int{nil, {z.N, z.N}, {z.E, 1, 1, z.N, z.N}, {1, z.B, z.H, 1, z.N}} {
			c := function{"block", in, func(x []Tensor) Tensor {
				norm := func(gain, bias int) Norm {
					return normed(x[gain].Contiguous(), x[bias].Contiguous(), blockEps)
				}
				a := SelfAttention{QKVWeight: x[1], QKVBias: x[2], OutWeight: x[3],
					OutBias: x[4].Contiguous(), Heads: z.H, Folds: z.H == 1, Scale: 0.4 / float64(D)}
				if mask != nil {
					values := make([]float64, product(mask))
					for i := range values {
						values[i] = math.Sin(float64(i))
						if i%7 == 3 && i%z.N != 0 { // no row is hidden as a whole
							values[i] = math.Inf(-1)
						}
					}
					a.Mask = Of(x[0].Scope(), CPU, values, mask...).To(x[0].DType(), CPU)
				}
				y := AttentionBlock(x[0], a, norm(5, 6)).Permute(0, 2, 1, 3)
				y = MLPBlock(y.MulScalar(narrow), MLP{x[7], x[8], x[9], x[10].Contiguous()}, norm(11, 12))
				return y.Permute(0, 2, 1, 3).Add(x[0]).Permute(0, 3, 1, 2)
			}}
			name := fmt.Sprintf("%+v, mask %v", z, mask)
			for _, l := range []layout{dense, turned, spaced} {
				compareKernels(t, c, l, name)
				expect.Equal(t, name+", "+l.String(), [2]int{emulatedPasses(c, l, "AttentionBlockOnGpu"),
					emulatedPasses(c, l, "MLPOnGpu")}, [2]int{1, 1})
			}
			if t.Failed() {
				return
			}
		}
	}
}

// backwardPasses counts the backward passes of an operator of the shim.
func backwardPasses(calls map[string]int, operator string) (n int) {
	for name, times := range calls {
		if strings.HasPrefix(name, "autograd::engine::") && strings.HasSuffix(name, "::"+operator+">") {
			n += times
		}
	}
	return n
}

// emulatedPasses counts those of a function in float32 by emulated kernels.
func emulatedPasses(c function, l layout, operator string) (n int) {
	emulated(func() {
		n = backwardPasses(Operators(func() { c.run(l, Float32, nil, 1) }), operator)
	})
	return n
}
