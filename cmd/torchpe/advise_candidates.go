package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// candidateSeeds is the number of seeds of each candidate where none are asked for, and the least.
// leastRecords is the least number of records by which curves are judged.
const (
	candidateSeeds = 3
	leastRecords   = 9
)

// The encodings that are compared where none are named: usualEncodings for any tokens; of placedEncodings,
// where places of tokens are known, the first that suits them; orderedEncodings for sequences. In whole
// grids of eight σ on four tasks 0.2, 0.5 or 1 did best (results/advise-cpu).
var (
	usualEncodings   = []string{noEncoding, "random", "learn-0.2", "learn-0.5", "learn-1", "rope"}
	placedEncodings  = []string{"2d-fixed", "laplacian", "fourier-features"}
	orderedEncodings = []string{"1d-fixed"}
)

// noEncoding names the scheme without positions, with which advise compares all others.
const noEncoding = "nope"

// candidates returns a point of a sweep for each encoding that given flags name, or for all that may suit,
// trained with these flags.
func candidates(given []sweep.Axis) ([]sweep.Point, error) {
	spec := sweep.Spec{Parts: []sweep.Part{{Axes: []sweep.Axis{
		{Flag: "pe", Values: slices.Concat(usualEncodings, placedEncodings, orderedEncodings)},
		{Flag: "members", Values: []string{strconv.Itoa(candidateSeeds)}},
	}}}}.Set(given)
	axes := spec.Parts[0].Axes
	for _, a := range axes[1:] {
		if len(a.Values) > 1 {
			return nil, fmt.Errorf("--%s: encodings are compared with one value of it, not with %s; --pe takes "+
				"several, such as learn-0.1,learn-2", a.Flag, strings.Join(a.Values, ", "))
		}
	}
	if encodings := &axes[0]; !slices.Contains(encodings.Values, noEncoding) {
		encodings.Values = append(encodings.Values, noEncoding)
	}
	points, err := spec.Points()
	return points, err
}

// suited returns the candidates of which models can be made and measured on the data, whose SHA-256 is
// sum unless that is empty. It notes why others are left out; those that the user named must be suited.
func suited(all []sweep.Point, named bool, sum string, note func(string)) (good []sweep.Point, err error) {
	texts, _, err := sweep.Resolve(all, resolveArguments)
	if err != nil {
		return nil, err
	}
	unsuited, err := train.CheckModels(texts, sum, note)
	if err != nil {
		return nil, err
	}
	hasPlaced, misplaced, where := false, []string(nil), ""
	for i, text := range texts {
		one, err := config.Parse(text)
		if err != nil {
			return nil, err
		}
		isPlaced, lacks := slices.Contains(placedEncodings, one.PE), &pe.Misplaced{}
		label, reason := config.Label(one.PE, one.Members[0].Sigma), ""
		if unsuited[i] != nil {
			reason = strings.TrimPrefix(unsuited[i].Error(), one.PE+": ")
		}
		switch {
		case named || one.PE == noEncoding:
			if unsuited[i] != nil {
				return nil, fmt.Errorf("%s: %s", label, reason)
			}
		case isPlaced && (hasPlaced || one.Positions == nil && !one.HasPuzzles()),
			slices.Contains(orderedEncodings, one.PE) && one.Sequence == nil:
			continue
		case one.Positions != nil && errors.As(unsuited[i], &lacks):
			misplaced = append(misplaced, fmt.Sprintf("%s needs %v", label, lacks.Need))
			where = fmt.Sprintf("%s has %v", one.Positions.File, lacks.At)
			continue
		case unsuited[i] != nil:
			note("left out: " + label + ": " + reason)
			continue
		}
		good, hasPlaced = append(good, all[i]), hasPlaced || isPlaced
	}
	if misplaced != nil {
		note(fmt.Sprintf("left out: %s; %s", strings.Join(misplaced, ", "), where))
	}
	return good, nil
}

// lengthOf returns the flag that says how long to train, and its value.
func lengthOf(c config.Config) (flag string, n int) {
	if c.Facts().InEpochs {
		return "epochs", c.Epochs
	}
	return "steps", c.Steps
}

// checkCandidates refuses configurations, as in config.json, that cannot be compared.
func checkCandidates(texts [][]byte) error {
	first, err := config.Parse(texts[0])
	switch flag, length := lengthOf(first); {
	case err != nil:
		return err
	case len(texts) < 2:
		return fmt.Errorf("%s is the only candidate: name others with --pe", first.PE)
	case len(first.Members) < candidateSeeds:
		return fmt.Errorf("%s cannot tell encodings apart: want --members %d or more",
			wording.Count(len(first.Members), "seed"), candidateSeeds)
	case length/first.LogEvery < leastRecords:
		return fmt.Errorf("--%s %d with --log-every %d: fewer than %d records do not show whether errors still fall",
			flag, length, first.LogEvery, leastRecords)
	}
	return nil
}
