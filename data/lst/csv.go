package lst

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/atomicfile"
)

// header names the columns of the published files. Reading needs the last three, in any order, and
// ignores the first two.
var header = []string{"ID", "LST_num", "condition", "puzzles", "solutions"}

const (
	maxLine     = 4096 // bytes; a published line has 37
	maxReported = 10   // faulty lines that an error lists
)

// ReadFile reads the puzzles of a file in the published layout: see [readSet].
func ReadFile(path string) ([]Puzzle, error) {
	f, err := array.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	defer f.Close()
	return readSet(f, path)
}

// readSet reads puzzles of one side in the published layout: a header line, then one line per puzzle
// with its condition (Binary, Ternary or Quaternary), its digits (see [Grid]) and its solution. It
// accepts a byte order mark, CRLF, quoted fields, blank lines and any order of columns. Errors call
// the input by name and give line, column and value of the first ten faulty lines. Conditions and
// answers are not checked: see [Puzzle.Verify] and [Check].
func readSet(r io.Reader, name string) ([]Puzzle, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, maxLine), maxLine)
	budget := array.NewBudget()
	var ps []Puzzle
	var columns *layout
	var faults []error
	faulty, n := 0, 0
	for lines.Scan() {
		n++
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if columns == nil {
			var err error
			if columns, err = parseHeader(line); err != nil {
				return nil, fmt.Errorf("lst: %s:%d: %w", name, n, err)
			}
			continue
		}
		if err := budget.Take(int64(len(line))+64, "puzzles"); err != nil {
			return nil, fmt.Errorf("lst: %s:%d: %w", name, n, err)
		}
		p, err := columns.parse(line)
		if err == nil && len(ps) > 0 && len(p.Cells) != len(ps[0].Cells) {
			err = fmt.Errorf("a puzzle of side %d follows puzzles of side %d", p.Cells.Side(),
				ps[0].Cells.Side())
		}
		if err == nil {
			ps = append(ps, p)
		} else if faulty++; faulty <= maxReported {
			faults = append(faults, fmt.Errorf("lst: %s:%d: %w", name, n, err))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		faults = append(faults, fmt.Errorf("lst: %s:%d: the line is longer than %d bytes, want one "+
			"puzzle per line", name, n+1, maxLine))
	} else if err != nil {
		return nil, fmt.Errorf("lst: reading %s after line %d: %w", name, n, err)
	}
	if faulty > maxReported {
		faults = append(faults, fmt.Errorf("lst: %s: and %d more faulty lines", name,
			faulty-maxReported))
	}
	switch {
	case len(faults) > 0:
		return nil, errors.Join(faults...)
	case columns == nil:
		return nil, fmt.Errorf("lst: %s is empty, want the header %s and one puzzle per line",
			name, strings.Join(header, ","))
	case len(ps) == 0:
		return nil, fmt.Errorf("lst: %s has a header but no puzzle", name)
	}
	return ps, nil
}

// layout holds the number of fields of a line and the index of the field of each value.
type layout struct {
	fields                       int
	condition, puzzles, solution int
}

func parseHeader(line string) (*layout, error) {
	names := split(line)
	at := func(column string) (int, error) {
		i := slices.Index(names, column)
		if i < 0 {
			return 0, fmt.Errorf("header %s has no column %q, want %s",
				quote(line), column, strings.Join(header, ","))
		}
		if slices.Contains(names[i+1:], column) {
			return 0, fmt.Errorf("header %s has the column %q twice", quote(line), column)
		}
		return i, nil
	}
	l := &layout{fields: len(names)}
	var errs [3]error
	l.condition, errs[0] = at("condition")
	l.puzzles, errs[1] = at("puzzles")
	l.solution, errs[2] = at("solutions")
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if !slices.Contains(header, name) {
			return nil, fmt.Errorf("header %s has a column %q, which is not read: leave it out; the "+
				"columns are %s", quote(line), name, strings.Join(header, ","))
		}
	}
	return l, nil
}

// parse reads one line.
func (l *layout) parse(line string) (Puzzle, error) {
	fields := split(line)
	if len(fields) != l.fields {
		return Puzzle{}, fmt.Errorf("%s has %d fields, want %d as in the header",
			quote(line), len(fields), l.fields)
	}
	var p Puzzle
	var err error
	if p.Condition, err = parseCondition(fields[l.condition]); err != nil {
		return Puzzle{}, fmt.Errorf("column condition: %w", err)
	}
	if p.Cells, err = ParseGrid(fields[l.puzzles]); err != nil {
		return Puzzle{}, fmt.Errorf("column puzzles: %w", err)
	}
	s, side := fields[l.solution], p.Cells.Side()
	if len(s) != 1 || s[0] < '1' || s[0] > '0'+byte(side) {
		return Puzzle{}, fmt.Errorf("column solutions: answer %s, want a digit 1-%d",
			quote(s), side)
	}
	p.Answer = s[0] - '0'
	return p, nil
}

// split returns the fields of a line without surrounding space and quotes. No value contains a comma.
func split(line string) []string {
	fields := strings.Split(line, ",")
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if len(f) >= 2 && f[0] == '"' && f[len(f)-1] == '"' {
			f = f[1 : len(f)-1]
		}
		fields[i] = f
	}
	return fields
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

// writable returns an error for a puzzle that readSet would refuse.
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
