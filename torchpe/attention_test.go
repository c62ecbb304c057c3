package torchpe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe/internal/ctorch"
)

// attentionSizes are above smallProduct, where Attention has loops of its own: at which blocks of
// 48 rows, panels of 4, 16 or 64 columns and vectors end or do not end. The values are O wide.
func attentionSizes() []sizes {
	return []sizes{
		{E: 1, B: 2, H: 1, N: 70, M: 70, Dh: 70, O: 70},
		{E: 2, B: 1, H: 2, N: 97, M: 361, Dh: 8, O: 5},
		{E: 1, B: 2, H: 3, N: 361, M: 50, Dh: 16, O: 16},
		{E: 3, B: 1, H: 1, N: 150, M: 111, Dh: 17, O: 65},
		{E: 1, B: 1, H: 1, N: 96, M: 64, Dh: 64, O: 64}, // whole blocks, panels and vectors
		{E: 1, B: 1, H: 2, N: 1, M: 2000, Dh: 160, O: 3},
		{E: 2, B: 1, H: 1, N: 2000, M: 1, Dh: 160, O: 33},
	}
}

func attentionInputs(z sizes) []point {
	p := inputs(60, []int{z.E, z.B, z.H, z.N, z.Dh}, []int{z.E, z.B, z.H, z.M, z.Dh}, []int{z.E, z.B, z.H, z.M, z.O})
	for _, x := range p { // so that float32 starts with the same numbers
		for i, v := range x.values {
			x.values[i] = float64(float32(v))
		}
	}
	return p
}

// attentionBiases are biases of the logits in the shapes that broadcast to [E,B,H,N,M], with and
// without -inf; the first is none. No row is hidden as a whole.
func attentionBiases(z sizes) (list []point) {
	rng := rand.New(rand.NewPCG(61, 0))
	free := func(shape ...int) point { return point{shape, normals(rng, product(shape))} }
	masked := func(p point, hidden func(i int) bool) point {
		for i := range p.values {
			p.values[i] = float64(float32(p.values[i]))
			if i%z.M != 0 && hidden(i) {
				p.values[i] = math.Inf(-1)
			}
		}
		return p
	}
	never := func(int) bool { return false }
	return []point{
		{},
		masked(free(z.N, z.M), func(i int) bool { return i%z.M > i/z.M }), // causal
		masked(free(z.E, z.B, 1, 1, z.M), func(i int) bool { return i%3 != 0 }),
		masked(free(z.E, z.B, z.H, z.N, z.M), func(int) bool { return rng.IntN(4) == 0 }),
		masked(free(z.M), never), masked(free(z.H, z.N, 1), never), masked(free(), never),
	}
}

// attention is Attention of queries, keys and values with a constant bias.
func attention(z sizes, bias point, scale float64) function {
	return function{fmt.Sprintf("Attention with bias %v", bias.shape), attentionInputs(z), func(x []Tensor) Tensor {
		var b Tensor
		if bias.values != nil {
			b = Of(x[0].Scope(), CPU, bias.values, bias.shape...).To(x[0].DType(), CPU)
		}
		return Attention(x[0], x[1], x[2], b, scale)
	}}
}

// at is element (i; row, column) of a point that broadcasts to [heads,rows,columns], heads being
// E*B*H.
func (p point) at(z sizes, i, row, column int) float64 {
	full := []int{i / (z.H * z.B), i / z.H % z.B, i % z.H, row, column}
	place := 0
	for axis, n := range p.shape {
		place *= n
		if n > 1 {
			place += full[len(full)-len(p.shape)+axis]
		}
	}
	return p.values[place]
}

