package pe

import (
	"fmt"
	"math"
)

var (
	sinusoidBase = Option{Name: "sinusoid-base", Default: "10000", Check: number(1, math.Inf(1)),
		Help: "base of the wavelengths of sinusoids"}
	sinusoidLayout = Option{Name: "sinusoid-layout", Default: "interleaved",
		Check: oneOf("interleaved", "tutorial", "concat", "t2t"),
		Help: "columns of sinusoids: sine beside cosine of each frequency; a frequency for each " +
			"column; " +
			"all sines before all cosines; the same with frequencies down to 1/base"}
)

// sinusoidRow returns a function that writes the sinusoid of position p to out. The head of
// sinusoid1d.go lists the layouts. width is D in the exponents. Where the number of columns is odd
// the last is a sine; with t2t it stays 0.
func sinusoidRow(layout string, base float64, width int) func(p float64, out []float64) {
	last := width / 2
	switch layout {
	case "interleaved":
		return func(p float64, out []float64) {
			for i := 0; i < len(out); i += 2 {
				angle := p / math.Pow(base, float64(i)/float64(width))
				if out[i] = math.Sin(angle); i+1 < len(out) {
					out[i+1] = math.Cos(angle)
				}
			}
		}
	case "tutorial":
		return func(p float64, out []float64) {
			for j := range out {
				angle := p * math.Pow(base, -float64(j)/float64(width))
				if out[j] = math.Sin(angle); j%2 == 1 {
					out[j] = math.Cos(angle)
				}
			}
		}
	case "t2t":
		last--
	}
	return func(p float64, out []float64) {
		h := len(out) / 2
		for i := range h {
			out[i], out[h+i] = math.Sincos(p * math.Pow(base, -float64(i)/float64(last)))
		}
	}
}

// oddWidth returns the error of a d_model that has no pairs.
func (c Config) oddWidth() error {
	return fmt.Errorf("%s: d_model %d is odd; sines and cosines come in pairs", c.scheme, c.DModel)
}

// checkSinusoid returns an error where a scheme's sinusoid of so many columns, with the given width
// in its exponents, has no such layout.
func checkSinusoid(scheme, layout string, columns, width int) error {
	if layout == "concat" && columns%2 != 0 {
		return fmt.Errorf("%s: a sinusoid of width %d is odd, and --sinusoid-layout concat has as "+
			"many sines as cosines: take another d_model or layout", scheme, columns)
	}
	if layout == "t2t" && width < 4 {
		return fmt.Errorf("%s: a sinusoid of width %d has one frequency, "+
			"and --sinusoid-layout t2t "+
			"spreads at least two: take a larger d_model or another layout", scheme, width)
	}
	return nil
}
