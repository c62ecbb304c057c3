package stats

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"torchpe/internal/expect"
)

func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

func TestAgainstScipy(t *testing.T) {
	b := expect.Must(os.ReadFile("testdata/scipy.json"))
	var f struct {
		Pairs []struct {
			Name                    string
			X, Y                    []float64
			Spearman, Paired, Welch [2]float64
		}
		Groups []struct {
			Name   string
			Groups [][]float64
			F, P   float64
		}
		Unequal []struct {
			X, Y []float64
			T, P float64
		}
		Summaries []struct {
			A, B [3]float64
			T, P float64
		}
		Intervals []struct {
			X, Y             []float64
			Level            float64
			Mean, Difference [2]float64
		}
	}
	if err := json.Unmarshal(b, &f); err != nil || len(f.Pairs) != 9 || len(f.Groups) != 5 || len(f.Unequal) != 4 {
		t.Fatalf("%d pairs, %d groups, %d unequal, %v", len(f.Pairs), len(f.Groups), len(f.Unequal), err)
	}
	for _, p := range f.Pairs {
		for name, c := range map[string]struct {
			test func(x, y []float64) (Test, error)
			want [2]float64
		}{"Spearman": {Spearman, p.Spearman}, "PairedT": {PairedT,
			p.Paired}, "WelchTFrom": {welch, p.Welch}} {
			got, err := c.test(p.X, p.Y)
			if err != nil || !near(got.Statistic, c.want[0], 1e-10) ||
				!near(got.P, c.want[1], 1e-10) && !(got.P == 0 && c.want[1] < 1e-300) {
				t.Errorf("%s of %s: %v with p %v (%v), scipy has %v", name, p.Name, got.Statistic, got.P, err, c.want)
			}
		}
	}
	for _, g := range f.Groups {
		if got, err := ANOVA(g.Groups...); err != nil || !near(got.Statistic, g.F, 1e-10) ||
			!near(got.P, g.P, 1e-10) {
			t.Errorf("ANOVA of %s: %+v (%v), scipy has %v, %v", g.Name, got, err, g.F, g.P)
		}
	}
	for i, g := range f.Unequal {
		if got, err := welch(g.X, g.Y); err != nil || !near(got.Statistic, g.T, 1e-10) || !near(got.P, g.P, 1e-10) {
			t.Errorf("WelchTFrom of unequal groups %d: %+v (%v), scipy has %v, %v", i, got, err, g.T, g.P)
		}
	}
	expect.Equal(t, "intervals", len(f.Intervals), 3)
	for _, c := range f.Intervals {
		x, y := Summary{Mean(c.X), SD(c.X), len(c.X)}, Summary{Mean(c.Y), SD(c.Y), len(c.Y)}
		for _, of := range []struct {
			got  func() (Interval, error)
			want [2]float64
		}{{func() (Interval, error) { return MeanInterval(c.X, c.Level) }, c.Mean}, {
			func() (Interval, error) { return WelchInterval(x, y, c.Level) }, c.Difference}} {
			got, err := of.got()
			if err != nil || !near(got.Low, of.want[0], 1e-8) ||
				!near(got.High, of.want[1], 1e-8) || got.Level != c.Level {
				t.Errorf("%+v (%v), scipy has %v at %g", got, err, of.want, c.Level)
			}
		}
	}
	for _, s := range f.Summaries {
		got, err := WelchTFrom(Summary{s.A[0], s.A[1], int(s.A[2])}, Summary{s.B[0], s.B[1], int(s.B[2])})
		if err != nil || !near(got.Statistic, s.T, 1e-10) || !near(got.P, s.P, 1e-10) {
			t.Errorf("%v: %+v (%v), scipy has %v, %v", s.A, got, err, s.T, s.P)
		}
	}
}

// Tails far below the rounding of 1, by scipy: 2 * t.sf(40, 40).
func TestTails(t *testing.T) {
	if p := tailT(40, 40); !near(p, 2*3.520405287389225e-34, 1e-10) {
		t.Errorf("two-sided tail of t at 40 with 40 degrees of freedom is %v", p)
	}
}

