package masked

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"torchpe/internal/expect"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// fixture holds what testdata/make.py writes.
type fixture struct {
	Tokens      int
	Train, Test []float32
	Cases       []struct {
		Ridge                float64
		Masks                []int
		Masked               int
		Zero, Mean, Gaussian float64
	}
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(b))
}

// TestBaselinesEqualNumpy compares with a solve per sample and mask in numpy, in which each mask
// size takes one of the two ways through the Gaussian.
func TestBaselinesEqualNumpy(t *testing.T) {
	raw := expect.Must(os.ReadFile("testdata/baselines.json"))
	var f fixture
	if err := json.Unmarshal(raw, &f); err != nil || len(f.Cases) != 10 {
		t.Fatalf("%d cases, %v", len(f.Cases), err)
	}
	// Both sets in one table, so that lists of frames are tested too.
	both := Table{Tokens: f.Tokens, X: append(f.Train, f.Test...)}
	both.Frames = len(both.X) / f.Tokens
	var train, test []int
	for i := range both.Frames {
		if i < len(f.Train)/f.Tokens {
			train = append(train, i)
		} else {
			test = append(test, i)
		}
	}
	for _, c := range f.Cases {
		b := expect.Must(Fit(both, train, c.Ridge))
		masks := make([]bool, len(c.Masks))
		for i, m := range c.Masks {
			masks[i] = m == 1
		}
		got := expect.Must(b.MSE(both, test, masks))
		if got.Masked != c.Masked || got.Samples != len(test) || !near(got.Zero, c.Zero, 1e-12) ||
			!near(got.Mean, c.Mean, 1e-10) || !near(got.Gaussian, c.Gaussian, 1e-9) {
			t.Errorf("ridge %v, %d masked: %+v, want zero %v, mean %v, gaussian %v", c.Ridge,
				c.Masked, got, c.Zero, c.Mean, c.Gaussian)
		}
	}
}

// all returns all frames of a table.
func all(t Table) (frames []int) {
	for i := range t.Frames {
		frames = append(frames, i)
	}
	return frames
}

// randomTable returns frames of tokens that share two signals.
func randomTable(seed uint64, frames, tokens int) Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := Table{Frames: frames, Tokens: tokens, X: make([]float32, frames*tokens)}
	for i := range frames {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for j := range tokens {
			t.X[i*tokens+j] = float32(a*math.Cos(float64(j)) + b*math.Sin(float64(2*j)) +
				rng.NormFloat64() + float64(j%5))
		}
	}
	return t
}

// TestCovarianceEqualsGonum compares the sum by blocks with gonum/stat, with more frames than a
// block and more tokens than a panel.
func TestCovarianceEqualsGonum(t *testing.T) {
	table := randomTable(3, 2100, 70)
	b := expect.Must(Fit(table, all(table), 0))
	wide := mat.NewDense(table.Frames, table.Tokens, nil)
	for i, v := range table.X {
		wide.RawMatrix().Data[i] = float64(v)
	}
	var want mat.SymDense
	stat.CovarianceMatrix(&want, wide, nil)
	for i := range table.Tokens {
		for j := range table.Tokens {
			if got := b.covariance[i*table.Tokens+j]; !near(got, want.At(i, j), 1e-12) {
				t.Fatalf("covariance of %d and %d: %v, want %v", i, j, got, want.At(i, j))
			}
		}
	}
}

// TestTwoTokensByHand: four frames (0,0), (2,1), (2,3), (4,4) have means 2, 2, variances 8/3, 10/3
// and covariance 8/3.
func TestTwoTokensByHand(t *testing.T) {
	train := Table{Frames: 4, Tokens: 2, X: []float32{0, 0, 2, 1, 2, 3, 4, 4}}
	b := expect.Must(Fit(train, all(train), 0))
	if r, err := b.Correlation(); err != nil || !near(r[1], 2/math.Sqrt(5), 1e-15) || r[1] != r[2] ||
		r[0] != 1 || r[3] != 1 { // (8/3) / sqrt(8/3 10/3)
		t.Errorf("correlations %v, %v", r, err)
	}
	flat := Table{Frames: 2, Tokens: 2, X: []float32{1, 7, 2, 7}, Names: []string{"a", "b"}}
	expect.Error(t, expect.ErrorOf(expect.Must(Fit(flat, all(flat), DefaultRidge)).Correlation()),
		"token 1 (b), from 0, is constant over 2 training frames")
	test := Table{Frames: 1, Tokens: 2, X: []float32{5, 3}}
	// Token 1 from token 0: 2 + (8/3)/(8/3) (5-2) = 5, error 4. Token 0 from token 1: 2 + 0.8 (3-2)
	// = 2.8, error 4.84.
	for _, c := range []struct {
		mask []bool
		want Errors
	}{
		{[]bool{false, true}, Errors{Zero: 9, Mean: 4, Gaussian: 4, Samples: 1, Masked: 1}},
		{[]bool{true, false}, Errors{Zero: 25, Mean: 4.84, Gaussian: 4.84, Samples: 1, Masked: 1}},
		// by the means: (9+1)/2
		{[]bool{true, true}, Errors{Zero: 17, Mean: 5, Gaussian: 5, Samples: 1, Masked: 2}},
	} {
		got, err := b.MSE(test, all(test), c.mask)
		if err != nil || !near(got.Zero, c.want.Zero, 1e-14) ||
			!near(got.Mean, c.want.Mean, 1e-14) ||
			!near(got.Gaussian, c.want.Gaussian, 1e-14) || got.Samples != 1 ||
			got.Masked != c.want.Masked {
			t.Errorf("mask %v: %+v (%v), want %+v", c.mask, got, err, c.want)
		}
	}
}

