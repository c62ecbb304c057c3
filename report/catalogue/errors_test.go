package catalogue

import (
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/models/pe"
)

// TestCheckErrors: each error that people report of their ports is named, for each scheme that can have it. The
// arrays come from this file's code.
func TestCheckErrors(t *testing.T) {
	const n, width = 24, 16
	q, k := random("q", 1, 2, n, width), random("k", 2, 2, n, width)
	longQ, longK := random("q", 3, 2, 300, width), random("k", 4, 2, 300, width)
	plain := powers(10000, 8, 16)
	right := port{repeated: true, angles: lineAngles(plain, from(0))}
	both := func(p port) []array.Array { return []array.Array{q, k, p.of("q_out", q), p.of("k_out", k)} }
	two := func(p, r port) []array.Array { return []array.Array{q, k, p.of("q_out", q), r.of("k_out", k)} }
	logits := func(p, r port) []array.Array {
		return []array.Array{q, k, products(p.of("", q), r.of("", k), 0.25, func(_, _, _ int) float64 { return 0 })}
	}
	by := func(theta []float64, place func(int) float64) port {
		return port{repeated: true, angles: lineAngles(theta, place)}
	}
	halved := func(theta []float64, place func(int) float64) port {
		return port{halves: true, angles: lineAngles(theta, place)}
	}
	long := func(p port) []array.Array {
		return []array.Array{longQ, longK, p.of("q_out", longQ), p.of("k_out", longK)}
	}
	still := port{angles: func(int) []float64 { return nil }}
	tables := func(theta []float64, place func(int) float64) []array.Array {
		angle := func(at []int) float64 { return place(at[0]) * theta[at[1]] }
		shape := []int{n, len(theta)}
		return []array.Array{made("cos", shape, func(at []int) float64 { return math.Cos(angle(at)) }),
			made("sin", shape, func(at []int) float64 { return math.Sin(angle(at)) })}
	}
	checkPorts(t, "line", []portCase{
		{"right", "rope", "", both(right), ""},
		{"tiled", "rope", "", both(port{angles: right.angles}), layoutErrors[0].phrase},
		{"tiled, logits", "rope", "", logits(port{angles: right.angles}, port{angles: right.angles}),
			layoutErrors[0].phrase},
		{"tiled, from 1", "rope", "", both(port{angles: lineAngles(plain, from(1))}),
			"positions from 1; " + layoutErrors[0].phrase},
		{"repeated", "rope", "rope-layout=half", both(port{halves: true, repeated: true, angles: right.angles}),
			layoutErrors[1].phrase},
		{"evens then odds", "rope", "", both(port{repeated: true, evens: true, angles: right.angles}),
			layoutErrors[2].phrase},
		{"from 5", "rope", "", both(by(plain, from(5))), "positions from 5"},
		{"from 1000", "rope", "", both(by(plain, from(1000))), "positions from 1000"},
		{"from 5, halves", "rope", "", both(halved(plain, from(5))), "positions from 5; half-split pairs"},
		{"tables from 3", "rope", "", tables(plain, from(3)), "positions from 3"},
		{"q alone", "rope", "", two(by(plain, from(7)), right), "positions of q from 7, of k from 0"},
		{"q alone by 1", "rope", "", two(by(plain, from(1)), right), "positions of q from 1, of k from 0"},
		{"k not rotated", "rope", "", two(right, still), "k not rotated"},
		{"k not rotated, logits", "rope", "", logits(right, still), "k not rotated"},
		{"not rotated", "rope", "", two(still, still), "q and k not rotated"},
		{"twice", "rope", "", both(by(each(plain, func(v float64) float64 { return 2 * v }), from(0))),
			"q and k rotated twice"},
		{"twice, logits", "rope", "", logits(by(plain, func(i int) float64 { return 2 * float64(i) }),
			by(plain, func(i int) float64 { return 2 * float64(i) })), "q and k rotated twice"},
		{"positions in bfloat16", "rope", "", long(by(plain, roundPlace)), "positions rounded to bfloat16"},
		{"frequencies in bfloat16", "rope", "", both(by(each(plain, bfloat16), from(0))),
			"frequencies rounded to bfloat16"},
		{"all in bfloat16", "rope", "", long(port{repeated: true, angles: func(i int) []float64 {
			return each(lineAngles(each(plain, bfloat16), roundPlace)(i), bfloat16)
		}}), "positions, frequencies and angles rounded to bfloat16"},
		{"base", "rope", "", both(by(powers(12345, 8, 16), from(0))), "base 12345"},
		{"base, halves", "rope", "", both(halved(powers(5000000, 8, 16), from(0))),
			"base 5000000; half-split pairs"},
		{"base, tables", "rope", "", tables(powers(200000, 8, 16), from(0)), "base 200000"},
		{"linear", "rope", "", both(by(each(plain, func(v float64) float64 { return v / 4 }), from(0))),
			"positions divided by 4 (rope-pi --rope-scale 4)"},
		{"linear, halves", "rope", "",
			both(halved(each(plain, func(v float64) float64 { return v / 2.5 }), from(0))),
			"half-split pairs; positions divided by 2.5 (rope-pi --rope-scale 2.5)"},
		{"part with the whole's frequencies", "rope", "", both(by(powers(10000, 4, 16), from(0))),
			"8 dimensions of a head rotated, with the frequencies of the whole head (base^(-2k/16))"},
		{"part with the whole's frequencies, as part", "rope", "rope-dims=8",
			both(by(powers(10000, 4, 16), from(0))),
			"8 dimensions of a head rotated, with the frequencies of the whole head (base^(-2k/16))"},
		{"an odd part", "rope", "", both(by(powers(10000, 3, 6), from(0))), "6 dimensions of a head rotated"},
		{"factor", "rope", "", both(port{repeated: true, angles: right.angles, factor: 1.3}),
			"k_out and q_out times 1.3"},
		{"factor, halves from 1", "rope", "", both(port{halves: true, angles: lineAngles(plain, from(1)),
			factor: 0.7}), "positions from 1; half-split pairs; k_out and q_out times 0.7"},
		{"scale", "rope-pi", "rope-scale=4",
			both(by(each(plain, func(v float64) float64 { return v / 3.7 }), from(0))), "rope-scale 3.7"},
		{"from 9", "rope-ntk", "rope-scale=4", both(by(powers(10000*math.Pow(4, 16./14), 8, 16), from(9))),
			"positions from 9"},
		{"base", "rope-ntk", "rope-scale=4", both(by(powers(20000*math.Pow(4, 16./14), 8, 16), from(0))),
			"base 20000"},
		{"right", "hope", "rope-trained-tokens=64", both(by([]float64{1, plain[1], plain[2], 0, 0, 0, 0, 0},
			from(0))), ""},
		{"k the other way", "rope", "",
			two(right, by(plain, func(i int) float64 { return -float64(i) })),
			"k rotated in the other direction"},
		{"exponent", "rope", "", both(by(powers(10000, 8, 32), from(0))), "exponent k/Dh instead of 2k/Dh"},
		{"grown base", "rope", "", both(by(powers(10000*math.Pow(8, 16./14), 8, 16), from(0))),
			"base 107670"},
		{"three numbers", "rope", "", both(halved(powers(7777, 8, 16), from(3))),
			"positions from 3; base 7777; half-split pairs"},
		{"an odd part with the whole's frequencies", "rope", "", both(by(powers(10000, 3, 16), from(0))),
			"6 dimensions of a head rotated, with the frequencies of the whole head (base^(-2k/16))"},
		{"no decay", "xpos", "", both(right), "decay missing"},
	})
}

