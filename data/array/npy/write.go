package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"torchpe/data/array"
)

// DType is the type in which numbers are written.
type DType string

// The types that Write knows.
const (
	Float32 DType = "<f4" // half the room; numbers are rounded to the nearest
	Float64 DType = "<f8" // all bits
)

// Write writes a as an .npy file of version 1.0, in row-major order and little endian. The bytes
// are those of numpy.save: the numbers begin at a multiple of 64 bytes, and the header has room for
// the first axis to grow. It fails where a's shape and numbers disagree, and where a finite number
// is too large for a float32.
func Write(w io.Writer, a array.Array, t DType) error {
	if err := write(w, a, t); err != nil {
		return fmt.Errorf("npy: writing an array of shape %v: %w", a.Shape, err)
	}
	return nil
}

func write(w io.Writer, a array.Array, t DType) error {
	if t != Float32 && t != Float64 {
		return fmt.Errorf("dtype %q, want %q or %q", t, Float32, Float64)
	}
	if err := a.Check(); err != nil {
		return err
	}
	if len(a.Shape) > maxRank {
		return fmt.Errorf("%d axes, and numpy takes at most %d", len(a.Shape), maxRank)
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if _, err := b.WriteString(newHeader(a.Shape, t)); err != nil {
		return err
	}
	var element [8]byte
	for i, v := range a.Data {
		bytes := element[:8]
		if t == Float64 {
			binary.LittleEndian.PutUint64(bytes, math.Float64bits(v))
		} else {
			narrow := float32(v)
			if math.IsInf(float64(narrow), 0) && !math.IsInf(v, 0) {
				return fmt.Errorf("element %d is %v, too large for a float32: write it as Float64",
					i, v)
			}
			bytes = element[:4]
			binary.LittleEndian.PutUint32(bytes, math.Float32bits(narrow))
		}
		if _, err := b.Write(bytes); err != nil {
			return err
		}
	}
	return b.Flush()
}

// newHeader returns the header of a row-major array with all that stands before it.
func newHeader(shape []int, t DType) string {
	const (
		align = 64
		// mostDigit is the width that numpy leaves for the first length (GROWTH_AXIS_MAX_DIGITS).
		mostDigit = 21
	)
	var b strings.Builder
	fmt.Fprintf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", t)
	for i, n := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteString("), }")
	if len(shape) > 0 {
		b.WriteString(strings.Repeat(" ", mostDigit-len(strconv.Itoa(shape[0]))))
	}
	before := len(magic) + 2 + 2 // magic, version, length
	b.WriteString(strings.Repeat(" ", align-(before+b.Len()+1)%align))
	b.WriteByte('\n')
	length := binary.LittleEndian.AppendUint16(nil, uint16(b.Len()))
	return magic + "\x01\x00" + string(length) + b.String()
}
