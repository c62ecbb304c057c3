package array_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/cifti"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/data/array/text"
	"torchpe/data/lst"
	"torchpe/data/partition"
	"torchpe/data/positions"
	"torchpe/data/series"
	"torchpe/internal/expect"
)

// reading is a reader with a small legal file.
type reading struct {
	name, file string
	read       func(file string) (any, error)
}

// of makes a reader return any.
func of[T any](read func(string) (T, error)) func(string) (any, error) {
	return func(file string) (any, error) { return read(file) }
}

// readings lists every reader of files, with a file of each format.
func readings(t *testing.T) []reading {
	written := func(name, content string) string {
		path := expect.File(t, name, content)
		return path
	}
	any2 := func([]int) error { return nil }
	tensor := expect.Must(safetensors.New("w", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}))
	var tensors bytes.Buffer
	expect.NoError(t, safetensors.Encode(&tensors, []safetensors.Tensor{tensor}, nil))
	w := written("w.safetensors", tensors.String())
	var vector bytes.Buffer
	if err := npy.Write(&vector, array.Array{Shape: []int{3}, Data: []float64{1, 2, 1}},
		npy.Float32); err != nil {
		t.Fatal(err)
	}
	load := func(o series.Options) func(string) (any, error) {
		return func(file string) (any, error) { return series.Load([]string{file}, o) }
	}
	six := series.Options{Tokens: []int{6}}
	inspect := func(file string) (any, error) { return series.Inspect(file, six) }
	all := of(readAll)
	list := []reading{
		{"npy", "npy/testdata/f4-be-F.npy", of(npy.Read)},
		{"npz", "npy/testdata/deflated.npz", all},
		{"npz list", "npy/testdata/stored.npz", of(npy.List)},
		{"mat", "mat/testdata/classes-v7.mat", readReal},
		{"mat variables", "mat/testdata/classes-v6.mat", all},
		{"sparse of 7.3", "mat/testdata/objects73.mat", func(file string) (any, error) {
			return arrayfile.Read(file+":sp", text.Auto, any2)
		}},
		{"empty of 7.3", "mat/testdata/objects73.mat", func(file string) (any, error) {
			return arrayfile.Read(file+":none", text.Auto, any2)
		}},
		{"field of a struct", "mat/testdata/mixed-v7.mat", func(file string) (any, error) {
			return arrayfile.Read(file+":s.run.deep.er.x", text.Auto, any2)
		}},
		{"cifti", "cifti/testdata/z.ptseries.nii.gz", of(cifti.Read)},
		{"cifti plain", "cifti/testdata/x.dscalar.nii", of(cifti.Read)},
		{"cifti header", "cifti/testdata/z.ptseries.nii.gz", of(cifti.ReadHeader)},
		{"safetensors", w, of(safetensors.Read)},
		{"safetensors tensors", w, all},
		{"csv", written("a.csv", "row,x,y\na,1,2\nb,3,4\n"),
			of(func(file string) (text.Table, error) { return text.Read(file, text.Options{}) })},
		{"array of csv", written("a.csv", "1,2\n3,4.5\n"), func(file string) (any, error) {
			return arrayfile.Read(file, text.Auto, any2)
		}},
		{"puzzles", written("a.csv", "condition,puzzles,solutions\nBinary,1532000000000000,4\n"),
			of(lst.ReadFile)},
		{"partition", written("a.txt", "a,1\nb,2\n"), of(readPartition)},
		{"partition of npy", written("a.npy", vector.String()), of(readPartition)},
		{"partition of vertices", "cifti/testdata/lr.dlabel.nii", of(readPartition)},
		{"positions", written("a.csv", "name,x,y\n1,0,1.5\n2,2,3\n"), func(file string) (any, error) {
			return positions.Read(file, positions.Auto, text.Auto)
		}},
		{"edges", written("a.csv", "from,to\na,b\nb,c\n"), func(file string) (any, error) {
			return positions.Read(file, positions.Auto, text.Auto)
		}},
	}
	for _, name := range []string{"layouts-old.h5", "layouts-new.h5", "links-new.h5", "userblock.h5",
		"types-new.h5", "packed-new.h5", "layouts-v108.h5", "packed-old.h5", "userblock-new.h5"} {
		file := "hdf5/testdata/" + name
		list = append(list, reading{name, file, of(hdf5.List)})
		if slices.Contains([]string{"layouts-old.h5", "layouts-v108.h5", "packed-old.h5", "userblock-new.h5"}, name) {
			list = append(list, reading{name + " data", file, readReal})
		}
	}
	for name, o := range map[string]series.Options{
		"sub-01.ptseries.nii": {}, "one.h5": six, "v73.mat": six, "v5.mat": six, "named.csv": {},
		"dense.dtseries.nii": {Parcels: "../series/testdata/parcels.dlabel.nii"},
	} {
		file := "../series/testdata/" + name
		list = append(list, reading{"series " + name, file, load(o)})
		if o.Parcels == "" {
			list = append(list, reading{"info " + name, file, inspect})
		}
	}
	return list
}

