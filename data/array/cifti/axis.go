package cifti

import (
	"cmp"
	"slices"
	"strings"

	"torchpe/data/array"
)

// AxisKind is the kind of things that the indices of an axis stand for, in the words of the format
// (IndicesMapToDataType).
type AxisKind string

// The kinds of axes.
const (
	BrainModels AxisKind = "CIFTI_INDEX_TYPE_BRAIN_MODELS"
	Parcels     AxisKind = "CIFTI_INDEX_TYPE_PARCELS"
	Series      AxisKind = "CIFTI_INDEX_TYPE_SERIES"
	Scalars     AxisKind = "CIFTI_INDEX_TYPE_SCALARS"
	Labels      AxisKind = "CIFTI_INDEX_TYPE_LABELS"
)

// Axis describes the rows or the columns of the data. Which of its fields are filled depends on
// its kind; the two axes of a square matrix may share them.
type Axis struct {
	Kind     AxisKind  `xml:"IndicesMapToDataType,attr"`
	Length   int       `xml:"-"`
	Parcels  []Parcel  `xml:"Parcel"`     // PARCELS, one for each index
	Surfaces []Surface `xml:"Surface"`    // PARCELS, the surfaces that their vertices lie on
	Models   []Model   `xml:"BrainModel"` // BRAIN_MODELS, by ascending offset
	Maps     []Map     `xml:"NamedMap"`   // SCALARS and LABELS, one for each index
	// Volume is the space of the voxels of PARCELS and BRAIN_MODELS, nil where the file gives none.
	Volume *Volume
}

// Parcel is a named set of vertices and voxels.
type Parcel struct {
	Name     string     `xml:",attr"`
	Vertices []Vertices // at most one for each structure
	Voxels   Voxels     `xml:"VoxelIndicesIJK"`
}

// Vertices are vertices of the surface of one structure.
type Vertices struct {
	Structure string  `xml:"BrainStructure,attr"` // such as CIFTI_STRUCTURE_CORTEX_LEFT
	Index     Indices `xml:",chardata"`
}

// Surface is the size of the surface of a structure, with the vertices that are left out (the
// medial wall) counted.
type Surface struct {
	Structure string `xml:"BrainStructure,attr"`
	Vertices  int    `xml:"SurfaceNumberOfVertices,attr"` // such as 32492 for 32k_fs_LR
}

// Model lists the vertices or voxels of one structure that the indices from Offset to
// Offset+Count-1 of an axis stand for.
type Model struct {
	Structure       string  `xml:"BrainStructure,attr"`
	Offset          int     `xml:"IndexOffset,attr"`
	Count           int     `xml:"IndexCount,attr"`
	SurfaceVertices int     `xml:"SurfaceNumberOfVertices,attr"` // of the whole surface; 0 for voxels
	Vertices        Indices `xml:"VertexIndices"`                // of a surface, [Count]
	Voxels          Voxels  `xml:"VoxelIndicesIJK"`              // [Count]
}

// Surface reports whether the model is of vertices; otherwise it is of voxels.
func (m Model) Surface() bool { return m.SurfaceVertices > 0 }

// Map is one index of a SCALARS or LABELS axis.
type Map struct {
	Name   string     `xml:"MapName"`
	Labels LabelTable `xml:"LabelTable"` // nil for SCALARS
}

// Volume is the space that voxels lie in.
type Volume struct {
	Size          [3]int        // voxels along i, j, k
	Affine        [4][4]float64 // from i, j, k to x, y, z in units of 10^MeterExponent metres
	MeterExponent int           // -3, millimetres, in most files
}

// setAxes sets the axes of an image, whose lengths are known from the header.
func (d *document) setAxes(m *Image) {
	defer array.Within("XML")
	for i := range d.Matrix.Maps {
		d.Matrix.Maps[i].apply(m)
	}
	for i, a := range m.Axes {
		if a.Kind == "" {
			array.Failf("no MatrixIndicesMap applies to dimension %d", i)
		}
	}
}

// apply sets the axes that a MatrixIndicesMap applies to.
func (x *indicesMap) apply(m *Image) {
	for i, s := range strings.Split(x.Applies, ",") {
		axis := slices.Index([]string{"0", "1"}, strings.TrimSpace(s))
		if axis < 0 {
			array.Failf("AppliesToMatrixDimension is %.60q; the dimensions of a matrix are 0 and 1",
				x.Applies)
		}
		length := m.Axes[axis].Length
		switch {
		case m.Axes[axis].Kind != "":
			array.Failf("dimension %d has two MatrixIndicesMaps", axis)
		case i > 0 && length != x.Length:
			array.Failf("one MatrixIndicesMap applies to dimensions %s, but dim[5] and dim[6] are %d "+
				"and %d", x.Applies, m.Axes[0].Length, m.Axes[1].Length)
		case i == 0:
			x.Length = length
			x.check(5 + axis)
		}
		m.Axes[axis] = x.Axis
	}
}

// check fails for what is wrong with an axis, whose length is in a place of dim.
func (x *indicesMap) check(place int) {
	defer array.Within("dimension %s (dim[%d] is %d)", x.Applies, place, x.Length)
	switch x.Kind {
	case Series:
		if x.Points != x.Length {
			array.Failf("NumberOfSeriesPoints is %d for a length of %d", x.Points, x.Length)
		}
	case Parcels:
		x.checkParcels()
	case BrainModels:
		x.checkModels()
	default:
		x.checkMaps()
	}
}

