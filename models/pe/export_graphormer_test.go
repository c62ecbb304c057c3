package pe

// SetDegrees gives graphormer degrees of nodes that its graph need not have.
func SetDegrees(e Encoding, in, out []int) {
	g := e.(*graphormer)
	g.graph.in, g.graph.out = in, out
}
