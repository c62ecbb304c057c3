package torchpe

import (
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// Three steps of three members, by hand: the second member's loss becomes infinite in step 2 and
// finite again, the third's NaN in step 3.
func TestAccount(t *testing.T) {
	eachForm(func(form int) {
		for _, d := range devices(t) {
			for _, dtype := range []DType{Float32, Float64} {
				for _, counts := range []bool{true, false} {
					s := NewScopeNoGrad()
					state := Of(s, d, []float64{10, 0, 0, 1, 2, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0}, AccountRows, 3)
					for step, losses := range [][]float64{{1, 2, 4}, {0.5, math.Inf(1), 4}, {0.25, 8, math.NaN()}} {
						correct := Tensor{}
						if counts {
							correct = Of(s, d, []float64{1, 2, 0}, 3)
						}
						Account(Of(s, CPU, losses, 3).To(dtype, d), correct, 4,
							Of(s, d, []int64{int64(step), 77}, 2), state)
					}
					want := []float64{17, math.Inf(1), math.NaN(), 1, 2, 3, 1, 0, 0, 0, 2, 3, 0.25, 8, math.NaN()}
					if counts {
						want[3], want[4] = 4, 8
					}
					have := state.Float64s()
					if !slices.EqualFunc(have, want, func(a, b float64) bool { return a == b || a != a && b != b }) {
						t.Errorf("%s %s, form %d, right answers %v: %v, want %v", d, dtype, form, counts, have, want)
					}
					s.Close()
				}
			}
		}
	})
	expect.Refused(t, "a state of 4 rows", Catch(func() {
		s := NewScopeNoGrad()
		defer s.Close()
		Account(Zeros(s, Float32, CPU, 3), Tensor{}, 1, Zeros(s, Int64, CPU, 1), Zeros(s, Float64, CPU, 4, 3))
	}))
}
