package pe

// FoPEFrequencies returns the frequencies that fope sums.
func FoPEFrequencies(e Encoding) []float64 { return e.(*fope).frequencies }
