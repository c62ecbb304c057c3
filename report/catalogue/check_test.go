package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
	"torchpe/models/pe"
)

// made returns an array of f.
func made(name string, shape []int, f func(at []int) float64) array.Array {
	n := 1
	for _, size := range shape {
		n *= size
	}
	a := array.Array{Name: name, Shape: shape, Data: make([]float64, n)}
	for i := range a.Data {
		a.Data[i] = f(array.Index(i, shape, false))
	}
	return a
}

func random(name string, seed uint64, shape ...int) array.Array {
	rng := rand.New(rand.NewPCG(seed, 1))
	return made(name, shape, func([]int) float64 { return rng.NormFloat64() })
}

// rope16 is the rotation of the paper's formula, for heads of 16 dimensions.
var rope16 = neighbours(lineAngles(powers(10000, 8, 16), from(0)))

// neighbours turns pairs of dimensions that lie side by side.
func neighbours(angles func(token int) []float64) port { return port{repeated: true, angles: angles} }

// products returns scale (q k + the rest).
func products(q, k array.Array, scale float64, rest func(h, i, j int) float64) array.Array {
	h, n, d := q.Shape[0], q.Shape[1], q.Shape[2]
	return made("logits", []int{h, n, n}, func(at []int) float64 {
		sum := rest(at[0], at[1], at[2])
		for c := range d {
			sum += q.Data[(at[0]*n+at[1])*d+c] * k.Data[(at[0]*n+at[2])*d+c]
		}
		return scale * sum
	})
}

// sinusoids returns [N,D], sine beside cosine or sines first, of each token's place.
func sinusoids(n, d int, place func(token int) float64, first string, base ...float64) array.Array {
	base = append(base, 10000)
	return made("table", []int{n, d}, func(at []int) float64 {
		k, cosine := at[1]/2, at[1]%2 == 1
		if first == "halves" {
			k, cosine = at[1]%(d/2), at[1] >= d/2
		}
		angle := place(at[0]) * math.Pow(base[0], -2*float64(k)/float64(d))
		if cosine != (first == "cosine") {
			return math.Cos(angle)
		}
		return math.Sin(angle)
	})
}

// timesOf returns an array times a constant.
func timesOf(a array.Array, by float64) array.Array {
	return made(a.Name, a.Shape, func(at []int) float64 { return by * a.Data[at[0]*a.Shape[1]+at[1]] })
}

// beside joins [N,D] arrays.
func beside(a, b array.Array) array.Array {
	d := a.Shape[1]
	return made("table", []int{a.Shape[0], 2 * d}, func(at []int) float64 {
		if at[1] < d {
			return a.Data[at[0]*d+at[1]]
		}
		return b.Data[at[0]*d+at[1]-d]
	})
}

