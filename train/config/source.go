package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"torchpe/data/hcp"
	"torchpe/data/series"
)

// Surrogate is the made-up data of task fmri (see package hcp).
type Surrogate struct {
	Subjects int `json:"subjects"`
	Frames   int `json:"frames"` // of each subject
}

// hasSourceOf reports whether the data comes from one place, of those that a task knows.
func (m *MaskedConfig) hasSourceOf(task string) bool {
	sources := 0
	for _, given := range []bool{m.NMAR != nil, m.Surrogate != nil, m.Files != nil} {
		if given {
			sources++
		}
	}
	switch task {
	case "nmar":
		return sources == 1 && m.NMAR != nil
	case "fmri":
		return sources == 1 && m.NMAR == nil
	case "masked":
		return sources == 1 && m.Files != nil
	}
	return sources == 1
}

var sourceSettings = []Setting{
	{
		Key: "masked.files.data", Flag: "data", Common: true, Path: true, Tasks: FromData, Sweep: Repeated,
		Help: "file or folder with series, or UTF-8 text; may be given several times, and more files may follow " +
			"the flags",
		Value: Field[[]string]{
			Ref: func(c *Config) *[]string {
				if c.Sequence != nil {
					return &c.Sequence.Text
				}
				return &c.Masked.Files.Data
			},
			Store: storeData,
			Check: func(v []string) error {
				if len(v) == 0 {
					return errors.New("no files: name the files or folders with the data")
				}
				return nil
			},
		},
	},
	{
		Key: "masked.files.pattern", Flag: "pattern", Tasks: FromSeries, Sweep: Whole,
		Help:  "which files of folders are read, such as '*_Atlas.ptseries.nii' (default: all that can be)",
		Value: Field[string]{},
	},
	{
		Key: "masked.files.datasets", Flag: "dataset", Tasks: FromSeries, Sweep: Repeated,
		Help: "array in files that hold several: path in HDF5, variable in .mat, member of .npz; * " +
			"stands for any name; may be given several times",
		Value: Field[[]string]{},
	},
	{
		Key: "masked.files.axes", Flag: "axes", Tasks: FromSeries, Sweep: Whole,
		Help: "axes of the arrays as numpy shows them, such as tokens,frames or subjects,frames,tokens " +
			"(default: by names or --tokens)",
		Value: Field[string]{},
		Check: func(c *Config, bad *Problems) {
			if !FromSeries.has(c) || c.Masked.Files.Axes == "" {
				return
			}
			if _, err := series.ParseAxes(c.Masked.Files.Axes); err != nil {
				bad.Add("--axes: %v", err)
			}
		},
	},
	{
		Key: "masked.files.tokens", Flag: "tokens", Tasks: FromSeries,
		Help: "number of tokens, which tells the axes; files with others are refused; 0 = by names or " +
			"modules, and for human fMRI 360 or 718",
		Value: Field[int]{Check: atLeast(0)},
	},
	{
		Key: "masked.files.names", Flag: "names", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "file with the tokens' names, one a line, where files have none; those that have names are " +
			"brought into its order",
		Value: Field[string]{},
	},
	{
		Key: "masked.files.parcellation", Flag: "parcellation", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help:  "dlabel.nii within whose parcels dtseries.nii are averaged",
		Value: Field[string]{},
	},
	{
		Key: "masked.files.missing_parcels", Flag: "missing-parcels", Tasks: FromSeries, Sweep: Whole,
		Help: "parcels of --parcellation that have nothing in a dtseries.nii, as those below the cortex " +
			"in one of the cortex: refuse (default) or skip, which leaves them out",
		Value: Field[string]{
			Store: func(c *Config, v string) error {
				switch v {
				case "refuse":
					v = ""
				case "", series.SkipMissing:
				default:
					return fmt.Errorf("%q is unknown; there are refuse and skip", v)
				}
				c.Masked.Files.MissingParcels = v
				return nil
			},
			Check: func(v string) error {
				if v != "" && v != series.SkipMissing {
					return fmt.Errorf("%q is unknown; there are refuse and skip", v)
				}
				return nil
			},
		},
	},
	{
		Key: "masked.files.modules", Flag: "modules", Common: true, Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "file with the tokens' modules, for the network scores: CAB-NP's LabelKey or list, names " +
			"and labels, dlabel.nii",
		Value: Field[string]{},
	},
	{
		Key: "masked.files.subjects", Flag: "subjects", Path: true, Tasks: FromSeries, Sweep: Whole,
		Help: "table with the columns subject, set (train or test) and, if paths of files do not tell, " +
			"file, the end of a path",
		Value: Field[string]{},
	},
	{
		Key: "masked.files.subject_pattern", Flag: "subject-pattern", Tasks: FromSeries, Sweep: Whole,
		Help: "regular expression that finds the subject in a file's absolute path by its one group, such " +
			"as 'rest/([^/]+)/' (default: sub-NAME, six digits of HCP, else the file's name)",
		Value: Field[string]{},
		Check: func(c *Config, bad *Problems) {
			if !FromSeries.has(c) || c.Masked.Files.SubjectPattern == "" {
				return
			}
			if _, err := series.ParseSubjectPattern(c.Masked.Files.SubjectPattern); err != nil {
				bad.Add("--subject-pattern: %v", err)
			}
		},
	},
	{
		Key: "masked.surrogate", Flag: "surrogate", Tasks: FromSurrogate, Sweep: Whole,
		Help: "made-up data where none is given, such as subjects=12,frames=1195",
		Value: Field[Surrogate]{
			Ref:     func(c *Config) *Surrogate { return c.Masked.Surrogate },
			Default: defaultSurrogate(),
			Words: &words[Surrogate]{
				kind:  "string",
				parse: func(texts []string) (Surrogate, error) { return ParseSurrogate(texts[0]) },
				text:  func(Surrogate) string { return "" },
			},
			Store: func(c *Config, v Surrogate) error {
				if c.Task != "fmri" {
					return fmt.Errorf("task %s has none; task fmri has", c.Task)
				}
				if c.Masked != nil {
					c.Masked.Surrogate, c.Masked.Files = &v, nil
				}
				return nil
			},
		},
		Check: func(c *Config, bad *Problems) {
			if !FromSurrogate.has(c) || !c.Masked.hasSourceOf(c.Task) {
				return
			}
			o := hcp.DefaultOptions()
			o.Subjects, o.Frames = c.Masked.Surrogate.Subjects, c.Masked.Surrogate.Frames
			if err := o.Validate(); err != nil {
				bad.Add("%v", err)
			}
		},
	},
}

// storeData replaces the files, and the surrogate by them.
func storeData(c *Config, v []string) error {
	if c.Task == "text" && c.Sequence != nil {
		c.Sequence.Text = v
		return nil
	}
	if c.Task != "fmri" && c.Task != "masked" {
		return fmt.Errorf("task %s makes its own data; tasks fmri, masked and text read files", c.Task)
	}
	if c.Masked == nil { // a task of another preset, which is reported elsewhere
		return nil
	}
	if c.Masked.Files == nil {
		c.Masked.Files = &series.Source{}
	}
	c.Masked.Files.Data, c.Masked.Surrogate = v, nil
	return nil
}

// ParseSurrogate reads text such as "subjects=12,frames=1195"; what it leaves out stays at its
// default.
func ParseSurrogate(text string) (Surrogate, error) {
	s := defaultSurrogate()
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if !ok || err != nil {
			return s, fmt.Errorf("%q is not of the form subjects=12,frames=1195", text)
		}
		switch strings.TrimSpace(key) {
		case "subjects":
			s.Subjects = n
		case "frames":
			s.Frames = n
		default:
			return s, fmt.Errorf("%q is unknown; subjects and frames can be given", key)
		}
	}
	return s, nil
}
