package figure

import (
	"fmt"
	"math"
	"testing"

	"torchpe/internal/expect"
)

func TestReduce(t *testing.T) {
	for _, c := range []struct {
		values []float64
		band   Band
		want   meanPoint
	}{
		{[]float64{0.2, 0.4, 0.9}, BandMinMax, meanPoint{7, 0.5, 0.2, 0.9}},
		{[]float64{0.2, 0.4, 0.9}, "", meanPoint{7, 0.5, 0.5, 0.5}},
		// R: sd(c(.4, .5, .6)) is 0.1
		{[]float64{0.4, 0.5, 0.6}, BandSD, meanPoint{7, 0.5, 0.4, 0.6}},
		// numpy.std([0.9, 1, 1], ddof=1) is 0.0577350269
		{[]float64{0.9, 1, 1}, BandSD, meanPoint{7, 0.9666666667, 0.9089316398, 1.0244016936}},
		{[]float64{0.3}, BandSD, meanPoint{7, 0.3, 0.3, 0.3}},
		{[]float64{0, 2}, BandSD, meanPoint{7, 1, 1 - math.Sqrt2, 1 + math.Sqrt2}},
		{[]float64{0.3}, BandMinMax, meanPoint{7, 0.3, 0.3, 0.3}},
	} {
		got := reduce(7, c.values, c.band)
		far := func(a, b float64) bool { return math.Abs(a-b) > 1e-9 }
		if got.x != 7 || far(got.mean, c.want.mean) || far(got.lo, c.want.lo) ||
			far(got.hi, c.want.hi) {
			t.Errorf("%v with band %q: %v, want %v", c.values, c.band, got, c.want)
		}
	}
	for n, each := range map[int]int{1: 0, 2: 2, 3: 0} { // too few for an SD: the members are drawn
		s := summarize(LineSeries{X: []float64{0}, Values: [][]float64{{0}, {2}, {1}}[:n]}, BandSD)
		expect.Equal(t, fmt.Sprintf("of %d members are drawn", n), len(s.each), each)
		if n == 2 { // which are their own band
			expect.Equal(t, "the band of two members", s.points, []meanPoint{{0, 1, 0, 2}})
		}
	}
	few := summarize(LineSeries{X: []float64{0}, Values: [][]float64{{0}, {2}, {nan}}}, BandSD)
	expect.Near(t, "the band of two of three members", few.points[0].hi, 1+math.Sqrt2, 1e-12)
	if p := reduce(1, nil, BandSD); !math.IsNaN(p.mean) || !math.IsNaN(p.lo) || !math.IsNaN(p.hi) {
		t.Errorf("without values: %v, want NaN throughout", p)
	}
}

func TestStretches(t *testing.T) {
	s := summarize(LineSeries{Label: "x", X: []float64{1, 2, 3, 4, 5, 6}, Values: [][]float64{
		{nan, 0.1, 0.2, nan, 0.3, nan},
		{nan, 0.1, nan, nan, 0.5, nan},
	}}, BandMinMax)
	expect.Equal(t, "missing, all values and members", [3]int{s.missing, s.total, s.members}, [3]int{7, 12, 2})
	got := s.stretches()
	if len(got) != 2 || len(got[0]) != 2 || len(got[1]) != 1 || got[0][0].x != 2 ||
		got[1][0].x != 5 {
		t.Errorf("stretches %v, want x = 2 to 3 and 5", got)
	}
	last := s.last()
	expect.Equal(t, "last point", [2]float64{last.x, last.mean}, [2]float64{5, 0.4})
}
