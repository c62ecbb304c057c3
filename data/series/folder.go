package series

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/internal/atomicfile"
)

// Folder is a folder of .npy files, one per run, with the names and modules of their tokens beside
// them, as written by "torchpe data hcp convert".
type Folder struct {
	Dir     string
	Force   bool // overwrite files
	Set     *Set
	Modules *partition.Matched // nil if unknown
}

// Write writes the folder. It checks the names of all files before it writes the first.
func (f Folder) Write() error {
	runs, err := f.runNames()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := f.checkFolder(runs); err != nil {
		return err
	}
	for i, r := range f.Set.Runs {
		a := array.Array{Shape: []int{r.Frames, f.Set.Tokens}, Data: make([]float64, r.Frames*f.Set.Tokens)}
		for k, v := range f.Set.X[r.First*f.Set.Tokens : (r.First+r.Frames)*f.Set.Tokens] {
			a.Data[k] = float64(v)
		}
		if err := f.create(runs[i], func(w io.Writer) error { return npy.Write(w, a, npy.Float32) }); err != nil {
			return err
		}
	}
	return f.writeBeside()
}

// runNames returns the name of each run's file: with the run's own number if all runs of its
// subject have one, else with its index among them. Two subjects with the same file name are an
// error, because they would be read as one.
func (f Folder) runNames() ([]string, error) {
	var names []string
	subjects, count := map[string]string{}, map[string]int{} // by word
	own := f.ownNumbers()
	for _, r := range f.Set.Runs {
		word := fileWord(r.Subject)
		if before, seen := subjects[word]; seen && before != r.Subject {
			return nil, fmt.Errorf("subjects %q and %q would both be written as sub-%s and read "+
				"as one: give them other names with --subjects, a table with the columns subject and file",
				before, r.Subject, word)
		}
		subjects[word] = r.Subject
		count[word]++
		number := count[word]
		if n := own[r.Subject]; n != nil {
			number = n[number-1]
		}
		names = append(names, convertedName(word, number))
	}
	return names, nil
}

// ownNumbers returns, for each subject, the run numbers in the names of its files or datasets, in
// order; nothing for a subject whose runs do not all have distinct ones.
func (f Folder) ownNumbers() map[string][]int {
	numbers := map[string][]int{}
	for _, r := range f.Set.Runs {
		n := 0
		if m := runNumber.FindStringSubmatch(cmp.Or(r.Name, filepath.Base(r.File))); m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		numbers[r.Subject] = append(numbers[r.Subject], n)
	}
	maps.DeleteFunc(numbers, func(_ string, n []int) bool {
		distinct := slices.Compact(slices.Sorted(slices.Values(n)))
		return len(distinct) < len(n) || distinct[0] == 0
	})
	return numbers
}

// existsError is the error for a file that would be overwritten; it matches fs.ErrExist.
type existsError string

func (e existsError) Error() string {
	return string(e) + " exists: use --force to overwrite it, or another --out"
}
func (existsError) Is(target error) bool { return target == fs.ErrExist }

// checkFolder returns an error if a file would be overwritten unasked, or if runs of another
// conversion would be read with the names and modules of this one.
func (f Folder) checkFolder(runs []string) error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		ours := slices.Contains(runs, name) || name == namesFile || name == modulesFile
		switch {
		case ours && !f.Force:
			return existsError(filepath.Join(f.Dir, name))
		case !ours && isConverted(name):
			return fmt.Errorf("%s exists and is not a run of this data, but would be read with its "+
				"names of tokens: use another --out, or move that file away", filepath.Join(f.Dir, name))
		}
	}
	return nil
}

// writeBeside writes the names and modules of the tokens, and removes existing ones if these tokens
// have none.
func (f Folder) writeBeside() error {
	var names, modules func(io.Writer) error
	if f.Set.Names != nil {
		names = func(w io.Writer) error {
			for _, name := range f.Set.Names {
				if name == "" || strings.ContainsAny(name[:1], `#%"`) || strings.TrimSpace(name) != name {
					name = `"` + name + `"` // else it would be a comment, or lose a part
				}
				if _, err := fmt.Fprintln(w, name); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if f.Modules != nil {
		modules = func(w io.Writer) error {
			rows := [][]string{{"name", "module"}}
			for i, l := range f.Modules.Labels {
				name := fmt.Sprintf("token%d", i+1)
				if f.Set.Names != nil {
					name = f.Set.Names[i]
				}
				rows = append(rows, []string{name, f.Modules.Modules[l]})
			}
			return text.WriteWords(w, rows)
		}
	}
	return errors.Join(f.createOrRemove(namesFile, names), f.createOrRemove(modulesFile, modules))
}

func (f Folder) createOrRemove(name string, fill func(io.Writer) error) error {
	if fill != nil {
		return f.create(name, fill)
	}
	if err := os.Remove(filepath.Join(f.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f Folder) create(name string, fill func(io.Writer) error) error {
	return atomicfile.Write(filepath.Join(f.Dir, name), fill)
}

// fileWord converts a subject's name to a part of a file name from which the subject can be found again.
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
