package cifti

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// largestExponent bounds SeriesExponent and MeterExponent; 10^308 is the end of float64.
const largestExponent = 300

// indicesMap reads a MatrixIndicesMap and puts it at the axes that it applies to.
func (p *parser) indicesMap(e xml.StartElement, m *Image) error {
	at := attributes{e: e}
	applies := at.text("AppliesToMatrixDimension")
	if at.err != nil {
		return at.err
	}
	var axes []int
	for s := range strings.SplitSeq(applies, ",") {
		i := slices.Index([]string{"0", "1"}, strings.TrimSpace(s))
		if i < 0 {
			return fmt.Errorf("AppliesToMatrixDimension is %q; the dimensions of a matrix are "+
				"0 and 1", clip(applies))
		}
		if m.Axes[i].Kind != "" || slices.Contains(axes, i) {
			return fmt.Errorf("dimension %d has two MatrixIndicesMaps", i)
		}
		axes = append(axes, i)
	}
	a := Axis{Length: m.Axes[axes[0]].Length}
	if err := p.axis(e, &a); err != nil {
		return fmt.Errorf("dimension %s (dim[%d] is %d): %w", applies, 5+axes[0], a.Length, err)
	}
	for _, i := range axes {
		if m.Axes[i].Length != a.Length {
			return fmt.Errorf("one MatrixIndicesMap applies to dimensions %s, but dim[5] and "+
				"dim[6] are %d and %d", applies, m.Axes[0].Length, m.Axes[1].Length)
		}
		m.Axes[i] = a
	}
	return nil
}

// axis reads what a MatrixIndicesMap says about an axis whose length is known.
func (p *parser) axis(e xml.StartElement, a *Axis) error {
	at := attributes{e: e}
	kind := at.text("IndicesMapToDataType")
	if at.err != nil {
		return at.err
	}
	var element func(xml.StartElement) error
	switch a.Kind = AxisKind(kind); a.Kind {
	case Series:
		if err := a.series(e); err != nil {
			return err
		}
		return p.empty(e)
	case Parcels:
		element = func(e xml.StartElement) error { return p.parcels(e, a) }
	case BrainModels:
		element = func(e xml.StartElement) error { return p.models(e, a) }
	case Scalars, Labels:
		element = func(e xml.StartElement) error { return p.namedMap(e, a) }
	default:
		return fmt.Errorf("IndicesMapToDataType is %q, not one of CIFTI-2's: could the file "+
			"be damaged?", clip(kind))
	}
	if err := p.each(string(a.Kind), element); err != nil {
		return err
	}
	return a.check()
}

// series reads the attributes of a SERIES axis.
func (a *Axis) series(e xml.StartElement) error {
	at := attributes{e: e}
	n := at.integer("NumberOfSeriesPoints", 1, math.MaxInt32)
	exponent := at.integer("SeriesExponent", -largestExponent, largestExponent)
	start, step := at.real("SeriesStart"), at.real("SeriesStep")
	unit := at.text("SeriesUnit")
	if at.err != nil {
		return at.err
	}
	if n != a.Length {
		return fmt.Errorf("NumberOfSeriesPoints is %d for a length of %d", n, a.Length)
	}
	if !slices.Contains([]string{"SECOND", "HERTZ", "METER", "RADIAN"}, unit) {
		return fmt.Errorf("SeriesUnit is %q; CIFTI-2 has SECOND, HERTZ, METER and RADIAN",
			clip(unit))
	}
	// Division by a power of ten that float64 holds is rounded once: 720 with -3 is 0.72 and not
	// the number beside it.
	scale := func(v float64) float64 {
		if exponent < 0 {
			return v / math.Pow10(-exponent)
		}
		return v * math.Pow10(exponent)
	}
	a.Series = Sampling{Start: scale(start), Step: scale(step), Exponent: exponent, Unit: unit}
	if math.IsInf(a.Series.Start, 0) || math.IsInf(a.Series.Step, 0) {
		return fmt.Errorf("SeriesStart %v and SeriesStep %v with SeriesExponent %d are beyond "+
			"float64", start, step, exponent)
	}
	return nil
}

