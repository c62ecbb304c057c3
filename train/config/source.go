package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/hcp"
	"torchpe/data/positions"
	"torchpe/data/series"
)

// Surrogate is the generated data of task fmri (see package hcp).
type Surrogate struct {
	Subjects int `json:"subjects"`
	Frames   int `json:"frames"` // per subject
}

// sources counts the sources of data; a valid configuration has one.
func (m *MaskedConfig) sources() (n int) {
	for _, given := range []bool{m.NMAR != nil, m.Surrogate != nil, m.Files != nil} {
		if given {
			n++
		}
	}
	return n
}

var sourceSettings = []Setting{
	{
		Key: "masked.files.data", OtherKey: "sequence.text", Flag: "data", Common: true, Path: true,
		Tasks: FromData, Sweep: Repeated,
		Help: "file or folder with series, or UTF-8 text; may be given several times, and more files may follow " +
			"the flags",
		Place: placeData,
		Check: func(c *Config) error {
			if Texts.has(c) && len(c.Sequence.Text) == 0 || FromSeries.has(c) && len(c.Masked.Files.Data) == 0 {
				return errors.New("no files: name the files or folders with the data")
			}
			return nil
		},
	},
	{
		Key: "masked.files.pattern", Flag: "pattern", Tasks: FromSeries, Sweep: Whole,
		Help: "which files of folders are read, such as '*_Atlas.ptseries.nii' (default: all that can be read)",
	},
	{
		Key: "masked.files.datasets", Flag: "dataset", Tasks: FromSeries, Sweep: Repeated,
		Help: "array to read from files with several: path in HDF5, variable in .mat, member of .npz; * " +
			"stands for any name; may be given several times",
	},
	{
		Key: "masked.files.axes", Flag: "axes", Common: true, Tasks: FromSeries, Sweep: Whole,
		Help: "axes of the arrays, such as frames,tokens (a token is a series)",
		Check: func(c *Config) error {
			if c.Masked.Files.Axes == "" {
				return nil
			}
			_, err := series.ParseAxes(c.Masked.Files.Axes)
			return err
		},
	},
	{
		Key: "masked.files.tokens", Flag: "tokens", Tasks: FromSeries, Range: "[0, inf)",
		Help: "number of tokens, which identifies the axes; files with another number are refused; 0 = by " +
			"names or modules, and for human fMRI 360 or 718",
	},
	{
		Key: "masked.files.names", Flag: "names", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "file with the tokens' names, one per line, for files without names; those with names are " +
			"put into its order",
	},
	{
		Key: "masked.files.parcellation", Flag: "parcellation", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "dlabel.nii; dtseries.nii are averaged within its parcels",
	},
	{
		Key: "masked.files.missing_parcels", Flag: "missing-parcels", Tasks: FromSeries, Sweep: Whole,
		With: "parcellation",
		Help: "parcels of --parcellation without data in a dtseries.nii, such as subcortical ones in a file " +
			"of the cortex: refuse (default) or skip, which leaves them out",
		Zero: "refuse", OneOf: []string{"refuse", series.SkipMissing},
	},
	{
		Key: "masked.files.modules", Flag: "modules", Common: true, Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "file with the tokens' modules, for the network scores: CAB-NP's LabelKey or list, names " +
			"and labels, dlabel.nii",
	},
	{
		Key: "masked.files.subjects", Flag: "subjects", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "table with the columns subject, set (train or test) and, if paths do not identify subjects, " +
			"file (the end of a path)",
	},
	{
		Key: "masked.files.subject_pattern", Flag: "subject-pattern", Tasks: FromSeries, Sweep: Whole,
		Help: "regular expression with one group, which finds the subject in a file's absolute path, such " +
			"as 'rest/([^/]+)/' (default: sub-NAME, six digits of HCP, else the file's name)",
		Check: func(c *Config) error {
			if c.Masked.Files.SubjectPattern == "" {
				return nil
			}
			_, err := series.ParseSubjectPattern(c.Masked.Files.SubjectPattern)
			return err
		},
	},
	{
		Key: "masked.surrogate", Flag: "surrogate", Tasks: FromSurrogate, Sweep: Whole,
		Help:    "generated data if no --data is given, such as subjects=12,frames=1195",
		Default: defaultSurrogate(),
		Parse:   func(text string) (any, error) { return ParseSurrogate(text) },
		Place:   placeSurrogate,
		Check: func(c *Config) error {
			o := hcp.DefaultOptions()
			o.Subjects, o.Frames = c.Masked.Surrogate.Subjects, c.Masked.Surrogate.Frames
			return o.Validate()
		},
	},
}

