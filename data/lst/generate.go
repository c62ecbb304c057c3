package lst

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Options says which puzzles [Generate] makes. Start from [DefaultOptions].
type Options struct {
	Train      int // training puzzles, 0 to MaxPuzzles
	Validation int // validation puzzles, 0 to MaxPuzzles

	// PublishedImbalance places the probes of the training puzzles as often in each cell as the published pool does,
	// instead of equally often.
	PublishedImbalance bool
	// AllowIsomorphic admits training puzzles that are a validation puzzle in disguise, as the published pool does.
	AllowIsomorphic bool
}

// MaxPuzzles bounds the size of a set, so that a slip of the keyboard is an error and not an hour's wait.
const MaxPuzzles = 200_000

// DefaultOptions returns the sizes of the published sets, balanced and without isomorphic leaks.
func DefaultOptions() Options { return Options{Train: 9000, Validation: 108} }

// Validate reports every size that is out of range.
func (o Options) Validate() error {
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

// Streams of a seed: what is drawn from one does not shift what is drawn from another.
const (
	streamValidation = 1 + iota
	streamTraining
	streamSplit
)

// Generate makes a validation set and a training set for it: a pure function of its arguments.
//
// Each set has a third of its puzzles per condition, its answers and probe cells are balanced within a condition to
// within one puzzle, and no puzzle occurs twice, neither within a set nor in both. Every training puzzle has a Jaccard
// [Dissimilarity] above 0.8 to every validation puzzle and, unless o says otherwise, is isomorphic to none.
//
// A puzzle is drawn as: a Latin square, uniformly among the 576 (those with the wanted answer at the probe); a number of
// givens, distributed as in the published sets as far as such puzzles exist; that many cells, uniformly; kept if the condition is the wanted one.
//
// It fails where a puzzle cannot be found, as with many more than 108 validation puzzles: hardly a grid is that far from
// all of them.
func Generate(o Options, seed uint64) (train, validation []Puzzle, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	g := newGenerator()
	validation, err = g.validation(o, rand.New(rand.NewPCG(seed, streamValidation)))
	if err != nil {
		return nil, nil, err
	}
	g.avoid(validation, o.AllowIsomorphic)
	train, err = g.training(o, rand.New(rand.NewPCG(seed, streamTraining)))
	if err != nil {
		return nil, nil, err
	}
	return train, validation, nil
}

// generator holds the tables to draw from and what new puzzles must keep clear of.
type generator struct {
	squares [Cells][Side][]uint64 // [probe][answer-1]: the 144 Latin squares with that answer there
	masks   [Cells][]uint16       // [givens]: the sets of that many out of 15 cells
	seen    map[Grid]bool         // puzzles made so far
	against []rival               // be dissimilar to these
	classes map[Grid]bool         // and not isomorphic to these canonical grids
}

func newGenerator() *generator {
	g := &generator{seen: map[Grid]bool{}}
	for _, square := range squares() {
		for cell := range Cells {
			answer := bits.TrailingZeros64(square >> (Side * cell) & 0xF)
			g.squares[cell][answer] = append(g.squares[cell][answer], square)
		}
	}
	for mask := range 1 << (Cells - 1) {
		n := bits.OnesCount(uint(mask))
		g.masks[n] = append(g.masks[n], uint16(mask))
	}
	return g
}

// avoid makes later puzzles keep clear of these.
func (g *generator) avoid(ps []Puzzle, allowIsomorphic bool) {
	g.classes = map[Grid]bool{}
	for _, p := range ps {
		f := p.Cells.features()
		g.against = append(g.against, rival{features: f, size: f.joint(f)})
		if !allowIsomorphic {
			g.classes[p.Cells.Canonical()] = true
		}
	}
}

func (g *generator) validation(o Options, rng *rand.Rand) ([]Puzzle, error) {
	var ps []Puzzle
	for k, c := range Conditions() {
		n := Share(o.Validation, k)
		givens := Quota(n, publishedValidationGivens[c-1][:], rng)
		rng.Shuffle(n, func(i, j int) { givens[i], givens[j] = givens[j], givens[i] })
		for i, probe := range Quota(n, evenly[:], rng) {
			p, err := g.draw(slot{c, probe, uint8(1 + i%Side), givens[i]}, rng)
			if err != nil {
				return nil, fmt.Errorf("lst: validation puzzle %d of %d: %w", len(ps)+1, o.Validation, err)
			}
			ps = append(ps, p)
		}
	}
	rng.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps, nil
}

func (g *generator) training(o Options, rng *rand.Rand) ([]Puzzle, error) {
	ps := make([]Puzzle, 0, o.Train)
	for k, c := range Conditions() {
		weights := evenly[:]
		if o.PublishedImbalance {
			weights = publishedProbes[c-1][:]
		}
		n := Share(o.Train, k)
		givens := Quota(n, publishedTrainingGivens[c-1][:], rng)
		rng.Shuffle(n, func(i, j int) { givens[i], givens[j] = givens[j], givens[i] })
		for i, probe := range Quota(n, weights, rng) {
			p, err := g.draw(slot{c, probe, uint8(1 + i%Side), givens[i]}, rng)
			if err != nil {
				return nil, fmt.Errorf("lst: training puzzle %d of %d: %w", len(ps)+1, o.Train, err)
			}
			ps = append(ps, p)
		}
	}
	rng.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	return ps, nil
}

// slot is the place in a set that a new puzzle must fill.
type slot struct {
	condition Condition
	probe     int
	answer    uint8
	givens    int
}

// allows tells by the set of given cells alone whether a puzzle can be of the condition: for 1-vector exactly, else as a
// necessary condition that spares half of the draws.
func (s slot) allows(mask uint16) bool {
	row := bits.OnesCount16(mask >> (s.probe / Side * Side) & 0x000F)
	col := bits.OnesCount16(mask >> (s.probe % Side) & 0x1111)
	full := max(row, col) == Side-1
	switch s.condition {
	case OneVector:
		return full
	case TwoVector:
		return !full && row+col >= Side-1
	default:
		return !full && min(row, col) <= 1
	}
}

// A slot whose number of givens is not found within exactDraws takes another: with few givens, hardly a puzzle is dissimilar
// to all validation puzzles. The published pool has 3 to 11.
const (
	exactDraws   = 20_000
	fewestGivens = 3
	mostGivens   = 11
)

// maxDraws bounds the search for one puzzle, to half a second or so. The default sets need about 1,500 a puzzle.
const maxDraws = 10_000_000

// draw returns a new puzzle for the slot.
func (g *generator) draw(s slot, rng *rand.Rand) (Puzzle, error) {
	squares := g.squares[s.probe][s.answer-1]
	g.aim(s.probe)
	for i := range maxDraws {
		givens := s.givens
		if i >= exactDraws {
			givens = fewestGivens + rng.IntN(mostGivens-fewestGivens+1)
		}
		masks := g.masks[givens]
		mask := insertZero(masks[rng.IntN(len(masks))], s.probe)
		if !s.allows(mask) {
			continue
		}
		symbols := squares[rng.IntN(len(squares))] & spread(mask)
		if !g.clear(symbols, givens) || simplest(symbols, s.probe) != s.condition {
			continue
		}
		grid := gridOf(symbols, s.probe)
		if g.seen[grid] || len(g.classes) > 0 && g.classes[grid.Canonical()] {
			continue
		}
		g.seen[grid] = true
		return Puzzle{Cells: grid, Answer: s.answer, Condition: s.condition}, nil
	}
	return Puzzle{}, fmt.Errorf("no new %s puzzle with the probe at %s and answer %d in %d draws that is dissimilar to all %d "+
		"validation puzzles: ask for fewer training or fewer validation puzzles",
		s.condition.Label(), cellName(s.probe), s.answer, maxDraws, len(g.against))
}

// rival is a puzzle to be dissimilar to. With |A or B| = |A| + |B| - |A and B|, the condition 1 - |A and B|/|A or B| > 4/5
// reads 6 |A and B| < |A| + |B|: one population count a pair, and exact.
type rival struct {
	features
	size  int // |B|
	slack int // |B| - 6 where it shares the probe that is aimed at, |B| elsewhere
}

// aim prepares clear for new puzzles with this probe.
func (g *generator) aim(probe int) {
	for i := range g.against {
		v := &g.against[i]
		v.slack = v.size - 6*int(v.probe>>probe&1)
	}
}

// clear reports whether a puzzle with these givens and the probe aimed at is dissimilar to all rivals. One that says no
// moves a place forward, so that those that reject most are asked first; their order never changes the answer.
func (g *generator) clear(symbols uint64, givens int) bool {
	for i := range g.against {
		v := &g.against[i]
		if 6*bits.OnesCount64(symbols&v.symbols) < givens+1+v.slack {
			continue
		}
		if i > 0 {
			g.against[i], g.against[i-1] = g.against[i-1], g.against[i]
		}
		return false
	}
	return true
}

// insertZero turns a set of 15 cells into a set of 16 that lacks the probe.
func insertZero(mask uint16, probe int) uint16 {
	low := mask & (1<<probe - 1)
	return low | (mask^low)<<1
}

// spread turns each bit of mask into a nibble of ones.
func spread(mask uint16) uint64 {
	m := uint64(mask)
	m = (m | m<<24) & 0x000000FF000000FF
	m = (m | m<<12) & 0x000F000F000F000F
	m = (m | m<<6) & 0x0303030303030303
	m = (m | m<<3) & 0x1111111111111111
	return m * 0xF
}

// Share returns how many of n puzzles go to the k-th condition.
func Share(n, k int) int {
	const c = int(ThreeVector)
	if k < n%c {
		return n/c + 1
	}
	return n / c
}

// Quota returns n indices of weights in ascending order, each as often as its weight's share of n, rounded by largest
// remainder; rng decides between equal remainders.
func Quota(n int, weights []int, rng *rand.Rand) []int {
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
	slices.SortStableFunc(order, func(i, j int) int { return n*weights[j]%total - n*weights[i]%total })
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
