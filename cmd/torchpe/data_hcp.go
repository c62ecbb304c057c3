package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/series"
	"torchpe/internal/wording"
	"torchpe/report/table"
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
	cmd.AddCommand(newHCPInfoCommand(), newHCPCheckCommand(), newHCPConvertCommand(),
		newHCPCleanCommand(), newHCPGenerateCommand())
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
array as nibabel, h5py, scipy or numpy show it, null where they are NaN or infinite. Of a file whose numbers need
more than 268 MB as float64, or --max-memory, everything else is described, and not_finite is null.
Files that are no series (dscalar, dlabel, pconn, lists of labels, connectivity matrices, what no reader knows) are described, too, and stop nothing.`,
		Example: `  torchpe data hcp info 100307.ptseries.nii
  torchpe data hcp info --json --dataset '*/nuisanceReg_resid_24pXaCompCorXVolterra' 100307_glmOutput_data.h5`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			f.s.Data = files
			return runHCPInfo(cmd.OutOrStdout(), f.s, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl, "modules", "subjects")
	fl.BoolVar(&asJSON, "json", false, "print as JSON, one record a file")
	return cmd
}

func someFiles(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no files: name the files or folders with the series")
	}
	return nil
}

// infoNotes returns what is to be said of files, once where several have the same.
func infoNotes(infos []*series.Info) (lines []string) {
	at, more := map[string]int{}, map[int]int{}
	for _, info := range infos {
		said := slices.Clone(info.Notes)
		if info.Problem != "" {
			said = append(said, info.Problem)
		}
		for _, line := range said {
			text := strings.ReplaceAll(line, info.File, "")
			if first, ok := at[text]; ok {
				more[first]++
				continue
			}
			at[text] = len(lines)
			lines = append(lines, line)
		}
	}
	for i, n := range more {
		lines[i] += fmt.Sprintf(" (the same of %s more)", wording.Count(n, "file"))
	}
	return lines
}

func runHCPInfo(w io.Writer, s series.Source, asJSON bool) error {
	if _, err := s.Options(series.CorticalParcels); err != nil {
		return usageError{err}
	}
	infos, notes, misfits := series.InspectAll(s, series.CorticalParcels)
	if infos == nil {
		return fileErrorAsUsage(misfits)
	}
	if asJSON {
		return errors.Join(printJSON(w, infos), misfits)
	}
	var rows [][]string
	for _, i := range infos {
		named, array, tokens, frames, notFinite := "no", "", "?", "?", "?"
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
		if i.NotFinite != nil {
			notFinite = fmt.Sprint(*i.NotFinite)
		}
		rows = append(rows, []string{i.File, string(i.Format), array, i.Subject, fmt.Sprint(i.Runs),
			tokens, frames, named, string(i.HemisphereOrder), notFinite})
	}
	printTable(w, []string{"file", "format", "array", "subject", "runs", "tokens",
		"frames", "names", "hemispheres", "NaN or infinite"}, rows,
		"tokens", "frames", "NaN or infinite", "format", "array", "runs", "hemispheres", "names")
	for _, line := range append(notes, infoNotes(infos)...) {
		if width := table.Width(w); width > 0 {
			line = strings.Join(table.Wrap(line, width), "\n")
		}
		fmt.Fprintln(w, line)
	}
	return misfits
}
