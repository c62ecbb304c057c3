package series

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Subjects is a table of subjects: which files are whose, and who is trained and who is tested on.
type Subjects struct {
	File   string
	names  []string          // of all subjects, in the table's order
	files  []string          // the last parts of all paths, in the table's order
	byFile map[string]string // subject by the last part of a path
	sets   map[string]string // train or test by subject; empty where the table does not say
}

// The sets that a subject can be in.
const (
	TrainSet = "train"
	TestSet  = "test"
)

// maxSubjectBytes is the longest table of subjects that is read.
const maxSubjectBytes = 16 << 20

// ReadSubjects reads a table of subjects with a header: a column subject (or participant_id), and at least one of set (train or
// test) and file (the name of a file, without folders). Columns are separated by tabs, else by commas; others are left out.
func ReadSubjects(path string) (*Subjects, error) {
	b, err := readWhole(path, maxSubjectBytes)
	if err != nil {
		return nil, err
	}
	return parseSubjects(path, strings.TrimPrefix(string(b), "\ufeff"))
}

func parseSubjects(path, text string) (*Subjects, error) {
	r := csv.NewReader(strings.NewReader(text))
	first, _, _ := strings.Cut(text, "\n")
	if strings.Contains(first, "\t") {
		r.Comma = '\t'
	}
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s: a table of subjects has a header and a row a subject", path)
	}
	column := func(names ...string) int {
		return slices.IndexFunc(rows[0], func(c string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(c))) })
	}
	subject, set, file := column("subject", "participant_id"), column("set", "split"), column("file")
	if subject < 0 || set < 0 && file < 0 {
		return nil, fmt.Errorf("%s: its columns are %s; subject is needed, and set (train or test) or file", path, strings.Join(rows[0], ", "))
	}
	s := &Subjects{File: path, byFile: map[string]string{}, sets: map[string]string{}}
	for i, row := range rows[1:] {
		name := strings.TrimSpace(row[subject])
		if name == "" {
			return nil, fmt.Errorf("%s: row %d has no subject", path, i+1)
		}
		value := ""
		if set >= 0 {
			if value = strings.ToLower(strings.TrimSpace(row[set])); value != TrainSet && value != TestSet {
				return nil, fmt.Errorf("%s: row %d: set is %q; it is train or test", path, i+1, row[set])
			}
		}
		before, twice := s.sets[name]
		if twice && before != value {
			return nil, fmt.Errorf("%s: row %d: subject %s is in set %q, and was in %q above", path, i+1, name, value, before)
		}
		if !twice {
			s.names = append(s.names, name)
		}
		s.sets[name] = value
		if file >= 0 {
			base := filepath.Base(strings.TrimSpace(row[file]))
			before, twice := s.byFile[base]
			if twice && before != name {
				return nil, fmt.Errorf("%s: row %d: file %s is of subject %s, and was of %s above", path, i+1, base, name, before)
			}
			if !twice {
				s.files = append(s.files, base)
			}
			s.byFile[base] = name
		}
	}
	return s, nil
}

// Of returns the subject of a file: the table's where it has a column of files, otherwise the one that DefaultSubject finds.
func (s *Subjects) Of(file string) string {
	if name, ok := s.byFile[filepath.Base(file)]; ok {
		return name
	}
	name := DefaultSubject(file)
	if _, known := s.sets[name]; !known { // BIDS writes sub- before participant IDs
		if _, known := s.sets["sub-"+name]; known {
			return "sub-" + name
		}
	}
	return name
}

// Test returns the places in a list of subjects of those that the table holds out, and false where it has no sets. Every
// subject must be in the table.
func (s *Subjects) Test(names []string) (held []int, given bool, err error) {
	for i, name := range names {
		set, known := s.sets[name]
		if !known {
			return nil, false, fmt.Errorf("%s has no subject %q, of whom there is data", s.File, name)
		}
		if given = set != ""; set == TestSet {
			held = append(held, i)
		}
	}
	return held, given, nil
}

// held returns the places in a list of subjects of those that the table holds out; nil where it has no sets.
func (s *Subjects) held(names []string) ([]int, error) {
	held, given, err := s.Test(names)
	if err != nil || !given {
		return nil, err
	}
	if len(held) == 0 || len(held) == len(names) {
		return nil, fmt.Errorf("%s holds out %d of the %d subjects of the data: some must be trained and some tested on", s.File, len(held), len(names))
	}
	return held, nil
}

// Unused says in sentences which subjects and files of the table the data lacks.
func (s *Subjects) Unused(files, subjects []string) []string {
	var notes []string
	note := func(what string, listed []string, isThere func(string) bool) {
		lacking := slices.DeleteFunc(slices.Clone(listed), isThere)
		if len(lacking) == 0 {
			return
		}
		const most = 5
		shown := strings.Join(lacking[:min(most, len(lacking))], ", ")
		if len(lacking) > most {
			shown += ", ..."
		}
		notes = append(notes, fmt.Sprintf("Without data: %d of the %d %s of %s (%s).", len(lacking), len(listed), what, s.File, shown))
	}
	note("subjects", s.names, func(name string) bool { return slices.Contains(subjects, name) })
	note("files", s.files, func(base string) bool {
		return slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == base })
	})
	return notes
}
