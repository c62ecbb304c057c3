package catalogue

import (
	"math"

	"torchpe/data/array"
)

// port is a rotation as public code writes it: x * cos + rotate(x) * sin, with tables of cosines and sines
// that have a column for each dimension that is turned.
type port struct {
	halves   bool // rotate takes halves of the dimensions, else neighbours
	repeated bool // column d of the tables has angle d/2, else d mod r/2
	evens    bool // the output is all even dimensions, then all odd ones
	angles   func(token int) []float64
	factor   float64
}

func (p port) of(name string, x array.Array) array.Array {
	width := x.Shape[2]
	factor := p.factor
	if factor == 0 {
		factor = 1
	}
	out := array.Array{Name: name, Shape: x.Shape, Data: append([]float64(nil), x.Data...)}
	for at := 0; at < len(x.Data); at += width {
		angles := p.angles(at / width % x.Shape[1])
		pairs := len(angles)
		from := x.Data[at : at+width]
		turned := make([]float64, 2*pairs)
		for d := range turned {
			angle := angles[d%pairs]
			if p.repeated {
				angle = angles[d/2]
			}
			var other float64
			switch {
			case p.halves && d < pairs:
				other = -from[d+pairs]
			case p.halves:
				other = from[d-pairs]
			case d%2 == 0:
				other = -from[d+1]
			default:
				other = from[d-1]
			}
			turned[d] = factor * (from[d]*math.Cos(angle) + other*math.Sin(angle))
		}
		for d, v := range turned {
			to := d
			if p.evens {
				to = d/2 + d%2*pairs
			}
			out.Data[at+to] = v
		}
	}
	return out
}

// powers returns base^(-2k/exponent) for a number of pairs.
func powers(base float64, pairs, exponent int) []float64 {
	all := make([]float64, pairs)
	for k := range all {
		all[k] = math.Pow(base, -2*float64(k)/float64(exponent))
	}
	return all
}

// lineAngles returns the angles of places on a line.
func lineAngles(theta []float64, place func(token int) float64) func(int) []float64 {
	return func(token int) []float64 {
		all := make([]float64, len(theta))
		for k, v := range theta {
			all[k] = v * place(token)
		}
		return all
	}
}

func from(first float64) func(int) float64 {
	return func(token int) float64 { return first + float64(token) }
}

// bfloat16 rounds to 8 significant bits, by the bits of a float32.
func bfloat16(v float64) float64 {
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// roundPlace returns a token's place in bfloat16.
func roundPlace(token int) float64 { return bfloat16(float64(token)) }

func each(values []float64, f func(float64) float64) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = f(v)
	}
	return all
}

// yarnTheta returns the frequencies of YaRN with a ramp from pair low to pair high.
func yarnTheta(plain []float64, scale, low, high float64) []float64 {
	all := make([]float64, len(plain))
	for k, v := range plain {
		ramp := math.Min(math.Max((float64(k)-low)/(high-low), 0), 1)
		all[k] = v/scale*ramp + v*(1-ramp)
	}
	return all
}

// llama3Theta returns Llama 3's frequencies, by branches as public code has them. inverted exchanges the
// weights within the band.
func llama3Theta(plain []float64, scale, trained float64, inverted bool) []float64 {
	all := make([]float64, len(plain))
	for k, v := range plain {
		wavelength := 2 * math.Pi / v
		smooth := (trained/wavelength - 1) / (4 - 1)
		switch {
		case wavelength < trained/4:
			all[k] = v
		case wavelength > trained:
			all[k] = v / scale
		case inverted:
			all[k] = smooth*v/scale + (1-smooth)*v
		default:
			all[k] = (1-smooth)*v/scale + smooth*v
		}
	}
	return all
}
