package npy

import (
	"archive/zip"
	"io"

	"torchpe/data/array"
)

// readArchive reads all arrays of the .npz file at path in the order in which they lie in it.
func readArchive(path string) ([]array.Array, error) {
	var as []array.Array
	err := inArchive(path, func(members []member) error {
		for _, m := range members {
			a, err := m.read()
			if err != nil {
				return err
			}
			as = append(as, a)
		}
		return nil
	})
	return as, err
}

// writeArchive writes arrays as an .npz file, not compressed.
func writeArchive(w io.Writer, as []array.Array, t DType) error {
	z := zip.NewWriter(w)
	for _, a := range as {
		member, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + suffix, Method: zip.Store})
		if err == nil {
			err = Write(member, a, t)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
