package series

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// Set holds the runs of all files as one table.
type Set struct {
	Frames, Tokens int
	X              []float32 // [Frames, Tokens], row-major
	Names          []string  // of the tokens, or nil
	NamesFrom      string    // the file with the names; empty without names
	// Sides are the hemispheres of tokens by vertices in CIFTI, L, R or empty; nil if no file has them.
	Sides []string
	Runs  []Run
	Flat  []Flat   // tokens that would have no z-score, if the options ask for none
	Notes []string // notes for the user, one sentence each
}

// Flat is a token that does not vary within a run.
type Flat struct {
	Run   string // file and dataset
	Token string // index and name
	Value float64
}

// Hemispheres returns the order of hemispheres in the tokens' names, or else in CIFTI's structures.
func (s *Set) Hemispheres() partition.Order { return partition.OrderOf(s.Names, s.Sides) }

// Run is one series of one subject.
type Run struct {
	File    string
	Name    string // of the dataset in the file, or empty
	Subject string
	First   int // its first frame in the set
	Frames  int
}

// subjects returns the names of the subjects in order of appearance, and the subject of each frame
// as an index in that list.
func (s *Set) subjects() (names []string, ofFrame []int) {
	ofFrame = make([]int, 0, s.Frames)
	for _, r := range s.Runs {
		i := slices.Index(names, r.Subject)
		if i < 0 {
			i = len(names)
			names = append(names, r.Subject)
		}
		for range r.Frames {
			ofFrame = append(ofFrame, i)
		}
	}
	return names, ofFrame
}

// Axis is the meaning of an axis of an array.
type Axis string

// The axes. Subjects and runs are the slices of an array with three axes.
const (
	FrameAxis   Axis = "frames"
	TokenAxis   Axis = "tokens"
	SubjectAxis Axis = "subjects"
	RunAxis     Axis = "runs"
)

// ParseAxes reads axes separated by commas, such as "tokens,frames", slowest first as in numpy and
// h5py. Each may be given once; frames and tokens are required.
func ParseAxes(text string) ([]Axis, error) {
	var axes []Axis
	for part := range strings.SplitSeq(text, ",") {
		a := Axis(strings.TrimSpace(part))
		switch a {
		case FrameAxis, TokenAxis, SubjectAxis, RunAxis:
		case "samples", "time":
			a = FrameAxis
		case "parcels", "regions", "nodes":
			a = TokenAxis
		default:
			return nil, fmt.Errorf("%q is not an axis; axes are frames, tokens, subjects and runs, "+
				"such as tokens,frames", part)
		}
		if slices.Contains(axes, a) {
			return nil, fmt.Errorf("axis %s is given twice in %q", a, text)
		}
		axes = append(axes, a)
	}
	if !slices.Contains(axes, FrameAxis) || !slices.Contains(axes, TokenAxis) || len(axes) > 3 {
		return nil, fmt.Errorf("%q: frames and tokens are required, and one of subjects and runs "+
			"may be added", text)
	}
	return axes, nil
}

// Options holds what the files do not contain.
type Options struct {
	// Datasets names the arrays to read from files with several: paths in HDF5, variables in
	// MATLAB, members of .npz. A name may contain * and ?, which match text between two slashes.
	// Each dataset is a run. Without names a file must contain one matrix.
	Datasets []string
	// Axes are the axes of the arrays; nil if Tokens or names identify that of the tokens.
	Axes []Axis
	// Tokens are the expected numbers of tokens: without names, the axis whose length is among them
	// holds the tokens. TokensFrom names the source of a number that must hold, such as --tokens;
	// it is empty for numbers that are only assumed.
	Tokens     []int
	TokensFrom string
	// Names are the tokens' names for files without names, from NamesFrom. Files with other names
	// are refused.
	Names     []string
	NamesFrom string
	// Header says whether the first line of a text table or list holds names of columns; Auto
	// decides by the file.
	Header text.Choice
	// Parcels is the dlabel.nii with the parcels, those of its first map, in which dtseries.nii
	// files are averaged.
	Parcels string
	// SkipParcels leaves out parcels without data in a dense series, which are errors otherwise.
	SkipParcels bool
	// Subjects are the subjects of the files, by path; nil to find them in the paths.
	Subjects map[string]string
	// ZScore scales each token of each run to mean 0 and SD 1 (with the number of frames as divisor).
	ZScore bool
}
