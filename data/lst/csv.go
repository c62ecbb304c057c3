package lst

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// header names the columns of the published files. Reading needs the last three, in any order, and ignores others.
var header = []string{"ID", "LST_num", "condition", "puzzles", "solutions"}

const (
	maxLine     = 4096 // bytes; a published line has 37
	maxReported = 10   // faulty lines that one error lists
)

// ReadFile reads a file in the published layout: see [Read].
func ReadFile(path string) ([]Puzzle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lst: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads puzzles in the published layout: a header line, then a line a puzzle with its condition (Binary, Ternary or
// Quaternary), its 16 digits and its solution (1-4). A byte order mark, CRLF, quoted fields, blank lines, further columns
// and another order of columns are accepted. Name stands for the input in errors, which give line, column and value of
// the first ten faulty lines. Conditions and answers are returned as they are claimed: see [Puzzle.Verify] and [Check].
func Read(r io.Reader, name string) ([]Puzzle, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, maxLine), maxLine)
	var ps []Puzzle
	var columns *layout
	var faults []error
	faulty := 0
	n := 0
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
		p, err := columns.parse(line)
		if err == nil {
			ps = append(ps, p)
		} else if faulty++; faulty <= maxReported {
			faults = append(faults, fmt.Errorf("lst: %s:%d: %w", name, n, err))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		faults = append(faults, fmt.Errorf("lst: %s:%d: the line is longer than %d bytes, want a puzzle a line", name, n+1, maxLine))
	} else if err != nil {
		return nil, fmt.Errorf("lst: reading %s after line %d: %w", name, n, err)
	}
	if faulty > maxReported {
		faults = append(faults, fmt.Errorf("lst: %s: and %d more faulty lines", name, faulty-maxReported))
	}
	switch {
	case len(faults) > 0:
		return nil, errors.Join(faults...)
	case columns == nil:
		return nil, fmt.Errorf("lst: %s is empty, want the header %s and a puzzle a line", name, strings.Join(header, ","))
	case len(ps) == 0:
		return nil, fmt.Errorf("lst: %s has a header but no puzzle", name)
	}
	return ps, nil
}

// layout says in which field of a line each value stands.
type layout struct {
	fields                       int
	condition, puzzles, solution int
}

func parseHeader(line string) (*layout, error) {
	names := split(line)
	at := func(column string) (int, error) {
		i := slices.Index(names, column)
		if i < 0 {
			return 0, fmt.Errorf("header %s has no column %q, want %s", quote(line), column, strings.Join(header, ","))
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
	return l, nil
}

// parse reads one line.
func (l *layout) parse(line string) (Puzzle, error) {
	fields := split(line)
	if len(fields) != l.fields {
		return Puzzle{}, fmt.Errorf("%s has %d fields, want %d as in the header", quote(line), len(fields), l.fields)
	}
	var p Puzzle
	var err error
	if p.Condition, err = ParseCondition(fields[l.condition]); err != nil {
		return Puzzle{}, fmt.Errorf("column condition: %w", err)
	}
	if p.Cells, err = ParseGrid(fields[l.puzzles]); err != nil {
		return Puzzle{}, fmt.Errorf("column puzzles: %w", err)
	}
	s := fields[l.solution]
	if len(s) != 1 || s[0] < '1' || s[0] > '0'+Side {
		return Puzzle{}, fmt.Errorf("column solutions: answer %s, want a digit 1-4", quote(s))
	}
	p.Answer = s[0] - '0'
	return p, nil
}

// split returns the fields of a line without surrounding space and quotes. No value of the layout holds a comma.
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

// Write writes puzzles in the published layout, byte for byte as in the published training files: the ID is the index,
// LST_num stays empty.
func Write(w io.Writer, ps []Puzzle) error {
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

// writable reports what Read would refuse.
func (p Puzzle) writable() error {
	if err := p.Cells.Validate(); err != nil {
		return err
	}
	if !p.Condition.known() {
		return fmt.Errorf("puzzle %s has no condition", p.Cells)
	}
	if p.Answer < 1 || p.Answer > Side {
		return fmt.Errorf("puzzle %s has the answer %d, want 1-4", p.Cells, p.Answer)
	}
	return nil
}

// File is a set of puzzles and where to write it.
type File struct {
	Path    string
	Puzzles []Puzzle
}

// WriteFiles writes sets in the published layout, replacing files that exist. All contents are on disk under temporary
// names beside their targets before the first target is touched, so that a full disk or a kill leaves no half file.
func WriteFiles(files ...File) (err error) {
	var staged []string
	defer func() {
		for _, tmp := range staged { // those that were not renamed
			os.Remove(tmp)
		}
	}()
	for _, f := range files {
		tmp := fmt.Sprintf("%s.tmp%d", f.Path, os.Getpid())
		staged = append(staged, tmp)
		if err := writeSynced(tmp, f.Puzzles); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := os.Rename(staged[0], f.Path); err != nil {
			return fmt.Errorf("lst: %w", err)
		}
		staged = staged[1:]
		syncDir(filepath.Dir(f.Path))
	}
	return nil
}

func writeSynced(path string, ps []Puzzle) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("lst: %w", err)
	}
	err = Write(f, ps)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// syncDir makes a rename outlast a power cut. Not every file system can; the rename itself is done either way.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
