package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/advise"
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// adviseFlags holds the flags of "torchpe advise" besides those of "torchpe train".
type adviseFlags struct {
	axes          []*axisFlag
	out           string
	dryRun, quiet bool
}

// adviseSeeds is the number of seeds of each candidate where none are asked for.
const adviseSeeds = "5"

func newAdviseCommand() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Find which encoding suits your data, and whether any is better than none",
		Long: `Find which encoding and which σ have the least held-out error, by successive halving: train all candidates
for a tenth of the length, the better half for two tenths, the better half of these for four, and the
best to the end; none (nope) beside them. Each candidate is an ensemble of five seeds, the same for
all, so that errors are compared in pairs.

Every flag of torchpe train takes several values, as in torchpe sweep, and all are crossed. Without --pe the
candidates are the encodings of the paper that need nothing but tokens, and learned ones from eight σ.

An encoding that learns slowly and ends well may be left: those that were left before they were
better than none, or while their errors fell fast, are named at the end.

The same command goes on where it was stopped.`,
		Example: `  torchpe advise --task masked --data prices.csv --steps 4000 --out advice
  torchpe advise --preset quick --epochs 100 --pe learn-0.1,learn-0.2,learn-1,rope --out advice
  torchpe advise --task fmri --data rest/ --steps 5000 --dry-run`,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.out, "out", "o", "advice", "directory to write to")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the candidates and what they cost, and stop")
	fl.BoolVar(&f.quiet, "quiet", false, "print no progress")
	headFlags(fl, "run")
	f.axes = addAxes(fl)
	fl.Lookup("pe").DefValue, fl.Lookup("members").DefValue = "", adviseSeeds
	setCommonFlags(cmd, append(config.CommonFlags(), "preset", "members", "out", "dry-run")...)
	return leaf(cmd, f.run)
}

func (f *adviseFlags) run(c *call) (r result, err error) {
	study, err := f.study(c)
	if err != nil {
		return r, usageError{err}
	}
	if !f.quiet || f.dryRun {
		if err := sayCost(c.notes, study); err != nil {
			return r, err
		}
	}
	if f.dryRun {
		c.json = false
		return r, nil
	}
	advice, err := f.train(c, study)
	if err != nil {
		return r, err
	}
	outcome := outcome{study, advice}
	r = result{value: outcome.rows(), print: outcome.print}
	if outcome.diverged() {
		r.err = fmt.Errorf("%s: every member of every candidate diverged: lower --lr or set --clip-norm", f.out)
	}
	return r, outcome.save()
}

// train trains the candidates.
func (f *adviseFlags) train(c *call, study *advise.Study) (advise.Advice, error) {
	ctx, stopped := untilSignal(c.notes)
	var watch *progress
	said := map[string]bool{}
	advice, err := study.Run(ctx, func(candidate advise.Candidate) advise.Watch {
		watch = newProgress(c.notes, candidate.Config, f.quiet || !onTerminal(c.notes))
		watch.said = said
		return advise.Watch{Observer: watch, Ended: func(length int, errs []float64, took time.Duration) {
			watch.Close()
			fmt.Fprintf(c.progress(), "%s, %d %s: %s (%.0f s)\n", candidate.Name, length, candidate.Unit(),
				errorText(errs),
				took.Seconds())
		}}
	})
	if err != nil && watch != nil {
		watch.Close()
	}
	if errors.As(err, new(*train.Interrupted)) {
		err = interruptedError{code: stopped(), msg: f.out + ": stopped; the same command continues"}
	}
	return advice, err
}

// study returns the study that the flags ask for.
func (f *adviseFlags) study(c *call) (*advise.Study, error) {
	points, guessed, err := f.points()
	if err != nil {
		return nil, err
	}
	configs, notes, err := sweep.Resolve(points, resolveArguments)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		c.note(n)
	}
	var candidates []advise.Candidate
	seen := map[string]bool{} // sigma makes no difference where the encoding has none
	for i, text := range configs {
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		candidate := advise.Candidate{Args: points[i].Args()}
		if err := json.Unmarshal(text, &candidate.Config); err != nil {
			return nil, err
		}
		candidate.Name = nameOf(points, i, candidate.Config.Members[0].Sigma != nil)
		candidates = append(candidates, candidate)
	}
	if candidates, err = f.suited(c, candidates, guessed); err != nil {
		return nil, err
	}
	return advise.NewStudy(f.out, candidates)
}

