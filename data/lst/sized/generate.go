package sized

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"torchpe/data/lst"
)

// Options says which puzzles [Generate] makes.
type Options struct {
	Side              int
	Train, Validation int // puzzles of each set, 0 to lst.MaxPuzzles
}

// Validate reports every number that is out of range.
func (o Options) Validate() error {
	if err := CheckSide(o.Side); err != nil {
		return fmt.Errorf("lst: %w", err)
	}
	for _, n := range []int{o.Train, o.Validation} {
		if n < 0 || n > lst.MaxPuzzles {
			return fmt.Errorf("lst: %d puzzles: want 0 to %d", n, lst.MaxPuzzles)
		}
	}
	return nil
}

// Dataset is what a model trains and is tested on, as lst.Dataset is.
type Dataset struct {
	Train, IID, Validation []Puzzle
}

// Default generates a data set of a side in the sizes of lst.Default: 8,100 training, 900 test and 108 validation puzzles.
func Default(side int, seed uint64) (Dataset, error) {
	d := lst.DefaultOptions()
	pool, validation, err := Generate(Options{side, d.Train, d.Validation}, seed)
	if err != nil {
		return Dataset{}, err
	}
	set := Dataset{Validation: validation}
	left := map[lst.Condition]int{} // still to hold out: a tenth of each condition
	for k, c := range lst.Conditions() {
		left[c] = lst.Share(d.Train, k) / 10
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

// Puzzles makes n puzzles of a side to test on: the validation set of [Generate] with that seed.
func Puzzles(side, n int, seed uint64) ([]Puzzle, error) {
	_, ps, err := Generate(Options{Side: side, Validation: n}, seed)
	return ps, err
}

// Streams of a seed and a side.
const (
	streamValidation = 1 + iota
	streamTraining
)

// Generate makes a validation set and a training set for it: a pure function of its arguments.
//
// Each set has a third of its puzzles per condition, its answers and probe cells are balanced within a condition to within one puzzle, and
// no puzzle occurs twice, neither within a set nor in both. Every training puzzle has a Jaccard dissimilarity (lst.Dissimilarity) above
// 0.8 to every validation puzzle. That none is a validation puzzle in disguise, as lst.Generate has it, is not asked for.
//
// A puzzle is drawn as: a number of givens, in the same share of the cells as in the published 4 x 4 puzzles; a Latin square, uniformly
// among those with the wanted answer at the probe; and of all sets of so many cells that make a puzzle of the condition one, uniformly. Where
// no such puzzle is found in many draws, another number of givens is taken.
//
// It fails where a puzzle cannot be found: there are not many of side 3.
func Generate(o Options, seed uint64) (train, validation []Puzzle, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	g := &generator{side: o.Side, seen: map[string]bool{}}
	if validation, err = g.set(o.Validation, true, seed); err != nil {
		return nil, nil, fmt.Errorf("lst: %d validation puzzles of side %d: %w", o.Validation, o.Side, err)
	}
	for _, p := range validation {
		g.against = append(g.against, planesOf(p))
	}
	if train, err = g.set(o.Train, false, seed); err != nil {
		return nil, nil, fmt.Errorf("lst: %d training puzzles of side %d with %d validation puzzles: %w", o.Train, o.Side, o.Validation, err)
	}
	return train, validation, nil
}

// generator makes sets of puzzles.
type generator struct {
	side    int
	squares *chain
	rng     *rand.Rand
	seen    map[string]bool // puzzles made so far
	against []planes        // be dissimilar to these
}

// set makes n puzzles in random order.
func (g *generator) set(n int, validation bool, seed uint64) ([]Puzzle, error) {
	if n == 0 {
		return nil, nil
	}
	stream := uint64(streamTraining)
	if validation {
		stream = streamValidation
	}
	g.rng = rand.New(rand.NewPCG(seed, uint64(g.side)<<32|stream))
	g.squares = newChain(g.side, g.rng)
	cells := slices.Repeat([]int{1}, g.side*g.side)
	ps := make([]Puzzle, 0, n)
	for k, c := range lst.Conditions() {
		weights := givensWeights(g.side, lst.Givens(c, validation))
		all := lst.Share(n, k)
		givens := lst.Quota(all, weights, g.rng)
		g.rng.Shuffle(all, func(i, j int) { givens[i], givens[j] = givens[j], givens[i] })
		for i, probe := range lst.Quota(all, cells, g.rng) {
			p, err := g.draw(slot{c, probe, uint8(1 + i%g.side), givens[i]}, weights)
			if err != nil {
				return nil, fmt.Errorf("after %d: %w", len(ps), err)
			}
			ps = append(ps, p)
		}
	}
	g.rng.Shuffle(n, func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps, nil
}

// givensWeights is a distribution over the numbers of givens of a side: that of side 4 in shares of the cells. What was g of 16 cells
// covers (g - 1/2) side^2/16 to (g + 1/2) side^2/16, and a rule needs side-1 givens at least.
func givensWeights(side int, published [12]int) []int {
	cells := side * side
	weights := make([]int, cells)
	for g, weight := range published {
		for m := side - 1; m < cells; m++ {
			// In units of 1/32: g covers (2g-1) cells to (2g+1) cells, m covers 16(2m-1) to 16(2m+1).
			if overlap := min((2*g+1)*cells, 16*(2*m+1)) - max((2*g-1)*cells, 16*(2*m-1)); overlap > 0 {
				weights[m] += weight * overlap
			}
		}
	}
	return weights
}

// slot is the place in a set that a new puzzle must fill.
type slot struct {
	condition lst.Condition
	probe     int
	answer    uint8
	givens    int
}

// A slot whose number of givens is not found within exactDraws takes another. maxDraws bounds the search for one puzzle to a second or so.
const (
	exactDraws = 2_000
	maxDraws   = 100_000
)

// draw returns a new puzzle for the slot.
func (g *generator) draw(s slot, weights []int) (Puzzle, error) {
	for i := range maxDraws {
		if i > 0 && i%exactDraws == 0 {
			s.givens = pick(weights, g.rng)
		}
		square := g.squares.square()
		rename(square, square[s.probe], s.answer)
		shown, ok := g.cells(s, square)
		if !ok {
			continue
		}
		p := Puzzle{Side: g.side, Cells: make([]uint8, len(square)), Answer: s.answer, Condition: s.condition}
		for c, symbol := range square {
			if shown>>c&1 == 1 {
				p.Cells[c] = symbol
			}
		}
		p.Cells[s.probe] = uint8(g.side + 1)
		if name := p.String(); g.clear(planesOf(p)) && !g.seen[name] {
			g.seen[name] = true
			return p, nil
		}
	}
	against := ""
	if len(g.against) > 0 {
		against = fmt.Sprintf(" and is dissimilar to the %d validation puzzles", len(g.against))
	}
	return Puzzle{}, fmt.Errorf("no %s puzzle with the probe at %s and answer %d in %d draws that is new%s: ask for fewer puzzles or a larger side",
		s.condition.Label(), cellName(g.side, s.probe), s.answer, maxDraws, against)
}

// rename swaps two symbols of a square.
func rename(square []uint8, a, b uint8) {
	for i, v := range square {
		switch v {
		case a:
			square[i] = b
		case b:
			square[i] = a
		}
	}
}

// cells draws the cells of a square to show. A condition asks, for each of side-1 pairs of cells, that one at least be shown:
//
//	1-vector  each other cell of one line of the probe (a pair of the same cell)
//	2-vector  each other symbol's cell in the probe's row, or in its column
//	3-vector  each other cell of one line of the probe, or the answer's cell in the line that crosses there
//
// Sets that do so for a line are drawn uniformly; where both lines do, half of them are thrown away, so that all sets are as likely. ok is
// false for those and for sets that a simpler rule decides.
func (g *generator) cells(s slot, square []uint8) (shown uint64, ok bool) {
	lines := [2]int{s.probe / g.side, g.side + s.probe%g.side}
	one := g.rng.IntN(2)
	var both [2][]pair
	for i, line := range lines {
		both[i] = g.pairs(s, square, line)
	}
	if shown, ok = g.cover(both[one], s); !ok {
		return 0, false
	}
	if s.condition != lst.TwoVector && covered(shown, both[1-one]) && g.rng.IntN(2) == 0 {
		return 0, false
	}
	v := given{side: g.side}
	for i, symbol := range square {
		if shown>>i&1 == 1 {
			v.show(i, symbol)
		}
	}
	return shown, v.simplest(s.probe) == s.condition
}

// pair is two cells of which one must be shown.
type pair [2]int

// pairs lists what a condition asks of a line of the probe.
func (g *generator) pairs(s slot, square []uint8, line int) []pair {
	crossed := given{side: g.side}
	var all []pair
	for k := range g.side {
		i := lineCell(g.side, line, k)
		if i == s.probe {
			continue
		}
		other := i
		switch s.condition {
		case lst.TwoVector: // the symbol's cell in the probe's other line
			other = g.find(square, crossed.crossing(line, s.probe), square[i])
		case lst.ThreeVector:
			other = g.find(square, crossed.crossing(line, i), s.answer)
		}
		all = append(all, pair{i, other})
	}
	return all
}

// find returns the cell of a line that has a symbol.
func (g *generator) find(square []uint8, line int, symbol uint8) int {
	for k := range g.side {
		if i := lineCell(g.side, line, k); square[i] == symbol {
			return i
		}
	}
	return -1 // no Latin square
}

func covered(shown uint64, pairs []pair) bool {
	for _, p := range pairs {
		if (shown>>p[0]|shown>>p[1])&1 == 0 {
			return false
		}
	}
	return true
}

// cover draws a set of s.givens cells without the probe with one or both of each pair, uniformly; ok is false where there is none.
func (g *generator) cover(pairs []pair, s slot) (shown uint64, ok bool) {
	n := len(pairs)
	free := g.side*g.side - 1 - 2*n
	twice := n // pairs of which both may be shown
	if s.condition == lst.OneVector {
		free, twice = free+n, 0
	}
	weights := make([]float64, twice+1) // by the number of pairs of which both are shown
	total := 0.0
	for b := range weights {
		weights[b] = choose(twice, b) * float64(uint64(1)<<(twice-b)) * choose(free, s.givens-n-b)
		total += weights[b]
	}
	if total == 0 {
		return 0, false
	}
	b, at := 0, g.rng.Float64()*total
	for ; b < twice && at >= weights[b]; b++ {
		at -= weights[b]
	}
	taken := uint64(1) << s.probe
	for k, i := range g.rng.Perm(n) {
		p := pairs[i]
		taken |= 1<<p[0] | 1<<p[1]
		switch {
		case k < b:
			shown |= 1<<p[0] | 1<<p[1]
		default:
			shown |= 1 << p[g.rng.IntN(2)]
		}
	}
	rest := make([]int, 0, free)
	for i := range g.side * g.side {
		if taken>>i&1 == 0 {
			rest = append(rest, i)
		}
	}
	for k := range s.givens - bits.OnesCount64(shown) { // the beginning of a random order
		j := k + g.rng.IntN(len(rest)-k)
		rest[k], rest[j] = rest[j], rest[k]
		shown |= 1 << rest[k]
	}
	return shown, true
}

// choose returns n over k, 0 where there is no such choice. It is exact below 2^53, which is more than shares of draws need.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// planes are a puzzle's symbols and, last, its probe, each as the set of its cells.
type planes struct {
	cells [MaxSide + 1]uint64
	size  int
}

func planesOf(p Puzzle) (f planes) {
	for i, v := range p.Cells {
		if v > 0 {
			f.cells[v-1] |= 1 << i
			f.size++
		}
	}
	return f
}

// clear says whether a puzzle has a Jaccard dissimilarity above 4/5 to all it must differ from: 6 |A and B| < |A| + |B|.
func (g *generator) clear(f planes) bool {
	for i := range g.against {
		other, shared := &g.against[i], 0
		for k := range g.side + 1 {
			shared += bits.OnesCount64(f.cells[k] & other.cells[k])
		}
		if 6*shared >= f.size+other.size {
			return false
		}
	}
	return true
}

// pick draws an index with its weight's probability.
func pick(weights []int, rng *rand.Rand) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := rng.IntN(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}
