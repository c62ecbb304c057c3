package torchpe

import (
	"fmt"
	"math"
	"testing"

	"torchpe/torchpe/internal/ctorch"
)

// With bfloat16 as the precision of products, the blocks of a transformer store their wide tensors as
// that. The tests hold them against the same sums in Go, with a rounding wherever a number is
// stored.

// rounded7 returns v as bfloat16 has it.
func rounded7(v float64) float64 { return roundTo(v, 7) }

// matrix is dense, rows by columns.
type matrix struct {
	rows, cols int
	v          []float64
}

func (m matrix) at(r, c int) float64 { return m.v[r*m.cols+c] }

func matrixOf(rows, cols int, f func(r, c int) float64) matrix {
	m := matrix{rows, cols, make([]float64, rows*cols)}
	for i := range m.v {
		m.v[i] = f(i/cols, i%cols)
	}
	return m
}

func (m matrix) each(f func(v float64) float64) matrix {
	return matrixOf(m.rows, m.cols, func(r, c int) float64 { return f(m.at(r, c)) })
}

func (m matrix) turned() matrix {
	return matrixOf(m.cols, m.rows, func(r, c int) float64 { return m.at(c, r) })
}

func (m matrix) times(o matrix) matrix {
	return matrixOf(m.rows, o.cols, func(r, c int) (sum float64) {
		for k := range m.cols {
			sum += m.at(r, k) * o.at(k, c)
		}
		return sum
	})
}

func (m matrix) plus(o matrix) matrix {
	return matrixOf(m.rows, m.cols, func(r, c int) float64 { return m.at(r, c) + o.at(r%o.rows, c) })
}

func (m matrix) by(o matrix) matrix {
	return matrixOf(m.rows, m.cols, func(r, c int) float64 { return m.at(r, c) * o.at(r%o.rows, c) })
}

// sums returns the sums of the columns as one row.
func (m matrix) sums() matrix {
	return matrixOf(1, m.cols, func(_, c int) (sum float64) {
		for r := range m.rows {
			sum += m.at(r, c)
		}
		return sum
	})
}

func (m matrix) columns(from, to int) matrix {
	return matrixOf(m.rows, to-from, func(r, c int) float64 { return m.at(r, from+c) })
}

func (m matrix) part(from, to int) matrix {
	return matrix{to - from, m.cols, m.v[from*m.cols : to*m.cols]}
}

func geluAndSlope(u float64) (y, slope float64) {
	cdf := 0.5 * math.Erfc(-u/math.Sqrt2)
	return u * cdf, cdf + u*math.Exp(-u*u/2)/math.Sqrt(2*math.Pi)
}

func geluValue(u float64) float64 {
	y, _ := geluAndSlope(u)
	return y
}

func slopeOf(u float64) float64 {
	_, s := geluAndSlope(u)
	return s
}

// storedNorm is layer norm of s, which keeps what it normalised rounded.
type storedNorm struct {
	gain, out, kept matrix
	over            []float64 // 1/std of each row
}

func normOf(s, gain, bias matrix, eps float64) storedNorm {
	n := storedNorm{gain: gain, over: make([]float64, s.rows)}
	hat := matrixOf(s.rows, s.cols, func(r, c int) float64 {
		mean, variance := 0.0, 0.0
		for _, v := range s.v[r*s.cols : (r+1)*s.cols] {
			mean += v / float64(s.cols)
		}
		for _, v := range s.v[r*s.cols : (r+1)*s.cols] {
			variance += (v - mean) * (v - mean) / float64(s.cols)
		}
		n.over[r] = 1 / math.Sqrt(variance+eps)
		return (s.at(r, c) - mean) * n.over[r]
	})
	n.out, n.kept = hat.by(gain).plus(bias), hat.each(rounded7)
	return n
}

// backward returns the gradients of s, gain and bias.
func (n storedNorm) backward(d matrix) (ds, dgain, dbias matrix) {
	dg := d.by(n.gain)
	ds = matrixOf(d.rows, d.cols, func(r, c int) float64 {
		m1, m2 := 0.0, 0.0
		for k := range d.cols {
			m1 += dg.at(r, k) / float64(d.cols)
			m2 += dg.at(r, k) * n.kept.at(r, k) / float64(d.cols)
		}
		return (dg.at(r, c) - m1 - n.kept.at(r, c)*m2) * n.over[r]
	})
	return ds, d.by(n.kept).sums(), d.sums()
}

