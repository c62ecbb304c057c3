// Package npy reads and writes the array files of numpy: .npy, which holds one array, and .npz, a
// zip archive of .npy files. It follows numpy's description of the format (numpy.lib.format,
// versions 1.0, 2.0 and 3.0) and reads booleans, integers of 8 to 64 bits and floating-point
// numbers of 16, 32 and 64 bits, little or big endian, in C or Fortran order.
//
// Invariants. An [array.Array] that was read is row-major and holds exactly the numbers of the
// file: an integer that a float64 would round is an error, as are complex numbers, text, dates,
// records and Python objects. A file must end where its array ends. What a header claims is checked
// against the length of the file, or of the archive's member, before memory is allocated for it.
// Reading an array costs little more than the array, see [array.Numbers].
package npy
