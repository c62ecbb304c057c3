package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
)

// cleanFlags holds the flags of "torchpe data hcp clean".
type cleanFlags struct {
	source    sourceFlags
	data, out string
	files     hcp.NuisanceFiles
	options   hcp.CleanOptions
	force     bool
	json      *bool
}

func newHCPCleanCommand() *cobra.Command {
	var f cleanFlags
	cmd := &cobra.Command{
		Use:   "clean --data FILE --motion FILE --wm FILE --ventricles FILE --out FILE",
		Short: "Regress motion and physiological noise out of one run",
		Long: `Regress 64 nuisance signals out of one run, as the published pipeline does: 6 motion
parameters, 5 aCompCor components of white matter and 5 of the ventricles, their derivatives, and
the squares of these 32. The first 5 frames are dropped, each parcel loses its mean and its line,
and one least-squares solve does the rest.

Signals are text (a row a frame), .npy, or all in one HDF5 file with --nuisance and --run. Derivatives of
components that are not given are backward differences. --out takes .npy or .csv, frames x tokens.`,
		Example: `  torchpe data hcp clean --data run1.ptseries.nii --motion Movement_Regressors.txt \
    --wm wm.txt --ventricles csf.txt --out run1.npy
  torchpe data hcp clean --data run1.csv --nuisance 100307_nuisanceRegressors.h5 \
    --run rfMRI_REST1_RL --out run1.npy`,
		Args: noArguments,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.data, "data", "", "file with the parcellated series of one run, no frames dropped (required)")
	f.source.add(fl, "modules", "subject")
	fl.StringVar(&f.files.Motion, "motion", "",
		"6 motion parameters a frame, or 12 with their derivatives as in HCP's Movement_Regressors.txt")
	fl.StringVar(&f.files.WhiteMatter, "wm", "", "5 aCompCor components of white matter a frame")
	fl.StringVar(&f.files.Ventricles, "ventricles", "", "5 aCompCor components of the ventricles a frame")
	fl.StringVar(&f.files.WhiteMatterDerivative, "wm-derivative", "",
		"their derivatives (default: backward differences)")
	fl.StringVar(&f.files.VentriclesDerivative, "ventricles-derivative", "",
		"their derivatives (default: backward differences)")
	fl.StringVar(&f.files.All, "nuisance", "",
		"HDF5 file with all signals of its runs (motionParams, aCompCor_WM, ...)")
	fl.StringVar(&f.files.Run, "run", "", "the run in --nuisance, such as rfMRI_REST1_RL")
	d := hcp.DefaultCleanOptions()
	fl.IntVar(&f.options.Drop, "drop", d.Drop, "frames at the start that are not used")
	fl.BoolVar(&f.options.ZScore, "zscore", d.ZScore, "bring each parcel's residual to mean 0 and SD 1")
	fl.StringVar(&f.out, "out", "", ".npy or .csv file to write (required)")
	fl.BoolVar(&f.force, "force", false, "overwrite an existing file")
	f.json = jsonFlag(cmd)
	return cmd
}

func (f *cleanFlags) run(cmd *cobra.Command, _ []string) error {
	switch {
	case f.data == "" || f.out == "":
		return usagef("--data and --out are needed: the series to clean, and the file to write")
	case (f.files.All == "") != (f.files.Run == ""):
		return usagef("--nuisance and --run go together: the file, and the run in it")
	case f.files.All == "" && (f.files.Motion == "" || f.files.WhiteMatter == "" || f.files.Ventricles == ""):
		return usagef("--motion, --wm and --ventricles are needed, or --nuisance and --run")
	case f.files.All != "" && (f.files.Motion != "" || f.files.WhiteMatter != "" || f.files.Ventricles != "" ||
		f.files.WhiteMatterDerivative != "" || f.files.VentriclesDerivative != ""):
		return usagef("--nuisance has all signals: leave out --motion, --wm, --ventricles and their derivatives")
	case !strings.HasSuffix(f.out, ".npy") && !strings.HasSuffix(f.out, ".csv"):
		return usagef("--out %s: a file that ends in .npy or .csv", f.out)
	}
	if err := checkAbsent(f.force, f.out); err != nil {
		return err
	}
	set, names, err := f.readSeries()
	if err != nil {
		return err
	}
	run := hcp.Run{Series: set}
	f.files.Header = f.source.s.Header
	if err := f.files.Read(&run); err != nil {
		return err
	}
	result, err := hcp.Clean(run, f.options)
	if err != nil {
		return err
	}
	if err := hcp.WriteResiduals(f.out, result.Residuals, names); err != nil {
		return err
	}
	return f.say(cmd.OutOrStdout(), result, names != nil)
}

// say prints what was done.
func (f *cleanFlags) say(w io.Writer, result *hcp.Cleaned, named bool) error {
	r := result.Residuals
	if *f.json {
		return printJSON(w, struct {
			Out      string   `json:"out"`
			Frames   int      `json:"frames"`
			Parcels  int      `json:"parcels"`
			Signals  []string `json:"signals"`
			Constant []string `json:"constant"` // and left out
			Rank     int      `json:"rank"`
			Method   string   `json:"method"`
			Notes    []string `json:"notes,omitempty"`
		}{f.out, r.Columns, r.Rows, result.Columns, result.Constant, result.Rank, fmt.Sprint(result.Method),
			result.Notes})
	}
	fmt.Fprintf(w, "%s: %d frames of %d parcels; %d signals, rank %d, solved by %s\n", f.out,
		r.Columns, r.Rows, len(result.Columns), result.Rank, result.Method)
	if named && strings.HasSuffix(f.out, ".npy") {
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

// readSeries returns the series as parcels x frames, and the names of parcels where the file has
// them.
func (f *cleanFlags) readSeries() (hcp.Matrix, []string, error) {
	o, err := f.source.s.Options(series.CorticalParcels)
	if err != nil {
		return hcp.Matrix{}, nil, usageError{err}
	}
	a, names, err := series.ReadRun(f.data, o)
	if err != nil {
		return hcp.Matrix{}, nil, err
	}
	return hcp.MatrixOf(f.data, a.Transpose()), names, nil
}
