package own

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"torchpe/internal/metrics"
	"torchpe/internal/stats"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
)

// The permutations of a test, and the seed that they are drawn from.
const (
	permutations    = 999
	permutationSeed = 1
)

// chance holds the scores of modules dealt to the tokens at random, on the learned positions of a model.
type chance struct{ q, mean, low, high, p float64 }

// chanceOf tests the modularity of a model's first block; not ok where there is none to test.
func chanceOf(m runs.Model) (c chance, ok bool, err error) {
	p, err := m.Run.Probes()
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	x, err := p.Table(m.Index, 0)
	if errors.Is(err, runs.ErrNoTable) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	t, err := tokensOf(p, x.Tokens)
	if err != nil || t.labels == nil {
		return c, false, err
	}
	kind := metrics.Euclidean
	if name := m.Run.Config.Masked.Distance; name != "" {
		if kind, err = metrics.ParseDistance(name); err != nil {
			return c, false, err
		}
	}
	d, err := metrics.Distances(x.Values, x.Tokens, x.Dim, kind)
	if err != nil {
		return c, false, err
	}
	w := metrics.Proximity(d)
	score, err := metrics.ScoreNetwork(w, t.labels)
	if err != nil || math.IsNaN(score.Modularity) {
		return c, false, err
	}
	null, err := metrics.PermutationNull(w, t.labels, permutations, permutationSeed)
	if err != nil {
		return c, false, err
	}
	slices.Sort(null)
	c.q, c.p, c.mean = score.Modularity, metrics.Reached(null, score.Modularity), stats.Mean(null)
	c.low, c.high = stats.Quantile(null, 0.025), stats.Quantile(null, 0.975)
	return c, true, nil
}

// scores draws modularity and clustering by encoding, with what chance reaches; no figure where no
// modules are known.
func (s *Study) scores() (document.Item, error) {
	item := document.Item{ID: "scores", Section: positionsSection, Title: "Modules in the learned positions"}
	q := figure.Boxes{Title: "Modularity", YLabel: "Modularity Q",
		Beside: []string{"chance, 2.5 %", "chance, 97.5 %"}}
	c := figure.Boxes{Title: "Clustering", YLabel: "Clustering C"}
	t := table.Table{Columns: []table.Column{{Heading: "encoding", Name: "encoding"},
		{Heading: "Q", Name: "modularity", Decimals: 3}, {Heading: "by chance", Name: "chance", Decimals: 3},
		{Heading: "from", Name: "chance_low", Decimals: 3}, {Heading: "to", Name: "chance_high", Decimals: 3},
		{Heading: "p", Name: "p"}}}
	var tests []string
	for _, g := range s.groups {
		values := g.values(modularity)
		if !hasNumber(values) {
			continue
		}
		own := figure.Group{Label: g.label, Values: values, Beside: []float64{math.NaN(), math.NaN()}}
		found, ok, err := chanceOf(g.models[0])
		if err != nil {
			return item, fmt.Errorf("%s: %w", g.label, err)
		}
		if ok {
			own.Beside = []float64{found.low, found.high}
			t.Rows = append(t.Rows, table.Row{table.Text(g.label), table.Number(found.q), table.Number(found.mean),
				table.Number(found.low), table.Number(found.high), table.P(found.p)})
			tests = append(tests, fmt.Sprintf("%s %.3f, p = %.3f", g.label, found.q, found.p))
		}
		q.Groups = append(q.Groups, own)
		c.Groups = append(c.Groups, figure.Group{Label: g.label, Values: g.values(clustering)})
	}
	if q.Groups == nil {
		return item, nil
	}
	if t.Rows != nil {
		item.Tables = []document.Named{{Name: "scores", Table: t}}
	}
	item.Caption = fmt.Sprintf("Modularity Q and clustering C of the learned positions for the known modules, the "+
		"mean over blocks; a dot a seed. Q of a fixed encoding says how far the order of the tokens alone falls into "+
		"the modules. "+
		"Chance: modules dealt to the tokens at random (%d permutations, first block, first seed): %s.", permutations,
		strings.Join(tests, "; "))
	item.Panels = []figure.Row{{Height: plotHeight, Cells: []figure.Cell{{Panel: q}, {Panel: c}}}}
	return item, compose(&item)
}