// suited returns the candidates of which models can be made and compared, and names the others with the
// reason. One that the user named must be among them.
func (f *adviseFlags) suited(c *call, all []advise.Candidate, guessed bool) ([]advise.Candidate, error) {
	configs, runs := make([]train.Config, len(all)), make([]string, len(all))
	for i, candidate := range all {
		configs[i], runs[i] = candidate.Config, advise.RunDir(f.out, candidate.Name)
	}
	unsuited, err := train.CheckModels(configs, runs)
	if err != nil {
		return nil, err
	}
	var good []advise.Candidate
	left, reasons := map[string][]string{}, []string(nil) // names by reason, and the reasons in order
	for i, candidate := range all {
		switch wrong := unsuited[i]; {
		case wrong == nil:
			good = append(good, candidate)
		case !guessed || candidate.Config.PE == advise.Without:
			return nil, fmt.Errorf("%s: %w", candidate.Name, wrong)
		default:
			reason := wrong.Error()
			if left[reason] == nil {
				reasons = append(reasons, reason)
			}
			left[reason] = append(left[reason], candidate.Name)
		}
	}
	for _, reason := range reasons {
		c.note(fmt.Sprintf("left out: %s: %s", strings.Join(left[reason], ", "), reason))
	}
	return good, nil
}

// points returns the configurations that the flags ask for, and whether their encodings are guessed.
func (f *adviseFlags) points() (points []sweep.Point, guessed bool, err error) {
	axes, err := givenAxes(f.axes)
	if err != nil {
		return nil, false, err
	}
	has := func(flag string) int {
		return slices.IndexFunc(axes, func(a sweep.Axis) bool { return a.Flag == flag })
	}
	if has("seed") < 0 && has("seeds") < 0 && has("members") < 0 {
		axes = append(axes, sweep.Axis{Flag: "members", Values: []string{adviseSeeds}})
	}
	if at := has("pe"); at < 0 {
		guessed = true
		axes = append([]sweep.Axis{{Flag: "pe", Values: defaultCandidates(has("sigma") >= 0)}}, axes...)
	} else if !slices.Contains(axes[at].Values, advise.Without) {
		axes[at].Values = append(axes[at].Values, advise.Without)
	}
	points, err = sweep.Part{Axes: axes}.Points()
	return points, guessed, err
}

// defaultCandidates returns the encodings that are compared where none are named.
func defaultCandidates(sigmaGiven bool) []string {
	out := []string{advise.Without}
	for _, pe := range paper.WithoutSigma() {
		if pe != advise.Without && pe != "c-nope" { // whose tokens have no order
			out = append(out, pe)
		}
	}
	if sigmaGiven {
		return append(out, "learn")
	}
	for _, sigma := range []float64{0.01, 0.1, 0.2, 0.5, 0.7, 1, 1.5, 2} {
		out = append(out, config.Label("learn", &sigma))
	}
	return out
}

// nameOf names a point by its encoding and the flags whose values differ between points: sigma where
// the encoding has one.
func nameOf(points []sweep.Point, i int, hasSigma bool) string {
	var parts []string
	for _, set := range points[i].Settings {
		differs := slices.ContainsFunc(points, func(p sweep.Point) bool { return !slices.Contains(p.Settings, set) })
		switch {
		case set.Flag == "pe":
			parts = append([]string{set.Value}, parts...)
		case differs && (hasSigma || set.Flag != "sigma"):
			parts = append(parts, set.Flag+"="+filepath.Base(set.Value))
		}
	}
	return strings.Join(parts, "_")
}

