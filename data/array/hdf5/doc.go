// Package hdf5 reads datasets of numbers from HDF5 files, following the HDF Group's "HDF5 File
// Format Specification", version 3.0. It reads what h5py, MATLAB (v7.3) and the C library write:
// superblocks 0 to 3, also behind a user block; object headers of versions 1 and 2; groups with a
// symbol table, with links in the header or in a fractal heap, and soft links; compact, contiguous
// and chunked data with the B-tree of version 1 as their index, and in the newest format (h5py's
// libver="latest") in a single chunk, which has none; the filters deflate, shuffle, fletcher32 and
// LZF; integers and enumerations of 8 to 64 bits, floats of 16, 32 and 64 bits, little or big endian,
// the real parts of complex numbers as h5py writes them, and references to datasets.
//
// Numbers that attributes of the netCDF conventions call missing (_FillValue, missing_value) are NaN;
// those that are packed by scale_factor and add_offset are refused.
//
// Invariants. An array.Array that was read is row-major and holds exactly the numbers of the file;
// an integer that a float64 would round is an error. What a file claims is checked against its
// length before memory is allocated for it, checksums of metadata are verified, and links, trees
// and headers that lead back to themselves are errors. A feature that cannot be read is named.
package hdf5
