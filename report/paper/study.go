// Package paper makes the tables and figures of the paper, and some that it lacks, from finished runs, with
// the printed numbers of the paper.
//
// Read sorts the runs of a directory into the paper's experiments and measures their probes. The lists in
// items.go define the groups, panels, tables and words of each item, and Write makes all items. Package
// cohort decides what may be averaged, packages metrics and stats compute numbers, and figure, table and
// page draw and write them. It needs no libtorch. The same runs always give the same bytes.
package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
)

// Study holds the models that a report shows: those of one base each for puzzles, the network simulation, and
// fMRI.
type Study struct {
	*cohort.Found
	Fidelity string // of the models on puzzles: code or text
	LST      []cohort.Model
	NMAR     []cohort.Model
	FMRI     []cohort.Model

	probed map[cohort.ModelKey]*probed
}

// Read sorts the finished runs in dir into the paper's experiments. If runs have several model sizes or data
// sets, it takes those with the most models, and Notes names the others. fidelity, code or text, chooses the
// reading; if empty, the one with the most models.
func Read(dir, fidelity string) (*Study, error) {
	found, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	if err != nil {
		return nil, err
	}
	s := &Study{Found: found}
	byTask := map[string][]cohort.Model{}
	for _, m := range s.Models {
		byTask[m.Run.Config.Task] = append(byTask[m.Run.Config.Task], m)
	}
	for _, part := range []struct {
		task, what, fidelity string
		into                 *[]cohort.Model
	}{{"lst", "puzzles", fidelity, &s.LST}, {"nmar", "the network simulation", "", &s.NMAR},
		{"fmri", "fMRI", "", &s.FMRI}} {
		if *part.into, err = s.commonBase(part.what, byTask[part.task], part.fidelity); err != nil {
			return nil, err
		}
	}
	if len(s.LST) > 0 {
		s.Fidelity = s.LST[0].Run.Config.Fidelity
	}
	if n := len(byTask["masked"]); n > 0 {
		s.Note("%s on your own tables are not here but on the page of own data", wording.Count(n, "model"))
	}
	for _, models := range []*[]cohort.Model{&s.LST, &s.NMAR, &s.FMRI} {
		if *models, err = s.sorted(*models); err != nil {
			return nil, err
		}
	}
	for _, of := range []source{mainGroups, bySGD, withDecay, withHeads(2), withHeads(4), nmarGroups, fmriAt(0.5)} {
		if err := s.NoteUnlike(of(s), cohort.LengthKeys...); err != nil {
			return nil, err
		}
	}
	if err := s.readProbes(); err != nil {
		return nil, err
	}
	s.dropUnlike("noise", "accuracy under noise")
	s.dropUnlike("tangent_alignment", "the tangent kernel's alignment")
	return s, nil
}

// dropUnlike drops a measure of the models on puzzles that took it with other settings than most, because
// figures compare all of them. what names the measure in a note.
func (s *Study) dropUnlike(measure, what string) {
	measured := slices.DeleteFunc(slices.Clone(s.LST),
		func(m cohort.Model) bool { return math.IsNaN(s.value(m, measure)) })
	others := cohort.MeasuredOtherwise(measured, measure)
	for _, m := range others {
		s.probed[m.Key()].drop(measure)
	}
	if others != nil {
		s.Note("%s of %s is not shown: it was measured with other settings than most", what,
			wording.Count(len(others), "model"))
	}
}

// commonBase returns the models of the base with the most models, of the given fidelity if it is not empty.
func (s *Study) commonBase(what string, models []cohort.Model, fidelity string) ([]cohort.Model, error) {
	bases, err := cohort.Bases(models)
	if len(bases) == 0 || err != nil {
		return nil, err
	}
	slices.SortStableFunc(bases, func(a, b cohort.Base) int {
		if isA, isB := a.Fidelity == fidelity, b.Fidelity == fidelity; isA != isB {
			if isA {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(b.Models), len(a.Models)), cmp.Compare(a.Fidelity, b.Fidelity))
	})
	first := bases[0]
	if fidelity != "" && first.Fidelity != fidelity {
		s.Note("no models on %s in the reading %s; there are %s of the other", what, fidelity,
			wording.Count(len(models), "model"))
		return nil, nil
	}
	for _, b := range bases[1:] {
		how := "give only their folder"
		if b.Fidelity != first.Fidelity {
			how += ", or --fidelity " + b.Fidelity
		}
		s.Note("%s on %s not shown, such as %s: %s; %s", wording.Count(len(b.Models), "model"), what,
			b.Models[0].Run.Name, b.Unlike(first), how)
	}
	return first.Models, nil
}

