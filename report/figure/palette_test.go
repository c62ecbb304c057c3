package figure

import (
	"fmt"
	"image/color"
	"math"
	"testing"

	"torchpe/internal/expect"
)

func TestColoursFollowNames(t *testing.T) {
	alone := lineStyles([]string{"alibi"})["alibi"]
	crowd := lineStyles([]string{"2d-fixed", "learn σ=0.2", "alibi", "rope", "learn-0.2",
		"learn σ = 0.2"})
	for label, want := range map[string]lineStyle{
		"2d-fixed": {black, solid}, "rope": {vermillion, solid}, "learn-0.2": crowd["learn σ=0.2"],
		"learn σ = 0.2": crowd["learn σ=0.2"],
	} {
		expect.Equal(t, label+" has style", fmt.Sprint(crowd[label]), fmt.Sprint(want))
	}
	expect.Equal(t, "style of alibi beside others and alone", fmt.Sprint(crowd["alibi"]), fmt.Sprint(alone))
	for _, label := range []string{"learn", "learn σ=", "learn σ=x", "learn σ=0", "learn 0.2",
		"relearn-0.2"} {
		if s, ok := styleByName(label); ok {
			t.Errorf("%q has the style %v of a learned encoding", label, s)
		}
	}
}

func TestStylesAreDistinct(t *testing.T) {
	var labels []string
	for i := range 4 * len(categories) {
		labels = append(labels, fmt.Sprint("scheme ", i))
	}
	seen := map[string]string{}
	for label, s := range lineStyles(labels) {
		if other, ok := seen[fmt.Sprint(s)]; ok {
			t.Errorf("%s and %s share the style %v", label, other, s)
		}
		seen[fmt.Sprint(s)] = label
	}
	expect.Equal(t, "styles", len(lineStyles(append(labels, "one too many", "two too many"))), len(labels)+2)
}

// learnGrid returns the colours of σ = 0.1 to 2.0.
func learnGrid() (all []color.NRGBA) {
	for i := range 20 {
		all = append(all, learnColor(float64(i+1)/10))
	}
	return all
}

// Colours become lighter with σ. With every kind of colour blindness those that are often neighbours differ by
// 14 or more CIE76 units (2.3 is just noticeable).
func TestLearnRamp(t *testing.T) {
	grid := learnGrid()
	for i := 1; i < len(grid); i++ {
		if contrastWithWhite(grid[i-1]) <= contrastWithWhite(grid[i]) {
			t.Errorf("σ = %.1f is not lighter than the one before", float64(i+1)/10)
		}
	}
	for _, pair := range [][2]int{{1, 2}, {7, 10}, {2, 10}, {10, 20}} { // tenths of σ
		checkApart(t, 14, grid[pair[0]-1], grid[pair[1]-1])
	}
	for _, ends := range [][2]float64{{1e-9, 0.01}, {1e9, 3}} {
		expect.Equal(t, fmt.Sprintf("colour of σ = %g, outside the ramp", ends[0]), learnColor(ends[0]),
			learnColor(ends[1]))
	}
}

// The σ that the paper's grids add to 0.1 to 2.0 differ from each other and from those, and from
// all other encodings, by 20 or more CIE76 units with normal vision and every kind of colour
// blindness, and can be seen on white: WCAG 2.1 (1.4.11) asks graphics for 3 to 1. Beyond 2.0,
// whose own contrast is 2.1, more must do.
func TestLearnOutsideGrid(t *testing.T) {
	all := append([]color.NRGBA{black, grey}, categories...)
	grid := learnGrid()
	all = append(all, grid...)
	for _, c := range []struct{ sigma, contrast float64 }{{0.01, 3}, {0.05, 3},
		{3, contrastWithWhite(grid[19])}} {
		got := learnColor(c.sigma)
		for _, other := range all {
			checkApart(t, 20, got, other)
		}
		if have := contrastWithWhite(got); have < c.contrast {
			t.Errorf("σ = %g has contrast %.1f with white, want %.1f", c.sigma, have, c.contrast)
		}
		all = append(all, got)
	}
	dashes := map[string]string{}
	for _, label := range []string{"learn-0.01", "learn-0.05", "learn-0.1"} {
		s, _ := styleByName(label)
		if other, ok := dashes[fmt.Sprint(s.dashes)]; ok {
			t.Errorf("%s and %s have the same dashes", label, other)
		}
		dashes[fmt.Sprint(s.dashes)] = label
	}
	if s, _ := styleByName("learn-2.0"); s.dashes != nil {
		t.Error("a line of the main grid is dashed")
	}
}

