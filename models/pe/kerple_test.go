package pe_test

import (
	"math"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestKERPLE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "kerple", Shift: petest.Unmoved,
		Variants: []petest.Variant{petest.Code("kerple", "power"), petest.Code("kerple-direction", "bidirectional"),
			petest.Code("kerple", "power", "kerple-direction", "bidirectional")},
	})
}

// TestKERPLEKernels: the two kernels of Chi et al. 2022, for numbers within and beyond the bounds that the published code keeps to.
func TestKERPLEKernels(t *testing.T) {
	places := []int{4, 0, 7, 2, 1, 6, 3, 5}
	a, p := []float64{0.3, 1.7, -1}, []float64{1.5, 0.001, 2.5}
	for kernel, of := range map[string]func(h int, d float64) float64{
		"log": func(h int, d float64) float64 {
			return -[]float64{1.5, 0.01, 2.5}[h] * math.Log(1+[]float64{0.3, 1.7, 0.01}[h]*d)
		},
		"power": func(h int, d float64) float64 {
			return -[]float64{0.3, 1.7, 0.01}[h] * math.Pow(d, []float64{1.5, 0.01, 2}[h])
		},
	} {
		sp := petest.Spec{
			Scheme: "kerple", Heads: 3, DModel: 6, Layers: 2, Positions: pe.Line(8), Given: pe.Options{"kerple": kernel},
			Set: map[string][]float64{"pe.a": a, "pe.p": p},
		}
		m := sp.Model(t)
		if n := m.EncodingSize(); n != 2*3 {
			t.Errorf("%s: %d parameters, want 2 H = 6", kernel, n)
		}
		for layer := range 2 {
			bias := petest.AddedToLogits(m, layer, petest.At(sp.Positions, places...))
			for h := range 3 {
				for i, x := range places {
					for j, y := range places {
						want := of(h, math.Abs(float64(x-y)))
						if got := bias.Values[(h*8+i)*8+j]; math.Abs(got-want) > 1e-13 {
							t.Fatalf("%s, layer %d, head %d, places %d and %d: %v, want %v", kernel, layer, h, x, y, got, want)
						}
					}
				}
			}
		}
	}
}