// portCase is an implementation of a scheme, and what is said of it.
type portCase struct {
	about, scheme, options string
	arrays                 []array.Array
	want                   string // deviations with semicolons; "" where it follows
}

// checkPorts fails unless each implementation deviates as it should; it returns what was found.
func checkPorts(t *testing.T, at string, cases []portCase) (all []Finding) {
	t.Helper()
	for _, c := range cases {
		f, err := checked(t, c.scheme, c.arrays, optionsOf(c.options), at)
		deviates(t, c.scheme+", "+c.about, c.want, f, err)
		all = append(all, f)
	}
	return all
}

// deviates fails unless a finding names these deviations, and follows where there are none.
func deviates(t *testing.T, about, want string, f Finding, err error) {
	t.Helper()
	if got := strings.Join(f.Deviations, "; "); err != nil || f.Follows != (want == "") || got != want {
		t.Errorf("%s: %q, want %q\n%v (%v)", about, got, want, f, err)
	}
}

// TestCheckScaledErrors: errors with scaled rotations are named. The ends of ramps are those of
// transformers' find_correction_dim for gpt-oss (8.09278 and 17.39802), and by the formula elsewhere.
func TestCheckScaledErrors(t *testing.T) {
	const n = 40
	q, k := random("q", 1, 2, n, 64), random("k", 2, 2, n, 64)
	by := func(theta []float64, factor float64) []array.Array {
		p := port{halves: true, angles: lineAngles(theta, from(0)), factor: factor}
		return []array.Array{q, k, p.of("q_out", q), p.of("k_out", k)}
	}
	plain := powers(150000, 32, 64)
	m := 0.1*math.Log(32) + 1
	gptOSS := "rope-layout=half rope-base=150000 rope-scale=32 rope-trained-tokens=4096"
	fast := func(turns float64) float64 {
		return 64 * math.Log(4096/(turns*2*math.Pi)) / (2 * math.Log(150000))
	}
	llama := powers(500000, 32, 64)
	llama3 := "rope-layout=half rope-base=500000 rope-scale=8 rope-trained-tokens=8192"
	outside := make([]float64, 32) // the bands, too, are exchanged
	for i, v := range llama3Theta(llama, 8, 8192, false) {
		outside[i] = llama[i] + llama[i]/8 - v
	}
	checkPorts(t, "line", []portCase{
		{"right", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, 8, 18), m), ""},
		{"truncate = false", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, 8.09278, 17.39802), m),
			"yarn-truncate false"},
		{"factor 1", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, 8, 18), 1), "attention factor 1"},
		{"factor squared", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, 8, 18), m*m), "attention factor squared"},
		{"factor 1, truncate = false", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, fast(32), fast(1)), 1),
			"yarn-truncate false; attention factor 1"},
		{"betas", "rope-yarn", gptOSS, by(yarnTheta(plain, 32, math.Floor(fast(1)), math.Ceil(fast(32))), m),
			"beta_fast and beta_slow swapped"},
		{"positions", "rope-yarn", gptOSS, by(each(plain, func(v float64) float64 { return v / 32 }), m),
			"positions divided by the scale (no ramp)"},
		{"positions, factor 1", "rope-yarn", gptOSS, by(each(plain, func(v float64) float64 { return v / 32 }), 1),
			"positions divided by the scale (no ramp); attention factor 1"},
		{"base", "rope-yarn", "rope-layout=half rope-base=10000 rope-scale=32 rope-trained-tokens=4096",
			by(yarnTheta(plain, 32, 8, 18), m), "base 150000"},
		{"scale", "rope-yarn", "rope-layout=half rope-base=150000 rope-scale=8 rope-trained-tokens=4096",
			by(yarnTheta(plain, 32, 8, 18), m), "rope-scale 32"},
		{"tokens", "rope-yarn", "rope-layout=half rope-base=150000 rope-scale=32 rope-trained-tokens=131072",
			by(yarnTheta(plain, 32, 8, 18), m), "rope-trained-tokens 4096"},
		{"right", "rope-llama3", llama3, by(llama3Theta(llama, 8, 8192, false), 1), ""},
		{"inverted", "rope-llama3", llama3, by(llama3Theta(llama, 8, 8192, true), 1),
			"ramp inverted between the bands"},
		{"inverted", "rope-llama3", llama3, by(outside, 1), "ramp inverted"},
		{"scale", "rope-llama3", llama3, by(llama3Theta(llama, 32, 8192, false), 1), "rope-scale 32"},
	})
	// Another ramp is none of these.
	f, err := checked(t, "rope-yarn", by(yarnTheta(plain, 32, 8.3, 17.7), m), optionsOf(gptOSS), "line")
	if err != nil || f.Follows || f.Convention != nil {
		t.Errorf("another ramp: %v (%v)", f, err)
	}
}

