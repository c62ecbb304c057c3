package sized

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"torchpe/data/lst"
)

// header names the columns of the published files of side 4, whose layout other sides share.
var header = []string{"ID", "LST_num", "condition", "puzzles", "solutions"}

// Write writes puzzles in the layout of the published files: a line a puzzle with its condition, its digits (see [Parse]) and its answer.
func Write(w io.Writer, ps []Puzzle) error {
	c := csv.NewWriter(w)
	lines := [][]string{header}
	for i, p := range ps {
		lines = append(lines, []string{fmt.Sprint(i), "", p.Condition.Label(), p.String(), fmt.Sprint(p.Answer)})
	}
	if err := c.WriteAll(lines); err != nil {
		return fmt.Errorf("lst: writing puzzles: %w", err)
	}
	return nil
}

// WriteFile replaces a file with puzzles; a failure leaves the old one.
func WriteFile(path string, ps []Puzzle) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return fmt.Errorf("lst: %w", err)
	}
	defer os.Remove(f.Name()) // unless it was renamed
	err = Write(f, ps)
	for _, then := range []func() error{func() error { return f.Chmod(0o644) }, f.Sync, f.Close} {
		if e := then(); err == nil && e != nil {
			err = fmt.Errorf("lst: %w", e)
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// ReadFile reads a file that [WriteFile] wrote: see [Read].
func ReadFile(path string) ([]Puzzle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads puzzles of one side in the layout of [Write]; other columns and another order are accepted. Name stands for the input in
// errors. Conditions and answers are returned as they are claimed.
func Read(r io.Reader, name string) ([]Puzzle, error) {
	c := csv.NewReader(r)
	c.TrimLeadingSpace, c.ReuseRecord = true, true
	names, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("lst: %s: the header: %w", name, err)
	}
	var at [3]int
	for i, column := range header[2:] {
		if at[i] = slices.Index(names, column); at[i] < 0 {
			return nil, fmt.Errorf("lst: %s: no column %q in the header", name, column)
		}
	}
	var ps []Puzzle
	for {
		fields, err := c.Read()
		if err == io.EOF {
			break
		}
		line, _ := c.FieldPos(0)
		var p Puzzle
		if err == nil {
			p, err = parse(fields[at[0]], fields[at[1]], fields[at[2]])
		}
		if err == nil && len(ps) > 0 && p.Side != ps[0].Side {
			err = fmt.Errorf("a puzzle of side %d after those of side %d", p.Side, ps[0].Side)
		}
		if err != nil {
			return nil, fmt.Errorf("lst: %s:%d: %w", name, line, err)
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return nil, fmt.Errorf("lst: %s has a header but no puzzle", name)
	}
	return ps, nil
}

// parse reads the fields of a line.
func parse(condition, grid, answer string) (p Puzzle, err error) {
	if p.Condition, err = lst.ParseCondition(condition); err != nil {
		return p, fmt.Errorf("column condition: %w", err)
	}
	if p.Side, p.Cells, err = Parse(grid); err != nil {
		return p, fmt.Errorf("column puzzles: %w", err)
	}
	if len(answer) != 1 || answer[0] < '1' || answer[0] > '0'+byte(p.Side) {
		return p, fmt.Errorf("column solutions: answer %q, want a digit 1-%d", cut(answer), p.Side)
	}
	p.Answer = answer[0] - '0'
	return p, nil
}
