package series

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array/cifti"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// Source names the files of a user's own series, with paths as given.
type Source struct {
	Data     []string `json:"data"`               // files, or folders of files
	Pattern  string   `json:"pattern,omitempty"`  // of the names of files in folders
	Datasets []string `json:"datasets,omitempty"` // in files that hold several arrays
	// Axes are the axes of the arrays, if neither names nor a known number of tokens identify them.
	Axes string `json:"axes,omitempty"`
	// Header says whether the first line of texts holds names of columns. A configuration has one
	// value for all of its files.
	Header  text.Choice `json:"-"`
	Tokens  int         `json:"tokens,omitempty"`  // known number of tokens; 0 = unknown
	Names   string      `json:"names,omitempty"`   // file with the tokens' names, one per line
	Modules string      `json:"modules,omitempty"` // file with the tokens' modules
	// Parcellation is the dlabel.nii with the parcels in which dense series are averaged.
	Parcellation string `json:"parcellation,omitempty"`
	// MissingParcels is SkipMissing, or empty if parcels without a vertex are an error.
	MissingParcels string `json:"missing_parcels,omitempty"`
	Subjects       string `json:"subjects,omitempty"` // table of subjects
	// SubjectPattern is a regular expression that finds the subject in the path of a file.
	SubjectPattern string `json:"subject_pattern,omitempty"`
}

// SkipMissing leaves out parcels without data in a dense series.
const SkipMissing = "skip"

// CorticalParcels are the assumed numbers of parcels of human fMRI if nothing else is given:
// Glasser's cortex, and the Cole-Anticevic partition of the whole brain.
var CorticalParcels = []int{360, 718}

// Dataset is the data of a Source.
type Dataset struct {
	*Set
	Subjects []string
	OfFrame  []int // subject of each frame, an index in Subjects
	Test     []int // subjects that the table of subjects holds out; nil if it does not say
	Modules  *partition.Matched
}

// Options returns the source's options for reading files. known are the numbers of tokens to assume
// if it gives none.
func (s Source) Options(known []int) (Options, error) {
	o := Options{Datasets: s.Datasets, Tokens: known, Parcels: s.Parcellation,
		SkipParcels: s.MissingParcels == SkipMissing, Header: s.Header}
	if s.Tokens > 0 {
		o.Tokens, o.TokensFrom = []int{s.Tokens}, "--tokens"
	}
	if s.Axes != "" {
		axes, err := ParseAxes(s.Axes)
		if err != nil {
			return o, fmt.Errorf("--axes: %w", err)
		}
		o.Axes = axes
	}
	if s.Names != "" {
		names, err := readNames(s.Names, s.Header)
		if err == nil {
			err = checkOneColumn(names, s.Names)
		}
		if err != nil {
			return o, fmt.Errorf("--names: %w", err)
		}
		if s.Tokens > 0 && len(names) != s.Tokens {
			return o, fmt.Errorf("--tokens says %d, but --names %s has %d names", s.Tokens,
				s.Names, len(names))
		}
		o.Names, o.NamesFrom = names, s.Names
	}
	return o, nil
}

// Read reads the source's files, and matches its modules to their tokens. Tokens without names get
// those of the modules' file.
func (s Source) Read(known []int, zscore bool) (*Dataset, error) {
	o, err := s.Options(known)
	if err != nil {
		return nil, err
	}
	o.ZScore = zscore
	files, err := Files(s.Data, s.Pattern)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	isDense := func(file string) bool { return strings.Contains(strings.ToLower(file), ".dtseries.nii") }
	if s.Parcellation != "" && s.Modules == "" && !slices.ContainsFunc(files, isDense) {
		return nil, fmt.Errorf("--parcellation %s: no file of --data is a dense series (.dtseries.nii) to average: "+
			"leave it out", s.Parcellation)
	}
	modules, about, err := s.modules(files)
	if err != nil {
		return nil, fmt.Errorf("--modules: %w", err)
	}
	if modules != nil && o.TokensFrom == "" {
		o.Tokens = append(modules.Counts(), o.Tokens...)
	}
	table, notes, err := s.findSubjects(files, &o)
	if err != nil {
		return nil, err
	}
	set, err := Load(files, o)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	d := &Dataset{Set: set}
	d.Subjects, d.OfFrame = set.subjects()
	set.Notes = slices.Concat(set.Notes, notes, about)
	if table != nil {
		if d.Test, err = table.held(d.Subjects); err != nil {
			return nil, fmt.Errorf("--subjects: %w", err)
		}
		set.Notes = append(set.Notes, table.unused(files, d.Subjects)...)
	}
	if modules == nil {
		return d, nil
	}
	t := partition.Tokens{Count: set.Tokens, File: files[0], Names: set.Names,
		NamesFrom: set.NamesFrom, Sides: set.Sides}
	if s.Parcellation != "" {
		t.Parcels = s.Parcellation
	} else if cifti.HasExtension(files[0]) {
		t.Parcels = files[0]
	}
	if d.Modules, err = modules.Match(t); err != nil {
		return nil, fmt.Errorf("--modules: %w", err)
	}
	switch n := len(d.Modules.Labels); {
	case slices.Max(d.Modules.Labels) == slices.Min(d.Modules.Labels):
		return nil, fmt.Errorf("--modules: %s puts all %d tokens into one module, but scores need two or more: "+
			"correct it, or leave it out", modules.File, n)
	case len(d.Modules.Modules) == n:
		return nil, fmt.Errorf("--modules: %s makes each of the %d tokens a module of its own: give several "+
			"tokens one label; names of tokens belong to --names, parcels to --parcellation", modules.File, n)
	}
	if set.Names == nil && d.Modules.Names != nil {
		set.Names, set.NamesFrom = d.Modules.Names, modules.File
		set.Notes = append(set.Notes, fmt.Sprintf("Names of tokens come from %s, in its order.", modules.File))
	}
	return d, nil
}

// findSubjects stores the subjects of files in the options, and returns the table of subjects, or
// nil if the source names none.
func (s Source) findSubjects(files []string, o *Options) (*subjects, []string, error) {
	var f subjectFinder
	var err error
	if s.Subjects != "" {
		if f.table, err = readSubjects(s.Subjects); err != nil {
			return nil, nil, fmt.Errorf("--subjects: %w", err)
		}
	}
	if s.SubjectPattern != "" {
		if f.pattern, err = ParseSubjectPattern(s.SubjectPattern); err != nil {
			return nil, nil, fmt.Errorf("--subject-pattern: %w", err)
		}
	}
	var notes []string
	o.Subjects, notes, err = f.of(files)
	return f.table, notes, err
}

// modules reads the source's partition, or else the one beside its files. It is nil if there is none.
func (s Source) modules(files []string) (p *partition.Partition, about []string, err error) {
	path, header := s.Modules, s.Header
	if path == "" {
		header = text.Auto
		if path, err = modulesBeside(files); path == "" || err != nil {
			return nil, nil, err
		}
		about = []string{fmt.Sprintf("Modules come from %s, which lies beside the series; "+
			"--modules names others.", path)}
	}
	p, err = partition.Read(path, header)
	return p, about, err
}
