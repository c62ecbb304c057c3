package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
)

// suffix ends the name of a member that is an array. numpy shows the name without it.
const suffix = ".npy"

// ReadMember reads the array that the .npz file at path calls name, which has no .npy at its end.
func ReadMember(path, name string) (array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (array.Array, error) {
		var names []string
		for _, m := range membersOf(f, f.Size()) {
			if m.name == name {
				return m.read(), nil
			}
			names = append(names, fmt.Sprintf("%q", m.name))
		}
		return array.Array{}, fmt.Errorf("holds no array %q; it holds %s", name, array.Join(names))
	})
}

// List returns what the .npz file at path holds, in its order, or the one array of an .npy file,
// without reading numbers. It names arrays of every dtype, those that cannot be read among them; of
// those that can it checks the size.
func List(path string) ([]Entry, error) {
	return array.InFile("npy", path, func(f *array.File) (entries []Entry, err error) {
		if start := make([]byte, len(magic)); f.Size() >= int64(len(magic)) {
			array.Got(f.ReadAt(start, 0))
			if string(start) == magic {
				return []Entry{entry(f, f.Size())}, nil
			}
		}
		for _, m := range membersOf(f, f.Size()) {
			entries = append(entries, m.entry())
		}
		return entries, nil
	})
}

// entry reads a header and describes its array.
func entry(r io.Reader, size int64) Entry {
	h := readHeader(r, size)
	if n, _, unreadable := dtype(h.descr); unreadable == nil {
		h.check(n)
	} else {
		array.Got(array.Count(h.shape, 1))
	}
	return Entry{Shape: h.shape, DType: h.descr}
}

// member is an array in an archive.
type member struct {
	name string // without .npy
	file *zip.File
	size int64 // of the archive
	odd  error // why it is not read, or nil
}

// membersOf returns the arrays of an archive of size bytes in their order. Their claims hold
// together: the sizes fit what deflate can do, all of them together fit the archive, and no name
// stands twice.
func membersOf(r io.ReaderAt, size int64) []member {
	z, err := zip.NewReader(r, size)
	if errors.Is(err, zip.ErrFormat) {
		start := make([]byte, len(magic))
		if n, _ := r.ReadAt(start, 0); string(start[:n]) == magic {
			array.Failf("a single array (.npy), not an archive: read it with Read")
		}
		array.Failf("neither an array of numpy (.npy) nor an archive of them (.npz), or damaged: %w", err)
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // nothing is written where a name says
		array.FailDamaged("zip: %w", err)
	}
	array.Fail(array.NewBudget().Take(512*int64(len(z.File)), "names of arrays"))
	var members []member
	seen := map[string]bool{}
	left := uint64(max(0, size))
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, suffix)
		if !ok {
			continue
		}
		if seen[name] {
			array.Failf("two arrays are called %s", array.Quote(name))
		}
		seen[name] = true
		m := member{name, f, size, oddity(f)}
		m.checkSizes(left)
		left -= f.CompressedSize64
		members = append(members, m)
	}
	if slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.HasPrefix(f.Name, "xl/") }) {
		array.Failf("an Excel workbook: save the sheet as .csv")
	}
	if len(members) == 0 {
		array.Failf("a zip archive of %d files, none of which ends in %s", len(z.File), suffix)
	}
	return members
}

// oddity says why a member is not read.
func oddity(f *zip.File) error {
	switch {
	case f.Flags&1 != 0:
		return errors.New("is encrypted: store it without a password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("is compressed by method %d, want 0 (numpy.savez) or 8 "+
			"(numpy.savez_compressed)", f.Method)
	}
	return nil
}

// checkSizes checks what the archive's directory says about the member; left is how many bytes the
// members before it left.
func (m member) checkSizes(left uint64) {
	defer array.Within("array %s", array.Quote(m.name))
	packed, unpacked := m.file.CompressedSize64, m.file.UncompressedSize64
	switch {
	case packed > left:
		array.FailDamaged("claims %d bytes of the archive, which has %d left for it", packed, left)
	case m.file.Method == zip.Store && packed != unpacked:
		array.FailDamaged("is stored in %d bytes but claims %d", packed, unpacked)
	case m.file.Method == zip.Deflate && unpacked/array.MaxInflate > packed:
		array.FailDamaged("claims to unpack %d bytes from %d, more than deflate can", unpacked, packed)
	}
}

// open returns a reader of the member's bytes, which must all lie in the archive.
func (m member) open() io.ReadCloser {
	array.Fail(m.odd)
	start, err := m.file.DataOffset()
	if err != nil {
		array.FailDamaged("local zip header: %w", err)
	}
	if packed := m.file.CompressedSize64; start < 0 || start > m.size ||
		packed > uint64(m.size-start) {
		array.FailDamaged("expected %d bytes from byte %d on, the file has %d", packed,
			start, max(0, m.size-start))
	}
	return array.Got(m.file.Open())
}

// entry describes the member.
func (m member) entry() Entry {
	if m.odd != nil {
		return Entry{Name: m.name, DType: m.odd.Error()}
	}
	defer array.Within("array %s", array.Quote(m.name))
	r := m.open()
	defer r.Close()
	e := entry(r, int64(m.file.UncompressedSize64))
	e.Name = m.name
	return e
}

// read reads the member to its end, where its checksum is.
func (m member) read() array.Array {
	defer array.Within("array %s", array.Quote(m.name))
	r := m.open()
	defer r.Close()
	a := read(r, int64(m.file.UncompressedSize64))
	// Nothing is left but the checksum, and archive/zip stops at the size
	if _, err := io.Copy(io.Discard, r); err != nil {
		array.FailDamaged("at the end of its data: %w", err)
	}
	a.Name = m.name
	return a
}