// directAttention computes attention and its gradients, those of q, k, v and the logits, by their
// definition.
func directAttention(z sizes, in []point, bias point, scale float64) (all outcome) {
	N, M, D, O, heads := z.N, z.M, z.Dh, z.O, z.E*z.B*z.H
	for _, n := range []int{heads * N * O, heads * N * D, heads * M * D, heads * M * O, heads * N * M} {
		all = append(all, make([]float64, n))
	}
	result, gradients := all[0], all[1:]
	w, dw := make([]float64, M), make([]float64, M)
	for row := range heads * N {
		i := row / N
		q, k, v := in[0].values[row*D:][:D], in[1].values[i*M*D:][:M*D], in[2].values[i*M*O:][:M*O]
		most, sum := math.Inf(-1), 0.0
		for m := range w {
			w[m] = 0
			for d, x := range q {
				w[m] += x * k[m*D+d] * scale
			}
			if bias.values != nil {
				w[m] += bias.at(z, i, row%N, m)
			}
			most = max(most, w[m])
		}
		for m := range w {
			w[m] = math.Exp(w[m] - most)
			sum += w[m]
		}
		dot := 0.0
		for m := range w {
			w[m] /= sum
			dw[m] = 0
			for o := range O {
				d := weight(row*O + o) // the gradient of the loss of weighted
				result[row*O+o] += w[m] * v[m*O+o]
				gradients[2][(i*M+m)*O+o] += w[m] * d
				dw[m] += d * v[m*O+o]
			}
			dot += w[m] * dw[m]
		}
		for m := range w {
			ds := w[m] * (dw[m] - dot)
			gradients[3][row*M+m] = ds
			for d, x := range q {
				gradients[0][row*D+d] += scale * ds * k[m*D+d]
				gradients[1][(i*M+m)*D+d] += scale * ds * x
			}
		}
	}
	return all
}

// TestAttentionDirect holds the loops of many tokens, and their twin composed of libtorch's
// operators, against attention by its definition: values and gradients, for all layouts of the
// operands. Queries of size 1 and these scales make weights that range over some orders of
// magnitude.
func TestAttentionDirect(t *testing.T) {
	for k, z := range attentionSizes() {
		if testing.Short() && k%2 == 1 {
			continue
		}
		scale := []float64{1 / math.Sqrt(float64(z.Dh)), -0.3}[k%2]
		for b, bias := range attentionBiases(z) {
			c := attention(z, bias, scale)
			want := directAttention(z, c.inputs, bias, scale)[:4]
			for _, dtype := range []DType{Float64, Float32} {
				l := layout((k + b) % 3)
				check := func(how string) {
					name := fmt.Sprintf("%s, %s, %s, %s, %+v", c.name, how, dtype, l, z)
					c.run(l, dtype, nil, 1).near(t, name, want, twinTolerance[dtype])
				}
				check("loops")
				composed(func() { check("composed") })
			}
			if t.Failed() {
				return // one says enough
			}
		}
	}
}

// TestAttentionBiasGradient checks a bias that wants a gradient: it gets the logits', summed over
// what it broadcasts.
func TestAttentionBiasGradient(t *testing.T) {
	z := attentionSizes()[1]
	p := attentionInputs(z)
	bias := inputs(62, []int{z.E, 1, z.H, z.N, 1}, []int{z.N, z.M})
	for k, b := range bias {
		want := directAttention(z, p, b, 0.4)
		s := NewScope()
		logits := Of(s, CPU, want[4], z.E, z.B, z.H, z.N, z.M)
		want[4] = []Tensor{logits.Sum(1, 4), logits.Sum(0, 1, 2)}[k].Float64s()
		s.Close()
		c := function{"Attention", append(slices.Clone(p), b), func(x []Tensor) Tensor {
			return Attention(x[0], x[1], x[2], x[3], 0.4)
		}}
		c.run(dense, Float64, nil, 1).near(t, fmt.Sprintf("with a bias %v", b.shape), want, 1e-12)
	}
}

