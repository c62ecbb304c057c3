// Package series reads time series, or any table of samples x tokens, from one or many files of many formats
// into one table: CIFTI-2 (ptseries.nii, or dtseries.nii averaged within the parcels of a dlabel.nii), HDF5,
// MATLAB (v5 and v7.3), numpy (.npy, .npz) and text (CSV, TSV, blanks, AFNI's 1D).
//
// Tokens with the same name are the same token, regardless of their order in a file. Files without
// names cannot be mixed with files that have them.
//
// Invariants. The axis of the tokens comes from the file (CIFTI, names of columns or rows), from a
// number of tokens that the caller knows, or from the caller; it is never guessed from lengths.
// Every value is finite. The table stores its numbers once, as float32, frame by frame for each
// run, with runs in the order of the files. The origin of the data is kept with the table.
//
// As in the readers below package array, functions end the reading where they find a file wrong; Load,
// ReadRun and Inspect return the error.
package series
