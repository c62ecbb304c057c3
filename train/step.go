package train

// running sums up what training saw since the last record, for each member.
type running struct {
	loss    []float64 // sum over examples
	correct []float64
	seen    float64
}

func newRunning(members int) running {
	return running{loss: make([]float64, members), correct: make([]float64, members)}
}

// orElse returns what own points at, or fallback where there is none.
func orElse(own *float64, fallback float64) float64 {
	if own == nil {
		return fallback
	}
	return *own
}