// TestAttentionExtremes: in the loops of many tokens and in the kernel of few, hidden keys and those far
// below the largest get the weight 0 exactly, a row whose keys are all hidden is NaN in its result and
// gradients, as composed, and no other row is; large logits do not overflow.
func TestAttentionExtremes(t *testing.T) {
	for form, z := range map[int]sizes{ctorch.Fused: {E: 1, B: 1, H: 2, N: 100, M: 130, Dh: 24, O: 24},
		ctorch.Emulated: {E: 1, B: 1, H: 2, N: 9, M: 11, Dh: 6, O: 6}} {
		bias := point{[]int{z.N, z.M}, make([]float64, z.N*z.M)}
		hidden, single, apart, large, key := z.N/2, z.N/2+1, z.N/2+2, z.N/2+3, z.M/2
		for m := range z.M {
			bias.values[hidden*z.M+m] = math.Inf(-1)
			bias.values[single*z.M+m] = math.Inf(-1)
			bias.values[apart*z.M+m] = -1e4
			bias.values[large*z.M+m] = 1e30
		}
		bias.values[single*z.M+key], bias.values[apart*z.M+key+1] = 0, 0
		for _, dtype := range []DType{Float32, Float64} {
			c := attention(z, bias, 0.3)
			for i := range c.inputs[2].values {
				c.inputs[2].values[i] = float64(i / z.O % z.M) // each key's value is its number
			}
			ctorch.SetFusedForm(form)
			have := c.run(dense, dtype, nil, 1)
			ctorch.SetFusedForm(ctorch.Composed)
			want := c.run(dense, dtype, nil, 1)
			ctorch.SetFusedForm(ctorch.Fused)
			for i, list := range have {
				other := want[i]
				for j, v := range other { // near compares with the largest, which must be a number
					if math.IsNaN(v) != math.IsNaN(list[j]) {
						t.Fatalf("%s, list %d: value %d is %g, composed %g", dtype, i, j, list[j], v)
					}
					if math.IsNaN(v) {
						list[j], other[j] = -1, -1
					}
				}
			}
			have.near(t, fmt.Sprintf("%s, with a hidden row", dtype), want, twinTolerance[dtype])
			for i, v := range have[0] {
				switch row := i / z.O % z.N; {
				case (v == -1) != (row == hidden): // -1 stood for NaN above
					t.Fatalf("%s: row %d is %g", dtype, row, v)
				case row == single && v != float64(key) || row == apart && v != float64(key+1):
					t.Fatalf("%s: row %d, which sees one key alone, is %g", dtype, row, v)
				case row == large && math.Abs(v-float64(z.M-1)/2) > 1e-6*float64(z.M-1):
					t.Fatalf("%s: row %d, whose logits are equal, is %g", dtype, row, v)
				}
			}
		}
	}
}

// TestAttentionWeights: of two keys, the one whose logit is x lower weighs exp(-x)/(1 + exp(-x)), to
// the last digits.
func TestAttentionWeights(t *testing.T) {
	const N, M, D = 600, 40, 16 // enough for the loops
	allowed := map[DType]float64{Float32: 1e-6, Float64: 1e-14}
	for _, dtype := range []DType{Float32, Float64} {
		bias, want := make([]float64, N*M), make([]float64, N)
		for n := range N {
			x := float64(n) / 64 // a float32, too
			for m := 2; m < M; m++ {
				bias[n*M+m] = math.Inf(-1)
			}
			bias[n*M+1], want[n] = -x, math.Exp(-x)/(1+math.Exp(-x))
		}
		s := NewScopeNoGrad()
		zero := Full(s, 0, dtype, CPU, 1, 1, 1, N, D)
		value := make([]float64, M)
		value[1] = 1
		got := Attention(zero, zero.Narrow(3, 0, M), Of(s, CPU, value, 1, 1, 1, M, 1).To(dtype, CPU),
			Of(s, CPU, bias, N, M).To(dtype, CPU), 1).Float64s()
		for n, w := range want {
			expect.Near(t, fmt.Sprintf("%s: the weight of a logit of -%d/64, over %g,", dtype, n, w), got[n]/w, 1,
				allowed[dtype])
		}
		s.Close()
	}
}

// TestAttentionHidden: a hidden key weighs nothing at all, whatever its value: the largest number
// times the smallest would show.
func TestAttentionHidden(t *testing.T) {
	z := attentionSizes()[0]
	const key = 5
	bias := point{[]int{z.M}, make([]float64, z.M)}
	bias.values[key] = math.Inf(-1)
	c := attention(z, bias, 0.3)
	for dtype, largest := range map[DType]float64{Float32: math.MaxFloat32, Float64: math.MaxFloat64} {
		result := map[float64][]float64{}
		for _, v := range []float64{0, largest} {
			for i := range c.inputs[2].values {
				if i/z.O%z.M == key {
					c.inputs[2].values[i] = v
				}
			}
			result[v] = c.run(dense, dtype, nil, 1)[0]
		}
		identical(t, fmt.Sprint("hidden keys in ", dtype), result[largest], result[0])
	}
}