// TestCheckConventions: each error that is reported again and again for implementations is named, and
// an implementation without one follows the scheme. The implementations are those of this file, from
// the papers' formulas.
func TestCheckConventions(t *testing.T) {
	q, k := random("q", 1, 2, 9, 16), random("k", 2, 2, 9, 16)
	turned := func(r port) []array.Array { return []array.Array{q, k, r.of("q_out", q), r.of("k_out", k)} }
	plain := powers(10000, 8, 16)
	swapped := func(token int) []float64 { // the cosine of pi/2 - x is the sine of x
		return each(rope16.angles(token), func(x float64) float64 { return math.Pi/2 - x })
	}
	zero := func(_, _, _ int) float64 { return 0 }
	logits := func(r port, scale float64) []array.Array {
		return []array.Array{q, k, products(r.of("", q), r.of("", k), scale, zero)}
	}
	line := func(from float64) func(int) float64 { return func(i int) float64 { return from + float64(i) } }
	row, column := func(i int) float64 { return float64(i / 4) }, func(i int) float64 { return float64(i % 4) }
	down, across := func(i int) float64 { return float64(i % 3) }, func(i int) float64 { return float64(i / 3) }
	plane := func(x, y func(int) float64) []array.Array {
		return []array.Array{beside(sinusoids(12, 8, x, ""), sinusoids(12, 8, y, ""))}
	}
	q12 := random("q", 3, 2, 12, 16)
	axial := func(x, y func(int) float64, first float64) []array.Array {
		axis := func(at func(int) float64) func(int) []float64 {
			return lineAngles(powers(100, 4, 8), func(token int) float64 { return at(token) + first })
		}
		both := func(token int) []float64 { return append(axis(x)(token), axis(y)(token)...) }
		return []array.Array{q12, neighbours(both).of("q_out", q12)}
	}
	slope := func(by func(i, j int) float64) []array.Array {
		return []array.Array{made("bias", []int{4, 6, 6}, func(at []int) float64 {
			if at[2] > at[1] {
				return math.Inf(-1)
			}
			return -math.Pow(2, -2*float64(at[0]+1)) * by(at[1], at[2])
		})}
	}
	keys := random("pe.keys", 4, 4, 7, 16)
	shaw := func(row func(i, j int) int, scale float64) []array.Array {
		return []array.Array{q, k, keys, products(q, k, scale, func(h, i, j int) (sum float64) {
			for c := range 16 {
				sum += q.Data[(h*9+i)*16+c] * keys.Data[row(i, j)*16+c]
			}
			return sum
		})}
	}
	clip := func(offset int) int { return min(max(offset, -3), 3) + 3 }
	table := random("pe.bias", 5, 4, 2, 11)
	offsets := func(row func(i, j int) int) []array.Array {
		return []array.Array{table, made("bias", []int{2, 6, 6}, func(at []int) float64 {
			return table.Data[at[0]*11+row(at[1], at[2])] / 4
		})}
	}
	window := random("pe.table", 6, 4, 35, 2)
	swin := func(by int) []array.Array {
		return []array.Array{window, made("bias", []int{2, 12, 12}, func(at []int) float64 {
			i, j := at[1], at[2]
			r := (i/4-j/4+2)*7 + i%4 - j%4 + 3 + by
			return window.Data[(r+35)%35*2+at[0]]
		})}
	}
	shawFlags, on3x4 := pe.Options{"relative": "shaw", "relative-clip": "3"}, "3x4"
	for _, c := range []struct {
		about, scheme string
		arrays        []array.Array
		options       pe.Options
		positions     string
		want          []string // deviations; nil where it follows
	}{
		{"", "rope", turned(rope16), nil, "line", nil},
		{"pairs", "rope", turned(port{halves: true, angles: rope16.angles}), nil, "line", []string{"half-split pairs"}},
		{"the other pairs", "rope", turned(rope16), pe.Options{"rope-layout": "half"}, "line", []string{
			"interleaved pairs"}},
		{"part", "rope", turned(neighbours(lineAngles(powers(10000, 4, 8), from(0)))), nil, "line", []string{
			"8 dimensions of a head rotated"}},
		{"whole", "rope", turned(rope16), pe.Options{"rope-dims": "8"}, "line", []string{"whole head rotated"}},
		{"from 1", "rope", turned(neighbours(lineAngles(plain, from(1)))), nil, "line", []string{"positions from 1"}},
		{"base", "rope", turned(neighbours(lineAngles(powers(500000, 8, 16), from(0)))), nil, "line", []string{
			"base 500000"}},
		{"sines", "rope", turned(neighbours(swapped)), nil, "line", []string{"sine and cosine swapped"}},
		{"three", "rope", turned(port{halves: true, angles: lineAngles(powers(10000, 4, 8), from(1))}), nil, "line",
			[]string{"positions from 1", "half-split pairs", "8 dimensions of a head rotated"}},
		{"", "rope", logits(rope16, 0.25), nil, "line", nil},
		{"scale", "rope", logits(rope16, 1), nil, "line", []string{"scale missing (q k without 1/sqrt(Dh))"}},
		{"", "1d-fixed", []array.Array{sinusoids(9, 12, line(0), "")}, nil, "line", nil},
		{"from 1", "1d-fixed", []array.Array{sinusoids(9, 12, line(1), "")}, nil, "line", []string{"positions from 1"}},
		{"sines", "1d-fixed", []array.Array{sinusoids(9, 12, line(0), "cosine")}, nil, "line", []string{
			"sine and cosine swapped"}},
		{"layout", "1d-fixed", []array.Array{sinusoids(9, 12, line(0), "halves")}, nil, "line", []string{
			"sines before cosines"}},
		{"base", "1d-fixed", []array.Array{sinusoids(9, 12, line(0), "", 500000)}, nil,
			"line", []string{"base 500000"}},
		{"order", "1d-fixed", []array.Array{sinusoids(9, 12, func(i int) float64 { return float64(8 - i) }, "")}, nil,
			"line", []string{"tokens in the opposite order"}},
		{"factor", "1d-fixed", []array.Array{timesOf(sinusoids(9, 12, line(1), ""), 3.5)}, nil, "line", []string{
			"positions from 1", "table times 3.5"}},
		{"scale of the whole width", "rope", logits(rope16, math.Sqrt(1./32)), nil, "line", []string{
			"logits times 0.7071"}},
		{"", "2d-fixed", plane(column, row), nil, on3x4, nil},
		{"axes", "2d-fixed", plane(row, column), nil, on3x4, []string{"rows before columns"}},
		{"order", "2d-fixed", plane(across, down), nil, on3x4, []string{"tokens counted down the columns"}},
		{"", "rope-2d", axial(column, row, 0), nil, on3x4, nil},
		{"axes", "rope-2d", axial(row, column, 0), nil, on3x4, []string{"rows before columns"}},
		{"from 1", "rope-2d", axial(column, row, 1), nil, on3x4, []string{"positions from 1"}},
		{"", "alibi", slope(func(i, j int) float64 { return float64(i - j) }), nil, "line", nil},
		{"offset", "alibi", slope(func(i, j int) float64 { return float64(i - j + 1) }), nil, "line", []string{
			"offset off by one (i - j + 1 instead of i - j)"}},
		{"sign", "alibi", slope(func(i, j int) float64 { return float64(j - i) }), nil, "line", []string{
			"bias with the other sign"}},
		{"", "relative", shaw(func(i, j int) int { return clip(j - i) }, 0.25), shawFlags, "line", nil},
		{"offset", "relative", shaw(func(i, j int) int { return clip(j - i + 1) }, 0.25), shawFlags, "line", []string{
			"offset off by one (i - j - 1 instead of i - j)"}},
		{"direction", "relative", shaw(func(i, j int) int { return clip(i - j) }, 0.25), shawFlags, "line", []string{
			"offset with the other sign (i and j swapped)"}},
		{"scale and row", "relative", shaw(func(i, j int) int { return (clip(j-i) + 1) % 7 }, 1), shawFlags, "line",
			[]string{"scale missing (q k without 1/sqrt(Dh))",
				"offset off by one (row r + 1 of the table instead of r, wrapped around)"}},
		{"", "relative-bias", offsets(func(i, j int) int { return i - j + 5 }), nil, "line", nil},
		{"row", "relative-bias", offsets(func(i, j int) int { return (i - j + 4 + 11) % 11 }), nil, "line", []string{
			"offset off by one (row r - 1 of the table instead of r, wrapped around)"}},
		{"direction", "relative-bias", offsets(func(i, j int) int { return j - i + 5 }), nil, "line", []string{
			"offset with the other sign (i and j swapped)"}},
		{"", "swin", swin(0), nil, on3x4, nil},
		{"row", "swin", swin(1), nil, on3x4, []string{
			"offset off by one (row r + 1 of the table instead of r, wrapped around)"}},
	} {
		f, err := checked(t, c.scheme, c.arrays, c.options, c.positions)
		deviates(t, c.scheme+", "+c.about, strings.Join(c.want, "; "), f, err)
	}
}

