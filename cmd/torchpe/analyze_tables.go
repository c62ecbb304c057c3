package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/analysis"
)

// tableFlags choose the tables of positions that "torchpe analyze" measures.
type tableFlags struct {
	tables        []string
	member, block int
	positions     string
	json          bool
	header        text.Choice
}

// add adds the flags; block is the default, analysis.All or a number.
func (f *tableFlags) add(cmd *cobra.Command, block int) {
	cmd.Args = cobra.ArbitraryArgs
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.tables, "table", nil,
		"measure FILE[:tensor], a table [tokens,dimensions] or a stack of them; may be given several times")
	fl.IntVar(&f.member, "member", analysis.All, "member of a run, from 0; -1 = all")
	fl.IntVar(&f.block, "block", block, "block of a run, or place in a stack of tables, from 0; -1 = all")
	fl.StringVar(&f.positions, "positions", "",
		"FROM:TO, only these positions, from 0 and without the last (default all)")
	headerFlag(fl, &f.header)
	fl.BoolVar(&f.json, "json", false, "print as JSON")
}

// selection returns the runs and tables that the flags and arguments choose.
func (f *tableFlags) selection(args []string) (analysis.Selection, error) {
	from, to, err := analysis.ParsePositions(f.positions)
	if err != nil {
		return analysis.Selection{}, fmt.Errorf("--positions: %w", err)
	}
	for _, number := range []struct {
		flag  string
		value int
	}{{"member", f.member}, {"block", f.block}} {
		if number.value < analysis.All {
			return analysis.Selection{}, fmt.Errorf("--%s %d: want a number from 0, or -1 for all",
				number.flag, number.value)
		}
	}
	return analysis.Selection{Runs: args, Files: f.tables, Member: f.member, Block: f.block, From: from, To: to,
		Header: f.header}, nil
}

// models returns the models that the flags and arguments choose, and says on notes what was left
// out.
func (f *tableFlags) models(args []string, notes io.Writer) ([]*analysis.Model, error) {
	s, err := f.selection(args)
	if err != nil {
		return nil, usageError{err}
	}
	models, said, err := analysis.Tables(s)
	if err != nil {
		return nil, usageError{err}
	}
	note(notes, said)
	return models, nil
}

// membersOfOne returns the members of one run, or one table.
func (f *tableFlags) membersOfOne(args []string, notes io.Writer) ([]*analysis.Model, error) {
	if len(args)+len(f.tables) > 1 {
		return nil, usagef("%s and %s: this command takes one", wording.Count(len(args), "run"),
			wording.Count(len(f.tables), "table"))
	}
	models, err := f.models(args, notes)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.Source != models[0].Source {
			return nil, usagef("%s: %s and %s: choose one run", args[0], models[0].Source, m.Source)
		}
		if len(m.Tables) > 1 {
			return nil, usagef("%s: %d tables: choose one with --block", m.Source, len(m.Tables))
		}
	}
	return models, nil
}

// note prints notes, a line each.
func note(w io.Writer, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(w, "note: "+n)
	}
}

// subject returns the first cells of a row, which name the measured table.
func subject(s analysis.Subject) []string {
	member, seed := "–", "–"
	if s.Member != nil {
		member = fmt.Sprint(*s.Member)
	}
	if s.Seed != nil {
		seed = fmt.Sprint(*s.Seed)
	}
	pe := s.PE
	if pe == "" {
		pe = "–"
	}
	return []string{s.Source, pe, member, seed}
}

// printModels prints rows that begin with subject's cells, without those columns that say nothing
// of any row.
func printModels(w io.Writer, head []string, rows [][]string) {
	for column := len(subjectHead) - 1; column > 0; column-- {
		if slices.ContainsFunc(rows, func(r []string) bool { return r[column] != "–" }) {
			continue
		}
		head = slices.Delete(slices.Clone(head), column, column+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	printTable(w, head, rows)
}

// subjectHead lists the headings of subject's cells.
var subjectHead = []string{"source", "pe", "member", "seed"}

// seedColumn is the place of the seed in subject's cells.
const seedColumn = 3

// row appends numbers to the first cells of a row.
func row(first []string, values ...any) []string {
	out := append([]string(nil), first...)
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func parseDistance(name string) (metrics.Distance, error) {
	d, err := metrics.ParseDistance(name)
	if err != nil {
		return d, usagef("--distance: %w%s", err, wording.Hint(name, metrics.DistanceNames()))
	}
	return d, nil
}

func distanceHelp() string {
	return "between tokens: " + strings.Join(metrics.DistanceNames(), ", ")
}

// outFlags say where a result is written.
type outFlags struct {
	out   string
	force bool
}

func (f *outFlags) add(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&f.out, "out", "", help)
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite an existing file")
}

// check says whether --out can be written.
func (f *outFlags) check(extensions ...string) error {
	if f.out == "" {
		return nil
	}
	if err := analysis.CheckOut(f.out, f.force, extensions...); err != nil {
		return usagef("--out: %w", err)
	}
	return nil
}

func (f *outFlags) write(body []byte) error { return os.WriteFile(f.out, body, 0o666) }
