package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"torchpe/data/lst"
	"torchpe/models"
	"torchpe/torchpe"
)

// examples are the puzzles of one split as flat arrays, also on the device.
type examples struct {
	name      string
	puzzles   []lst.Puzzle
	n         int
	symbols   []int64 // [n,Cells]
	probe     []int64 // [n] index of the probe's cell
	target    []int64 // [n] answer, from 0
	condition []lst.Condition
	lines     []int // rows and columns needed (see lst.Lines), of validation puzzles of side 4; else nil

	onDevice struct{ symbols, probe, target torchpe.Tensor } // [n,Cells], [n], [n]
	at       *models.Model                                   // nil: the puzzles have the size of training
}

func newExamples(name string, puzzles []lst.Puzzle) examples {
	x := examples{name: name, puzzles: puzzles, n: len(puzzles)}
	for _, p := range puzzles {
		for _, v := range p.Cells.Tokens() {
			x.symbols = append(x.symbols, int64(v))
		}
		x.probe = append(x.probe, int64(p.Cells.Probe()))
		x.target = append(x.target, int64(p.Answer)-1)
		x.condition = append(x.condition, p.Condition)
	}
	return x
}

// splits are the parts of a data set.
type splits struct {
	train, iid, validation examples
	sizes                  []examples // of Config.EvalTokens
	fingerprint            string     // SHA-256 over all of it
}

// all returns the splits, training first.
func (s *splits) all() []*examples {
	all := []*examples{&s.train, &s.iid, &s.validation}
	for i := range s.sizes {
		all = append(all, &s.sizes[i])
	}
	return all
}

