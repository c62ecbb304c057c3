package cohort

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// Found holds the models of a report.
type Found struct {
	Dir    string
	Runs   int      // the number of finished runs
	Models []Model  // models that did not diverge
	Notes  []string // what was left out and why, and what was trained elsewhere
}

// Read finds the finished runs in dir and below it for which isOn is true. It leaves out those with damaged
// records or probes.
func Read(dir string, isOn func(*Run) bool) (*Found, error) {
	all, skipped, err := Find(dir)
	if err != nil {
		return nil, err
	}
	f := &Found{Dir: dir}
	for _, s := range skipped {
		f.Note("left out: %s", s.Reason)
	}
	var own []*Run
	for _, r := range all {
		if !isOn(r) {
			continue
		}
		if err := r.checkWhole(); err != nil {
			f.Note("left out: %s", err)
			continue
		}
		own = append(own, r)
	}
	f.Runs = len(own)
	models, diverged := Models(own)
	if diverged > 0 {
		f.Note("%s diverged: left out", wording.Count(diverged, "model"))
	}
	f.Models = models
	var from []string
	for _, m := range models {
		if strings.HasPrefix(m.Run.Origin, imported) {
			from = append(from, fmt.Sprintf("%s, seed %d, %s", m.Run.Name, m.Member.Seed, m.Weights()))
		}
	}
	if from != nil {
		f.Note("how models were trained in PyTorch is not known: %s", wording.List(3, from))
	}
	return f, nil
}

// CountRuns returns the number of runs that the models belong to, without copies that were left out.
func (f *Found) CountRuns() int { return CountRuns(f.Models) }

// Note adds a sentence, if it is not there yet.
func (f *Found) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(f.Notes, note) {
		f.Notes = append(f.Notes, note)
	}
}

// Distinct returns models without copies, and notes the number of copies. Identities are compared apart from the
// given keys.
func (f *Found) Distinct(models []Model, without ...string) ([]Model, error) {
	models, notes, err := Distinct(models, without...)
	f.Notes = append(f.Notes, notes...)
	return models, err
}

// NoteUnlike notes the settings, without ignored ones, in which encodings differ although their labels do not
// show it: "lr 0.0001 (learn-0.2; nope), lr 0.001 (rope)".
func (f *Found) NoteUnlike(groups []Group, ignored ...string) error {
	keys, values, err := Unlike(groups, ignored...)
	if err != nil {
		return err
	}
	var parts []string
	for _, key := range keys {
		labels := map[string][]string{}
		isSaid := true
		for i, g := range groups {
			text := Difference(key, values[i][key])
			labels[text] = append(labels[text], g.Label)
			isSaid = isSaid && strings.Contains(g.Label, text)
		}
		if isSaid {
			continue
		}
		for _, text := range slices.Sorted(maps.Keys(labels)) {
			names, more := labels[text], ""
			if n := len(names) - 6; n > 0 {
				names, more = names[:6], fmt.Sprintf(" and %d more", n)
			}
			parts = append(parts, fmt.Sprintf("%s (%s%s)", text, strings.Join(names, "; "), more))
		}
	}
	if parts != nil {
		f.Note("these encodings differ in more than the encoding: %s", strings.Join(parts, ", "))
	}
	return nil
}

// NoteRecords notes over how many steps or epochs the training error and loss of encodings are means, if that
// differs: a number of training is a mean since the record before.
func (f *Found) NoteRecords(groups []Group) {
	of := map[int][]string{}
	for _, g := range groups {
		c := g.Models[0].Run.Config
		of[c.LogEvery] = append(of[c.LogEvery], g.Label)
	}
	if len(of) < 2 {
		return
	}
	unit := "step"
	if groups[0].Models[0].Run.Config.Facts().InEpochs {
		unit = "epoch"
	}
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", wording.Count(n, unit), strings.Join(of[n], "; ")))
	}
	f.Note("training errors are means since the record before; these lengths (--log-every) differ, so they cannot be "+
		"compared: %s", strings.Join(parts, ", "))
}

// Base holds the models of one model size, data and reading of the paper.
type Base struct {
	Fidelity string
	Models   []Model
	identity map[string]string // without settings in which models of a base may differ
}

// Unlike names the settings in which a base differs from another: "dtype float64, not dtype float32". It leaves
// out those that follow from another reading of the paper.
func (b Base) Unlike(other Base) string {
	if b.Fidelity != other.Fidelity {
		return fmt.Sprintf("fidelity %s, not %s", b.Fidelity, other.Fidelity)
	}
	var parts []string
	onePlaced := (b.identity[placesKey] == "") != (other.identity[placesKey] == "")
	for _, key := range Differing([]map[string]string{b.identity, other.identity}) {
		if onePlaced && slices.Contains(dataPaths, key) { // only one identity has them
			continue
		}
		own, others := Difference(key, b.identity[key]), Difference(key, other.identity[key])
		if key == DataKey && b.Models[0].Run.Config.Masked != nil {
			own = "data, modules or places of tokens (" + strings.TrimPrefix(own, "data ") + ")"
			others = strings.TrimPrefix(others, "data ")
		}
		parts = append(parts, own+", not "+others)
	}
	return strings.Join(parts, "; ")
}

// Bases groups models by base, in the order of the first model of each.
func Bases(models []Model) (all []Base, err error) {
	at := map[string]int{}
	bases := map[*Run]map[string]string{}
	for _, m := range models {
		if _, known := bases[m.Run]; !known {
			if bases[m.Run], err = m.base(); err != nil {
				return nil, err
			}
			bases[m.Run]["fidelity"] = m.Run.Config.Fidelity
		}
		key := Key(bases[m.Run])
		if _, known := at[key]; !known {
			at[key] = len(all)
			all = append(all, Base{Fidelity: m.Run.Config.Fidelity, identity: bases[m.Run]})
		}
		all[at[key]].Models = append(all[at[key]].Models, m)
	}
	return all, nil
}

// CountRuns returns the number of runs that the models belong to.
func CountRuns(models []Model) int {
	seen := map[*Run]bool{}
	for _, m := range models {
		seen[m.Run] = true
	}
	return len(seen)
}
