package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/data/hcp"
	"torchpe/data/series"
	"torchpe/internal/wording"
	"torchpe/train/config"
)

// folderFlags say where series are written as a folder, and how that is printed.
type folderFlags struct {
	out   string
	force bool
	json  *bool
}

func (to *folderFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&to.out, "out", "", "directory to write to, made if missing (required)")
	cmd.Flags().BoolVar(&to.force, "force", false, "overwrite existing files")
	to.json = jsonFlag(cmd)
}

func newHCPConvertCommand() *cobra.Command {
	var f sourceFlags
	var to folderFlags
	var zscore bool
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
			if to.out == "" {
				return errNoFolder
			}
			f.s.Data = files
			d, err := f.s.Read(series.CorticalParcels, zscore)
			if err != nil {
				return fileErrorAsUsage(err)
			}
			folder := series.Folder{Set: d.Set}
			if d.Modules != nil {
				folder.Labels, folder.Modules = d.Modules.Labels, d.Modules.Modules
			}
			return to.write(cmd.OutOrStdout(), folder, d.Notes)
		},
	}
	cmd.Flags().SortFlags = false
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&zscore, "zscore", false, "bring each token of each run to mean 0 and SD 1")
	to.add(cmd)
	return cmd
}

func newHCPGenerateCommand() *cobra.Command {
	var to folderFlags
	var surrogate string
	var seed uint64
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
			if to.out == "" {
				return errNoFolder
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
			folder := series.Folder{Set: made.Set(), Labels: made.Labels, Modules: made.Networks}
			return to.write(cmd.OutOrStdout(), folder, nil)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&surrogate, "surrogate", "subjects=12,frames=1195", "its size")
	fl.Uint64Var(&seed, "seed", 0, "seed, 0 to 2^64-1 (training takes its --data-seed)")
	to.add(cmd)
	return cmd
}

var errNoFolder = usagef("--out is missing: name the directory to write to")

// write writes a folder to --out and prints what is in it, with notes.
func (to *folderFlags) write(w io.Writer, f series.Folder, notes []string) error {
	f.Dir, f.Force = to.out, to.force
	if err := f.Write(); err != nil {
		return fileErrorAsUsage(err)
	}
	if *to.json {
		return printJSON(w, struct {
			Out    string   `json:"out"`
			Runs   int      `json:"runs"`
			Frames int      `json:"frames"`
			Tokens int      `json:"tokens"`
			Notes  []string `json:"notes,omitempty"`
		}{f.Dir, len(f.Set.Runs), f.Set.Frames, f.Set.Tokens, notes})
	}
	fmt.Fprintf(w, "%s: %s, %d frames of %d tokens\n", f.Dir, wording.Count(len(f.Set.Runs), "run"),
		f.Set.Frames, f.Set.Tokens)
	for _, n := range notes {
		fmt.Fprintln(w, n)
	}
	return nil
}