// TestConstantVisibleMean: where the visible mean does not vary in training, the mean regression
// predicts the token's mean.
func TestConstantVisibleMean(t *testing.T) {
	train := Table{Frames: 4, Tokens: 3, X: []float32{1, -1, 2, -1, 1, 4, 1, -1, 6, -1, 1, 8}}
	b := expect.Must(Fit(train, all(train), 1e-3))
	got, err := b.MSE(Table{Frames: 1, Tokens: 3, X: []float32{3, 9, 7}}, []int{0},
		[]bool{false, false, true})
	if err != nil || !near(got.Mean, 4, 1e-12) {
		t.Errorf("%+v (%v), want an error of (7-5)^2", got, err)
	}
}

// TestWorkersDoNotMatter: the same bits from any number of goroutines.
func TestWorkersDoNotMatter(t *testing.T) {
	table := randomTable(5, 300, 40)
	b := expect.Must(Fit(table, all(table), DefaultRidge))
	for _, level := range []float64{0.15, 0.5, 0.9} {
		masks := draw(Masking{level, false}, 1, StreamTest, 0, table.Frames, table.Tokens)
		want := expect.Must(b.mse(table, all(table), masks, 1))
		for _, workers := range []int{2, 3, 16, 1000} {
			if got, err := b.mse(table, all(table), masks, workers); got != want || err != nil {
				t.Errorf("%d workers: %+v (%v), want %+v", workers, got, err, want)
			}
		}
		if got, _ := b.MSE(table, all(table), masks); got != want || got.Masked != countMasked(masks) {
			t.Errorf("%+v, want %+v with %d masked", got, want, countMasked(masks))
		}
	}
}

// The Gaussian does not depend on the units of the tokens, and a token that was constant tells nothing.
func TestBaselinesOfAnyUnits(t *testing.T) {
	table, units := randomTable(9, 40, 6), randomTable(9, 40, 6)
	masks := make([]bool, 40*6)
	for i := range table.X {
		masks[i] = i%7 < 3
		if i%6 == 0 && i < 120 {
			table.X[i], units.X[i] = 2, 2
		}
		units.X[i] *= float32(math.Ldexp(1, -7))
	}
	train, test := all(table)[:20], all(table)[20:]
	a := expect.Must(expect.Must(Fit(table, train, DefaultRidge)).MSE(table, test, masks[120:]))
	b := expect.Must(expect.Must(Fit(units, train, DefaultRidge)).MSE(units, test, masks[120:]))
	expect.Near(t, fmt.Sprintf("%+v and in units of 1/128 %+v", a, b), math.Ldexp(a.Gaussian, -14)/b.Gaussian, 1,
		1e-9)
}

func TestBaselinesRefuse(t *testing.T) {
	table := randomTable(7, 30, 6)
	b := expect.Must(Fit(table, all(table), DefaultRidge))
	collinear := randomTable(7, 30, 6)
	for i := range 30 {
		collinear.X[i*6+5] = collinear.X[i*6+4]
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"one frame":  {expect.ErrorOf(Fit(table, []int{3}, 1)), "1 training frame"},
		"no frame":   {expect.ErrorOf(Fit(table, []int{}, 1)), "0 training frame"},
		"collinear":  {expect.ErrorOf(Fit(collinear, all(collinear), 0)), "has no inverse"},
		"few frames": {expect.ErrorOf(Fit(table, []int{0, 1, 2}, 0)), "6 tokens over 3 frames"},
		"none masked": {expect.ErrorOf(b.MSE(table, []int{1}, make([]bool, 6))),
			"no value of 1 samples is masked"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, test.err, test.want)
		}
	}
}
