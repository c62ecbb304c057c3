package lst

// Baselines holds the test accuracies of two predictors that do not use the rules of the task.
type Baselines struct {
	LookUp float64 // predicts the answer of the most similar training puzzle
	Counts float64 // predicts the most common answer of training puzzles with equal symbol counts
}

// NewBaselines returns the baselines of test puzzles given training puzzles of the same side. Both sets
// must have puzzles. Similarity is the Jaccard index of the pairs (cell, symbol or probe) of filled
// cells, as in the paper's criterion for dissimilar puzzles. Of training
// puzzles that are equally similar, the share that has the answer counts. Of k equally common answers
// the right one counts 1/k; so it does where no training puzzle has the symbol counts.
func NewBaselines(train, test []Puzzle) Baselines {
	var b Baselines
	answers := map[[10]int][10]int{} // by counts of each digit
	cells := make([]features, len(train))
	for i, p := range train {
		n := digits(p.Cells)
		frequencies := answers[n]
		frequencies[p.Answer]++
		answers[n] = frequencies
		cells[i] = p.Cells.features()
	}
	for _, p := range test {
		b.Counts += commonest(answers[digits(p.Cells)], p)
		b.LookUp += lookUp(train, cells, p)
	}
	b.Counts /= float64(len(test))
	b.LookUp /= float64(len(test))
	return b
}

// digits counts each digit of a grid.
func digits(g Grid) (n [10]int) {
	for i := range g {
		n[g[i]-'0']++
	}
	return n
}

// commonest returns the probability that the most common answer is that of p. Ties are broken at
// random.
func commonest(answers [10]int, p Puzzle) float64 {
	largest, ties := 0, 0
	for symbol := 1; symbol <= p.Cells.Side(); symbol++ {
		switch n := answers[symbol]; {
		case n > largest:
			largest, ties = n, 1
		case n == largest:
			ties++
		}
	}
	if answers[p.Answer] < largest {
		return 0
	}
	return 1 / float64(ties)
}

// lookUp returns the share of the training puzzles most similar to p that have its answer. cells are those
// of the training puzzles.
func lookUp(train []Puzzle, cells []features, p Puzzle) float64 {
	shared, union := 0, 1 // the largest similarity
	ties, right := 0, 0
	own := p.Cells.features()
	for i, q := range train {
		same := own.shared(&cells[i])
		either := own.size + cells[i].size - same
		switch {
		case same*union < shared*either:
			continue
		case same*union > shared*either:
			shared, union, ties, right = same, either, 0, 0
		}
		ties++
		if q.Answer == p.Answer {
			right++
		}
	}
	return float64(right) / float64(ties)
}
