package cifti

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"torchpe/data/array"
)

// The sizes of the two NIfTI headers, which are in their first four bytes, and the magic of a
// NIfTI-2 file with its own data. The line ends in it reveal a file that was copied as text.
const (
	nifti1Size = 348
	nifti2Size = 540
	magic      = "n+2\x00\r\n\x1a\n"
)

// ecodeCIFTI marks the header extension with the XML of CIFTI.
const ecodeCIFTI = 32

// maxExtensions is the largest number of extensions before CIFTI's. Files have one.
const maxExtensions = 100

// fileHeader is the NIfTI-2 header as in a file (nifti2.h, struct nifti_2_header), 540 bytes.
type fileHeader struct {
	Size                                     int32
	Magic                                    [8]byte
	Datatype, Bitpix                         int16
	Dim                                      [8]int64
	IntentP                                  [3]float64
	Pixdim                                   [8]float64
	VoxOffset                                int64
	Slope, Inter                             float64
	CalMax, CalMin, SliceDuration, TimeShift float64
	SliceStart, SliceEnd                     int64
	Description                              [80]byte
	AuxFile                                  [24]byte
	QformCode, SformCode                     int32
	Quatern, Qoffset                         [3]float64
	Srow                                     [3][4]float64
	SliceCode, Units, IntentCode             int32
	IntentName                               [16]byte
	DimInfo                                  byte
	Unused                                   [15]byte
}

// numbers lists the types by NIfTI's code, without complex and 128-bit numbers and colours, which
// do not fit into a matrix of float64.
var numbers = map[int16]array.Number{
	2: array.Uint(1), 4: array.Int(2), 8: array.Int(4), 16: array.Float(4), 64: array.Float(8),
	256: array.Int(1), 512: array.Uint(2), 768: array.Uint(4), 1024: array.Int(8),
	1280: array.Uint(8),
}

// readFileHeader reads the header and detects its byte order.
func readFileHeader(s *source) (*fileHeader, binary.ByteOrder) {
	if s.left() < 4 {
		array.Failf("%d bytes are too few for a CIFTI-2 file", s.left())
	}
	b := make([]byte, nifti2Size)
	s.read(b[:4], "NIfTI header")
	order, size := byteOrder(b)
	switch {
	case size == nifti1Size:
		array.Failf("a NIfTI-1 file, an image volume: CIFTI-2 data is in NIfTI-2 " +
			"files with names such as X.ptseries.nii or X.dtseries.nii")
	case size != nifti2Size:
		array.Failf("not a NIfTI file: begins with %.60q, not with a header size of %d", b[:4],
			nifti2Size)
	case s.left() < nifti2Size-4:
		array.FailDamaged("expected %d bytes of NIfTI-2 header, the file has %d", nifti2Size, s.limit)
	}
	s.read(b[4:], "NIfTI-2 header")
	h := new(fileHeader)
	array.Got(binary.Decode(b, order, h))
	if string(h.Magic[:4]) == "ni2\x00" {
		array.Failf("the header of a NIfTI-2 pair (.hdr and .img): CIFTI-2 keeps " +
			"header and data in one .nii file")
	}
	if string(h.Magic[:]) != magic {
		array.Failf("magic %.60q, not %.60q: could the file be damaged, or copied as text?",
			h.Magic[:], magic)
	}
	return h, order
}

// byteOrder returns the byte order in which the first four bytes are the size of a NIfTI header,
// and that size.
func byteOrder(b []byte) (binary.ByteOrder, uint32) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if size := order.Uint32(b); size == nifti1Size || size == nifti2Size {
			return order, size
		}
	}
	return binary.LittleEndian, 0
}

// errNoCIFTI is the error for a NIfTI-2 file without the XML.
var errNoCIFTI = errors.New(
	"a NIfTI-2 file without a CIFTI extension (code 32): not a CIFTI file, perhaps an image volume")

