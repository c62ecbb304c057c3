package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/series"
)

func newHCPCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hcp",
		Short: "Parcellated fMRI: describe, check, convert and clean files; make a surrogate",
		Long: `Parcellated time series of human fMRI, such as the Human Connectome Project's, in CIFTI-2
(ptseries.nii, or dtseries.nii with --parcellation), HDF5, MATLAB (v5 and v7.3), .npy, .npz and
text (CSV, TSV, blanks, AFNI's 1D). docs/own-data.md says more, also on data that is not fMRI.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newHCPInfoCommand(), newHCPCheckCommand(), newHCPConvertCommand(), newHCPCleanCommand(), newHCPGenerateCommand())
	return cmd
}

func newHCPInfoCommand() *cobra.Command {
	var f sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info FILE...",
		Short: "Describe files: format, runs, tokens, frames, order of hemispheres",
		Long: `Describe files without changing anything, also such as cannot be read as series without more being said;
what is missing follows the table. first_row in --json are the first five numbers of the first row of the
array as nibabel, h5py, scipy or numpy show it, null where they are NaN or infinite.`,
		Example: `  torchpe data hcp info 100307.ptseries.nii
  torchpe data hcp info --json --dataset '*/nuisanceReg_resid_24pXaCompCorXVolterra' 100307_glmOutput_data.h5`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			return runHCPInfo(cmd.OutOrStdout(), f.s, files, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl, "")
	fl.BoolVar(&asJSON, "json", false, "print as JSON, one record a file")
	return cmd
}

func someFiles(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no files: name the files or folders with the series")
	}
	return nil
}

func runHCPInfo(w io.Writer, s series.Source, paths []string, asJSON bool) error {
	o, err := s.Options(series.CorticalParcels)
	if err != nil {
		return usageError{err}
	}
	files, err := series.Files(paths, s.Pattern)
	if err != nil {
		return err
	}
	infos := []*series.Info{}
	for _, file := range files {
		info, err := series.Inspect(file, o)
		if err != nil {
			return err
		}
		infos = append(infos, info)
	}
	if asJSON {
		return printJSON(w, infos)
	}
	var rows [][]string
	for _, i := range infos {
		named, array, tokens, frames := "no", "", "?", "?"
		if len(i.Names) > 0 {
			named = i.Names[0] + ", ..."
		}
		if len(i.Shape) > 0 {
			array = fmt.Sprint(i.Shape)
		}
		if len(i.Axes) > 0 {
			tokens, frames = fmt.Sprint(i.Tokens), fmt.Sprint(i.Frames)
			var axes []string
			for _, a := range i.Axes {
				axes = append(axes, string(a))
			}
			array += " " + strings.Join(axes, ",")
		}
		rows = append(rows, []string{i.File, string(i.Format), array, i.Subject, fmt.Sprint(i.Runs), tokens, frames, named, string(i.HemisphereOrder), fmt.Sprint(i.NotFinite)})
	}
	if err := printTable(w, []string{"file", "format", "array", "subject", "runs", "tokens", "frames", "names", "hemispheres", "NaN or infinite"}, rows); err != nil {
		return err
	}
	for _, i := range infos {
		if i.Problem != "" {
			if _, err := fmt.Fprintln(w, i.Problem); err != nil {
				return err
			}
		}
	}
	return nil
}

// addAll declares the flags that read whole data sets.
func (f *sourceFlags) addAll(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl, "")
	fl.StringVar(&f.s.Modules, "modules", "", "file with the networks: CAB-NP's LabelKey or list, names and labels, or a dlabel.nii")
	fl.StringVar(&f.s.Subjects, "subjects", "", "table with the columns subject, set (train or test) and, if names of files do not tell, file")
}
