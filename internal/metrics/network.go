package metrics

import (
	"fmt"
	"math"
	"slices"
)

// NetworkScore holds the scores of a network whose modules are given.
type NetworkScore struct {
	Modularity float64 // Q
	Clustering float64 // C
}

// ScoreNetwork scores weights w [n,n] given the module of each node (the paper's A.3, after Rubinov
// and Sporns 2010):
//
//	Q = 1/l sum_ij [w_ij - k_i k_j / l] delta(m_i, m_j),   l = sum_ij w_ij,   k_i = sum_j w_ij
//	C = mean over modules of (w_in - w_out) / w_in
//
// where w_in is the mean weight between two nodes of the module, and w_out is the mean weight
// between a node of the module and a node outside. The diagonal is ignored. Modules of one node
// have no w_in and do not count in C. Q or C is NaN if a denominator is 0.
func ScoreNetwork(w []float64, modules []int) (NetworkScore, error) {
	n := len(modules)
	if n < 2 || len(w) != n*n {
		return NetworkScore{}, fmt.Errorf("metrics: %d weights for the modules of %d nodes: want "+
			"n x n", len(w), n)
	}
	labels := slices.Compact(slices.Sorted(slices.Values(modules)))
	if len(labels) < 2 {
		return NetworkScore{}, fmt.Errorf("metrics: all %d nodes are in module %d: want at least "+
			"two modules", n, labels[0])
	}
	return NetworkScore{modularity(w, modules), clustering(w, modules, labels)}, nil
}

func modularity(w []float64, modules []int) float64 {
	n := len(modules)
	degree, total, within := make([]float64, n), 0.0, 0.0
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			degree[i] += w[i*n+j]
			total += w[i*n+j]
			if modules[i] == modules[j] {
				within += w[i*n+j]
			}
		}
	}
	expected := 0.0
	for i := range n {
		for j := range n {
			if modules[i] == modules[j] {
				expected += degree[i] * degree[j] / total
			}
		}
	}
	return (within - expected) / total
}

func clustering(w []float64, modules, labels []int) float64 {
	n := len(modules)
	sum, count := 0.0, 0
	for _, label := range labels {
		var in, out, ins, outs float64
		for i := range n {
			for j := range n {
				switch {
				case i == j || modules[i] != label:
				case modules[j] == label:
					in, ins = in+w[i*n+j], ins+1
				default:
					out, outs = out+w[i*n+j], outs+1
				}
			}
		}
		if ins == 0 {
			continue
		}
		in, out = in/ins, out/outs
		sum, count = sum+(in-out)/in, count+1
	}
	if count == 0 || math.IsInf(sum, 0) {
		return math.NaN()
	}
	return sum / float64(count)
}

// Score scores a learned encoding given the module of each token: ScoreNetwork of the Proximity of
// the Distances between the tokens.
func (t Table) Score(kind Distance, modules []int) (NetworkScore, error) {
	return ScoreNetwork(Proximity(t.Distances(kind)), modules)
}
