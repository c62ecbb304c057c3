package cifti

import (
	"fmt"
	"slices"
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
	Kind     AxisKind
	Length   int
	Series   Sampling  // SERIES
	Parcels  []Parcel  // PARCELS, one for each index
	Surfaces []Surface // PARCELS, the surfaces that their vertices lie on
	Models   []Model   // BRAIN_MODELS, by ascending offset
	Maps     []Map     // SCALARS and LABELS, one for each index
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
	Name     string
	Vertices []Vertices // at most one for each structure
	Voxels   [][3]int32 // i, j, k
}

// Vertices are vertices of the surface of one structure.
type Vertices struct {
	Structure string // such as CIFTI_STRUCTURE_CORTEX_LEFT
	Index     []int32
}

// Surface is the size of the surface of a structure, with the vertices that are left out (the
// medial wall) counted.
type Surface struct {
	Structure string
	Vertices  int // such as 32492 for 32k_fs_LR
}

// Model lists the vertices or voxels of one structure that the indices from Offset to
// Offset+Count-1 of an axis stand for.
type Model struct {
	Structure       string
	Offset, Count   int
	SurfaceVertices int        // vertices of the whole surface; 0 for voxels
	Vertices        []int32    // of a surface, [Count]
	Voxels          [][3]int32 // i, j, k, [Count]
}

// Surface reports whether the model is of vertices; otherwise it is of voxels.
func (m Model) Surface() bool { return m.SurfaceVertices > 0 }

// Map is one index of a SCALARS or LABELS axis.
type Map struct {
	Name     string
	Labels   map[int]Label // by key; nil for SCALARS
	Metadata map[string]string
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

// check reports what is wrong with an axis whose elements were read.
func (a *Axis) check() error {
	switch a.Kind {
	case Parcels:
		return a.checkParcels()
	case BrainModels:
		return a.checkModels()
	case Scalars, Labels:
		if len(a.Maps) != a.Length {
			return fmt.Errorf("%d maps for a length of %d", len(a.Maps), a.Length)
		}
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