// sorted returns the models with the common lengths of training, each seed of a configuration once, ordered by
// encoding, sigma, options and seed.
func (s *Study) sorted(models []cohort.Model) ([]cohort.Model, error) {
	models, err := s.Distinct(models)
	if err != nil {
		return nil, err
	}
	out, notes, err := cohort.OfCommonLength(models)
	s.Notes = append(s.Notes, notes...)
	slices.SortStableFunc(out, func(a, b cohort.Model) int {
		return cmp.Or(cmp.Compare(a.Run.Config.PE, b.Run.Config.PE), cmp.Compare(a.Sigma(), b.Sigma()),
			cmp.Compare(fmt.Sprint(a.Run.Config.PEOptions),
				fmt.Sprint(b.Run.Config.PEOptions)), cmp.Compare(a.Member.Seed, b.Member.Seed))
	})
	return out, err
}

// shown returns the models of all tasks.
func (s *Study) shown() []cohort.Model { return slices.Concat(s.LST, s.NMAR, s.FMRI) }

// ShownRuns returns the number of runs shown on the page.
func (s *Study) ShownRuns() int { return cohort.CountRuns(s.shown()) }

// Variant has the settings in which the paper's experiments on puzzles differ, besides the
// encoding.
type Variant struct {
	Optimizer string  // adam, sgd
	Decay     float64 // weight decay
	Heads     int
	Placement string // of an absolute PE: block or input
	ReadOut   string // last or probe
}

func variantOf(m cohort.Model) Variant {
	c := m.Run.Config
	return Variant{Optimizer: m.Optimizer(), Decay: m.Member.WeightDecay, Heads: c.Heads,
		Placement: c.Placement(), ReadOut: c.ReadOut}
}

// puzzles returns the models on puzzles of the paper's own variant: Adam without weight decay, one head, and
// the placement and read-out of the current reading. change, which may be nil, changes the variant. An encoding
// without placement belongs to every variant.
func (s *Study) puzzles(change func(*Variant)) (out []cohort.Model) {
	v := Variant{Optimizer: "adam", Heads: 1, Placement: "block", ReadOut: "last"}
	if s.Fidelity == "text" {
		v.Placement, v.ReadOut = "input", "probe"
	}
	if change != nil {
		change(&v)
	}
	for _, m := range s.LST {
		own := variantOf(m)
		own.Placement = cmp.Or(own.Placement, v.Placement)
		if own == v {
			out = append(out, m)
		}
	}
	return out
}

// trainedAt returns the models of masked prediction trained with a share of tokens masked.
func trainedAt(models []cohort.Model, level float64) []cohort.Model {
	return slices.DeleteFunc(slices.Clone(models),
		func(m cohort.Model) bool { return math.Abs(m.Run.Config.Masked.Level-level) > 1e-9 })
}

// groups returns models by encoding and σ, in the order of the models. A label has in brackets the settings in
// which models of its encoding differ, without the length of training.
func (s *Study) groups(models []cohort.Model) []cohort.Group {
	all, err := cohort.GroupsOfAnyLength(models)
	if err != nil {
		panic(err) // Read has computed all identities
	}
	place := map[cohort.ModelKey]int{}
	for i, m := range models {
		place[m.Key()] = i
	}
	slices.SortFunc(all, func(a, b cohort.Group) int {
		return cmp.Compare(place[a.Models[0].Key()], place[b.Models[0].Key()])
	})
	for i, g := range all {
		if differing, ok := strings.CutPrefix(g.Label, g.Models[0].Label()+", "); ok {
			parts := strings.Split(differing, ", ")
			slices.Sort(parts)
			all[i].Label = fmt.Sprintf("%s (%s)", g.Models[0].Label(), strings.Join(parts, ", "))
		}
	}
	return all
}

// Groups shown by items, and the parts of them shown by panels.

func mainGroups(s *Study) []cohort.Group  { return s.groups(s.puzzles(nil)) }
func mainLearned(s *Study) []cohort.Group { return learned(mainGroups(s)) }
func mainCommon(s *Study) []cohort.Group  { return common(mainGroups(s)) }

func bySGD(s *Study) []cohort.Group {
	return s.groups(s.puzzles(func(v *Variant) { v.Optimizer = "sgd" }))
}

// withDecay returns the models with the paper's weight decay: by AdamW, as in the published code, or else by
// Adam.
func withDecay(s *Study) []cohort.Group {
	for _, optimizer := range []string{"adamw", "adam"} {
		models := s.puzzles(func(v *Variant) { v.Decay, v.Optimizer = paper.Decay, optimizer })
		if models != nil {
			return s.groups(models)
		}
	}
	return nil
}

func decayedLearned(s *Study) []cohort.Group { return learned(withDecay(s)) }
func decayedCommon(s *Study) []cohort.Group  { return common(withDecay(s)) }

// Groups of the paper's study of optimizers.
func smallSGD(s *Study) []cohort.Group  { return ofOptimizers(bySGD(s)) }
func smallAdam(s *Study) []cohort.Group { return ofOptimizers(mainGroups(s)) }

