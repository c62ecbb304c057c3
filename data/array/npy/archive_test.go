package npy

import (
	"archive/zip"
	"io"

	"torchpe/data/array"
)

// readArchive reads all arrays of the .npz file at path in the order in which they lie in it.
func readArchive(path string) ([]array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (as []array.Array, err error) {
		members, err := membersOf(f, f.Size())
		for i := 0; err == nil && i < len(members); i++ {
			var a array.Array
			a, err = members[i].read()
			as = append(as, a)
		}
		return as, err
	})
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
