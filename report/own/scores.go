package own

import (
	"fmt"
	"math"
	"strings"

	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/runs"
	"torchpe/report/table"
)

// leastScores is the least range of the axes of modularity and clustering, which lie between -1 and 1.
const leastScores = 0.1

// scores draws modularity and clustering by encoding, with what chance reaches; no figure where no
// modules are known.
func (s *Study) scores() (document.Item, error) {
	item := document.Item{ID: "scores", Section: positionsSection, Title: "Modules in the learned positions"}
	q := figure.Boxes{Title: "Modularity", YLabel: "Modularity Q", MinRange: leastScores}
	c := figure.Boxes{Title: "Clustering", YLabel: "Clustering C", MinRange: leastScores}
	t := table.Table{Columns: []table.Column{{Heading: "encoding", Name: "encoding"},
		{Heading: "Q", Name: "modularity", Decimals: 3}, {Heading: "by chance", Name: "chance", Decimals: 3},
		{Heading: "from", Name: "chance_low", Decimals: 3}, {Heading: "to", Name: "chance_high", Decimals: 3},
		{Heading: "p", Name: "p"}, {Heading: "p, smooth", Name: "p_smooth"}}}
	var tests []string
	smooth := ""
	for _, g := range s.groups {
		values := g.values(modularity)
		if !hasNumber(values) {
			continue
		}
		own := figure.Group{Label: g.label, Values: values}
		found, err := g.models[0].Chance()
		if err != nil {
			return item, fmt.Errorf("%s: %w", g.label, err)
		}
		if found != nil {
			own.Chance = &figure.Chance{Low: found.Low, High: found.High, P: found.P}
			t.Rows = append(t.Rows, table.Row{table.Text(g.label), table.Number(found.Q), table.Number(found.Mean),
				table.Number(found.Low), table.Number(found.High), table.P(found.P), table.P(found.Smooth)})
			test := fmt.Sprintf("%s %.3f, p = %.3f", g.label, found.Q, found.P)
			if !math.IsNaN(found.Smooth) {
				test += fmt.Sprintf(" (smooth: %.3f)", found.Smooth)
				smooth = " In brackets: tables that are as smooth over the given places of the tokens (Moran " +
					"spectral randomisation), without which modules of neighbours pass too easily."
			}
			tests = append(tests, test)
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
		"Chance: modules dealt to the tokens at random (%d permutations, first block, first seed): %s.%s",
		runs.Surrogates, strings.Join(tests, "; "), smooth)
	item.Panels = []figure.Row{{Height: plotHeight, Cells: []figure.Cell{{Panel: q}, {Panel: c}}}}
	s.compose(&item)
	return item, nil
}
