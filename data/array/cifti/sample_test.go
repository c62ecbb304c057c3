package cifti

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Offsets in the NIfTI-2 header (nifti2.h), apart from the struct of the package.
const (
	atMagic, atDatatype, atBitpix, atDim, atVoxOffset  = 4, 12, 14, 16, 168
	atSlope, atInter, atIntent, atName, atFlag, atSize = 176, 184, 504, 508, 540, 544
)

// sample describes a file to be built byte by byte.
type sample struct {
	order    binary.AppendByteOrder // little-endian if nil
	xml      string
	dims     [2]int64
	datatype int16
	bits     int16
	data     []byte
	edit     func(b []byte, o binary.ByteOrder) // changes the header before it is used
}

// build returns the file.
func (s sample) build() []byte {
	if s.order == nil {
		s.order = binary.LittleEndian
	}
	o := s.order.(binary.ByteOrder)
	size := (8 + len(s.xml) + 15) / 16 * 16
	b := make([]byte, atSize+size)
	o.PutUint32(b, 540)
	copy(b[atMagic:], "n+2\x00\r\n\x1a\n")
	o.PutUint16(b[atDatatype:], uint16(s.datatype))
	o.PutUint16(b[atBitpix:], uint16(s.bits))
	for i, d := range []int64{6, 1, 1, 1, 1, s.dims[0], s.dims[1], 1} {
		o.PutUint64(b[atDim+8*i:], uint64(d))
	}
	o.PutUint64(b[atVoxOffset:], uint64(len(b)))
	o.PutUint64(b[atSlope:], math.Float64bits(1))
	o.PutUint32(b[atIntent:], 3004)
	copy(b[atName:], "ConnParcelSries")
	b[atFlag] = 1
	o.PutUint32(b[atSize:], uint32(size))
	o.PutUint32(b[atSize+4:], 32)
	copy(b[atSize+8:], s.xml)
	if s.edit != nil {
		s.edit(b, o)
	}
	return append(b, s.data...)
}

// Parts of XML texts.
const (
	seriesMap = `<MatrixIndicesMap AppliesToMatrixDimension="0" ` +
		`IndicesMapToDataType="CIFTI_INDEX_TYPE_SERIES" ` +
		`NumberOfSeriesPoints="3" SeriesExponent="0" SeriesStart="0" SeriesStep="1" ` +
		`SeriesUnit="SECOND"/>`
	surfaceL  = `<Surface BrainStructure="L" SurfaceNumberOfVertices="9"/>`
	parcelA   = `<Parcel Name="A"><Vertices BrainStructure="L">0 1</Vertices></Parcel>`
	parcelB   = `<Parcel Name="B"><Vertices BrainStructure="L">2</Vertices></Parcel>`
	transform = `<TransformationMatrixVoxelIndicesIJKtoXYZ MeterExponent="-3">` +
		`1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</TransformationMatrixVoxelIndicesIJKtoXYZ>`
	volume234  = `<Volume VolumeDimensions="2,3,4">` + transform + `</Volume>`
	labelThree = `<Label Key="3" Red="1" Green="0" Blue="0" Alpha="1">three</Label>`
)

// wrap puts maps into a text.
func wrap(maps ...string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><CIFTI Version="2"><Matrix>` + strings.Join(maps,
		"") + "</Matrix></CIFTI>"
}

// mapOf returns a MatrixIndicesMap.
func mapOf(applies, kind string, elements ...string) string {
	return fmt.Sprintf(
		`<MatrixIndicesMap AppliesToMatrixDimension="%s" `+
			`IndicesMapToDataType="CIFTI_INDEX_TYPE_%s">`+
			`%s</MatrixIndicesMap>`, applies, kind, strings.Join(elements, ""))
}

// surfaceModel and voxelModel return a BrainModel.
func surfaceModel(structure string, offset, count int, vertices string) string {
	return fmt.Sprintf(
		`<BrainModel IndexOffset="%d" IndexCount="%d" BrainStructure="%s" `+
			`ModelType="CIFTI_MODEL_TYPE_SURFACE" `+
			`SurfaceNumberOfVertices="9"><VertexIndices>%s</VertexIndices></BrainModel>`,
		offset, count,
		structure, vertices)
}

func voxelModel(structure string, offset, count int, voxels string) string {
	return fmt.Sprintf(
		`<BrainModel IndexOffset="%d" IndexCount="%d" BrainStructure="%s" `+
			`ModelType="CIFTI_MODEL_TYPE_VOXELS">`+
			`<VoxelIndicesIJK>%s</VoxelIndicesIJK></BrainModel>`, offset, count, structure, voxels)
}

// good is a ptseries file of two parcels and three times.
func good() sample {
	return sample{
		xml:  wrap(seriesMap, mapOf("1", "PARCELS", surfaceL, parcelA, parcelB)),
		dims: [2]int64{3, 2}, datatype: 2, bits: 8,
		data: []byte{1, 2, 3, 4, 5, 6},
	}
}

// with returns the good file with another text.
func with(xml string) []byte {
	s := good()
	s.xml = xml
	return s.build()
}

// axis1 returns a file whose axis 1, of two indices, is given by a map of the kind.
func axis1(kind string, elements ...string) []byte {
	return with(wrap(seriesMap, mapOf("1", kind, elements...)))
}

// header returns the good file with a change in its header.
func header(edit func(b []byte, o binary.ByteOrder)) []byte {
	s := good()
	s.edit = edit
	return s.build()
}

// put64 changes eight bytes of a header.
func put64(at int, v uint64) []byte {
	return header(func(b []byte, o binary.ByteOrder) { o.PutUint64(b[at:], v) })
}

// zipped compresses a file.
func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// nifti1 returns a NIfTI-1 header, whose vox_offset is a float32 that is not a number.
func nifti1(o binary.ByteOrder) []byte {
	b := make([]byte, 400)
	o.PutUint32(b, 348)
	o.PutUint32(b[108:], math.Float32bits(float32(math.NaN())))
	copy(b[344:], "n+1\x00")
	return b
}

// bomb is a "billion laughs" text; expanded it has 10^9 times three letters.
func bomb() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE CIFTI [<!ENTITY l0 "lol">`)
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, `<!ENTITY l%d "%s">`, i, strings.Repeat(fmt.Sprintf("&l%d;", i-1), 10))
	}
	b.WriteString(
		`]><CIFTI Version="2"><Matrix><MetaData><MD><Name>n</Name><Value>&l9;</Value></MD></MetaData></Matrix></CIFTI>`)
	return b.String()
}

// replaced returns the good file with a part of its text replaced.
func replaced(old, new string) []byte { return with(strings.Replace(good().xml, old, new, 1)) }

// manyExtensions returns a file with n empty extensions and no CIFTI.
func manyExtensions(n int) []byte {
	s := good()
	s.xml = strings.Repeat(" ", 8*(n-1))
	s.edit = func(b []byte, o binary.ByteOrder) {
		for i := range n {
			o.PutUint32(b[atSize+8*i:], 8)
			o.PutUint32(b[atSize+8*i+4:], 6)
		}
	}
	return s.build()
}

// cut leaves out the last n bytes.
func cut(b []byte, n int) []byte { return b[:len(b)-n] }

// flip changes one byte, counted from the end.
func flip(b []byte, at int) []byte {
	b[len(b)+at] ^= 0xff
	return b
}

// readBytes reads a file in memory.
func readBytes(b []byte) (*Image, error) {
	return decode(bytes.NewReader(b), int64(len(b)), "x.nii", true)
}
