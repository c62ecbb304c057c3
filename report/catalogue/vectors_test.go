package catalogue

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
	"torchpe/models/pe"
)

// TestCheckNothing: arrays that follow no convention get no name, and what is called nearest is nearer than the
// scheme as it is in every way.
func TestCheckNothing(t *testing.T) {
	const n = 20
	q, k := random("q", 1, 2, n, 16), random("k", 2, 2, n, 16)
	right := port{repeated: true, angles: lineAngles(powers(10000, 8, 16), from(0))}
	noisy := right.of("q_out", q)
	for i := range noisy.Data {
		noisy.Data[i] *= 1.004 + 0.001*float64(i%16)
	}
	buckets := random("pe.table", 5, 1, 32, 4)
	roots := made("bias", []int{4, n, n}, func(at []int) float64 { // of the root of the distance
		row := int(2 * math.Sqrt(math.Abs(float64(at[2]-at[1]))))
		if at[2] > at[1] {
			row += 16
		}
		return buckets.Data[row*4+at[0]]
	})
	one := made("bias", []int{6, n, n}, func(at []int) float64 {
		return -math.Pow(2, -float64(at[0]+1)) * math.Log1p(float64(max(at[1]-at[2], 0)))
	})
	for _, c := range []struct {
		scheme string
		arrays []array.Array
	}{
		{"rope", []array.Array{q, random("q_out", 9, 2, n, 16)}},
		{"rope", []array.Array{q, k, noisy, right.of("k_out", k)}},
		{"rope-yarn", []array.Array{q, k, noisy, right.of("k_out", k)}},
		{"1d-fixed", []array.Array{random("table", 3, n, 12)}},
		{"alibi", []array.Array{one}},
		{"alibi", []array.Array{random("bias", 4, 6, n, n)}},
		{"t5", []array.Array{buckets, roots}},
	} {
		f, err := checked(t, c.scheme, c.arrays, nil, "line")
		if err != nil || f.Follows || f.Convention != nil {
			t.Errorf("%s: %v (%v)", c.scheme, f, err)
		}
		if f.Nearest == nil {
			continue
		}
		var own, near [2]float64 // numbers that differ, and the largest difference
		for text, to := range map[string]*[2]float64{f.First: &own, f.NearestAt: &near} {
			_, rest, _ := strings.Cut(text, "; ")
			var all int
			expect.Equal(t, fmt.Sprintf("%s: %q", c.scheme, text),
				expect.ErrorOf(fmt.Sscanf(rest, "%g of %d numbers differ, by up to %g", &to[0], &all, &to[1])),
				nil)
		}
		if near[0] > own[0] || near[1] > own[1] {
			t.Errorf("%s: nearest is farther: %v", c.scheme, f)
		}
	}
}

// TestCheckHalfPrecision: with the tolerance of bfloat16 errors are named; a base is read off roughly.
func TestCheckHalfPrecision(t *testing.T) {
	const n = 60
	q := random("q", 1, 2, n, 16)
	theta := powers(10000, 8, 16)
	rounded := func(a array.Array) array.Array {
		a.Data = each(a.Data, bfloat16)
		return a
	}
	for _, c := range []struct {
		theta []float64
		first float64
		want  string
	}{
		{theta, 0, ""}, {theta, 3, "positions from 3"}, {powers(20000, 8, 16), 0, "base about 20000"},
		{powers(500000, 8, 16), 1, "positions from 1; base 500000"},
	} {
		p := port{repeated: true, angles: lineAngles(c.theta, from(c.first))}
		arrays := []array.Array{rounded(q), rounded(p.of("q_out", q))}
		f, err := checkedWithin(t, 0.02, "rope", arrays, nil, "line")
		deviates(t, "in bfloat16", c.want, f, err)
	}
}

// TestCheckOwnNumbers: the numbers of every scheme follow it, at many sizes, and other numbers get no name.
func TestCheckOwnNumbers(t *testing.T) {
	checks, noisy := 0, map[string]bool{}
	for _, size := range []struct {
		at            string
		n, d, heads   int
		always, noise bool
	}{{"2x3", 6, 24, 2, true, true}, {"line", 1, 8, 1, false, false}, {"line", 15, 12, 1, false, false},
		{"2x1x2", 4, 12, 2, false, false}, {"2x2", 4, 4, 2, false, true}} {
		if testing.Short() && !size.always {
			continue
		}
		x := random("x", 1, size.n, size.d)
		heads := []int{size.heads, size.n, size.d / size.heads}
		q, k, v := random("q", 2, heads...), random("k", 3, heads...), random("v", 4, heads...)
		for _, name := range pe.Names() {
			s := DefaultSetting()
			s.Tokens, s.DModel, s.Heads = size.n, size.d, size.heads
			s.Given = pe.Options{"fixed-pe-dropout": "0"}
			scheme := expect.Must(pe.Find(name))
			if !hasOption(scheme, "fixed-pe-dropout") {
				s.Given = nil
			}
			at := expect.Must(Place(size.at, size.n))
			i, err := Build(scheme, s, at, Start{1, 1})
			if err != nil {
				continue // too small, or on other positions
			}
			var params []array.Array
			for _, p := range i.params.All() {
				if p.Trainable {
					params = append(params, array.Array{Name: p.Name, Shape: p.Shape[1:],
						Data: expect.Must(i.params.Values(p.Name))})
				}
			}
			for _, kind := range Kinds() {
				out, _, err := i.Values(Want{Kind: kind, X: x, Q: q, K: k, V: v})
				in := map[string]array.Array{kindInput: x, kindQuery: q, kindKey: k, kindValue: v}[kind]
				if err != nil || slices.Equal(out.Data, in.Data) {
					continue // the scheme does not act there
				}
				c := Check{Scheme: scheme, Setting: s, Positions: at, Tolerance: 1e-6, Given: Given{X: x, Q: q, K: k,
					V: v, Params: params, Outputs: []Output{{Name: kind, Kind: kind, Array: out}}}}
				f, err := c.Run()
				if err != nil || !f.Follows {
					t.Errorf("%s, %s, %v: %v (%v)", name, kind, size, f, err)
				}
				if checks++; !size.noise || noisy[name+size.at] {
					continue
				}
				noisy[name+size.at] = true
				noise := random(kind, uint64(checks), out.Shape...)
				c.Given.Outputs = []Output{{Name: kind, Kind: kind, Array: noise}}
				if f, err := c.Run(); err != nil || f.Convention != nil && len(noise.Data) > 8 {
					t.Errorf("%s, %s, noise, %v: %v (%v)", name, kind, size, f, err)
				}
			}
			i.Close()
		}
	}
	if checks < 150 {
		t.Errorf("%d checks, want 150 or more", checks)
	}
	t.Logf("%d checks", checks)
}
