package cifti

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// hostile lists files that are wrong in one way each, with what the message must contain.
var hostile = []struct {
	name string
	file []byte
	want []string
}{
	{"empty", nil, []string{"0 bytes are too few"}},
	{"three bytes", []byte("abc"), []string{"3 bytes are too few"}},
	{"a GIFTI file", []byte(`<?xml version="1.0"?><GIFTI/>`),
		[]string{"not a NIfTI file", `"<?xm"`}},
	{"half a header", good().build()[:300], []string{"expected 540 bytes", "the file has 300",
		"damaged"}},
	{"NIfTI-1", nifti1(binary.LittleEndian), []string{"NIfTI-1"}},
	{"NIfTI-1 big-endian", nifti1(binary.BigEndian), []string{"NIfTI-1"}},
	{"NIfTI-1 compressed", zipped(nifti1(binary.LittleEndian)), []string{"NIfTI-1"}},
	{"NIfTI-2 pair", header(func(b []byte, _ binary.ByteOrder) { copy(b[atMagic:], "ni2\x00") }),
		[]string{"pair", "one .nii"}},
	{"text-mode copy", header(func(b []byte, _ binary.ByteOrder) {
		copy(b[atMagic:], "n+2\x00\n\x1a\n\x00")
	}), []string{"magic", "copied as text"}},
	{"no extension", header(func(b []byte, _ binary.ByteOrder) { b[atFlag] = 0 }),
		[]string{"NIfTI-2 file without a CIFTI extension"}},
	{"no extension, data at once", put64(atVoxOffset, 544),
		[]string{"NIfTI-2 file without a CIFTI extension"}},
	{"data right after the header", put64(atVoxOffset, 540),
		[]string{"NIfTI-2 file without a CIFTI extension"}},
	{"another extension",
		header(func(b []byte, o binary.ByteOrder) { o.PutUint32(b[atSize+4:], 6) }),
		[]string{"NIfTI-2 file without a CIFTI extension"}},
	{"extension of 7", header(func(b []byte, o binary.ByteOrder) { o.PutUint32(b[atSize:], 7) }),
		[]string{"byte 544", "has 7 bytes", "at least 8"}},
	{"extension of 0", header(func(b []byte, o binary.ByteOrder) { o.PutUint32(b[atSize:], 0) }),
		[]string{"has 0 bytes", "at least 8"}},
	{"extension of -16",
		header(func(b []byte, o binary.ByteOrder) { o.PutUint32(b[atSize:], 1<<32-16) }),
		[]string{"has -16 bytes"}},
	{"extension of 2^31-1",
		header(func(b []byte, o binary.ByteOrder) { o.PutUint32(b[atSize:], 1<<31-1) }),
		[]string{"has 2147483647 bytes", "vox_offset"}},
	{"many extensions", manyExtensions(200), []string{"first 100 header extensions"}},
	{"vox_offset NaN", put64(atVoxOffset, math.Float64bits(math.NaN())),
		[]string{"vox_offset", "byte 9221120237041090561", "damaged"}},
	{"vox_offset -1", put64(atVoxOffset, 1<<64-1), []string{"vox_offset", "byte -1"}},
	{"vox_offset 0", put64(atVoxOffset, 0), []string{"vox_offset", "byte 0"}},
	{"vox_offset beyond the file", put64(atVoxOffset, 1<<20), []string{"vox_offset", "byte 1048576",
		"the file has"}},
	{"vox_offset NaN, compressed", zipped(put64(atVoxOffset, math.Float64bits(math.NaN()))),
		[]string{"vox_offset", "compressed file"}},
	{"dim[0] 200", put64(atDim, 200), []string{"dim[0] is 200", "damaged"}},
	{"dim[0] -1", put64(atDim, 1<<64-1), []string{"dim[0] is -1", "damaged"}},
	{"dim[0] 7", put64(atDim, 7), []string{"three axes"}},
	{"dim[2] 2", put64(atDim+16, 2), []string{"dim[1] to dim[4]", "[1 2 1 1]"}},
	{"dim[5] 0", put64(atDim+40, 0), []string{"dim[5] and dim[6] are 0 and 2"}},
	{"dim[6] -2", put64(atDim+48, 1<<64-2), []string{"3 and -2"}},
	{"dim[6] huge", put64(atDim+48, 1<<40), []string{"1099511627776"}},
	{"dims beyond the file", put64(atDim+48, 1<<31-1),
		[]string{"expected 6442450941 bytes of data, the file has 6", "could the file be damaged?"}},
	{"dims beyond any file", header(func(b []byte, o binary.ByteOrder) {
		o.PutUint64(b[atDim+40:], 1<<31-1)
		o.PutUint64(b[atDim+48:], 1<<31-1)
	}), []string{"larger than any file"}},
	{"dims beyond what can expand", zipped(put64(atDim+48, 1<<31-1)),
		[]string{"expected 6442450941 bytes of data, the compressed file can hold at most"}},
	{"complex numbers", header(func(b []byte, o binary.ByteOrder) {
		o.PutUint16(b[atDatatype:], 32)
	}), []string{"datatype 32"}},
	{"bitpix", header(func(b []byte, o binary.ByteOrder) { o.PutUint16(b[atBitpix:], 16) }),
		[]string{"uint8", "8 bits", "says 16"}},
	{"scl_inter NaN", put64(atInter, math.Float64bits(math.NaN())), []string{"scl_inter is NaN"}},
	{"five of six bytes", good().build()[:len(good().build())-1],
		[]string{"expected 6 bytes of data, the file has 5: could the file be damaged?"}},
	{"cut in the XML", good().build()[:700], []string{"vox_offset", "the file has 700"}},
	{"compressed, five of six bytes", zipped(good().build()[:len(good().build())-1]),
		[]string{"expected 6 bytes of numbers", "damaged"}},
	{"compressed and cut", cut(zipped(good().build()), 40), []string{"damaged"}},
	{"compressed, no checksum", cut(zipped(good().build()), 8), []string{"gzip", "damaged"}},
	{"compressed, wrong checksum", flip(zipped(good().build()), -8),
		[]string{"checksum", "damaged"}},
	{"gzip's two bytes", []byte{0x1f, 0x8b}, []string{"gzip header", "damaged"}},
	{"CIFTI-1", replaced(`Version="2"`, `Version="1"`),
		[]string{"CIFTI-1", "wb_command -file-convert -cifti-version-convert IN 2 OUT"}},
	{"CIFTI-1.0 of other dims", func() []byte {
		s := good()
		s.xml = strings.Replace(s.xml, `Version="2"`, `Version="1.0"`, 1)
		s.edit = func(b []byte, o binary.ByteOrder) { o.PutUint64(b[atDim:], 5) }
		return s.build()
	}(), []string{"CIFTI-1", "-cifti-version-convert IN 2 OUT"}},
	{"CIFTI-3", replaced(`Version="2"`, `Version="3"`), []string{`version "3"`}},
	{"CIFTI-20", replaced(`Version="2"`, `Version="20"`), []string{`version "20"`}},
	{"no version", replaced(` Version="2"`, ``), []string{"0 attributes Version"}},
	{"two versions", replaced(`Version="2"`, `Version="2" Version="1"`),
		[]string{"2 attributes Version"}},
	{"no XML", with(""), []string{"no CIFTI element"}},
	{"text, no XML", with("hello"), []string{`"hello"`}},
	{"another root", with("<GIFTI/>"), []string{`"GIFTI"`}},
	{"XML bomb", with(bomb()), []string{"DOCTYPE", "entities"}},
	{"external entity", with(`<!DOCTYPE CIFTI [<!ENTITY x SYSTEM "file:///etc/passwd">]>` +
		strings.Replace(good().xml, `Name="A"`, `Name="&x;"`, 1)), []string{"DOCTYPE"}},
	{"external DTD", with(`<!DOCTYPE CIFTI SYSTEM "http://localhost:1/x.dtd">` + good().xml),
		[]string{"DOCTYPE"}},
	{"undeclared entity", replaced(`Name="A"`, `Name="&x;"`),
		[]string{"invalid character entity &x;"}},
	{"entity in text", replaced(`0 1`, `0 &x; 1`), []string{"invalid character entity &x;"}},
	{"Latin-1", replaced(`UTF-8`, `ISO-8859-1`), []string{"ISO-8859-1", "only UTF-8"}},
	{"UTF-8 broken", replaced(`"A"`, "\"\xff\""), []string{"invalid UTF-8"}},
	{"XML without an end", with(good().xml[:len(good().xml)-20]), []string{"unexpected EOF"}},
	{"tags crossed", replaced("</Parcel>", "</Vertices>"), []string{"line 1", "Parcel"}},
	{"a zero in the XML", replaced("<Parcel", "\x00<Parcel"), []string{"illegal character"}},
	{"deep nesting", with(`<CIFTI Version="2">` + strings.Repeat("<Matrix>", 100_000)),
		[]string{`"Matrix" has no place in Matrix`}},
	{"deep unknown", with(`<CIFTI Version="2"><Matrix>` + strings.Repeat("<x>", 100_000)),
		[]string{`"x" has no place in Matrix`}},
	{"two matrices", replaced("</Matrix>", "</Matrix><Matrix/>"),
		[]string{`"Matrix" has no place in CIFTI`}},
	{"a second root", with(good().xml + "<CIFTI/>"), []string{"outside CIFTI"}},
	{"text after the end", with(good().xml + "x"), []string{"outside CIFTI"}},
	{"text in Matrix", replaced("<Matrix>", "<Matrix>x"), []string{`the text "x" in Matrix`}},
	{"no matrix", with(`<CIFTI Version="2"/>`),
		[]string{"no MatrixIndicesMap applies to dimension 0"}},
	{"no map of dimension 1", with(wrap(seriesMap)),
		[]string{"no MatrixIndicesMap applies to dimension 1"}},
	{"two maps of dimension 0", with(wrap(seriesMap, seriesMap)), []string{"dimension 0 has two"}},
	{"dimension 0,0", replaced(`Dimension="0"`, `Dimension="0,0"`),
		[]string{"dimension 0 has two"}},
	{"dimension 2", replaced(`Dimension="0"`, `Dimension="2"`), []string{`"2"`, "0 and 1"}},
	{"dimension empty", replaced(`Dimension="0"`, `Dimension=""`),
		[]string{`AppliesToMatrixDimension is ""`}},
	{"unknown kind", axis1("TIME_POINTS"), []string{"CIFTI_INDEX_TYPE_TIME_POINTS"}},
	{"one map, two lengths", with(wrap(strings.Replace(seriesMap, `"0"`, `"0,1"`, 1))),
		[]string{"dimensions 0,1", "3 and 2"}},
	{"series of 4", replaced(`Points="3"`, `Points="4"`),
		[]string{"4 series points for a length of 3", "dim[5]"}},
	{"series of x", replaced(`Points="3"`, `Points="x"`), []string{`NumberOfSeriesPoints is "x"`}},
	{"series with elements", replaced(`"SECOND"/>`, `"SECOND"><x/></MatrixIndicesMap>`),
		[]string{`"x"`}},
	{"parcels missing", axis1("PARCELS", surfaceL, parcelA),
		[]string{"1 parcels for a length of 2", "dim[6]"}},
	{"parcels too many", axis1("PARCELS", surfaceL, parcelA, parcelB, `<Parcel Name="C"/>`),
		[]string{"3 parcels for a length of 2", "dim[6] is 2"}},
	{"parcel twice", axis1("PARCELS", surfaceL, parcelA, parcelA), []string{`"A" occurs twice`}},
	{"parcel without a name", axis1("PARCELS", surfaceL, parcelA, "<Parcel/>"),
		[]string{"0 attributes Name"}},
	{"vertex in two parcels", axis1("PARCELS", surfaceL, parcelA, strings.Replace(parcelB, ">2<",
		">1<", 1)), []string{`vertex 1 of "L" occurs twice`}},
	{"vertex beyond the surface", axis1("PARCELS", surfaceL, parcelA,
		strings.Replace(parcelB, ">2<", ">9<", 1)), []string{"vertex 9 of a surface of 9", `"B"`}},
	{"vertex of no surface", axis1("PARCELS", parcelA, parcelB),
		[]string{`"L"`, "not among the surfaces"}},
	{"surface twice", axis1("PARCELS", surfaceL, surfaceL, parcelA, parcelB),
		[]string{"surface \"L\" occurs twice"}},
	{"structure twice", axis1("PARCELS", surfaceL, parcelA, strings.Replace(parcelB, "</Vertices>",
		`</Vertices><Vertices BrainStructure="L"/>`, 1)), []string{"twice"}},
	{"vertex -1", axis1("PARCELS", surfaceL, parcelA, strings.Replace(parcelB, ">2<", ">-1<", 1)),
		[]string{`"-1" is not an index`, `"B"`}},
	{"vertex 2^31", axis1("PARCELS", surfaceL, parcelA, strings.Replace(parcelB, ">2<",
		">2147483648<", 1)), []string{`"2147483648" is not an index`}},
	{"voxels without a volume", axis1("PARCELS", surfaceL, parcelA,
		`<Parcel Name="B"><VoxelIndicesIJK>0 0 0</VoxelIndicesIJK></Parcel>`),
		[]string{"no Volume"}},
	{"voxels not triples", axis1("PARCELS", surfaceL, parcelA,
		`<Parcel Name="B"><VoxelIndicesIJK>0 0</VoxelIndicesIJK></Parcel>`),
		[]string{"not triples"}},
	{"voxel outside", axis1("PARCELS", volume234,
		`<Parcel Name="A"/><Parcel Name="B"><VoxelIndicesIJK>0 3 0</VoxelIndicesIJK></Parcel>`),
		[]string{"[0 3 0]", "[2 3 4]"}},
	{"voxel twice", axis1("PARCELS", volume234,
		`<Parcel Name="A"/><Parcel Name="B"><VoxelIndicesIJK>0 1 0 0 1 `+
			`0</VoxelIndicesIJK></Parcel>`), []string{"voxel [0 1 0] occurs twice"}},
	{"two volumes", axis1("PARCELS", volume234, volume234), []string{`"Volume" has no place`}},
	{"volume of two lengths", axis1("PARCELS", strings.Replace(volume234, "2,3,4", "2,3", 1)),
		[]string{`"2,3"`}},
	{"volume of four lengths", axis1("PARCELS", strings.Replace(volume234, "2,3,4", "2,3,4,5", 1)),
		[]string{`"2,3,4,5"`}},
	{"volume of 0", axis1("PARCELS", strings.Replace(volume234, "2,3,4", "2,0,4", 1)),
		[]string{`"2,0,4"`}},
	{"no transform", axis1("PARCELS", `<Volume VolumeDimensions="2,3,4"/>`),
		[]string{"has 0 numbers of Transformation"}},
	{"transform of 15", axis1("PARCELS", strings.Replace(volume234, "1 0 0 0 0 1", "1 0 0 0 0", 1)),
		[]string{"has 15 numbers"}},
	{"transform of 17", axis1("PARCELS", strings.Replace(volume234, "1 0 0 0 0 1", "1 0 0 0 0 1 0",
		1)), []string{"has 17 numbers"}},
	{"transform of x", axis1("PARCELS", strings.Replace(volume234, "1 0 0 0 0 1", "x 0 0 0 0 1",
		1)), []string{`"x"`}},
	{"model count", axis1("BRAIN_MODELS", surfaceModel("L", 0, 2, "0")),
		[]string{`"L" has 1 vertices`, "IndexCount is 2"}},
	{"models missing", axis1("BRAIN_MODELS", surfaceModel("L", 0, 1, "0")),
		[]string{"1 vertices and voxels for a length of 2"}},
	{"models too long", axis1("BRAIN_MODELS", surfaceModel("L", 0, 3, "0 1 2")),
		[]string{"3 vertices and voxels for a length of 2"}},
	{"models with a hole", axis1("BRAIN_MODELS", surfaceModel("L", 1, 1, "0")),
		[]string{"begins at index 1", "ends at 0"}},
	{"models overlap", axis1("BRAIN_MODELS", surfaceModel("L", 0, 1, "0"),
		surfaceModel("R", 0, 1, "0")), []string{"begins at index 0", "ends at 1"}},
	{"models too many", axis1("BRAIN_MODELS", surfaceModel("L", 0, 1, "0"), surfaceModel("R", 1, 1,
		"0"), surfaceModel("S", 2, 1, "0")), []string{"3 vertices and voxels for a length of 2"}},
	{"model twice", axis1("BRAIN_MODELS", surfaceModel("L", 0, 1, "0"),
		surfaceModel("L", 1, 1, "1")), []string{`surface "L" occurs twice`}},
	{"model vertex twice", axis1("BRAIN_MODELS", surfaceModel("L", 0, 2, "5 5")),
		[]string{`vertex 5 of "L" occurs twice`}},
	{"model vertex twice, unsorted", axis1("BRAIN_MODELS", surfaceModel("L", 0, 3, "5 2 5")),
		[]string{`vertex 5 of "L" occurs twice`}},
	{"model vertex beyond", axis1("BRAIN_MODELS", surfaceModel("L", 0, 2, "10 9")),
		[]string{"vertex 10 of a surface of 9"}},
	{"model of two lists", axis1("BRAIN_MODELS", strings.Replace(surfaceModel("L", 0, 2, "5 6"),
		"</BrainModel>", "<VertexIndices/></BrainModel>", 1)),
		[]string{`"VertexIndices" has no place`}},
	{"model of voxels with vertices",
		axis1("BRAIN_MODELS", strings.Replace(surfaceModel("L", 0, 2, "5 6"), "TYPE_SURFACE",
			"TYPE_VOXELS", 1)), []string{`"VertexIndices" has no place`}},
	{"model type", axis1("BRAIN_MODELS", strings.Replace(surfaceModel("L", 0, 2, "5 6"),
		"TYPE_SURFACE", "TYPE_GREY", 1)), []string{"CIFTI_MODEL_TYPE_GREY"}},
	{"model voxels without volume", axis1("BRAIN_MODELS", voxelModel("T", 0, 2, "0 0 0 1 0 0")),
		[]string{"no Volume"}},
	{"model voxel outside", axis1("BRAIN_MODELS", volume234, voxelModel("T", 0, 2, "0 0 0 2 0 0")),
		[]string{"[2 0 0]"}},
	{"model voxel outside, with a surface", axis1("BRAIN_MODELS", volume234, strings.Replace(voxelModel("T", 0, 2,
		"0 0 0 2 0 0"), " ModelType", ` SurfaceNumberOfVertices="9" ModelType`, 1)), []string{"[2 0 0]"}},
	{"voxel in two models", axis1("BRAIN_MODELS", volume234, voxelModel("T", 0, 1, "1 0 0"),
		voxelModel("U", 1, 1, "1 0 0")), []string{"voxel [1 0 0] occurs twice"}},
	{"maps missing", axis1("SCALARS", "<NamedMap><MapName>a</MapName></NamedMap>"),
		[]string{"1 maps for a length of 2"}},
	{"maps too many", axis1("SCALARS", strings.Repeat("<NamedMap/>", 3)),
		[]string{"3 maps for a length of 2"}},
	{"scalars with labels", axis1("SCALARS", "<NamedMap><LabelTable/></NamedMap>"),
		[]string{"has a LabelTable"}},
	{"labels without a table", axis1("LABELS", "<NamedMap><MapName>a</MapName></NamedMap>"),
		[]string{`map 0 "a"`, "no LabelTable"}},
	{"label tables", axis1("LABELS", "<NamedMap><LabelTable/><LabelTable/></NamedMap>"),
		[]string{`"LabelTable" has no place`}},
	{"label twice", axis1("LABELS",
		"<NamedMap><LabelTable>"+labelThree+labelThree+"</LabelTable></NamedMap>"),
		[]string{"key 3", "twice"}},
	{"label key", axis1("LABELS", "<NamedMap><LabelTable>"+strings.Replace(labelThree, `"3"`, `"x"`,
		1)+"</LabelTable></NamedMap>"), []string{`Key is "x"`}},
	{"label in a label", axis1("LABELS", "<NamedMap><LabelTable>"+strings.Replace(labelThree,
		"three", labelThree, 1)+"</LabelTable></NamedMap>"),
		[]string{`"Label" has no place in Label`}},
	{"metadata", replaced("<Matrix>", "<Matrix><MetaData><x/></MetaData>"),
		[]string{`"x" has no place in MetaData`}},
	{"metadata pair", replaced("<Matrix>", "<Matrix><MetaData><MD><x/></MD></MetaData>"),
		[]string{`"x" has no place in MD`}},
}

