package pe_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestAbacusOffset: in training the digits of all runs move by one offset of 0..3, of its own for each
// member and step; signs stay, and at evaluation everything does.
func TestAbacusOffset(t *testing.T) {
	const rows, largest, steps = 9, 3, 40
	at := []float64{1, 2, 0, 1, 2}
	p, seeds := points(at[:1], at[1:2], at[2:3], at[3:4], at[4:5]), []uint64{1, 2}
	m := petest.Spec{Scheme: "abacus", Layers: 1, DModel: 2, Seeds: seeds, Positions: p,
		Given: given("abacus-rows=%d abacus-offset=%d", rows, largest),
		Set:   map[string][]float64{"pe.table": slices.Concat(count(rows, 2), count(rows, 2))}}.Model(t)
	rowsTaken := func(step int, p pe.Positions) (members [2][]float64) {
		petest.Closed(func(s *torchpe.Scope) {
			s.Seed(seeds, step)
			table, _ := m.Encoding.Begin(s, p).Table(0)
			for i, v := range table.Float64s() { // [E,N,D]
				if i%2 == 0 {
					members[i/10] = append(members[i/10], v)
				}
			}
		})
		return members
	}
	var seen [2][largest + 1]bool
	alike := 0
	for step := range steps {
		if still := rowsTaken(step, p); !slices.Equal(still[0], at) || !slices.Equal(still[1], at) {
			t.Fatalf("evaluation has rows %v for places %v", still, at)
		}
		moved := rowsTaken(step, training(p))
		for member, got := range moved {
			by := got[0] - 1
			want := []float64{1 + by, 2 + by, 0, 1 + by, 2 + by}
			if by < 0 || by > largest || !slices.Equal(got, want) {
				t.Fatalf("step %d: rows %v for places %v", step, got, at)
			}
			seen[member][int(by)] = true
		}
		if moved[0][0] == moved[1][0] {
			alike++
		}
	}
	if all := [largest + 1]bool{true, true, true, true}; seen[0] != all || seen[1] != all || alike > steps/2 {
		t.Errorf("offsets 0 to 3 of both members: %v; %d of %d steps share one", seen, alike, steps)
	}
}

// TestDraws: 40,000 numbers of U(-3, 3) that cape draws have the mean, the variance and the largest distance
// from the distribution function (Kolmogorov) that they should, and differ.
func TestDraws(t *testing.T) {
	const n, limit = 40000., 3.
	sp := petest.Spec{Scheme: "cape", Positions: pe.Line(8)}
	m := sp.Model(t)
	petest.Closed(func(s *torchpe.Scope) {
		s.Seed(m.Config.Seeds, 5)
		values := pe.CAPEUniform(s, m.Encoding, sp.Positions, n/8, limit).Float64s()
		slices.Sort(values)
		var mean, squares, apart float64
		for i, v := range values {
			u := (v + limit) / (2 * limit)
			mean, squares = mean+(u-0.5)/n, squares+(u-0.5)*(u-0.5)/n
			apart = max(apart, math.Abs(u-(float64(i)+0.5)/n))
		}
		expect.Near(t, "mean", mean, 0, 5*math.Sqrt(1/12./n))
		expect.Near(t, "variance", squares, 1/12., 5*math.Sqrt(1/180./n))
		expect.Near(t, "distance", apart, 0, 1.95/math.Sqrt(n))
		if distinct := len(slices.Compact(values)); values[0] < -limit || values[n-1] >= limit || distinct < 0.975*n {
			t.Errorf("%d different numbers from %g to %g", distinct, values[0], values[n-1])
		}
	})
}

// TestCAPETrains: positions move in training and not at evaluation; every sample has its own.
func TestCAPETrains(t *testing.T) {
	for _, form := range []string{"1d", "2d"} {
		m := petest.Spec{Scheme: "cape", Given: given("cape=%s", form)}.Model(t)
		still := embed(m, 0, zeros(2, 8, 8), pe.Grid(2, 4)).Values
		moved := embed(m, 0, zeros(2, 8, 8), training(pe.Grid(2, 4))).Values
		if !slices.Equal(still[:64], still[64:]) || slices.Equal(moved[:64], moved[64:]) ||
			slices.Equal(still, moved) {
			t.Errorf("%s: evaluation moves positions, training does not, or samples share their draws", form)
		}
	}
}

