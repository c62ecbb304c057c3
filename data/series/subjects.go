package series

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Subjects is a table of subjects: which files are whose, and who is trained and who is tested on.
type Subjects struct {
	File   string
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
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSubjectBytes {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", path, maxSubjectBytes)
	}
	b, err := os.ReadFile(path)
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
		if before, twice := s.sets[name]; twice && before != value {
			return nil, fmt.Errorf("%s: row %d: subject %s is in set %q, and was in %q above", path, i+1, name, value, before)
		}
		s.sets[name] = value
		if file >= 0 {
			base := filepath.Base(strings.TrimSpace(row[file]))
			if before, twice := s.byFile[base]; twice && before != name {
				return nil, fmt.Errorf("%s: row %d: file %s is of subject %s, and was of %s above", path, i+1, base, name, before)
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

// extensions are those of files that are taken from a folder.
var extensions = []string{".nii", ".h5", ".hdf5", ".mat", ".npy", ".npz", ".csv", ".tsv", ".1d", ".txt"}

// Files lists the files that paths name: themselves, and for a folder those in and below it whose name matches pattern (such as
// *_Atlas.ptseries.nii), in the order of their paths. Without a pattern the files of a folder that can be read must have one
// extension; those ending in .txt are left out where there are others, because notes and licences end so too.
func Files(paths []string, pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("--pattern %q: %w", pattern, err)
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := inFolder(path, pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func inFolder(folder, pattern string) ([]string, error) {
	byExtension := map[string][]string{} // all under "" where there is a pattern
	err := filepath.WalkDir(folder, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		extension := strings.ToLower(filepath.Ext(d.Name()))
		if pattern != "" {
			if ok, _ := filepath.Match(pattern, d.Name()); ok {
				byExtension[""] = append(byExtension[""], p)
			}
		} else if slices.Contains(extensions, extension) && !strings.HasPrefix(d.Name(), ".") {
			byExtension[extension] = append(byExtension[extension], p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(byExtension) > 1 {
		delete(byExtension, ".txt")
	}
	var counts []string
	for extension, files := range byExtension {
		if len(byExtension) == 1 {
			return files, nil
		}
		counts = append(counts, fmt.Sprintf("%d %s", len(files), extension))
	}
	slices.Sort(counts)
	switch {
	case counts != nil:
		return nil, fmt.Errorf("%s: this folder has files of several kinds (%s): say which with --pattern, such as --pattern '*.h5'", folder, strings.Join(counts, ", "))
	case pattern != "":
		return nil, fmt.Errorf("%s: no file in this folder has a name that matches %q", folder, pattern)
	}
	return nil, fmt.Errorf("%s: no file in this folder has an extension that can be read (%s)", folder, strings.Join(extensions, ", "))
}
