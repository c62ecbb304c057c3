package cifti

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"slices"
)

// Template holds the parcels of a file, for which numbers of other origin can be written.
type Template struct {
	Name  string   // of the file
	Names []string // of the parcels
	space []byte   // the XML of the parcels, with their volume and surfaces
}

// ReadTemplate reads the parcels of a ptseries, pscalar, pconn or another file with an axis of parcels.
func ReadTemplate(path string) (*Template, error) {
	m, err := ReadHeader(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Axes[:], func(a Axis) bool { return a.Kind == Parcels })
	if i < 0 {
		return nil, fmt.Errorf("%s is a %s file, which has no parcels: give a ptseries, pscalar or pconn file, "+
			"such as wb_command -cifti-parcellate writes", path, m.Kind)
	}
	t := &Template{Name: path, space: m.Axes[i].text}
	for _, p := range m.Axes[i].Parcels {
		t.Names = append(t.Names, p.Name)
	}
	return t, nil
}

// ParcelMap is one map of numbers over parcels.
type ParcelMap struct {
	Name   string
	Values []float64 // [parcels], as the template lists them
}

// Encode returns a pscalar.nii of float32 with a column for each of maps.
func (t *Template) Encode(maps []ParcelMap) ([]byte, error) {
	text, err := t.xml(maps)
	if err != nil {
		return nil, err
	}
	const flag, extension, unit = 4, 8, 16 // bytes; extensions are multiples of unit
	size := (extension + len(text) + unit - 1) / unit * unit
	h := fileHeader{Size: nifti2Size, Magic: [8]byte([]byte(magic)), Datatype: 16, Bitpix: 32, Slope: 1,
		Dim:    [8]int64{6, 1, 1, 1, 1, int64(len(maps)), int64(len(t.Names)), 1},
		Pixdim: [8]float64{1, 1, 1, 1, 1, 1, 1, 1}, VoxOffset: int64(nifti2Size + flag + size),
		IntentCode: 3008, // NIFTI_INTENT_CONNECTIVITY_PARCELLATED_SCALAR
	}
	copy(h.IntentName[:], "ConnParcelScalr")
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, h)
	binary.Write(&b, binary.LittleEndian, [3]int32{1, int32(size), ecodeCIFTI}) // a flag, and the extension
	b.Write(text)
	b.Write(make([]byte, size-extension-len(text)))
	for parcel := range t.Names {
		for _, m := range maps {
			binary.Write(&b, binary.LittleEndian, float32(m.Values[parcel]))
		}
	}
	return b.Bytes(), nil
}

// xml returns the text of a pscalar.nii with these maps.
func (t *Template) xml(maps []ParcelMap) ([]byte, error) {
	var b bytes.Buffer
	const opening = `<MatrixIndicesMap AppliesToMatrixDimension="%d" IndicesMapToDataType="%s">`
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><CIFTI Version="2"><Matrix>`+opening, 0, Scalars)
	for _, m := range maps {
		if len(m.Values) != len(t.Names) {
			return nil, fmt.Errorf("%d numbers of %q for the %d parcels of %s", len(m.Values), m.Name, len(t.Names),
				t.Name)
		}
		b.WriteString("<NamedMap><MapName>")
		if err := xml.EscapeText(&b, []byte(m.Name)); err != nil {
			return nil, err
		}
		b.WriteString("</MapName></NamedMap>")
	}
	fmt.Fprintf(&b, `</MatrixIndicesMap>`+opening, 1, Parcels)
	b.Write(t.space)
	b.WriteString(`</MatrixIndicesMap></Matrix></CIFTI>`)
	return b.Bytes(), nil
}