// TestConvStarts: at first the weights are V itself, for gain is its norm: the k taps of a wide
// kernel that reach past the tokens change nothing.
func TestConvStarts(t *testing.T) {
	const taps, d, n = 128, 16, 8
	m := petest.Spec{Scheme: "conv-pos", DModel: d, Given: given("conv-kernel=%d", taps)}.Model(t)
	v, gain := valuesOf(m, "pe.v"), valuesOf(m, "pe.gain")
	of := transposed(petest.Array{Shape: []int{len(v) / taps, taps}, Values: v})
	for tap := range taps {
		expect.Near(t, fmt.Sprint("gain of tap ", tap), gain[tap], norm(of.Row(tap)), 1e-14)
	}
	x := wave(1, n, d, 0)
	before := embed(m, 0, x, pe.Line(n))
	for i := range gain {
		if i <= taps/2-n || i >= taps/2+n { // offsets beyond +-7
			gain[i] = 100
		}
	}
	expect.NoError(t, m.Params.Set("pe.gain", gain))
	petest.Near(t, "with other taps beyond the tokens", embed(m, 0, x, pe.Line(n)), before, 0)
}

// TestResampledBilinear: to twice as many columns the weights are those of linear interpolation
// between centres; to half as many the triangle is two columns wide on either side, so that the
// first of two takes 3/4, 3/4 and 1/4 of its sum of 7/4 (as Pillow's and torch's antialiased resize).
func TestResampledBilinear(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []float64
	}{
		{2, 4, []float64{1, 0, 3. / 4, 1. / 4, 1. / 4, 3. / 4, 0, 1}},
		{4, 2, []float64{3. / 7, 3. / 7, 1. / 7, 0, 0, 1. / 7, 3. / 7, 3. / 7}},
	} { // the table is the unit vectors
		got := tableOf(t, petest.Spec{Scheme: "learn-resampled", Layers: 1, DModel: c.from,
			Positions: pe.Grid(1, c.to),
			Given:     given("resample-by=bilinear resample-from=1x%d", c.from),
			Set:       map[string][]float64{"pe.table": identity(c.from)}})
		petest.Near(t, fmt.Sprintf("%d to %d", c.from, c.to), got,
			petest.Array{Shape: []int{c.to, c.from}, Values: c.want}, 1e-15)
	}
}

// TestFrozenTable: the published code's table is N(0,1), one for each block, and not trained. Four
// standard errors of the share of N(0,1) within one and two standard deviations are allowed, and of its
// SD.
func TestFrozenTable(t *testing.T) {
	m := petest.Spec{Scheme: "random", Layers: 4, DModel: 160, Positions: pe.Grid(4, 4)}.Model(t)
	if m.Encoding.Draw().Range != 0 || m.Params.Get("pe.table").Trainable {
		t.Error("the frozen table wants positions drawn, or is trained")
	}
	values := valuesOf(m, "pe.table")
	n := float64(len(values))
	for within, share := range map[float64]float64{1: 0.682689, 2: 0.954500} {
		inside := 0.0
		for _, v := range values {
			if math.Abs(v) < within {
				inside++
			}
		}
		expect.Near(t, fmt.Sprintf("share of the values within %g", within), inside/n, share,
			4*math.Sqrt(share*(1-share)/n))
	}
	expect.Near(t, fmt.Sprintf("standard deviation of %g values", n), norm(values)/math.Sqrt(n), 1,
		4/math.Sqrt(2*n))
	if blocks := slices.Collect(slices.Chunk(values, 16*160)); slices.Equal(blocks[1], blocks[0]) {
		t.Error("blocks 0 and 1 share a table")
	}
}

