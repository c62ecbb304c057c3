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

// document is the XML of a file.
type document struct {
	Version string `xml:"Version,attr"`
	Matrix  struct {
		Maps []indicesMap `xml:"MatrixIndicesMap"`
	} `xml:"Matrix"`
}

// indicesMap is a MatrixIndicesMap: an axis and the dimensions it applies to.
type indicesMap struct {
	Axis
	Applies string `xml:"AppliesToMatrixDimension,attr"`
	Points  int    `xml:"NumberOfSeriesPoints,attr"`
}

// rule lists the contents of an element: attributes, each once; elements, at most once where the name ends
// with "?"; and text.
type rule struct {
	attributes, elements []string
	text                 bool
}

// rules are those of CIFTI-2's elements. A MatrixIndicesMap and a BrainModel have the rules of their
// kind. The depth of the text is bounded by these rules, and not by the file.
var rules = func() map[string]rule {
	f := strings.Fields
	return map[string]rule{
		"":                  {elements: f("CIFTI?")},
		"CIFTI":             {f("Version"), f("Matrix?"), false},
		"Matrix":            {nil, f("MetaData MatrixIndicesMap"), false},
		"MetaData":          {nil, f("MD"), false},
		"MD":                {nil, f("Name? Value?"), false},
		"Value":             {text: true},
		"Name":              {text: true},
		"MapName":           {text: true},
		string(Series):      {f("NumberOfSeriesPoints SeriesExponent SeriesStart SeriesStep SeriesUnit"), nil, false},
		string(Parcels):     {nil, f("Volume? Surface Parcel"), false},
		string(BrainModels): {nil, f("Volume? BrainModel"), false},
		string(Scalars):     {nil, f("NamedMap"), false},
		string(Labels):      {nil, f("NamedMap"), false},
		"Volume":            {f("VolumeDimensions"), f(transformation + "?"), false},
		transformation:      {f("MeterExponent"), nil, true},
		"Surface":           {f("BrainStructure SurfaceNumberOfVertices"), nil, false},
		"Parcel":            {f("Name"), f("Vertices VoxelIndicesIJK"), false},
		"Vertices":          {f("BrainStructure"), nil, true},
		"VoxelIndicesIJK":   {text: true},
		"VertexIndices":     {text: true},
		modelType + "SURFACE": {f("BrainStructure IndexOffset IndexCount SurfaceNumberOfVertices"),
			f("VertexIndices?"), false},
		modelType + "VOXELS": {f("BrainStructure IndexOffset IndexCount"), f("VoxelIndicesIJK?"), false},
		"NamedMap":           {nil, f("MapName? MetaData LabelTable?"), false},
		"LabelTable":         {nil, f("Label"), false},
		"Label":              {f("Key Red Green Blue Alpha"), nil, true},
	}
}()

// ranges are the least and the largest value of each attribute that is an integer.
var ranges = map[string][2]int{
	"NumberOfSeriesPoints": {1, math.MaxInt32}, "SurfaceNumberOfVertices": {1, math.MaxInt32},
	"IndexOffset": {0, math.MaxInt32}, "IndexCount": {1, math.MaxInt32},
	"Key":            {math.MinInt32, math.MaxInt32},
	"SeriesExponent": {-300, 300}, "MeterExponent": {-300, 300}, // 10^308 is the end of float64
}

// reals are the attributes that are finite numbers.
var reals = []string{"SeriesStart", "SeriesStep", "Red", "Green", "Blue", "Alpha"}

const (
	transformation = "TransformationMatrixVoxelIndicesIJKtoXYZ"
	modelType      = "CIFTI_MODEL_TYPE_"
)

// parse checks the XML against the rules and reads it.
func parse(text []byte) *document {
	defer array.Within("XML")
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	checkRules(newDecoder(text))
	d, x := new(document), newDecoder(text)
	if err := x.Decode(d); err != nil {
		line, _ := x.InputPos()
		array.Failf("line %d: %w", line, err)
	}
	return d
}

func newDecoder(text []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("is encoded in %.60q; only UTF-8, which CIFTI-2 asks for, is read", name)
	}
	return d
}

// open is an element whose end was not read, with the names of the elements in it so far.
type open struct {
	name string
	rule
	seen map[string]bool
}

// checkRules reads all elements and refuses what the rules do not have. It also refuses a DOCTYPE,
// which could define entities, so that no file means more than it shows.
func checkRules(d *xml.Decoder) {
	stack := []open{{rule: rules[""], seen: map[string]bool{}}}
	for {
		t, err := d.Token()
		line, _ := d.InputPos()
		top := &stack[len(stack)-1]
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && top.seen["CIFTI"]:
			return
		case errors.Is(err, io.EOF):
			array.FailDamaged("the CIFTI extension has no CIFTI element")
		case errors.As(err, &syntax):
			array.FailDamaged("line %d: %s", syntax.Line, syntax.Msg)
		}
		array.Fail(err)
		switch t := t.(type) {
		case xml.Directive:
			array.Failf("line %d: a DOCTYPE or other declaration; CIFTI has none, and it is refused "+
				"because it could define entities", line)
		case xml.StartElement:
			stack = append(stack, top.begin(t, line))
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if text := bytes.TrimSpace(t); len(text) > 0 && !top.text {
				array.FailDamaged("line %d: the text %.60q in %s, which has none", line,
					string(text), top.place())
			}
		}
	}
}

// place names the element for a message.
func (o *open) place() string {
	switch {
	case o.name != "":
		return o.name
	case o.seen["CIFTI"]:
		return "the text after the end of CIFTI"
	}
	return "the place of CIFTI"
}

