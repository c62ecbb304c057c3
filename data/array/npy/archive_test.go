package npy

import (
	"archive/zip"
	"io"

	"torchpe/data/array"
)

// readArchive reads all arrays of the .npz file at path in the order in which they lie in it.
func readArchive(path string) ([]array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (as []array.Array, err error) {
		for _, m := range membersOf(f, f.Size()) {
			as = append(as, m.read())
		}
		return as, nil
	})
}

// tryRead reads an array of size bytes.
func tryRead(r io.Reader, size int64) (array.Array, error) {
	return array.Try(func() array.Array { return read(r, size) })
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
