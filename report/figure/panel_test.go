package figure

import (
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
)

func TestNiceTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		count  int
		want   string
	}{
		{0, 1, 6, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 1, 3, "0.0 0.5 1.0"},
		{-1, 1, 5, "−1.0 −0.5 0.0 0.5 1.0"},
		{0.11, 0.97, 5, "0.2 0.4 0.6 0.8"},
		{-20, 3, 4, "−20 −10 0"},
		{0, 2e6, 5, "0 5×10^5 1.0×10^6 1.5×10^6 2.0×10^6"},
		{0, 4e-6, 5, "0 1×10^−6 2×10^−6 3×10^−6 4×10^−6"},
		{1e6, 1e6 + 4, 5, "1000000 1000001 1000002 1000003 1000004"},
	} {
		expect.Equal(t, fmt.Sprintf("%g to %g", c.lo, c.hi), labelsOf(niceTicks(c.lo, c.hi, 0, c.count)), c.want)
	}
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.001, 1, "0.001 0.01 0.1 1"},
		{1e-5, 0.1, "10^−5 10^−4 10^−3 10^−2 10^−1"},
		{2, 30, "2 5 10 20"},
		{0.1, 2, "0.1 0.2 0.5 1 2"},
		{1e-9, 1e9, "10^−9 10^−5 10^−1 10^3 10^7"},
	} {
		var got []string
		for _, tick := range logTicks(c.lo, c.hi, 5) {
			if tick.Label != "" {
				got = append(got, tick.Label)
			}
		}
		expect.Equal(t, fmt.Sprintf("logarithmic, %g to %g", c.lo, c.hi), strings.Join(got, " "), c.want)
	}
}

// Where x counts something, ticks between the counts mean nothing.
func TestWholeTicks(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		log  bool
		want string
	}{
		{[]float64{1, 2, 3}, false, "1 2 3"},
		{[]float64{7, 8}, false, "7 8"},
		{[]float64{3}, false, "3"},
		{[]float64{0, 50, 100}, false, "0 20 40 60 80 100"},
		{[]float64{0, 4000}, false, "0 1000 2000 3000 4000"},
		{[]float64{95, 104}, false, "96 98 100 102 104"},
		{[]float64{1, 1.5, 3}, false, "1.0 1.5 2.0 2.5 3.0"},
		{[]float64{1, 2, 3}, true, "1 2"},
	} {
		series := LineSeries{Label: "a", X: c.x, Values: [][]float64{make([]float64, len(c.x))}}
		l := Lines{LogX: c.log, Series: []LineSeries{series}}
		x, _ := l.axes(l.art())
		got := strings.Join(strings.Fields(labelsOf(x.ticks(7))), " ")
		expect.Equal(t, fmt.Sprint("ticks for x of ", c.x), got, c.want)
	}
}

// Ticks are within their axis, few enough, distinct, and labelled with their numbers.
func TestTicksAreTrue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(31, 32))
	for range 3000 {
		size := math.Pow(10, float64(rnd.IntN(40)-20))
		values := []float64{size * rnd.NormFloat64(), size * rnd.NormFloat64()}
		log := rnd.IntN(3) == 0
		if log {
			values[0], values[1] = math.Abs(values[0]),
				math.Abs(values[1])*math.Pow(10, float64(rnd.IntN(8)))
		}
		a := rangeOf("", values, 0.04, log)
		count := 2 + rnd.IntN(6)
		ticks := a.ticks(count)
		seen := map[string]bool{}
		for _, tick := range ticks {
			if !a.contains(tick.Value) {
				t.Fatalf("%g lies outside %g to %g", tick.Value, a.lo, a.hi)
			}
			if tick.Label == "" {
				continue
			}
			if seen[tick.Label] {
				t.Fatalf("%g to %g: two ticks %q", a.lo, a.hi, tick.Label)
			}
			seen[tick.Label] = true
			s := strings.ReplaceAll(tick.Label, "−", "-")
			if base, exponent, ok := strings.Cut(s, "10^"); ok {
				if s = strings.TrimSuffix(base, "×") + "e" + exponent; base == "" {
					s = "1e" + exponent
				}
			}
			near := 0.01 * (a.hi - a.lo)
			if log {
				near = 0.01 * tick.Value
			}
			if v, err := strconv.ParseFloat(s, 64); err != nil || math.Abs(v-tick.Value) > near {
				t.Fatalf("%g to %g: the tick at %g is labelled %q (%v)", a.lo, a.hi, tick.Value,
					tick.Label, err)
			}
		}
		if len(seen) == 0 || len(seen) > max(count, 3) {
			t.Fatalf("%g to %g (log %v): %d labels, want 1 to %d", a.lo, a.hi, log, len(seen),
				count)
		}
	}
}

func TestQuartiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   [3]float64
		lo, hi float64
	}{
		// numpy.percentile(values, [25, 50, 75]); whiskers as matplotlib.cbook.boxplot_stats has
		// them
		{[]float64{7, 1, 3, 5, 9}, [3]float64{3, 5, 7}, 1, 9},
		{[]float64{1, 2, 3, 4}, [3]float64{1.75, 2.5, 3.25}, 1, 4},
		{[]float64{1, 2, 3, 4, 50}, [3]float64{2, 3, 4}, 1, 4},
		{[]float64{2, 2, 2, 2, 2}, [3]float64{2, 2, 2}, 2, 2},
		{[]float64{6}, [3]float64{6, 6, 6}, 6, 6},
	} {
		got := quartiles(c.values)
		lo, hi := whiskers(c.values, got)
		expect.Equal(t, fmt.Sprintf("%v: quartiles", c.values), got, c.want)
		expect.Equal(t, fmt.Sprintf("%v: whiskers", c.values), [2]float64{lo, hi}, [2]float64{c.lo, c.hi})
	}
}

// noteOf returns the note of a panel in a canvas.
func noteOf(t *testing.T, p Panel, c draw.Canvas) string {
	t.Helper()
	note, err := p.draw(c)
	expect.NoError(t, err)
	return note
}

func TestPanelNotes(t *testing.T) {
	group := func(label string, n int) Group {
		return Group{Label: label,
			Values: make([]float64, n)}
	}
	gap := group("gap", 6)
	gap.Values[2] = nan
	lines := func(band Band, series ...LineSeries) Lines { return Lines{Series: series, Band: band} }
	one, two, missing := flat("rope", 0.5, 1), flat("nope", 0.5, 2), flat("t5", 0.5, 2)
	missing.Values[1] = []float64{0.5, 0.5, nan}
	for _, c := range []struct {
		p    Panel
		want string
	}{
		{Boxes{Groups: []Group{group("a", 5), group("b", 5)}},
			"Box: quartiles and median; whiskers: up to 1.5 IQR; dots: models; n = 5 each."},
		{Boxes{Groups: []Group{group("a", 7), gap}},
			"Box: quartiles and median; whiskers: up to 1.5 IQR; dots: models; 1 of 13 values missing."},
		{Boxes{Groups: []Group{group("a", 7), group("b", 4)}},
			"Box: quartiles and median; whiskers: up to 1.5 IQR; dots: models; n < 5: median only."},
		{Boxes{Groups: []Group{group("a", 3)}}, "Line: median; dots: models; n = 3."},
		{Matrix{Rows: 1, Columns: 2, Values: []float64{1, nan}}, "Grey: no value (1 of 2 cells)."},
		{Matrix{Rows: 1, Columns: 1, Values: []float64{1}}, ""},
		{Matrix{Rows: 1, Columns: 1, Values: []float64{1}, Note: "n = 1 model"}, "n = 1 model."},
		{Matrix{Rows: 1, Columns: 2, Values: []float64{1, nan}, Note: "n = 1 model."},
			"n = 1 model. Grey: no value (1 of 2 cells)."},
		{Map{XY: make([][2]float64, 1), Note: "n = 1 model"}, "n = 1 model."},
		{Map{XY: make([][2]float64, 1)}, ""},
		{Lines{NoMembers: true, Series: []LineSeries{{Label: "a", X: []float64{1},
			Values: [][]float64{{2}}}}}, ""},
		{Lines{YMin: 0, YMax: 1, NoMembers: true,
			Series: []LineSeries{{Label: "a", X: []float64{1}, Values: [][]float64{{2}}}}},
			"The y axis cuts lines off."},
		{Lines{YMin: 0, YMax: 1, Series: []LineSeries{{Label: "a", X: []float64{1},
			Values: [][]float64{{2}}}}}, "One member per line (n = 1). The y axis cuts lines off."},
		{lines(BandMinMax, one), "One member per line (n = 1)."},
		{lines(BandMinMax, two), "Mean of n = 2 models; band: minimum to maximum."},
		{lines(BandSD, two), "Mean of n = 2 models; thin lines are the models."},
		{lines(BandSD, two, flat("cape", 0.5, 3)), "Mean of n = 2 to 3 models; band: ±1 SD; where n = 2, thin " +
			"lines are the models."},
		{lines("", two), "Mean of n = 2 models."},
		{lines("", one, two), "Mean of n = 1 to 2 models."},
		{lines("", missing), "Mean of n = 2 models; 1 of 6 values missing."},
	} {
		expect.Equal(t, fmt.Sprintf("%T: note", c.p), noteOf(t, c.p, draw.NewCanvas(newMeasure(), 200, 100)),
			c.want)
	}
	for _, c := range []struct { // n stands at the labels where it differs, and only there
		p     Panel
		n     string
		shown int
	}{
		{Boxes{Groups: []Group{group("a", 7), group("b", 4)}}, ">n=", 2},
		{Boxes{Groups: []Group{group("a", 7), group("b", 7)}}, ">n=", 0},
		{lines("", one, two), " (n=", 2},
		{lines("", two), " (n=", 0},
	} {
		svg := svgOf(alone(c.p, ColumnWidth, 2))
		expect.Equal(t, fmt.Sprintf("%T: labels with n", c.p), strings.Count(svg, c.n), c.shown)
	}
}

