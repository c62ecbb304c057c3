package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/series"
)

// seriesFolder is a folder of .npy files, one a run, with the names and modules of their tokens beside them.
type seriesFolder struct {
	out     string
	force   bool
	set     *series.Set
	labels  []int // nil where no modules are known
	modules []string
}

// write writes the folder, after it has looked at all names.
func (s seriesFolder) write(w io.Writer) error {
	runs, err := s.runNames()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := s.checkFolder(runs); err != nil {
		return err
	}
	for i, r := range s.set.Runs {
		a := array.Array{Shape: []int{r.Frames, s.set.Tokens}, Data: make([]float64, r.Frames*s.set.Tokens)}
		for k, v := range s.set.X[r.First*s.set.Tokens : (r.First+r.Frames)*s.set.Tokens] {
			a.Data[k] = float64(v)
		}
		if err := s.create(runs[i], func(w io.Writer) error { return npy.Write(w, a, npy.Float32) }); err != nil {
			return err
		}
	}
	if err := s.writeBeside(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %d runs, %d frames of %d tokens\n", s.out, len(s.set.Runs), s.set.Frames, s.set.Tokens)
	return err
}

// runNames returns the name of each run's file. Two subjects of one name would be one subject when the files are read.
func (s seriesFolder) runNames() ([]string, error) {
	var names []string
	subjects, count := map[string]string{}, map[string]int{} // by word
	for _, r := range s.set.Runs {
		word := fileWord(r.Subject)
		if before, seen := subjects[word]; seen && before != r.Subject {
			return nil, fmt.Errorf("subjects %q and %q would both be written as sub-%s and read as one: give them other names with --subjects, a table with the columns subject and file",
				before, r.Subject, word)
		}
		subjects[word] = r.Subject
		count[word]++
		names = append(names, series.ConvertedName(word, count[word]))
	}
	return names, nil
}

// checkFolder returns an error where something that is there would be overwritten unasked, or where runs of another conversion
// would be read with the names and modules of this one.
func (s seriesFolder) checkFolder(runs []string) error {
	entries, err := os.ReadDir(s.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		ours := slices.Contains(runs, name) || name == series.NamesFile || name == series.ModulesFile
		switch {
		case ours && !s.force:
			return fmt.Errorf("%s exists: use --force to overwrite it, or another --out", filepath.Join(s.out, name))
		case !ours && series.IsConverted(name):
			return fmt.Errorf("%s exists and is no run of this data, but would be read with its names of tokens: use another --out, or move that file away", filepath.Join(s.out, name))
		}
	}
	return nil
}

// writeBeside writes the names and modules of the tokens, and removes those that are there where these tokens have none.
func (s seriesFolder) writeBeside() error {
	var names, modules func(io.Writer) error
	if s.set.Names != nil {
		names = func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Join(s.set.Names, "\n")+"\n")
			return err
		}
	}
	if s.labels != nil {
		modules = func(w io.Writer) error {
			rows := [][]string{{"name", "module"}}
			for i, l := range s.labels {
				name := fmt.Sprintf("token%d", i+1)
				if s.set.Names != nil {
					name = s.set.Names[i]
				}
				rows = append(rows, []string{name, s.modules[l]})
			}
			return csv.NewWriter(w).WriteAll(rows)
		}
	}
	return errors.Join(s.createOrRemove(series.NamesFile, names), s.createOrRemove(series.ModulesFile, modules))
}

func (s seriesFolder) createOrRemove(name string, fill func(io.Writer) error) error {
	if fill != nil {
		return s.create(name, fill)
	}
	if err := os.Remove(filepath.Join(s.out, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s seriesFolder) create(name string, fill func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(s.out, name))
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

// fileWord makes a subject's name fit for the name of a file, such that its subject is found again.
func fileWord(subject string) string {
	subject = strings.TrimPrefix(subject, "sub-")
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, subject)
	if word == "" {
		return "unnamed"
	}
	return word
}