// placeData creates the configuration of files in a task that reads files.
func placeData(c *Config, _ any) error {
	t := FindTask(c.Task)
	if t == nil || t.useFiles == nil {
		all := taskNames(func(t *TaskFacts) bool { return t.useFiles != nil })
		last := len(all) - 1
		return fmt.Errorf("task %s makes its own data; tasks %s and %s read files", c.Task,
			strings.Join(all[:last], ", "), all[last])
	}
	t.useFiles(c)
	return nil
}

// replaceByFiles creates the configuration of files with series, which replace the surrogate. It
// removes settings of another task; the message of --task explains this.
func replaceByFiles(c *Config) {
	if c.Masked == nil {
		return
	}
	c.Masked.Surrogate = nil
	if c.Masked.Files == nil {
		c.Masked.Files = &series.Source{}
	}
}

// placeSurrogate creates the configuration of the surrogate in task fmri, which replaces files.
func placeSurrogate(c *Config, _ any) error {
	if FindTask(c.Task) != &fmriTask {
		return fmt.Errorf("task %s has none; task fmri has", c.Task)
	}
	if c.Masked != nil {
		c.Masked.Files = nil
	}
	return nil
}

// ParseSurrogate reads text such as "subjects=12,frames=1195"; omitted keys keep their defaults.
func ParseSurrogate(text string) (Surrogate, error) {
	s, given := defaultSurrogate(), map[*int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if !ok || err != nil {
			return s, fmt.Errorf("%q is not of the form subjects=12,frames=1195", text)
		}
		field := map[string]*int{"subjects": &s.Subjects, "frames": &s.Frames}[strings.TrimSpace(key)]
		switch {
		case field == nil:
			return s, fmt.Errorf("%q is unknown; subjects and frames can be given", key)
		case given[field]:
			return s, fmt.Errorf("%s is given twice", strings.TrimSpace(key))
		}
		*field, given[field] = n, true
	}
	return s, nil
}

// PositionsConfig names the file with the tokens' positions. Without one the task gives them: Latin
// squares lie on their grid, everything else on a line.
type PositionsConfig struct {
	File   string `json:"file"`         // FILE, or FILE:NAME if it holds several arrays
	As     string `json:"as,omitempty"` // one of positions.Forms; "" to decide by shape
	SHA256 string `json:"sha256"`       // of the file; a run refuses a changed file
}

// PositionsAsHelp is the help of --positions-as.
var PositionsAsHelp = "content of the file of --positions: auto (decided by its shape), " +
	strings.Join(positions.Forms(), ", ")

