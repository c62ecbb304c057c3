package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

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

// all returns the splits, that of training first.
func (s *splits) all() []*examples {
	all := []*examples{&s.train, &s.iid, &s.validation}
	for i := range s.sizes {
		all = append(all, &s.sizes[i])
	}
	return all
}

// load reads or generates the data set of a configuration.
func load(c Config) (splits, error) {
	s, err := loadPuzzles(c)
	if err == nil {
		err = s.addSizes(c)
	}
	if err != nil {
		return splits{}, err
	}
	h := sha256.New()
	for _, x := range s.all() {
		binary.Write(h, binary.LittleEndian, int64(x.n))
		binary.Write(h, binary.LittleEndian, x.symbols)
		binary.Write(h, binary.LittleEndian, x.target)
	}
	s.fingerprint = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

// loadPuzzles reads or generates the puzzles of one side.
func loadPuzzles(c Config) (splits, error) {
	var set lst.Dataset
	var err error
	if len(c.LSTTrain) == 0 {
		set, err = lst.Default(c.Side(), c.DataSeed)
	} else if set, err = lst.Load(c.LSTTrain, c.LSTValidation, c.DataSeed); err == nil {
		err = lst.Check(slices.Concat(set.Train, set.IID), set.Validation).Err()
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
