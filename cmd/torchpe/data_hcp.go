package main

import (
	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/wording"
	"torchpe/train/config"
)

func newHCPCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "hcp",
		Short: "Parcellated fMRI: check and convert files; make a surrogate",
		Long: `Parcellated time series of human fMRI, such as the Human Connectome Project's, in CIFTI-2
(ptseries.nii, or dtseries.nii with --parcellation), HDF5, MATLAB (v5 and v7.3), .npy, .npz and
text (CSV, TSV, blanks, AFNI's 1D). "torchpe data info" describes such files. docs/own-data.md
says more, also about data other than fMRI.`,
	}, newHCPCheckCommand(), newHCPConvertCommand(), newHCPGenerateCommand())
}

func newHCPCheckCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Read a whole data set as training would, and say what fits and what does not",
		Long: `Read files or folders as "torchpe train --task fmri" does: every value must be finite, every file must
have the same tokens, and the networks must fit them, by name where both have names. It prints the
modularity of the mean functional connectivity under these networks: .11 for resting-state fMRI in
the Cole-Anticevic networks. A wrong order of hemispheres changes that number by .003 only, so the
order is checked by name.`,
		Example: `  torchpe data hcp check rest/ --modules LabelKey.txt --subjects subjects.tsv`,
	}
	f.add(cmd.Flags())
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		d, err := f.s.Read(series.CorticalParcels, false)
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

// seriesFolder declares the --out of commands that write series as a folder, which checks its own files.
func seriesFolder(cmd *cobra.Command) *destination {
	to := &destination{files: []string{}}
	to.add(cmd, "folder to write to, made if missing")
	require(cmd, "out")
	return to
}

// writeFolder writes series as a folder and describes it.
func writeFolder(to *destination, f series.Folder, notes []string) (r result, err error) {
	f.Dir, f.Force = to.path, to.force
	runs, frames, tokens := len(f.Set.Runs), f.Set.Frames, f.Set.Tokens
	r.value = struct {
		Out    string   `json:"out"`
		Runs   int      `json:"runs"`
		Frames int      `json:"frames"`
		Tokens int      `json:"tokens"`
		Notes  []string `json:"notes,omitempty"`
	}{f.Dir, runs, frames, tokens, notes}
	r.print = printf("%s: %s, %d frames of %d tokens\n", f.Dir, wording.Count(runs, "run"), frames, tokens)
	r.notes = notes
	return r, f.Write()
}

func newHCPConvertCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "convert FILE... --out DIR",
		Short: "Write every run as a .npy file of frames x tokens",
		Long: `Read files or folders and write DIR/sub-<subject>_run-<n>.npy (float32, frames x tokens) for each run, with
DIR/names.txt where the tokens have names, and DIR/modules.csv with the networks where --modules gives
them. "torchpe train --task fmri --data DIR" reads the folder with its names and networks. Other files of this
kind in DIR are an error, because they would be read with these names.`,
		Example: `  torchpe data hcp convert rest/ --pattern '*.ptseries.nii' --out npy`,
	}
	f.add(cmd.Flags())
	zscore := cmd.Flags().Bool("zscore", false, "scale each token of each run to mean 0 and SD 1")
	to := seriesFolder(cmd)
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		d, err := f.s.Read(series.CorticalParcels, *zscore)
		if err != nil {
			return result{}, err
		}
		folder := series.Folder{Set: d.Set}
		if d.Modules != nil {
			folder.Labels, folder.Modules = d.Modules.Labels, d.Modules.Modules
		}
		return writeFolder(to, folder, d.Notes)
	})
}

func newHCPGenerateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a surrogate of resting-state fMRI, whose networks are known",
		Long: `Write the surrogate that "torchpe train --task fmri" uses where it is given no data: 360
parcels in twelve networks of the Cole-Anticevic sizes, smooth network signals, a global signal, a
signal shared with the other hemisphere, weights that differ between subjects, and noise. The same
flags give the same bytes. "torchpe train --task fmri --data DIR" reads the folder with its names
and networks.`,
		Example: `  torchpe data hcp generate --out surrogate --surrogate subjects=12,frames=1195`,
	}
	surrogate := cmd.Flags().String("surrogate", "subjects=12,frames=1195", "its size")
	seed := cmd.Flags().Uint64("seed", 0, "seed, 0 to 2^64-1 (train calls it --data-seed)")
	to := seriesFolder(cmd)
	return leaf(cmd, func(*call) (result, error) {
		size, err := config.ParseSurrogate(*surrogate)
		if err != nil {
			return result{}, usagef("--surrogate: %w", err)
		}
		o := hcp.DefaultOptions()
		o.Subjects, o.Frames = size.Subjects, size.Frames
		made, err := hcp.Make(o, *seed)
		if err != nil {
			return result{}, usageError{err}
		}
		return writeFolder(to, series.Folder{Set: made.Set(), Labels: made.Labels, Modules: made.Networks}, nil)
	})
}