// TestGoodSample checks that the file that the hostile ones are made from is read.
func TestGoodSample(t *testing.T) {
	plain := good().build()
	for _, file := range [][]byte{plain, zipped(plain),
		with("\xef\xbb\xbf \n" + good().xml + "\n<!-- end -->\n")} {
		m, err := readBytes(file)
		if err != nil || m.Kind != Ptseries ||
			!slices.Equal(m.Data.Data, []float64{1, 2, 3, 4, 5, 6}) ||
			!slices.Equal(m.Data.Shape, []int{2, 3}) {
			t.Errorf("%+v %v", m, err)
		}
	}
}

// TestOtherExtensions checks that extensions before and after CIFTI's, and a gap before the data,
// are left out.
func TestOtherExtensions(t *testing.T) {
	b := good().build()
	o := binary.LittleEndian
	other := make([]byte, 32)
	o.PutUint32(other, 32)
	o.PutUint32(other[4:], 6)
	b = slices.Insert(b, atSize, other...)
	end := len(b) - len(good().data)
	b = slices.Insert(b, end, slices.Concat(other, make([]byte, 48))...)
	o.PutUint64(b[atVoxOffset:], uint64(end+80))
	for _, file := range [][]byte{b, zipped(b)} {
		if m, err := readBytes(file); err != nil ||
			!slices.Equal(m.Data.Data, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%+v %v", m, err)
		}
	}
}