// readReal reads all arrays of a file that are of real numbers.
func readReal(file string) (any, error) {
	format, err := arrayfile.FormatOf(file)
	if err != nil {
		return nil, err
	}
	entries, err := arrayfile.List(file, format)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, e := range entries {
		if !e.Real {
			continue
		}
		a, err := e.Load()
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// next returns the number after n: every one up to 50, and then ever fewer of thousands.
func next(n int) int { return n + 1 + n/50 }

// same reports whether two results are equal, NaN being equal to NaN.
func same(a, b any) bool { return reflect.DeepEqual(a, b) || fmt.Sprint(a) == fmt.Sprint(b) }

// namesFile reports whether an error names a file, or that of the parcels with which it is read.
func namesFile(err error, file string) bool {
	return strings.Contains(err.Error(), filepath.Base(file)) ||
		strings.Contains(err.Error(), "parcels.dlabel.nii")
}

// The n-th request for memory is refused, for n = 1, 2, 3... until all are granted: an error each
// time that says what to do, and never a panic or a result.
func TestNoMemory(t *testing.T) {
	for _, r := range readings(t) {
		t.Run(r.name, func(t *testing.T) {
			want := expect.Must(r.read(r.file))
			for n := 1; ; n = next(n) {
				undo := array.Refuse(n)
				got, err := r.read(r.file)
				undo()
				if err == nil && same(got, want) {
					if n == 1 {
						t.Error("asks for no memory")
					}
					return
				}
				if info, ok := got.(*series.Info); ok && err == nil && (info.NotFinite == nil ||
					saysOfArray(info, "--max-memory")) {
					continue // described without its numbers
				}
				var large *array.TooLargeError
				if !errors.As(err, &large) || !strings.Contains(err.Error(), "--max-memory") ||
					!namesFile(err, r.file) {
					t.Fatalf("request %d: %v, %v", n, got, err)
				}
			}
		})
	}
}

// saysOfArray reports whether a note, or a problem of an array that is only described, has a text.
func saysOfArray(info *series.Info, text string) bool {
	return strings.Contains(strings.Join(info.Notes, " "), text) || slices.ContainsFunc(info.Arrays,
		func(a series.Array) bool { return strings.Contains(a.Problem, text) })
}

// failing fails at its n-th read, and but for once at all after it.
type failing struct {
	r     io.ReaderAt
	n     *int
	short bool
	once  bool
	err   error
}

func (f failing) ReadAt(b []byte, at int64) (int, error) {
	if *f.n--; *f.n > 0 || f.once && *f.n < 0 {
		return f.r.ReadAt(b, at)
	}
	if f.short {
		n, _ := f.r.ReadAt(b[:len(b)/2], at)
		return n, f.err
	}
	return 0, f.err
}

// At the n-th read a file fails, once or from then on, for n = 1, 2, 3... until all reads are good: an error each
// time that names the file and the cause.
func TestReadErrors(t *testing.T) {
	faults := []failing{{err: syscall.EIO}, {err: syscall.EIO, once: true}, {err: syscall.ESTALE},
		{err: syscall.EIO, short: true},
		{err: io.EOF, short: true}, {err: nil, short: true}}
	for _, r := range readings(t) {
		t.Run(r.name, func(t *testing.T) {
			want, err := r.read(r.file)
			expect.NoError(t, err)
			for _, fault := range faults {
				for n := 1; ; n = next(n) {
					left := n
					undo := array.Through(func(f io.ReaderAt) io.ReaderAt {
						return failing{f, &left, fault.short, fault.once, fault.err}
					})
					got, err := r.read(r.file)
					undo()
					if left > 0 {
						if err != nil || !same(got, want) {
							t.Fatalf("without a fault: %v, %v", got, err)
						}
						if n == 1 {
							t.Error("reads nothing")
						}
						break
					}
					cause := "has it become shorter"
					if fault.err != nil && !errors.Is(fault.err, io.EOF) {
						cause = fault.err.Error()
					}
					if err == nil || !strings.Contains(err.Error(), cause) || !namesFile(err, r.file) {
						t.Fatalf("read %d, %v: %v, %v", n, fault.err, got, err)
					}
				}
			}
		})
	}
}

// A pipe, a device, a folder and what is not there are no files, and say so at once.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.csv")
	expect.NoError(t, syscall.Mkfifo(pipe, 0o666))
	for _, r := range readings(t) {
		for file, want := range map[string]string{pipe: "a pipe", "/dev/zero": "a device",
			dir: "a folder"} {
			expect.Error(t, expect.ErrorOf(r.read(file)), file+": "+want)
		}
		absent := filepath.Join(dir, filepath.Base(r.file))
		if _, err := r.read(absent); !errors.Is(err, fs.ErrNotExist) || !namesFile(err, absent) {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// readAll reads all arrays of a file.
func readAll(file string) ([]array.Array, error) { return arrayfile.ReadAll(file, text.Auto) }

// readPartition reads a partition.
func readPartition(file string) (*partition.Partition, error) { return partition.Read(file, text.Auto) }