// storedMLP returns the block of one member and, by the gradient d of its result, the gradients of
// all seven operands.
func storedMLP(in []matrix, d matrix) (out matrix, gradients []matrix) {
	x, b1, b2 := in[0], in[2], in[4]
	x16, w1, w2 := x.each(rounded7), in[1].each(rounded7), in[3].each(rounded7)
	u := x16.times(w1.turned()).each(rounded7)
	h := u.plus(b1).each(geluValue).each(rounded7)
	v := h.times(w2.turned()).each(rounded7)
	n := normOf(x.plus(v.plus(b2).each(geluValue)), in[5], in[6], blockEps)
	ds, dgain, dbias := n.backward(d)
	dv := ds.by(v.plus(b2).each(slopeOf))
	dv16 := dv.each(rounded7)
	du := dv16.times(w2).each(rounded7).by(u.plus(b1).each(slopeOf))
	du16 := du.each(rounded7)
	return n.out, []matrix{ds.plus(du16.times(w1)), du16.turned().times(x16), du.sums(), dv16.turned().times(h),
		dv.sums(), dgain, dbias}
}

// storedAttention does the same with attention over tokens of B samples and H heads.
func storedAttention(in []matrix, d matrix, B, H int, scale float64) (out matrix, gradients []matrix) {
	x, D, N := in[0], in[0].cols, in[0].rows/B
	x16, w1, w2 := x.each(rounded7), in[1].each(rounded7), in[3].each(rounded7)
	qkv := x16.times(w1.turned()).each(rounded7).plus(in[2])
	Dh := D / H
	a, weights := matrixOf(x.rows, D, func(int, int) float64 { return 0 }), map[[2]int]matrix{}
	head := func(of matrix, b, part, h int) matrix {
		return of.part(b*N, (b+1)*N).columns(part*D+h*Dh, part*D+(h+1)*Dh)
	}
	put := func(into, what matrix, b, part, h int) {
		for i := range what.v {
			into.v[(b*N+i/Dh)*into.cols+part*D+h*Dh+i%Dh] = what.v[i]
		}
	}
	for b := range B {
		for h := range H {
			e := head(qkv, b, 0, h).times(head(qkv, b, 1, h).turned()).each(func(v float64) float64 {
				return math.Exp(scale * v)
			})
			total := e.turned().sums()
			w := matrixOf(N, N, func(r, c int) float64 { return e.at(r, c) / total.v[r] })
			weights[[2]int{b, h}] = w
			put(a, w.times(head(qkv, b, 2, h)).each(rounded7), b, 0, h)
		}
	}
	y := a.times(w2.turned()).each(rounded7)
	n := normOf(x.plus(y).plus(in[4]), in[5], in[6], blockEps)
	ds, dgain, dbias := n.backward(d)
	dy := ds.each(rounded7)
	da := dy.times(w2).each(rounded7)
	du := matrixOf(x.rows, 3*D, func(int, int) float64 { return 0 })
	for b := range B {
		for h := range H {
			w, dh := weights[[2]int{b, h}], head(da, b, 0, h)
			dw := dh.times(head(qkv, b, 2, h).turned())
			dots := dw.by(w).turned().sums()
			dl := matrixOf(N, N, func(r, c int) float64 { return scale * w.at(r, c) * (dw.at(r, c) - dots.v[r]) })
			put(du, dl.times(head(qkv, b, 1, h)), b, 0, h)
			put(du, dl.turned().times(head(qkv, b, 0, h)), b, 1, h)
			put(du, w.turned().times(dh), b, 2, h)
		}
	}
	du16 := du.each(rounded7)
	return n.out, []matrix{ds.plus(du16.times(w1)), du16.turned().times(x16), du.sums(), dy.turned().times(a),
		ds.sums(), dgain, dbias}
}