// sayCost prints the candidates, and about how long they take.
func sayCost(say io.Writer, s *advise.Study) error {
	first := s.Candidates[0]
	var names, stages []string
	for _, c := range s.Candidates {
		names = append(names, c.Name)
	}
	for _, r := range s.Rungs {
		stages = append(stages, fmt.Sprintf("%d to %d", r.Candidates, r.Length))
	}
	members, unit, cost := len(first.Config.Members), first.Unit(), advise.Cost(s.Rungs)
	fmt.Fprintf(say, "%s, %s each: %s\n", wording.Count(len(names), "candidate"), wording.Count(members, "seed"),
		strings.Join(names, ", "))
	fmt.Fprintf(say, "stages: %s %s, %s beside them\n", strings.Join(stages, ", "), unit, advise.Without)
	t, err := train.TimeStep(first.Config.Config)
	if err != nil {
		return err
	}
	seconds := t.MemberMS / 1e3 * float64(cost*members)
	if first.Config.HasPuzzles() {
		seconds *= float64(t.StepsPerEpoch)
	}
	fmt.Fprintf(say, "%d %s, of %d that all candidates to the end would take; about %s on %s\n", cost,
		unit, len(names)*first.Length(), timeText(seconds), t.Device)
	return nil
}

func errorText(errs []float64) string {
	left := slices.DeleteFunc(slices.Clone(errs), math.IsNaN)
	text := fmt.Sprintf("%.4g", stats.Mean(left))
	switch diverged := len(errs) - len(left); {
	case len(left) == 0:
		return "diverged"
	case diverged > 0:
		return fmt.Sprintf("%s, %d of %d diverged", text, diverged, len(errs))
	case len(errs) > 1:
		text += fmt.Sprintf(" ± %.2g", stats.SD(errs))
	}
	return text
}

func differenceText(d *advise.Difference) string {
	switch {
	case d == nil:
		return "–"
	case d.Interval == nil:
		return fmt.Sprintf("%.3g", d.Mean)
	}
	return fmt.Sprintf("%.3g (95 %% %.3g to %.3g)", d.Mean, d.Interval.Low, d.Interval.High)
}

// outcome is a study with what came out.
type outcome struct {
	*advise.Study
	advice advise.Advice
}

// advised is one candidate in advice.json.
type advised struct {
	Name   string             `json:"name"`
	Args   []string           `json:"args"` // of torchpe train
	Length int                `json:"length"`
	Unit   string             `json:"unit"`
	Errors []*float64         `json:"errors"` // by seed; null where it diverged
	Behind *advise.Difference `json:"behind"` // the best; null for it, and where no seed is left of both
	Slow   bool               `json:"slow"`   // left, and may end better
}

// rows returns the candidates, longest trained first.
func (o outcome) rows() (all []advised) {
	for _, s := range o.advice.Standings {
		c := o.Candidates[s.Candidate]
		one := advised{Name: c.Name, Args: c.Args, Length: s.Length, Unit: c.Unit(),
			Behind: s.Behind, Slow: slices.Contains(o.advice.Slow, s.Candidate)}
		for _, e := range s.Errors {
			if math.IsNaN(e) {
				one.Errors = append(one.Errors, nil)
				continue
			}
			one.Errors = append(one.Errors, &e)
		}
		all = append(all, one)
	}
	return all
}

func (o outcome) save() error {
	return atomicfile.Write(filepath.Join(o.Dir, "advice.json"), func(w io.Writer) error {
		return printJSON(w, o.rows())
	})
}

