package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"torchpe/data/lst"
)

func newLSTCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lst",
		Short: "Puzzles of the Latin Square Task",
		Long: `Puzzles of the Latin Square Task (LST).

A puzzle is a 4x4 grid with symbols 1-4, none twice in a row or column, blanks, and one probe whose
symbol is asked for; --side has grids of 3 to 8 rows and as many symbols. Its condition is the
number of rows and columns that must be looked at together: 1, 2 or 3 (in files: Binary, Ternary,
Quaternary).

Files are CSV with the columns ID, LST_num, condition, puzzles, solutions; a puzzle is
16 digits row by row: 0 blank, 1-4 symbol, 5 probe (of side N: 0, 1-N, N+1). ID and
LST_num are not read.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newLSTGenerateCommand(), newLSTCheckCommand(), newLSTShowCommand())
	return cmd
}

// The two files that generate writes.
const (
	lstTrainFile      = "train.csv"
	lstValidationFile = "validation.csv"
)

// lstGenerateFlags holds the flags of "torchpe data lst generate".
type lstGenerateFlags struct {
	out         string
	seed        uint64
	force, json bool
	options     lst.Options
}

func newLSTGenerateCommand() *cobra.Command {
	f := lstGenerateFlags{options: lst.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a new training and validation set",
		Long: `Write a new training pool (DIR/train.csv) and validation set (DIR/validation.csv).

A third of each set is of each condition; answers and probe cells are balanced; all
puzzles are distinct. A validation puzzle needs as many rows and columns as its condition
says, as the published ones do; of the training puzzles called 3-vector a fifth needs two
only, as in the published files. Every training puzzle has a Jaccard dissimilarity above 0.8 to
every validation puzzle, and none is a validation puzzle in disguise (rows or columns
permuted, transposed, symbols renamed). The same flags give the same bytes. The default
size takes about a second. With many more validation puzzles hardly a grid is dissimilar
to all of them, and the command says so and fails.

Puzzles of another --side have the same rules and the same share of cells given. Whether
a training puzzle is a validation puzzle in disguise is not looked at there. "torchpe
train --lst-side" makes the same set by itself.`,
		Example: `  torchpe data lst generate --out puzzles
  torchpe data lst generate --out puzzles --seed 7 --train 30000
  torchpe data lst generate --out as-published --published-imbalance --allow-isomorphic
  torchpe data lst generate --out five --side 5`,
		Args: noArguments,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "directory to write to, made if missing (required)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed, 0 to 2^64-1")
	fl.IntVar(&f.options.Side, "side", lst.Side, "rows and columns of a puzzle, 3 to 8")
	fl.IntVar(&f.options.Train, "train", f.options.Train,
		"training puzzles, a tenth of which later serves as IID test set")
	fl.IntVar(&f.options.Validation, "validation", f.options.Validation, "validation puzzles")
	fl.BoolVar(&f.options.PublishedImbalance, "published-imbalance", false,
		"place training probes as unevenly over the cells as the published pool does")
	fl.BoolVar(&f.options.AllowIsomorphic, "allow-isomorphic", false,
		"admit training puzzles that are a validation puzzle in disguise, as the published pool does")
	fl.BoolVar(&f.force, "force", false, "overwrite existing files")
	fl.BoolVar(&f.json, "json", false, "print the summary as JSON")
	return cmd
}

// lstGenerated is the JSON summary of generate.
type lstGenerated struct {
	Train      string      `json:"train"`      // path
	Validation string      `json:"validation"` // path
	Seed       uint64      `json:"seed"`
	Report     *lst.Report `json:"report,omitempty"` // of side 4

	// Those of other sides; Sets is by set and label of the condition.
	Side int                              `json:"side,omitempty"`
	Sets map[string]map[string]lst.Givens `json:"sets,omitempty"`
}

