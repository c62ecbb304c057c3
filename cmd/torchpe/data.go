package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/series"
	"torchpe/report/table"
)

func newDataCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "data",
		Short: "Generate, check and describe data sets",
	}, newDataInfoCommand(), newLSTCommand(), newNMARCommand(), newHCPCommand(), newSequenceCommand(),
		newDataPositionsCommand())
}

func newHCPCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "hcp",
		Short: "Parcellated fMRI: check, convert and clean files; generate a surrogate",
		Long: `Parcellated time series of human fMRI, such as the Human Connectome Project's, in CIFTI-2
(ptseries.nii, or dtseries.nii with --parcellation), HDF5, MATLAB (v5 and v7.3), .npy, .npz and
text (CSV, TSV, blanks, AFNI's 1D). "torchpe data info" describes such files. See docs/own-data.md,
also for data other than fMRI.`,
	}, newHCPCheckCommand(), newHCPConvertCommand(), newHCPCleanCommand(), newHCPGenerateCommand())
}

func newDataInfoCommand() *cobra.Command {
	var f sourceFlags
	cmd := &cobra.Command{
		Use:   "info FILE...",
		Short: "Describe the arrays of files: shape, type, names, range, which axis holds tokens",
		Long: `Describe the arrays of files of any known format (CIFTI, HDF5, MATLAB, .npy, .npz, safetensors and
text): name, shape, type of the values, names of tokens, range of the finite numbers, number of other
values, and which axis holds tokens. Notes after the table say why an axis is unknown, or why a file
cannot be read as series. With --json each file is one record: first_row has the first five numbers
of the first row of the array as nibabel, h5py, scipy or numpy shows it, null if NaN or infinite. An
array that needs more than 268 MB as float64, or more than --max-memory, is not read: its min, max
and not_finite are null.`,
		Example: `  torchpe data info 100307.ptseries.nii weights.safetensors
  torchpe data info --json --dataset '*/nuisanceReg_resid_24pXaCompCorXVolterra' 100307_glmOutput_data.h5`,
	}
	f.add(cmd.Flags(), "modules", "subjects")
	return leaf(cmd, func(c *call) (result, error) {
		f.s.Data = c.args
		if _, err := f.s.Options(series.CorticalParcels); err != nil {
			return result{}, usageError{err}
		}
		infos, notes, misfits := series.InspectAll(f.s, series.CorticalParcels)
		if infos == nil {
			return result{}, misfits
		}
		return result{value: infos, err: misfits, print: func(w io.Writer) {
			printInfos(w, infos)
			printProse(w, append(notes, series.Remarks(infos)...))
		}}, nil
	})
}

// printInfos prints one row per array, and one for each file without arrays.
func printInfos(w io.Writer, infos []*series.Info) {
	var rows [][]string
	for _, i := range infos {
		for _, a := range i.Arrays {
			rows = append(rows, infoRow(i, a))
		}
		if len(i.Arrays) == 0 {
			rows = append(rows, infoRow(i, series.Array{}))
		}
	}
	printTable(w, []string{"file", "format", "array", "shape", "type", "subject", "axes", "names",
		"hemispheres", "range", "NaN or infinite"}, rows,
		"shape", "axes", "array", "NaN or infinite", "range", "type", "format", "hemispheres", "names")
}

func printProse(w io.Writer, lines []string) {
	for _, line := range lines {
		if width := table.Width(w); width > 0 {
			line = strings.Join(table.Wrap(line, width), "\n")
		}
		fmt.Fprintln(w, line)
	}
}

// infoRow returns the cells of an array. The empty array stands for an unreadable file.
func infoRow(i *series.Info, a series.Array) []string {
	named, shape, tokens, span, notFinite := "no", "", "?", "?", "?"
	if len(a.Names) > 0 {
		named = a.Names[0] + ", ..."
	}
	if a.Type != "" {
		shape = fmt.Sprint(a.Shape)
	}
	if len(a.Axes) > 0 {
		var axes []string
		for _, axis := range a.Axes {
			axes = append(axes, string(axis))
		}
		tokens = strings.Join(axes, ",")
	}
	if a.Min != nil {
		span = fmt.Sprintf("%.4g to %.4g", *a.Min, *a.Max)
	}
	if a.NotFinite != nil {
		notFinite = fmt.Sprint(*a.NotFinite)
	}
	return []string{i.File, string(i.Format), array.Printable(a.Name), shape, array.Printable(a.Type), i.Subject,
		tokens, named, string(i.HemisphereOrder), span, notFinite}
}