// TestCheckPlaneErrors: errors with rows and columns are named, in rotations and in tables.
func TestCheckPlaneErrors(t *testing.T) {
	const rows, columns, width = 5, 6, 32
	q := random("q", 1, 2, rows*columns, width)
	row := func(i int) float64 { return float64(i / columns) }
	column := func(i int) float64 { return float64(i % columns) }
	theta := powers(100, 8, 16)
	// blocks gives the first half of the pairs to x, the second to y.
	blocks := func(x, y func(int) float64) []array.Array {
		p := port{repeated: true, angles: func(i int) []float64 {
			return append(lineAngles(theta, x)(i), lineAngles(theta, y)(i)...)
		}}
		return []array.Array{q, p.of("q_out", q)}
	}
	turns := func(x, y []float64, halves bool) []array.Array {
		p := port{repeated: !halves, halves: halves, angles: func(i int) []float64 {
			all := make([]float64, 16)
			for k := range 8 {
				all[2*k], all[2*k+1] = x[k]*column(i), y[k]*row(i)
			}
			return all
		}}
		return []array.Array{q, p.of("q_out", q)}
	}
	of := func(f func(int) float64, by, plus float64) func(int) float64 {
		return func(i int) float64 { return f(i)*by + plus }
	}
	whole := powers(100, 16, 32)
	even, odd := make([]float64, 8), make([]float64, 8)
	for i := range even {
		even[i], odd[i] = whole[2*i], whole[2*i+1]
	}
	plane := func(x, y func(int) float64) []array.Array {
		return []array.Array{beside(sinusoids(rows*columns, 16, x, ""), sinusoids(rows*columns, 16, y, ""))}
	}
	square := func(x, y func(int) float64) []array.Array {
		wide := func(f func(int) float64) func(int) []float64 { return lineAngles(powers(10, 8, 16), f) }
		p := port{repeated: true, angles: func(i int) []float64 { return append(wide(x)(i), wide(y)(i)...) }}
		return []array.Array{q, p.of("q_out", q)}
	}
	frame := func(i int) float64 { return float64(i / 15) }
	line3, column3 := func(i int) float64 { return float64(i / 5 % 3) }, func(i int) float64 { return float64(i % 5) }
	box := func(first, second, third func(int) float64) []array.Array {
		p := port{repeated: true, angles: func(i int) (all []float64) {
			for _, f := range []func(int) float64{first, second, third} {
				all = append(all, lineAngles(powers(10000, 5, 10), f)(i)...)
			}
			return all
		}}
		return []array.Array{q, p.of("q_out", q)}
	}
	// image are DINOv3's coordinates from -1 to 1: of the centres of cells at 0.5, of corners at 0.
	image := func(within float64) []array.Array {
		turns := each(theta, func(v float64) float64 { return 2 * math.Pi * v })
		p := port{halves: true, angles: func(i int) []float64 {
			return append(lineAngles(turns, of(row, 2./rows, 2*within/rows-1))(i),
				lineAngles(turns, of(column, 2./columns, 2*within/columns-1))(i)...)
		}}
		return []array.Array{q, p.of("q_out", q)}
	}
	boxes := checkPorts(t, "2x3x5", []portCase{
		{"right", "rope-3d", "", box(frame, line3, column3), ""},
		{"order", "rope-3d", "", box(column3, line3, frame), "coordinates 2, 1, 0 instead of 0, 1, 2"},
		{"centres", "rope-3d", "", box(of(frame, 1, 0.5), of(line3, 1, 0.5), of(column3, 1, 0.5)),
			"positions half a step further (centres of cells)"},
	})
	planes := checkPorts(t, "5x6", []portCase{
		{"right", "rope-dinov3", "", image(0.5), ""},
		{"corners", "rope-dinov3", "", image(0), "positions half a step back (corners of cells)"},
		{"right", "rope-2d", "", blocks(column, row), ""},
		{"axes", "rope-2d", "", blocks(row, column), "rows before columns"},
		{"in turns", "rope-2d", "", turns(theta, theta, false), "pairs of rows and columns alternate"},
		{"in turns, one rotation", "rope-2d", "", turns(even, odd, false),
			"pairs of rows and columns alternate, with the frequencies of one rotation"},
		{"in turns, halves", "rope-2d", "", turns(theta, theta, true),
			layoutErrors[4].phrase + "; pairs of rows and columns alternate"},
		{"centres", "rope-2d", "", blocks(of(column, 1, 0.5), of(row, 1, 0.5)),
			"positions half a step further (centres of cells)"},
		{"pixels", "rope-2d", "", blocks(of(column, 16, 0), of(row, 16, 0)),
			"coordinates times 16 (pixels instead of cells)"},
		{"divided", "rope-2d", "", blocks(of(column, 0.25, 0), of(row, 0.25, 0)), "coordinates divided by 4"},
		{"from 3", "rope-2d", "", blocks(of(column, 1, 3), of(row, 1, 3)), "positions from 3"},
		{"the whole head's frequencies", "rope-2d", "", square(column, row),
			"frequencies of the whole head for each coordinate (base^(-2k/Dh))"},
		{"right", "2d-fixed", "", plane(column, row), ""},
		{"in turns", "2d-fixed", "", []array.Array{made("table", []int{rows * columns, 32}, func(at []int) float64 {
			angle := column(at[0])
			if at[1]/2%2 == 1 {
				angle = row(at[0])
			}
			if angle *= math.Pow(10000, -float64(at[1]/4)/8); at[1]%2 == 1 {
				return math.Cos(angle)
			}
			return math.Sin(angle)
		})}, "pairs of rows and columns alternate"},
		{"from 1", "rope-2d", "", blocks(of(column, 1, 1), of(row, 1, 1)), "positions from 1"},
		{"centres", "2d-fixed", "", plane(of(column, 1, 0.5), of(row, 1, 0.5)),
			"positions half a step further (centres of cells)"},
		{"pixels", "2d-fixed", "", plane(of(column, 14, 0), of(row, 14, 0)), "positions times 14"},
		{"axes, centres", "2d-fixed", "", plane(of(row, 1, 0.5), of(column, 1, 0.5)),
			"positions half a step further (centres of cells); rows before columns"},
	})
	for _, f := range slices.Concat(boxes, planes) {
		if strings.Contains(strings.Join(f.Untold, "; "), "positions") {
			t.Errorf("positions are not told: %v", f)
		}
	}
}

