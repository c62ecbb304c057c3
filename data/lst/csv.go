package lst

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/text"
	"torchpe/internal/atomicfile"
)

// header names the columns of the published files. Reading needs the last three, in any order, and
// ignores the first two.
var header = []string{"ID", "LST_num", "condition", "puzzles", "solutions"}

// ReadFile reads the puzzles of one side in the published layout: a header, then a row per puzzle with
// its condition (Binary, Ternary or Quaternary), its digits (see [Grid]) and its solution, in any order
// of columns. It accepts what [text.Words] does. Rows are counted from 1 below the header. Conditions
// and answers are not checked: see [Check].
func ReadFile(path string) ([]Puzzle, error) {
	var ps []Puzzle
	var columns *layout
	for row, err := range text.Words(path) {
		if err != nil {
			return nil, err
		}
		if columns == nil {
			if columns, err = parseHeader(row); err != nil {
				return nil, fmt.Errorf("lst: %s: %w", path, err)
			}
			continue
		}
		p, err := columns.parse(row)
		if err == nil && len(ps) > 0 && len(p.Cells) != len(ps[0].Cells) {
			err = fmt.Errorf("a puzzle of side %d follows puzzles of side %d", p.Cells.Side(),
				ps[0].Cells.Side())
		}
		if err != nil {
			return nil, fmt.Errorf("lst: %s: row %d: %w", path, len(ps)+1, err)
		}
		ps = append(ps, p)
	}
	if len(ps) == 0 {
		return nil, fmt.Errorf("lst: %s has a header but no puzzle", path)
	}
	return ps, nil
}

// layout holds the number of cells of a row and the index of the cell of each value.
type layout struct {
	cells                        int
	condition, puzzles, solution int
}

func parseHeader(names []string) (*layout, error) {
	l := &layout{cells: len(names)}
	for _, column := range []struct {
		name string
		at   *int
	}{{"condition", &l.condition}, {"puzzles", &l.puzzles}, {"solutions", &l.solution}} {
		if *column.at = slices.Index(names, column.name); *column.at < 0 {
			return nil, fmt.Errorf("header %s has no column %q, want %s", shown(names), column.name,
				strings.Join(header, ","))
		}
		if slices.Contains(names[*column.at+1:], column.name) {
			return nil, fmt.Errorf("header %s has the column %q twice", shown(names), column.name)
		}
	}
	for _, name := range names {
		if !slices.Contains(header, name) {
			return nil, fmt.Errorf("header %s has a column %q, which is not read: leave it out; the "+
				"columns are %s", shown(names), name, strings.Join(header, ","))
		}
	}
	return l, nil
}

// shown quotes the beginning of a row for a message.
func shown(row []string) string { return array.Quote(strings.Join(row, ",")) }

// parse reads one row.
func (l *layout) parse(row []string) (Puzzle, error) {
	if len(row) != l.cells {
		return Puzzle{}, fmt.Errorf("%s has %d cells, want %d as in the header", shown(row),
			len(row), l.cells)
	}
	var p Puzzle
	var err error
	if p.Condition, err = parseCondition(row[l.condition]); err != nil {
		return Puzzle{}, fmt.Errorf("column condition: %w", err)
	}
	if p.Cells, err = ParseGrid(row[l.puzzles]); err != nil {
		return Puzzle{}, fmt.Errorf("column puzzles: %w", err)
	}
	s, side := row[l.solution], p.Cells.Side()
	if len(s) != 1 || s[0] < '1' || s[0] > '0'+byte(side) {
		return Puzzle{}, fmt.Errorf("column solutions: answer %s, want a digit 1-%d", array.Quote(s), side)
	}
	p.Answer = s[0] - '0'
	return p, nil
}

// writeSet writes puzzles in the published layout, byte for byte as the published training files do.
// The ID is the index and LST_num is empty.
func writeSet(w io.Writer, ps []Puzzle) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, strings.Join(header, ","))
	for i, p := range ps {
		if err := p.writable(); err != nil {
			return fmt.Errorf("lst: writing puzzle %d: %w", i, err)
		}
		fmt.Fprintf(b, "%d,,%s,%s,%d\n", i, p.Condition.Label(), p.Cells, p.Answer)
	}
	if err := b.Flush(); err != nil { // also returns an earlier error
		return fmt.Errorf("lst: writing puzzles: %w", err)
	}
	return nil
}

// writable returns an error for a puzzle that ReadFile would refuse.
func (p Puzzle) writable() error {
	if err := p.Cells.Validate(); err != nil {
		return err
	}
	if !p.Condition.known() {
		return fmt.Errorf("puzzle %s has no condition", p.Cells)
	}
	if side := p.Cells.Side(); p.Answer < 1 || int(p.Answer) > side {
		return fmt.Errorf("puzzle %s has the answer %d, want 1-%d", p.Cells, p.Answer, side)
	}
	return nil
}

// File is a set of puzzles and the path to write it to.
type File struct {
	Path    string
	Puzzles []Puzzle
}

// WriteFiles writes sets in the published layout and replaces existing files. A failure leaves all
// files unchanged: see [atomicfile.WriteAll].
func WriteFiles(files ...File) error {
	all := make([]atomicfile.File, len(files))
	for i, f := range files {
		all[i] = atomicfile.File{Path: f.Path,
			Body: func(w io.Writer) error { return writeSet(w, f.Puzzles) }}
	}
	if err := atomicfile.WriteAll(all...); err != nil {
		return fmt.Errorf("lst: %w", err)
	}
	return nil
}
