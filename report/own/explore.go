package own

import (
	"fmt"

	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/item"
	"torchpe/report/page"
)

// explore writes explorer.html with the first seed of each group that learned a table, and adds a link to it.
func explore(d *draft) error {
	const file = "explorer.html"
	p := page.Explorer{Title: "Explore the learned positions", Back: "index.html"}
	for _, l := range d.learned {
		m, err := l.explorerModel()
		if err != nil {
			continue // all rows are equal: no map
		}
		if p.Tokens == nil {
			p.Tokens, p.Groups = explorerTokens(l.tokens)
		}
		a, err := l.probes.Attention(l.model.Index)
		if err != nil {
			return err
		}
		m.Matrices = append(m.Matrices, attentionMatrices(a)...)
		if m.Frames, err = mapsOver(l.model, l.table.Tokens); err != nil {
			return err
		}
		p.Models = append(p.Models, m)
	}
	if p.Models == nil {
		return nil
	}
	left, err := p.Save(d.page.File(file))
	if err != nil {
		return err
	}
	if left != "" {
		d.Note("%s: %s", file, left)
	}
	to := d.page.Section("Explore")
	to.Items = append(to.Items, page.List{Entries: []string{"Choose tokens on a map of the learned positions: their " +
		"neighbours, and the attention from and to them by block and head."},
		Links: []page.Link{{Label: file, Href: file}}})
	return nil
}

// mostFrames bounds the number of a model's maps over training.
const mostFrames = 40

// mapsOver returns the maps that a run kept in its records (--record-maps). If there are more than mostFrames,
// it keeps every second, third, ... one.
func mapsOver(m cohort.Model, tokens int) (frames []page.Frame, err error) {
	records, err := m.Run.Records()
	if err != nil {
		return nil, err
	}
	for _, r := range m.Records(records) {
		if plane := r.Map; len(plane) == tokens {
			frames = append(frames, page.Frame{Step: r.Step, Map: plane})
		}
	}
	every := (len(frames) + mostFrames - 1) / mostFrames
	var kept []page.Frame
	for i, f := range frames {
		if (len(frames)-1-i)%every == 0 {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// explorerTokens returns the tokens and modules of a page.
func explorerTokens(t item.Tokens) (all []page.Token, groups []page.Group) {
	modules := 0
	for i, name := range t.Names {
		one := page.Token{Name: name, Group: -1}
		if t.Labels != nil {
			one.Group = t.Labels[i]
			modules = max(modules, one.Group+1)
		}
		all = append(all, one)
	}
	names := t.Modules
	for len(names) < modules {
		names = append(names, fmt.Sprintf("module %d", len(names)))
	}
	for i, c := range figure.GroupColors(modules, names) {
		groups = append(groups, page.Group{Name: names[i], Color: c})
	}
	return all, groups
}

// explorerModel returns the map of the table and the similarity of its rows.
func (l learned) explorerModel() (page.Model, error) {
	drawn, err := item.Plane(l.label, l.table, "Axis")
	if err != nil {
		return page.Model{}, err
	}
	return page.Model{Label: l.label, Map: drawn.XY, Axes: [2]string{drawn.XLabel, drawn.YLabel},
		Matrices: []page.Matrix{{Label: "similarity of positions (cosine)", From: "is like",
			Values: l.table.Cosines()}},
	}, nil
}

// attentionMatrices returns the attention of each block and head, the mean over examples.
func attentionMatrices(a metrics.Attention) (out []page.Matrix) {
	nn := a.Tokens * a.Tokens
	for block, values := range a.Layers {
		for head := range a.Heads {
			m := page.Matrix{Label: fmt.Sprintf("attention, block %d", block), From: "attends to",
				To: "is attended by"}
			if a.Heads > 1 {
				m.Label += fmt.Sprintf(", head %d", head)
			}
			var examples [][]float64
			for example := range a.Examples {
				from := (example*a.Heads + head) * nn
				examples = append(examples, values[from:from+nn])
			}
			m.Values = item.MeanMap(a.Tokens, examples...)
			out = append(out, m)
		}
	}
	return out
}
