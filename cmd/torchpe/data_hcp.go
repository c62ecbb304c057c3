package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/wording"
	"torchpe/train/config"
)

func newHCPCheckCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Read a whole data set as training would, and report what fits and what does not",
		Long: `Read files or folders as "torchpe train --task fmri" does: every value must be finite, every file
must have the same tokens, and the networks must fit them, by name if both have names. It prints the
modularity of the mean functional connectivity under these networks: .11 for resting-state fMRI in
the Cole-Anticevic networks. Swapped hemispheres change that number by only .003, so the order is
checked by name.`,
		Example: `  torchpe data hcp check rest/ --modules LabelKey.txt --subjects subjects.tsv`,
	}
	f.add(cmd.Flags())
	zscore := addZScore(cmd)
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		d, err := f.s.Read(series.CorticalParcels, *zscore)
		if err != nil {
			return result{}, err
		}
		report, err := hcp.Check(d)
		if err != nil {
			return result{}, err
		}
		var networks []string
		if d.Modules != nil {
			networks = d.Modules.Modules
		}
		return result{value: report, print: printf("%s", report.Text(networks))}, nil
	})
}

func addZScore(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("zscore", false, "scale each token of each run to mean 0 and SD 1, as train does")
}

// seriesFolder declares --out for commands that write series as a folder. The writer checks the files.
func seriesFolder(cmd *cobra.Command) *destination {
	to := &destination{files: []string{}}
	to.add(cmd, "folder to write to, created if missing")
	require(cmd, "out")
	return to
}

func writeFolder(to *destination, d *series.Dataset) (r result, err error) {
	f := series.Folder{Dir: to.path, Force: to.force, Set: d.Set, Modules: d.Modules}
	runs := len(d.Runs)
	r.value = struct {
		Out    string   `json:"out"`
		Runs   int      `json:"runs"`
		Frames int      `json:"frames"`
		Tokens int      `json:"tokens"`
		Notes  []string `json:"notes,omitempty"`
	}{f.Dir, runs, d.Frames, d.Tokens, d.Notes}
	r.print = printf("%s: %s, %d frames of %d tokens\n", f.Dir, wording.Count(runs, "run"), d.Frames,
		d.Tokens)
	r.notes = d.Notes
	return r, f.Write()
}

func newHCPConvertCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "convert FILE... --out DIR",
		Short: "Write every run as a .npy file of [frames,tokens]",
		Long: `Write each run of files or folders as DIR/sub-<subject>_run-<n>.npy (float32, [frames,tokens]),
DIR/names.txt if the tokens have names, and DIR/modules.csv with the networks if --modules gives
them. "torchpe train --task fmri --data DIR" reads the folder with its names and networks. Other files
of this kind in DIR are an error, because they would be read with these names.`,
		Example: `  torchpe data hcp convert rest/ --pattern '*.ptseries.nii' --out npy`,
	}
	f.add(cmd.Flags())
	zscore := addZScore(cmd)
	to := seriesFolder(cmd)
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		d, err := f.s.Read(series.CorticalParcels, *zscore)
		if err != nil {
			return result{}, err
		}
		return writeFolder(to, d)
	})
}

func newHCPGenerateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a surrogate of resting-state fMRI with known networks",
		Long: `Write the surrogate that "torchpe train --task fmri" uses without data: 360 parcels in twelve
networks of the Cole-Anticevic sizes, smooth network signals, a global signal, a signal shared with
the other hemisphere, weights that differ between subjects, and noise. The same flags give the same
bytes. "torchpe train --task fmri --data DIR" reads the folder with its names and networks.`,
		Example: `  torchpe data hcp generate --out surrogate --surrogate subjects=12,frames=1195`,
	}
	surrogate := cmd.Flags().String("surrogate", "subjects=12,frames=1195", "size of the surrogate")
	seed := cmd.Flags().Uint64("seed", 0, "seed, 0 to 2^64-1 (train calls it --data-seed)")
	to := seriesFolder(cmd)
	return leaf(cmd, func(*call) (result, error) {
		size, err := config.ParseSurrogate(*surrogate)
		if err != nil {
			return result{}, usagef("--surrogate: %w", err)
		}
		o := hcp.DefaultOptions()
		o.Subjects, o.Frames = size.Subjects, size.Frames
		d, err := hcp.Make(o, *seed)
		if err != nil {
			return result{}, usageError{err}
		}
		return writeFolder(to, d)
	})
}

// cleanFlags holds the flags of "torchpe data hcp clean".
type cleanFlags struct {
	source  sourceFlags
	data    string
	to      destination
	files   hcp.NuisanceFiles
	options hcp.CleanOptions
}

