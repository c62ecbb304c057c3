package analysis

import "torchpe/data/array/arrayfile"

// namedArray is an array of a file with the names that the file gives to its rows and columns.
type namedArray = arrayfile.Array

// readArray reads the array that FILE[:tensor] names: see [arrayfile.Read].
func readArray(reference string, fits func(shape []int) error) (namedArray, error) {
	return arrayfile.Read(reference, fits)
}
