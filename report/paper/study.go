package paper

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
	"torchpe/report/runs"
)

// Variant has the settings in which the paper's experiments on puzzles differ, besides the
// encoding.
type Variant struct {
	Optimizer string  // adam, sgd
	Decay     float64 // weight decay
	Heads     int
	Placement string // of an absolute PE: block or input
	ReadOut   string // last or probe
}

// Study holds the models that a report shows: those of one base each on puzzles, the network
// simulation, and fMRI.
type Study struct {
	Fidelity string // of the models on puzzles: code or text
	LST      []Model
	NMAR     []Model
	FMRI     []Model
	Dir      string // where the runs were looked for
	Runs     int
	Notes    []string // what was left out, and why
}

// Read sorts the finished runs found in dir into the paper's experiments. Where there are runs of
// several sizes of model or data, those with the most models are taken, and Notes names the others.
// fidelity, code or text, chooses between readings; empty takes that with the most models.
func Read(dir, fidelity string) (*Study, error) {
	found, skipped, err := runs.Find(dir)
	if err != nil {
		return nil, err
	}
	s := &Study{Dir: dir, Runs: len(found)}
	models, diverged := runs.Models(found)
	if diverged > 0 {
		s.note("%s diverged and count nowhere", wording.Count(diverged, "model"))
	}
	for _, skip := range skipped {
		s.note("left out: %s", skip.Reason)
	}
	byTask := map[string][]runs.Model{}
	for _, m := range models {
		byTask[m.Run.Config.Task] = append(byTask[m.Run.Config.Task], m)
	}
	lst, err := s.commonBase("puzzles", byTask["lst"], fidelity)
	if err != nil {
		return nil, err
	}
	if len(lst) > 0 {
		s.Fidelity = lst[0].Run.Config.Fidelity
	}
	nmar, err := s.commonBase("the network simulation", byTask["nmar"], "")
	if err != nil {
		return nil, err
	}
	fmri, err := s.commonBase("fMRI", byTask["fmri"], "")
	if err != nil {
		return nil, err
	}
	if n := len(byTask["masked"]); n > 0 {
		s.note("%s on tables of one's own are not the paper's: see torchpe runs compare", wording.Count(n, "model"))
	}
	for _, part := range []struct {
		into *[]Model
		from []runs.Model
	}{{&s.LST, lst}, {&s.NMAR, nmar}, {&s.FMRI, fmri}} {
		if *part.into, err = s.sorted(part.from); err != nil {
			return nil, err
		}
	}
	return s, s.measure()
}

func (s *Study) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// commonBase returns the models of the base, and of the fidelity, that has the most, or of the given
// fidelity.
func (s *Study) commonBase(what string, models []runs.Model, fidelity string) ([]runs.Model, error) {
	type key struct{ base, fidelity string }
	groups := map[key][]runs.Model{}
	bases := map[*runs.Run]string{}
	for _, m := range models {
		if _, known := bases[m.Run]; !known {
			base, err := m.Run.Base()
			if err != nil {
				return nil, err
			}
			bases[m.Run] = base
		}
		k := key{bases[m.Run], m.Run.Config.Fidelity}
		groups[k] = append(groups[k], m)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(-cmp.Compare(boolInt(a.fidelity == fidelity), boolInt(b.fidelity == fidelity)),
			-cmp.Compare(len(groups[a]), len(groups[b])), cmp.Compare(a.fidelity,
				b.fidelity), cmp.Compare(a.base, b.base))
	})
	if len(order) == 0 {
		return nil, nil
	}
	if fidelity != "" && order[0].fidelity != fidelity {
		s.note("no models on %s in the reading %s; there are %s of the other", what, fidelity,
			wording.Count(len(models), "model"))
		return nil, nil
	}
	for _, k := range order[1:] {
		how := "give their folder alone"
		if k.fidelity != order[0].fidelity {
			how += ", or --fidelity " + k.fidelity
		}
		s.note("%s on %s, such as %s, of another reading, size or data set: not shown; %s",
			wording.Count(len(groups[k]), "model"), what, groups[k][0].Run.Name, how)
	}
	return groups[order[0]], nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sorted returns models of the common lengths of training, each seed of a configuration once, in the