// TestFixedDropout: the code's reading drops a tenth of token plus PE also at evaluation, and
// scales the rest by 1/0.9; the text's reading drops nothing.
func TestFixedDropout(t *testing.T) {
	for _, scheme := range []string{"1d-fixed", "2d-fixed"} {
		x := zeros(4, 16, 160)
		for i := range x.Values {
			x.Values[i] = 3 + math.Sin(float64(i)) // the sum is never zero: P >= -1
		}
		with := func(fidelity, options string) []float64 {
			sp := petest.Spec{Scheme: scheme, DModel: 160, Fidelity: fidelity, Positions: pe.Grid(4, 4),
				Given: given(options)}
			return embed(sp.Model(t), 0, x, sp.Positions).Values
		}
		sum, dropped := with("code", "fixed-pe-dropout=0"), 0.0
		for i, v := range with("code", "") {
			if v == 0 {
				dropped++
			} else if math.Abs(v-sum[i]/0.9) > 1e-12 {
				t.Fatalf("%s: element %d is %g, want %g/0.9", scheme, i, v, sum[i])
			}
		}
		n := float64(len(x.Values))
		expect.Near(t, fmt.Sprintf("%s: dropped of %g elements", scheme, n), dropped, 0.1*n,
			5*math.Sqrt(n*0.1*0.9))
		if slices.Contains(with("text", ""), 0) {
			t.Errorf("%s drops elements in the text's reading", scheme)
		}
	}
}

// TestSinusoidsOfOddWidth: the last column is a sine, that of the frequency D-1 in the exponent
// (Vaswani et al. 2017, with the cosine of the last pair left out, as in PyTorch code that fills
// cosines up to D-1); t2t has a 0 there (tensor2tensor's tf.pad). In two dimensions each coordinate has
// the sinusoid of half the width.
func TestSinusoidsOfOddWidth(t *testing.T) {
	fixed := func(d int, layout string) petest.Array {
		return tableOf(t, petest.Spec{Scheme: "1d-fixed", DModel: d, Positions: pe.Line(8),
			Given: given("sinusoid-layout=%s fixed-pe-dropout=0", layout)})
	}
	for layout, last := range map[string]float64{"interleaved": 6. / 7, "tutorial": 6. / 7, "t2t": math.Inf(1)} {
		for p, row := range rowsOf(fixed(7, layout)) {
			expect.Near(t, fmt.Sprintf("%s: the last column of position %d", layout, p), row[6],
				math.Sin(float64(p)*math.Pow(10000, -last)), 1e-15)
		}
	}
	waves := petest.Spec{Scheme: "learn-waves", DModel: 7, Layers: 1, Positions: pe.Line(8),
		Set: map[string][]float64{"pe.index": {0, 1, 2, 3}}}
	petest.Near(t, "learn-waves of f_k = k", tableOf(t, waves), fixed(7, "interleaved"), 1e-14)
	line, want := fixed(3, "interleaved"), petest.Array{Shape: []int{8, 6}}
	for i := range 8 { // the column first
		want.Values = slices.Concat(want.Values, line.Row(i%4), line.Row(i/4))
	}
	petest.Near(t, "odd halves", tableOf(t, petest.Spec{Scheme: "2d-fixed", DModel: 6, Positions: pe.Grid(2, 4),
		Given: given("fixed-pe-dropout=0")}), want, 0)
}

// TestFeaturesAreSinusoids: with half of the levels of a line's sinusoid, --features transformer is
// 1d-fixed: 2k/m in the exponent where m = D/2 is twice that of 1d-fixed, so that every other pair
// of its columns is there.
func TestFeaturesAreSinusoids(t *testing.T) {
	const n, m = 6, 4
	z := features(t, pe.Line(n), 2*m, "features=transformer feature-levels=%d feature-range=raw", m)
	fixed := tableOf(t, petest.Spec{Scheme: "1d-fixed", DModel: 2 * m, Positions: pe.Line(n),
		Given: given("fixed-pe-dropout=0")})
	half := func(a petest.Array, apart int) petest.Array {
		return reordered(a, func(i int) int { return i/m*2*m + i%m/2*apart + i%2 }, n, m)
	}
	petest.Near(t, "features", half(z, 2), half(fixed, 4), 1e-13)
}