// TestHostileFiles checks that each file is refused with a message that names it and what is wrong,
// and that no more memory is allocated than a small multiple of the file and a constant.
func TestHostileFiles(t *testing.T) {
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			var err error
			expect.AllocationsAtMost(t, 8*len(test.file)+256<<10, func() { _, err = readBytes(test.file) })
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q lacks %q", err, want)
				}
			}
			if len(err.Error()) > 500 || strings.Contains(err.Error(), "\n") {
				t.Errorf("message of %d bytes: %q", len(err.Error()), err)
			}
		})
	}
}

// TestEveryCut checks that a file with any number of bytes missing is refused, compressed or not,
// and never panics with any one byte changed.
func TestEveryCut(t *testing.T) {
	whole := good().build()
	for _, file := range [][]byte{whole, zipped(whole)} {
		for n := range file {
			if _, err := readBytes(file[:n]); err == nil {
				t.Errorf("the first %d of %d bytes were accepted", n, len(file))
			}
		}
		for i := range file {
			for _, x := range []byte{0x01, 0x80, 0xff} {
				changed := slices.Clone(file)
				changed[i] ^= x
				_, _ = readBytes(changed)
			}
		}
	}
}

// TestManyStructures checks that structures in one parcel take a time that grows with their number,
// not its square: 32 times as many some 32 times the time, and not 1,024 times.
func TestManyStructures(t *testing.T) {
	read := func(n int) time.Duration {
		var surfaces, vertices strings.Builder
		for i := range n {
			fmt.Fprintf(&surfaces, `<Surface BrainStructure="%d" SurfaceNumberOfVertices="9"/>`, i)
			fmt.Fprintf(&vertices, `<Vertices BrainStructure="%d"/>`, i)
		}
		start := time.Now()
		if _, err := readBytes(axis1("PARCELS", surfaces.String(),
			`<Parcel Name="A">`+vertices.String()+`</Parcel><Parcel Name="B"/>`)); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}
	few := read(3_000)
	if many := read(96_000); many > 256*few {
		t.Errorf("3,000 take %v and 96,000 take %v", few, many)
	}
}