func (f *lstGenerateFlags) run(cmd *cobra.Command, _ []string) error {
	w := cmd.OutOrStdout()
	if f.out == "" {
		return usagef("--out is missing: name the directory to write %s and %s to", lstTrainFile, lstValidationFile)
	}
	if err := errors.Join(checkLSTSizes(f.options), checkSide(f.options.Side)); err != nil {
		return usageError{err}
	}
	sized := f.options.Side != lst.Side
	if sized && (f.options.PublishedImbalance || f.options.AllowIsomorphic) {
		return usagef("--published-imbalance, --allow-isomorphic: puzzles of side 4 alone have "+
			"these choices, not those of side %d", f.options.Side)
	}
	g := lstGenerated{
		Train:      filepath.Join(f.out, lstTrainFile),
		Validation: filepath.Join(f.out, lstValidationFile),
		Seed:       f.seed,
	}
	if err := checkAbsent(f.force, g.Train, g.Validation); err != nil {
		return err
	}
	train, validation, err := lst.Generate(f.options, f.seed)
	if err != nil {
		return err
	}
	if sized {
		g.Side, g.Sets = f.options.Side, countGivens(train, validation)
	} else {
		r := lst.Check(train, validation)
		if err := r.Err(); err != nil {
			return fmt.Errorf("the generated set fails its own check, nothing was written: please report this: %w", err)
		}
		g.Report = &r
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	err = lst.WriteFiles(lst.File{Path: g.Validation, Puzzles: validation}, lst.File{Path: g.Train, Puzzles: train})
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(w, g)
	}
	of := ""
	if sized {
		of = fmt.Sprintf(" of side %d", g.Side)
	}
	fmt.Fprintf(w, "wrote %d puzzles%s to %s and %d to %s (seed %d)\n", len(train), of, g.Train,
		len(validation), g.Validation, f.seed)
	if sized {
		printGivens(w, g.Sets)
		return nil
	}
	printLSTReport(w, *g.Report)
	return nil
}

// checkSide returns a usage error for a side that there are no puzzles of.
func checkSide(side int) error {
	if err := lst.CheckSide(side); err != nil {
		return usagef("--side: %v", err)
	}
	return nil
}

// countGivens counts the puzzles of both sets by condition.
func countGivens(train, validation []lst.Puzzle) map[string]map[string]lst.Givens {
	sets := map[string]map[string]lst.Givens{"training": {}, "validation": {}}
	for _, c := range lst.Conditions() {
		sets["training"][c.Label()] = lst.CountGivens(train, c)
		sets["validation"][c.Label()] = lst.CountGivens(validation, c)
	}
	return sets
}

// printGivens prints what countGivens counted.
func printGivens(w io.Writer, sets map[string]map[string]lst.Givens) {
	var rows [][]string
	for _, set := range []string{"training", "validation"} {
		for _, c := range lst.Conditions() {
			n := sets[set][c.Label()]
			rows = append(rows, []string{c.Label(), set, strconv.Itoa(n.Puzzles), givensText(n)})
		}
	}
	printTable(w, []string{"condition", "set", "puzzles", "givens mean (range)"}, rows)
}

// givensText writes the mean and range of the symbols shown.
func givensText(n lst.Givens) string {
	return fmt.Sprintf("%.2f (%d-%d)", n.GivensMean, n.GivensMin, n.GivensMax)
}

// checkLSTSizes reports sizes that generate cannot write: an empty set is no file that can be read
// back.
func checkLSTSizes(o lst.Options) error {
	for _, n := range []struct {
		flag string
		size int
	}{{"--train", o.Train}, {"--validation", o.Validation}} {
		if n.size < 1 || n.size > lst.MaxPuzzles {
			return usagef("%s %d: want 1 to %d puzzles", n.flag, n.size, lst.MaxPuzzles)
		}
	}
	return nil
}