// TestCheckTableErrors: errors with sinusoids, slopes and buckets are named.
func TestCheckTableErrors(t *testing.T) {
	const n, d = 30, 12
	columnExponent := made("table", []int{n, d}, func(at []int) float64 {
		angle := float64(at[0]) / math.Pow(10000, 2*float64(at[1])/d)
		if at[1]%2 == 0 {
			return math.Sin(angle)
		}
		return math.Cos(angle)
	})
	table := func(place func(int) float64, first string, base float64) []array.Array {
		return []array.Array{sinusoids(n, d, place, first, base)}
	}
	bias := func(heads int, of func(h, i, j int) float64) []array.Array {
		return []array.Array{made("bias", []int{heads, n, n}, func(at []int) float64 {
			if at[2] > at[1] {
				return math.Inf(-1)
			}
			return of(at[0], at[1], at[2])
		})}
	}
	// slopes of 6 heads, as the authors' get_slopes returns them: those of 4, then the odd ones of 8
	six := []float64{1. / 4, 1. / 16, 1. / 64, 1. / 256, 1. / 2, 1. / 8}
	sorted := []float64{1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 64, 1. / 256}
	falling := func(slope func(h int) float64) func(h, i, j int) float64 {
		return func(h, i, j int) float64 { return -slope(h) * float64(i-j) }
	}
	buckets := random("pe.table", 5, 1, 32, 4)
	linear := []array.Array{buckets, made("bias", []int{4, 20, 20}, func(at []int) float64 {
		row := min(int(math.Abs(float64(at[2]-at[1]))), 15)
		if at[2] > at[1] {
			row += 16
		}
		return buckets.Data[row*4+at[0]]
	})}
	checkPorts(t, "line", []portCase{
		{"right", "1d-fixed", "", table(from(0), "", 10000), ""},
		{"padding", "1d-fixed", "", table(from(2), "", 10000), "positions from 2"},
		{"padding, halves", "1d-fixed", "", table(from(2), "halves", 10000), "positions from 2; sines before cosines"},
		{"base", "1d-fixed", "", table(from(0), "", 7777), "base 7777"},
		{"base, halves", "1d-fixed", "", table(from(0), "halves", 7777), "base 7777; sines before cosines"},
		{"divided", "1d-fixed", "", table(func(i int) float64 { return float64(i) / 100 }, "", 10000),
			"positions divided by 100"},
		{"frequencies in bfloat16", "1d-fixed", "", []array.Array{made("table", []int{n, d}, func(at []int) float64 {
			angle := float64(at[0]) * bfloat16(math.Pow(10000, -float64(at[1]/2)/6))
			if at[1]%2 == 0 {
				return math.Sin(angle)
			}
			return math.Cos(angle)
		})}, "frequencies rounded to bfloat16"},
		{"half the exponent", "1d-fixed", "", table(from(0), "", 100), "exponent k/D instead of 2k/D"},
		{"to 1/base", "1d-fixed", "", table(from(0), "", math.Pow(10000, 6./5)),
			"frequencies down to 1/base (exponent k/(D/2 - 1))"},
		{"exponent", "1d-fixed", "", []array.Array{columnExponent},
			"exponent 2 x column (instead of 2 floor(column/2))"},
		{"right", "alibi", "", bias(6, falling(func(h int) float64 { return six[h] })), ""},
		{"plain", "alibi", "", bias(6, falling(func(h int) float64 { return math.Pow(2, -8*float64(h+1)/6) })),
			slopeErrors[0].phrase},
		{"off by one", "alibi", "", bias(8, falling(func(h int) float64 { return math.Pow(2, -float64(h)) })),
			slopeErrors[1].phrase},
		{"sorted", "alibi", "", bias(6, falling(func(h int) float64 { return sorted[h] })), slopeErrors[2].phrase},
		{"of the authors' code", "alibi", "", bias(6, func(h, _, j int) float64 { return six[h] * float64(j) }),
			"adds m_h j instead of -m_h (i - j), the same after the softmax"},
		{"of the authors' code, plain", "alibi", "", bias(6, func(h, _, j int) float64 {
			return math.Pow(2, -8*float64(h+1)/6) * float64(j)
		}), slopeErrors[0].phrase + "; adds m_h j instead of -m_h (i - j), the same after the softmax"},
		{"the first key at 0", "sandwich", "", bias(4, func(h, i, j int) float64 {
			curve := func(d int) (sum float64) {
				for m := range 64 {
					sum += math.Cos(float64(d) * math.Pow(10000, -float64(m)/64))
				}
				return sum * 4 / (8 * float64(h+1))
			}
			return curve(i-j) - curve(i)
		}), "a constant is added for each query, which the softmax removes"},
		{"linear buckets", "t5", "", linear, "one bucket per distance up to the last, instead of logarithmic ones"},
	})
}