// TestStorage compares both blocks, as the CPU's loops round and as the kernels store. Where a sum in
// float32 falls on the other side of a rounding the two may part: the numbers are chosen so that
// none does.
func TestStorage(t *testing.T) {
	const E, B, H, N, D, O = 2, 3, 2, 5, 6, 9
	row := []int{E, D}
	blocks := map[string]struct {
		function
		stored func(in []matrix, d matrix) (matrix, []matrix)
	}{
		"MLPBlock": {function{"MLPBlock", inputs(120, []int{E, B, N, D}, []int{E, O, D}, []int{E, O}, []int{E, D, O},
			row, row, row), func(x []Tensor) Tensor {
			return MLPBlock(x[0], MLP{x[1], x[2], x[3], x[4]}, normed(x[5], x[6], blockEps))
		}}, storedMLP},
		"AttentionBlock": {function{"AttentionBlock", inputs(121, []int{E, B, N, D}, []int{E, 3 * D, D},
			[]int{E, 3 * D}, []int{E, D, D}, row, row, row), func(x []Tensor) Tensor {
			return AttentionBlock(x[0], SelfAttention{QKVWeight: x[1], QKVBias: x[2], OutWeight: x[3], OutBias: x[4],
				Heads: H, Scale: 0.1}, normed(x[5], x[6], blockEps))
		}}, func(in []matrix, d matrix) (matrix, []matrix) { return storedAttention(in, d, B, H, 0.1) }},
	}
	for name, block := range blocks {
		for i := range block.inputs {
			copy(block.inputs[i].values, roundAll(block.inputs[i].values, 23))
		}
		want := make([][]float64, 1+len(block.inputs))
		for e := range E {
			in := make([]matrix, len(block.inputs))
			for i, p := range block.inputs {
				cols := p.shape[len(p.shape)-1]
				per := product(p.shape) / E
				in[i] = matrix{per / cols, cols, p.values[e*per : (e+1)*per]}
			}
			out, gradients := block.stored(in, matrixOf(B*N, D, func(r, c int) float64 {
				return roundTo(weight((e*B*N+r)*D+c), 23)
			}))
			want[0] = append(want[0], out.v...)
			for i, g := range gradients {
				want[1+i] = append(want[1+i], g.v...)
			}
		}
		withPrecision(t, "bf16", func(form int) {
			if form == ctorch.Composed {
				return // stores float32
			}
			have, gradients := block.run(dense, Float32, nil, 1)
			name := fmt.Sprintf("%s, form %d", name, form)
			near(t, name, have, want[0], 2e-6)
			for i := range gradients {
				near(t, fmt.Sprint(name, ", gradient ", i), gradients[i], want[1+i], 1e-5)
			}
		})
	}
}

// TestRoundedBeside checks that a block whose input another block left converts its weights alone, and
// that what is kept beside a tensor is forgotten once the tensor changes.
func TestRoundedBeside(t *testing.T) {
	const E, B, N, D, O = 1, 2, 3, 4, 5
	in := inputs(122, []int{E, B, N, D}, []int{E, O, D}, []int{E, D, O}, []int{E, D}, []int{E, D})
	block := func(x []Tensor, y Tensor) Tensor {
		return MLPBlock(y, MLP{x[1], Tensor{}, x[2], Tensor{}}, normed(x[3], x[4], blockEps))
	}
	defer ctorch.SetFusedForm(ctorch.Fused)
	defer SetPrecision("fp32")
	ctorch.SetFusedForm(ctorch.Emulated)
	noError(t, SetPrecision("bf16"))
	s := NewScopeNoGrad()
	defer s.Close()
	x := make([]Tensor, len(in))
	for i, p := range in {
		x[i] = Of(s, CPU, p.values, p.shape...).To(Float32, CPU)
	}
	conversions := func(f func()) int { return Operators(f)["aten::_to_copy"] }
	y := block(x, x[0])
	var z Tensor
	if first, second := conversions(func() { block(x, x[0]) }), conversions(func() { z = block(x, y) }); first != 3 ||
		second != 2 {
		t.Errorf("%d conversions, then %d; want 3, then those of the weights", first, second)
	}
	identical(t, "of what was kept", z.Float64s(), block(x, y.Clone()).Float64s())
	y.CopyFrom(x[0])
	identical(t, "of what changed", block(x, y).Float64s(), block(x, x[0]).Float64s())
}
