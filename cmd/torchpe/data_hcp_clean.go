package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/data/hcp/clean"
	"torchpe/data/series"
)

// cleanFlags are the flags of "torchpe data hcp clean".
type cleanFlags struct {
	source                                     sourceFlags
	data, motion, white, ventricles            string
	whiteDerivative, ventriclesDerivative, out string
	nuisance, run                              string
	options                                    clean.Options
	force                                      bool
}

func newHCPCleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean --data FILE --motion FILE --wm FILE --ventricles FILE --out FILE",
		Short: "Regress motion and physiological noise out of one run",
		Long: `Regress 64 nuisance signals out of one run, as the published pipeline does: 6 motion parameters, 5 aCompCor
components of white matter and 5 of the ventricles, their derivatives, and the squares of these 32. The first
5 frames are dropped, each parcel loses its mean and its line, and one least-squares solve does the rest.

Signals are text (a row a frame), .npy, or all in one HDF5 file with --nuisance and --run. Derivatives of
components that are not given are backward differences. --out takes .npy or .csv, frames x tokens.`,
		Example: `  torchpe data hcp clean --data run1.ptseries.nii --motion Movement_Regressors.txt --wm wm.txt --ventricles csf.txt --out run1.npy
  torchpe data hcp clean --data run1.csv --nuisance 100307_nuisanceRegressors.h5 --run rfMRI_REST1_RL --out run1.npy`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHCPClean(cmd.OutOrStdout(), f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.data, "data", "", "file with the parcellated series of one run, no frames dropped (required)")
	f.source.add(fl, "")
	fl.StringVar(&f.motion, "motion", "", "6 motion parameters a frame, or 12 with their derivatives as in HCP's Movement_Regressors.txt")
	fl.StringVar(&f.white, "wm", "", "5 aCompCor components of white matter a frame")
	fl.StringVar(&f.ventricles, "ventricles", "", "5 aCompCor components of the ventricles a frame")
	fl.StringVar(&f.whiteDerivative, "wm-derivative", "", "their derivatives (default: backward differences)")
	fl.StringVar(&f.ventriclesDerivative, "ventricles-derivative", "", "their derivatives (default: backward differences)")
	fl.StringVar(&f.nuisance, "nuisance", "", "HDF5 file with all signals of its runs (motionParams, aCompCor_WM, ...)")
	fl.StringVar(&f.run, "run", "", "the run in --nuisance, such as rfMRI_REST1_RL")
	d := clean.DefaultOptions()
	fl.IntVar(&f.options.Drop, "drop", d.Drop, "frames at the start that are not used")
	fl.BoolVar(&f.options.ZScore, "zscore", d.ZScore, "bring each parcel's residual to mean 0 and SD 1")
	fl.StringVar(&f.out, "out", "", ".npy or .csv file to write (required)")
	fl.BoolVar(&f.force, "force", false, "overwrite an existing file")
	return cmd
}

func runHCPClean(w io.Writer, f cleanFlags) error {
	switch {
	case f.data == "" || f.out == "":
		return usagef("--data and --out are needed: the series to clean, and the file to write")
	case (f.nuisance == "") != (f.run == ""):
		return usagef("--nuisance and --run go together: the file, and the run in it")
	case f.nuisance == "" && (f.motion == "" || f.white == "" || f.ventricles == ""):
		return usagef("--motion, --wm and --ventricles are needed, or --nuisance and --run")
	case f.nuisance != "" && (f.motion != "" || f.white != "" || f.ventricles != "" || f.whiteDerivative != "" || f.ventriclesDerivative != ""):
		return usagef("--nuisance has all signals: leave out --motion, --wm, --ventricles and their derivatives")
	case !strings.HasSuffix(f.out, ".npy") && !strings.HasSuffix(f.out, ".csv"):
		return usagef("--out %s: a file that ends in .npy or .csv", f.out)
	}
	if _, err := os.Lstat(f.out); err == nil && !f.force {
		return fmt.Errorf("%s exists: use --force to overwrite it, or another --out", f.out)
	}
	set, names, err := f.readSeries()
	if err != nil {
		return err
	}
	run := clean.Run{Series: set}
	if err := f.readSignals(&run); err != nil {
		return err
	}
	result, err := clean.Clean(run, f.options)
	if err != nil {
		return err
	}
	r := result.Residuals
	a := array.Array{Shape: []int{r.Rows, r.Columns}, Data: r.Data}.Transpose()
	if err := writeTable(f.out, a, names); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d frames of %d parcels; %d signals, rank %d, solved by %s\n", f.out, r.Columns, r.Rows, len(result.Columns), result.Rank, result.Method)
	if names != nil && strings.HasSuffix(f.out, ".npy") {
		fmt.Fprintln(w, "the parcels' names are not kept in .npy: write .csv to keep them")
	}
	if len(result.Constant) > 0 {
		fmt.Fprintf(w, "left out, because they do not vary: %s\n", strings.Join(result.Constant, ", "))
	}
	for _, n := range result.Notes {
		fmt.Fprintln(w, n)
	}
	return nil
}

