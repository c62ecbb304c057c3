package catalogue

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"torchpe/models/pe"
)

// beside returns errors that exclude the values of an option.
func (c Check) beside(option string, resolved pe.Options, fit fitted) (all []choice) {
	width := c.Setting.headWidth()
	switch option {
	case "positions-from":
		return c.firstPositions(fit)
	case "rope-layout", "dinov3-layout":
		for _, l := range layoutErrors {
			ch := byAngles(l.phrase, func(a *angles) error { return a.setLayout(l.name) })
			ch.usual = true
			all = append(all, ch)
		}
	case "rope-dims":
		if resolved[option] == "all" {
			all = c.partOfHead(resolved.Float("rope-base"), fit.parts(width)...)
		}
	case "rope-base":
		if n := resolved.Int("rope-dims"); n > 0 && n < width {
			all = c.partOfHead(resolved.Float(option), n)
		}
		all = append(all, sameAsBase("exponent k/Dh instead of 2k/Dh", option, math.Sqrt(resolved.Float(option))))
	case "sinusoid-layout":
		all = []choice{byOptions("exponent 2 x column (instead of 2 floor(column/2))", pe.Options{
			"sinusoid-layout": "tutorial",
			"sinusoid-base":   plain(math.Pow(resolved.Float("sinusoid-base"), 2)),
		})}
	case "rope-2d-base":
		base := resolved.Float(option)
		if base == 0 {
			base = 100
		}
		all = []choice{sameAsBase("frequencies of the whole head for each coordinate (base^(-2k/Dh))",
			option, math.Sqrt(base))}
	case "sinusoid-base":
		all = []choice{sameAsBase("exponent k/D instead of 2k/D", option, math.Sqrt(resolved.Float(option)))}
		h := float64(c.Setting.DModel / 2)
		if c.Scheme.Name == "1d-fixed" && h > 1 && resolved["sinusoid-layout"] != "t2t" {
			all = append(all, sameAsBase("frequencies down to 1/base (exponent k/(D/2 - 1))", option,
				math.Pow(resolved.Float(option), h/(h-1))))
		}
	case "rope-unit":
		for _, text := range rounds(append(fit.scales, 16, 14), nearScales...) {
			by, _ := strconv.ParseFloat(text, 64)
			if math.Abs(by-1) > 1e-3 {
				unit := pe.Options{"rope-unit": plain(resolved.Float(option) / by)}
				ch := byOptions(scalePhrase("coordinates", by), unit)
				ch.fitted = by != 16 && by != 14
				all = append(all, ch)
			}
		}
	case "yarn-beta-fast":
		all = []choice{byOptions("beta_fast and beta_slow swapped", pe.Options{
			"yarn-beta-fast": resolved["yarn-beta-slow"], "yarn-beta-slow": resolved["yarn-beta-fast"]})}
	}
	return all
}

// sameAsBase returns the choice for an error that gives the same numbers as another base.
func sameAsBase(phrase, option string, base float64) choice {
	return byOptions(phrase, pe.Options{option: plain(base)})
}

// partOfHead returns choices in which part of a head is rotated with the frequencies of the whole head.
func (c Check) partOfHead(base float64, parts ...int) (all []choice) {
	width := c.Setting.headWidth()
	for _, n := range parts {
		same := plain(math.Pow(base, float64(n)/float64(width)))
		text := fmt.Sprintf("%d dimensions of a head rotated, with the frequencies of the whole head "+
			"(base^(-2k/%d))", n, width)
		all = append(all, byOptions(text, pe.Options{"rope-dims": strconv.Itoa(n), "rope-base": same}))
	}
	return all
}

// firstPositions returns choices of first positions that no option covers.
func (c Check) firstPositions(fit fitted) (all []choice) {
	if c.base == nil || !c.base.linear {
		return nil
	}
	add := func(text string, q, k float64, fitted bool) {
		ch := byAngles(text, func(a *angles) error {
			a.of[0].shift, a.of[1].shift = q, k
			if !a.linear {
				return errNoEffect
			}
			return nil
		})
		ch.usual, ch.fitted = true, fitted
		all = append(all, ch)
	}
	add("positions half a step further (centres of cells)", 0.5, 0.5, false)
	if hasOption(c.Scheme, "dinov3-offset") {
		add("positions half a step back (corners of cells)", -0.5, -0.5, false)
	}
	own, ok := c.base.law.first()
	if !ok {
		return all
	}
	const apart = "positions of q from %g, of k from %g"
	known := [][2]float64{{own, own}, {own + 0.5, own + 0.5}}
	if c.Given.output(kindQuery) != nil && c.Given.output(kindKey) != nil {
		add(fmt.Sprintf(apart, own+1, own), 1, 0, false)
		add(fmt.Sprintf(apart, own, own+1), 0, 1, false)
		known = append(known, [2]float64{own + 1, own}, [2]float64{own, own + 1})
	}
	if hasOption(c.Scheme, "positions-from") {
		known = append(known, [2]float64{0, 0}, [2]float64{1, 1})
	}
	for _, first := range fit.shifts {
		if slices.Contains(known, first) {
			continue
		}
		known = append(known, first)
		text := fmt.Sprintf(apart, first[0], first[1])
		if first[0] == first[1] {
			text = fmt.Sprintf("positions from %g", first[0])
		}
		add(text, first[0]-own, first[1]-own, true)
	}
	return all
}

// scaled returns choices in which positions are multiplied by a factor estimated from the arrays.
func (c Check) scaled(fit fitted) (all []choice) {
	if hasOption(c.Scheme, "rope-unit") {
		return nil
	}
	for _, scale := range fit.scales {
		divided := scale < 1
		if divided {
			scale = 1 / scale
		}
		for _, text := range rounds([]float64{scale}, nearScales...) {
			by, _ := strconv.ParseFloat(text, 64)
			if by < 1.001 {
				continue
			}
			if divided {
				by = 1 / by
			}
			what := scalePhrase("positions", by)
			if c.Scheme.Name == "rope" && divided {
				what += " (rope-pi --rope-scale " + text + ")"
			}
			ch := byAngles(what, func(a *angles) error { return a.stretchPlaces(by) })
			ch.fitted, ch.usual = true, true
			all = append(all, ch)
		}
	}
	return all
}

// scalePhrase describes positions multiplied by a factor.
func scalePhrase(what string, by float64) string {
	if by < 1 {
		return fmt.Sprintf("%s divided by %.6g", what, 1/by)
	}
	if what == "coordinates" {
		return fmt.Sprintf("%s times %.6g (pixels instead of cells)", what, by)
	}
	return fmt.Sprintf("%s times %.6g", what, by)
}
