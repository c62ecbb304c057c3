package cifti

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
	Series   Sampling  `xml:"-"`          // SERIES
	Parcels  []Parcel  `xml:"Parcel"`     // PARCELS, one for each index
	Surfaces []Surface `xml:"Surface"`    // PARCELS, the surfaces that their vertices lie on
	Models   []Model   `xml:"BrainModel"` // BRAIN_MODELS, by ascending offset
	Maps     []Map     `xml:"NamedMap"`   // SCALARS and LABELS, one for each index
	// Volume is the space of the voxels of PARCELS and BRAIN_MODELS, nil where the file gives none.
	Volume *Volume
}

// Sampling is the regular sampling of a SERIES axis: index i lies at Start + i*Step.
type Sampling struct {
	Start, Step float64 // in units, with the factor 10^Exponent in them
	Exponent    int     // SeriesExponent as the file has it
	Unit        string  // SECOND, HERTZ, METER or RADIAN
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
	Name     string     `xml:"MapName"`
	Labels   LabelTable `xml:"LabelTable"` // nil for SCALARS
	Metadata Metadata   `xml:"MetaData"`
}

// Label is the meaning of a key in the data of a label file.
type Label struct {
	Name string
	RGBA [4]float64 // 0 to 1
}

// Volume is the space that voxels lie in.
type Volume struct {
	Size          [3]int        // voxels along i, j, k
	Affine        [4][4]float64 // from i, j, k to x, y, z in units of 10^MeterExponent metres
	MeterExponent int           // -3, millimetres, in most files
}

// setAxes sets the axes of an image, whose lengths are known from the header.
func (d *document) setAxes(m *Image) error {
	m.Metadata = d.Matrix.Metadata
	for i := range d.Matrix.Maps {
		if err := d.Matrix.Maps[i].apply(m); err != nil {
			return err
		}
	}
	for i, a := range m.Axes {
		if a.Kind == "" {
			return fmt.Errorf("no MatrixIndicesMap applies to dimension %d", i)
		}
	}
	return nil
}

// apply sets the axes that a MatrixIndicesMap applies to.
func (x *indicesMap) apply(m *Image) error {
	for i, s := range strings.Split(x.Applies, ",") {
		axis := slices.Index([]string{"0", "1"}, strings.TrimSpace(s))
		if axis < 0 {
			return fmt.Errorf("AppliesToMatrixDimension is %q; the dimensions of a matrix are 0 and 1",
				clip(x.Applies))
		}
		length := m.Axes[axis].Length
		switch {
		case m.Axes[axis].Kind != "":
			return fmt.Errorf("dimension %d has two MatrixIndicesMaps", axis)
		case i > 0 && length != x.Length:
			return fmt.Errorf("one MatrixIndicesMap applies to dimensions %s, but dim[5] and dim[6] are %d "+
				"and %d", x.Applies, m.Axes[0].Length, m.Axes[1].Length)
		case i == 0:
			x.Length = length
			if err := x.check(); err != nil {
				return fmt.Errorf("dimension %s (dim[%d] is %d): %w", x.Applies, 5+axis, length, err)
			}
		}
		m.Axes[axis] = x.Axis
	}
	return nil
}

// check reports what is wrong with an axis, and sets the sampling of a SERIES.
func (x *indicesMap) check() error {
	switch x.Kind {
	case Series:
		return x.setSampling()
	case Parcels:
		return x.checkParcels()
	case BrainModels:
		return x.checkModels()
	}
	return x.checkMaps()
}

// setSampling sets the sampling of a SERIES axis from the attributes.
func (x *indicesMap) setSampling() error {
	if x.Points != x.Length {
		return fmt.Errorf("NumberOfSeriesPoints is %d for a length of %d", x.Points, x.Length)
	}
	if !slices.Contains([]string{"SECOND", "HERTZ", "METER", "RADIAN"}, x.Unit) {
		return fmt.Errorf("SeriesUnit is %q; CIFTI-2 has SECOND, HERTZ, METER and RADIAN", clip(x.Unit))
	}
	// Division by a power of ten that float64 holds is rounded once: 720 with -3 is 0.72 and not
	// the number beside it.
	scale := func(v float64) float64 {
		if x.Exponent < 0 {
			return v / math.Pow10(-x.Exponent)
		}
		return v * math.Pow10(x.Exponent)
	}
	x.Series = Sampling{Start: scale(x.Start), Step: scale(x.Step), Exponent: x.Exponent, Unit: x.Unit}
	if math.IsInf(x.Series.Start, 0) || math.IsInf(x.Series.Step, 0) {
		return fmt.Errorf("SeriesStart %v and SeriesStep %v with SeriesExponent %d are beyond float64",
			x.Start, x.Step, x.Exponent)
	}
	return nil
}

// checkMaps checks the maps of a SCALARS or LABELS axis, and trims their names.
func (a *Axis) checkMaps() error {
	for i := range a.Maps {
		m := &a.Maps[i]
		m.Name = strings.TrimSpace(m.Name)
		switch {
		case a.Kind == Labels && m.Labels == nil:
			return fmt.Errorf("map %d %q has no LabelTable", i, clip(m.Name))
		case a.Kind == Scalars && m.Labels != nil:
			return fmt.Errorf("map %d %q of SCALARS has a LabelTable", i, clip(m.Name))
		}
	}
	if len(a.Maps) != a.Length {
		return fmt.Errorf("%d maps for a length of %d", len(a.Maps), a.Length)
	}
	return nil
}

