package torchpe

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// The fused CPU loops against their twins composed of libtorch's operators: same result, same
// gradients. Both sum in different orders, so float64 agrees to some ulps of the largest value. In
// float32 a sum of n products of size 1 is off by about 6e-8 sqrt(n); the largest n here is 960.
var twinTolerance = map[DType]float64{Float64: 1e-12, Float32: 1e-5}

// twinSizes are the sizes at which vectors, blocks and chunks of the loops end or do not end.
func twinSizes() (list []sizes) {
	lengths, widths := []int{1, 3, 15, 16, 17, 33}, []int{1, 5, 16, 40, 160}
	for i, n := range lengths {
		for j, dh := range widths {
			if testing.Short() && (i+j)%3 != 0 {
				continue
			}
			heads := 1 + (i+j)%3
			if dh == 160 {
				heads = 1
			}
			list = append(list, sizes{E: 1 + (i+j)%2*2, B: 2, H: heads, N: n,
				M: lengths[(i+j)%len(lengths)], Dh: dh, O: 7 + 24*(i%2)})
		}
	}
	return append(list,
		sizes{E: 1, B: 43, H: 2, N: 17, M: 17, Dh: 5, O: 101},  // 731 rows: several chunks and a rest; 86 heads
		sizes{E: 3, B: 48, H: 1, N: 16, M: 16, Dh: 16, O: 64},  // 768 rows: whole chunks of 96, 128 or 256
		sizes{E: 4, B: 13, H: 2, N: 16, M: 16, Dh: 8, O: 37},   // members of 208 rows, two of them at once
		sizes{E: 1, B: 1, H: 1, N: 70, M: 70, Dh: 70, O: 3},    // too large for the small product
		sizes{E: 2, B: 3, H: 1, N: 100, M: 100, Dh: 40, O: 9},  // the same for one head whose maps are folded
		sizes{E: 1, B: 2, H: 1, N: 130, M: 130, Dh: 16, O: 9},  // so many keys that no exponentials are kept
		sizes{E: 2, B: 1, H: 1, N: 300, M: 1, Dh: 160, O: 257}) // deeper than one pass of the product over its panel
}

// smallProduct is SMALL_PRODUCT of heads.h: larger products of attention are BLAS's, and larger
// attention as a whole has loops of its own.
const smallProduct = 64 * 64 * 64

func TestFusedTwins(t *testing.T) {
	errors := twinErrors{}
	for _, z := range twinSizes() {
		for _, c := range fusedFunctions(z) {
			for _, dtype := range []DType{Float64, Float32} {
				name := fmt.Sprintf("%s, %s, %+v", c.name, dtype, z)
				var want outcome
				composed(func() { want = c.run(dense, dtype, nil, 1) })
				errors.add(c.name, dtype, name, c.run(dense, dtype, nil, 1), want)
			}
		}
	}
	errors.report(t)
}

// TestThreads checks that the loops compute the same bits with one thread and with two. It goes
// through everything with one and then with two, because libtorch takes milliseconds to change
// over.
func TestThreads(t *testing.T) {
	one, two := map[string]uint64{}, map[string]uint64{}
	withThreads(1, func() { runHashes(one) })
	withThreads(2, func() { runHashes(two) })
	for name, bits := range one {
		expect.Equal(t, name+": bits of two threads", two[name], bits)
	}
	if len(one) < 100 {
		t.Errorf("only %d operators compared", len(one))
	}
}

// runHashes runs the fused operators and puts a hash of results and gradients into the map.
func runHashes(into map[string]uint64) {
	for _, z := range twinSizes() {
		for k, c := range fusedFunctions(z) {
			composed := strings.HasPrefix(c.name, "AttentionLogits") ||
				strings.HasPrefix(c.name, "AttentionValues") || c.name == "attention"
			if composed && z.N*z.M*z.Dh > smallProduct {
				continue // BLAS shares a product out in its own way
			}
			runHash(into, c, fmt.Sprintf("%d, %+v", k, z))
		}
	}
	for _, z := range attentionSizes() {
		runHash(into, attention(z, point{}, 0.3), fmt.Sprintf("%+v", z))
		runHash(into, attention(z, attentionBiases(z)[1], 0.3), fmt.Sprintf("%+v", z))
	}
}

func runHash(into map[string]uint64, c function, name string) {
	for _, dtype := range []DType{Float64, Float32} {
		hash := uint64(14695981039346656037)
		for _, v := range c.run(dense, dtype, nil, 1) {
			for _, x := range v {
				hash = (hash ^ math.Float64bits(x)) * 1099511628211 // FNV-1a, a number at a time
			}
		}
		into[fmt.Sprintf("%s, %s, %s", c.name, dtype, name)] = hash
	}
}

// TestFusedWithoutGradient checks that a scope without gradients, in which the loops keep nothing,
// computes the same bits.
func TestFusedWithoutGradient(t *testing.T) {
	two := sizes{E: 2, B: 3, H: 2, N: 17, M: 15, Dh: 10, O: 33}
	one := two
	one.H = 1 // its maps are folded
	for _, c := range append(fusedFunctions(two), fusedFunctions(one)...) {
		for _, dtype := range []DType{Float64, Float32} {
			want := c.run(dense, dtype, nil, 1)[0]
			s := NewScopeNoGrad()
			x := c.tensors(s, dense, dtype)
			y := c.f(x)
			if strings.Contains(c.name, "learned") { // angles with a gradient have no loop
				near(t, fmt.Sprint(c.name, ", ", dtype), y.Float64s(), want, twinTolerance[dtype])
			} else {
				identical(t, fmt.Sprint(c.name, ", ", dtype), y.Float64s(), want)
			}
			if y.RequiresGrad() {
				t.Errorf("%s wants a gradient in a scope without", c.name)
			}
			s.Close()
		}
	}
}