// parcels reads an element of a PARCELS axis.
func (p *parser) parcels(e xml.StartElement, a *Axis) error {
	switch e.Name.Local {
	case "Volume":
		return p.volume(e, a)
	case "Surface":
		at := attributes{e: e}
		a.Surfaces = append(a.Surfaces, Surface{at.text("BrainStructure"),
			at.integer("SurfaceNumberOfVertices", 1, math.MaxInt32)})
		if at.err != nil {
			return at.err
		}
		return p.empty(e)
	case "Parcel":
		at := attributes{e: e}
		name := at.text("Name")
		if at.err != nil {
			return at.err
		}
		if len(a.Parcels) == a.Length {
			return fmt.Errorf("parcel %q is one too many for a length of %d", clip(name), a.Length)
		}
		parcel, err := p.parcel(name)
		a.Parcels = append(a.Parcels, parcel)
		return err
	}
	return p.unexpected(e, string(a.Kind))
}

// parcel reads what a Parcel contains.
func (p *parser) parcel(name string) (Parcel, error) {
	parcel := Parcel{Name: name}
	err := p.each("Parcel", func(e xml.StartElement) error {
		switch e.Name.Local {
		case "Vertices":
			at := attributes{e: e}
			structure := at.text("BrainStructure")
			if at.err != nil {
				return at.err
			}
			index, err := p.indices(e)
			parcel.Vertices = append(parcel.Vertices, Vertices{structure, index})
			return err
		case "VoxelIndicesIJK":
			voxels, err := p.voxels(e)
			parcel.Voxels = append(parcel.Voxels, voxels...)
			return err
		}
		return p.unexpected(e, "Parcel")
	})
	if err != nil {
		return parcel, fmt.Errorf("parcel %q: %w", clip(name), err)
	}
	return parcel, nil
}

// models reads an element of a BRAIN_MODELS axis.
func (p *parser) models(e xml.StartElement, a *Axis) error {
	switch e.Name.Local {
	case "Volume":
		return p.volume(e, a)
	case "BrainModel":
		m, err := p.model(e)
		if err != nil {
			return fmt.Errorf("the model of %q: %w", clip(m.Structure), err)
		}
		if len(a.Models) == a.Length {
			return fmt.Errorf("more than %d models for a length of %d", a.Length, a.Length)
		}
		a.Models = append(a.Models, m)
		return nil
	}
	return p.unexpected(e, string(a.Kind))
}

// model reads a BrainModel.
func (p *parser) model(e xml.StartElement) (m Model, err error) {
	at := attributes{e: e}
	m.Structure = at.text("BrainStructure")
	m.Offset, m.Count = at.integer("IndexOffset", 0, math.MaxInt32), at.integer(
		"IndexCount", 1, math.MaxInt32)
	kind := at.text("ModelType")
	switch kind {
	case "CIFTI_MODEL_TYPE_SURFACE":
		m.SurfaceVertices = at.integer("SurfaceNumberOfVertices", 1, math.MaxInt32)
	case "CIFTI_MODEL_TYPE_VOXELS":
	default:
		return m, fmt.Errorf("ModelType is %q, neither CIFTI_MODEL_TYPE_SURFACE nor "+
			"CIFTI_MODEL_TYPE_VOXELS", clip(kind))
	}
	if at.err != nil {
		return m, at.err
	}
	lists := 0
	err = p.each("BrainModel", func(e xml.StartElement) (err error) {
		switch lists++; {
		case lists == 1 && m.Surface() && e.Name.Local == "VertexIndices":
			m.Vertices, err = p.indices(e)
		case lists == 1 && !m.Surface() && e.Name.Local == "VoxelIndicesIJK":
			m.Voxels, err = p.voxels(e)
		default:
			err = p.unexpected(e, "a BrainModel of type "+kind)
		}
		return err
	})
	return m, err
}

