package paper

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// experiment is one of the paper's: the preset of torchpe sweep that trains all of it, the models
// of it at hand, and the flags that set it apart.
type experiment struct {
	preset string
	models []Model
	like   []Model  // models whose other settings are the same; taken where there are none of the experiment itself
	flags  []string // besides the encoding

	fidelity string // of puzzles: the reading in which the preset is asked for
}

// onPuzzles returns an experiment on puzzles in the paper's main variant.
func (s *Study) onPuzzles(preset string) experiment {
	return experiment{preset: preset, models: s.puzzles(s.mainVariant()), like: s.LST, fidelity: s.Fidelity}
}

// variant returns an experiment on puzzles in another variant, which flags make of the main one.
func (s *Study) variant(preset string, models []Model, flags ...string) experiment {
	like := s.puzzles(s.mainVariant())
	if len(like) == 0 {
		like = s.LST
	}
	return experiment{preset: preset, models: models, like: like, flags: flags, fidelity: s.Fidelity}
}

// command trains models of an experiment as those at hand were trained: with the settings and seeds
// of some of them, and flags over them. Where there are none it is the paper's preset. A report of
// the same folder finds what it made.
func (s *Study) command(e experiment, flags ...string) string {
	out := " --out " + wording.Quote(filepath.Join(s.Dir, e.preset))
	from := e.models
	if len(from) == 0 {
		from = e.like
	}
	if len(from) == 0 {
		if e.fidelity == "text" {
			out = " --fidelity text" + out
		}
		return "torchpe sweep " + e.preset + out
	}
	most := commonLength(from)
	like := from[slices.IndexFunc(from, func(m Model) bool { return lengthOf(m.Model) == most })]
	all := append([]string{"torchpe sweep --config",
		wording.Quote(filepath.Join(like.Run.Dir, "config.json"))}, flags...)
	return strings.Join(append(append(all, e.flags...), "--seeds", seedsOf(from)), " ") + out
}

// seedsOf lists the seeds of the encoding that has the most.
func seedsOf(models []Model) string {
	var most []string
	for _, g := range groups(models) {
		if len(g.Models) > len(most) {
			most = nil
			for _, m := range g.Models {
				most = append(most, strconv.FormatUint(m.Member.Seed, 10))
			}
		}
	}
	return strings.Join(most, ",")
}

// missingSigmas notes the learned encodings of an experiment that have no models. what tells the
// experiment, such as " trained by SGD".
func (s *Study) missingSigmas(d *draft, e experiment, what string, sigmas []float64) {
	have := learned(groups(e.models))
	var absent []string
	for _, sigma := range sigmas {
		if !slices.ContainsFunc(have, func(g group) bool { return g.Sigma == sigma }) {
			absent = append(absent, strconv.FormatFloat(sigma, 'g', -1, 64))
		}
	}
	if absent != nil {
		d.missing(s.command(e, "--pe learn --sigma", strings.Join(absent, ",")),
			"learned encodings%s, σ of %s", what, strings.Join(absent, ", "))
	}
}

// missingEncodings notes which of the encodings have no models in an experiment.
func (s *Study) missingEncodings(d *draft, e experiment, what string, labels []string) {
	have := groups(e.models)
	var absent []string
	for _, label := range labels {
		// Groups that differ in an option have it behind the label.
		if !slices.ContainsFunc(have, func(g group) bool {
			return g.Label == label || strings.HasPrefix(g.Label, label+" (")
		}) {
			absent = append(absent, label)
		}
	}
	if absent != nil {
		d.missing(s.command(e, "--pe", strings.Join(absent, ",")), "%s%s", strings.Join(absent, ", "), what)
	}
}

// missingReference notes that there is no model to compare others with, or none that has fitted its
// training puzzles.
func (s *Study) missingReference(d *draft) {
	have := groupNamed(s.mainGroups(), reference)
	if have == nil {
		s.missingEncodings(d, s.onPuzzles("table1"), ", which the others are compared with", []string{reference})
		return
	}
	if len(unfitted(have[0].Models)) < len(have[0].Models) {
		return
	}
	d.missing(s.command(s.onPuzzles("table1"), "--pe", reference, "--until",
		runlog.DefaultCriterion, "--epochs 1000"),
		"%s that has fitted its training puzzles: %s has (training accuracy %s), and nothing is compared "+
			"with a ground truth that does not know its own puzzles",
		reference, have[0].fittedText(), rangeText(have[0].values(training)))
}

// missingMasked notes which of the paper's encodings have no models of masked prediction with a
// share of tokens masked.
func (s *Study) missingMasked(d *draft, preset string, all []Model, level float64) {
	e := experiment{preset: preset, models: trainedAt(all, level), like: all,
		flags: []string{fmt.Sprintf("--mask-level %g", level)}}
	s.missingEncodings(d, e, "", paper.MaskedEncodings())
}