var positionsSettings = []Setting{
	{
		Key: "positions.file", Flag: "positions", Path: true,
		Help: "file with the tokens' positions, FILE or FILE:NAME: one number (order), row and column " +
			"(grid), coordinates, an adjacency matrix or a list of edges (graph) (default: the task's own)",
		Place: func(c *Config, given any) error { // replaces earlier values
			if c.Positions = nil; given != "" {
				c.Positions = &PositionsConfig{}
			}
			return nil
		},
		Complete: func(c *Config) (err error) {
			if c.Positions != nil && c.Positions.SHA256 == "" {
				with := *c.Positions
				with.SHA256, err = SumOf(with.File)
				c.Positions = &with
			}
			return err
		},
		Check: func(c *Config) error {
			if c.Facts().IsLine && c.Positions != nil {
				return errors.New("sequences lie on a line; leave it out")
			}
			return nil
		},
	},
	{
		Key: "positions.as", Flag: "positions-as", Help: PositionsAsHelp, With: "positions",
		Zero: "auto", OneOf: append([]string{"auto"}, positions.Forms()...),
	},
	{Key: "positions.sha256", Help: "SHA-256 of that file"},
	{
		Key: "header", Flag: "header", Sweep: Whole, Help: HeaderHelp,
		Zero: "auto", OneOf: []string{"auto", "yes", "no"},
		Unused: func(c *Config) string {
			if c.Positions == nil && !FromSeries.has(c) {
				return "without --positions or --data with series"
			}
			return ""
		},
	},
}

// HeaderHelp is the help of --header.
const HeaderHelp = "first line of text tables and lists (series, positions, modules, names): yes (names of " +
	"columns), no or auto (by content; numbers that may be either are refused)"

// FirstLine returns the setting of the first line of texts. An unknown word, which Validate
// reports, counts as Auto.
func (c Config) FirstLine() text.Choice {
	choice, _ := text.ParseChoice(c.Header)
	return choice
}

// SumOf returns the SHA-256 of the file in a reference FILE or FILE:NAME.
func SumOf(reference string) (string, error) {
	file, _, err := arrayfile.Split(reference)
	if err != nil {
		return "", err
	}
	return array.SHA256(file)
}

// MakePathsAbsolute makes the paths of a configuration's files absolute. Files that cannot be read
// are an error.
func MakePathsAbsolute(c *Config) error {
	var faults []error
	for _, s := range Settings() {
		for _, path := range s.paths(c) {
			absolute, err := filepath.Abs(*path)
			if err == nil {
				*path = absolute
				err = CheckReadable(absolute)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w", s.Flag, err))
			}
		}
	}
	return errors.Join(faults...)
}

// NamesFiles reports whether a configuration reads files.
func NamesFiles(c *Config) bool {
	return slices.ContainsFunc(Settings(), func(s Setting) bool { return len(s.paths(c)) > 0 })
}

// HasRelative reports whether a path is one of a configuration's files, and relative.
func HasRelative(c *Config, path string) bool {
	isIt := func(of *string) bool { return filepath.Clean(*of) == filepath.Clean(path) }
	return !filepath.IsAbs(path) && slices.ContainsFunc(Settings(), func(s Setting) bool {
		return slices.ContainsFunc(s.paths(c), isIt)
	})
}

// paths returns the non-empty paths of a setting with a flag in a configuration.
func (s Setting) paths(c *Config) (all []*string) {
	if !s.Path || s.Flag == "" || !s.hasPlace(c) {
		return nil
	}
	for _, v := range s.values(c) {
		switch v := v.Addr().Interface().(type) {
		case *string:
			all = append(all, v)
		case *[]string:
			for i := range *v {
				all = append(all, &(*v)[i])
			}
		}
	}
	return slices.DeleteFunc(all, func(path *string) bool { return *path == "" })
}

// refuseStdin reports standard input given as a file: a resumed run reads its files again.
func refuseStdin(c *Config, s Setting, bad *Problems) {
	for _, path := range s.paths(c) {
		if file, _, _ := strings.Cut(*path, ":"); file == array.Stdin {
			bad.Add("--%s %s: a resumed run cannot read standard input again: save it to a file and give that",
				s.Flag, *path)
		}
	}
}

// CheckReadable returns an error for a missing file; FILE:NAME is an array in a file.
func CheckReadable(path string) error {
	_, err := os.Stat(path)
	for i, c := range path {
		if c != ':' || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, inner := os.Stat(path[:i]); inner == nil {
			return nil
		}
	}
	return err
}