// checkMaps checks the maps of a SCALARS or LABELS axis, and trims their names.
func (a *Axis) checkMaps() {
	for i := range a.Maps {
		m := &a.Maps[i]
		m.Name = strings.TrimSpace(m.Name)
		switch {
		case a.Kind == Labels && m.Labels == nil:
			array.Failf("map %d %.60q has no LabelTable", i, m.Name)
		case a.Kind == Scalars && m.Labels != nil:
			array.Failf("map %d %.60q of SCALARS has a LabelTable", i, m.Name)
		}
	}
	if len(a.Maps) != a.Length {
		array.Failf("%d maps for a length of %d", len(a.Maps), a.Length)
	}
}

// checkParcels checks that names, vertices and voxels are of one parcel each and lie in their
// space.
func (a *Axis) checkParcels() {
	if len(a.Parcels) != a.Length {
		array.Failf("%d parcels for a length of %d", len(a.Parcels), a.Length)
	}
	sizes := make(map[string]int, len(a.Surfaces))
	for _, s := range a.Surfaces {
		if _, twice := sizes[s.Structure]; twice {
			array.Failf("surface %.60q is there twice", s.Structure)
		}
		sizes[s.Structure] = s.Vertices
	}
	names := make(map[string]bool, len(a.Parcels))
	vertices := make(map[string][]int32, len(sizes))
	var voxels [][3]int32
	for _, p := range a.Parcels {
		if names[p.Name] {
			array.Failf("parcel %.60q is there twice", p.Name)
		}
		names[p.Name] = true
		a.checkParcel(p, sizes)
		for _, v := range p.Vertices {
			vertices[v.Structure] = append(vertices[v.Structure], v.Index...)
		}
		voxels = append(voxels, p.Voxels...)
	}
	for structure, list := range vertices {
		if v, twice := repeated(list, cmp.Compare); twice {
			array.Failf("%.60q has a vertex in more than one parcel, or twice in one: vertex %v "+
				"is there twice", structure, v)
		}
	}
	checkDistinct(voxels)
}

// checkParcel checks a parcel's vertices against the sizes of the surfaces, and its voxels.
func (a *Axis) checkParcel(p Parcel, sizes map[string]int) {
	defer array.Within("parcel %.60q", p.Name)
	seen := make(map[string]bool, len(p.Vertices))
	for _, v := range p.Vertices {
		size, ok := sizes[v.Structure]
		if !ok {
			array.Failf("has vertices of %.60q, which is not among the surfaces", v.Structure)
		}
		if seen[v.Structure] {
			array.Failf("has the vertices of %.60q twice", v.Structure)
		}
		seen[v.Structure] = true
		checkSurface(v, size)
	}
	a.checkVolume(p.Voxels)
}

// checkModels checks that the models cover the axis and that no vertex or voxel is there twice.
func (a *Axis) checkModels() {
	slices.SortStableFunc(a.Models, func(m, n Model) int { return m.Offset - n.Offset })
	at := 0
	surfaces := make(map[string]bool, len(a.Models))
	var voxels [][3]int32
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
		if m.Surface() && surfaces[m.Structure] {
			array.Failf("two models of the surface of %.60q", m.Structure)
		}
		surfaces[m.Structure] = surfaces[m.Structure] || m.Surface()
		a.checkModel(m)
		voxels = append(voxels, m.Voxels...)
	}
	if at != a.Length {
		array.Failf("the brain models end at index %d of a length of %d", at, a.Length)
	}
	checkDistinct(voxels)
}

// checkModel checks the vertices or voxels of a model.
func (a *Axis) checkModel(m Model) {
	defer array.Within("the model of %.60q", m.Structure)
	if !m.Surface() {
		a.checkVolume(m.Voxels)
		return
	}
	checkVertices(m.Vertices, m.SurfaceVertices)
	vertices := m.Vertices
	if !slices.IsSorted(vertices) {
		vertices = slices.Clone(vertices)
	}
	if v, twice := repeated(vertices, cmp.Compare); twice {
		array.Failf("vertex %v is there twice", v)
	}
}

// checkSurface checks the vertices of one structure.
func checkSurface(v Vertices, size int) {
	defer array.Within("%.60q", v.Structure)
	checkVertices(v.Index, size)
}

// checkVertices checks vertices against the size of their surface.
func checkVertices(vertices []int32, size int) {
	for _, v := range vertices {
		if int(v) >= size {
			array.Failf("vertex %d of a surface of %d vertices", v, size)
		}
	}
}

// checkVolume checks voxels against the volume's size.
func (a *Axis) checkVolume(voxels [][3]int32) {
	if len(voxels) > 0 && a.Volume == nil {
		array.Failf("has voxels, but there is no Volume that they lie in")
	}
	for _, v := range voxels {
		for i := range v {
			if int(v[i]) >= a.Volume.Size[i] {
				array.Failf("voxel %d lies outside the volume of %d", v, a.Volume.Size)
			}
		}
	}
}

// repeated sorts a list, and returns an element that it has twice.
func repeated[T comparable](list []T, compare func(a, b T) int) (v T, twice bool) {
	slices.SortFunc(list, compare)
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return list[i], true
		}
	}
	return v, false
}

// checkDistinct fails for a voxel that is there twice.
func checkDistinct(voxels [][3]int32) {
	compare := func(a, b [3]int32) int { return slices.Compare(a[:], b[:]) }
	if v, twice := repeated(voxels, compare); twice {
		array.Failf("voxel %v is there twice", v)
	}
}
