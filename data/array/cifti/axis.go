package cifti

import (
	"cmp"
	"slices"
	"strings"

	"torchpe/data/array"
)

// AxisKind is the kind of objects for which the indices of an axis stand, in the terms of the
// format (IndicesMapToDataType).
type AxisKind string

// The kinds of axes.
const (
	BrainModels AxisKind = "CIFTI_INDEX_TYPE_BRAIN_MODELS"
	Parcels     AxisKind = "CIFTI_INDEX_TYPE_PARCELS"
	Series      AxisKind = "CIFTI_INDEX_TYPE_SERIES"
	Scalars     AxisKind = "CIFTI_INDEX_TYPE_SCALARS"
	Labels      AxisKind = "CIFTI_INDEX_TYPE_LABELS"
)

// Axis describes the rows or the columns of the data. Its kind decides which fields are filled; the
// two axes of a square matrix may share them.
type Axis struct {
	Kind     AxisKind
	Length   int
	Parcels  []Parcel  // PARCELS, one for each index
	Surfaces []Surface // PARCELS, the surfaces of their vertices
	Models   []Model   // BRAIN_MODELS, by ascending offset
	Maps     []Map     // SCALARS and LABELS, one for each index
	// Volume is the space of the voxels of PARCELS and BRAIN_MODELS, nil if the file has none.
	Volume *Volume
	text   []byte // PARCELS, the XML between the tags of the element
}

// Parcel is a named set of vertices and voxels.
type Parcel struct {
	Name     string
	Vertices []Vertices // at most one for each structure
	Voxels   [][3]int32 // indexes i, j, k in the volume, from 0
}

// Vertices are vertices of the surface of one structure.
type Vertices struct {
	Structure string  // such as CIFTI_STRUCTURE_CORTEX_LEFT
	Index     []int32 // from 0
}

// Surface is the size of the surface of a structure, including the excluded vertices of the medial wall.
type Surface struct {
	Structure string
	Vertices  int // such as 32492 for 32k_fs_LR
}

// Model lists the vertices or voxels of one structure, for the indices Offset to Offset+Count-1 of an axis.
type Model struct {
	Structure       string
	Offset          int
	Count           int
	SurfaceVertices int        // of the whole surface; 0 for voxels
	Vertices        []int32    // of a surface, [Count]
	Voxels          [][3]int32 // [Count]
}

// Surface reports whether the model has vertices; otherwise it has voxels.
func (m Model) Surface() bool { return m.SurfaceVertices > 0 }

// surfaces returns the surfaces of PARCELS or BRAIN_MODELS.
func (a *Axis) surfaces() []Surface {
	list := slices.Clip(a.Surfaces)
	for _, m := range a.Models {
		if m.Surface() {
			list = append(list, Surface{m.Structure, m.SurfaceVertices})
		}
	}
	return list
}

// Map is one index of a SCALARS or LABELS axis.
type Map struct {
	Name   string
	Labels map[int]string // the names of the keys in the data; nil for SCALARS
}

// Volume is the space of voxels.
type Volume struct {
	Size          [3]int        // voxels along i, j, k
	Affine        [4][4]float64 // from i, j, k to x, y, z in units of 10^MeterExponent metres
	MeterExponent int           // -3, millimetres, in most files
}

// setAxes sets the axes of an image, whose lengths are known from the header.
func (m *Image) setAxes(maps []indicesMap) {
	defer array.Within("XML")
	for _, x := range maps {
		x.apply(m)
	}
	for i, a := range m.Axes {
		if a.Kind == "" {
			array.Failf("no MatrixIndicesMap applies to dimension %d", i)
		}
	}
}

// apply sets the axes to which a MatrixIndicesMap applies.
func (x *indicesMap) apply(m *Image) {
	for i, s := range strings.Split(x.applies, ",") {
		axis := slices.Index([]string{"0", "1"}, strings.TrimSpace(s))
		if axis < 0 {
			array.Failf("AppliesToMatrixDimension is %.60q; the dimensions of a matrix are 0 and 1",
				x.applies)
		}
		length := m.Axes[axis].Length
		switch {
		case m.Axes[axis].Kind != "":
			array.Failf("dimension %d has two MatrixIndicesMaps", axis)
		case i > 0 && length != x.Length:
			array.Failf("one MatrixIndicesMap applies to dimensions %s, but dim[5] and dim[6] are %d "+
				"and %d", x.applies, m.Axes[0].Length, m.Axes[1].Length)
		case i == 0:
			x.check(axis, length)
		}
		m.Axes[axis] = x.Axis
	}
}

