package series

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/cifti"
	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/internal/wording"
)

// InspectAll describes the files of a source; a folder may contain files of several kinds. known
// are the numbers of tokens to expect if the source names none. The description of an unreadable
// file is its error. The returned error names the files that the options do not fit.
func InspectAll(s Source, known []int) (all []*Info, notes []string, err error) {
	o, err := s.Options(known)
	if err != nil {
		return nil, nil, err
	}
	files, err := listFiles(s.Data, s.Pattern, true)
	if err != nil {
		return nil, nil, err
	}
	if _, notes, err = s.findSubjects(files, &o); err != nil {
		notes = []string{err.Error()}
	}
	var misfits []error
	for _, file := range files {
		info, err := Inspect(file, o)
		if err != nil {
			var wrong misfit
			if errors.As(err, &wrong) {
				misfits = append(misfits, err)
			}
			info = newInfo(file, "unknown", o)
			info.NotFinite = nil
			info.Problem = notSeries(file, err, o.Header)
		}
		all = append(all, info)
	}
	return all, notes, errors.Join(misfits...)
}

// misfit is an error about options that do not fit a file.
type misfit struct{ error }

// notSeries explains why a file is not a series: it is a list of labels, or the reader's error.
func notSeries(file string, err error, header text.Choice) string {
	if !slices.Contains([]string{".txt", ".csv", ".tsv"}, extensionOf(file)) {
		return err.Error()
	}
	p, labelErr := partition.Read(file, header)
	if labelErr != nil || len(p.Labels) == 0 {
		return err.Error()
	}
	return fmt.Sprintf("%s: a list of %s in %s (%s), not series: give it with --modules (as series: %v)",
		file, wording.Count(len(p.Labels), "label"), wording.Count(len(p.Modules), "module"), firstOf(p.Modules), err)
}

// describeCIFTI describes a CIFTI file that is not a series.
func describeCIFTI(m *cifti.Image) string {
	var of []string
	for _, k := range m.Axes[0].Maps {
		of = append(of, k.Name)
	}
	switch m.Kind {
	case cifti.Dlabel, cifti.Plabel:
		labels := 0
		if len(m.Axes[0].Maps) > 0 {
			labels = len(m.Axes[0].Maps[0].Labels)
		}
		return fmt.Sprintf("labels (%s; %s in the first), not series: give a dlabel.nii with "+
			"--parcellation or --modules", firstOf(of), wording.Count(labels, "label"))
	case cifti.Dscalar, cifti.Pscalar:
		return fmt.Sprintf("maps of scalars (%s), not series", firstOf(of))
	case cifti.Dconn, cifti.Pconn, cifti.Pdconn, cifti.Dpconn:
		return "a connectivity matrix, not series"
	}
	return "not a series"
}

// firstOf lists the first few of texts.
func firstOf(texts []string) string {
	return array.Printable(wording.List(3, texts))
}

// connectivityProblem says why a connectivity matrix is not read.
func connectivityProblem(a array.Array) string {
	return fmt.Sprintf("a square, symmetric matrix of %d tokens: this is a connectivity matrix, not series",
		a.Shape[0])
}

// isConnectivity reports whether an array is a square symmetric matrix, such as correlations.
func isConnectivity(a array.Array) bool {
	if len(a.Shape) != 2 || a.Shape[0] != a.Shape[1] || a.Shape[0] < 3 {
		return false
	}
	n, varies := a.Shape[0], false
	for i := range n {
		for j := range i {
			x, y := a.Data[i*n+j], a.Data[j*n+i]
			if math.Abs(x-y) > 1e-6*max(math.Abs(x), math.Abs(y)) {
				return false
			}
			varies = varies || x != a.Data[n] // first off-diagonal pair
		}
	}
	return varies
}
