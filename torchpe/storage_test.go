package torchpe

import (
	"fmt"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe/internal/ctorch"
)

// With bfloat16 as the precision of products, the blocks of a transformer store their wide tensors as
// that. The tests hold them against the same sums of libtorch in float64, with a rounding wherever a
// number is stored.

// each returns x [E,...] with f of each number.
func each(x Tensor, f func(v float64) float64) Tensor {
	values := x.Float64s()
	for i, v := range values {
		values[i] = f(v)
	}
	return Of(x.Scope(), CPU, values, x.Shape()...)
}

// rounded returns x as bfloat16 has it.
func rounded(x Tensor) Tensor {
	return each(x, func(v float64) float64 { return roundTo(v, mantissas["bf16"]) })
}

// storedNorm is layer norm of s [E,rows,D], which keeps what it normalised rounded.
type storedNorm struct{ gain, out, kept, deviation Tensor }

func normOf(s, gain, bias Tensor) storedNorm {
	centred := s.Sub(s.Mean(-1).Unsqueeze(-1))
	deviation := centred.Square().Mean(-1).Unsqueeze(-1).AddScalar(blockEps).Sqrt()
	hat := centred.Div(deviation)
	return storedNorm{gain, hat.Mul(gain.Unsqueeze(1)).Add(bias.Unsqueeze(1)), rounded(hat), deviation}
}

// backward returns the gradients of s, gain and bias.
func (n storedNorm) backward(d Tensor) (ds, gain, bias Tensor) {
	g := d.Mul(n.gain.Unsqueeze(1))
	along := n.kept.Mul(g.Mul(n.kept).Mean(-1).Unsqueeze(-1))
	return g.Sub(g.Mean(-1).Unsqueeze(-1)).Sub(along).Div(n.deviation), d.Mul(n.kept).Sum(1), d.Sum(1)
}

// transposed returns x [...,R,C] as [...,C,R].
func transposed(x Tensor) Tensor { return x.Transpose(-1, -2) }

// storedMLP returns the block over tokens [E,rows,D] and, by the gradient d of its result, the
// gradients of all seven operands.
func storedMLP(in []Tensor, d Tensor) (all []Tensor) {
	x, b1, b2 := in[0], in[2].Unsqueeze(1), in[4].Unsqueeze(1)
	x16, w1, w2 := rounded(x), rounded(in[1]), rounded(in[3])
	u := rounded(x16.MatMul(transposed(w1))).Add(b1)
	h := rounded(each(u, gelu))
	v := rounded(h.MatMul(transposed(w2))).Add(b2)
	n := normOf(x.Add(each(v, gelu)), in[5], in[6])
	ds, gain, bias := n.backward(d)
	dv := ds.Mul(each(v, geluSlope))
	dv16 := rounded(dv)
	du := rounded(dv16.MatMul(w2)).Mul(each(u, geluSlope))
	du16 := rounded(du)
	return []Tensor{n.out, ds.Add(du16.MatMul(w1)), transposed(du16).MatMul(x16), du.Sum(1),
		transposed(dv16).MatMul(h), dv.Sum(1), gain, bias}
}

// storedAttention does the same with attention over the tokens of B samples and H heads.
func storedAttention(in []Tensor, d Tensor, B, H int, scale float64) (all []Tensor) {
	x := in[0]
	E, rows, D := x.Size(0), x.Size(1), x.Size(2)
	heads := func(x Tensor) Tensor { return x.Reshape(E, B, rows/B, H, D/H).Permute(0, 1, 3, 2, 4) }
	merged := func(x Tensor) Tensor { return x.Permute(0, 1, 3, 2, 4).Reshape(E, rows, D) }
	x16, w1, w2 := rounded(x), rounded(in[1]), rounded(in[3])
	qkv := rounded(x16.MatMul(transposed(w1))).Add(in[2].Unsqueeze(1))
	q, k, v := heads(qkv.Narrow(2, 0, D)), heads(qkv.Narrow(2, D, D)), heads(qkv.Narrow(2, 2*D, D))
	w := q.MatMul(transposed(k)).MulScalar(scale).Softmax(-1)
	a := rounded(merged(w.MatMul(v)))
	n := normOf(x.Add(rounded(a.MatMul(transposed(w2)))).Add(in[4].Unsqueeze(1)), in[5], in[6])
	ds, gain, bias := n.backward(d)
	dy := rounded(ds)
	da := heads(rounded(dy.MatMul(w2)))
	dw := da.MatMul(transposed(v))
	dl := w.Mul(dw.Sub(dw.Mul(w).SumKeep(-1))).MulScalar(scale)
	du := Cat(2, merged(dl.MatMul(k)), merged(transposed(dl).MatMul(q)), merged(transposed(w).MatMul(da)))
	du16 := rounded(du)
	return []Tensor{n.out, ds.Add(du16.MatMul(w1)), transposed(du16).MatMul(x16), du.Sum(1),
		transposed(dy).MatMul(a), ds.Sum(1), gain, bias}
}

// TestStorage compares both blocks, as the CPU's loops round and as the kernels store. Where a sum in
// float32 falls on the other side of a rounding the two may part: the numbers are chosen so that
// none does.
func TestStorage(t *testing.T) {
	const E, B, H, N, D, O = 2, 3, 2, 5, 6, 9
	row := []int{E, D}
	blocks := map[string]struct {
		function
		stored func(in []Tensor, d Tensor) []Tensor // the result, and the gradients
	}{
		"MLPBlock": {function{"MLPBlock", inputs(120, []int{E, B, N, D}, []int{E, O, D}, []int{E, O}, []int{E, D, O},
			row, row, row), func(x []Tensor) Tensor {
			return MLPBlock(x[0], MLP{x[1], x[2], x[3], x[4]}, normed(x[5], x[6], blockEps))
		}}, storedMLP},
		"AttentionBlock": {function{"AttentionBlock", inputs(121, []int{E, B, N, D}, []int{E, 3 * D, D},
			[]int{E, 3 * D}, []int{E, D, D}, row, row, row), func(x []Tensor) Tensor {
			return AttentionBlock(x[0], SelfAttention{QKVWeight: x[1], QKVBias: x[2], OutWeight: x[3], OutBias: x[4],
				Heads: H, Scale: 0.1}, normed(x[5], x[6], blockEps))
		}}, func(in []Tensor, d Tensor) []Tensor { return storedAttention(in, d, B, H, 0.1) }},
	}
	for name, block := range blocks {
		for i := range block.inputs {
			copy(block.inputs[i].values, roundAll(block.inputs[i].values, 23))
		}
		s := NewScopeNoGrad()
		in := block.tensors(s, dense, Float64)
		in[0] = in[0].Reshape(E, B*N, D)
		d := make([]float64, E*B*N*D)
		for i := range d {
			d[i] = roundTo(weight(i), 23)
		}
		var want outcome
		for _, x := range block.stored(in, Of(s, CPU, d, E, B*N, D)) {
			want = append(want, x.Float64s())
		}
		s.Close()
		withPrecision(t, "bf16", func(form int) {
			if form == ctorch.Composed {
				return // stores float32
			}
			name, have := fmt.Sprintf("%s, form %d", name, form), block.run(dense, Float32, nil, 1)
			have.near(t, name, want, 1e-5)
			near(t, name, have[0], want[0], 2e-6)
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
	expect.NoError(t, SetPrecision("bf16"))
	s := kept(t, NewScopeNoGrad())
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
