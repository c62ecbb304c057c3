package catalogue

import (
	"math"
	"slices"
)

// angleErrors lists errors that implementations make with the angles of rotations or sinusoids. Errors in one
// list exclude each other.
var angleErrors = [][]choice{
	{byAngles("sine and cosine swapped", func(a *angles) error { // cos(pi/2 - x) = sin x
		a.sign, a.quarter = -a.sign, !a.quarter
		return nil
	})},
	{byAngles("rotated in the other direction", rotation(func(a *angles) error {
		if a.quarter {
			return errNoEffect // the order of the two would matter
		}
		a.sign = -a.sign
		return nil
	}))},
	{
		byAngles("k not rotated", rotatedTimes(1, 0)), byAngles("q not rotated", rotatedTimes(0, 1)),
		byAngles("q and k not rotated", rotatedTimes(0, 0)), byAngles("q and k rotated twice", rotatedTimes(2, 2)),
		byAngles("q rotated twice", rotatedTimes(2, 1)), byAngles("k rotated twice", rotatedTimes(1, 2)),
		byAngles("q rotated in the other direction", rotatedTimes(-1, 1)),
		byAngles("k rotated in the other direction", rotatedTimes(1, -1)),
	},
	roundingErrors(),
	{
		byAngles("positions divided by the scale (no ramp)", func(a *angles) error {
			if kind := a.options["rope-yarn"]; kind == "by-parts" ||
				kind == "" && a.options["llama3-low"] == "" {
				return errNoEffect
			}
			return a.setFrequencies(func(_ int, plain float64) float64 { return plain / a.stretch() })
		}),
		byAngles("ramp inverted", llama3(func(g float64) float64 { return 1 - g })),
		byAngles("ramp inverted between the bands", llama3(func(g float64) float64 {
			if g > 0 && g < 1 {
				return 1 - g
			}
			return g
		})),
	},
	{
		byAngles("attention factor 1", withPower(0, "rope-yarn", "longrope-magnitude")),
		byAngles("attention factor squared", withPower(2, "rope-yarn", "longrope-magnitude")),
		byAngles("decay missing", withPower(0, "xpos-gamma")),
	},
	{
		byAngles("pairs of rows and columns alternate", func(a *angles) error { return a.alternate(false) }),
		byAngles("pairs of rows and columns alternate, with the frequencies of one rotation",
			func(a *angles) error { return a.alternate(true) }),
	},
}

// layoutErrors lists layouts of rotations that no option has.
var layoutErrors = []struct{ name, phrase string }{
	{"tiled", "neighbouring pairs with cosines laid out for halves (cos tiled, not repeated)"},
	{"repeated", "half-split pairs with cosines laid out for neighbours (cos repeated, not tiled)"},
	{"evens first", "interleaved pairs, written as evens then odds"},
	{"interleaving", "half-split pairs, written side by side"},
	{"across", "half-split pairs across the head, not within each coordinate's part"},
	{"half", "half-split pairs within each coordinate's part, not across the head"},
}

// setLayout sets the layout with a name.
func (a *angles) setLayout(name string) error {
	axes, across := len(a.law.slope), a.options["dinov3-layout"] != ""
	if name == "across" && (axes == 1 || across) || name == "half" && !across {
		return errNoEffect // an option covers it
	}
	a.layout = newLayout(name, a.pairs, axes)
	return nil
}

// rotation restricts an error to rotations.
func rotation(apply func(*angles) error) func(*angles) error {
	return func(a *angles) error {
		if a.fixed != nil {
			return errNoEffect
		}
		return apply(a)
	}
}

// rotatedTimes multiplies the angles of queries and keys by factors.
func rotatedTimes(q, k float64) func(*angles) error {
	return rotation(func(a *angles) error {
		for which, times := range []float64{q, k} {
			a.of[which].times, a.of[which].power = times, math.Abs(times)
		}
		return nil
	})
}

