package array_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/cifti"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/text"
	"torchpe/data/series"
	"torchpe/internal/expect"
)

// le packs numbers and texts, little endian.
func le(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		if text, ok := p.(string); ok {
			b = append(b, text...)
			continue
		}
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
			panic(err)
		}
	}
	return b
}

// padded fills b up with zeros to a length.
func padded(b []byte, length int) []byte { return append(b, make([]byte, length-len(b))...) }

// zeros writes n zeros.
func zeros(t *testing.T, w io.Writer, n int64) {
	t.Helper()
	expect.NoError(t, expect.ErrorOf(io.CopyN(w, zeroReader{}, n)))
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// deflated returns the zlib stream of a head and n zeros.
func deflated(t *testing.T, head []byte, n int64) []byte {
	var b bytes.Buffer
	w := expect.Must(zlib.NewWriterLevel(&b, zlib.BestSpeed))
	w.Write(head)
	zeros(t, w, n)
	w.Close()
	return b.Bytes()
}

// inNPZ returns an archive of one array a of [2,n] zeros.
func inNPZ(t *testing.T, n int64, fortran string) []byte {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': %s, 'shape': (2, %d), }\n", fortran, n)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w := expect.Must(z.Create("a.npy"))
	w.Write(le("\x93NUMPY\x01\x00", uint16(len(header)), header))
	zeros(t, w, 16*n)
	expect.NoError(t, z.Close())
	return b.Bytes()
}

// inMAT returns a .mat file of one compressed variable a of [2,n] zeros.
func inMAT(t *testing.T, n int64) []byte {
	body := le([]uint32{6, 8, 6, 0, 5, 8, 2, uint32(n), 1<<16 | 1}, "a\x00\x00\x00",
		[]uint32{9, uint32(16 * n)})
	packed := deflated(t, append(le([]uint32{14, uint32(len(body)) + uint32(16*n)}), body...), 16*n)
	head := append(bytes.Repeat([]byte(" "), 124), 0, 1, 'I', 'M')
	copy(head, "MATLAB 5.0 MAT-file")
	return append(append(head, le([]uint32{15, uint32(len(packed))})...), packed...)
}

// The addresses of inHDF5's objects.
const (
	groupAt, datasetAt, treeAt, chunkAt = 96, 160, 512, 1024
)

// inHDF5 returns a file with the dataset /a of [2,n] zeros in one chunk, deflated once or twice.
func inHDF5(t *testing.T, n int64, deflates int) []byte {
	const undefined = math.MaxUint64
	message := func(kind uint16, data []byte) []byte {
		data = padded(data, (len(data)+7)/8*8)
		return append(le(kind, uint16(len(data)), uint32(0)), data...)
	}
	object := func(messages ...[]byte) []byte {
		all := bytes.Join(messages, nil)
		return append(le(uint16(1), uint16(len(messages)), uint32(1), uint32(len(all)), uint32(0)),
			all...)
	}
	packed := deflated(t, nil, 16*n)
	if deflates == 2 {
		packed = deflated(t, packed, 0)
	}
	b := le("\x89HDF\r\n\x1a\n", uint32(0), uint16(0x0800), uint16(8), []uint16{4, 16}, uint32(0),
		[]uint64{0, undefined, uint64(chunkAt + len(packed)), undefined, 0, groupAt})
	b = padded(b, groupAt)
	b = append(b, object(message(6, le(uint16(1), byte(1), "a", uint64(datasetAt))))...)
	b = padded(b, datasetAt)
	b = append(b, object(
		message(1, le(byte(1), byte(2), uint16(0), uint32(0), []uint64{2, uint64(n)})),
		message(3, le("\x11\x20\x3f\x00", uint32(8),
			"\x00\x00\x40\x00\x34\x0b\x00\x34\xff\x03\x00\x00")),
		message(11, append(le(byte(1), byte(deflates), uint16(0), uint32(0)), bytes.Repeat(
			le([]uint16{1, 0, 0, 1}, []uint32{1, 0}), deflates)...)),
		message(8, le(byte(3), byte(2), byte(3), uint64(treeAt), []uint32{2, uint32(n), 8})),
	)...)
	b = padded(b, treeAt)
	b = append(b, le("TREE", byte(1), byte(0), uint16(1), []uint64{undefined, undefined},
		uint32(len(packed)), uint32(0), []uint64{0, 0, 0, chunkAt}, []uint64{0, 0, 0, 0})...)
	return append(padded(b, chunkAt), packed...)
}

// inCIFTI returns a compressed ptseries of two parcels and n frames of zeros, with XML that so many
// blanks begin.
func inCIFTI(t *testing.T, n, blanks int64) []byte {
	xml := fmt.Sprintf(`<CIFTI Version="2"><Matrix><MatrixIndicesMap AppliesToMatrixDimension="0" `+
		`IndicesMapToDataType="CIFTI_INDEX_TYPE_SERIES" NumberOfSeriesPoints="%d" SeriesExponent="0" `+
		`SeriesStart="0" SeriesStep="1" SeriesUnit="SECOND"/><MatrixIndicesMap `+
		`AppliesToMatrixDimension="1" IndicesMapToDataType="CIFTI_INDEX_TYPE_PARCELS">`+
		`<Surface BrainStructure="CIFTI_STRUCTURE_CORTEX_LEFT" SurfaceNumberOfVertices="9"/>`+
		`<Parcel Name="a"><Vertices BrainStructure="CIFTI_STRUCTURE_CORTEX_LEFT">0</Vertices></Parcel>`+
		`<Parcel Name="b"><Vertices BrainStructure="CIFTI_STRUCTURE_CORTEX_LEFT">1</Vertices></Parcel>`+
		`</MatrixIndicesMap></Matrix></CIFTI>`, n)
	size := int64(len(xml)) + 8 + blanks
	head := le(int32(540), "n+2\x00\r\n\x1a\n", []int16{64, 64}, []int64{6, 1, 1, 1, 1, n, 2, 0},
		make([]float64, 11), 544+size)
	head = append(padded(head, 540), le(uint32(1), []int32{int32(size), 32})...)
	var b bytes.Buffer
	w := expect.Must(gzip.NewWriterLevel(&b, gzip.BestSpeed))
	w.Write(head)
	expect.NoError(t, expect.ErrorOf(io.CopyN(w, blankReader{}, blanks)))
	w.Write([]byte(xml))
	zeros(t, w, 16*n)
	expect.NoError(t, w.Close())
	return b.Bytes()
}

type blankReader struct{}

func (blankReader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// packedFiles returns a compressed file of each format that holds [2,n] zeros.
func packedFiles(t *testing.T, n int64) map[string][]byte {
	return map[string][]byte{"c.npz": inNPZ(t, n, "False"), "f.npz": inNPZ(t, n, "True"),
		"a.mat": inMAT(t, n), "a.h5": inHDF5(t, n, 1), "a.ptseries.nii.gz": inCIFTI(t, n, 0)}
}

// readPacked reads such a file.
func readPacked(file string) (array.Array, error) {
	if strings.HasSuffix(file, ".gz") {
		m, err := cifti.Read(file)
		if err != nil {
			return array.Array{}, err
		}
		return m.Data, nil
	}
	a, err := arrayfile.Read(file, text.Auto, func([]int) error { return nil })
	return a.Array, err
}

// variable names the file of a child.
const variable = "TORCHPE_TEST_FILE"

// inChildren runs this test in a process for each file, and returns the file there. A child's budget
// is of so many bytes, and its address space may grow by so many after its start.
func inChildren(t *testing.T, files func() map[string][]byte, budget, space int64) (file string) {
	if file = os.Getenv(variable); file == "" {
		dir := t.TempDir()
		for name, b := range files() {
			path := filepath.Join(dir, name)
			expect.NoError(t, os.WriteFile(path, b, 0o666))
			cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
			cmd.Env = append(os.Environ(), variable+"="+path)
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
				t.Errorf("%s: %v\n%.4000s", name, err, out)
			}
		}
		return ""
	}
	array.SetLimit(budget)
	debug.SetMemoryLimit(budget)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc: how much memory a reader takes was not checked")
	}
	used := int64(-1)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmSize:"); ok {
			fmt.Sscan(rest, &used)
		}
	}
	most := uint64(1024*used + space)
	expect.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}))
	return file
}

