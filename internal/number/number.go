// Package number formats numbers for readers. Tables, figures, captions and messages use it, so
// that rounding is decided in one place. A missing number (NaN) is written as [Dash], and a minus
// sign is U+2212 unless a function says otherwise.
package number

import (
	"math"
	"strconv"
	"strings"
)

// Dash stands for a missing number.
const Dash = "–"

// huge is the smallest magnitude that Fixed writes with an exponent.
const huge = 1e15

// Fixed writes v with the given number of decimals: "0.950", "−1.20", "∞".
func Fixed(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return Dash
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	}
	format := byte('f')
	if math.Abs(v) >= huge {
		format = 'e'
	}
	s := strconv.FormatFloat(v, format, decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-") // -0.0004 is 0.000, not −0.000
	}
	return Minus(s)
}

// Parse reads a decimal number. It refuses what Go's syntax adds, because users do not mean it: 0_2 for 0.2, and
// hexadecimal numbers.
func Parse(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && strings.ContainsAny(text, "xX_") {
		return 0, &strconv.NumError{Func: "Parse", Num: text, Err: strconv.ErrSyntax}
	}
	return v + 0, err // 0 for -0
}

// Canonical returns the same text for equal numbers, and for lists of them: 0.5 for .50, 10000,1 for 1e4,1.0. Other
// texts stay as they are.
func Canonical(text string) string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		v, err := Parse(part)
		switch {
		case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		case v != 0 && math.Abs(v) < 1e-6 || math.Abs(v) >= huge:
			parts[i] = strconv.FormatFloat(v, 'g', -1, 64)
		default:
			parts[i] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return strings.Join(parts, ",")
}

// Percent writes a share from 0 to 1 as a whole percentage: "50 %", with a blank that does not break.
func Percent(share float64) string { return Fixed(100*share, 0) + "\u00a0%" }

// Bare writes a number from -1 to 1 without the zero before its point, as APA style does (7th edition,
// section 6.36): ".96", "−.05".
func Bare(v float64, decimals int) string {
	s := Fixed(v, decimals)
	if rest, ok := strings.CutPrefix(s, "−0."); ok {
		return "−." + rest
	}
	if rest, ok := strings.CutPrefix(s, "0."); ok {
		return "." + rest
	}
	return s
}

// P writes a p-value: ".043", or "< .001" for smaller values.
func P(p float64) string {
	if p < 0.001 {
		return "< .001"
	}
	return Bare(p, 3)
}

// PText writes a p-value with its letter: "p = .043", "p < .001".
func PText(p float64) string {
	if p < 0.001 {
		return "p " + P(p)
	}
	return "p = " + P(p)
}

// Short writes v with at most the given number of significant digits and no trailing zeros: "0.25",
// "1e-05". It writes a missing or infinite number as Dash. It keeps the hyphen, because programs read
// its texts too.
func Short(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Dash
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// Exact writes v for programs, with the fewest digits that read back as v. It uses an exponent when
// encoding/json does. A missing number is empty.
func Exact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(v, format, -1, 64)
}

// Step writes v as the label of a tick, with the decimals that ticks in steps of the given size need:
// "0.25", "−1". If powers is true, it writes a power of ten, "2×10^6", whose exponent follows "^".
func Step(v, step float64, powers bool) string {
	last := magnitude(step)
	if v = math.Round(v/step) * step; v == 0 {
		v = 0 // not a negative zero
	}
	if !powers {
		return Minus(strconv.FormatFloat(v, 'f', max(0, -last), 64))
	}
	if v == 0 {
		return "0"
	}
	exponent := magnitude(v)
	mantissa := strconv.FormatFloat(v/math.Pow(10, float64(exponent)), 'f', max(0, exponent-last), 64)
	return Minus(mantissa + "×10^" + strconv.Itoa(exponent))
}

// Digits writes v with the given number of significant digits, as Step writes ticks: "0.50",
// "1.2×10^7".
func Digits(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	step := math.Pow(10, float64(magnitude(v)-digits+1))
	v = math.Round(v/step) * step // may gain a digit
	step = math.Pow(10, float64(magnitude(v)-digits+1))
	return Step(v, step, NeedsPowers(v, step))
}

// DecimalsFor returns decimals, or, for a number that would be shown as 0, those that show two of its digits. What is
// below 1e-12 is rounding.
func DecimalsFor(v float64, decimals int) int {
	if size := math.Abs(v); size >= 1e-12 && size < .5*math.Pow10(-decimals) {
		return 1 - magnitude(v)
	}
	return decimals
}

// NeedsPowers reports whether ticks up to the given size, in the given steps, are written with powers
// of ten.
func NeedsPowers(size, step float64) bool {
	size = math.Abs(size)
	return (size >= 1e6 || size < 1e-3) && size/step <= 1e4 || size >= 1e15 || step < 1e-9
}

// magnitude returns the exponent of ten of the first digit of v.
func magnitude(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)) + 1e-9)) }

// Minus replaces the hyphens of a number by minus signs.
func Minus(s string) string { return strings.ReplaceAll(s, "-", "−") }