// roundingErrors returns errors due to angles in half precision.
func roundingErrors() (all []choice) {
	for _, format := range halfFormats {
		add := func(what string, position, frequency, angle bool) {
			all = append(all, byAngles(what+" rounded to "+format.name, func(a *angles) error {
				if !a.linear {
					return errNoEffect
				}
				a.round = rounding{format.bits, position, frequency, angle}
				return nil
			}))
		}
		add("positions", true, false, false)
		add("frequencies", false, true, false)
		add("positions and frequencies", true, true, false)
		add("angles", false, false, true)
		add("positions, frequencies and angles", true, true, true)
	}
	return all
}

// withPower raises the factor of queries and keys to a power, for schemes with one of the options.
func withPower(power float64, options ...string) func(*angles) error {
	return func(a *angles) error {
		if !slices.ContainsFunc(options, func(name string) bool { return a.options[name] != "" }) {
			return errNoEffect
		}
		a.of[0].power, a.of[1].power = power, power
		return nil
	}
}

// trained returns the number of tokens with which a rotation was trained.
func (a *angles) trained() float64 {
	if n := a.options.Float("rope-trained-tokens"); n > 0 {
		return n
	}
	return float64(a.tokens)
}

// stretch returns the length of the sequence relative to the trained length.
func (a *angles) stretch() float64 {
	if a.options["rope-yarn"] == "dynamic" {
		return max(1, float64(a.tokens)/a.trained())
	}
	return a.options.Float("rope-scale")
}

// setFrequencies sets each frequency of the law to f of its pair and its frequency without a scale.
func (a *angles) setFrequencies(f func(pair int, plain float64) float64) error {
	if !a.linear || len(a.law.slope) != 1 {
		return errNoEffect
	}
	base := a.options.Float("rope-base")
	for k, was := range slices.Clone(a.law.slope[0]) {
		next := f(k, math.Pow(base, -float64(k)/float64(a.pairs)))
		if was == 0 {
			return errNoEffect
		}
		a.law.start[k] *= next / was
		a.law.slope[0][k] = next
	}
	return nil
}

// llama3 changes the weight g of the frequency without a scale, which is 0 and 1 at the ends of the ramp.
func llama3(weight func(g float64) float64) func(*angles) error {
	return func(a *angles) error {
		low, high := a.options.Float("llama3-low"), a.options.Float("llama3-high")
		if low == 0 {
			return errNoEffect
		}
		return a.setFrequencies(func(_ int, plain float64) float64 {
			turns := (a.trained()*plain/(2*math.Pi) - low) / (high - low)
			g := weight(min(max(turns, 0), 1))
			return (1-g)*plain/a.stretch() + g*plain
		})
	}
}

// stretchPlaces multiplies positions by a factor.
func (a *angles) stretchPlaces(by float64) error {
	if !a.linear {
		return errNoEffect
	}
	for k := range a.law.start {
		a.law.start[k] *= by
		for axis := range a.law.slope {
			a.law.slope[axis][k] *= by
		}
	}
	return nil
}

// alternate assigns pairs to two coordinates alternately, with the frequencies of each, or with those of one
// rotation of the whole head.
func (a *angles) alternate(ofOne bool) error {
	if !a.linear || len(a.law.slope) != 2 || a.pairs%2 != 0 {
		return errNoEffect
	}
	old := a.clone()
	base := a.base()
	for p := range a.pairs {
		from := p%2*(a.pairs/2) + p/2
		ratio := 1.0
		if ofOne {
			ratio = math.Pow(base, 2*float64(p/2)/float64(a.pairs)-float64(p)/float64(a.pairs))
		}
		a.law.start[p] = ratio * old.law.start[from]
		for axis := range a.law.slope {
			a.law.slope[axis][p] = ratio * old.law.slope[axis][from]
		}
	}
	return nil
}

// base returns the base of the frequencies.
func (a *angles) base() float64 {
	for _, name := range baseOptions {
		if v := a.options.Float(name); v > 0 {
			return v
		}
	}
	return 100 // --rope-2d-base auto
}

// baseOptions lists the options that hold the base of frequencies.
var baseOptions = []string{"rope-base", "sinusoid-base", "rope-2d-base"}