// byOptimizer returns the groups of both optimizers, or none if there is only one.
func byOptimizer(s *Study) []cohort.Group {
	sgd, adam := smallSGD(s), smallAdam(s)
	if sgd == nil || adam == nil {
		return nil
	}
	return append(sgd, adam...)
}

// withHeads returns the models with several heads.
func withHeads(n int) source {
	return func(s *Study) []cohort.Group { return s.groups(s.puzzles(func(v *Variant) { v.Heads = n })) }
}

func twoOrFourHeads(s *Study) []cohort.Group { return append(withHeads(2)(s), withHeads(4)(s)...) }

func nmarGroups(s *Study) []cohort.Group { return s.groups(trainedAt(s.NMAR, 0.5)) }

func fmriAt(level float64) source {
	return func(s *Study) []cohort.Group { return s.groups(trainedAt(s.FMRI, level)) }
}

func everything(all []cohort.Group) []cohort.Group { return all }

// pick returns the groups for which is is true; nil for none.
func pick(all []cohort.Group, is func(cohort.Group) bool) (out []cohort.Group) {
	for _, g := range all {
		if is(g) {
			out = append(out, g)
		}
	}
	return out
}

// sigma returns the σ of a group; -1 if its encoding has none.
func sigma(g cohort.Group) float64 { return g.Models[0].Sigma() }

// learned returns the groups of the paper's learned encoding, by sigma.
func learned(all []cohort.Group) []cohort.Group {
	return pick(all, func(g cohort.Group) bool { return sigma(g) >= 0 && g.Models[0].Run.Config.PE == "learn" })
}

// onGrid returns the groups of the paper's main grid of sigma, 0.1 to 2 in tenths, on which its correlations
// are computed; the sigmas of its study of optimizers are smaller.
func onGrid(all []cohort.Group) []cohort.Group {
	return pick(all, func(g cohort.Group) bool {
		tenths := 10 * sigma(g)
		return tenths >= 0.5 && tenths <= 20.5 && math.Abs(tenths-math.Round(tenths)) <= 1e-9
	})
}

// ofOptimizers returns the groups of the paper's study of optimizers.
func ofOptimizers(all []cohort.Group) []cohort.Group {
	return pick(learned(all), func(g cohort.Group) bool { return slices.Contains(paper.OptimizerSigmas(), sigma(g)) })
}

// common returns the groups of the paper's common encodings and learn-0.2, in its order, then other encodings
// except learned ones; nil if all are learned.
func common(all []cohort.Group) []cohort.Group {
	order := paper.Encodings()
	place := func(g cohort.Group) int {
		if at := slices.Index(order, g.Models[0].Label()); at >= 0 {
			return at
		}
		return len(order)
	}
	out := pick(all, func(g cohort.Group) bool { return sigma(g) < 0 || place(g) < len(order) })
	slices.SortStableFunc(out, func(a, b cohort.Group) int { return cmp.Compare(place(a), place(b)) })
	if slices.ContainsFunc(out, func(g cohort.Group) bool { return sigma(g) < 0 }) {
		return out
	}
	return nil
}

// besideCommon returns some learned groups, or nil for a single one that is also among the common ones.
func besideCommon(of selection) selection {
	return func(all []cohort.Group) []cohort.Group {
		out := of(all)
		if len(out) == 1 && groupNamed(common(all), out[0].Label) != nil {
			return nil
		}
		return out
	}
}

// exemplars returns the learned groups closest to a small, a middle and a large sigma of the paper.
func exemplars(all []cohort.Group) (out []cohort.Group) {
	all = learned(all)
	if len(all) == 0 {
		return nil
	}
	for _, want := range []float64{0.2, 1, 2} {
		nearest := slices.MinFunc(all, func(a, b cohort.Group) int {
			return cmp.Compare(math.Abs(sigma(a)-want), math.Abs(sigma(b)-want))
		})
		if !slices.ContainsFunc(out, func(g cohort.Group) bool { return sigma(g) == sigma(nearest) }) {
			out = append(out, nearest)
		}
	}
	return out
}

// largestBySigma returns, for each sigma, the group with the most models, or the first of several: models that
// differ in more than their seeds are not averaged. Groups are ordered by sigma.
func largestBySigma(all []cohort.Group) (out []cohort.Group) {
	for _, g := range all {
		n := len(out)
		switch {
		case n == 0 || sigma(out[n-1]) != sigma(g):
			out = append(out, g)
		case len(out[n-1].Models) < len(g.Models):
			out[n-1] = g
		}
	}
	return out
}

// groupNamed returns the group with a label, if there is one.
func groupNamed(all []cohort.Group, label string) []cohort.Group {
	return pick(all, func(g cohort.Group) bool { return g.Label == label })
}

// withoutReference leaves out the reference encoding.
func withoutReference(all []cohort.Group) []cohort.Group {
	return pick(all, func(g cohort.Group) bool { return g.Label != reference })
}
