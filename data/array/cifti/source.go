package cifti

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
)

// deflateMost is how many bytes a byte of deflate data can expand to at most (zlib.net/zlib_tech.html).
const deflateMost = 1032

// source reads a plain or compressed file from its start to its end and knows how many bytes can still come.
type source struct {
	r          io.Reader
	at         int64 // bytes read so far
	limit      int64 // the file's length; of a compressed file what its bytes can expand to
	compressed bool
}

// newSource looks at the first bytes of a file; those of gzip make it a compressed one, whatever its name.
func newSource(r io.ReaderAt, size int64) (*source, error) {
	section := io.NewSectionReader(r, 0, size)
	var start [2]byte
	n, err := section.ReadAt(start[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n < 2 || start != [2]byte{0x1f, 0x8b} {
		return &source{r: section, limit: size}, nil
	}
	z, err := gzip.NewReader(section)
	if err != nil {
		return nil, fmt.Errorf("gzip header: %w: could the file be damaged?", err)
	}
	limit := int64(math.MaxInt64)
	if size < limit/deflateMost {
		limit = size * deflateMost
	}
	return &source{r: z, limit: limit, compressed: true}, nil
}

// room returns how many bytes can still come.
func (s *source) room() int64 { return s.limit - s.at }

// holds says what a message should call the file's length after offset at.
func (s *source) holds(at int64) string {
	if s.compressed {
		return fmt.Sprintf("the compressed file can hold at most %d", max(0, s.limit-at))
	}
	return fmt.Sprintf("the file has %d", max(0, s.limit-at))
}

// fill fills b and returns the reader's own error.
func (s *source) fill(b []byte) (int64, error) {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	return int64(n), err
}

// read fills b, which is of what.
func (s *source) read(b []byte, what string) error {
	n, err := s.fill(b)
	return ended(err, int64(len(b)), n, what)
}

// ended puts a read error into words.
func ended(err error, want, got int64, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("expected %d bytes of %s, the file has %d: could it be damaged?", want, what, got)
	}
	return fmt.Errorf("%s: after %d of %d bytes: %w: could the file be damaged?", what, got, want, err)
}

// bytes returns the next n bytes, which are of what and at most the room there is. Memory for a compressed file's grows with
// what really comes.
func (s *source) bytes(n int64, what string) ([]byte, error) {
	if !s.compressed {
		b := make([]byte, n)
		return b, s.read(b, what)
	}
	var b bytes.Buffer
	got, err := io.CopyN(&b, s.r, n)
	s.at += got
	return b.Bytes(), ended(err, n, got, what)
}

// skip leaves out the next n bytes.
func (s *source) skip(n int64) error {
	got, err := io.CopyN(io.Discard, s.r, n)
	s.at += got
	return ended(err, n, got, "header extensions")
}

// finish reads a compressed file to its end, where its checksum is.
func (s *source) finish() error {
	if !s.compressed {
		return nil
	}
	if _, err := io.Copy(io.Discard, s.r); err != nil {
		return fmt.Errorf("gzip: the data is there, but the compressed file does not end as it should: %w: "+
			"could the file be damaged?", err)
	}
	return nil
}