// print prints the candidates and what follows from them.
func (o outcome) print(out io.Writer) {
	first, best := o.Candidates[0], o.Candidates[o.advice.Best].Name
	unit, seeds := first.Unit(), wording.Count(len(first.Config.Members), "seed")
	var rows [][]string
	var close []string
	for _, s := range o.advice.Standings {
		name := o.Candidates[s.Candidate].Name
		rows = append(rows, []string{name, fmt.Sprint(s.Length), errorText(s.Errors), differenceText(s.Behind)})
		if s.Behind != nil && !s.Behind.Clear() && s.Candidate != o.Baseline {
			close = append(close, name)
		}
	}
	printTable(out, []string{"candidate", unit, "held-out error", "more than " + best}, rows)
	if o.advice.Gain.Pairs == 0 {
		fmt.Fprintf(out, "No seed is left of both %s and none (%s), so nothing can be said of the encodings: "+
			"lower --lr "+
			"or set --clip-norm. The runs are in %s.\n", best, advise.Without, filepath.Join(o.Dir, "runs"))
		return
	}
	what := "mean squared error of held-out samples"
	switch {
	case first.Config.HasPuzzles():
		what = "share of validation puzzles answered wrongly"
	case first.Config.Sequence != nil:
		what = "share of wrong symbols in outputs to longer inputs, or of wrong next characters in longer windows"
	}
	fmt.Fprintf(out, "Held-out error: %s, mean ± SD of %s, after so many %s.\n\n%s\n", what, seeds, unit,
		o.answer(best, seeds))
	if close != nil {
		fmt.Fprintf(out, "Left though %s cannot tell them from %s there: %s.\n", seeds, best, strings.Join(close, ", "))
	}
	if slow := o.slowNames(); slow != nil {
		fmt.Fprintf(out, "Left before they were better than %s, or while their errors fell fast, so that they may end "+
			"better: %s.\nTo see: train them to the end, or all for longer.\n", advise.Without,
			strings.Join(slow, ", "))
	}
	fmt.Fprintf(out, "%s was chosen by the held-out data, so its error is flattered. To confirm, with other "+
		"seeds:\n  %s\nThe runs are in %s.\n", best, o.confirm(), filepath.Join(o.Dir, "runs"))
}

// diverged reports whether no seed of any candidate has an error.
func (o outcome) diverged() bool {
	return !slices.ContainsFunc(o.advice.Standings, func(s advise.Standing) bool {
		return slices.ContainsFunc(s.Errors, func(e float64) bool { return !math.IsNaN(e) })
	})
}

// slowNames returns the names of the candidates that were left and may end better.
func (o outcome) slowNames() (names []string) {
	for _, c := range o.advice.Slow {
		names = append(names, o.Candidates[c].Name)
	}
	return names
}

// answer says whether the best encoding is better than none.
func (o outcome) answer(best, seeds string) string {
	gain, none := o.advice.Gain, "none ("+advise.Without+")"
	if gain.IsGain() {
		return fmt.Sprintf("%s is the best encoding, and better than %s: its error is less by %s.", best, none,
			differenceText(&gain))
	}
	first, more := o.Candidates[0], gain.Negated()
	text := fmt.Sprintf("%s do not tell the best encoding, %s, from %s: its error is less by %s.", seeds, best, none,
		differenceText(&gain))
	if gain.Clear() {
		text = fmt.Sprintf("No candidate was better than %s after %d %s: the error of the best, %s, is greater by %s.",
			none, first.Length(), first.Unit(), best, differenceText(&more))
	}
	if o.advice.Plateau {
		text += fmt.Sprintf("\nNone was clearly better at any stage up to %d %s, so nothing can be said of the "+
			"encodings yet: train longer.", first.Length(), first.Unit())
	}
	return text
}

// confirm returns the command that trains the best candidate, and none, with seeds not used here.
func (o outcome) confirm() string {
	used := uint64(0)
	for _, m := range o.Candidates[o.advice.Best].Config.Members {
		used = max(used, m.Seed)
	}
	words := []string{"torchpe", "sweep"}
	for _, arg := range o.Candidates[o.advice.Best].Args {
		flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch flag {
		case "seed", "seeds", "members":
			continue
		case "pe":
			value += "," + advise.Without
		}
		words = append(words, "--"+flag+"="+wording.Quote(value))
	}
	return strings.Join(append(words, fmt.Sprintf("--seeds=%d:%d", used+1, used+15),
		"--out="+wording.Quote(o.Dir+"-confirmed")), " ")
}
