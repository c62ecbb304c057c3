package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"

	"torchpe/data/array"
)

// suffix ends the name of a member that is an array. numpy shows the name without it.
const suffix = ".npy"

// ReadMember reads the array that the .npz file at path calls name, which has no .npy at its end.
func ReadMember(path, name string) (array.Array, error) {
	return array.InFile("npy", path, func(f *array.File) (array.Array, error) {
		members, err := membersOf(f, f.Size())
		var names []string
		for _, m := range members {
			if m.name == name {
				return m.read()
			}
			names = append(names, fmt.Sprintf("%q", m.name))
		}
		if err == nil {
			err = fmt.Errorf("holds no array %q; it holds %s", name, array.Join(names))
		}
		return array.Array{}, err
	})
}

// List returns what the .npz file at path holds, in its order, or the one array of an .npy file,
// without reading numbers. It names arrays of every dtype, those that cannot be read among them; of
// those that can it checks the size.
func List(path string) ([]Entry, error) {
	return array.InFile("npy", path, func(f *array.File) (entries []Entry, err error) {
		if start := make([]byte, len(magic)); f.Size() >= int64(len(magic)) {
			if _, err := f.ReadAt(start, 0); err != nil {
				return nil, err
			}
			if string(start) == magic {
				e, err := entry(f, f.Size())
				return []Entry{e}, err
			}
		}
		members, err := membersOf(f, f.Size())
		for i := 0; err == nil && i < len(members); i++ {
			var e Entry
			e, err = members[i].entry()
			entries = append(entries, e)
		}
		return entries, err
	})
}

// entry reads a header and describes its array.
func entry(r io.Reader, size int64) (Entry, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return Entry{}, err
	}
	n, _, unreadable := dtype(h.descr)
	if unreadable == nil {
		err = h.check(n)
	} else {
		_, err = array.Count(h.shape, 1)
	}
	if err != nil {
		return Entry{}, err
	}
	return Entry{Shape: h.shape, DType: h.descr}, nil
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
func membersOf(r io.ReaderAt, size int64) ([]member, error) {
	z, err := zip.NewReader(r, size)
	if errors.Is(err, zip.ErrFormat) {
		start := make([]byte, len(magic))
		if n, _ := r.ReadAt(start, 0); string(start[:n]) == magic {
			return nil, errors.New("a single array (.npy), not an archive: read it with Read")
		}
		return nil, fmt.Errorf("%w: not an .npz archive, or a damaged one", err)
	}
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // nothing is written where a name says
		return nil, array.Damaged("zip: %w", err)
	}
	if err := array.NewBudget().Take(512*int64(len(z.File)), "names of arrays"); err != nil {
		return nil, err
	}
	var members []member
	seen := map[string]bool{}
	left := uint64(max(0, size))
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, suffix)
		if !ok {
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("two arrays are called %s", array.Quote(name))
		}
		seen[name] = true
		if err := checkSizes(f, left); err != nil {
			return nil, fmt.Errorf("array %s: %w", array.Quote(name), err)
		}
		left -= f.CompressedSize64
		members = append(members, member{name, f, size, oddity(f)})
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("a zip archive of %d files, none of which ends in %s",
			len(z.File), suffix)
	}
	return members, nil
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

// checkSizes checks what the archive's directory says about a member; left is how many bytes the
// members before it left.
func checkSizes(f *zip.File, left uint64) error {
	packed, unpacked := f.CompressedSize64, f.UncompressedSize64
	switch {
	case packed > left:
		return array.Damaged("claims %d bytes of the archive, which has %d left for it", packed,
			left)
	case f.Method == zip.Store && packed != unpacked:
		return array.Damaged("is stored in %d bytes but claims %d", packed, unpacked)
	case f.Method == zip.Deflate && unpacked/array.MaxInflate > packed:
		return array.Damaged("claims to unpack %d bytes from %d, more than deflate can", unpacked,
			packed)
	}
	return nil
}

// open returns a reader of the member's bytes, which must all lie in the archive.
func (m member) open() (io.ReadCloser, error) {
	if m.odd != nil {
		return nil, m.odd
	}
	start, err := m.file.DataOffset()
	if err != nil {
		return nil, array.Damaged("local zip header: %w", err)
	}
	if packed := m.file.CompressedSize64; start < 0 || start > m.size ||
		packed > uint64(m.size-start) {
		return nil, array.Damaged("expected %d bytes from byte %d on, the file has %d", packed,
			start, max(0, m.size-start))
	}
	return m.file.Open()
}

// entry describes the member.
func (m member) entry() (Entry, error) {
	if m.odd != nil {
		return Entry{Name: m.name, DType: m.odd.Error()}, nil
	}
	r, err := m.open()
	if err == nil {
		defer r.Close()
		var e Entry
		if e, err = entry(r, int64(m.file.UncompressedSize64)); err == nil {
			e.Name = m.name
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("array %s: %w", array.Quote(m.name), err)
}

// read reads the member to its end, where its checksum is.
func (m member) read() (array.Array, error) {
	a, err := m.numbers()
	if err != nil {
		return array.Array{}, fmt.Errorf("array %s: %w", array.Quote(m.name), err)
	}
	a.Name = m.name
	return a, nil
}

func (m member) numbers() (array.Array, error) {
	r, err := m.open()
	if err != nil {
		return array.Array{}, err
	}
	defer r.Close()
	a, err := read(r, int64(m.file.UncompressedSize64))
	if err != nil {
		return array.Array{}, err
	}
	// Nothing is left but the checksum, and archive/zip stops at the size
	if _, err := io.Copy(io.Discard, r); err != nil {
		return array.Array{}, array.Damaged("at the end of its data: %w", err)
	}
	return a, nil
}
