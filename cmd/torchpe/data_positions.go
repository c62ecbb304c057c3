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

// positionsFlags holds the flags of "torchpe data positions".
type positionsFlags struct {
	config      configFlags
	method, out string
	dims        int
	json        *bool
}

func newDataPositionsCommand() *cobra.Command {
	var f positionsFlags
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
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.method, "method", pe.GradientsInit, "gradients or mds")
	fl.IntVar(&f.dims, "dims", 2, "coordinates a token")
	fl.StringVarP(&f.out, "out", "o", "positions.csv", "file to write: name, x1, x2, ...")
	f.json = jsonFlag(cmd)
	headFlags(fl, "map")
	f.config.add(fl)
	setCommonFlags(cmd, "task", "data", "modules", "method", "dims", "out")
	return cmd
}

func (f *positionsFlags) run(cmd *cobra.Command, _ []string) error {
	if f.method != pe.MDSInit && f.method != pe.GradientsInit {
		return usagef("--method %s is not one of gradients, mds", f.method)
	}
	init := fmt.Sprintf("%s:%d", f.method, f.dims)
	for flag, value := range map[string]string{"pe": "learn", config.InitFlag: init} {
		if err := cmd.Flags().Set(flag, value); err != nil {
			return usageError{err}
		}
	}
	c, notes, err := f.config.resolve()
	if err != nil {
		return usageError{err}
	}
	p, err := train.FindPositions(c)
	if err != nil { // as the flags of this command
		return usagef("%s", strings.Replace(err.Error(), "--pe-init "+init, "--method "+f.method, 1))
	}
	if err := atomicfile.Write(f.out, func(w io.Writer) error { return writePositions(w, p) }); err != nil {
		return err
	}
	notes = append(notes, p.Note)
	if *f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			Out        string   `json:"out"`
			Tokens     int      `json:"tokens"`
			Dimensions int      `json:"dimensions"`
			Notes      []string `json:"notes"`
		}{f.out, len(p.Coordinates), f.dims, notes})
	}
	for _, n := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "torchpe: "+n)
	}
	return nil
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
