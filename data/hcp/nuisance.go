package hcp

import (
	"fmt"
	"io"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/atomicfile"
)

// NuisanceFiles names the files of the nuisance signals of a run: one file each, or one HDF5 file for all.
type NuisanceFiles struct {
	Motion, WhiteMatter, Ventricles string
	All                             string // HDF5 file with all signals of its runs
	Run                             string // name of the run in All, such as rfMRI_REST1_RL
	// Header says whether the first line of text holds names of columns.
	Header text.Choice
}

// Read fills in the signals of a run.
func (f NuisanceFiles) Read(run *Run) error {
	if f.All != "" {
		return f.readAll(run)
	}
	for _, signal := range []struct {
		path string // several signals may share a file
		into *array.Array
	}{
		{f.Motion, &run.Motion}, {f.WhiteMatter, &run.WhiteMatter}, {f.Ventricles, &run.Ventricles},
	} {
		a, err := arrayfile.Read(signal.path, f.Header, checkShape)
		if err != nil {
			return err
		}
		a.Name = signal.path
		*signal.into = a.Array
	}
	return nil
}

// checkShape returns an error unless signals are a table.
func checkShape(shape []int) error {
	if len(shape) != 2 {
		return fmt.Errorf("shape %v; one row per frame and one column per signal are expected", shape)
	}
	return nil
}

// readAll reads the signals of a run from an HDF5 file. It takes the real part of components stored as
// complex numbers.
func (f NuisanceFiles) readAll(run *Run) error {
	var motion, derivative array.Array
	for dataset, into := range map[string]*array.Array{
		"motionParams": &motion, "motionParams_deriv": &derivative, "aCompCor_WM": &run.WhiteMatter,
		"aCompCor_ventricles": &run.Ventricles,
		"aCompCor_WM_deriv":   &run.WhiteMatterDerivative, "aCompCor_ventricles_deriv": &run.VentriclesDerivative,
	} {
		re, err := hdf5.ReadRealParts(f.All, f.Run+"/"+dataset)
		if err != nil {
			return err
		}
		re.Name = f.All + ": " + f.Run + "/" + dataset
		if err := checkShape(re.Shape); err != nil {
			return fmt.Errorf("%s: %w", re.Name, err)
		}
		*into = re
	}
	if motion.Shape[0] != derivative.Shape[0] {
		return fmt.Errorf("%s: %s/motionParams has %d frames, motionParams_deriv %d", f.All,
			f.Run, motion.Shape[0], derivative.Shape[0])
	}
	run.Motion = array.Array{Name: motion.Name, Shape: []int{motion.Shape[0], motion.Shape[1] + derivative.Shape[1]}}
	for i := range motion.Shape[0] {
		run.Motion.Data = append(append(run.Motion.Data, rowOf(motion, i)...), rowOf(derivative, i)...)
	}
	return nil
}

// WriteResiduals writes the residuals of a run, frames x parcels, as .npy, or as .csv with a header of
// the parcels' names if there are any.
func WriteResiduals(path string, r array.Array, names []string) error {
	a := r.Transpose()
	return atomicfile.Write(path, func(w io.Writer) error {
		if strings.HasSuffix(path, ".npy") {
			return npy.Write(w, a, npy.Float64)
		}
		return text.Write(w, text.Table{Array: a, Columns: names})
	})
}