// Lines of learned encodings in one panel differ by 15 CIE76 units or in their dashes, and a σ has one
// colour beside all others.
func TestLearnedLinesAreToldApart(t *testing.T) {
	for _, sigmas := range [][]string{{"0.1", "0.2", "0.5", "0.7", "1.0", "2.0"}, {"0.2", "1.0", "2.0"},
		{"0.7", "1.0"}, {"1.7", "1.8", "1.9"}, {"0.01", "0.05", "0.1", "0.2", "3.0"}} {
		styles := labels(func(i int) (string, string) { return sigmas[i], "learn σ=" + sigmas[i] }).styles(
			len(sigmas), true)
		for i, s := range styles {
			if named, _ := styleByName("learn-" + sigmas[i]); s.color != named.color {
				t.Errorf("%v: σ = %s has the colour %v, elsewhere %v", sigmas, sigmas[i], s.color, named.color)
			}
			if i > 0 && fmt.Sprint(s.dashes) == fmt.Sprint(styles[i-1].dashes) &&
				colorDistance(s.color, styles[i-1].color, blindness["none"]) < 15 {
				t.Errorf("%v: σ = %s and %s look alike", sigmas, sigmas[i-1], sigmas[i])
			}
		}
	}
}

func TestReadable(t *testing.T) {
	// WCAG: the largest contrast there is
	expect.Near(t, "contrast of black with white", contrastWithWhite(black), 21, 1e-9)
	// WebAIM's contrast checker: 4.48:1
	expect.Near(t, "contrast of #777777 with white", contrastWithWhite(rgb(0x777777)), 4.48, 0.005)
	for _, c := range append(append([]color.NRGBA{grey, rgb(0xffffff)}, rampColors()...),
		categories...) {
		if got := contrastWithWhite(readable(c)); got < 4.5 {
			t.Errorf("text in %v darkened to %v has contrast %v", c, readable(c), got)
		}
	}
	expect.Equal(t, "black is changed", readable(black), black)
}

// Machado, Oliveira and Fernandes (2009), "A physiologically-based model for simulation of color
// vision deficiency", severity 1.0, on linear RGB.
var blindness = map[string][3][3]float64{
	"none": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216},
		{-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413},
		{-0.011820, 0.042940, 0.968881}},
	"tritanopia": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602},
		{0.004733, 0.691367, 0.303900}},
}

// lab is c as seen with the given blindness, in CIE L*a*b* (D65).
func lab(c color.NRGBA, blind [3][3]float64) [3]float64 {
	lin := func(v uint8) float64 {
		if x := float64(v) / 255; x > 0.04045 {
			return math.Pow((x+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	times := func(m [3][3]float64, v [3]float64) (out [3]float64) {
		for i := range m {
			for j := range v {
				out[i] += m[i][j] * v[j]
			}
			out[i] = max(out[i], 0)
		}
		return out
	}
	xyz := times([3][3]float64{{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722},
		{0.0193, 0.1192, 0.9505}},
		times(blind, [3]float64{lin(c.R), lin(c.G), lin(c.B)}))
	f := func(t float64) float64 {
		if t > 216./24389 {
			return math.Cbrt(t)
		}
		return (24389./27*t + 16) / 116
	}
	x, y, z := f(xyz[0]/0.95047), f(xyz[1]), f(xyz[2]/1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// colorDistance is CIE76's between two colours as seen with the given blindness.
func colorDistance(a, b color.NRGBA, blind [3][3]float64) float64 {
	x, y := lab(a, blind), lab(b, blind)
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}

// checkApart checks that two colours differ by at least so many CIE76 units with every kind of colour
// blindness.
func checkApart(t *testing.T, least float64, a, b color.NRGBA) {
	t.Helper()
	for name, blind := range blindness {
		if d := colorDistance(a, b, blind); d < least {
			t.Errorf("with %s #%02x%02x%02x and #%02x%02x%02x are only %.1f apart, want %g", name, a.R, a.G, a.B,
				b.R, b.G, b.B, d, least)
		}
	}
}

// rampColors are the colours that the ramp for learned encodings is mixed from.
func rampColors() (all []color.NRGBA) {
	for _, stop := range learnRamp {
		all = append(all, stop.color)
	}
	return all
}

// Any two colours of the palette differ by 10 or more CIE76 units (2.3 is just noticeable) for
// every kind of colour blindness.
func TestColourBlindSafe(t *testing.T) {
	all := append(append([]color.NRGBA{black, grey}, categories...), rampColors()...)
	for i, a := range all {
		for _, b := range all[:i] {
			checkApart(t, 10, a, b)
		}
	}
}

// No module has the colour of an encoding.
func TestModulesAreNoEncodings(t *testing.T) {
	for i := range 2 * len(moduleColors) {
		for _, style := range namedStyles {
			if moduleColor(i) == style.color {
				t.Errorf("module %d has the colour %v of an encoding", i, style.color)
			}
		}
	}
}
