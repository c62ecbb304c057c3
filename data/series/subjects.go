package series

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/wording"
)

// subjects is a table of subjects: the subject of each file, and which subjects are for training or test.
type subjects struct {
	File   string
	names  []string          // of all subjects, in the order of the table
	files  []string          // paths or ends of paths, in the table's order
	byFile map[string]string // subject by the end of a path
	sets   map[string]string // train or test by subject; empty if the table does not say
	// others are columns without a meaning here.
	others []string
}

// The sets that a subject can be in.
const (
	TrainSet = "train"
	TestSet  = "test"
)

// readSubjects reads a table of subjects with a header: a column subject (or participant_id), and
// at least one of set (train or test) and file (its path or the end of it). Other columns are
// ignored, and [subjects.unused] lists them.
func readSubjects(path string) (*subjects, error) {
	var rows [][]string
	for row, err := range text.Words(path) {
		if err != nil {
			return nil, err
		}
		if rows = append(rows, row); len(row) != len(rows[0]) {
			return nil, fmt.Errorf("%s: row %d has %s, but the header %d", path, len(rows)-1,
				wording.Count(len(row), "cell"), len(rows[0]))
		}
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s: a table of subjects has a header and one row per subject", path)
	}
	column := func(names ...string) int {
		return slices.IndexFunc(rows[0], func(c string) bool {
			return slices.Contains(names, strings.ToLower(strings.TrimSpace(c)))
		})
	}
	subject, set, file := column("subject", "participant_id"), column("set", "split"), column("file")
	if subject < 0 || set < 0 && file < 0 {
		return nil, fmt.Errorf("%s: its columns are %s; subject is required, and set (train or "+
			"test) or file", path, array.Join(rows[0]))
	}
	s := &subjects{File: path, byFile: map[string]string{}, sets: map[string]string{}}
	for i, name := range rows[0] {
		if i != subject && i != set && i != file {
			s.others = append(s.others, fmt.Sprintf("%q", name))
		}
	}
	for i, row := range rows[1:] {
		name := strings.TrimSpace(row[subject])
		if name == "" {
			return nil, fmt.Errorf("%s: row %d has no subject", path, i+1)
		}
		value := ""
		if set >= 0 {
			if value = strings.ToLower(strings.TrimSpace(row[set])); value != TrainSet &&
				value != TestSet {
				return nil, fmt.Errorf("%s: row %d: set is %q; it is train or test", path,
					i+1, row[set])
			}
		}
		before, twice := s.sets[name]
		if twice && before != value {
			return nil, fmt.Errorf("%s: row %d: subject %s is in set %q, but was in %q above", path,
				i+1, name, value, before)
		}
		if !twice {
			s.names = append(s.names, name)
		}
		s.sets[name] = value
		if file >= 0 && strings.TrimSpace(row[file]) != "" {
			if err := s.addFile(strings.TrimSpace(row[file]), name); err != nil {
				return nil, fmt.Errorf("%s: row %d: %w", path, i+1, err)
			}
		}
	}
	return s, nil
}

// addFile notes that a file belongs to the subject name.
func (s *subjects) addFile(file, name string) error {
	end := strings.Join(parts(filepath.Clean(file)), "/")
	before, twice := s.byFile[end]
	if twice && before != name {
		return fmt.Errorf("file %s belongs to subject %s, but to %s above", file, name, before)
	}
	if !twice {
		s.files = append(s.files, end)
	}
	s.byFile[end] = name
	return nil
}

// ofFile returns the subject of one of the files and the path in its row. It takes the row with the
// longest path that ends the file's path. If there is none, it takes the row of a file with the same name
// in another folder, provided that only one row and one file have that name. Both results are empty if
// no row fits.
func (s *subjects) ofFile(file string, files []string) (name, row string) {
	path := parts(file)
	if full, err := filepath.Abs(file); err == nil {
		path = parts(full)
	}
	for i := range path {
		end := strings.Join(path[i:], "/")
		if name, ok := s.byFile[end]; ok {
			return name, end
		}
	}
	base := path[len(path)-1]
	isCalled := func(p string) bool { return norm.NFC.String(filepath.Base(p)) == base }
	i := slices.IndexFunc(s.files, isCalled)
	if i < 0 || slices.ContainsFunc(s.files[i+1:], isCalled) ||
		slices.ContainsFunc(files, func(p string) bool { return p != file && isCalled(p) }) {
		return "", ""
	}
	return s.byFile[s.files[i]], s.files[i]
}

// known returns a subject as named in the table: BIDS writes sub- before participant IDs, and
// spreadsheets convert numbers.
func (s *subjects) known(name string) string {
	if _, known := s.sets[name]; known {
		return name
	}
	if _, known := s.sets["sub-"+name]; known {
		return "sub-" + name
	}
	for _, given := range s.names { // spreadsheets write 01 as 1, and 100307 as 100307.0
		if arrayfile.PlainNumber(given) == arrayfile.PlainNumber(name) {
			return given
		}
	}
	return name
}

// held returns the indices in names of the subjects that the table holds out, or nil if it has no sets.
// Every subject must be in the table.
func (s *subjects) held(names []string) (held []int, err error) {
	given := false
	for i, name := range names {
		set, known := s.sets[name]
		if !known {
			return nil, fmt.Errorf("%s has no subject %q, but there is data of this subject", s.File, name)
		}
		if given = set != ""; set == TestSet {
			held = append(held, i)
		}
	}
	if given && (len(held) == 0 || len(held) == len(names)) {
		return nil, fmt.Errorf("%s holds out %d of the %d subjects of the data: some must be "+
			"for training and some for test", s.File, len(held), len(names))
	}
	return held, nil
}

// unused describes the columns of the table that are not read, and its subjects and files without data.
func (s *subjects) unused(files, subjects []string) []string {
	var notes []string
	if len(s.others) > 0 {
		notes = append(notes, fmt.Sprintf("Columns of %s that are not read: %s; subject, set and file are read.",
			s.File, array.Join(s.others)))
	}
	note := func(what string, listed []string, isThere func(string) bool) {
		lacking := slices.DeleteFunc(slices.Clone(listed), isThere)
		if len(lacking) == 0 {
			return
		}
		notes = append(notes, fmt.Sprintf("Without data: %d of the %d %s of %s (%s).", len(lacking),
			len(listed), what, s.File, wording.List(5, lacking)))
	}
	note("subjects", s.names, func(name string) bool { return slices.Contains(subjects, name) })
	used := map[string]bool{}
	for _, file := range files {
		if _, row := s.ofFile(file, files); row != "" {
			used[row] = true
		}
	}
	note("files", s.files, func(row string) bool { return used[row] })
	return notes
}