// Files of a megabyte that inflate to more than 1 GB are refused below twice a budget of 128 MB,
// and info describes them without their numbers.
func TestBombs(t *testing.T) {
	const n = 70e6 // 1.12 GB as [2,n]
	const budget = 128 << 20
	if testing.Short() {
		t.Skip("writes files of 1 GB: that they are refused was not checked")
	}
	file := inChildren(t, func() map[string][]byte {
		files := packedFiles(t, n)
		files["xml.ptseries.nii.gz"] = inCIFTI(t, 4, 1<<30)
		return files
	}, budget, 2*budget)
	if file == "" {
		return
	}
	_, err := readPacked(file)
	var large *array.TooLargeError
	if !errors.As(err, &large) || large.Need < budget || large.Limit != budget ||
		!strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if strings.Contains(file, "xml") {
		return
	}
	i, err := series.Inspect(file, series.Options{Tokens: []int{2}})
	if err != nil || i.NotFinite != nil || i.Tokens != 2 || i.Frames != n ||
		!strings.Contains(i.Problem, "--max-memory") {
		t.Errorf("info: %+v, %v", i, err)
	}
}

// A legal file is read within about twice its inflated size, whatever its format.
func TestMemoryOfLegalFiles(t *testing.T) {
	const n = 8 << 20 // 128 MB as [2,n]
	const inflated = 16 * n
	if testing.Short() {
		t.Skip("reads files of 128 MB: what memory that takes was not checked")
	}
	const arena = 128 << 20 // the heap grows by 64 MB at once
	file := inChildren(t, func() map[string][]byte { return packedFiles(t, n) }, 2*inflated+8<<20,
		2*inflated+arena)
	if file == "" {
		return
	}
	expect.Equal(t, "numbers", len(expect.Must(readPacked(file)).Data), 2*n)
}

