package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/plural"
	"torchpe/train/config"
)

func newHCPConvertCommand() *cobra.Command {
	var f sourceFlags
	var out string
	var zscore, force bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "convert FILE... --out DIR",
		Short: "Write every run as a .npy file of frames x tokens",
		Long: `Read files or folders and write DIR/sub-<subject>_run-<n>.npy (float32, frames x tokens) for each run, with
DIR/names.txt where the tokens have names, and DIR/modules.csv with the networks where --modules gives
them. "torchpe train --task fmri --data DIR" reads the folder with its names and networks. Other files of this
kind in DIR are an error, because its names would be taken for theirs.`,
		Example: `  torchpe data hcp convert rest/ --pattern '*.ptseries.nii' --out npy`,
		Args:    someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			f.s.Data = files
			return runHCPConvert(f.s, out, zscore, force, folderOut{cmd.OutOrStdout(), *asJSON})
		},
	}
	cmd.Flags().SortFlags = false
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "directory to write to, made if missing (required)")
	cmd.Flags().BoolVar(&zscore, "zscore", false, "bring each token of each run to mean 0 and SD 1")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing files")
	asJSON = jsonFlag(cmd)
	return cmd
}

func runHCPConvert(s series.Source, out string, zscore, force bool, to folderOut) error {
	if out == "" {
		return usagef("--out is missing: name the directory to write to")
	}
	d, err := s.Read(series.CorticalParcels, zscore)
	if err != nil {
		return fileErrorAsUsage(err)
	}
	folder := series.Folder{Dir: out, Force: force, Set: d.Set}
	if d.Modules != nil {
		folder.Labels, folder.Modules = d.Modules.Labels, d.Modules.Modules
	}
	return to.write(folder, d.Notes)
}

func newHCPGenerateCommand() *cobra.Command {
	var out, surrogate string
	var seed uint64
	var force bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a surrogate of resting-state fMRI, whose networks are known",
		Long: `Write the surrogate that "torchpe train --task fmri" uses where it is given no data: 360
parcels in twelve networks of the Cole-Anticevic sizes, smooth network signals, a global signal, a
signal shared with the other hemisphere, weights that differ between subjects, and noise. The same
flags give the same bytes. "torchpe train --task fmri --data DIR" reads the folder with its names
and networks.`,
		Example: `  torchpe data hcp generate --out surrogate --surrogate subjects=12,frames=1195`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHCPGenerate(out, surrogate, seed, force, folderOut{cmd.OutOrStdout(), *asJSON})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&surrogate, "surrogate", "subjects=12,frames=1195", "its size")
	fl.Uint64Var(&seed, "seed", 0, "seed, 0 to 2^64-1 (training takes its --data-seed)")
	fl.StringVar(&out, "out", "", "directory to write to, made if missing (required)")
	fl.BoolVar(&force, "force", false, "overwrite existing files")
	asJSON = jsonFlag(cmd)
	return cmd
}

func runHCPGenerate(out, surrogate string, seed uint64, force bool, to folderOut) error {
	if out == "" {
		return usagef("--out is missing: name the directory to write to")
	}
	size, err := config.ParseSurrogate(surrogate)
	if err != nil {
		return usagef("--surrogate: %w", err)
	}
	o := hcp.DefaultOptions()
	o.Subjects, o.Frames = size.Subjects, size.Frames
	made, err := hcp.Make(o, seed)
	if err != nil {
		return usageError{err}
	}
	return to.write(series.Folder{Dir: out, Force: force, Set: made.Set(), Labels: made.Labels,
		Modules: made.Networks}, nil)
}

// folderOut prints what was written to a folder, as text or JSON.
type folderOut struct {
	w    io.Writer
	json bool
}

// write writes a folder and prints what is in it, with notes.
func (o folderOut) write(f series.Folder, notes []string) error {
	if err := f.Write(); err != nil {
		return fileErrorAsUsage(err)
	}
	if o.json {
		return printJSON(o.w, struct {
			Out    string   `json:"out"`
			Runs   int      `json:"runs"`
			Frames int      `json:"frames"`
			Tokens int      `json:"tokens"`
			Notes  []string `json:"notes,omitempty"`
		}{f.Dir, len(f.Set.Runs), f.Set.Frames, f.Set.Tokens, notes})
	}
	_, err := fmt.Fprintf(o.w, "%s: %s, %d frames of %d tokens\n", f.Dir, plural.Of(len(f.Set.Runs), "run"),
		f.Set.Frames, f.Set.Tokens)
	for _, n := range notes {
		fmt.Fprintln(o.w, n)
	}
	return err
}
