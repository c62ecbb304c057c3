package paper

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/train/runlog"
)

// experiment is an experiment of the paper: the preset of torchpe sweep that trains all of it, its available
// models, and the flags that distinguish it.
type experiment struct {
	preset string
	what   string         // distinguishes the experiment, such as " trained by SGD"; may be empty
	models []cohort.Model // of the experiment
	like   []cohort.Model // models with otherwise the same settings, which a command copies if models is empty
	flags  []string       // besides the encoding

	fidelity string // for puzzles: the reading for the preset
}

// main returns an experiment on puzzles in the paper's own variant.
func main(preset string) func(*Study) experiment { return mainAs(preset, "") }

// mainAs returns the same with the text that distinguishes it from others.
func mainAs(preset, what string) func(*Study) experiment {
	return func(s *Study) experiment { return s.variant(preset, what, s.puzzles(nil)) }
}

// variant returns an experiment on puzzles in another variant, given by flags.
func (s *Study) variant(preset, what string, models []cohort.Model, flags ...string) experiment {
	like := s.puzzles(nil)
	if len(like) == 0 {
		like = s.LST
	}
	return experiment{preset: preset, what: what, models: models, like: like, flags: flags,
		fidelity: s.Fidelity}
}

// sgd returns the experiment with SGD.
func sgd(s *Study) experiment {
	models := cohort.ModelsOf(bySGD(s))
	flags := []string{"--optimizer sgd"}
	if len(models) == 0 {
		flags = append(flags, "--lr 1e-3") // the paper's
	}
	return s.variant("figA7", " trained by SGD", models, flags...)
}

// headed returns the experiment with several heads.
func headed(n int) func(*Study) experiment {
	return func(s *Study) experiment {
		return s.variant("figA15", fmt.Sprintf(" with %d heads", n), cohort.ModelsOf(withHeads(n)(s)),
			fmt.Sprintf("--heads %d", n))
	}
}

// decayed returns the experiment with weight decay. AdamW's decay differs from Adam's L2.
func decayed(s *Study) experiment {
	models := cohort.ModelsOf(withDecay(s))
	optimizer, how := "adamw", fmt.Sprintf(" trained by AdamW with weight decay %g", paper.Decay)
	if len(models) > 0 && variantOf(models[0]).Optimizer == "adam" {
		optimizer, how = "adam", fmt.Sprintf(" trained by Adam with L2 of %g (the paper's: AdamW)", paper.Decay)
	}
	return s.variant("figA8", how, models, "--optimizer "+optimizer, fmt.Sprintf("--weight-decay %g", paper.Decay))
}

// maskedBy returns the experiment on masked prediction with a share of tokens masked in training.
func maskedBy(preset string, of func(*Study) []cohort.Model, level float64) func(*Study) experiment {
	return func(s *Study) experiment {
		return experiment{preset: preset, models: trainedAt(of(s), level), like: of(s),
			flags: []string{fmt.Sprintf("--mask-level %g", level)}}
	}
}

// command returns the command that trains models of an experiment like the available ones: with the settings
// and seeds of some of them, and flags on top. Without such models it is the paper's preset. A report of the
// same folder finds the new runs.
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
	most := cohort.CommonLength(from)
	like := from[slices.IndexFunc(from, func(m cohort.Model) bool { return m.Length() == most })]
	all := append([]string{"torchpe sweep --config",
		wording.Quote(filepath.Join(like.Run.Dir, "config.json"))}, flags...)
	return strings.Join(append(append(all, e.flags...), "--seeds", s.seedsOf(from)), " ") + out
}

// seedsOf lists the seeds of the largest group.
func (s *Study) seedsOf(models []cohort.Model) string {
	var most cohort.Group
	for _, g := range s.groups(models) {
		if len(g.Models) > len(most.Models) {
			most = g
		}
	}
	var seeds []string
	for _, m := range most.Models {
		seeds = append(seeds, strconv.FormatUint(m.Member.Seed, 10))
	}
	return strings.Join(seeds, ",")
}

// lack notes what a draft lacks, with the command that makes it.
type lack = func(*draft)

// sigmas notes the learned encodings that an experiment lacks; an empty want means the paper's grid.
func sigmas(of func(*Study) experiment, want ...float64) lack {
	if want == nil {
		want = paper.Sigmas()
	}
	return func(d *draft) {
		e := of(d.study)
		var absent []string
		for _, sigma := range want {
			if !slices.ContainsFunc(e.models, func(m cohort.Model) bool {
				return m.Run.Config.PE == "learn" && m.Sigma() == sigma
			}) {
				absent = append(absent, strconv.FormatFloat(sigma, 'g', -1, 64))
			}
		}
		if absent != nil {
			d.Lacks(d.study.command(e, "--pe learn --sigma", strings.Join(absent, ",")),
				"learned encodings%s, σ of %s", e.what, strings.Join(absent, ", "))
		}
	}
}

// encodings notes the encodings that an experiment lacks; an empty want means those of Table 1.
func encodings(of func(*Study) experiment, want ...string) lack {
	if want == nil {
		want = paper.Encodings()
	}
	return func(d *draft) {
		e := of(d.study)
		var absent []string
		for _, label := range want {
			if !slices.ContainsFunc(e.models, func(m cohort.Model) bool { return m.Label() == label }) {
				absent = append(absent, label)
			}
		}
		if absent != nil {
			d.Lacks(d.study.command(e, "--pe", strings.Join(absent, ",")), "%s%s", strings.Join(absent, ", "), e.what)
		}
	}
}

// tableOf notes that a fixed encoding is missing; what says for what it is needed.
func tableOf(label, what string) lack {
	return encodings(mainAs("table1", what), label)
}

// anyReference notes that there is no model to compare others with, or none that has fitted.
func anyReference(d *draft) {
	tableOf(reference, ", with which the others are compared")(d)
	fittedReference(d)
}

// fittedReference notes that no model of the reference has fitted its training puzzles.
func fittedReference(d *draft) {
	have := groupNamed(mainGroups(d.study), reference)
	if have == nil || len(cohort.Unfitted(have[0].Models)) < len(have[0].Models) {
		return
	}
	d.Lacks(d.study.command(main("table1")(d.study), "--pe", reference, "--until",
		runlog.DefaultCriterion, "--epochs 1000"),
		"a model of %s that has fitted its training puzzles: %s has (training accuracy %s), and no other is "+
			"compared with a ground truth that has not",
		reference, have[0].FittedText(), d.study.rangeText(have[0], "train"))
}