// order of encoding, sigma, options and seed.
func (s *Study) sorted(models []runs.Model) ([]Model, error) {
	models, notes, err := runs.Distinct(models)
	if err != nil {
		return nil, err
	}
	s.Notes = append(s.Notes, notes...)
	identities, err := runs.Identities(models)
	if err != nil {
		return nil, err
	}
	var out []Model
	for i, m := range models {
		out = append(out, Model{Model: m, Variant: variantOf(m), identity: identities[i]})
	}
	out = s.keepCommonLength(out)
	slices.SortStableFunc(out, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.Run.Config.PE, b.Run.Config.PE), cmp.Compare(a.Sigma(), b.Sigma()),
			cmp.Compare(fmt.Sprint(a.Run.Config.PEOptions),
				fmt.Sprint(b.Run.Config.PEOptions)), cmp.Compare(a.Member.Seed, b.Member.Seed))
	})
	return out, nil
}

func variantOf(m runs.Model) Variant {
	c := m.Run.Config
	v := Variant{Optimizer: c.Optimizer, Decay: m.Member.WeightDecay, Heads: c.Heads,
		Placement: c.Placement(), ReadOut: c.ReadOut}
	if v.Optimizer == "adamw" && v.Decay == 0 { // the two are one without decay
		v.Optimizer = "adam"
	}
	return v
}

// mainVariant returns the paper's own variant: Adam without weight decay, one head, and where the PE is
// added and the answer read as in the reading at hand.
func (s *Study) mainVariant() Variant {
	v := Variant{Optimizer: "adam", Heads: 1, Placement: "block", ReadOut: "last"}
	if s.Fidelity == "text" {
		v.Placement, v.ReadOut = "input", "probe"
	}
	return v
}

// puzzles returns the models on puzzles of a variant. An encoding that has no placement belongs to
// each.
func (s *Study) puzzles(v Variant) []Model {
	var out []Model
	for _, m := range s.LST {
		own := m.Variant
		if own.Placement == "" {
			own.Placement = v.Placement
		}
		if own == v {
			out = append(out, m)
		}
	}
	return out
}

// group are the models of one encoding, which differ in their seeds.
type group struct {
	Label  string
	Sigma  float64 // -1 where the encoding has none
	Models []Model
}

// groups returns models by encoding and sigma, in the order of the models: the learned ones by
// sigma. What models of an encoding differ in, but for the length of training, joins the label.
func groups(models []Model) []group {
	byLabel := map[string][]map[string]string{}
	for _, m := range models {
		byLabel[m.Label()] = append(byLabel[m.Label()], m.identity)
	}
	var out []group
	at := map[string]int{}
	for _, m := range models {
		var differ []string
		for _, key := range runs.Differing(byLabel[m.Label()]) {
			if text := runs.Difference(key, m.identity[key]); text != "" && !runs.IsLength(key) {
				differ = append(differ, text)
			}
		}
		label := m.Label()
		if differ != nil {
			slices.Sort(differ)
			label += " (" + strings.Join(differ, ", ") + ")"
		}
		key := m.Label() + "\n" + runs.KeyButLength(m.identity)
		i, there := at[key]
		if !there {
			i = len(out)
			at[key] = i
			out = append(out, group{Label: label, Sigma: m.Sigma()})
		}
		out[i].Models = append(out[i].Models, m)
	}
	return out
}

// learned returns the groups of the paper's learned encoding, by sigma.
func learned(all []group) []group {
	return slices.DeleteFunc(slices.Clone(all), func(g group) bool {
		return g.Sigma < 0 || g.Models[0].Run.Config.PE != "learn"
	})
}

// onGrid returns the groups of the paper's main grid of sigma, 0.1 to 2 in tenths, over which it
// correlates; those of its study of optimizers are smaller.
func onGrid(all []group) []group {
	return slices.DeleteFunc(slices.Clone(all), func(g group) bool {
		tenths := 10 * g.Sigma
		return tenths < 0.5 || tenths > 20.5 || math.Abs(tenths-math.Round(tenths)) > 1e-9
	})
}

// common returns the groups of the paper's common encodings and learn-0.2, in its order, then other
// encodings than learned ones.
func common(all []group) []group {
	order := paper.Encodings()
	place := func(g group) int {
		for i, label := range order {
			if g.Label == label || strings.HasPrefix(g.Label, label+" (") {
				return i
			}
		}
		return len(order)
	}
	out := slices.DeleteFunc(slices.Clone(all), func(g group) bool {
		return g.Sigma >= 0 && place(g) == len(order)
	})
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(place(a), place(b)) })
	return out
}

// values returns a measure of each model of a group.
func (g group) values(of func(Model) float64) []float64 {
	out := make([]float64, len(g.Models))
	for i, m := range g.Models {
		out[i] = of(m)
	}
	return out
}