// checkParcels checks that names, vertices and voxels are of one parcel each and lie in their
// space.
func (a *Axis) checkParcels() error {
	if len(a.Parcels) != a.Length {
		return fmt.Errorf("%d parcels for a length of %d", len(a.Parcels), a.Length)
	}
	sizes := make(map[string]int, len(a.Surfaces))
	for _, s := range a.Surfaces {
		if _, twice := sizes[s.Structure]; twice {
			return fmt.Errorf("surface %q is there twice", clip(s.Structure))
		}
		sizes[s.Structure] = s.Vertices
	}
	names := make(map[string]bool, len(a.Parcels))
	vertices := make(map[string][]int32, len(sizes))
	var voxels [][3]int32
	for _, p := range a.Parcels {
		if names[p.Name] {
			return fmt.Errorf("parcel %q is there twice", clip(p.Name))
		}
		names[p.Name] = true
		err := p.checkVertices(sizes)
		if err == nil {
			err = a.inVolume(p.Voxels)
		}
		if err != nil {
			return fmt.Errorf("parcel %q: %w", clip(p.Name), err)
		}
		for _, v := range p.Vertices {
			vertices[v.Structure] = append(vertices[v.Structure], v.Index...)
		}
		voxels = append(voxels, p.Voxels...)
	}
	for structure, list := range vertices {
		slices.Sort(list)
		if v, ok := duplicate(list); ok {
			return fmt.Errorf("vertex %d of %q is in more than one parcel, or twice in one", v,
				clip(structure))
		}
	}
	return distinctVoxels(voxels)
}

// checkVertices checks a parcel's vertices against the sizes of the surfaces.
func (p Parcel) checkVertices(sizes map[string]int) error {
	seen := make(map[string]bool, len(p.Vertices))
	for _, v := range p.Vertices {
		size, ok := sizes[v.Structure]
		if !ok {
			return fmt.Errorf("has vertices of %q, which is not among the surfaces",
				clip(v.Structure))
		}
		if seen[v.Structure] {
			return fmt.Errorf("has the vertices of %q twice", clip(v.Structure))
		}
		seen[v.Structure] = true
		if err := inSurface(v.Index, size); err != nil {
			return fmt.Errorf("%q: %w", clip(v.Structure), err)
		}
	}
	return nil
}

// checkModels checks that the models cover the axis and that no vertex or voxel is there twice.
func (a *Axis) checkModels() error {
	slices.SortStableFunc(a.Models, func(m, n Model) int { return m.Offset - n.Offset })
	at := 0
	surfaces := make(map[string]bool, len(a.Models))
	var voxels [][3]int32
	for _, m := range a.Models {
		if m.Offset != at {
			return fmt.Errorf("the model of %q begins at index %d, but the one before it ends at "+
				"%d", clip(m.Structure), m.Offset, at)
		}
		at += m.Count
		if got := len(m.Vertices) + len(m.Voxels); got != m.Count {
			return fmt.Errorf("the model of %q has %d vertices or voxels, its IndexCount is %d",
				clip(m.Structure), got, m.Count)
		}
		if !m.Surface() {
			if err := a.inVolume(m.Voxels); err != nil {
				return fmt.Errorf("the model of %q: %w", clip(m.Structure), err)
			}
			voxels = append(voxels, m.Voxels...)
			continue
		}
		if surfaces[m.Structure] {
			return fmt.Errorf("two models of the surface of %q", clip(m.Structure))
		}
		surfaces[m.Structure] = true
		err := inSurface(m.Vertices, m.SurfaceVertices)
		if err == nil && !slices.IsSorted(m.Vertices) {
			sorted := slices.Clone(m.Vertices)
			slices.Sort(sorted)
			err = distinctVertices(sorted)
		} else if err == nil {
			err = distinctVertices(m.Vertices)
		}
		if err != nil {
			return fmt.Errorf("the model of %q: %w", clip(m.Structure), err)
		}
	}
	if at != a.Length {
		return fmt.Errorf("the brain models end at index %d of a length of %d", at, a.Length)
	}
	return distinctVoxels(voxels)
}

// inSurface checks vertices against the size of their surface.
func inSurface(vertices []int32, size int) error {
	for _, v := range vertices {
		if int(v) >= size {
			return fmt.Errorf("vertex %d of a surface of %d vertices", v, size)
		}
	}
	return nil
}

// inVolume checks voxels against the volume's size.
func (a *Axis) inVolume(voxels [][3]int32) error {
	if len(voxels) > 0 && a.Volume == nil {
		return fmt.Errorf("has voxels, but there is no Volume that they lie in")
	}
	for _, v := range voxels {
		for i := range v {
			if int(v[i]) >= a.Volume.Size[i] {
				return fmt.Errorf("voxel %d lies outside the volume of %d", v, a.Volume.Size)
			}
		}
	}
	return nil
}

// duplicate returns a value that a sorted list has more than once.
func duplicate(sorted []int32) (int32, bool) {
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return 0, false
}

// distinctVertices checks a sorted list of vertices for one that is there twice.
func distinctVertices(sorted []int32) error {
	if v, ok := duplicate(sorted); ok {
		return fmt.Errorf("vertex %d is there twice", v)
	}
	return nil
}

// distinctVoxels sorts a list of voxels and looks for one that is there twice.
func distinctVoxels(voxels [][3]int32) error {
	slices.SortFunc(voxels, func(a, b [3]int32) int { return slices.Compare(a[:], b[:]) })
	for i := 1; i < len(voxels); i++ {
		if voxels[i] == voxels[i-1] {
			return fmt.Errorf("voxel %d is there twice", voxels[i])
		}
	}
	return nil
}

// clip shortens a text from a file for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
