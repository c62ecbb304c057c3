package npy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// member0 is an array without methods, for comparison.
type member0 struct {
	name  string
	shape []int
	data  []float64
}

// equal reports whether two archives hold the same arrays.
func equal(a, b []member0) bool {
	return slices.EqualFunc(a, b, func(a, b member0) bool {
		return a.name == b.name && slices.Equal(a.shape, b.shape) &&
			slices.EqualFunc(a.data, b.data, expect.Same)
	})
}

// seed adds the fixtures with a suffix to the corpus.
func seed(f *testing.F, pattern string) {
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		f.Fatal("no fixtures:", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		expect.NoError(f, err)
		f.Add(b)
	}
}

// FuzzRead checks any bytes: no panic, and what is accepted has as many numbers as its shape says,
// no more than the file has bytes, and comes back the same after Write. A byte becomes a number of
// 8, in rooms that double.
func FuzzRead(f *testing.F) {
	seed(f, "*.npy")
	for _, test := range hostile {
		if len(test.file) < 4096 {
			f.Add(test.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var a array.Array
		var err error
		expect.AllocationsAtMost(t, 2*8*len(file)+64<<10,
			func() { a, err = tryRead(bytes.NewReader(file), int64(len(file))) })
		if err != nil {
			return
		}
		expect.NoError(t, a.Check())
		if len(a.Data) > len(file) {
			t.Fatalf("%d numbers from %d bytes", len(a.Data), len(file))
		}
		var b bytes.Buffer
		expect.NoError(t, Write(&b, a, Float64))
		back := expect.Must(tryRead(bytes.NewReader(b.Bytes()), int64(b.Len())))
		if !slices.Equal(a.Shape, back.Shape) || !slices.EqualFunc(a.Data, back.Data, expect.Same) {
			t.Fatalf("changed from %v to %v", a, back)
		}
	})
}

// FuzzArchive checks any bytes: no panic, and what is accepted is no more than deflate can make of
// them and comes back the same after writeArchive. What comes out takes 8 bytes for each byte, in
// rooms that double, and the reader of deflate is the constant.
func FuzzArchive(f *testing.F) {
	seed(f, "*.npz")
	for _, test := range hostileArchives(f) {
		f.Add(test.file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var as []member0
		var err error
		expect.AllocationsAtMost(t, 2*8*array.MaxInflate*len(file)+1<<20,
			func() { as, err = readAll(file) })
		if err != nil {
			return
		}
		total := 0
		var again []array.Array
		for _, a := range as {
			total += len(a.data)
			again = append(again, array.Array{Name: a.name, Shape: a.shape, Data: a.data})
		}
		if total > array.MaxInflate*len(file) {
			t.Fatalf("%d numbers from %d bytes", total, len(file))
		}
		if slices.ContainsFunc(as, func(a member0) bool {
			return a.name == "" || len(a.name) > 60000
		}) {
			return // names that no writer gives
		}
		var b bytes.Buffer
		expect.NoError(t, writeArchive(&b, again, Float64))
		back := expect.Must(readAll(b.Bytes()))
		if !equal(as, back) {
			t.Fatalf("changed from %v to %v", as, back)
		}
	})
}