// checkAbsent returns an error for the first path that exists or cannot be looked at, unless it may be
// overwritten. Its folder need not be one: making it says so.
func checkAbsent(overwrite bool, paths ...string) error {
	if overwrite {
		return nil
	}
	for _, path := range paths {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return usagef("%s exists: choose another --out or pass --force to overwrite it", path)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// lstCheckFlags holds the flags of "torchpe data lst check".
type lstCheckFlags struct {
	validation string
	seed       uint64
	json       bool
}

func newLSTCheckCommand() *cobra.Command {
	var f lstCheckFlags
	cmd := &cobra.Command{
		Use:   "check [--validation FILE TRAIN_FILE...]",
		Short: "Check puzzles and the distance of training to validation set",
		Long: `Check that every puzzle can be solved by the rules of its claimed condition and has the
claimed answer, and how near the training puzzles come to the validation puzzles.
Without files, check the generated default set.

Exit status 1 if a file cannot be read, a puzzle is not valid, or an answer is wrong;
duplicates, wrong condition labels, training puzzles that are a validation puzzle in
disguise, and puzzles called 3-vector that two rows or columns decide, which the rules of
the labels do not know, are reported only.`,
		Example: `  torchpe data lst check
  torchpe data lst check --json --validation validation.csv train.csv
  torchpe data lst check --validation puzzle_data_original.csv generated_puzzle_data_*_dist80.csv`,
		RunE: f.run,
	}
	cmd.Flags().StringVar(&f.validation, "validation", "", "file with the validation puzzles")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the generated default set, where no files are named")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the report as JSON")
	return cmd
}

func (f *lstCheckFlags) run(cmd *cobra.Command, files []string) error {
	w := cmd.OutOrStdout()
	train, validation, err := f.sets(cmd.Flags().Changed("seed"), files)
	if err != nil {
		return err
	}
	r := lst.Check(train, validation)
	if f.json {
		return cmp.Or(printJSON(w, r), r.Err())
	}
	printLSTReport(w, r)
	return r.Err()
}

// sets reads the sets to check, or generates the default ones.
func (f *lstCheckFlags) sets(seeded bool, trainFiles []string) (train, validation []lst.Puzzle, err error) {
	switch {
	case f.validation == "" && len(trainFiles) == 0:
		return lst.Generate(lst.DefaultOptions(), f.seed)
	case f.validation == "":
		return nil, nil, usagef("--validation is missing: name the file that %s is to be "+
			"compared with", trainFiles[0])
	case len(trainFiles) == 0:
		return nil, nil, usagef("no training file: name one or more after --validation %s", f.validation)
	case seeded:
		return nil, nil, usagef("--seed is for the generated set: leave it out when files are named")
	}
	for _, path := range trainFiles {
		ps, err := lst.ReadFile(path)
		if err != nil {
			return nil, nil, fileErrorAsUsage(err)
		}
		train = append(train, ps...)
	}
	validation, err = lst.ReadFile(f.validation)
	return train, validation, fileErrorAsUsage(err)
}

// printLSTReport prints a report as two tables and the problems.
func printLSTReport(w io.Writer, r lst.Report) {
	counts := [][]string{
		{"puzzles", strconv.Itoa(r.Puzzles)},
		{"valid", strconv.Itoa(r.Valid)},
		{"condition agrees", strconv.Itoa(r.ConditionAgrees)},
		{"answer agrees", strconv.Itoa(r.AnswerAgrees)},
		{"duplicates", strconv.Itoa(r.Duplicates)},
		{"min dissimilarity to validation", strconv.FormatFloat(r.MinDissimilarity, 'f', 4, 64)},
		{"training isomorphic to validation", strconv.Itoa(r.IsomorphicToValidation)},
		{"validation covered by these", strconv.Itoa(r.ValidationCovered)},
		{"validation up to isomorphism", strconv.Itoa(r.ValidationClasses)},
		{"unique completion, training", strconv.Itoa(r.UniqueCompletion.Training)},
		{"unique completion, validation", strconv.Itoa(r.UniqueCompletion.Validation)},
		{"3-vector, but two lines decide, training", strconv.Itoa(r.TwoLines.Training)},
		{"3-vector, but two lines decide, validation", strconv.Itoa(r.TwoLines.Validation)},
	}
	printTable(w, []string{"check", "count or value"}, counts)
	var rows [][]string
	for _, c := range lst.Conditions() {
		for _, set := range []struct {
			name string
			lst.SetReport
		}{{"training", r.PerCondition[c.Label()].Training}, {"validation", r.PerCondition[c.Label()].Validation}} {
			rows = append(rows, []string{c.Label(), set.name, strconv.Itoa(set.Puzzles),
				givensText(set.Givens),
				lstRange(set.Answers[:]), lstRange(set.Probes[:])})
		}
	}
	head := []string{"condition", "set", "puzzles", "givens mean (range)", "per answer", "per probe cell"}
	printTable(w, head, rows)
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
}

// lstRange shows the smallest and largest of some counts.
func lstRange(counts []int) string {
	low, high := counts[0], counts[0]
	for _, n := range counts {
		low, high = min(low, n), max(high, n)
	}
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// lstShowFlags holds the flags of "torchpe data lst show".
type lstShowFlags struct {
	index int // -1: not given
	seed  uint64
	side  int
	json  bool
}

func newLSTShowCommand() *cobra.Command {
	var f lstShowFlags
	cmd := &cobra.Command{
		Use:   "show [FILE] [--index N | --seed N]",
		Short: "Draw puzzles and say what decides them",
		Long: `Draw a puzzle as a grid (? the probe, . a blank) with its condition, its answer and the
rows and columns that decide it, and says where fewer do than its condition says: the puzzle with an
index, or one of each condition, chosen by a seed. Without FILE the puzzles are the validation
puzzles of the generated default set.`,
		Example: `  torchpe data lst show
  torchpe data lst show --seed 5
  torchpe data lst show --side 6
  torchpe data lst show puzzles/train.csv --index 17 --json`,
		RunE: f.run,
	}
	cmd.Flags().IntVar(&f.index, "index", 0, "puzzle to show, counted from 0")
	cmd.Flags().IntVar(&f.side, "side", lst.Side, "rows and columns of the puzzles, 3 to 8")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the choice and, without FILE, of the generated set")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the puzzles as JSON")
	return cmd
}

// lstShown is one puzzle as show prints it.
type lstShown struct {
	Index int `json:"index"`
	Side  int `json:"side,omitempty"` // other than 4
	lst.Puzzle
	lst.Explanation
}

func (f *lstShowFlags) run(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("index") {
		f.index = -1
	} else if cmd.Flags().Changed("seed") {
		return usagef("--index and --seed exclude each other: the one names a puzzle, the other draws some")
	} else if f.index < 0 {
		return usagef("--index %d: want 0 or more", f.index)
	}
	w := cmd.OutOrStdout()
	if err := checkSide(f.side); err != nil {
		return err
	}
	ps, name, err := f.puzzles(args)
	if err != nil {
		return err
	}
	var chosen []int
	switch {
	case f.index >= len(ps):
		return usagef("--index %d: %s has %d puzzles, counted from 0", f.index, name, len(ps))
	case f.index >= 0:
		chosen = []int{f.index}
	default:
		chosen = onePerCondition(ps, rand.New(rand.NewPCG(f.seed, 0)))
	}
	shown := make([]lstShown, len(chosen))
	for k, i := range chosen {
		shown[k] = lstShown{Index: i, Puzzle: ps[i], Explanation: ps[i].Explain()}
		if f.side != lst.Side {
			shown[k].Side = f.side
		}
	}
	if f.json {
		return printJSON(w, shown)
	}
	for k, s := range shown {
		if k > 0 {
			fmt.Fprintln(w)
		}
		s.print(w, name)
	}
	return nil
}

// puzzles returns the puzzles to show from and their name.
func (f *lstShowFlags) puzzles(args []string) (ps []lst.Puzzle, name string, err error) {
	o := lst.DefaultOptions()
	switch {
	case len(args) > 1:
		return nil, "", usagef("%d files named: show takes one", len(args))
	case len(args) == 1:
		ps, err = lst.ReadFile(args[0])
		if err == nil && ps[0].Cells.Side() != f.side {
			err = usagef("--side %d: %s has puzzles of side %d", f.side, args[0], ps[0].Cells.Side())
		}
		return ps, args[0], fileErrorAsUsage(err)
	case f.side != lst.Side:
		ps, err = lst.Puzzles(f.side, o.Validation, f.seed) // those of --eval-tokens
		return ps, fmt.Sprintf("the generated puzzles of side %d of seed %d", f.side, f.seed), err
	}
	o.Train = 0 // leaves the validation set as it is
	_, ps, err = lst.Generate(o, f.seed)
	return ps, fmt.Sprintf("the generated validation set of seed %d", f.seed), err
}

// onePerCondition draws the index of one puzzle of each condition that occurs.
func onePerCondition(ps []lst.Puzzle, rng *rand.Rand) []int {
	var chosen []int
	for _, c := range lst.Conditions() {
		var candidates []int
		for i, p := range ps {
			if p.Condition == c {
				candidates = append(candidates, i)
			}
		}
		if len(candidates) > 0 {
			chosen = append(chosen, candidates[rng.IntN(len(candidates))])
		}
	}
	return chosen
}

// print draws the puzzle.
func (s lstShown) print(w io.Writer, from string) {
	fmt.Fprintf(w, "puzzle %d of %s: %s (%v), answer %d\n\n", s.Index, from, s.Condition.Label(),
		s.Condition, s.Answer)
	for _, row := range s.Cells.Rows() {
		fmt.Fprintf(w, "    %s\n", row)
	}
	fmt.Fprintln(w)
	for _, by := range s.DecidedBy {
		fmt.Fprintf(w, "    %s\n", by)
	}
	if s.TwoLines != nil {
		fmt.Fprintf(w, "    but two lines suffice: %v, %v force %d\n", s.TwoLines[0], s.TwoLines[1],
			s.DecidedBy[0].Answer)
	}
	if s.Problem != "" {
		fmt.Fprintf(w, "    problem: %s\n", s.Problem)
	}
}
