// Package series reads time series, or any table of samples x tokens, from files of many formats
// and many files into one table: CIFTI-2 (ptseries.nii, or dtseries.nii averaged within the parcels
// of a dlabel.nii), HDF5, MATLAB (v5 and v7.3), numpy (.npy, .npz) and text (CSV, TSV, blanks,
// AFNI's 1D).
//
// Tokens of one name are one token, whatever their order in a file; files without names are not
// mixed with files that have them.
//
// Invariants. Which axis holds the tokens comes from the file (CIFTI, names of columns or rows),
// from a number of tokens that the caller knows, or from the caller; it is never guessed from which
// axis is longer. Every value is finite. The table holds its numbers once, as float32, frames after
// frames of each run, runs in the order of the files. What was taken from where is kept with the
// table.
package series