// namedMap reads an element of a SCALARS or LABELS axis.
func (p *parser) namedMap(e xml.StartElement, a *Axis) error {
	if e.Name.Local != "NamedMap" {
		return p.unexpected(e, string(a.Kind))
	}
	if len(a.Maps) == a.Length {
		return fmt.Errorf("more than %d maps for a length of %d", a.Length, a.Length)
	}
	var m Map
	err := p.each("NamedMap", func(e xml.StartElement) error {
		switch {
		case e.Name.Local == "MapName":
			name, err := p.text(e)
			m.Name = string(name)
			return err
		case e.Name.Local == "MetaData":
			return p.metadata(&m.Metadata)
		case e.Name.Local == "LabelTable" && a.Kind == Labels && m.Labels == nil:
			m.Labels = map[int]Label{}
			return p.labels(m.Labels)
		}
		return p.unexpected(e, "a NamedMap of "+string(a.Kind))
	})
	if err == nil && a.Kind == Labels && m.Labels == nil {
		err = errors.New("has no LabelTable")
	}
	if err != nil {
		return fmt.Errorf("map %d %q: %w", len(a.Maps), clip(m.Name), err)
	}
	a.Maps = append(a.Maps, m)
	return nil
}

// labels reads a LabelTable.
func (p *parser) labels(table map[int]Label) error {
	return p.each("LabelTable", func(e xml.StartElement) error {
		if e.Name.Local != "Label" {
			return p.unexpected(e, "LabelTable")
		}
		at := attributes{e: e}
		key := at.integer("Key", math.MinInt32, math.MaxInt32)
		rgba := [4]float64{at.real("Red"), at.real("Green"), at.real("Blue"), at.real("Alpha")}
		if at.err != nil {
			return at.err
		}
		if _, twice := table[key]; twice {
			return fmt.Errorf("the key %d is in the label table twice", key)
		}
		name, err := p.text(e)
		table[key] = Label{string(name), rgba}
		return err
	})
}

// volume reads a Volume.
func (p *parser) volume(e xml.StartElement, a *Axis) error {
	if a.Volume != nil {
		return errors.New("two Volumes")
	}
	a.Volume = new(Volume)
	at := attributes{e: e}
	size := at.text("VolumeDimensions")
	if at.err != nil {
		return at.err
	}
	lengths := strings.Split(size, ",")
	for i, s := range lengths {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n < 1 || len(lengths) != 3 {
			return fmt.Errorf("VolumeDimensions are %q, not three lengths such as 91,109,91",
				clip(size))
		}
		a.Volume.Size[i] = int(n)
	}
	transforms := 0
	err := p.each("Volume", func(e xml.StartElement) error {
		if transforms++; e.Name.Local != "TransformationMatrixVoxelIndicesIJKtoXYZ" ||
			transforms > 1 {
			return p.unexpected(e, "Volume")
		}
		return p.transform(e, a.Volume)
	})
	if err == nil && transforms == 0 {
		err = errors.New("the Volume has no TransformationMatrixVoxelIndicesIJKtoXYZ")
	}
	return err
}

// transform reads the matrix of a Volume.
func (p *parser) transform(e xml.StartElement, v *Volume) error {
	at := attributes{e: e}
	v.MeterExponent = at.integer("MeterExponent", -largestExponent, largestExponent)
	if at.err != nil {
		return at.err
	}
	b, err := p.text(e)
	if err != nil {
		return err
	}
	n := 0
	for f := range strings.FieldsSeq(string(b)) {
		if n == 16 {
			return errors.New("TransformationMatrixVoxelIndicesIJKtoXYZ has more than 16 numbers")
		}
		if v.Affine[n/4][n%4], err = finite(f); err != nil {
			return fmt.Errorf("TransformationMatrixVoxelIndicesIJKtoXYZ: %w", err)
		}
		n++
	}
	if n != 16 {
		return fmt.Errorf("TransformationMatrixVoxelIndicesIJKtoXYZ has %d numbers, not 16", n)
	}
	return nil
}