// The labels of groups stand upright where they fit, then in several lines, then turned, then
// thinned out.
func TestCategoryLabels(t *testing.T) {
	labelled := func(texts ...string) (all []category) {
		for _, s := range texts {
			all = append(all, category{text: s})
		}
		return all
	}
	for _, c := range []struct {
		all     []category
		width   vg.Length
		degrees int
		every   int
		lines   int
	}{
		{labelled("rope", "nope"), 100, 0, 1, 1},
		{labelled("absolute sinusoidal", "relative bias"), 100, 0, 1, 2},
		{labelled("absolute-sinusoidal", "relative-bias", "rope"), 100, 45, 1, 1},
		{labelled(numbered(20)...), 100, 90, 2, 1},
		{labelled("0.1", "0.2", "0.3", "0.4", "0.5", "0.6"), 60, 0, 2, 1},
		{labelled(numbered(1000)...), 100, 90, 81, 1},
	} {
		l := fitCategories(c.all, c.width, 30)
		if l.degrees != c.degrees || l.every != c.every || len(l.lines[0]) != c.lines {
			t.Errorf(
				"%d labels like %q in %g pt: %d degrees, one of %d, in %d lines, want %d, %d, %d",
				len(c.all), c.all[0].text, c.width,
				l.degrees, l.every, len(l.lines[0]), c.degrees, c.every, c.lines)
		}
		m := newMeasure()
		canvas := draw.NewCanvas(m, c.width, 20)
		l.draw(canvas)
		expect.Equal(t, fmt.Sprintf("%d labels like %q", len(c.all), c.all[0].text),
			m.take(vg.Rectangle{Min: vg.Point{X: -30, Y: -l.height}, Max: vg.Point{X: c.width, Y: 0}}), nil)
	}
}

// One unit is as long along x as along y, and the tokens fill the frame.
func TestMapKeepsShape(t *testing.T) {
	m := Map{XY: [][2]float64{{0, 0}, {3, 0}, {0, 4}, {-1e3, 2}}}
	c := draw.NewCanvas(newMeasure(), 200, 100)
	at := m.places(c)
	scale := math.Hypot(float64(at[0].X-at[1].X), float64(at[0].Y-at[1].Y)) / 3
	expect.Near(t, "third side of a triangle of 3, 4 and",
		math.Hypot(float64(at[1].X-at[2].X), float64(at[1].Y-at[2].Y))/scale, 5, 1e-9)
	expect.Equal(t, "y does not point upwards", at[2].Y <= at[0].Y, false)
	for _, p := range at {
		if p.X < 0 || p.X > 200 || p.Y < 0 || p.Y > 100 {
			t.Errorf("%v is outside the frame", p)
		}
	}
}

func TestGridEdges(t *testing.T) {
	edges := GridEdges(2, 3)
	if len(edges) != 7 || edges[0] != [2]int{0, 1} || edges[1] != [2]int{0, 3} {
		t.Errorf("edges %v of a grid of 2 x 3, want 7 from 0-1, 0-3 on", edges)
	}
	expect.Equal(t, "edges in no grid", len(GridEdges(-1, 3))+len(GridEdges(1, 1)), 0)
}

func TestNamedColor(t *testing.T) {
	// Names: the labels file of CAB-NP v1.1. Colours: mk.bcgsc.ca/colorblind, 12-colour palette.
	for name, want := range map[string]color.NRGBA{
		"Visual1": {0x00, 0x8d, 0xf9, 255}, "VISUAL-2": {0x84, 0x00, 0xcd, 255},
		"cingulo_opercular": {0x9f, 0x01, 0x62, 255}, "Orbito Affective": {0xff, 0x5a, 0xaf, 255},
		"Ventral-Multimodal": {0xff, 0x6e, 0x3a, 255}, "frontoparietal": {0xff, 0xc3, 0x3b, 255},
	} {
		if got, ok := namedColor(name); !ok || got != want {
			t.Errorf("%s has colour %v (%v), want %v", name, got, ok, want)
		}
	}
	if _, ok := namedColor("Limbic"); ok {
		t.Error("Limbic, of another partition, has a colour")
	}
	named := GroupColors(2, []string{"Visual1", "in question"})
	some := GroupColors(2, []string{"Visual1", "Limbic"})
	if named[0] != namedColors["visual1"] || named[1] != probeColor || some[0] != moduleColor(0) {
		t.Errorf("colours %v of groups with known names, %v if one is not known", named, some)
	}
	seen := map[color.NRGBA]bool{}
	for _, c := range GroupColors(12, nil) {
		if seen[c] {
			t.Errorf("two of twelve groups have the colour %v", c)
		}
		seen[c] = true
	}
}
