package torchpe

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// inForm runs f with attention over many tokens in a form.
func inForm(t *testing.T, form string, f func()) {
	t.Helper()
	before := AttentionForm()
	defer SetAttentionForm(before)
	expect.NoError(t, SetAttentionForm(form))
	f()
}

// Blocks and attention over many tokens on a GPU in each form and precision, against float64 on the
// CPU to what the precision allows; the same bits a second time.
func TestAttentionFormsOnGPU(t *testing.T) {
	if s := DescribeSystem(); !s.CUDA || !s.CUDAKernels {
		t.Skip("needs an NVIDIA GPU and kernels for it: " + s.CUDAReason)
	}
	SetDeterministic(true)
	defer SetDeterministic(false)
	for _, z := range []sizes{{E: 2, B: 3, H: 2, N: 41, M: 41, Dh: 8, O: 8},
		{E: 1, B: 2, H: 1, N: 130, M: 130, Dh: 32, O: 32}} {
		for _, c := range append(fusedFunctions(z), attention(z, point{}, 0.2)) {
			block := strings.HasPrefix(c.name, "AttentionBlock") && !strings.Contains(c.name, "causal")
			if !block && !strings.HasPrefix(c.name, "Attention with bias []") {
				continue
			}
			exact := c.run(dense, Float64, nil, 1)
			for precision, eps := range map[string]float64{"fp32": twinTolerance[Float32], "tf32": 4 * 0x1p-10} {
				for _, form := range AttentionForms() {
					if form == "flash" && !LibtorchAtLeast(2, 6) {
						continue
					}
					if form == "flash" {
						eps = 4 * 0x1p-7
					}
					name := fmt.Sprintf("%s, %s, %s, %+v", c.name, form, precision, z)
					have := attentionOnGPU(t, c, form, precision)
					again := attentionOnGPU(t, c, form, precision)
					have.near(t, name, exact, eps)
					again.identical(t, name, have)
				}
			}
		}
	}
}

// attentionOnGPU runs c in a form and a precision.
func attentionOnGPU(t *testing.T, c function, form, precision string) (all outcome) {
	t.Helper()
	defer SetPrecision(Precision())
	SetPrecision(precision)
	inForm(t, form, func() { all = c.runOn(CUDA(0), dense, Float32, nil, 1) })
	return all
}
