package main

import (
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/positions"
	"torchpe/train"
)

// positionsFlags say where tokens lie.
type positionsFlags struct{ file, as string }

const positionsAsHelp = "what the file of --positions holds: auto (what its shape says), "

func (f *positionsFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "positions", "", "file that says where tokens lie, FILE or FILE:NAME: a number (order), row and column (grid), coordinates, an adjacency matrix or a list of edges (graph) (default: the task's own)")
	fl.StringVar(&f.as, "positions-as", "auto", positionsAsHelp+strings.Join(positions.Forms(), ", "))
}

// set copies the values of given flags into c, and says which of them have no effect. An empty file takes away that of --config.
func (f *positionsFlags) set(c *train.Config, given map[string]bool) (unused []string) {
	own := train.PositionsConfig{}
	if c.Positions != nil {
		own = *c.Positions
	}
	if given["positions"] {
		own = train.PositionsConfig{File: f.file} // read anew, whatever it held
	}
	if given["positions-as"] {
		own.As = f.as
	}
	c.Positions = &own
	if own.File == "" {
		c.Positions = nil
		if given["positions-as"] {
			unused = append(unused, "--positions-as has no effect without --positions")
		}
	}
	return unused
}