// begin returns the element e, which begins in a line, within o.
func (o *open) begin(e xml.StartElement, line int) open {
	defer array.Within("line %d", line)
	name := e.Name.Local
	switch once := slices.Contains(o.elements, name+"?"); {
	case once && o.seen[name], !once && !slices.Contains(o.elements, name):
		array.Failf("the element %.60q has no place in %s", name, o.place())
	}
	o.seen[name] = true
	attributes := map[string][]string{}
	for _, a := range e.Attr {
		attributes[a.Name.Local] = append(attributes[a.Name.Local], a.Value)
	}
	one := func(name string) string {
		if n := len(attributes[name]); n != 1 {
			array.Failf("%s has %d attributes %s, not one", e.Name.Local, n, name)
		}
		return attributes[name][0]
	}
	switch name {
	case "CIFTI":
		checkVersion(one("Version"))
	case "MatrixIndicesMap":
		one("AppliesToMatrixDimension")
		name = kindOf("IndicesMapToDataType", one("IndicesMapToDataType"))
	case "BrainModel":
		name = kindOf("ModelType", one("ModelType"))
	}
	next := open{name: name, rule: rules[name], seen: map[string]bool{}}
	for _, a := range next.attributes {
		checkValue(a, one(a))
	}
	return next
}

// checkValue checks an attribute that is a number.
func checkValue(attribute, value string) {
	if bounds, ok := ranges[attribute]; ok {
		v, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || v < bounds[0] || v > bounds[1] {
			array.Failf("%s is %.60q, not an integer from %d to %d", attribute, value, bounds[0], bounds[1])
		}
	}
	if slices.Contains(reals, attribute) {
		if _, err := finite(value); err != nil {
			array.Failf("%s is %w", attribute, err)
		}
	}
}

// kindOf returns the value of an attribute that names the rule of its element.
func kindOf(attribute, kind string) string {
	if _, ok := rules[kind]; !ok || !strings.HasPrefix(kind, "CIFTI_") {
		array.FailDamaged("%s is %.60q, not one of CIFTI-2's", attribute, kind)
	}
	return kind
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

// finite parses a finite number.
func finite(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%.60q, not a finite number", s)
	}
	return v, nil
}

// Indices are vertices of a surface, from 0.
type Indices []int32

// UnmarshalText reads the text of an element.
func (list *Indices) UnmarshalText(text []byte) error {
	*list = slices.Grow(*list, len(bytes.Fields(text)))
	for f := range bytes.FieldsSeq(text) {
		v, err := strconv.ParseInt(string(f), 10, 32)
		if err != nil || v < 0 {
			return fmt.Errorf("%.60q is not an index from 0 to 2^31-1", string(f))
		}
		*list = append(*list, int32(v))
	}
	return nil
}

// Voxels are places i, j, k in a volume, from 0.
type Voxels [][3]int32

// UnmarshalText reads the text of an element.
func (list *Voxels) UnmarshalText(text []byte) error {
	var numbers Indices
	if err := numbers.UnmarshalText(text); err != nil {
		return err
	}
	if len(numbers)%3 != 0 {
		return fmt.Errorf("VoxelIndicesIJK: %d numbers are no triples", len(numbers))
	}
	for v := range slices.Chunk(numbers, 3) {
		*list = append(*list, [3]int32(v))
	}
	return nil
}

// UnmarshalXML reads a Parcel element. Its errors name the parcel.
func (p *Parcel) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	type plain Parcel
	if err := d.DecodeElement((*plain)(p), &start); err != nil {
		return fmt.Errorf("parcel %.60q: %w", p.Name, err)
	}
	return nil
}

// UnmarshalXML reads a BrainModel element. Its errors name the model's structure.
func (m *Model) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	type plain Model
	if err := d.DecodeElement((*plain)(m), &start); err != nil {
		return fmt.Errorf("the model of %.60q: %w", m.Structure, err)
	}
	return nil
}

// LabelTable has the names of the keys in the data of a label file.
type LabelTable map[int]string

// UnmarshalXML reads a LabelTable element.
func (t *LabelTable) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var list struct {
		Label []struct {
			Key  int    `xml:",attr"`
			Name string `xml:",chardata"`
		}
	}
	if err := d.DecodeElement(&list, &start); err != nil {
		return err
	}
	*t = make(LabelTable, len(list.Label))
	for _, l := range list.Label {
		if _, twice := (*t)[l.Key]; twice {
			return fmt.Errorf("the key %d is in the label table twice", l.Key)
		}
		(*t)[l.Key] = strings.TrimSpace(l.Name)
	}
	return nil
}

// UnmarshalXML reads a Volume element.
func (v *Volume) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var x struct {
		Dimensions string `xml:"VolumeDimensions,attr"`
		Transform  *struct {
			MeterExponent int    `xml:",attr"`
			Text          string `xml:",chardata"`
		} `xml:"TransformationMatrixVoxelIndicesIJKtoXYZ"`
	}
	if err := d.DecodeElement(&x, &start); err != nil {
		return err
	}
	lengths := strings.Split(x.Dimensions, ",")
	for i, s := range lengths {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n < 1 || len(lengths) != 3 {
			return fmt.Errorf("VolumeDimensions are %.60q, not three lengths such as 91,109,91", x.Dimensions)
		}
		v.Size[i] = int(n)
	}
	if x.Transform == nil {
		return fmt.Errorf("the Volume has no %s", transformation)
	}
	v.MeterExponent = x.Transform.MeterExponent
	numbers := strings.Fields(x.Transform.Text)
	if len(numbers) != 16 {
		return fmt.Errorf("%s has %d numbers, not 16", transformation, len(numbers))
	}
	for i, text := range numbers {
		var err error
		if v.Affine[i/4][i%4], err = finite(text); err != nil {
			return fmt.Errorf("%s: %w", transformation, err)
		}
	}
	return nil
}