// readSeries returns the series as parcels x frames, and the names of parcels where the file has them.
func (f cleanFlags) readSeries() (clean.Matrix, []string, error) {
	o, err := f.source.s.Options(series.CorticalParcels)
	if err != nil {
		return clean.Matrix{}, nil, usageError{err}
	}
	a, names, err := series.ReadRun(f.data, o)
	if err != nil {
		return clean.Matrix{}, nil, err
	}
	return matrix(f.data, a.Transpose()), names, nil
}

// readSignals fills in the nuisance signals.
func (f cleanFlags) readSignals(run *clean.Run) error {
	if f.nuisance != "" {
		return f.readNuisance(run)
	}
	for _, signal := range []struct {
		path string // may be that of another signal too
		into *clean.Matrix
	}{
		{f.motion, &run.Motion}, {f.white, &run.WhiteMatter}, {f.ventricles, &run.Ventricles},
		{f.whiteDerivative, &run.WhiteMatterDerivative}, {f.ventriclesDerivative, &run.VentriclesDerivative},
	} {
		if signal.path == "" {
			continue
		}
		a, err := readMatrix(signal.path)
		if err != nil {
			return err
		}
		*signal.into = matrix(signal.path, a)
	}
	return nil
}

func readMatrix(path string) (array.Array, error) {
	var a array.Array
	var err error
	if strings.HasSuffix(strings.ToLower(path), ".npy") {
		a, err = npy.Read(path)
	} else {
		var t text.Table
		t, err = text.Read(path)
		a = t.Array
	}
	if err == nil && len(a.Shape) != 2 {
		err = fmt.Errorf("%s: shape %v; a row a frame and a column a signal are expected", path, a.Shape)
	}
	return a, err
}

func matrix(name string, a array.Array) clean.Matrix {
	return clean.Matrix{Name: name, Rows: a.Shape[0], Columns: a.Shape[1], Data: a.Data}
}

// readNuisance reads the signals of a run from an HDF5 file. Components are stored as complex numbers, whose real part counts.
func (f cleanFlags) readNuisance(run *clean.Run) error {
	read := func(dataset string) (clean.Matrix, error) {
		re, _, err := hdf5.ReadComplex(f.nuisance, f.run+"/"+dataset)
		if err != nil {
			return clean.Matrix{}, err
		}
		if len(re.Shape) != 2 {
			return clean.Matrix{}, fmt.Errorf("%s: %s/%s has shape %v; a row a frame and a column a signal are expected", f.nuisance, f.run, dataset, re.Shape)
		}
		return matrix(f.nuisance+": "+f.run+"/"+dataset, re), nil
	}
	var motion, derivative clean.Matrix
	for dataset, into := range map[string]*clean.Matrix{
		"motionParams": &motion, "motionParams_deriv": &derivative, "aCompCor_WM": &run.WhiteMatter, "aCompCor_ventricles": &run.Ventricles,
		"aCompCor_WM_deriv": &run.WhiteMatterDerivative, "aCompCor_ventricles_deriv": &run.VentriclesDerivative,
	} {
		m, err := read(dataset)
		if err != nil {
			return err
		}
		*into = m
	}
	if motion.Rows != derivative.Rows {
		return fmt.Errorf("%s: %s/motionParams has %d frames, motionParams_deriv %d", f.nuisance, f.run, motion.Rows, derivative.Rows)
	}
	run.Motion = clean.Matrix{Name: motion.Name, Rows: motion.Rows, Columns: motion.Columns + derivative.Columns}
	for i := range motion.Rows {
		run.Motion.Data = append(append(run.Motion.Data, motion.Row(i)...), derivative.Row(i)...)
	}
	return nil
}

// writeTable writes a matrix as .npy, or as .csv with the names of its columns where there are any.
func writeTable(path string, a array.Array, names []string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	if strings.HasSuffix(path, ".npy") {
		return npy.Write(file, a, npy.Float64)
	}
	return text.Write(file, text.Table{Array: a, Columns: names}, text.Comma)
}
