package main

import "github.com/spf13/cobra"

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
		Short: "Parcellated fMRI: check, convert and clean files; make a surrogate",
		Long: `Parcellated time series of human fMRI, such as the Human Connectome Project's, in CIFTI-2
(ptseries.nii, or dtseries.nii with --parcellation), HDF5, MATLAB (v5 and v7.3), .npy, .npz and
text (CSV, TSV, blanks, AFNI's 1D). "torchpe data info" describes such files. docs/own-data.md
says more, also about data other than fMRI.`,
	}, newHCPCheckCommand(), newHCPConvertCommand(), newHCPCleanCommand(), newHCPGenerateCommand())
}
