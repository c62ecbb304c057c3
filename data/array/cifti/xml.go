package cifti

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
)

const (
	transformation = "TransformationMatrixVoxelIndicesIJKtoXYZ"
	maxExponent    = 300 // of powers of ten; 10^308 is the end of float64
)

// indicesMap is a MatrixIndicesMap: an axis of the length that the XML says, and the dimensions that it
// applies to, such as 0,1.
type indicesMap struct {
	Axis
	applies string
}

// parse reads the XML in one pass. Each element has a method that says what may be in it; anything else
// is refused, so that the depth of the text is bounded by the methods, and not by the file.
func parse(text []byte) []indicesMap {
	defer array.Within("XML")
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	all := element{Decoder: xml.NewDecoder(bytes.NewReader(text)), file: text}
	all.Name.Local = "the XML outside CIFTI"
	all.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("is encoded in %.60q; only UTF-8, which CIFTI-2 asks for, is read", name)
	}
	maps, err := array.Try(all.maps)
	if err != nil {
		line, _ := all.InputPos()
		array.Failf("line %d: %w", line, err)
	}
	return maps
}

// element is an element whose start was read.
type element struct {
	xml.StartElement
	*xml.Decoder
	file []byte           // the whole text
	into *strings.Builder // the text of the element; nil where it has none
}

// each reads e to its end and calls f with each element in it, which f reads to its end. Their names are
// among names, at most once where "?" follows. A DOCTYPE, which could define entities, is refused, so
// that no file means more than it shows.
func (e element) each(names string, f func(element)) {
	for left := strings.Fields(names); ; {
		t, err := e.Token()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF): // of the whole text; elsewhere it is a syntax error
			return
		case errors.As(err, &syntax):
			array.FailDamaged("%s", syntax.Msg)
		}
		array.Fail(err)
		switch t := t.(type) {
		case xml.Directive:
			array.Failf("a DOCTYPE or other declaration; CIFTI has none, and it is refused because it " +
				"could define entities")
		case xml.StartElement:
			if once := slices.Index(left, t.Name.Local+"?"); once >= 0 {
				left = slices.Delete(left, once, once+1)
			} else if !slices.Contains(left, t.Name.Local) {
				array.Failf("the element %.60q has no place in %s", t.Name.Local, e.Name.Local)
			}
			f(element{t, e.Decoder, e.file, nil})
		case xml.EndElement:
			return
		case xml.CharData:
			if e.into != nil {
				e.into.Write(t)
			} else if text := bytes.TrimSpace(t); len(text) > 0 {
				array.FailDamaged("the text %.60q in %s, which has none", text, e.Name.Local)
			}
		}
	}
}

// text reads e, which has no elements, and returns its text.
func (e element) text() string {
	e.into = new(strings.Builder)
	e.each("", nil)
	return e.into.String()
}

// attribute returns an attribute, which must be there once.
func (e element) attribute(name string) (value string) {
	n := 0
	for _, a := range e.Attr {
		if a.Name.Local == name {
			value = a.Value
			n++
		}
	}
	if n != 1 {
		array.Failf("%s has %d attributes %s, not one", e.Name.Local, n, name)
	}
	return value
}

// integer returns an attribute that is an integer from least to most.
func (e element) integer(name string, least, most int) int {
	value := e.attribute(name)
	v, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || v < least || v > most {
		array.Failf("%s is %.60q, not an integer from %d to %d", name, value, least, most)
	}
	return v
}

// count returns an attribute that counts something that is there.
func (e element) count(name string) int { return e.integer(name, 1, math.MaxInt32) }

// finite reads a finite number, which messages call name.
func finite(name, text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		array.Failf("%s is %.60q, not a finite number", name, text)
	}
	return v
}

// indices returns the text of e, which is indices from 0.
func (e element) indices() (list []int32) {
	for f := range strings.FieldsSeq(e.text()) {
		v, err := strconv.ParseInt(f, 10, 32)
		if err != nil || v < 0 {
			array.Failf("%.60q is not an index from 0 to 2^31-1", f)
		}
		list = append(list, int32(v))
	}
	return list
}

// voxels returns the text of e, which is places i, j, k in a volume.
func (e element) voxels() (list [][3]int32) {
	numbers := e.indices()
	if len(numbers)%3 != 0 {
		array.Failf("%d numbers of %s are not triples", len(numbers), e.Name.Local)
	}
	for v := range slices.Chunk(numbers, 3) {
		list = append(list, [3]int32(v))
	}
	return list
}

// maps reads the whole text.
func (e element) maps() (maps []indicesMap) {
	found := false
	e.each("CIFTI?", func(root element) {
		found = true
		checkVersion(root.attribute("Version"))
		root.each("Matrix?", func(matrix element) {
			matrix.each("MetaData MatrixIndicesMap", func(c element) {
				if c.Name.Local == "MetaData" {
					c.metadata()
				} else {
					maps = append(maps, c.indicesMap())
				}
			})
		})
	})
	if !found {
		array.FailDamaged("the CIFTI extension has no CIFTI element")
	}
	return maps
}

// checkVersion takes 2 and 2.x.
func checkVersion(version string) {
	switch major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major {
	case "2":
	case "1":
		array.Failf("a CIFTI-1 file (version %.60q); only CIFTI-2 is read, so convert it with "+
			"`wb_command -file-convert -cifti-version-convert IN 2 OUT`", version)
	default:
		array.Failf("CIFTI version %.60q; only CIFTI-2 is read", version)
	}
}