func load(c Config) (splits, error) {
	s, err := loadPuzzles(c)
	if err == nil {
		err = s.addSizes(c)
	}
	if err != nil {
		return splits{}, err
	}
	h := sha256.New()
	for i, x := range s.all() {
		binary.Write(h, binary.LittleEndian, int64(x.n))
		binary.Write(h, binary.LittleEndian, x.symbols)
		binary.Write(h, binary.LittleEndian, x.target)
		if i == 0 || c.Side() != lst.Side {
			continue // no accuracy is by the conditions of training puzzles, or of other sides
		}
		for _, p := range x.puzzles {
			if !p.HasOwnCondition() { // the rules give the others
				fmt.Fprint(h, p.Cells, p.Condition)
			}
		}
	}
	s.fingerprint = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

func loadPuzzles(c Config) (splits, error) {
	var set lst.Dataset
	var err error
	if len(c.LSTTrain) == 0 {
		set, err = defaultPuzzles(c.Side(), c.DataSeed)
	} else if set, err = lst.Load(c.LSTTrain, c.LSTValidation, c.DataSeed); err == nil {
		err = ofSide(c.Side(), slices.Concat(set.Train, set.IID, set.Validation))
	}
	if err != nil {
		return splits{}, fmt.Errorf("data: %w; `torchpe data lst check` says more", err)
	}
	if len(set.Train) == 0 || len(set.Validation) == 0 {
		return splits{}, fmt.Errorf("data: %d training and %d validation puzzles; at least one of "+
			"each is needed", len(set.Train), len(set.Validation))
	}
	s := splits{
		train: newExamples("train", set.Train), iid: newExamples("iid", set.IID),
		validation: newExamples("validation", set.Validation),
	}
	if c.Side() == lst.Side {
		for _, p := range set.Validation {
			s.validation.lines = append(s.validation.lines, len(lst.Lines(p.Cells)))
		}
	}
	return s, nil
}

// defaultPuzzles is [lst.Default], which takes a second, cached by side and seed: a worker trains
// many tasks.
func defaultPuzzles(side int, seed uint64) (lst.Dataset, error) {
	generate, _ := defaults.LoadOrStore([2]uint64{uint64(side), seed}, sync.OnceValues(
		func() (lst.Dataset, error) { return lst.Default(side, seed) }))
	return generate.(func() (lst.Dataset, error))()
}

var defaults sync.Map // by side and seed

// ofSide returns an error unless all puzzles have this side.
func ofSide(side int, all []lst.Puzzle) error {
	for _, p := range all {
		if own := p.Cells.Side(); own != side {
			return fmt.Errorf("lst: puzzle %s has side %d, but --lst-side is %d: give the side of the files",
				p.Cells, own, side)
		}
	}
	return nil
}

// sizePuzzles is the number of puzzles of each size in Config.EvalTokens, the same as the number of
// validation puzzles.
const sizePuzzles = 108

// addSizes generates the puzzles of Config.EvalTokens, and assigns the model's tokens to all
// puzzles: to held-out puzzles once, and to training puzzles here if symbols are not renamed, else
// anew in each epoch.
func (s *splits) addSizes(c Config) error {
	for _, tokens := range c.EvalTokens {
		side, err := lst.SideOf(tokens)
		if err != nil {
			return err
		}
		puzzles, err := lst.Puzzles(side, sizePuzzles, c.DataSeed)
		if err != nil {
			return fmt.Errorf("data: --eval-tokens %d: %w", tokens, err)
		}
		s.sizes = append(s.sizes, newExamples("tokens"+strconv.Itoa(tokens), puzzles))
	}
	if c.Symbols() == c.Side() && !c.Renames() {
		return nil
	}
	if !c.Renames() {
		s.train.permute(c.Symbols(), nil)
	}
	for _, x := range s.all()[1:] {
		var rng *rand.Rand
		if c.Renames() {
			rng = torchpe.Stream(c.DataSeed, "symbols "+x.name)
		}
		x.permute(c.Symbols(), rng)
	}
	return nil
}

// shownTraining returns the training puzzles as they are shown in training: if it renames symbols anew in each
// epoch, with names drawn once.
func (t *lstTask) shownTraining(e *ensemble) examples {
	if !t.config.Renames() {
		return t.train
	}
	if x := t.train; t.shown.n == 0 {
		x.symbols, x.target = slices.Clone(x.symbols), slices.Clone(x.target)
		x.permute(t.config.Symbols(), torchpe.Stream(t.config.DataSeed, "symbols "+x.name))
		x.copyTo(e.device, e.resident)
		t.shown = x
	}
	return t.shown
}

// copyTo copies the puzzles to a device.
func (x *examples) copyTo(device torchpe.Device, s *torchpe.Scope) {
	x.onDevice.symbols = torchpe.Of(s, device, x.symbols, x.n, len(x.symbols)/x.n)
	x.onDevice.probe = torchpe.Of(s, device, x.probe, x.n)
	x.onDevice.target = torchpe.Of(s, device, x.target, x.n)
}

// permute renames the symbols of each puzzle to symbols of the model, with a separate permutation
// for each puzzle. Without rng the symbols stay.
func (x *examples) permute(symbols int, rng *rand.Rand) {
	for i, p := range x.puzzles {
		permuted := make([]int64, p.Cells.Side()+2)
		drawPermutation(rng, permuted, symbols)
		cells := len(x.symbols) / x.n
		for k, token := range x.symbols[i*cells : (i+1)*cells] {
			x.symbols[i*cells+k] = permuted[token]
		}
		x.target[i] = permuted[x.target[i]+1] - 1
	}
}

// drawPermutation draws the model's tokens for the tokens 0 (blank), 1 to side (symbols) and side+1 (probe)
// of a puzzle. The blank stays 0 and the probe becomes symbols+1. The symbols become distinct symbols of the
// model; all choices and orders are equally likely. Without rng the symbols stay.
func drawPermutation(rng *rand.Rand, permuted []int64, symbols int) {
	side := len(permuted) - 2
	all := make([]int64, symbols)
	for i := range all {
		all[i] = int64(i + 1)
	}
	for i := range side {
		if rng != nil {
			j := i + rng.IntN(symbols-i)
			all[i], all[j] = all[j], all[i]
		}
		permuted[1+i] = all[i]
	}
	permuted[0], permuted[side+1] = 0, int64(symbols+1)
}
