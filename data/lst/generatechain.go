package lst

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// Puzzles draws n test puzzles of a side, with the properties of a validation set of [Generate]. At
// side 4 the set differs from that of Generate with the same seed, because Puzzles draws from a chain
// for all sides.
func Puzzles(side, n int, seed uint64) ([]Puzzle, error) {
	if err := CheckSide(side); err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	o := Options{Side: side, Validation: n}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	_, ps, err := generate(o, &chainSource{side: side}, seed)
	return ps, err
}

// chainSource draws puzzles of any side. It draws a Latin square uniformly among those with the
// answer at the probe, and a set of cells to show uniformly among those of the given size that make a
// puzzle of the condition.
type chainSource struct {
	side    int
	rng     *rand.Rand
	squares *chain
}

func (g *chainSource) begin(seed, stream uint64) *rand.Rand {
	g.rng = rand.New(rand.NewPCG(seed, uint64(g.side)<<32|stream))
	g.squares = newChain(g.side, g.rng)
	return g.rng
}

// givensWeights rescales the published weights of the numbers of givens at side 4 to another side, as
// shares of the cells. The weight of g of 16 cells is spread over (g - 1/2) side^2/16 to
// (g + 1/2) side^2/16. A rule needs at least side-1 givens.
func givensWeights(side int, published [12]int) []int {
	cells := side * side
	weights := make([]int, cells)
	for g, weight := range published {
		for m := side - 1; m < cells; m++ {
			// In units of 1/32: g covers (2g-1) cells to (2g+1) cells, m covers 16(2m-1) to
			// 16(2m+1).
			high, low := min((2*g+1)*cells, 16*(2*m+1)), max((2*g-1)*cells, 16*(2*m-1))
			weights[m] += weight * max(0, high-low)
		}
	}
	return weights
}

// After each chainExactDraws failures draw tries another number of givens. maxChainDraws limits the
// search for one puzzle to about a second.
const (
	chainExactDraws = 2_000
	maxChainDraws   = 100_000
)

func (*chainSource) most() int { return maxChainDraws }

func (g *chainSource) draw(s *slot, try int, shown *features) bool {
	if try > 0 && try%chainExactDraws == 0 {
		s.givens = pick(s.weights, g.rng)
	}
	square := g.squares.square()
	swapSymbols(square, square[s.probe], s.answer)
	cells, ok := g.drawCells(*s, square)
	*shown = features{}
	for i, symbol := range square {
		if cells>>i&1 == 1 {
			shown.put(i, symbol)
		}
	}
	return ok
}

// swapSymbols swaps two symbols of a square.
func swapSymbols(square []uint8, a, b uint8) {
	for i, v := range square {
		switch v {
		case a:
			square[i] = b
		case b:
			square[i] = a
		}
	}
}

// drawCells draws the cells of a square to show. A condition requires at least one cell of each of
// side-1 pairs to be shown:
//
//	1-vector  each other cell of one line of the probe (paired with itself)
//	2-vector  each other symbol's cell in the probe's row, or in its column
//	3-vector  each other cell of one line of the probe, or the answer's cell in its crossing line
//
// It chooses a line of the probe and draws a set that meets the requirement uniformly. Sets that meet
// it for both lines are rejected with probability 1/2, so that all sets are equally likely. ok is
// false for rejected sets.
func (g *chainSource) drawCells(s slot, square []uint8) (shown uint64, ok bool) {
	lines := [2]Line{rowOf(g.side, s.probe), columnOf(g.side, s.probe)}
	one := g.rng.IntN(2)
	var both [2][]pair
	for i, line := range lines {
		both[i] = g.pairs(s, square, line)
	}
	if shown, ok = g.drawCover(both[one], s); !ok {
		return 0, false
	}
	if s.condition != TwoVector && isCovered(shown, both[1-one]) && g.rng.IntN(2) == 0 {
		return 0, false
	}
	return shown, true
}

// pair holds two cells, at least one of which must be shown.
type pair [2]int

// pairs lists the pairs that a condition requires of a line of the probe.
func (g *chainSource) pairs(s slot, square []uint8, line Line) []pair {
	var all []pair
	for k := range g.side {
		i := lineCell(g.side, line, k)
		if i == s.probe {
			continue
		}
		other := i
		switch s.condition {
		case TwoVector: // the symbol's cell in the probe's other line
			other = g.find(square, crossing(g.side, line, s.probe), square[i])
		case ThreeVector:
			other = g.find(square, crossing(g.side, line, i), s.answer)
		}
		all = append(all, pair{i, other})
	}
	return all
}

// find returns the cell of a line that has a symbol.
func (g *chainSource) find(square []uint8, line Line, symbol uint8) int {
	for k := range g.side {
		if i := lineCell(g.side, line, k); square[i] == symbol {
			return i
		}
	}
	return -1 // no Latin square
}

func isCovered(shown uint64, pairs []pair) bool {
	for _, p := range pairs {
		if (shown>>p[0]|shown>>p[1])&1 == 0 {
			return false
		}
	}
	return true
}

// drawCover draws uniformly a set of s.givens cells that excludes the probe and contains at least one
// cell of each pair. ok is false where there is no such set.
func (g *chainSource) drawCover(pairs []pair, s slot) (shown uint64, ok bool) {
	n := len(pairs)
	free := g.side*g.side - 1 - 2*n
	twice := n // number of pairs of two different cells
	if s.condition == OneVector {
		free, twice = free+n, 0
	}
	weights := make([]float64, twice+1) // indexed by the number of pairs with both cells shown
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
	for k := range s.givens - bits.OnesCount64(shown) { // partial Fisher-Yates shuffle
		j := k + g.rng.IntN(len(rest)-k)
		rest[k], rest[j] = rest[j], rest[k]
		shown |= 1 << rest[k]
	}
	return shown, true
}

// choose returns the binomial coefficient n over k, exact below 2^53, or 0 for k outside 0 to n.
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

// pick draws an index with a probability proportional to its weight.
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
