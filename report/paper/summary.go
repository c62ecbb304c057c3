package paper

import (
	"fmt"
	"math"

	"torchpe/report/stats"
	"torchpe/report/table"
)

// claims gathers the rows of the summary.
type claims struct{ table.Table }

func (c *claims) add(what, paper, here string, n int) {
	count := table.Cell{}
	if n > 0 {
		count = table.Count(n)
	}
	if here == "" {
		here = "no runs"
	}
	c.Rows = append(c.Rows, table.Row{table.Text(what), table.Text(paper), table.Text(here), count})
}

// summary sets the paper's main claims beside what the runs show.
func (s *Study) summary(d *draft) error {
	c := claims{table.Table{Title: d.Title, Columns: []table.Column{
		{Heading: "claim", Name: "claim"}, {Heading: "paper", Name: "paper"}, {Heading: "here", Name: "here"}, {Heading: "n", Name: "n"},
	}, Note: "Mean ± SD over models; n counts models, or levels of σ for correlations."}}
	all := s.mainGroups()
	byS := learned(all)
	for _, p := range []struct{ label, paper string }{{"learn-0.2", ".956 ± .039"}, {"learn-1.0", ".894"}, {"learn-2.0", ".377"}, {reference, ".977 ± .073"}} {
		text, n := meanText(only(all, p.label), validation)
		c.add("Puzzles: validation accuracy of "+p.label, p.paper, text, n)
	}
	_, rhoCosine := scatter("", "", "", "levels of σ", onGrid(byS), Model.cosine, validation)
	c.add("Puzzles: the nearer attention is to the ground truth's, the better", "Spearman ρ = .96", rhoCosine, 0)
	_, rhoDistance := scatter("", "", "", "levels of σ", onGrid(byS), Model.distance, validation)
	c.add("Puzzles: the nearer the PE is to the ground truth's, the better", "Spearman ρ = −.98", rhoDistance, 0)
	_, rhoDisparity := scatter("", "", "", "levels of σ", onGrid(byS), Model.disparity, validation)
	c.add("the same, whatever the norms (not in the paper)", "–", rhoDisparity, 0)
	c.add("Puzzles: learn-0.2 is as good as 2d-fixed", "t = .96, p = .35 (of 15 pairs; it prints 13 degrees of freedom, which are 14)", pairedText(all), 0)
	network := groups(trainedAt(s.NMAR, 0.5))
	for _, label := range []string{"learn-0.1", "learn-2.0"} {
		text, n := meanText(only(network, label), modularity)
		c.add("Simulated network: modularity Q of "+label, map[string]string{"learn-0.1": "highest of all", "learn-2.0": "near 0"}[label], text, n)
	}
	brain := groups(trainedAt(s.FMRI, 0.5))
	for _, label := range []string{"learn-0.1", "learn-2.0"} {
		text, n := meanText(only(brain, label), testMSE(paperTestLevel))
		c.add("fMRI: test MSE of "+label+", 90 % masked", map[string]string{"learn-0.1": "lowest of all", "learn-2.0": "higher"}[label], text, n)
		text, n = meanText(only(brain, label), modularity)
		c.add("fMRI: modularity Q of "+label, map[string]string{"learn-0.1": "highest of all", "learn-2.0": "near 0"}[label], text, n)
	}
	if len(brain) > 0 {
		if v, ok := brain[0].Models[0].Run.Result.Baselines["gaussian"][paperTestLevel]; ok {
			c.add("fMRI: test MSE of the conditional Gaussian, 90 % masked (not in the paper)", "–", fmt.Sprintf("%.3f", v), 0)
		}
	}
	fidelity := ""
	if s.Fidelity != "" {
		fidelity = fmt.Sprintf(" Puzzles in the reading of the paper's %s.", s.Fidelity)
	}
	d.Caption = fmt.Sprintf("From %s: %d models on puzzles, %d on the simulated network, %d on fMRI.%s", plural(s.Runs, "run"), len(s.LST), len(s.NMAR), len(s.FMRI), fidelity)
	d.table("", c.Table)
	return nil
}

// meanText is "0.956 ± 0.039" of the group, if there is one.
func meanText(g []Group, of func(Model) float64) (string, int) {
	if g == nil {
		return "", 0
	}
	values := finite(g[0].values(of))
	switch len(values) {
	case 0:
		return "", 0
	case 1:
		return decimals(values[0], 3), 1
	}
	sd := stats.SD(values)
	if math.IsNaN(sd) {
		return decimals(values[0], 3), 1
	}
	return decimals(stats.Mean(values), 3) + " ± " + decimals(sd, 3), len(values)
}