// metadata leaves out a MetaData element.
func (e element) metadata() {
	e.each("MD", func(pair element) {
		pair.each("Name? Value?", func(c element) { c.text() })
	})
}

// axisKinds lists the elements in a MatrixIndicesMap of a kind, and what its indices stand for.
var axisKinds = map[AxisKind]struct{ elements, indices string }{
	Series:      {"", "series points"},
	Parcels:     {"Volume? Surface Parcel", "parcels"},
	BrainModels: {"Volume? BrainModel", "vertices and voxels"},
	Scalars:     {"NamedMap", "maps"},
	Labels:      {"NamedMap", "maps"},
}

// indicesMap reads a MatrixIndicesMap element.
func (e element) indicesMap() (m indicesMap) {
	m.applies, m.Kind = e.attribute("AppliesToMatrixDimension"), AxisKind(e.attribute("IndicesMapToDataType"))
	kind, known := axisKinds[m.Kind]
	if !known {
		array.FailDamaged("IndicesMapToDataType is %.60q, not one of CIFTI-2's", m.Kind)
	}
	if m.Kind == Series {
		m.Length = e.count("NumberOfSeriesPoints")
	}
	e.Name.Local = string(m.Kind) // in messages
	start := e.InputOffset()
	e.each(kind.elements, func(c element) {
		switch c.Name.Local {
		case "Volume":
			m.Volume = c.volume()
		case "Surface":
			m.Surfaces = append(m.Surfaces,
				Surface{c.attribute("BrainStructure"), c.count("SurfaceNumberOfVertices")})
			c.each("", nil)
		case "Parcel":
			m.Parcels = append(m.Parcels, c.parcel())
		case "BrainModel":
			model := c.model()
			m.Models = append(m.Models, model)
			m.Length += model.Count
		case "NamedMap":
			m.Maps = append(m.Maps, c.namedMap())
		}
	})
	m.Length += len(m.Parcels) + len(m.Maps)
	if m.Kind == Parcels {
		m.text = e.file[start:e.InputOffset()]
		m.text = m.text[:max(0, bytes.LastIndex(m.text, []byte("</")))]
	}
	return m
}

// volume reads a Volume element.
func (e element) volume() *Volume {
	v := new(Volume)
	dimensions := e.attribute("VolumeDimensions")
	lengths := strings.Split(dimensions, ",")
	for i, s := range lengths {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n < 1 || len(lengths) != 3 {
			array.Failf("VolumeDimensions are %.60q, not three lengths such as 91,109,91", dimensions)
		}
		v.Size[i] = int(n)
	}
	var numbers []string
	e.each(transformation+"?", func(c element) {
		v.MeterExponent = c.integer("MeterExponent", -maxExponent, maxExponent)
		numbers = strings.Fields(c.text())
	})
	if len(numbers) != 16 {
		array.Failf("the Volume has %d numbers of %s, not 16", len(numbers), transformation)
	}
	for i, text := range numbers {
		v.Affine[i/4][i%4] = finite(transformation, text)
	}
	return v
}

// parcel reads a Parcel element. Errors name the parcel.
func (e element) parcel() Parcel {
	p := Parcel{Name: e.attribute("Name")}
	defer array.Within("parcel %.60q", p.Name)
	e.each("Vertices VoxelIndicesIJK", func(c element) {
		if c.Name.Local == "Vertices" {
			p.Vertices = append(p.Vertices, Vertices{c.attribute("BrainStructure"), c.indices()})
		} else {
			p.Voxels = append(p.Voxels, c.voxels()...)
		}
	})
	return p
}

// model reads a BrainModel element. Errors name the model's structure.
func (e element) model() Model {
	m := Model{Structure: e.attribute("BrainStructure")}
	defer array.Within("the model of %.60q", m.Structure)
	m.Offset, m.Count = e.integer("IndexOffset", 0, math.MaxInt32), e.count("IndexCount")
	switch kind := e.attribute("ModelType"); kind {
	case "CIFTI_MODEL_TYPE_SURFACE":
		m.SurfaceVertices = e.count("SurfaceNumberOfVertices")
		e.each("VertexIndices?", func(c element) { m.Vertices = c.indices() })
	case "CIFTI_MODEL_TYPE_VOXELS":
		e.each("VoxelIndicesIJK?", func(c element) { m.Voxels = c.voxels() })
	default:
		array.FailDamaged("ModelType is %.60q, not one of CIFTI-2's", kind)
	}
	return m
}

// namedMap reads a NamedMap element.
func (e element) namedMap() (m Map) {
	e.each("MapName? MetaData LabelTable?", func(c element) {
		switch c.Name.Local {
		case "MapName":
			m.Name = strings.TrimSpace(c.text())
		case "MetaData":
			c.metadata()
		case "LabelTable":
			m.Labels = c.labelTable()
		}
	})
	return m
}

// labelTable reads a LabelTable element.
func (e element) labelTable() map[int]string {
	table := map[int]string{}
	e.each("Label", func(c element) {
		key := c.integer("Key", math.MinInt32, math.MaxInt32)
		if _, twice := table[key]; twice {
			array.Failf("the key %d is in the label table twice", key)
		}
		table[key] = strings.TrimSpace(c.text())
	})
	return table
}
