package lst

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Options selects the puzzles that [Generate] makes. Start from [DefaultOptions].
type Options struct {
	Side       int // 3 to 8; 0 means 4
	Train      int // training puzzles, 0 to MaxPuzzles
	Validation int // validation puzzles, 0 to MaxPuzzles
}

// MaxPuzzles bounds the size of a set, so that a mistyped number is an error and not an hour's wait.
const MaxPuzzles = 200_000

// DefaultOptions returns side 4 and the sizes of the published sets.
func DefaultOptions() Options { return Options{Side: Side, Train: 9000, Validation: 108} }

// Validate returns an error for the first value that is out of range.
func (o Options) Validate() error {
	if o.Side != 0 {
		if err := CheckSide(o.Side); err != nil {
			return fmt.Errorf("lst: %w", err)
		}
	}
	for _, n := range []struct {
		name string
		size int
	}{{"training", o.Train}, {"validation", o.Validation}} {
		if n.size < 0 || n.size > MaxPuzzles {
			return fmt.Errorf("lst: %d %s puzzles: want 0 to %d", n.size, n.name, MaxPuzzles)
		}
	}
	return nil
}

// Independent random streams of a seed. A chain adds the side in the upper half.
const (
	streamValidation = 1 + iota
	streamTraining
	streamSplit
)

// Generate draws a validation set and a training set. It is a pure function of its arguments.
//
// Each condition has a third of the puzzles of a set. Within a condition the counts of answers, and
// of probe cells, differ by at most one. No puzzle occurs twice in the two sets. Every training puzzle
// has a Jaccard distance (see features) above 0.8 to every validation puzzle. At side 4 none is
// isomorphic to a validation puzzle.
//
// As in the published sets, two lines (see [Lines]) decide no 3-vector validation puzzle and, at
// side 4, a fifth of the 3-vector training puzzles.
//
// The numbers of givens, as shares of the cells, are distributed as in the published sets, as far as
// such puzzles exist. Squares and cells are drawn uniformly: see rejectionSource and chainSource.
//
// Generate returns an error where it finds no puzzle. This happens with many more than 108 validation
// puzzles of side 4, because few grids are dissimilar to all of them, and with large sets of side 3.
func Generate(o Options, seed uint64) (train, validation []Puzzle, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	if o.Side == 0 || o.Side == Side {
		return generate(o, newRejectionSource(), seed)
	}
	return generate(o, &chainSource{side: o.Side}, seed)
}

// source draws candidates for the puzzles of a set.
type source interface {
	begin(seed, stream uint64) *rand.Rand // starts a set
	most() int                            // candidates that are drawn for one puzzle
	// draw stores the givens of a candidate. It may change the number of givens of the slot. It returns
	// false for a try that failed.
	draw(s *slot, try int, shown *features) bool
}

// generator takes from a source the puzzles that meet their slots. It holds the grids that new
// puzzles must differ from.
type generator struct {
	source
	side       int
	seen       map[Grid]bool // puzzles drawn so far
	validation []features    // new puzzles must be dissimilar to these
	classes    map[Grid]bool // canonical grids that new puzzles must not be isomorphic to
}

// generate implements [Generate].
func generate(o Options, from source, seed uint64) (train, validation []Puzzle, err error) {
	g := &generator{source: from, side: cmp.Or(o.Side, Side), seen: map[Grid]bool{}}
	if validation, err = g.fill(newSet(g.side, o.Validation, true), seed); err != nil {
		return nil, nil, err
	}
	g.setValidation(validation)
	if train, err = g.fill(newSet(g.side, o.Train, false), seed); err != nil {
		return nil, nil, err
	}
	return train, validation, nil
}

// setValidation requires later puzzles to be dissimilar to ps, and at side 4 not isomorphic to one of them.
func (g *generator) setValidation(ps []Puzzle) {
	g.classes = map[Grid]bool{}
	for _, p := range ps {
		g.validation = append(g.validation, p.Cells.features())
		g.classes[p.Cells.canonical()] = true
	}
}

// isDissimilar reports whether a grid is dissimilar to all validation puzzles. A validation puzzle
// that is too similar moves forward by one place, so that those that reject most are tried first.
// Their order does not affect the result.
func (g *generator) isDissimilar(f *features) bool {
	for i := range g.validation {
		if f.isDissimilar(&g.validation[i]) {
			continue
		}
		if i > 0 {
			g.validation[i], g.validation[i-1] = g.validation[i-1], g.validation[i]
		}
		return false
	}
	return true
}