// findXML walks the header's extensions and returns the text of CIFTI's, without padding zeros.
func findXML(s *source, h *fileHeader, order binary.ByteOrder) []byte {
	if h.VoxOffset < nifti2Size || h.VoxOffset > s.limit {
		array.FailDamaged("vox_offset says that the data begins at byte %d, %s", h.VoxOffset, s.holds(0))
	}
	if h.VoxOffset < nifti2Size+4 {
		array.Fail(errNoCIFTI)
	}
	var b [8]byte
	if s.read(b[:4], "extension flag"); b[0] == 0 {
		array.Fail(errNoCIFTI)
	}
	for range maxExtensions {
		start := s.at
		if h.VoxOffset-start < int64(len(b)) {
			array.Fail(errNoCIFTI)
		}
		s.read(b[:], "header extension")
		size, code := int64(int32(order.Uint32(b[:]))), order.Uint32(b[4:])
		if size < int64(len(b)) {
			array.FailDamaged("the header extension at byte %d says that it has %d "+
				"bytes; it needs at least %d", start, size, len(b))
		}
		if size > h.VoxOffset-start {
			array.FailDamaged("the header extension at byte %d says that it has %d "+
				"bytes, but the data begins after %d (vox_offset %d)", start, size,
				h.VoxOffset-start, h.VoxOffset)
		}
		if code == ecodeCIFTI {
			return bytes.TrimRight(s.xml(size-int64(len(b))), "\x00")
		}
		s.skip(size - int64(len(b)))
	}
	array.FailDamaged("none of the first %d header extensions is CIFTI's", maxExtensions)
	return nil
}

// layout describes the data according to the header.
type layout struct {
	dims         [2]int // by CIFTI's dimension: dim[5], dim[6]
	count        int
	number       array.Number
	slope, inter float64 // 1 and 0 if the header has no scaling
}

// layout checks the dimensions and the type of the numbers, and that the file is long enough for them.
func (h *fileHeader) layout(s *source) layout {
	switch {
	case h.Dim[0] == 7:
		array.Failf("dim[0] is 7: a CIFTI-2 file of three axes (intent %d); only files of "+
			"two are read", h.IntentCode)
	case h.Dim[0] != 6:
		array.FailDamaged("dim[0] is %d; a CIFTI-2 file of two axes has 6", h.Dim[0])
	case !slices.Equal(h.Dim[1:5], []int64{1, 1, 1, 1}):
		array.FailDamaged("dim[1] to dim[4] are %d; CIFTI-2 has 1 in all", h.Dim[1:5])
	case h.Dim[5] < 1 || h.Dim[6] < 1 || h.Dim[5] > math.MaxInt32 || h.Dim[6] > math.MaxInt32:
		array.FailDamaged("dim[5] and dim[6] are %d and %d; they must lie between 1 and "+
			"2^31-1", h.Dim[5], h.Dim[6])
	}
	l := layout{slope: 1, dims: [2]int{int(h.Dim[5]), int(h.Dim[6])}}
	var ok bool
	if l.number, ok = numbers[h.Datatype]; !ok {
		array.Failf("datatype %d; read are the integers of 8 to 64 bits, float32 (16) "+
			"and float64 (64)", h.Datatype)
	}
	if h.Bitpix != 0 && int(h.Bitpix) != 8*l.number.Bytes {
		array.FailDamaged("datatype %d (%s) has %d bits, bitpix says %d", h.Datatype,
			l.number, 8*l.number.Bytes, h.Bitpix)
	}
	l.count = array.Got(array.Count(l.dims[:], 8))
	if want := int64(l.count) * int64(l.number.Bytes); want > s.limit-h.VoxOffset {
		array.FailDamaged("expected %d bytes of data, %s", want, s.holds(h.VoxOffset))
	}
	if h.Slope != 0 && !math.IsNaN(h.Slope) && !math.IsInf(h.Slope, 0) {
		l.slope, l.inter = h.Slope, h.Inter
		if math.IsNaN(l.inter) || math.IsInf(l.inter, 0) {
			array.FailDamaged("scl_slope is %v but scl_inter is %v", h.Slope, h.Inter)
		}
	}
	return l
}

// readNumbers reads the data.
func readNumbers(s *source, l layout, order binary.ByteOrder) []float64 {
	n := array.Numbers{Shape: []int{l.dims[1], l.dims[0]}, Bytes: l.number.Bytes, Type: l.number.String(),
		Decode: func(b []byte) (float64, error) {
			v, err := l.number.Exact(b, order)
			return v*l.slope + l.inter, err
		},
	}
	return array.Got(n.Read(s.r, s.budget))
}