// HDF5 files that claim what no file has, or lead in a circle, are errors or empty.
func TestHostileHDF5(t *testing.T) {
	read := func(edit func(b []byte)) (array.Array, error) {
		b := inHDF5(t, 100, 1)
		edit(b)
		path := expect.File(t, "a.h5", string(b))
		return hdf5.Read(path, "/a")
	}
	if a, err := read(func([]byte) {}); err != nil || len(a.Data) != 200 {
		t.Fatalf("%v, %v", a, err)
	}
	replace := func(old, with []byte) func([]byte) {
		return func(b []byte) {
			at := bytes.Index(b, old)
			if at < 0 {
				t.Fatalf("no %v to replace", old)
			}
			copy(b[at:], with)
		}
	}
	for name, c := range map[string]struct {
		edit func([]byte)
		want string
	}{
		"a chunk of a terabyte": {replace(le([]uint32{2, 100, 8}), le([]uint32{1 << 20, 1 << 17, 8})),
			"more than 4 GiB"},
		"a chunk of 2 GiB": {replace(le([]uint32{2, 100, 8}), le([]uint32{2, 1 << 27, 8})),
			"its chunks claim"},
		"a chunk beyond the file": {replace(le([]uint64{0, 0, 0, chunkAt}),
			le([]uint64{0, 0, 0, 1 << 40})), "the file ends at"},
		"a shape of a terabyte": {replace(le([]uint64{2, 100}), le([]uint64{1 << 20, 1 << 17})),
			"could the file be damaged"},
		"a group that holds itself": {replace(le("a", uint64(datasetAt)), le("a", uint64(groupAt))),
			"it is a group"},
		"a tree that is its own child": {func(b []byte) {
			b[treeAt+5] = 1 // its level
			copy(b[treeAt+24+32:], le(uint64(treeAt)))
		}, "could the file be damaged"},
	} {
		if a, err := read(c.edit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", name, a.Shape, err)
		}
	}
	// Deflated twice, a chunk goes through its buffer twice.
	path := expect.File(t, "twice.h5", string(inHDF5(t, 100, 2)))
	if a, err := hdf5.Read(path, "/a"); err != nil || len(a.Data) != 200 || a.Data[199] != 0 {
		t.Errorf("%v, %v", a, err)
	}
}
