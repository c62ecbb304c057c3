package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"torchpe/data/lst"
	"torchpe/data/lst/sized"
)

// checkSide returns a usage error for a side that there are no puzzles of.
func checkSide(side int) error {
	if err := sized.CheckSide(side); err != nil {
		return usagef("--side: %v", err)
	}
	return nil
}

// sizedGenerated is the JSON summary of generate for another side than 4.
type sizedGenerated struct {
	Train      string                           `json:"train"`      // path
	Validation string                           `json:"validation"` // path
	Seed       uint64                           `json:"seed"`
	Side       int                              `json:"side"`
	Sets       map[string]map[string]sizedCount `json:"sets"` // by set and label of the condition
}

// sizedCount describes the puzzles of one set and condition.
type sizedCount struct {
	Puzzles    int     `json:"puzzles"`
	GivensMean float64 `json:"givens_mean"`
	GivensMin  int     `json:"givens_min"`
	GivensMax  int     `json:"givens_max"`
}

// runSizedGenerate writes sets of another side than 4.
func runSizedGenerate(w io.Writer, f lstGenerateFlags) error {
	if f.options.PublishedImbalance || f.options.AllowIsomorphic {
		return usagef("--published-imbalance, --allow-isomorphic: puzzles of side 4 alone have these choices, not those of side %d", f.side)
	}
	g := sizedGenerated{
		Train: filepath.Join(f.out, lstTrainFile), Validation: filepath.Join(f.out, lstValidationFile), Seed: f.seed, Side: f.side,
		Sets: map[string]map[string]sizedCount{},
	}
	train, validation, err := sized.Generate(sized.Options{Side: f.side, Train: f.options.Train, Validation: f.options.Validation}, f.seed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if !f.force {
		if err := absent(g.Train, g.Validation); err != nil {
			return err
		}
	}
	for path, ps := range map[string][]sized.Puzzle{g.Validation: validation, g.Train: train} {
		if err := sized.WriteFile(path, ps); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, set := range []struct {
		name string
		ps   []sized.Puzzle
	}{{"training", train}, {"validation", validation}} {
		g.Sets[set.name] = map[string]sizedCount{}
		for _, c := range lst.Conditions() {
			n := countSized(set.ps, c)
			g.Sets[set.name][c.Label()] = n
			rows = append(rows, []string{c.Label(), set.name, fmt.Sprint(n.Puzzles), fmt.Sprintf("%.2f (%d-%d)", n.GivensMean, n.GivensMin, n.GivensMax)})
		}
	}
	if f.json {
		return printJSON(w, g)
	}
	fmt.Fprintf(w, "wrote %d puzzles of side %d to %s and %d to %s (seed %d)\n", len(train), f.side, g.Train, len(validation), g.Validation, f.seed)
	return printTable(w, []string{"condition", "set", "puzzles", "givens mean (range)"}, rows)
}

func countSized(ps []sized.Puzzle, c lst.Condition) (n sizedCount) {
	for _, p := range ps {
		if p.Condition != c {
			continue
		}
		givens := p.Givens()
		if n.Puzzles == 0 || givens < n.GivensMin {
			n.GivensMin = givens
		}
		n.GivensMax = max(n.GivensMax, givens)
		n.Puzzles++
		n.GivensMean += float64(givens)
	}
	n.GivensMean /= float64(max(1, n.Puzzles))
	return n
}

// sizedShown is one puzzle of another side than 4 as show prints it.
type sizedShown struct {
	Index     int               `json:"index"`
	Side      int               `json:"side"`
	Puzzle    string            `json:"puzzle"`
	Answer    uint8             `json:"answer"`
	Condition lst.Condition     `json:"condition"`
	DecidedBy []sized.Deduction `json:"decided_by"`
	Problem   string            `json:"problem,omitempty"`
}

// runSizedShow draws puzzles of another side than 4, from a file or those that --eval-tokens takes.
func runSizedShow(w io.Writer, f lstShowFlags, args []string) error {
	var ps []sized.Puzzle
	var err error
	name := fmt.Sprintf("the generated puzzles of side %d of seed %d", f.side, f.seed)
	switch len(args) {
	case 0:
		ps, err = sized.Puzzles(f.side, lst.DefaultOptions().Validation, f.seed)
	case 1:
		name = args[0]
		if ps, err = sized.ReadFile(name); err == nil && ps[0].Side != f.side {
			err = usagef("--side %d: %s has puzzles of side %d", f.side, name, ps[0].Side)
		}
	default:
		err = usagef("%d files named: show takes one", len(args))
	}
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
		conditions := make([]lst.Puzzle, len(ps))
		for i, p := range ps {
			conditions[i].Condition = p.Condition
		}
		chosen = onePerCondition(conditions, rand.New(rand.NewPCG(f.seed, 0)))
	}
	shown := make([]sizedShown, len(chosen))
	for k, i := range chosen {
		p := ps[i]
		shown[k] = sizedShown{Index: i, Side: p.Side, Puzzle: p.String(), Answer: p.Answer, Condition: p.Condition, DecidedBy: []sized.Deduction{}}
		if err := p.Verify(); err != nil {
			shown[k].Problem = err.Error()
		}
		if ds, err := sized.Deduce(p.Side, p.Cells); err == nil { // else Verify has told why
			shown[k].DecidedBy = ds
		}
	}
	if f.json {
		return printJSON(w, shown)
	}
	for k, s := range shown {
		if k > 0 {
			fmt.Fprintln(w)
		}
		d := drawn{index: s.Index, condition: s.Condition, answer: s.Answer, rows: ps[s.Index].Rows(), problem: s.Problem}
		for _, by := range s.DecidedBy {
			d.deductions = append(d.deductions, by.String())
		}
		if err := d.print(w, name); err != nil {
			return err
		}
	}
	return nil
}
