package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/wording"
)

func newHCPCheckCommand() *cobra.Command {
	var f sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Read a whole data set as training would, and say what fits and what does not",
		Long: `Read files or folders as "torchpe train --task fmri" does: every value must be finite, every file must
have the same tokens, and the networks must fit them, by name where both have names. It prints the
modularity of the mean functional connectivity under these networks: .11 for resting-state fMRI in
the Cole-Anticevic networks. A wrong order of hemispheres changes that number by .003 only, so it is
checked by name.`,
		Example: `  torchpe data hcp check rest/ --modules LabelKey.txt --subjects subjects.tsv`,
		Args:    someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			f.s.Data = files
			return runHCPCheck(cmd.OutOrStdout(), f.s, asJSON)
		},
	}
	cmd.Flags().SortFlags = false
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func runHCPCheck(w io.Writer, s series.Source, asJSON bool) error {
	d, err := s.Read(series.CorticalParcels, false)
	if err != nil {
		return fileErrorAsUsage(err)
	}
	c, err := hcp.Check(d)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, c)
	}
	rows := [][]string{
		{"subjects", fmt.Sprint(c.Subjects)}, {"runs", fmt.Sprint(c.Runs)}, {"frames",
			fmt.Sprint(c.Frames)}, {"tokens", fmt.Sprint(c.Tokens)},
		{"names", cmp.Or(c.NamesFrom, "none")}, {"hemispheres", c.HemisphereOrder}, {
			"SD of a token in a run", fmt.Sprintf("%.3g to %.3g", c.SD[0], c.SD[1])},
	}
	if d.Modules != nil {
		modularity := "unknown: no two tokens correlate"
		if c.Modularity != nil {
			modularity = fmt.Sprintf("%.4f of the mean correlations", *c.Modularity)
		}
		var sizes []string
		for _, name := range d.Modules.Modules {
			sizes = append(sizes, fmt.Sprintf("%s (%s)", name, wording.Count(c.Networks[name], "token")))
		}
		networks := fmt.Sprintf("%d: %s", len(sizes), strings.Join(sizes, ", "))
		rows = append(rows, []string{"networks", networks}, []string{"matched", c.NetworksFrom},
			[]string{"modularity", modularity})
	}
	for _, n := range c.Notes {
		rows = append(rows, []string{"note", n})
	}
	for _, r := range rows { // matched and networks are too long for a table
		fmt.Fprintf(w, "%-24s %s\n", r[0], r[1])
	}
	return nil
}
