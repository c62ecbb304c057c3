package main

import (
	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
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
		var networks []string
		if d.Modules != nil {
			networks = d.Modules.Modules
		}
		return result{value: report, print: printf("%s", report.Text(networks))}, nil
	})
}
