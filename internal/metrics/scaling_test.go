package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// TestStressOfEqualDistances: one dimension holds n tokens that are all 1 apart best at
// (2 i - 1 - n) / n, i = 1..n, in any order (de Leeuw and Stoop 1984), which is a fixed point of the
// first transform already.
func TestStressOfEqualDistances(t *testing.T) {
	for _, n := range []int{3, 7, 10} {
		d, start, want := make([]float64, n*n), make([]float64, n), 0.0
		for i := range n {
			start[i] = float64(i * i)
			for j := range n {
				if i != j {
					d[i*n+j] = 1
					off := 1 - 2*math.Abs(float64(i-j))/float64(n)
					want += off * off / float64(n*(n-1))
				}
			}
		}
		x := RefineMDS(d, start, n, 1)
		for i, v := range x {
			if at := float64(2*i+1-n) / float64(n); !close10(v, at) {
				t.Errorf("%d tokens: token %d at %v, want %v", n, i, v, at)
			}
		}
		if got := Stress(d, x, n, 1); !close10(got, math.Sqrt(want)) {
			t.Errorf("%d tokens: stress %v, want %v", n, got, math.Sqrt(want))
		}
	}
}

// distancesOf returns the distances of points [n,k], each but for a factor of its own.
func distancesOf(points []float64, n, k int, factor func() float64) []float64 {
	d := make([]float64, n*n)
	for i := range n {
		for j := range i {
			d[i*n+j] = rowDistance(points, k, i, j) * factor()
			d[j*n+i] = d[i*n+j]
		}
	}
	return d
}

// TestRefineMDS: what has the distances is left as it is; else the raw stress is lower, and no
// longer changes with any coordinate (its derivative by differences).
func TestRefineMDS(t *testing.T) {
	const n, k = 12, 3
	rng := rand.New(rand.NewPCG(4, 0))
	points := make([]float64, n*k)
	for i := range points {
		points[i] = rng.NormFloat64()
	}
	exact := distancesOf(points, n, k, func() float64 { return 1 })
	x, err := ClassicalMDS(exact, n, k)
	expect.NoError(t, err)
	if got := Stress(exact, x, n, k); got > 1e-12 {
		t.Errorf("stress %g of distances that %d dimensions have", got, k)
	}
	for i, v := range RefineMDS(exact, x, n, k) {
		if v != x[i] {
			t.Fatal("exact coordinates were moved")
		}
	}
	d := distancesOf(points, n, k, func() float64 { return 0.5 + rng.Float64() })
	if x, err = ClassicalMDS(d, n, 2); err != nil {
		t.Fatal(err)
	}
	y := RefineMDS(d, x, n, 2)
	before, after := Stress(d, x, n, 2), Stress(d, y, n, 2)
	if after > 0.9*before {
		t.Errorf("stress %g after %g", after, before)
	}
	slope := func(at []float64) (most float64) {
		for i := range at {
			const h = 1e-5
			up, down := append([]float64(nil), at...), append([]float64(nil), at...)
			up[i], down[i] = up[i]+h, down[i]-h
			a, b := Stress(d, up, n, 2), Stress(d, down, n, 2)
			most = max(most, math.Abs(a*a-b*b)/(2*h))
		}
		return most
	}
	if from, to := slope(x), slope(y); to > from/50 {
		t.Errorf("the squared stress has a slope of %g, at the start %g", to, from)
	}
}

// TestGradientsOfARing: tokens that are alike in each place of a ring have the gradients of a circle:
// pairs of equal strength, whose squares sum to the same for each token. (The angle
// of a row with itself is 0 to 1e-8 alone.)
func TestGradientsOfARing(t *testing.T) {
	const n = 20
	ring := make([]float64, n*n)
	for i := range n {
		for j := range n {
			ring[i*n+j] = math.Cos(2 * math.Pi * float64(i-j) / n)
		}
	}
	o := DefaultGradients()
	o.Dims, o.Sparsity = 2, 0.75-1e-9 // 5 of 20 are kept: itself and two on each side
	x, strength, err := Gradients(ring, n, o)
	if err != nil || !close10(strength[0], strength[1]) {
		t.Fatal(strength, err)
	}
	for i := range n {
		expect.Near(t, fmt.Sprint("radius of token ", i), math.Hypot(x[2*i], x[2*i+1]), math.Sqrt2*strength[0],
			1e-7)
	}
	o.Dims = n - 1 // all there are
	if x, strength, err = Gradients(ring, n, o); err != nil || len(x) != n*(n-1) || len(strength) != n-1 {
		t.Errorf("%d numbers of %d gradients, %v", len(x), len(strength), err)
	}
}

// Connectivity that has no gradients is an error that says why.
func TestNoGradients(t *testing.T) {
	o := DefaultGradients()
	o.Dims, o.Sparsity = 1, 0.4
	parts := []float64{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1} // two pairs of tokens
	many, dense, keep2 := o, o, o
	many.Dims, keep2.Sparsity = 4, 0.2
	dense.Sparsity = 0.9
	for want, err := range map[string]error{
		"parts that are not connected": third(DiffusionMap(slices.Clone(parts), 4, o)),
		"4 gradients of 4 tokens":      third(Gradients(parts, 4, many)),
		"leaves 0 of the 4 entries":    third(Gradients(parts, 4, dense)),
		"not a connectivity between 3": third(Gradients(parts, 3, o)),
		"not connected with any other": third(Gradients(make([]float64, 16), 4, o)),
		"tokens 0 and 1 is NaN":        third(Gradients([]float64{1, math.NaN(), 0, 0, 1, 0, 0, 0, 1}, 3, keep2)),
	} {
		expect.Error(t, err, want)
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }
