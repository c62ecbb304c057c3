package runs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Group holds the models of one configuration, which differ in their seeds.
type Group struct {
	Label  string
	Models []Model
}

// Groups joins models that differ in their seed alone, by encoding and σ. Settings in which models
// of one encoding differ stand behind its label; models that differ in ignored ones are in one group.
func Groups(models []Model, ignored ...string) ([]Group, error) {
	settings := make([]map[string]string, len(models))
	byLabel := map[string][]map[string]string{}
	for i, m := range models {
		all, err := m.Run.Config.Settings()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Run.Dir, err)
		}
		settings[i] = maps.Clone(all)
		settings[i]["lr"], settings[i]["weight_decay"] = fmt.Sprint(m.Member.LR), fmt.Sprint(m.Member.WeightDecay)
		for _, key := range ignored {
			delete(settings[i], key)
		}
		byLabel[m.Label()] = append(byLabel[m.Label()], settings[i])
	}
	var out []Group
	at := map[string]int{}
	for i, m := range models {
		label := m.Label()
		for _, key := range Differing(byLabel[m.Label()]) {
			label += fmt.Sprintf(", %s %s", key[strings.LastIndex(key, ".")+1:], settings[i][key])
		}
		if _, ok := at[label]; !ok {
			at[label] = len(out)
			out = append(out, Group{Label: label})
		}
		out[at[label]].Models = append(out[at[label]].Models, m)
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Models[0].Run.Config.PE, b.Models[0].Run.Config.PE),
			cmp.Compare(a.Models[0].Sigma(), b.Models[0].Sigma()), cmp.Compare(a.Label, b.Label))
	})
	return out, nil
}
