// Package candidates chooses the encodings that "torchpe advise" compares.
package candidates

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// Seeds is the number of seeds of each candidate where none are asked for, and the least. MinRecords is
// the least number of records by which curves are judged.
const (
	Seeds      = 3
	MinRecords = 9
)

// The encodings that are compared where none are named: usual for any tokens; of placed, where places of
// tokens are known, the first that suits them; ordered for sequences. In whole grids of eight σ on four
// tasks 0.2, 0.5 or 1 did best (results/advise-cpu).
var (
	usual   = []string{without, "random", "learn-0.2", "learn-0.5", "learn-1", "rope"}
	placed  = []string{"2d-fixed", "laplacian", "fourier-features"}
	ordered = []string{"1d-fixed"}
)

// without is the encoding that all others are held against: none.
const without = "nope"

// Set holds a point of a sweep for each candidate.
type Set struct {
	Points []sweep.Point
	named  bool // by the user
}

// New returns the candidates that given flags name, or all that may suit, trained with these flags.
func New(given []sweep.Axis) (*Set, error) {
	encodings := sweep.Axis{Flag: "pe", Values: slices.Concat(usual, placed, ordered)}
	part := sweep.Spec{Parts: []sweep.Part{{Axes: []sweep.Axis{encodings}, Members: Seeds}}}.Set(given).Parts[0]
	for _, a := range part.Axes[1:] {
		if len(a.Values) > 1 {
			return nil, fmt.Errorf("--%s: encodings are compared with one value of it, not with %s; --pe takes "+
				"several, such as learn-0.1,learn-2", a.Flag, strings.Join(a.Values, ", "))
		}
	}
	if encodings := &part.Axes[0]; !slices.Contains(encodings.Values, without) {
		encodings.Values = append(encodings.Values, without)
	}
	points, err := part.Points()
	named := slices.ContainsFunc(given, func(a sweep.Axis) bool { return a.Flag == "pe" })
	return &Set{points, named}, err
}

// KeepSuited keeps the candidates of which models can be made and measured on the data, whose SHA-256 is
// sum unless that is empty. It notes why others are left out; one that the user named must be suited.
func (s *Set) KeepSuited(resolve sweep.Resolver, sum string, note func(string)) error {
	texts, _, err := sweep.Resolve(s.Points, resolve)
	if err != nil {
		return err
	}
	unsuited, err := train.CheckModels(texts, sum, note)
	if err != nil {
		return err
	}
	var good []sweep.Point
	hasPlaced, misplaced, where := false, []string(nil), ""
	for i, text := range texts {
		one, err := config.Parse(text)
		if err != nil {
			return err
		}
		isPlaced, lacks := slices.Contains(placed, one.PE), &pe.Misplaced{}
		label, reason := config.Label(one.PE, one.Members[0].Sigma), ""
		if unsuited[i] != nil {
			reason = strings.TrimPrefix(unsuited[i].Error(), one.PE+": ")
		}
		switch {
		case s.named || one.PE == without:
			if unsuited[i] != nil {
				return fmt.Errorf("%s: %s", label, reason)
			}
		case isPlaced && (hasPlaced || one.Positions == nil && !one.HasPuzzles()),
			slices.Contains(ordered, one.PE) && one.Sequence == nil:
			continue
		case one.Positions != nil && errors.As(unsuited[i], &lacks):
			misplaced = append(misplaced, fmt.Sprintf("%s needs %v", label, lacks.Need))
			where = fmt.Sprintf("%s has %v", one.Positions.File, lacks.At)
			continue
		case unsuited[i] != nil:
			note("left out: " + label + ": " + reason)
			continue
		}
		good, hasPlaced = append(good, s.Points[i]), hasPlaced || isPlaced
	}
	if misplaced != nil {
		note(fmt.Sprintf("left out: %s; %s", strings.Join(misplaced, ", "), where))
	}
	s.Points = good
	return nil
}

// Length returns the flag that says how long to train, and its value.
func Length(c config.Config) (flag string, n int) {
	if c.Facts().InEpochs {
		return "epochs", c.Epochs
	}
	return "steps", c.Steps
}

// Check refuses configurations, as in config.json, that cannot be compared.
func Check(texts [][]byte) error {
	first, err := config.Parse(texts[0])
	switch flag, length := Length(first); {
	case err != nil:
		return err
	case len(texts) < 2:
		return fmt.Errorf("%s is the only candidate: name others with --pe", first.PE)
	case len(first.Members) < Seeds:
		return fmt.Errorf("%s cannot tell encodings apart: want --members %d or more",
			wording.Count(len(first.Members), "seed"), Seeds)
	case length/first.LogEvery < MinRecords:
		return fmt.Errorf("--%s %d with --log-every %d: fewer than %d records do not show whether errors still fall",
			flag, length, first.LogEvery, MinRecords)
	}
	return nil
}
