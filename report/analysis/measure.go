// Package analysis measures what models learned: their tables of positions and attention maps, from
// run directories or from arrays of the user's own.
//
// A [Measure] is a row of [Measures]: its options, its help and a function from an [Input] to a
// [Report]. "torchpe analyze" makes a subcommand of each row. Package metrics computes the numbers.
package analysis

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
)

// Measure is a subcommand of "torchpe analyze".
type Measure struct {
	Use, Short, Long, Example string

	// Maps is set for measures of attention maps. Their arguments are runs or arrays, and they lack the
	// flags that select tables.
	Maps bool
	// Block is the default of --block: All, or 0 for measures of one table.
	Block int
	// Out is the help of --out, and Extensions are the kinds of file it writes. Both are empty for
	// measures that write no file.
	Out        string
	Extensions []string

	options func(*pflag.FlagSet) // declares the measure's own flags; nil for none
	run     func(*Input) (*Report, error)
}

// Measures returns the measures, with options at their defaults.
func Measures() []Measure {
	return []Measure{newNetwork(), newProcrustes(), newAttention(), newDistances(), newToeplitz(), newMap(),
		newRank()}
}

// All selects all members or all blocks.
const All = -1

// Input selects what is measured: the arguments, and the flags that all measures have.
type Input struct {
	Args      []string // directories: runs, or folders with runs below them; for maps also FILE[:tensor]
	Files     []string // FILE[:tensor], of shape [n,d], or stacks of tables [...,n,d]
	Member    int      // of runs, or All
	Block     int      // from 0, or All
	Positions string   // FROM:TO; empty = all
	Header    text.Choice
	Out       string // file that the result is written to, of one of the Extensions, or empty
	JSON      bool   // print all numbers as JSON, rather than a table

	// Notes say what was left out, how the input was read, and why a number has no value. Run sets them,
	// even if it fails.
	Notes []string

	flags    *pflag.FlagSet
	from, to int // bounds of Positions, to exclusive; 0 = all
}

// Flags declares the flags that select what is measured, and the measure's own.
func (m Measure) Flags(fl *pflag.FlagSet, in *Input) {
	in.flags = fl
	if !m.Maps {
		fl.StringArrayVar(&in.Files, "table", nil,
			"measure FILE[:tensor], a table [tokens,dimensions] or a stack of them; may be given several times")
	}
	fl.IntVar(&in.Member, "member", All, "member of a run, from 0; -1 = all")
	if in.Block = All; !m.Maps {
		usage := "block of a run, or place in a stack of tables, from 0; -1 = all"
		if m.Block != All {
			usage = "block of a run, or place in a stack of tables, from 0 (default 0)"
		}
		fl.IntVar(&in.Block, "block", m.Block, usage)
		fl.StringVar(&in.Positions, "positions", "",
			"FROM:TO, only these positions, from 0 and without the last (default all)")
	}
	if m.options != nil {
		m.options(fl)
	}
}

// Run measures an input. An error says what is wrong with the input or the options.
func (m Measure) Run(in *Input) (*Report, error) {
	var err error
	if in.from, in.to, err = parsePositions(in.Positions); err != nil {
		return nil, fmt.Errorf("--positions: %w", err)
	}
	for _, number := range []struct {
		flag  string
		value int
	}{{"member", in.Member}, {"block", in.Block}} {
		if number.value < All {
			return nil, fmt.Errorf("--%s %d: want a number from 0, or -1 for all", number.flag, number.value)
		}
	}
	switch {
	case in.given("member") && !slices.ContainsFunc(in.Args, func(a string) bool { return !isRegular(a) }):
		return nil, fmt.Errorf("--member %d: only runs have members, and no run is named: leave it out", in.Member)
	case in.given("header") && !in.readsText():
		return nil, errors.New("--header is for text files, and none is named: leave it out")
	}
	r, err := m.run(in)
	if err != nil {
		in.Notes = unique(in.Notes)
		return nil, err
	}
	if notes := unique(r.notes); notes != nil {
		r.JSON = append(r.JSON, Field{"notes", notes})
	}
	in.Notes = unique(append(in.Notes, r.notes...))
	return r, nil
}

// given reports whether the command line sets a flag.
func (in *Input) given(flag string) bool { return in.flags.Changed(flag) }

// readsText reports whether an argument or a flag names a file of text, or one that cannot be read.
func (in *Input) readsText() bool {
	named, words := slices.Concat(in.Args, in.Files), []string{byRows, byColumns, byGrid, fixed1D, fixed2D}
	in.flags.Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); f.Value.Type() == "string" && strings.Contains(f.Usage, "FILE") &&
			!slices.Contains(words, v) {
			named = append(named, v)
		}
	})
	return slices.ContainsFunc(named, func(reference string) bool {
		file, _, err := arrayfile.Split(reference)
		isText := true
		if err == nil {
			isText, err = arrayfile.IsText(file)
		}
		return (isText || err != nil) && !isDirectory(reference)
	})
}

// extension returns the extension of --out, such as ".csv".
func (in *Input) extension() string {
	if name := strings.ToLower(in.Out); !strings.HasSuffix(name, scalarsEnding) {
		return filepath.Ext(name)
	}
	return scalarsEnding
}

// Report holds the outcome of a measure.
type Report struct {
	JSON   Object      // for --json
	Tables []TextTable // for the terminal
	File   []byte      // the contents of --out

	notes []string // on the numbers, such as why one has no value; also in JSON
}

// TextTable is a table of texts, and a line below it, which says what a file of the table holds.
type TextTable struct {
	Head []string
	Rows [][]string
	Foot string
}

// unique removes empty and repeated notes.
func unique(notes []string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, n := range notes {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}
