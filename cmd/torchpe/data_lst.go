package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"torchpe/data/lst"
)

func newLSTCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "lst",
		Short: "Puzzles of the Latin Square Task",
		Long: `Puzzles of the Latin Square Task (LST).

A puzzle is a 4x4 grid with symbols 1-4, none twice in a row or column, blanks, and one probe: the
cell whose symbol is to be found. --side selects grids of 3 to 8 rows with as many symbols. The
condition of a puzzle is the number of rows and columns that must be considered together: 1, 2 or 3
(in files: Binary, Ternary, Quaternary).

Files are CSV with the columns ID, LST_num, condition, puzzles, solutions; a puzzle is
16 digits row by row: 0 blank, 1-4 symbol, 5 probe (of side N: 0, 1-N, N+1). ID and
LST_num are not read.`,
	}, newLSTGenerateCommand(), newLSTCheckCommand())
}

// lstGenerateFlags holds the flags of "torchpe data lst generate".
type lstGenerateFlags struct {
	to      destination
	seed    uint64
	options lst.Options
}

func newLSTGenerateCommand() *cobra.Command {
	f := lstGenerateFlags{options: lst.DefaultOptions()}
	f.to.files = lst.GeneratedFiles
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a new training and validation set",
		Long: `Write a new training pool (DIR/train.csv) and validation set (DIR/validation.csv).

A third of each set is of each condition; answers and probe cells are balanced; all puzzles are
distinct. A validation puzzle needs as many rows and columns as its condition says, like the
published ones; a fifth of the training puzzles called 3-vector need only two, as in the published
files. Every training puzzle has a Jaccard dissimilarity above 0.8 to every validation puzzle, and
none is isomorphic to one (rows or columns permuted, transposed, symbols renamed). The same flags give
the same bytes. The default size takes about a second. With many more validation puzzles, hardly any
grid is dissimilar to all of them, and the command returns an error.

Puzzles of another --side have the same rules and the same share of given cells; isomorphism is not
checked for them. "torchpe train --lst-side" reads them, and without files generates such a set.`,
		Example: `  torchpe data lst generate --out puzzles
  torchpe data lst generate --out puzzles --seed 7 --train 30000
  torchpe data lst generate --out five --side 5`,
	}
	fl, o := cmd.Flags(), &f.options
	fl.Uint64Var(&f.seed, "seed", 0, "seed, 0 to 2^64-1")
	fl.Var(bounded{&o.Side, lst.Side - 1, 2 * lst.Side}, "side", "rows and columns of a puzzle, 3 to 8")
	fl.Var(bounded{&o.Train, 1, lst.MaxPuzzles}, "train",
		"training puzzles; train holds out a tenth of them as the IID test set")
	fl.Var(bounded{&o.Validation, 1, lst.MaxPuzzles}, "validation", "validation puzzles")
	f.to.add(cmd, "folder to write to, created if missing")
	require(cmd, "out")
	return leaf(cmd, f.run, &f.to)
}

// lstGenerated is the JSON summary of generate.
type lstGenerated struct {
	Train      string     `json:"train"`      // path
	Validation string     `json:"validation"` // path
	Seed       uint64     `json:"seed"`
	Side       int        `json:"side"`
	Report     lst.Report `json:"report"`
}

func (f *lstGenerateFlags) run(*call) (r result, err error) {
	o := f.options
	train, validation, err := lst.Generate(o, f.seed)
	if err != nil {
		return r, err
	}
	g := lstGenerated{f.to.file(f.to.files[0]), f.to.file(f.to.files[1]), f.seed, o.Side, lst.Check(train, validation)}
	if err := g.Report.Err(); err != nil {
		return r, fmt.Errorf("the generated set fails its own check, so nothing was written; report this: %w", err)
	}
	if err := os.MkdirAll(f.to.path, 0o777); err != nil {
		return r, fmt.Errorf("--out: %w", err)
	}
	r.value = g
	r.print = func(w io.Writer) {
		fmt.Fprintf(w, "wrote %d puzzles of side %d to %s and %d to %s (seed %d)\n", len(train), g.Side, g.Train,
			len(validation), g.Validation, f.seed)
		printLSTReport(w, g.Report)
	}
	return r, lst.WriteFiles(lst.File{Path: g.Validation, Puzzles: validation}, lst.File{Path: g.Train, Puzzles: train})
}

func newLSTCheckCommand() *cobra.Command {
	var validation string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "check [TRAIN_FILE...] --validation FILE",
		Short: "Check puzzles, and the distance between training and validation set",
		Long: `Check that every puzzle can be solved by the rules of its claimed condition and has the claimed
answer, and how close the training puzzles come to the validation puzzles. Without files, check the
generated default set.

The exit code is 1 if a file cannot be read, a puzzle is not valid, or an answer is wrong.
Other faults are only reported: duplicates, wrong condition labels, training puzzles isomorphic to a
validation puzzle, and puzzles called 3-vector that two rows or columns decide, which the rules of
the labels do not detect.`,
		Example: `  torchpe data lst check
  torchpe data lst check --json --validation validation.csv train.csv
  torchpe data lst check --validation puzzle_data_original.csv generated_puzzle_data_*_dist80.csv`,
	}
	cmd.Flags().StringVar(&validation, "validation", "", "file with the validation puzzles")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of the generated default set")
	cmd.MarkFlagsMutuallyExclusive("validation", "seed")
	return leaf(cmd, func(c *call) (r result, err error) {
		if (validation == "") != (len(c.args) == 0) {
			return r,
				usagef("--validation holds the validation puzzles, and TRAIN_FILE the training puzzles: give both")
		}
		train, held, err := lstSets(c.args, validation, seed)
		if err != nil {
			return r, err
		}
		report := lst.Check(train, held)
		return result{value: report, print: func(w io.Writer) { printLSTReport(w, report) }, err: report.Err()}, nil
	})
}

// lstSets reads the sets to check, or generates the default ones.
func lstSets(trainFiles []string, validationFile string, seed uint64) (train, validation []lst.Puzzle, err error) {
	if validationFile == "" {
		return lst.Generate(lst.DefaultOptions(), seed)
	}
	for _, path := range trainFiles {
		ps, err := lst.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		train = append(train, ps...)
	}
	validation, err = lst.ReadFile(validationFile)
	return train, validation, err
}

func printLSTReport(w io.Writer, r lst.Report) {
	head, rows := r.Counts()
	printTable(w, head, rows)
	head, rows = r.Table()
	printTable(w, head, rows)
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
}