func newHCPCleanCommand() *cobra.Command {
	f := cleanFlags{to: destination{endings: []string{".npy", ".csv"}}}
	cmd := &cobra.Command{
		Use:   "clean --data FILE --motion FILE --wm FILE --ventricles FILE --out FILE",
		Short: "Regress motion and physiological noise out of one run",
		Long: `Regress 64 nuisance signals out of one run, as the published pipeline does: 6 motion
parameters, 5 aCompCor components of white matter and 5 of the ventricles, their derivatives, and
the squares of these 32. The first 5 frames are dropped, the mean and the linear trend of each
parcel are removed, and one least-squares solve does the rest.

Signals are text (one row per frame), .npy, or all in one HDF5 file with --nuisance and --run.
Missing derivatives of components in --nuisance are computed as backward differences. --out takes .npy
or .csv, [frames,tokens].`,
		Example: `  torchpe data hcp clean --data run1.ptseries.nii --motion Movement_Regressors.txt \
    --wm wm.txt --ventricles csf.txt --out run1.npy
  torchpe data hcp clean --data run1.csv --nuisance 100307_nuisanceRegressors.h5 \
    --run rfMRI_REST1_RL --out run1.npy`,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "file with the parcellated series of one run, with no frames dropped")
	f.source.add(fl, "modules", "subject")
	for _, signal := range []struct {
		to          *string
		flag, usage string
	}{
		{&f.files.Motion, "motion",
			"6 motion parameters per frame, or 12 with their derivatives as in HCP's Movement_Regressors.txt"},
		{&f.files.WhiteMatter, "wm", "5 aCompCor components of white matter per frame"},
		{&f.files.Ventricles, "ventricles", "5 aCompCor components of the ventricles per frame"},
	} {
		fl.StringVar(signal.to, signal.flag, "", signal.usage)
	}
	fl.StringVar(&f.files.All, "nuisance", "",
		"HDF5 file with all signals of its runs (motionParams, aCompCor_WM, ...)")
	fl.StringVar(&f.files.Run, "run", "", "the run in --nuisance, such as rfMRI_REST1_RL")
	f.options = hcp.DefaultCleanOptions()
	fl.IntVar(&f.options.Drop, "drop", f.options.Drop, "frames to drop at the start")
	fl.BoolVar(&f.options.ZScore, "zscore", f.options.ZScore, "scale each parcel's residual to mean 0 and SD 1")
	f.to.add(cmd, "file to write, .npy or .csv")
	require(cmd, "data", "out")
	cmd.MarkFlagsRequiredTogether("nuisance", "run")
	cmd.MarkFlagsRequiredTogether("motion", "wm", "ventricles")
	cmd.MarkFlagsOneRequired("motion", "nuisance")
	cmd.MarkFlagsMutuallyExclusive("nuisance", "motion")
	return leaf(cmd, f.run, &f.to)
}

func (f *cleanFlags) run(*call) (r result, err error) {
	set, names, notes, err := f.readSeries()
	if err != nil {
		return r, err
	}
	run := hcp.Run{Series: set}
	f.files.Header = f.source.s.Header
	if err := f.files.Read(&run); err != nil {
		return r, err
	}
	cleaned, err := hcp.Clean(run, f.options)
	if err != nil {
		return r, err
	}
	if err := hcp.WriteResiduals(f.to.path, cleaned.Residuals, names); err != nil {
		return r, err
	}
	frames, parcels := cleaned.Residuals.Shape[1], cleaned.Residuals.Shape[0]
	r.value = struct {
		Out      string   `json:"out"`
		Frames   int      `json:"frames"`
		Parcels  int      `json:"parcels"`
		Signals  []string `json:"signals"`
		Constant []string `json:"constant"` // and left out
		Rank     int      `json:"rank"`
		Notes    []string `json:"notes,omitempty"`
	}{f.to.path, frames, parcels, cleaned.Columns, cleaned.Constant, cleaned.Rank,
		slices.Concat(notes, cleaned.Notes)}
	r.print = printf("%s: %d frames of %d parcels; %d signals, rank %d\n", f.to.path, frames, parcels,
		len(cleaned.Columns), cleaned.Rank)
	r.notes = notes
	if names != nil && strings.HasSuffix(f.to.path, ".npy") {
		r.notes = append(r.notes, "a .npy file cannot hold names of parcels: write .csv to keep them")
	}
	if len(cleaned.Constant) > 0 {
		r.notes = append(r.notes, "left out as constant: "+strings.Join(cleaned.Constant, ", "))
	}
	r.notes = append(r.notes, cleaned.Notes...)
	return r, nil
}

// readSeries returns the series [parcels,frames], the names of parcels if the file or --names has them, and notes.
func (f *cleanFlags) readSeries() (set array.Array, names, notes []string, err error) {
	o, err := f.source.s.Options(series.CorticalParcels)
	if err != nil {
		return set, nil, nil, usageError{err}
	}
	run, names, notes, err := series.ReadRun(f.data, o)
	if err != nil {
		return set, nil, nil, err
	}
	run.Name = f.data
	return run.Transpose(), names, notes, nil
}
