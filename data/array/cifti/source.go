package cifti

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	"torchpe/data/array"
)

// source reads a plain or compressed file from its start to its end and knows how many bytes can
// still come.
type source struct {
	r          io.Reader
	at         int64 // bytes read so far
	limit      int64 // the file's length; of a compressed file what its bytes can expand to
	compressed bool
	budget     *array.Budget
}

// newSource looks at the first bytes of a file; those of gzip make it a compressed one, whatever
// its name.
func newSource(r io.ReaderAt, size int64) *source {
	section := io.NewSectionReader(r, 0, size)
	var start [2]byte
	n, err := section.ReadAt(start[:], 0)
	if !errors.Is(err, io.EOF) {
		array.Fail(err)
	}
	if n < 2 || start != [2]byte{0x1f, 0x8b} {
		return &source{r: section, limit: size, budget: array.NewBudget()}
	}
	z, err := gzip.NewReader(section)
	if err != nil {
		array.FailDamaged("gzip header: %w", err)
	}
	limit := int64(math.MaxInt64)
	if size < limit/array.MaxInflate {
		limit = size * array.MaxInflate
	}
	return &source{r: z, limit: limit, compressed: true, budget: array.NewBudget()}
}

// left returns the largest number of bytes that can still come.
func (s *source) left() int64 { return s.limit - s.at }

// holds says what a message should call the file's length after offset at.
func (s *source) holds(at int64) string {
	if s.compressed {
		return fmt.Sprintf("the compressed file can hold at most %d", max(0, s.limit-at))
	}
	return fmt.Sprintf("the file has %d", max(0, s.limit-at))
}

// read fills b, which is of what.
func (s *source) read(b []byte, what string) {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	if err != nil {
		array.Fail(array.Ended(err, what, int64(len(b)), int64(n)))
	}
}

// expansion bounds the memory that XML takes, the text included, as a multiple of the text: tokens
// are copied twice, and two characters can be an index of twelve bytes that is kept and sorted.
const expansion = 20

// xml returns the next n bytes, at most left(), which are XML. Memory grows with what really comes.
func (s *source) xml(n int64) []byte {
	const what = "CIFTI XML"
	array.Fail(s.budget.Fits(n, what))
	var b bytes.Buffer
	for got := int64(0); got < n; {
		piece := min(n-got, max(1<<16, got))
		array.Fail(s.budget.Take(expansion*piece, what))
		more, err := io.CopyN(&b, s.r, piece)
		s.at, got = s.at+more, got+more
		if err != nil {
			array.Fail(array.Ended(err, what, n, got))
		}
	}
	return b.Bytes()
}

// skip leaves out the next n bytes.
func (s *source) skip(n int64) {
	got, err := io.CopyN(io.Discard, s.r, n)
	if s.at += got; err != nil {
		array.Fail(array.Ended(err, "header extensions", n, got))
	}
}

// finish reads a compressed file to its end, where its checksum is.
func (s *source) finish() {
	if !s.compressed {
		return
	}
	const most = 1 << 20 // more than any padding
	n, err := io.CopyN(io.Discard, s.r, most)
	switch {
	case errors.Is(err, io.EOF):
	case err == nil:
		array.FailDamaged("gzip: more than %d bytes follow the data", n)
	default:
		array.FailDamaged("gzip: the data is there, but the compressed file does not end as it "+
			"should: %w", err)
	}
}
