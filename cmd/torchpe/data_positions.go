package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
)

// newDataPositionsCommand returns "torchpe data positions".
func newDataPositionsCommand() *cobra.Command {
	var f configFlags
	var method, out string
	var dims int
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "positions",
		Short: "Find where tokens lie from training samples",
		Long: `Write where the tokens of masked prediction lie by the correlations of their training samples: a file for
--positions, so that encodings of space and coordinates can be held against learned ones.

  gradients  diffusion map of the correlations, as BrainSpace has it, with exact eigenvectors
  mds        coordinates whose distances are 1 - r, of the least stress

What "torchpe train" holds out with the same flags - whole subjects, the end of runs - plays no part.`,
		Example: `  torchpe data positions --task fmri --data rest/ --modules rest/modules.csv --dims 3 --out gradients.csv
  torchpe train --task fmri --data rest/ --modules rest/modules.csv --positions gradients.csv --pe rope-3d`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if method != pe.MDSInit && method != pe.GradientsInit {
				return usagef("--method %s is not one of gradients, mds", method)
			}
			init := fmt.Sprintf("%s:%d", method, dims)
			for flag, value := range map[string]string{"pe": "learn", config.InitFlag: init} {
				if err := cmd.Flags().Set(flag, value); err != nil {
					return usageError{err}
				}
			}
			c, notes, err := f.resolve()
			if err != nil {
				return usageError{err}
			}
			p, err := train.FindPositions(c)
			if err != nil { // as the flags of this command
				return usagef("%s", strings.Replace(err.Error(), "--pe-init "+init, "--method "+method, 1))
			}
			if err := atomicfile.Write(out, func(w io.Writer) error { return writePositions(w, p) }); err != nil {
				return err
			}
			if *asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					Out        string   `json:"out"`
					Tokens     int      `json:"tokens"`
					Dimensions int      `json:"dimensions"`
					Notes      []string `json:"notes"`
				}{out, len(p.Coordinates), dims, append(notes, p.Note)})
			}
			for _, n := range append(notes, p.Note) {
				fmt.Fprintln(cmd.ErrOrStderr(), "torchpe: "+n)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&method, "method", pe.GradientsInit, "gradients or mds")
	fl.IntVar(&dims, "dims", 2, "coordinates a token")
	fl.StringVarP(&out, "out", "o", "positions.csv", "file to write: name, x1, x2, ...")
	asJSON = jsonFlag(cmd)
	headFlags(fl, "map")
	f.add(fl)
	setUsual(cmd, "task", "data", "modules", "method", "dims", "out")
	return cmd
}

// writePositions writes a row a token: its name where it has one, and its coordinates.
func writePositions(w io.Writer, p train.TokenPositions) error {
	var head []string
	if p.Names != nil {
		head = append(head, "name")
	}
	for axis := range p.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", axis+1))
	}
	rows := [][]string{head}
	for i, at := range p.Coordinates {
		var row []string
		if p.Names != nil {
			row = append(row, p.Names[i])
		}
		for _, v := range at {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
