package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/series"
	"torchpe/train"
)

// sourceFlags are the flags that say where a user's own series are.
type sourceFlags struct{ s series.Source }

// add declares the flags; where is what their help ends with.
func (f *sourceFlags) add(fl *pflag.FlagSet, where string) {
	fl.StringVar(&f.s.Pattern, "pattern", "", "which files of folders are read, such as '*_Atlas.ptseries.nii' (default: all that can be)"+where)
	fl.StringArrayVar(&f.s.Datasets, "dataset", nil, "array in files that hold several: path in HDF5, variable in .mat, member of .npz; * stands for any name; may be given several times"+where)
	fl.StringVar(&f.s.Axes, "axes", "", "axes of the arrays as numpy shows them, such as tokens,frames or subjects,frames,tokens (default: by names or --tokens)"+where)
	fl.IntVar(&f.s.Tokens, "tokens", 0, "number of tokens, which tells the axes; files with others are refused; 0 = by names or modules, and for human fMRI 360 or 718"+where)
	fl.StringVar(&f.s.Names, "names", "", "file with the tokens' names, one a line, where files have none; those that have names are brought into its order"+where)
	fl.StringVar(&f.s.Parcellation, "parcellation", "", "dlabel.nii within whose parcels dtseries.nii are averaged"+where)
}

// setters say how each given flag changes a source.
func (f *sourceFlags) setters(into *series.Source) map[string]func() {
	return map[string]func(){
		"pattern": func() { into.Pattern = f.s.Pattern }, "dataset": func() { into.Datasets = f.s.Datasets },
		"axes": func() { into.Axes = f.s.Axes }, "tokens": func() { into.Tokens = f.s.Tokens }, "names": func() { into.Names = f.s.Names },
		"parcellation": func() { into.Parcellation = f.s.Parcellation }, "modules": func() { into.Modules = f.s.Modules },
		"subjects": func() { into.Subjects = f.s.Subjects },
	}
}

// defaultSurrogate is the size of the surrogate where no other is asked for.
func defaultSurrogate() train.Surrogate {
	c, _ := train.Preset("fmri", "code")
	return *c.Masked.Surrogate
}

// parseSurrogate reads text such as "subjects=12,frames=1195"; what it leaves out stays as it is.
func parseSurrogate(text string, s train.Surrogate) (train.Surrogate, error) {
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if !ok || err != nil {
			return s, fmt.Errorf("--surrogate: %q is not of the form subjects=12,frames=1195", text)
		}
		switch strings.TrimSpace(key) {
		case "subjects":
			s.Subjects = n
		case "frames":
			s.Frames = n
		default:
			return s, fmt.Errorf("--surrogate: %q is unknown; subjects and frames can be given", key)
		}
	}
	return s, nil
}
