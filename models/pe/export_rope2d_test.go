package pe

// MixedStart returns the frequencies [2,H,pairs] with which mixed rotations start, for a draw from
// U(0, 1) for each head.
func MixedStart(draws []float64, base float64, pairs int) []float64 {
	out := make([]float64, 2*len(draws)*pairs)
	mixedStart(out, base, pairs, func() float64 {
		u := draws[0]
		draws = draws[1:]
		return u
	})
	return out
}
