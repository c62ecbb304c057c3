package series

import (
	"fmt"
	"os"
	"strings"

	"torchpe/data/partition"
)

// Source says where a user's own series are. Paths are as given.
type Source struct {
	Data         []string `json:"data"`                   // files, or folders of files
	Pattern      string   `json:"pattern,omitempty"`      // of the names of files in folders
	Datasets     []string `json:"datasets,omitempty"`     // in files that hold several arrays
	Axes         string   `json:"axes,omitempty"`         // of the arrays, where neither names nor a known number of tokens tell
	Tokens       int      `json:"tokens,omitempty"`       // known number of tokens; 0 = not known
	Names        string   `json:"names,omitempty"`        // file with the tokens' names, one a line
	Modules      string   `json:"modules,omitempty"`      // file with the tokens' modules
	Parcellation string   `json:"parcellation,omitempty"` // dlabel.nii within whose parcels dense series are averaged
	Subjects     string   `json:"subjects,omitempty"`     // table of subjects
}

// CorticalParcels are the numbers of parcels that series of human fMRI are taken to have where nothing else is said: Glasser's
// cortex, and the Cole-Anticevic partition of the whole brain.
var CorticalParcels = []int{360, 718}

// Dataset is what a Source leads to.
type Dataset struct {
	*Set
	Subjects []string
	OfFrame  []int // subject of each frame, a place in Subjects
	Test     []int // subjects that the table of subjects holds out; nil where it does not say
	Modules  *partition.Matched
}

// Options returns what the source says about its files. known are the numbers of tokens that are taken where it names none.
func (s Source) Options(known []int) (Options, error) {
	o := Options{Datasets: s.Datasets, Tokens: known, Parcels: s.Parcellation}
	if s.Tokens > 0 {
		o.Tokens = []int{s.Tokens}
	}
	if s.Axes != "" {
		axes, err := ParseAxes(s.Axes)
		if err != nil {
			return o, fmt.Errorf("--axes: %w", err)
		}
		o.Axes = axes
	}
	if s.Names != "" {
		names, err := readNames(s.Names)
		if err != nil {
			return o, fmt.Errorf("--names: %w", err)
		}
		o.Names, o.NamesFrom = names, s.Names
	}
	return o, nil
}

// Read reads the source's files, and matches its modules to their tokens.
func (s Source) Read(known []int, zscore bool) (*Dataset, error) {
	o, err := s.Options(known)
	if err != nil {
		return nil, err
	}
	o.ZScore = zscore
	var modules *partition.Partition
	if s.Modules != "" {
		if modules, err = partition.Read(s.Modules); err != nil {
			return nil, fmt.Errorf("--modules: %w", err)
		}
		if n := len(modules.Labels); n > 0 && s.Tokens == 0 && o.Names == nil {
			o.Tokens = append([]int{n}, o.Tokens...)
		}
	}
	var table *Subjects
	if s.Subjects != "" {
		if table, err = ReadSubjects(s.Subjects); err != nil {
			return nil, fmt.Errorf("--subjects: %w", err)
		}
		o.Subject = table.Of
	}
	files, err := Files(s.Data, s.Pattern)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	set, err := Load(files, o)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	d := &Dataset{Set: set}
	d.Subjects, d.OfFrame = set.Subjects()
	if table != nil {
		held, given, err := table.Test(d.Subjects)
		if err != nil {
			return nil, fmt.Errorf("--subjects: %w", err)
		}
		if given {
			d.Test = held
			if len(held) == 0 || len(held) == len(d.Subjects) {
				return nil, fmt.Errorf("--subjects: %s holds out %d of the %d subjects of the data: some must be trained and some tested on", s.Subjects, len(held), len(d.Subjects))
			}
		}
	}
	if modules == nil {
		return d, nil
	}
	t := partition.Tokens{Count: set.Tokens, Names: set.Names, File: files[0]}
	if s.Parcellation != "" {
		t.Parcels = s.Parcellation
	} else if strings.HasSuffix(files[0], ".nii") || strings.HasSuffix(files[0], ".nii.gz") {
		t.Parcels = files[0]
	}
	if d.Modules, err = modules.Match(t); err != nil {
		return nil, fmt.Errorf("--modules: %w", err)
	}
	return d, nil
}

// maxNamesBytes is the longest list of names that is read.
const maxNamesBytes = 64 << 20

// readNames reads one name a line.
func readNames(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxNamesBytes {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", path, maxNamesBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.SplitSeq(strings.TrimPrefix(string(b), "\ufeff"), "\n") {
		if line = strings.Trim(strings.TrimSpace(line), `"`); line != "" {
			names = append(names, line)
		}
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%s: %d names; one a line, and at least two, are needed", path, len(names))
	}
	return names, unique(names, path)
}