// TestAttentionRefuses checks that shapes and dtypes that do not fit are errors.
func TestAttentionRefuses(t *testing.T) {
	s := kept(t, NewScope())
	q := Full(s, 1, Float32, CPU, 1, 2, 1, 3, 4)
	for what, f := range map[string]func(){
		"bias":              func() { Attention(q, q, q, Full(s, 0, Float32, CPU, 3, 4), 1) },
		"bias of more axes": func() { Attention(q, q, q, Full(s, 0, Float32, CPU, 1, 1, 1, 1, 3, 3), 1) },
		"empty bias":        func() { Attention(q, q, q, Zeros(s, Float32, CPU, 0), 1) },
		"bias's dtype":      func() { Attention(q, q, q, Full(s, 0, Float64, CPU, 3, 3), 1) },
		"values":            func() { Attention(q, q, q.Narrow(3, 0, 2), Tensor{}, 1) },
		"values' dtype":     func() { Attention(q, q, q.To(Float64, CPU), Tensor{}, 1) },
		"keys":              func() { Attention(q, q.Narrow(4, 0, 2), q, Tensor{}, 1) },
		"keys' axes":        func() { Attention(q, q.Narrow(1, 0, 1), q, Tensor{}, 1) },
	} {
		if e := failing(t, "Attention", f); !strings.Contains(e.Msg, "attention") {
			t.Errorf("%s: %s", what, e.Msg)
		}
	}
	failing(t, "Attention", func() { Attention(q, Tensor{}, q, Tensor{}, 1) })
}

// TestAttentionParameters checks the gradients of queries, keys and values that are parameters,
// whose gradient lies in a flat buffer, for many tokens.
func TestAttentionParameters(t *testing.T) {
	z := attentionSizes()[3]
	c := attention(z, attentionBiases(z)[1], 0.2)
	want := c.run(dense, Float64, nil, 1)
	checkParameterGradients(t, "loops", c, z.E, Float64, want, 1e-13)
	for subset := 1; subset < 7; subset++ {
		wanted := []bool{subset&1 > 0, subset&2 > 0, subset&4 > 0}
		want.identical(t, fmt.Sprint("wanted ", wanted), c.run(dense, Float64, wanted, 1))
	}
}

// TestGatherPairs: one index for all heads, which has loops of its own, gives what libtorch's gather gives
// for an index of each head, and its gradient.
func TestGatherPairs(t *testing.T) {
	const N, R, M = 5, 7, 9
	rng := rand.New(rand.NewPCG(63, 0))
	index := make([]int64, N*M)
	for i := range index {
		index[i] = rng.Int64N(R)
	}
	for dtype, tolerance := range map[DType]float64{Float32: 1e-6, Float64: 1e-14} {
		s := NewScope()
		p := inputs(64, []int{2, 3, N, 2, R})[0]
		pairs := Of(s, CPU, index, N, M).Expand(2, 3, 2, N, M)
		gathered := func(index Tensor) (value, gradient []float64) {
			x := dense.tensor(s, p, dtype).RequireGrad()
			y := x.Permute(0, 1, 3, 2, 4).Gather(-1, index)
			weighted(y).Backward()
			return y.Float64s(), x.Grad().Float64s()
		}
		value, gradient := gathered(pairs)
		want, of := gathered(pairs.Contiguous())
		near(t, "values", value, want, 0)
		near(t, "gradients", gradient, of, tolerance)
		s.Close()
	}
	s := kept(t, NewScope())
	failing(t, "Gather", func() {
		Zeros(s, Float32, CPU, 1, 1, 1, 2, 3).Gather(-1, Of(s, CPU, []int64{0, 3, 1, 2}, 2, 2).Expand(1, 1, 1, 2, 2))
	})
}
