package pe_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestRoPE(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "rope", Shift: petest.Unmoved,
		Variants: rotaryVariants(petest.Code("rope-dims", "2"), petest.Code("rope-dims", "4", "rope-layout", "half"),
			petest.Code("rope-proportion", "0.5")),
		Refuse: []petest.Refusal{
			petest.Refuse("an odd head width", petest.Spec{DModel: 6, Heads: 2}, "rope", "head width 3 = 6/2", "odd"),
			petest.Refuse("a base below 1", petest.Spec{Given: pe.Options{"rope-base": "0.5"}}, "--rope-base", "0.5"),
			petest.Refuse("more dimensions than a head has",
				petest.Spec{Given: pe.Options{"rope-dims": "10"}}, "--rope-dims 10",
				"head width 8"),
			petest.Refuse("a share of no pair", petest.Spec{Given: pe.Options{"rope-proportion": "0.2"}},
				"--rope-proportion 0.2", "4 pairs", "at least 0.25"),
			petest.Refuse("an odd number of dimensions",
				petest.Spec{Given: pe.Options{"rope-dims": "3"}}, "--rope-dims", `"3"`),
		},
	})
}

// rotated calls the QKV hook on q and k [B,N,H,Dh], for tokens at positions p.
func rotated(m *models.Model, q, k petest.Array, p pe.Positions) (qOut, kOut petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		// [1,B,H,N,Dh]
		in := func(x petest.Array) torchpe.Tensor {
			return x.Tensor(s).Unsqueeze(0).Permute(0, 1, 3, 2, 4)
		}
		out := func(x torchpe.Tensor) petest.Array {
			return petest.ArrayOf(x.Permute(0, 1, 3, 2, 4)).Reshaped(q.Shape...)
		}
		qt, kt, _ := petest.Begin(s, m, p).QKV(pe.Attn{Q: in(q), K: in(k)})
		qOut, kOut = out(qt), out(kt)
	})
	return qOut, kOut
}

// logitsOf returns q k^T/sqrt(Dh) [H,N,N] of q and k [1,N,H,Dh].
func logitsOf(q, k petest.Array) petest.Array {
	n, heads, dh := q.Shape[1], q.Shape[2], q.Shape[3]
	logits := petest.Array{Shape: []int{heads, n, n}}
	for h := range heads {
		for i := range n {
			for j := range n {
				sum := 0.0
				for c := range dh {
					sum += q.Values[(i*heads+h)*dh+c] * k.Values[(j*heads+h)*dh+c]
				}
				logits.Values = append(logits.Values, sum/math.Sqrt(float64(dh)))
			}
		}
	}
	return logits
}

func init() {
	vectors["rope_interleaved"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		start, sp := c.Int("start", 0), rotarySpec(c, "rope", "interleaved")
		sp.Positions = pe.Line(start + c.Int("n", 0)) // a case that starts at another position is tokens from there on
		return rotaryOutputs(t, c, sp, petest.At(sp.Positions, places(start, c.Int("n", 0))...))
	}
	vectors["rope_proportional"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		scheme, options := "rope", []string{"rope-proportion", fmt.Sprint(c.Float("proportion", 1))}
		if factor := c.Float("factor", 1); factor != 1 {
			scheme, options = "rope-pi", append(options, "rope-scale", fmt.Sprint(factor))
		}
		return hfOutputs(t, c, rotarySpec(c, scheme, "half", options...))
	}
	vectors["rope_half_split"] = func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		sp := rotarySpec(c, "rope", "half", "rope-dims", fmt.Sprint(c.Int("rotary_dims", c.Int("d_head", 0))))
		return rotaryOutputs(t, c, sp, sp.Positions)
	}
}

// hfOutputs runs a scheme on a case of Hugging Face's scalings: on seq_len tokens, of which the case
// may hold some, at given positions or from the first on.
func hfOutputs(t testing.TB, c *petest.VectorCase, sp petest.Spec) petest.Outputs {
	t.Helper()
	at := places(0, c.Int("n", 0))
	if c.Has("positions") {
		at = whole(c.Input(t, "positions").Values)
	}
	n := max(c.Int("seq_len", 0), slices.Max(at)+1, 2)
	if length := c.Int("seq_len", n); length < n && sp.Given["rope-trained-tokens"] != "" &&
		sp.Scheme != "rope-llama3" {
		c.Lacks(t, "positions up to %d in a sequence of %d tokens", n-1, length)
	}
	if factor := c.Float("partial_rotary_factor", 1); factor != 1 {
		sp.Given["rope-dims"] = fmt.Sprint(int(factor * c.Float("d_head", 0)))
	}
	sp.Positions = pe.Line(n)
	return rotaryOutputs(t, c, sp, petest.At(sp.Positions, at...))
}