// TestFeaturesHaveNoUnit: features are the same in metres and in millimetres. An axis of n coordinates in equal
// steps ends at (n-1)/n, one with a single coordinate stays 0.
func TestFeaturesHaveNoUnit(t *testing.T) {
	for _, unit := range []float64{1e-3, 1, 1e3} {
		at := points([]float64{7 * unit, -unit, 2}, []float64{7.5 * unit, unit, 2}, []float64{8 * unit, 0, 2})
		got := features(t, at, 3, "features=grid feature-range=unit")
		petest.Near(t, fmt.Sprint("unit ", unit), got, petest.Array{Shape: []int{3, 3},
			Values: []float64{0, 0, 0, 1. / 3, 2. / 3, 0, 2. / 3, 1. / 3, 0}}, 1e-12)
	}
}

// TestPaperBaselines: the cosine of the 1d and the 2d table, and the norm of the 2d table: sin^2 + cos^2 =
// 1 for each of 16 x 80 pairs. The paper's figures A9/A10 print 0.72, which tells the conventions apart;
// the numbers come from numpy.
func TestPaperBaselines(t *testing.T) {
	for _, c := range []struct {
		options           string
		cosine, tolerance float64
	}{
		{"positions-from=0 grid-order=columns-first", 0.7246, 5e-5},
		{"positions-from=0 grid-order=rows-first", 0.710, 5e-4},
		{"positions-from=1 grid-order=columns-first", 0.678, 5e-4},
		{"positions-from=1 grid-order=rows-first", 0.663, 5e-4},
	} {
		of := func(scheme string) []float64 {
			return tableOf(t, petest.Spec{Scheme: scheme, DModel: 160, Positions: pe.Grid(4, 4),
				Given: given("fixed-pe-dropout=0 %s", c.options)}).Values
		}
		one, two, product := of("1d-fixed"), of("2d-fixed"), 0.0
		for i, v := range one {
			product += v * two[i]
		}
		if math.Abs(norm(one)-math.Sqrt(1280)) > 1e-10 || math.Abs(norm(two)-math.Sqrt(1280)) > 1e-10 ||
			math.Abs(product/1280-c.cosine) > c.tolerance {
			t.Errorf("%s: norms %g and %g, want sqrt(1280); cosine %.5f, want %g", c.options, norm(one), norm(two),
				product/1280, c.cosine)
		}
	}
}

// TestUnknownPlaces: a token where the scheme has no row is an error that says so, not some other
// place's row; so is a batch without the drawn positions that the scheme needs.
func TestUnknownPlaces(t *testing.T) {
	between, after := pe.Box(2, 2, 2), pe.Box(2, 2, 2)
	between.Points[3][0], after.Points[3][0] = 0.5, 2 // frames
	for _, c := range []struct {
		scheme, spec string
		at           pe.Positions
		says         []string
	}{
		{"2d-fixed", "grid=2x4", pe.Grid(4, 2), []string{"2d-fixed"}},
		{"2d-fixed", "grid=2x4", pe.Line(8), []string{"2d-fixed"}},
		{"3d-fixed", "grid=2x4 d_model=12", pe.Box(2, 2, 2), []string{"3d-fixed", "[1 0 0]"}},
		{"space-time", "box=2x2x2", between, []string{"token 3"}},
		{"space-time", "box=2x2x2", after, []string{"token 3"}},
		{"random", "text", pe.Line(8), []string{"drawn"}},
	} {
		sp := petest.Read(c.spec)
		sp.Scheme = c.scheme
		m := sp.Model(t)
		petest.Closed(func(s *torchpe.Scope) {
			err := torchpe.Catch(func() {
				m.Encoding.Begin(s, c.at).Embed(0, zeros(1, 1, 8, m.Config.DModel).Tensor(s))
			})
			expect.Error(t, err, c.says...)
		})
	}
	grid, box := petest.Read("grid=2x4 d_model=12"), petest.Read("box=1x2x4 d_model=12")
	grid.Scheme, box.Scheme = "3d-fixed", "3d-fixed"
	petest.Near(t, "a grid is one frame", tableOf(t, grid), tableOf(t, box), 0)
}
