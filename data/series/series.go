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
	NamesFrom      string    // the file that has them; empty where none has
	// Sides are the hemispheres of tokens by vertices in CIFTI, L, R or empty; nil where no file
	// says.
	Sides []string
	Runs  []Run
	Flat  []Flat   // tokens without a z-score, where the options ask for none
	Notes []string // notes for the user, one sentence each
}

// Flat is a token that does not vary within a run.
type Flat struct {
	Run   string // file and dataset
	Token string // place and name
	Value float64
}

// Hemispheres returns the order of hemispheres that the tokens' names tell, else the one that
// CIFTI's structures tell.
func (s *Set) Hemispheres() partition.Order { return partition.OrderOf(s.Names, s.Sides) }

// Run is one series of one subject.
type Run struct {
	File    string
	Name    string // of the dataset in the file, or empty
	Subject string
	First   int // its first frame in the set
	Frames  int
}

// subjects returns the names of the subjects in the order in which they come, and the subject of
// each frame as a place in that list.
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

// ParseAxes takes axes separated by commas, such as "tokens,frames", slowest first as numpy and
// h5py show them. Each must be given once, frames and tokens always.
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
			return nil, fmt.Errorf("%q is no axis; axes are frames, tokens, subjects and runs, "+
				"such as tokens,frames", part)
		}
		if slices.Contains(axes, a) {
			return nil, fmt.Errorf("axis %s is given twice in %q", a, text)
		}
		axes = append(axes, a)
	}
	if !slices.Contains(axes, FrameAxis) || !slices.Contains(axes, TokenAxis) || len(axes) > 3 {
		return nil, fmt.Errorf("%q: frames and tokens are needed, and one of subjects and runs "+
			"may be given beside them", text)
	}
	return axes, nil
}

// Options holds what the files do not say.
type Options struct {
	// Datasets names what is read of files that hold several arrays: paths in HDF5, variables in
	// MATLAB, members of .npz. A name may have * and ? in it, which stand for any text between two
	// slashes. Each dataset is a run. Without names a file must hold one matrix.
	Datasets []string
	// Axes are those of the arrays; nil where Tokens or names say which holds the tokens.
	Axes []Axis
	// Tokens are the numbers of tokens that are expected: where names do not tell, the axis whose
	// length is among them holds the tokens. TokensFrom names the source that says so for certain,
	// such as --tokens; empty where there may be.
	Tokens     []int
	TokensFrom string
	// Names are the tokens' names, for files that have none, from NamesFrom. Files that have others
	// are refused.
	Names     []string
	NamesFrom string
	// Header says whether the first line of a text table or list holds names of columns; Auto where
	// the file tells.
	Header text.Choice
	// Parcels is the dlabel.nii within whose parcels, those of its first map, dtseries.nii files are
	// averaged.
	Parcels string
	// SkipParcels leaves out parcels that have nothing in a dense series, which else are an error.
	SkipParcels bool
	// Subjects are the subjects of the files, by path; nil for those that the paths tell.
	Subjects map[string]string
	// ZScore brings each token of each run to mean 0 and SD 1 (divided by the number of frames).
	ZScore bool
}