// rotaryOutputs runs a scheme that turns pairs on a case's q and k [N,H,Dh]: what it makes of them,
// their products, and its tables of cosines and sines [N,Dh/2], and what follows from these, where
// the case has them.
func rotaryOutputs(t testing.TB, c *petest.VectorCase, sp petest.Spec, p pe.Positions) petest.Outputs {
	m, q, k := sp.Model(t), c.Input(t, "q"), c.Input(t, "k")
	got := petest.HeadInputs{Q: q, K: k}.Attend(m, p, false)
	all := petest.Outputs{"q_rot": got.Q, "k_rot": got.K, "logits": got.Logits}
	if c.Has("cos") {
		cos, sin := tableRows(t, m, "pe.cos", p), tableRows(t, m, "pe.sin", p)
		pairs := cos.Shape[1]
		last := len(cos.Values) - pairs
		frequencies := petest.Array{Shape: []int{pairs}, Values: anglesAt(t, m, 1)}
		all["cos"], all["sin"], all["inv_freq"] = cos, sin, frequencies
		all["mscale"] = petest.Scalar(math.Hypot(cos.Values[last], sin.Values[last]))
		all["attention_factor"] = all["mscale"]
	}
	for name := range all {
		if c.Outputs[name] == nil {
			delete(all, name)
		}
	}
	return all
}

// anglesAt returns the angles by which pairs are turned at a place.
func anglesAt(t testing.TB, m *models.Model, place int) []float64 {
	t.Helper()
	p := pe.Positions{Index: []int{place}}
	cos, sin := tableRows(t, m, "pe.cos", p).Values, tableRows(t, m, "pe.sin", p).Values
	angles := make([]float64, len(cos))
	for i := range angles {
		angles[i] = math.Atan2(sin[i], cos[i])
	}
	return angles
}

// tableRows returns the rows of a computed table [1,N,P] for the tokens.
func tableRows(t testing.TB, m *models.Model, name string, p pe.Positions) petest.Array {
	t.Helper()
	values, err := m.Params.Values(name)
	if err != nil {
		t.Fatal(err)
	}
	table := petest.Array{Shape: m.Params.Get(name).Shape[1:], Values: values}
	rows := petest.Array{Shape: []int{p.Tokens(), table.Shape[1]}}
	for _, at := range p.Index {
		rows.Values = append(rows.Values, table.Row(at)...)
	}
	return rows
}

// rotarySpec is a scheme that turns pairs in the code's layout of a case: heads, width, base, and
// options given as pairs.
func rotarySpec(c *petest.VectorCase, scheme, layout string, options ...string) petest.Spec {
	heads := c.Int("heads", 1)
	given := pe.Options{"rope-base": fmt.Sprint(c.Float("base", 10000)), "rope-layout": layout}
	for i := 0; i < len(options); i += 2 {
		given[options[i]] = options[i+1]
	}
	return petest.Spec{Scheme: scheme, DModel: heads * c.Int("d_head", 0), Heads: heads,
		Positions: pe.Line(c.Int("n", 0)), Given: given}
}

// rotaryVariants are those of the options that all schemes of one axis share.
func rotaryVariants(more ...petest.Variant) []petest.Variant {
	return append(more, petest.Code("positions-from", "1"), petest.Code("rope-base", "100"),
		petest.Code("rope-layout", "half"),
		petest.Code("attention-bias", "true"), petest.Code("attention-init", "xavier"))
}

// wave is an array [1,N,H,Dh] of numbers without pattern.
func wave(n, heads, dh int, phase float64) petest.Array {
	a := petest.Array{Shape: []int{1, n, heads, dh}}
	for i := range n * heads * dh {
		a.Values = append(a.Values, math.Sin(float64(i*i)+phase))
	}
	return a
}

// TestRoPERotates: each pair of numbers keeps its length and is turned by p base^(-2k/Dh); the
// first token, at position 0, stays as it is (Su et al. 2021, equation 15).
func TestRoPERotates(t *testing.T) {
	const n, heads, dh = 8, 2, 6
	m := petest.Spec{Scheme: "rope", DModel: heads * dh, Heads: heads, Given: pe.Options{"rope-base": "100"}}.Model(t)
	q, k := wave(n, heads, dh, 0), wave(n, heads, dh, 1)
	qr, kr := rotated(m, q, k, pe.Line(n))
	for _, pair := range [][2]petest.Array{{q, qr}, {k, kr}} {
		for i := 0; i < len(q.Values); i += 2 {
			token, k := i/(heads*dh), i%dh/2
			angle := float64(token) * math.Pow(100, -2*float64(k)/dh)
			before := complex(pair[0].Values[i], pair[0].Values[i+1])
			after := complex(pair[1].Values[i], pair[1].Values[i+1])
			if want := before * complex(math.Cos(angle), math.Sin(angle)); absolute(after-want) > 1e-14 {
				t.Errorf("token %d, pair %d: %g, want %g", token, k, after, want)
			}
			if math.Abs(absolute(after)-absolute(before)) > 1e-14 {
				t.Errorf("token %d, pair %d: length %g, was %g", token, k, absolute(after), absolute(before))
			}
		}
	}
}

func absolute(z complex128) float64 { return math.Hypot(real(z), imag(z)) }