// optionsOf reads options written as "a=b c=d".
func optionsOf(text string) pe.Options {
	options := pe.Options{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		options[name] = value
	}
	return options
}

// TestCheckErrorsOfSchemes: errors that any rotation can have are named in each scheme of rotations on the
// line, in both layouts.
func TestCheckErrorsOfSchemes(t *testing.T) {
	const width = 32
	plain := powers(10000, width/2, width)
	kept := each(plain, func(v float64) float64 {
		if v > 2*math.Pi/256 {
			return v
		}
		return 0
	})
	yarnFast := func(turns float64) float64 {
		return width * math.Log(64/(turns*2*math.Pi)) / (2 * math.Log(10000))
	}
	stretched := make([]float64, width/2)
	for i, v := range plain {
		stretched[i] = v / math.Pow(4, float64(i)/(width/2-1))
	}
	schemes := []struct {
		name, options string
		theta         []float64
		factor        float64
	}{
		{"rope", "", plain, 1},
		{"rope-pi", "rope-scale=4", each(plain, func(v float64) float64 { return v / 4 }), 1},
		{"rope-ntk", "rope-scale=4", powers(10000*math.Pow(4, 32./30), width/2, width), 1},
		{"rope-yarn", "rope-scale=4 rope-trained-tokens=64", yarnTheta(plain, 4, 0, math.Ceil(yarnFast(1))),
			0.1*math.Log(4) + 1},
		{"rope-llama3", "rope-scale=8 rope-trained-tokens=512", llama3Theta(plain, 8, 512, false), 1},
		{"rope-longrope", "rope-scale=4 rope-trained-tokens=64", stretched, math.Sqrt(1 + math.Log(4)/math.Log(64))},
		{"hope", "rope-trained-tokens=256", kept, 1},
	}
	type form struct {
		theta  []float64
		place  func(int) float64
		round  func(float64) float64
		factor float64
	}
	angles := func(f form) func(int) []float64 {
		return func(i int) []float64 { return each(lineAngles(f.theta, f.place)(i), f.round) }
	}
	same := func(v float64) float64 { return v }
	times := func(by float64) func(float64) float64 { return func(v float64) float64 { return v * by } }
	errors := []struct {
		want   string
		change func(q, k *form)
	}{
		{"", func(_, _ *form) {}},
		{"positions from 1", func(q, k *form) { q.place, k.place = from(1), from(1) }},
		{"positions from 4", func(q, k *form) { q.place, k.place = from(4), from(4) }},
		{"positions of q from 5, of k from 0", func(q, _ *form) { q.place = from(5) }},
		{"k not rotated", func(_, k *form) { k.theta, k.factor = each(k.theta, times(0)), 1 }},
		{"rotated in the other direction", func(q, k *form) { q.round, k.round = times(-1), times(-1) }},
		{"q and k rotated twice", func(q, k *form) {
			q.round, k.round, q.factor, k.factor = times(2), times(2), q.factor*q.factor, k.factor*k.factor
		}},
		{"positions rounded to bfloat16", func(q, k *form) {
			q.place, k.place = roundPlace, roundPlace
		}},
		{"frequencies rounded to bfloat16", func(q, k *form) {
			q.theta, k.theta = each(q.theta, bfloat16), each(k.theta, bfloat16)
		}},
		{"k_out and q_out times 1.25", func(q, k *form) { q.factor, k.factor = 1.25*q.factor, 1.25*k.factor }},
		{"tiled", func(_, _ *form) {}},
		{"evens", func(_, _ *form) {}},
	}
	table := map[string]int{}
	for _, s := range schemes {
		for _, e := range errors {
			for _, halves := range []bool{false, true} {
				n := 20
				if strings.Contains(e.want, "positions rounded") {
					n = 270 // bfloat16 has all whole numbers up to 256
				}
				q, k := random("q", 1, 2, n, width), random("k", 2, 2, n, width)
				own := form{s.theta, from(0), same, s.factor}
				fq, fk := own, own
				e.change(&fq, &fk)
				pq := port{halves: halves, repeated: !halves, factor: fq.factor, angles: angles(fq)}
				pk := port{halves: halves, repeated: !halves, factor: fk.factor, angles: angles(fk)}
				want, options := e.want, optionsOf(s.options)
				if halves && testing.Short() {
					continue // half of the cases
				}
				if halves {
					options["rope-layout"] = "half"
				}
				switch {
				case e.want == "tiled":
					if want = layoutErrors[0].phrase; halves {
						want = layoutErrors[1].phrase
					}
					pq.repeated, pk.repeated = halves, halves
				case e.want == "evens" && halves:
					continue
				case e.want == "evens":
					want, pq.evens, pk.evens = layoutErrors[2].phrase, true, true
				}
				arrays := []array.Array{q, k, pq.of("q_out", q), pk.of("k_out", k)}
				f, err := checked(t, s.name, arrays, options, "line")
				got := strings.Join(f.Deviations, "; ")
				switch {
				case err == nil && got == want && f.Follows == (want == ""):
					table["named"]++
					continue
				case got == "":
					table["not named"]++
				default:
					table["named otherwise"]++
				}
				t.Errorf("%s, halves %v: %q, want %q\n%v (%v)", s.name, halves, got, want, f, err)
			}
		}
	}
	t.Log(table)
}