// check fails for an invalid axis, or for a length other than that in the header.
func (x *indicesMap) check(axis, length int) {
	defer array.Within("dimension %s (dim[%d] is %d)", x.applies, 5+axis, length)
	switch x.Kind {
	case Parcels:
		x.checkParcels()
	case BrainModels:
		x.checkModels()
	case Scalars, Labels:
		x.checkMaps()
	}
	if x.Length != length {
		array.Failf("%d %s for a length of %d", x.Length, axisKinds[x.Kind].indices, length)
	}
}

// checkMaps checks that maps of LABELS have a table, and that no others have one.
func (a *Axis) checkMaps() {
	for i, m := range a.Maps {
		switch {
		case a.Kind == Labels && m.Labels == nil:
			array.Failf("map %d %.60q has no LabelTable", i, m.Name)
		case a.Kind == Scalars && m.Labels != nil:
			array.Failf("map %d %.60q of SCALARS has a LabelTable", i, m.Name)
		}
	}
}

// checkParcels checks that parcels have distinct names.
func (a *Axis) checkParcels() {
	names := make(map[string]bool, len(a.Parcels))
	for _, p := range a.Parcels {
		if names[p.Name] {
			array.Failf("parcel %.60q occurs twice", p.Name)
		}
		names[p.Name] = true
	}
	a.checkSpace("parcel", a.Parcels)
}

// checkModels checks that the models follow each other.
func (a *Axis) checkModels() {
	slices.SortStableFunc(a.Models, func(m, n Model) int { return m.Offset - n.Offset })
	at := 0
	var parts []Parcel
	for _, m := range a.Models {
		if m.Offset != at {
			array.Failf("the model of %.60q begins at index %d, but the one before it ends at "+
				"%d", m.Structure, m.Offset, at)
		}
		at += m.Count
		if got := len(m.Vertices) + len(m.Voxels); got != m.Count {
			array.Failf("the model of %.60q has %d vertices or voxels, its IndexCount is %d",
				m.Structure, got, m.Count)
		}
		part := Parcel{Name: m.Structure, Voxels: m.Voxels}
		if m.Surface() {
			part.Vertices = []Vertices{{m.Structure, m.Vertices}}
		}
		parts = append(parts, part)
	}
	a.checkSpace("the model of", parts)
}

// checkSpace checks that vertices and voxels lie in their space and that none occurs twice. In
// messages, what precedes the name of a part.
func (a *Axis) checkSpace(what string, parts []Parcel) {
	sizes := make(map[string]int, len(a.Surfaces))
	for _, s := range a.surfaces() {
		if sizes[s.Structure] > 0 {
			array.Failf("surface %.60q occurs twice", s.Structure)
		}
		sizes[s.Structure] = s.Vertices
	}
	vertices := make(map[string][]int32, len(sizes))
	var voxels [][3]int32
	for _, p := range parts {
		a.checkPart(what, p, sizes)
		for _, v := range p.Vertices {
			vertices[v.Structure] = append(vertices[v.Structure], v.Index...)
		}
		voxels = append(voxels, p.Voxels...)
	}
	for structure, list := range vertices {
		if v, twice := repeated(list, cmp.Compare); twice {
			array.Failf("vertex %d of %.60q occurs twice", v, structure)
		}
	}
	if v, twice := repeated(voxels, func(a, b [3]int32) int { return slices.Compare(a[:], b[:]) }); twice {
		array.Failf("voxel %d occurs twice", v)
	}
}

// checkPart checks the vertices of a part against the sizes of the surfaces, and its voxels.
func (a *Axis) checkPart(what string, p Parcel, sizes map[string]int) {
	defer array.Within("%s %.60q", what, p.Name)
	seen := make(map[string]bool, len(p.Vertices))
	for _, v := range p.Vertices {
		switch size := sizes[v.Structure]; {
		case size == 0:
			array.Failf("has vertices of %.60q, which is not among the surfaces", v.Structure)
		case seen[v.Structure]:
			array.Failf("has the vertices of %.60q twice", v.Structure)
		case len(v.Index) > 0 && int(slices.Max(v.Index)) >= size:
			array.Failf("vertex %d of a surface of %d vertices, %.60q", slices.Max(v.Index), size, v.Structure)
		}
		seen[v.Structure] = true
	}
	if len(p.Voxels) > 0 && a.Volume == nil {
		array.Failf("has voxels, but there is no Volume for them")
	}
	for _, v := range p.Voxels {
		for i := range v {
			if int(v[i]) >= a.Volume.Size[i] {
				array.Failf("voxel %d lies outside the volume of %d", v, a.Volume.Size)
			}
		}
	}
}

// repeated sorts a list and returns an element that occurs twice.
func repeated[T comparable](list []T, compare func(a, b T) int) (v T, twice bool) {
	slices.SortFunc(list, compare)
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return list[i], true
		}
	}
	return v, false
}
