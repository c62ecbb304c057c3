package lst

// Baselines are accuracies on test puzzles that need no rule of the game.
type Baselines struct {
	LookUp float64 // copies the answer of the most similar training puzzle
	Counts float64 // gives the commonest answer of training puzzles with as many of each symbol
}

// NewBaselines returns the baselines of test puzzles against training puzzles of the same side, neither
// of them empty. Similarity is Jaccard's, of the cells that are filled and what they hold, the probe
// included: the paper's measure of dissimilar puzzles. Where several answers are equally good, each
// counts as its share of them; counts that no training puzzle has are answered at random.
func NewBaselines(train, test []Puzzle) Baselines {
	var b Baselines
	answers := map[[10]int][10]int{} // by counts of each digit
	filled := make([]int, len(train))
	for i, p := range train {
		n := digits(p.Cells)
		of := answers[n]
		of[p.Answer]++
		answers[n] = of
		filled[i] = len(p.Cells) - n[0]
	}
	for _, p := range test {
		n := digits(p.Cells)
		b.Counts += commonest(answers[n], p)
		b.LookUp += lookUp(train, filled, p, len(p.Cells)-n[0])
	}
	b.Counts /= float64(len(test))
	b.LookUp /= float64(len(test))
	return b
}

// digits returns how often each digit stands in a grid.
func digits(g Grid) (n [10]int) {
	for i := range g {
		n[g[i]-'0']++
	}
	return n
}

// commonest returns the chance that the commonest answer is right.
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

// lookUp returns the share of the training puzzles most similar to p that have its answer. filled counts
// the filled cells of each training puzzle, own those of p.
func lookUp(train []Puzzle, filled []int, p Puzzle, own int) float64 {
	shared, union := 0, 1 // the largest similarity
	ties, right := 0, 0
	for i, q := range train {
		same := 0
		for k := range p.Cells {
			if p.Cells[k] == q.Cells[k] && p.Cells[k] != '0' {
				same++
			}
		}
		either := own + filled[i] - same
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
