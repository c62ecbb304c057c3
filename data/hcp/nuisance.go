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
		into *Matrix
	}{
		{f.Motion, &run.Motion}, {f.WhiteMatter, &run.WhiteMatter}, {f.Ventricles, &run.Ventricles},
	} {
		a, err := arrayfile.Read(signal.path, f.Header, checkShape)
		if err != nil {
			return err
		}
		*signal.into = MatrixOf(signal.path, a.Array)
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

// MatrixOf returns a table of two axes as a Matrix.
func MatrixOf(name string, a array.Array) Matrix {
	return Matrix{Name: name, Rows: a.Shape[0], Columns: a.Shape[1], Data: a.Data}
}

// readAll reads the signals of a run from an HDF5 file. It takes the real part of components stored as
// complex numbers.
func (f NuisanceFiles) readAll(run *Run) error {
	read := func(dataset string) (Matrix, error) {
		name := f.All + ": " + f.Run + "/" + dataset
		re, err := hdf5.ReadRealParts(f.All, f.Run+"/"+dataset)
		if err != nil {
			return Matrix{}, err
		}
		if err := checkShape(re.Shape); err != nil {
			return Matrix{}, fmt.Errorf("%s: %w", name, err)
		}
		return MatrixOf(name, re), nil
	}
	var motion, derivative Matrix
	for dataset, into := range map[string]*Matrix{
		"motionParams": &motion, "motionParams_deriv": &derivative, "aCompCor_WM": &run.WhiteMatter,
		"aCompCor_ventricles": &run.Ventricles,
		"aCompCor_WM_deriv":   &run.WhiteMatterDerivative, "aCompCor_ventricles_deriv": &run.VentriclesDerivative,
	} {
		m, err := read(dataset)
		if err != nil {
			return err
		}
		*into = m
	}
	if motion.Rows != derivative.Rows {
		return fmt.Errorf("%s: %s/motionParams has %d frames, motionParams_deriv %d", f.All,
			f.Run, motion.Rows, derivative.Rows)
	}
	run.Motion = Matrix{Name: motion.Name, Rows: motion.Rows, Columns: motion.Columns + derivative.Columns}
	for i := range motion.Rows {
		run.Motion.Data = append(append(run.Motion.Data, motion.Row(i)...), derivative.Row(i)...)
	}
	return nil
}

// WriteResiduals writes the residuals of a run, frames x parcels, as .npy, or as .csv with a header of
// the parcels' names if there are any.
func WriteResiduals(path string, r Matrix, names []string) error {
	a := array.Array{Shape: []int{r.Rows, r.Columns}, Data: r.Data}.Transpose()
	return atomicfile.Write(path, func(w io.Writer) error {
		if strings.HasSuffix(path, ".npy") {
			return npy.Write(w, a, npy.Float64)
		}
		return text.Write(w, text.Table{Array: a, Columns: names})
	})
}
