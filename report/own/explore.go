package own

import (
	"errors"
	"fmt"
	"io/fs"

	"torchpe/internal/metrics"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/page"
	"torchpe/report/runs"
)

// explore writes page.html, with the first seed of each group that learned a table, and links to
// it.
func (s *Study) explore(d *document.Document) error {
	const file = "explorer.html"
	p := page.Explorer{Title: "Explore the learned positions", Back: "index.html"}
	for _, g := range s.groups {
		probes, x, t, err := g.learned()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, runs.ErrNoTable) {
			continue
		}
		if err != nil {
			return err
		}
		m, err := explorerModel(x, g.label)
		if err != nil {
			continue // all rows are equal: no map
		}
		if p.Tokens == nil {
			p.Tokens, p.Groups = explorerTokens(t)
		}
		a, err := probes.Attention(g.models[0].Index)
		if err != nil {
			return err
		}
		m.Matrices = append(m.Matrices, attentionMatrices(a)...)
		if m.Frames, err = mapsOver(g.models[0], x.Tokens); err != nil {
			return err
		}
		p.Models = append(p.Models, m)
	}
	if p.Models == nil {
		return nil
	}
	left, err := p.Save(d.File(file))
	if err != nil {
		return err
	}
	if left != "" {
		s.note("%s: %s", file, left)
	}
	to := d.Section("Explore")
	to.Items = append(to.Items, page.List{Entries: []string{"Choose tokens on a map of the learned positions: their " +
		"neighbours, and the attention from and to them by block and head."},
		Links: []page.Link{{Label: file, Href: file}}})
	return nil
}

// mostFrames bounds the maps of a model over training.
const mostFrames = 40

// mapsOver returns the maps that a run kept in its records (--record-maps), of more than mostFrames every
// second, third, ... one.
func mapsOver(m runs.Model, tokens int) (frames []page.Frame, err error) {
	records, err := m.Run.Records()
	if err != nil {
		return nil, err
	}
	for _, r := range m.Records(records) {
		if r.PEMotion != nil && len(r.PEMotion.Map) == tokens {
			frames = append(frames, page.Frame{Step: r.Step, Map: r.PEMotion.Map})
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
func explorerTokens(t tokens) (all []page.Token, groups []page.Group) {
	modules := 0
	for i, name := range t.names {
		one := page.Token{Name: name, Group: -1}
		if t.labels != nil {
			one.Group = t.labels[i]
			modules = max(modules, one.Group+1)
		}
		all = append(all, one)
	}
	names := t.modules
	for len(names) < modules {
		names = append(names, fmt.Sprintf("module %d", len(names)))
	}
	for i, c := range figure.GroupColors(names[:modules]) {
		groups = append(groups, page.Group{Name: names[i], Color: c})
	}
	return all, groups
}

// explorerModel returns a table's map and the similarity of its rows.
func explorerModel(x runs.Table, label string) (m page.Model, err error) {
	at, explained, err := metrics.PCA(x.Values, x.Tokens, x.Dim, 2)
	if err != nil {
		return m, err
	}
	m.Label = label
	for k := range m.Axes {
		m.Axes[k] = fmt.Sprintf("Axis %d (%.0f %%)", k+1, 100*explained[k])
	}
	for i := range x.Tokens {
		m.Map = append(m.Map, [2]float64{at[2*i], at[2*i+1]})
	}
	alike, err := x.Cosines()
	m.Matrices = []page.Matrix{{Label: "similarity of positions (cosine)", From: "is like", Values: alike}}
	return m, err
}

// attentionMatrices returns the attention of each block and head, the mean over examples.
func attentionMatrices(a runs.Attention) (out []page.Matrix) {
	nn := a.Tokens * a.Tokens
	for block, values := range a.Layers {
		for head := range a.Heads {
			m := page.Matrix{Label: fmt.Sprintf("attention, block %d", block+1), From: "attends to",
				To: "is attended by", Values: make([]float64, nn)}
			if a.Heads > 1 {
				m.Label += fmt.Sprintf(", head %d", head+1)
			}
			for example := range a.Examples {
				from := (example*a.Heads + head) * nn
				for i, v := range values[from : from+nn] {
					m.Values[i] += v / float64(a.Examples)
				}
			}
			out = append(out, m)
		}
	}
	return out
}
