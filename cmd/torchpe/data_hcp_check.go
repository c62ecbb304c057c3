package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/partition"
	"torchpe/data/series"
	"torchpe/internal/wording"
)

func newHCPCheckCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Read a whole data set as training would, and say what fits and what does not",
		Long: `Read files or folders as "torchpe train --task fmri" does: every value must be finite, every file must
have the same tokens, and the networks must fit them, by name where both have names. It prints the
modularity of the mean functional connectivity under these networks: .11 for resting-state fMRI in
the Cole-Anticevic networks. A wrong order of hemispheres changes that number by .003 only, so the
order is checked by name.`,
		Example: `  torchpe data hcp check rest/ --modules LabelKey.txt --subjects subjects.tsv`,
	}
	f.add(cmd.Flags())
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		d, err := f.s.Read(series.CorticalParcels, false)
		if err != nil {
			return result{}, err
		}
		report, err := hcp.Check(d)
		if err != nil {
			return result{}, err
		}
		lines := checkLines(report, d.Modules)
		return result{value: report, print: func(w io.Writer) {
			for _, l := range lines {
				fmt.Fprintf(w, "%-24s %s\n", l[0], l[1])
			}
		}}, nil
	})
}

// checkLines returns the name and the text of each line of the report.
func checkLines(c hcp.Report, modules *partition.Matched) [][2]string {
	lines := [][2]string{
		{"subjects", fmt.Sprint(c.Subjects)},
		{"runs", fmt.Sprint(c.Runs)},
		{"frames", fmt.Sprint(c.Frames)},
		{"tokens", fmt.Sprint(c.Tokens)},
		{"names", cmp.Or(c.NamesFrom, "none")},
		{"hemispheres", c.HemisphereOrder},
		{"SD of a token in a run", fmt.Sprintf("%.3g to %.3g", c.SD[0], c.SD[1])},
	}
	if modules != nil {
		modularity := "unknown: no two tokens correlate"
		if c.Modularity != nil {
			modularity = fmt.Sprintf("%.4f of the mean correlations", *c.Modularity)
		}
		var sizes []string
		for _, name := range modules.Modules {
			sizes = append(sizes, fmt.Sprintf("%s (%s)", name, wording.Count(c.Networks[name], "token")))
		}
		lines = append(lines,
			[2]string{"networks", fmt.Sprintf("%d: %s", len(sizes), strings.Join(sizes, ", "))},
			[2]string{"matched", c.NetworksFrom},
			[2]string{"modularity", modularity})
	}
	for _, n := range c.Notes {
		lines = append(lines, [2]string{"note", n})
	}
	return lines
}