// From the printed means of the paper's Tables A2 and A3 alone, Spearman's rho is the printed .96.
func TestPaperTables(t *testing.T) {
	column := func(name, what string) []float64 {
		path := filepath.Join("..", "..", "..", "shared", "paper", "tables", name)
		f, err := os.Open(path)
		if err != nil {
			t.Skipf("no %s", path)
		}
		defer f.Close()
		rows := expect.Must(csv.NewReader(f).ReadAll())
		k := slices.Index(rows[0], what)
		var values []float64
		for _, r := range rows[1:] {
			v := expect.Must(strconv.ParseFloat(r[k], 64))
			values = append(values, v)
		}
		return values
	}
	rho, err := Spearman(column("table_a2.csv", "validation_acc"), column("table_a3.csv", "cosine"))
	if err != nil || math.Abs(rho.Statistic-0.963) > 5e-4 {
		t.Errorf("rho = %v (%v), want .963", rho.Statistic, err)
	}
}

func TestHolm(t *testing.T) {
	// R: p.adjust(c(.01, .04, .03, .005), "holm")
	got, err := Holm([]float64{.01, .04, .03, .005})
	if err != nil || !slices.EqualFunc(got, []float64{.03, .06, .06, .02},
		func(a, b float64) bool { return near(a, b, 1e-12) }) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = Holm([]float64{.9, .8}); err != nil || got[0] != 1 || got[1] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = Holm([]float64{0, 1}); err != nil || got[0] != 0 || got[1] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, p := range []float64{math.NaN(), -1e-300, 1.1, 1.9} {
		expect.Refused(t, p, expect.ErrorOf(Holm([]float64{p})))
	}
}

func TestRefusals(t *testing.T) {
	for name, err := range map[string]error{
		"constant":        expect.ErrorOf(Spearman([]float64{1, 1, 1}, []float64{1, 2, 3})),
		"two pairs":       expect.ErrorOf(Spearman([]float64{1, 2}, []float64{1, 2})),
		"NaN":             expect.ErrorOf(Spearman([]float64{1, math.NaN(), 3}, []float64{1, 2, 3})),
		"no pairs":        expect.ErrorOf(PairedT([]float64{1, 2}, []float64{1, 2, 3})),
		"same difference": expect.ErrorOf(PairedT([]float64{1, 2}, []float64{2, 3})),
		"no variance":     expect.ErrorOf(welch([]float64{1, 1}, []float64{2, 2})),
		"one number":      expect.ErrorOf(welch([]float64{1}, []float64{2, 3})),
		"one group":       expect.ErrorOf(ANOVA([]float64{1, 2})),
		"an empty group":  expect.ErrorOf(ANOVA([]float64{1, 2}, nil)),
		"Inf in a group":  expect.ErrorOf(ANOVA([]float64{1, 2}, []float64{1, math.Inf(1)})),
		"flat groups":     expect.ErrorOf(ANOVA([]float64{1, 1}, []float64{2, 2})),
		"level":           expect.ErrorOf(MeanInterval([]float64{1, 2}, 1)),
	} {
		expect.Refused(t, name, err)
	}
	if !math.IsNaN(Mean(nil)) || !math.IsNaN(SD([]float64{1})) {
		t.Error("the mean of nothing, or the SD of one number, is a number")
	}
}

// welch is WelchTFrom of numbers.
func welch(x, y []float64) (Test, error) {
	return WelchTFrom(Summary{Mean(x), SD(x), len(x)}, Summary{Mean(y), SD(y), len(y)})
}

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	for q, want := range map[float64]float64{0: 1, 1: 8, 0.5: 3, 0.25: 1.75, 0.9: 6.8} { // numpy.quantile
		if got := Quantile(x, q); !near(got, want, 1e-12) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	for _, q := range []float64{-0.1, 1.1, 1.9, math.NaN()} {
		if got := Quantile(x, q); !math.IsNaN(got) {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
}
