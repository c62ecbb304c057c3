package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
)

// graphMethod is the method of "torchpe data positions" that writes edges.
const graphMethod = "graph"

// positionsFlags holds the flags of "torchpe data positions".
type positionsFlags struct {
	config configFlags
	method string
	dims   int
	to     destination
}

func newDataPositionsCommand() *cobra.Command {
	f := positionsFlags{method: pe.GradientsInit, to: destination{path: "positions.csv"}}
	cmd := &cobra.Command{
		Use:   "positions",
		Short: "Find the places of tokens from training samples",
		Long: `Compute positions of the tokens of masked prediction from the correlations of their training samples.
The file is for --positions, so that encodings of space and coordinates can be compared with learned
ones. --dims says how many coordinates a token has.

  gradients  diffusion map of the correlations, as in BrainSpace, with exact eigenvectors
  mds        coordinates of least stress, whose distances approximate 1 - r
  graph      edges from each token to the tenth of the tokens with which it correlates most
             (half of 20 tokens or fewer; --pe-init-sparsity gives another share to leave out)

Samples that "torchpe train" holds out with the same flags (whole subjects, the end of runs) are not
used.`,
		Example: `  torchpe data positions --task fmri --data rest/ --modules rest/modules.csv --dims 3 --out gradients.csv
  torchpe train --task fmri --data rest/ --modules rest/modules.csv --positions gradients.csv --pe rope-3d
  torchpe data positions --task fmri --data rest/ --modules rest/modules.csv --method graph --out graph.csv
  torchpe train --task fmri --data rest/ --modules rest/modules.csv --positions graph.csv --pe laplacian`,
	}
	fl := cmd.Flags()
	fl.Var(choice{&f.method, []string{pe.GradientsInit, pe.MDSInit, graphMethod}}, "method", "gradients, mds or graph")
	fl.IntVar(&f.dims, "dims", 2, "coordinates per token")
	f.to.add(cmd, "file to write: name, x1, x2, ..., or from, to of a graph")
	headFlags(fl, "map")
	f.config.add(fl)
	setCommonFlags(cmd, "task", "data", "modules", "method", "dims", "out")
	return leaf(cmd, ofInput(f.run), &f.to)
}

func (f *positionsFlags) run(c *call) (r result, err error) {
	if !c.given("task") && !c.given("config") && !c.given("preset") {
		return r, usagef("--task is missing: give --task masked, fmri or nmar")
	}
	init := fmt.Sprintf("%s:%d", f.method, f.dims)
	if f.method == graphMethod {
		init = pe.GradientsInit // whose sparsity applies
		if c.given("dims") {
			return r, usagef("--dims has no effect with --method graph, which has no coordinates")
		}
	}
	for flag, value := range map[string]string{"pe": "learn", config.InitFlag: init} {
		if c.Flags().Changed(flag) {
			return r, usageError{fmt.Errorf("--%s has no effect here, where no model is trained: give --method "+
				"and --dims", flag)}
		}
		if err := c.Flags().Set(flag, value); err != nil {
			return r, err
		}
	}
	resolved, notes, err := f.config.resolve()
	if err != nil {
		return r, err
	}
	if f.method == graphMethod {
		g, err := train.FindGraph(resolved)
		if err != nil {
			return r, err
		}
		notes = append(append(notes, g.About...), g.Note)
		r.print = printf("%s: %s\n", f.to.path, wording.Count(len(g.Edges), "edge"))
		r.notes, r.files, r.value = notes, f.to.holding(g.WriteCSV), struct {
			Out   string   `json:"out"`
			Edges int      `json:"edges"`
			Notes []string `json:"notes"`
		}{f.to.path, len(g.Edges), notes}
		return r, nil
	}
	p, err := train.FindPositions(resolved)
	if err != nil { // in terms of this command's flags
		return r, errors.New(strings.Replace(err.Error(), "--pe-init "+init, "--method "+f.method, 1))
	}
	notes = append(append(notes, p.About...), p.Note)
	r.print = printf("%s: %s of %s\n", f.to.path, wording.Count(f.dims, "coordinate"),
		wording.Count(len(p.Coordinates), "token"))
	r.notes, r.files, r.value = notes, f.to.holding(p.WriteCSV), struct {
		Out        string   `json:"out"`
		Tokens     int      `json:"tokens"`
		Dimensions int      `json:"dimensions"`
		Notes      []string `json:"notes"`
	}{f.to.path, len(p.Coordinates), f.dims, notes}
	return r, nil
}
