package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/series"
	"torchpe/report/metrics"
)

// hcpCheck is what check prints.
type hcpCheck struct {
	Subjects        int            `json:"subjects"`
	Runs            int            `json:"runs"`
	Frames          int            `json:"frames"`
	Tokens          int            `json:"tokens"`
	NamesFrom       string         `json:"names_from"` // empty where no file has names
	HemisphereOrder string         `json:"hemisphere_order"`
	SD              [2]float64     `json:"sd"`       // smallest and largest of a token in a run
	Constant        int            `json:"constant"` // tokens of runs that do not vary, on which training ends unless --zscore=false
	Networks        map[string]int `json:"networks"`
	NetworksFrom    string         `json:"networks_from"`
	Modularity      *float64       `json:"modularity"` // of the mean correlations, negative ones as 0; null without networks, and where no two tokens correlate
	Notes           []string       `json:"notes"`
}

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
	f.addAll(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func runHCPCheck(w io.Writer, s series.Source, asJSON bool) error {
	d, err := s.Read(series.CorticalParcels, false)
	if err != nil {
		return err
	}
	c := hcpCheck{
		Subjects: len(d.Subjects), Runs: len(d.Runs), Frames: d.Frames, Tokens: d.Tokens, NamesFrom: d.NamesFrom,
		HemisphereOrder: string(d.Hemispheres()), Constant: len(d.Flat), Networks: map[string]int{}, Notes: append([]string{}, d.Notes...),
	}
	if len(d.Flat) > 0 {
		first := d.Flat[0]
		c.Notes = append(c.Notes, fmt.Sprintf("Training would end with an error, unless with --zscore=false: %d token(s) of runs do not vary and have no z-score, such as token %s of %s, which is %v throughout.",
			len(d.Flat), first.Token, first.Run, first.Value))
	}
	connectivity, sd := meanCorrelations(d.Set)
	c.SD = sd
	if d.Modules != nil {
		c.NetworksFrom = d.Modules.How
		for _, l := range d.Modules.Labels {
			c.Networks[d.Modules.Modules[l]]++
		}
		score, err := metrics.ScoreNetwork(connectivity, d.Modules.Labels)
		if err != nil {
			return err
		}
		if q := score.Modularity; !math.IsNaN(q) { // it is where no two tokens correlate
			c.Modularity = &q
		}
	}
	if asJSON {
		return printJSON(w, c)
	}
	rows := [][]string{
		{"subjects", fmt.Sprint(c.Subjects)}, {"runs", fmt.Sprint(c.Runs)}, {"frames", fmt.Sprint(c.Frames)}, {"tokens", fmt.Sprint(c.Tokens)},
		{"names", orWord(c.NamesFrom, "none")}, {"hemispheres", c.HemisphereOrder}, {"SD of a token in a run", fmt.Sprintf("%.3g to %.3g", c.SD[0], c.SD[1])},
	}
	if d.Modules != nil {
		modularity := "unknown: no two tokens correlate"
		if c.Modularity != nil {
			modularity = fmt.Sprintf("%.4f of the mean correlations", *c.Modularity)
		}
		var sizes []string
		for _, name := range d.Modules.Modules {
			sizes = append(sizes, fmt.Sprintf("%s %d", name, c.Networks[name]))
		}
		rows = append(rows, []string{"networks", strings.Join(sizes, ", ")}, []string{"matched", c.NetworksFrom},
			[]string{"modularity", modularity})
	}
	for _, n := range c.Notes {
		rows = append(rows, []string{"note", n})
	}
	for _, r := range rows { // matched and networks are too long for a table
		if _, err := fmt.Fprintf(w, "%-24s %s\n", r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

// meanCorrelations returns the correlations between tokens [tokens, tokens], averaged over runs, with negative ones and the
// diagonal set to 0, and the smallest and the largest SD of a token in a run. A constant token correlates with none.
func meanCorrelations(s *series.Set) (mean []float64, sd [2]float64) {
	n := s.Tokens
	mean, sd = make([]float64, n*n), [2]float64{math.Inf(1), 0}
	for _, r := range s.Runs {
		columns := make([][]float32, n) // z-scored, each over the root of the frames, so that products are correlations
		for t := range columns {
			columns[t] = make([]float32, r.Frames)
			sum, flat := 0.0, true
			for f := range r.Frames {
				sum += float64(s.X[(r.First+f)*n+t])
				flat = flat && s.X[(r.First+f)*n+t] == s.X[r.First*n+t]
			}
			centre, squares := sum/float64(r.Frames), 0.0
			for f := range r.Frames {
				v := float64(s.X[(r.First+f)*n+t]) - centre
				squares += v * v
			}
			if flat { // squares are of the rounding of the mean
				sd[0] = 0
				continue
			}
			deviation := math.Sqrt(squares / float64(r.Frames))
			sd[0], sd[1] = min(sd[0], deviation), max(sd[1], deviation)
			for f := range r.Frames {
				columns[t][f] = float32((float64(s.X[(r.First+f)*n+t]) - centre) / math.Sqrt(squares))
			}
		}
		for i := range n {
			for j := range i {
				var dot float32
				a, b := columns[i], columns[j]
				for f, v := range a {
					dot += v * b[f]
				}
				mean[i*n+j] += float64(dot) / float64(len(s.Runs))
			}
		}
	}
	for i := range n {
		for j := range i {
			mean[i*n+j] = max(0, mean[i*n+j])
			mean[j*n+i] = mean[i*n+j]
		}
	}
	return mean, sd
}
