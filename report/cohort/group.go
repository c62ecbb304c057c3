package cohort

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"torchpe/train/config"
)

// Group holds the models of one configuration, which differ only in their seeds.
type Group struct {
	Label  string
	Models []Model
}

// Groups joins models whose identities are equal except for ignored keys, sorts the groups by encoding, σ and
// label, and the models of each by seed. A label ends with the settings in which models of its encoding differ. A
// model loses measures that it took with other settings than most of its group.
func Groups(models []Model, ignored ...string) ([]Group, error) {
	identities, err := Identities(models)
	if err != nil {
		return nil, err
	}
	byLabel := map[string][]map[string]string{}
	for i, m := range models {
		byLabel[m.Label()] = append(byLabel[m.Label()], identities[i])
	}
	var out []Group
	at := map[string]int{}
	for i, m := range models {
		label := m.Label()
		for _, key := range Differing(byLabel[m.Label()]) {
			if text := Difference(key, identities[i][key]); text != "" && !slices.Contains(ignored, key) {
				label += ", " + text
			}
		}
		key := Key(identities[i], ignored...)
		if _, ok := at[key]; !ok {
			at[key] = len(out)
			out = append(out, Group{Label: label})
		}
		out[at[key]].Models = append(out[at[key]].Models, m)
	}
	for _, g := range out {
		slices.SortStableFunc(g.Models, func(a, b Model) int { return cmp.Compare(a.Member.Seed, b.Member.Seed) })
		for _, family := range config.MadeMeasures() {
			dropUnlike(g.Models, family)
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Models[0].Run.Config.PE, b.Models[0].Run.Config.PE),
			cmp.Compare(a.Models[0].Sigma(), b.Models[0].Sigma()), cmp.Compare(a.Label, b.Label))
	})
	return out, nil
}

// dropUnlike drops the measures of a family from models that took it with other settings than most.
func dropUnlike(models []Model, family string) {
	isOf := func(key string) bool {
		first, _, _ := strings.Cut(key, "/")
		return first == family
	}
	var measured []Model
	for _, m := range models {
		for key := range m.Result.Measures {
			if isOf(key) {
				measured = append(measured, m)
				break
			}
		}
	}
	for _, other := range MeasuredOtherwise(measured, family) {
		i := slices.IndexFunc(models, func(m Model) bool { return m.Key() == other.Key() })
		models[i].Result.Measures = maps.Clone(models[i].Result.Measures)
		maps.DeleteFunc(models[i].Result.Measures, func(key string, _ float64) bool { return isOf(key) })
	}
}
