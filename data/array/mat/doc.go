// Package mat reads the variables of MATLAB's .mat files of version 5, which MATLAB writes with
// save -v6, and compressed with save -v7, its default. It follows MathWorks' description of the
// format ("MAT-File Format") and reads real numbers and logicals of every class, full or sparse,
// little or big endian, among the variables of a file or in the fields of its structs. Version 7.3 is
// HDF5: such a file gives [ErrHDF5]. Version 4 is refused.
//
// Invariants. An [array.Array] that was read is row-major, although the file holds columns, has the
// shape that MATLAB's size shows, so two axes at least, and holds exactly the numbers of the file:
// an integer that a float64 would round is an error, and so is one that its class cannot hold.
// Complex numbers, text, objects and functions are listed but not read; the cells of a cell array by
// [ListCells] and [ReadCell] alone. A sparse matrix becomes a full one, within the budget.
// What a file claims is checked against its length before memory is allocated for it, of compressed
// variables against the most that deflate can make of their bytes. Reading a variable costs little
// more than the array, see [array.Numbers].
// The checksum of each compressed variable that is read is checked.
// Nothing is read by recursion.
package mat