// checked runs a check on a file of the arrays.
func checked(t *testing.T, name string, arrays []array.Array, options pe.Options, at string) (Finding, error) {
	t.Helper()
	return checkedWithin(t, 1e-4, name, arrays, options, at)
}

// checkedWithin runs a check with a tolerance.
func checkedWithin(t *testing.T, tolerance float64, name string, arrays []array.Array, options pe.Options,
	at string) (Finding, error) {
	t.Helper()
	c := Check{Scheme: expect.Must(pe.Find(name)), Tolerance: tolerance}
	var tensors []safetensors.Tensor
	for _, a := range arrays {
		single := make([]float32, len(a.Data)) // as implementations are
		for i, v := range a.Data {
			single[i] = float32(v)
		}
		tensors = append(tensors, expect.Must(safetensors.New(a.Name, a.Shape, single)))
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	expect.NoError(t, safetensors.Write(path, tensors, nil))
	var err error
	if c.Given, err = ReadGiven(path, "", text.Auto, c.Scheme); err != nil {
		return Finding{}, err
	}
	s := DefaultSetting()
	s.Given = options
	fixed := map[byte]bool{}
	if name == "relative-bias" {
		s.DModel, fixed['D'] = 32, true
	}
	if c.Setting, err = c.Given.Fit(s, fixed); err != nil {
		return Finding{}, err
	}
	c.Positions = expect.Must(Place(at, c.Setting.Tokens))
	return c.Run()
}

// TestCheckRotationTables: cosines with a column for each dimension tell the pairs, those of pairs do not.
func TestCheckRotationTables(t *testing.T) {
	angle := func(i, k int) float64 { return float64(i) * math.Pow(10000, -float64(k)/8) }
	for columns, want := range map[int]string{8: "", 16: "half-split pairs"} {
		cos := made("cos", []int{5, columns}, func(at []int) float64 { return math.Cos(angle(at[0], at[1]%8)) })
		f, err := checked(t, "rope", []array.Array{cos}, nil, "line")
		deviates(t, fmt.Sprintf("%d columns", columns), want, f, err)
	}
}

// TestCheckUnknown: where no convention gives the numbers, the first that differs is named.
func TestCheckUnknown(t *testing.T) {
	a := sinusoids(4, 6, func(i int) float64 { return float64(i) }, "")
	a.Data[13] = 0.5
	f, err := checked(t, "1d-fixed", []array.Array{a}, nil, "line")
	want := "table[2 1] is 0.5, want -0.416147; 1 of 24 numbers differ, by up to 0.92"
	if err != nil || f.Follows || f.Convention != nil || f.First != want || f.Tried < 10 {
		t.Errorf("%+v, %v; want %s", f, err, want)
	}
}

// TestCheckRounding: numbers in half precision are no other convention, and NaN is counted.
func TestCheckRounding(t *testing.T) {
	exact := sinusoids(40, 6, func(i int) float64 { return float64(i) }, "halves")
	half := made("table", exact.Shape, func(at []int) float64 { // 11 bits, as float16 has them
		fraction, exponent := math.Frexp(exact.Data[at[0]*6+at[1]])
		return math.Ldexp(math.Round(fraction*2048)/2048, exponent)
	})
	f, err := checked(t, "1d-fixed", []array.Array{half}, pe.Options{"sinusoid-layout": "concat"}, "line")
	if err != nil || f.Convention != nil || f.Nearest != nil ||
		f.Read != "40 tokens, 1 head of width 6" {
		t.Errorf("%+v, %v", f, err)
	}
	expect.Equal(t, "nearest", expect.Must(checked(t, "1d-fixed", []array.Array{half}, nil, "line")).Nearest,
		[]string{"sines before cosines"})
	exact.Data[7], exact.Data[8] = math.NaN(), math.NaN()
	f, err = checked(t, "1d-fixed", []array.Array{exact}, pe.Options{"sinusoid-layout": "concat"}, "line")
	if err != nil || !strings.HasSuffix(f.First, "2 of 240 numbers differ, of which 2 are NaN") {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestCheckSmall: rounding is relative to the numbers, so that small queries that are not rotated do not pass.
func TestCheckSmall(t *testing.T) {
	q := random("q", 1, 2, 9, 16)
	for i := range q.Data {
		q.Data[i] *= 2e-5
	}
	same, turned := q, rope16.of("q_out", q)
	same.Name, turned.Name = "q_out", "q_out"
	f, err := checked(t, "rope", []array.Array{q, turned}, nil, "line")
	if err != nil || !f.Follows || slices.Contains(f.Untold, "q not rotated") {
		t.Errorf("rotated: %+v, %v", f, err)
	}
	f, err = checked(t, "rope", []array.Array{q, same}, nil, "line")
	if err != nil || f.Follows {
		t.Errorf("not rotated: %+v, %v", f, err)
	}
}

// TestCheckUntold: logits turned the other way are those of swapped sines, too.
func TestCheckUntold(t *testing.T) {
	q, k := random("q", 1, 2, 9, 16), random("k", 2, 2, 9, 16)
	back := neighbours(lineAngles(powers(10000, 8, 16), func(token int) float64 { return -float64(token) }))
	logits := products(back.of("", q), back.of("", k), 0.25, func(_, _, _ int) float64 { return 0 })
	f, err := checked(t, "rope", []array.Array{q, k, logits}, nil, "line")
	want := "positions from 0 or positions from 1; sine and cosine swapped or rotated in the other direction or " +
		"offset with the other sign (i and j swapped)"
	expect.NoError(t, err)
	expect.Equal(t, "untold", strings.Join(f.Untold, "; "), want)
}

// TestCheckMistakes: arrays that cannot be compared are an error that says what to do.
func TestCheckMistakes(t *testing.T) {
	q, keys := random("q", 1, 2, 6, 8), random("k", 1, 2, 5, 8)
	for want, arrays := range map[string][]array.Array{
		"did you mean \"table\"":            {random("tabel", 1, 3, 4)},
		"holds nothing to compare":          {q},
		"N = 5, and another array 6":        {q, keys, random("logits", 1, 2, 6, 6)},
		"want [H,N,N]":                      {random("bias", 1, 4)},
		"bias has shape [6 6 2]: want [H":   {random("bias", 1, 6, 6, 2)},
		"it holds no numbers":               {random("bias", 1, 2, 0, 0)},
		"q[1 2 0] is NaN":                   {made("q", []int{2, 3, 2}, nanAt(1, 2, 0)), random("q_out", 1, 2, 3, 2)},
		"q needs queries":                   {random("q_out", 1, 2, 6, 8)},
		"rope has no table":                 {random("table", 1, 6, 8)},
		"pe.nonsense is not a parameter of": {q, random("pe.nonsense", 1, 2), random("q_out", 1, 2, 6, 8)},
		"has no bias: it acts on q and k":   {random("bias", 1, 2, 6, 6)},
	} {
		expect.Error(t, expect.ErrorOf(checked(t, "rope", arrays, nil, "line")), want)
	}
	expect.Error(t, expect.ErrorOf(checked(t, "tisa", []array.Array{random("bias", 1, 2, 6, 6)}, nil, "line")),
		"trained numbers that the arrays lack")
}

// TestReadGiven: files of a directory are called by their names, and one array without a name by what
// the scheme has.
func TestReadGiven(t *testing.T) {
	dir := t.TempDir()
	for _, a := range []array.Array{random("q", 1, 2, 6, 8), random("q_out", 2, 2, 6, 8), random("k", 1, 2, 6, 8)} {
		var body bytes.Buffer
		expect.NoError(t, errors.Join(npy.Write(&body, a, npy.Float64),
			os.WriteFile(filepath.Join(dir, a.Name+".npy"), body.Bytes(), 0o600)))
	}
	rope, _ := pe.Find("rope")
	g, err := ReadGiven(dir, "", text.Auto, rope)
	if err != nil || len(g.Outputs) != 1 || g.Outputs[0].Name != "q_out" || g.Q.Data == nil || g.K.Data == nil {
		t.Errorf("%+v, %v", g, err)
	}
	for name, want := range map[string]string{"alibi": "bias", "1d-fixed": "table", "rope+1d-fixed": "table"} {
		scheme := expect.Must(pe.Find(name))
		g, err := ReadGiven(filepath.Join(dir, "q_out.npy"), "", text.Auto, scheme)
		if err != nil || g.Outputs[0].Kind != want {
			t.Errorf("%s: %+v, %v; want %s", name, g.Outputs, err, want)
		}
	}
}

// nanAt is NaN at an index and 0 elsewhere.
func nanAt(index ...int) func([]int) float64 {
	return func(at []int) float64 {
		if slices.Equal(at, index) {
			return math.NaN()
		}
		return 0
	}
}

// An array of another shape is said to be that, with both shapes.
func TestDifferenceOfShapes(t *testing.T) {
	got := Output{Name: "q_out", Array: array.Array{Shape: []int{2, 4}}}
	d := Check{}.difference(got, array.Array{Shape: []int{2, 6}}, false)
	if text, want := d.String(), "q_out has shape [2 4], want [2 6]: it was not compared"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestCheckHidden: NaN and +Inf are never right, a mask must hide all keys after the query, and what a causal
// scheme hides is told if it is not masked.
func TestCheckHidden(t *testing.T) {
	const two, cannot = "alibi causal or alibi symmetric", "these arrays cannot tell"
	away := func(_, i, j int) float64 { return -math.Abs(float64(i-j)) / 256 }
	after := func(v float64) func(h, i, j int) float64 {
		return func(h, i, j int) float64 {
			if j > i {
				return v
			}
			return away(h, i, j)
		}
	}
	first := func(v float64, others func(h, i, j int) float64) func(h, i, j int) float64 {
		return func(h, i, j int) float64 {
			if i == 0 && j == 1 {
				return v
			}
			return others(h, i, j)
		}
	}
	for _, c := range []struct {
		about, alibi string
		bias         func(h, i, j int) float64
		follows      bool
		says, not    string
	}{
		{"right", "symmetric", away, true, "follows alibi", "masked"},
		{"right, both sides", "causal", away, true, "15 of 15 numbers at keys after the query are not masked", ""},
		{"right, both sides, untold", "causal", away, true, two, ""},
		{"NaN", "symmetric", first(math.NaN(), away), false, "bias[0 0 1] is NaN, want -0.0039", "follows alibi"},
		{"+Inf", "symmetric", first(math.Inf(1), away), false, "bias[0 0 1] is +Inf", "follows alibi"},
		{"part of a mask", "symmetric", first(math.Inf(-1), away), false, "bias[0 0 1] is -Inf", "follows alibi"},
		{"mask", "symmetric", after(math.Inf(-1)), true,
			"bias: keys after the query are masked in the array, and were not compared\n", ""},
		{"right", "causal", after(math.Inf(-1)), true, two, "not compared"},
		{"-1e9", "causal", after(-1e9), true, two, "not compared"},
		{"zeros", "causal", after(0), true, "follows alibi", cannot},
		{"a hole in the mask", "causal", first(0, after(math.Inf(-1))), true,
			"bias: 1 of 15 numbers at keys after the query are not masked", cannot},
		{"garbage", "causal", after(3), true, "bias: 15 of 15 numbers at keys after the query are not masked", cannot},
		{"NaN", "causal", first(math.NaN(), after(0)), false, "1 of 36 numbers differ, of which 1 are NaN", ""},
		{"+Inf", "causal", first(math.Inf(1), after(0)), false, "bias[0 0 1] is +Inf, want 0", ""},
	} {
		bias := made("bias", []int{1, 6, 6}, func(at []int) float64 { return c.bias(at[0], at[1], at[2]) })
		f, err := checked(t, "alibi", []array.Array{bias}, pe.Options{"alibi": c.alibi}, "line")
		if text := f.String(); err != nil || f.Follows != c.follows || !strings.Contains(text, c.says) ||
			c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s, %s: %v, %v; want %q, and not %q", c.alibi, c.about, text, err, c.says, c.not)
		}
	}
}

// TestCheckTellsNothing: arrays that any convention gives are said to tell nothing.
func TestCheckTellsNothing(t *testing.T) {
	zero := func(name string) array.Array { return made(name, []int{1, 4, 8}, func([]int) float64 { return 0 }) }
	for _, c := range []struct {
		arrays    []array.Array
		tolerance float64
		says, not string
	}{
		{[]array.Array{zero("q"), zero("q_out")}, 1e-4, "0 everywhere, which cannot distinguish conventions", "none"},
		{[]array.Array{random("q", 1, 1, 4, 8), random("q_out", 2, 1, 4, 8)}, 1e9, "", "is 0 everywhere"},
	} {
		f, err := checkedWithin(t, c.tolerance, "rope", c.arrays, nil, "line")
		if text := f.String(); err != nil || !f.Follows || !strings.Contains(text, c.says) ||
			!strings.Contains(text, "cannot tell: positions from 0 or positions from 1; ") ||
			strings.Contains(text, c.not) {
			t.Errorf("%v, %v; want %q", text, err, c.says)
		}
	}
}
