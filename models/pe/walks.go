package pe

// walk makes the powers of a graph's random walk one after the other.
type walk struct {
	steps [][]hop     // of one step from each node
	power [][]float64 // [from][to] the probabilities after that many steps
}

// hop is a step to a node.
type hop struct {
	to          int
	probability float64
}

// walkOf returns the walk that leaves a node by each of its edges with the same probability, or in
// proportion to their weights, before its first step. A node without such edges ends it.
func walkOf(g *Graph, weighted bool) *walk {
	n := g.Nodes()
	w := &walk{steps: make([][]hop, n), power: make([][]float64, n)}
	for i := range n {
		w.power[i] = make([]float64, n)
		w.power[i][i] = 1
		sum := 0.0
		for j := range n {
			weight := g.Weight(i, j)
			if weight > 0 && !weighted {
				weight = 1
			}
			if weight > 0 {
				w.steps[i] = append(w.steps[i], hop{j, weight})
				sum += weight
			}
		}
		for k := range w.steps[i] {
			w.steps[i][k].probability /= sum
		}
	}
	return w
}

// step makes one more step.
func (w *walk) step() {
	next := make([][]float64, len(w.power))
	for i, hops := range w.steps {
		next[i] = make([]float64, len(w.power))
		for _, h := range hops {
			for j, p := range w.power[h.to] {
				next[i][j] += h.probability * p
			}
		}
	}
	w.power = next
}