// TestSizeBeyondReader checks a reader that ends before the size that was promised, as a file cut
// while it is read.
func TestSizeBeyondReader(t *testing.T) {
	whole := good().build()
	for _, n := range []int{2, 100, 600, len(whole) - 1} {
		_, err := decode(bytes.NewReader(whole[:n]), int64(len(whole)), "x.nii", true)
		expect.Error(t, err, "damaged")
	}
}

// noise returns bytes that hardly compress, so that deflate's bound lets large promises through.
func noise() []byte {
	b := make([]byte, 500_000)
	for i, x := 0, uint32(1); i < len(b); i++ {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// TestMemoryOfCompressed checks that a compressed file that promises much more than it has costs
// what it has: first in its data, then in its XML.
func TestMemoryOfCompressed(t *testing.T) {
	s := good()
	s.dims[1] = 1 << 27 // 3 x 2^27 bytes, 3 GB as float64
	s.xml = wrap(seriesMap, mapOf("1", "SERIES"))
	s.xml = strings.Replace(s.xml, `TYPE_SERIES"></`,
		`TYPE_SERIES" NumberOfSeriesPoints="134217728"></`, 1)
	s.data = noise()
	long := good()
	long.data = noise()
	long.edit = func(b []byte, o binary.ByteOrder) {
		o.PutUint64(b[atVoxOffset:], 400_000_016+atSize)
		o.PutUint32(b[atSize:], 400_000_016)
	}
	for want, file := range map[string][]byte{
		"expected 402653184 bytes of numbers, and they end before":   zipped(s.build()),
		"expected 400000008 bytes of CIFTI XML, and they end before": zipped(long.build()),
	} {
		var err error
		expect.AllocationsAtMost(t, 40*len(file), func() { _, err = readBytes(file) })
		expect.Error(t, err, want)
	}
}