// TestEmptyLinear: the empty sum is the bias, and no rows give none.
func TestEmptyLinear(t *testing.T) {
	const E, rows, I, O = 2, 3, 4, 5
	s := kept(t, NewScope())
	w, b := RandN(s, 1, Float64, CPU, E, O, I), RandN(s, 2, Float64, CPU, E, O)
	eachForm(func(int) {
		near(t, "of no inputs", Linear(Zeros(s, Float64, CPU, E, rows, 0), Zeros(s, Float64, CPU, E, O, 0),
			b).Float64s(), b.Unsqueeze(1).Expand(E, rows, O).Float64s(), 0)
		near(t, "of no rows", Linear(Zeros(s, Float64, CPU, E, 0, I), w, b).Float64s(), nil, 0)
	})
}

// TestAddLayerNormClosedForm checks mean 0 and variance 1 before gain and bias: (x - mean)/sqrt(var
// + eps) in Go.
func TestAddLayerNormClosedForm(t *testing.T) {
	const E, rows, D, eps = 2, 3, 19, 1e-3
	p := inputs(51, []int{E, rows, D}, []int{E, rows, D}, []int{E, D}, []int{E, D})
	var want []float64
	for r := range E * rows {
		sum, mean, variance := make([]float64, D), 0.0, 0.0
		for d := range D {
			sum[d] = p[0].values[r*D+d] + p[1].values[r*D+d]
			mean += sum[d] / D
		}
		for _, v := range sum {
			variance += (v - mean) * (v - mean) / D
		}
		for d, v := range sum {
			e := r / rows
			want = append(want, (v-mean)/math.Sqrt(variance+eps)*p[2].values[e*D+d]+p[3].values[e*D+d])
		}
	}
	s := kept(t, NewScope())
	eachForm(func(int) {
		for alone := range len(p) + 1 { // the operand that lies otherwise in memory than the rest
			x := make([]Tensor, len(p))
			for i := range p {
				x[i] = map[bool]layout{true: dense, false: turned}[i == alone].tensor(s, p[i], Float64)
			}
			near(t, "layer norm", AddLayerNorm(x[0], x[1], normed(x[2], x[3], eps)).Float64s(), want, 1e-14)
		}
	})
}

// TestRotatePairsClosedForm checks that a pair (x, y) turns into (x cos - y sin, y cos + x sin).
func TestRotatePairsClosedForm(t *testing.T) {
	s := kept(t, NewScope())
	const N, D = 5, 6
	p := inputs(52, []int{1, 1, 1, N, D})[0]
	x := dense.tensor(s, p, Float64)
	angle := Of(s, CPU, inputs(53, []int{N * D / 2})[0].values, N, D/2)
	a := angle.Float64s()
	for _, half := range []bool{false, true} {
		want := make([]float64, N*D)
		for n := range N {
			for k := range D / 2 {
				i, j := n*D+2*k, n*D+2*k+1
				if half {
					i, j = n*D+k, n*D+k+D/2
				}
				sin, cos := math.Sincos(a[n*D/2+k])
				want[i], want[j] = p.values[i]*cos-p.values[j]*sin, p.values[j]*cos+p.values[i]*sin
			}
		}
		near(t, fmt.Sprint("turned pairs, half ", half), RotatePairs(x, angle.Cos(), angle.Sin(), half).Float64s(),
			want, 1e-15)
	}
}

// TestCrossEntropy compares with -log softmax of the target's logit in Go.
func TestCrossEntropy(t *testing.T) {
	s := kept(t, NewScope())
	target := Of(s, CPU, []int64{0, 2, 1, 1}, 2, 2)
	z := inputs(54, []int{2, 2, 3})[0]
	want := make([]float64, 2)
	for i, y := range Values[int64](target) {
		row, sum := z.values[3*i:3*i+3], 0.0
		for _, v := range row {
			sum += math.Exp(v)
		}
		want[i/2] += (math.Log(sum) - row[y]) / 2
	}
	near(t, "cross-entropy", CrossEntropy(dense.tensor(s, z, Float64), target).Float64s(), want, 1e-15)
	for _, wrong := range []int64{-1, 3, math.MinInt64} {
		failing(t, "CrossEntropy", func() {
			CrossEntropy(dense.tensor(s, z, Float64), Of(s, CPU, []int64{0, 1, 2, wrong}, 2, 2))
		})
	}
}

// TestNormTable checks that a table that a layer norm adds gives the bits of one that is added after it
// where the loops compute, forward and back.
func TestNormTable(t *testing.T) {
	const E, B, N, D = 3, 41, 7, 12
	in := inputs(51, []int{E, B, N, D}, []int{E, B, N, D}, []int{E, D}, []int{E, D}, []int{E, N, D})
	within := function{"within", in, func(x []Tensor) Tensor {
		return AddLayerNorm(x[0], x[1], Norm{x[2], x[3], normEps, x[4]})
	}}
	after := function{"after", in, func(x []Tensor) Tensor {
		return AddLayerNorm(x[0], x[1], normed(x[2], x[3], normEps)).Add(x[4].Unsqueeze(1))
	}}
	for _, dtype := range []DType{Float64, Float32} {
		for _, l := range []layout{dense, turned, spaced} {
			name := fmt.Sprintf("%s, %s", dtype, l)
			within.run(l, dtype, nil, 1).identical(t, name, after.run(l, dtype, nil, 1))
		}
	}
}