// draw returns a new puzzle for the slot.
func (g *generator) draw(s slot) (Puzzle, error) {
	var f features
	for try := range g.most() {
		if !g.source.draw(&s, try, &f) {
			continue
		}
		f.put(s.probe, uint8(g.side+1))
		if !g.isDissimilar(&f) || !s.accepts(f.given(g.side)) {
			continue
		}
		grid := f.grid(g.side)
		if g.seen[grid] || len(g.classes) > 0 && g.classes[grid.canonical()] {
			continue
		}
		g.seen[grid] = true
		return Puzzle{Cells: grid, Answer: s.answer, Condition: s.condition}, nil
	}
	return Puzzle{}, fmt.Errorf(
		"no new %s puzzle of side %d with the probe at %s and answer %d in %d draws that is "+
			"dissimilar to all %d validation puzzles: ask for fewer puzzles or a larger side",
		s.condition.Label(), g.side, cellName(g.side, s.probe), s.answer, g.most(), len(g.validation))
}

// set describes a set of puzzles to draw.
type set struct {
	side, n    int
	validation bool
	givens     [3][]int // weights of the numbers of givens, indexed by condition - 1
}

func newSet(side, n int, validation bool) set {
	table := publishedTrainingGivens
	if validation {
		table = publishedValidationGivens
	}
	s := set{side: side, n: n, validation: validation}
	for k := range table {
		if side == Side {
			s.givens[k] = table[k][:]
		} else {
			s.givens[k] = givensWeights(side, table[k])
		}
	}
	return s
}

// slot holds the required properties of a new puzzle.
type slot struct {
	condition Condition
	probe     int
	answer    uint8
	givens    int
	weights   []int // weights of other numbers of givens to try
	strict    bool  // reject 3-vector puzzles that two lines decide
}

// accepts reports whether a puzzle with these givens has the condition of the slot.
func (s slot) accepts(v given) bool {
	ds, err := v.applyRules(s.probe)
	return err == nil && len(ds) > 0 && ds[0].Condition == s.condition &&
		!(s.strict && v.twoLines(s.condition, s.probe) != nil)
}

// fill draws the puzzles of a set and returns them in random order.
func (g *generator) fill(s set, seed uint64) ([]Puzzle, error) {
	if s.n == 0 {
		return nil, nil
	}
	name, stream := "training", uint64(streamTraining)
	if s.validation {
		name, stream = "validation", streamValidation
	}
	rng := g.begin(seed, stream)
	ps := make([]Puzzle, 0, s.n)
	for k, c := range Conditions() {
		probes := slices.Repeat([]int{1}, s.side*s.side)
		n := share(s.n, k)
		givens := quota(n, s.givens[k], rng)
		rng.Shuffle(n, func(i, j int) { givens[i], givens[j] = givens[j], givens[i] })
		for i, probe := range quota(n, probes, rng) {
			p, err := g.draw(slot{c, probe, uint8(1 + i%s.side), givens[i], s.givens[k],
				s.validation})
			if err != nil {
				return nil, fmt.Errorf("lst: %s puzzle %d of %d: %w", name, len(ps)+1, s.n, err)
			}
			ps = append(ps, p)
		}
	}
	rng.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps, nil
}

// share returns how many of n puzzles go to the k-th condition.
func share(n, k int) int {
	const c = int(ThreeVector)
	if k < n%c {
		return n/c + 1
	}
	return n / c
}

// quota returns n indices of weights in ascending order. The count of each index is its weight's share
// of n, rounded by largest remainder; rng decides between equal remainders.
func quota(n int, weights []int, rng *rand.Rand) []int {
	total := 0
	for _, w := range weights {
		total += w
	}
	counts := make([]int, len(weights))
	left := n
	for i, w := range weights {
		counts[i] = n * w / total
		left -= counts[i]
	}
	order := rng.Perm(len(weights))
	slices.SortStableFunc(order, func(i, j int) int {
		return n*weights[j]%total - n*weights[i]%total
	})
	for _, i := range order[:left] {
		counts[i]++
	}
	list := make([]int, 0, n)
	for i, count := range counts {
		for range count {
			list = append(list, i)
		}
	}
	return list
}
