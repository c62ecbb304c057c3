package lst

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Dataset holds the puzzles that a model is trained and tested on.
type Dataset struct {
	Train      []Puzzle // nine tenths of the training pool
	IID        []Puzzle // the held-out tenth of the training pool
	Validation []Puzzle // dissimilar puzzles, for the paper's validation accuracy
}

// Default generates the default set of a side for a seed: 8100 training, 900 IID test and 108
// validation puzzles, a third per condition (see [Generate]). At side 4 [splitPool] holds out the test
// puzzles; other sides hold out the first tenth of each condition. It takes about a second.
func Default(side int, seed uint64) (Dataset, error) {
	o := DefaultOptions()
	o.Side = side
	pool, validation, err := Generate(o, seed)
	if err != nil {
		return Dataset{}, err
	}
	if side == Side {
		return newDataset(pool, validation, seed)
	}
	set := Dataset{Validation: validation}
	var left [1 + ThreeVector]int // by condition: puzzles still to hold out
	for k, c := range Conditions() {
		left[c] = share(len(pool), k) / 10
	}
	for _, p := range pool { // their order is random
		if left[p.Condition] > 0 {
			left[p.Condition]--
			set.IID = append(set.IID, p)
		} else {
			set.Train = append(set.Train, p)
		}
	}
	return set, nil
}

// Load reads a training pool from one or more files and validation puzzles from another, in the
// published layout, and splits the pool with the seed. Puzzles may have any side. It refuses a training
// puzzle that is given twice, as one of the two could be held out, a validation puzzle that is given twice or
// is a training puzzle, and puzzles that have no answer or another one. Errors name file and row.
func Load(trainFiles []string, validationFile string, seed uint64) (Dataset, error) {
	if len(trainFiles) == 0 {
		return Dataset{}, fmt.Errorf("lst: no training file: give at least one")
	}
	var pool []Puzzle
	at := map[Grid]string{} // file and row of training puzzles
	for _, path := range trainFiles {
		ps, err := ReadFile(path)
		if err != nil {
			return Dataset{}, err
		}
		for i, p := range ps {
			here := fmt.Sprintf("%s: row %d", path, i+1)
			if there, isKnown := at[p.Cells]; isKnown {
				return Dataset{}, fmt.Errorf("lst: %s: puzzle %s is also %s: remove one, or training could have "+
					"one and the IID test the other", here, p.Cells, there)
			}
			if err := p.check(); err != nil {
				return Dataset{}, fmt.Errorf("lst: %s", problem(here, err))
			}
			at[p.Cells] = here
		}
		pool = append(pool, ps...)
	}
	validation, err := ReadFile(validationFile)
	if err != nil {
		return Dataset{}, err
	}
	rows := map[Grid]int{}
	for i, p := range validation {
		here := fmt.Sprintf("%s: row %d", validationFile, i+1)
		if row := rows[p.Cells]; row > 0 {
			return Dataset{}, fmt.Errorf("lst: %s: puzzle %s is also row %d: remove one, or it counts twice", here,
				p.Cells, row)
		}
		rows[p.Cells] = i + 1
		if there, isKnown := at[p.Cells]; isKnown {
			return Dataset{}, fmt.Errorf("lst: %s: validation puzzle %s is also a training puzzle, %s: remove one",
				here, p.Cells, there)
		}
		if err := p.check(); err != nil {
			return Dataset{}, fmt.Errorf("lst: %s", problem(here, err))
		}
	}
	return newDataset(pool, validation, seed)
}

// HasOwnCondition reports whether a puzzle claims the condition that the rules give it.
func (p Puzzle) HasOwnCondition() bool {
	condition, _, err := classify(p.Cells)
	return err == nil && condition == p.Condition
}

// check returns why a puzzle has no answer, or another one than it claims.
func (p Puzzle) check() error {
	_, answer, err := classify(p.Cells)
	if err == nil && answer != p.Answer {
		err = p.wrongAnswer(answer)
	}
	return err
}

func newDataset(pool, validation []Puzzle, seed uint64) (Dataset, error) {
	train, iid, err := splitPool(pool, seed)
	if err != nil {
		return Dataset{}, err
	}
	return Dataset{Train: train, IID: iid, Validation: validation}, nil
}

// splitPool holds out a tenth of a pool, rounded up, as IID test puzzles. Each condition contributes
// its share, rounded by largest remainder. Both parts keep the pool's order. The choice depends on
// the seed and the puzzles, not on their order. It returns an error for a pool of fewer than two
// puzzles.
//
// The paper's split has the same sizes. Its members come from scikit-learn's generator and are not
// reproduced.
func splitPool(pool []Puzzle, seed uint64) (train, iid []Puzzle, err error) {
	if len(pool) < 2 {
		return nil, nil, fmt.Errorf("lst: a pool of %d puzzles cannot be split into training and "+
			"test puzzles: want at least 2", len(pool))
	}
	rng := rand.New(rand.NewPCG(seed, streamSplit))
	order := make([]int, len(pool))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return comparePuzzles(pool[i], pool[j]) })
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })

	var counts, left [1 + ThreeVector]int // by condition: puzzles; puzzles still to hold out
	for _, p := range pool {
		counts[p.Condition]++
	}
	for _, k := range quota((len(pool)+9)/10, counts[:], rng) {
		left[k]++
	}
	held := make([]bool, len(pool))
	for _, i := range order {
		if k := pool[i].Condition; left[k] > 0 {
			left[k]--
			held[i] = true
		}
	}
	for i, p := range pool {
		if held[i] {
			iid = append(iid, p)
		} else {
			train = append(train, p)
		}
	}
	return train, iid, nil
}

// comparePuzzles orders by grid, then by the claimed answer and condition.
func comparePuzzles(a, b Puzzle) int {
	return cmp.Or(cmp.Compare(a.Cells, b.Cells), cmp.Compare(a.Answer, b.Answer),
		cmp.Compare(a.Condition, b.Condition))
}