// TestCheckWeights: errors are named in attention weights, too, where the softmax hides a constant.
func TestCheckWeights(t *testing.T) {
	const n, heads = 40, 4
	q, k := random("q", 1, heads, n, 32), random("k", 2, heads, n, 32)
	scale := 1 / math.Sqrt(32)
	softmax := func(logits array.Array, causal bool) array.Array {
		logits.Name = "weights"
		for row := 0; row < len(logits.Data); row += n {
			sum := 0.0
			for j := range n {
				if logits.Data[row+j] = math.Exp(logits.Data[row+j]); causal && j > row/n%n {
					logits.Data[row+j] = 0
				}
				sum += logits.Data[row+j]
			}
			for j := range n {
				logits.Data[row+j] /= sum
			}
		}
		return logits
	}
	zero := func(_, _, _ int) float64 { return 0 }
	right := port{repeated: true, angles: lineAngles(powers(10000, 16, 32), from(0))}
	other := port{halves: true, angles: lineAngles(powers(500000, 16, 32), from(0))}
	turned := func(q, k array.Array, scale float64) array.Array { return softmax(products(q, k, scale, zero), false) }
	falling := func(first float64) func(h, i, j int) float64 {
		return func(h, i, j int) float64 { return -math.Pow(2, -2*(float64(h)+first)) * float64(i-j) }
	}
	none := made("q", q.Shape, func([]int) float64 { return 0 })
	checkPorts(t, "line", []portCase{
		{"right", "rope", "", []array.Array{q, k, turned(right.of("", q), right.of("", k), scale)}, ""},
		{"base", "rope", "", []array.Array{q, k, turned(other.of("", q), other.of("", k), scale)},
			"base 500000; half-split pairs"},
		{"k", "rope", "", []array.Array{q, k, turned(right.of("", q), k, scale)}, "k not rotated"},
		{"scale", "rope", "", []array.Array{q, k, turned(right.of("", q), right.of("", k), 1)},
			"scale missing (q k without 1/sqrt(Dh))"},
		{"right", "alibi", "", []array.Array{softmax(products(none, k, 1, falling(1)), true)}, ""},
		{"slopes", "alibi", "", []array.Array{softmax(products(none, k, 1, falling(0)), true)}, slopeErrors[1].phrase},
	})
	f, err := checked(t, "rope", []array.Array{q, k, turned(random("", 7, heads, n, 32), k, scale)}, nil, "line")
	if err != nil || f.Convention != nil {
		t.Errorf("other queries: %v (%v)", f, err)
	}
}
