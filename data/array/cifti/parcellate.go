package cifti

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// unassigned is the name that GIFTI and Workbench give the label of vertices without one.
const unassigned = "???"

// Parcellation is a dense file averaged within parcels.
type Parcellation struct {
	Values array.Array // [parcels, axis 0 of the dense file]
	Names  []string    // [parcels], from the label table
	Keys   []int       // [parcels], ascending

	Grayordinates []int // [parcels], how many vertices and voxels each mean is of
	// NotFinite counts those of them that have a NaN or an infinity at some index of axis 0.
	NotFinite []int
	Uncovered []int // [parcels], how many more carry the label, but are not in the dense file

	Missing []string // names of the parcels that ParcellateCovered left out
}

// Parcellate averages a dense file (dtseries, dscalar) within the labels of the map of that name
// of a dlabel file; an empty name is the first map. Vertices are matched by structure and number
// and voxels by i, j, k, never by their place in the file. The mean is over vertices and voxels
// with equal weights.
//
// Parcels are the labels that some vertex or voxel of the map has, by ascending key, as wb_command
// -cifti-parcellate emits them; labels of the table that nothing has are no parcels. The label
// "???" is left out, and key 0 where the table gives it no name. A vertex that the dense file lacks
// is left out of the mean, as with -legacy-mode, and counted in Uncovered. A NaN or infinity is
// part of the mean, as without -only-numeric, so that the parcel's value at that time is not finite
// either; NotFinite counts such vertices.
//
// It fails where the files disagree about the vertices of a surface or the space of voxels, where a
// parcel has nothing in the dense file, where the map has a key that is not in its table, and where
// two parcels have one name.
func Parcellate(series, labels *Image, name string) (*Parcellation, error) {
	p, err := parcellate(series, labels, name)
	if err == nil {
		err = p.checkCovered(series.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("parcellate %s by %s: %w", series.Name, labels.Name, err)
	}
	return p, nil
}

// ParcellateCovered averages as Parcellate does, but leaves out the parcels that have nothing in the
// dense file, such as those below the cortex where it has the cortex alone. Missing names them. It
// fails where no parcel is left.
func ParcellateCovered(series, labels *Image, name string) (*Parcellation, error) {
	p, err := parcellate(series, labels, name)
	if err == nil && !slices.ContainsFunc(p.Grayordinates, func(n int) bool { return n > 0 }) {
		err = p.checkCovered(series.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("parcellate %s by %s: %w", series.Name, labels.Name, err)
	}
	return p.covered(), nil
}

// covered returns the parcels that have something in the dense file.
func (p *Parcellation) covered() *Parcellation {
	width := p.Values.Shape[1]
	out := &Parcellation{}
	for i, n := range p.Grayordinates {
		if n == 0 {
			out.Missing = append(out.Missing, p.Names[i])
			continue
		}
		out.Names, out.Keys = append(out.Names, p.Names[i]), append(out.Keys, p.Keys[i])
		out.Grayordinates = append(out.Grayordinates, n)
		out.NotFinite, out.Uncovered = append(out.NotFinite, p.NotFinite[i]), append(out.Uncovered, p.Uncovered[i])
		out.Values.Data = append(out.Values.Data, p.Values.Data[i*width:(i+1)*width]...)
	}
	out.Values.Shape = []int{len(out.Keys), width}
	return out
}

// MissingParcelsError says that parcels have no vertex or voxel in a dense file.
type MissingParcelsError struct{ text string }

func (e *MissingParcelsError) Error() string { return e.text }

// parcellate averages; parcels that have nothing in the dense file are NaN.
func parcellate(series, labels *Image, name string) (*Parcellation, error) {
	for _, m := range []*Image{series, labels} {
		if m.Axes[1].Kind != BrainModels {
			return nil, fmt.Errorf("%s is a %s file; axis 1 must be of brain models",
				m.Name, m.Kind)
		}
		if err := m.Data.Check(); err != nil || !slices.Equal(m.Data.Shape, m.Shape()) {
			return nil, fmt.Errorf("%s: its data was not read, or is not of the shape %d of its "+
				"axes", m.Name, m.Shape())
		}
	}
	if series.Axes[0].Kind == BrainModels || series.Axes[0].Kind == Labels {
		return nil, fmt.Errorf("%s is a %s file; averaged are dtseries and dscalar files",
			series.Name, series.Kind)
	}
	if labels.Axes[0].Kind != Labels {
		return nil, fmt.Errorf("%s is a %s file, not a dlabel file", labels.Name, labels.Kind)
	}
	if err := sameSpace(series, labels); err != nil {
		return nil, err
	}
	column, err := labels.mapIndex(name)
	if err != nil {
		return nil, err
	}
	t, err := labelTable(labels, column)
	if err != nil {
		return nil, err
	}
	p, err := t.parcels(labels.Axes[0].Maps[column].Labels)
	if err != nil {
		return nil, err
	}
	p.average(series, t)
	return p, nil
}

// mapIndex returns the index of the map of that name, 0 for an empty name.
func (m *Image) mapIndex(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	list := m.Axes[0].Maps
	is := func(k Map) bool { return k.Name == name }
	i := slices.IndexFunc(list, is)
	if i < 0 {
		names := make([]string, min(len(list), 10))
		for j := range names {
			names[j] = clip(list[j].Name)
		}
		return 0, fmt.Errorf("no map is called %q; the first of the %d are %q", name,
			len(list), names)
	}
	if slices.ContainsFunc(list[i+1:], is) {
		return 0, fmt.Errorf("more than one map is called %q", name)
	}
	return i, nil
}

// sameSpace checks that the files mean the same surfaces and the same voxels.
func sameSpace(a, b *Image) error {
	sizes := make(map[string]int, len(a.Axes[1].Models))
	voxels := [2]bool{}
	for _, m := range a.Axes[1].Models {
		if m.Surface() {
			sizes[m.Structure] = m.SurfaceVertices
		}
		voxels[0] = voxels[0] || !m.Surface()
	}
	for _, m := range b.Axes[1].Models {
		if size, both := sizes[m.Structure]; both && m.Surface() && size != m.SurfaceVertices {
			return fmt.Errorf("the surface of %q has %d vertices in %s and %d in %s; resample "+
				"one of them, as by wb_command -cifti-resample", clip(m.Structure), size, a.Name,
				m.SurfaceVertices, b.Name)
		}
		voxels[1] = voxels[1] || !m.Surface()
	}
	if voxels != [2]bool{true, true} {
		return nil
	}
	v, w := a.Axes[1].Volume, b.Axes[1].Volume
	if v.Size != w.Size {
		return fmt.Errorf("the volume has %d voxels in %s and %d in %s; resample one of them",
			v.Size, a.Name, w.Size, b.Name)
	}
	// A thousandth of a millimetre: far below a voxel, far above what writing a matrix with few
	// digits changes.
	const tolerance = 1e-6
	for i, row := range v.Affine[:3] {
		for j := range row {
			x, y := row[j]*math.Pow10(v.MeterExponent), w.Affine[i][j]*math.Pow10(w.MeterExponent)
			if math.Abs(x-y) > tolerance {
				return fmt.Errorf("row %d, column %d of the matrix from voxels to places is %g m "+
					"in %s and %g m in %s; resample one of them", i, j, x, a.Name, y, b.Name)
			}
		}
	}
	return nil
}

// grayordinate is a vertex of the surface of a structure or, with no structure, a voxel.
type grayordinate struct {
	structure string
	ijk       [3]int32 // of a vertex only the first counts
}

// grayordinates calls f with each grayordinate of a model and its index on the axis.
func (m Model) grayordinates(f func(g grayordinate, index int)) {
	for i, v := range m.Vertices {
		f(grayordinate{m.Structure, [3]int32{v}}, m.Offset+i)
	}
	for i, v := range m.Voxels {
		f(grayordinate{ijk: v}, m.Offset+i)
	}
}

// keyTable holds the labels of one map by grayordinate.
type keyTable struct {
	keys   map[grayordinate]int // without those that are unassigned
	counts map[int]int          // grayordinates of each key
	parcel map[int]int          // place of each key among the parcels
}

// labelTable reads the keys of a map of labels.
func labelTable(labels *Image, column int) (*keyTable, error) {
	m, columns := labels.Axes[0].Maps[column], labels.Axes[0].Length
	t := &keyTable{keys: make(map[grayordinate]int, labels.Axes[1].Length), counts: map[int]int{}}
	var err error
	for _, model := range labels.Axes[1].Models {
		model.grayordinates(func(g grayordinate, index int) {
			v := labels.Data.Data[index*columns+column]
			key := int(v)
			if float64(key) != v || math.Abs(v) > math.MaxInt32 {
				err = fmt.Errorf("map %q of %s has the value %v at %s, which is no label key",
					clip(m.Name), labels.Name, v, g)
				return
			}
			l, known := m.Labels[key]
			switch {
			case known && l.Name == unassigned, key == 0 && l.Name == "":
			case !known:
				err = fmt.Errorf("map %q of %s has the key %d at %s, which is not in its label "+
					"table", clip(m.Name), labels.Name, key, g)
			default:
				t.keys[g] = key
				t.counts[key]++
			}
		})
	}
	if err == nil && len(t.keys) == 0 {
		err = fmt.Errorf("map %q of %s has no parcels: nothing in it has a label but %q",
			clip(m.Name), labels.Name, unassigned)
	}
	return t, err
}

// String names a vertex or voxel.
func (g grayordinate) String() string {
	if g.structure == "" {
		return fmt.Sprintf("voxel %d", g.ijk)
	}
	return fmt.Sprintf("vertex %d of %s", g.ijk[0], clip(g.structure))
}

// parcels lists the parcels of a map by ascending key.
func (t *keyTable) parcels(table map[int]Label) (*Parcellation, error) {
	p := &Parcellation{Keys: slices.Sorted(maps.Keys(t.counts))}
	t.parcel = make(map[int]int, len(p.Keys))
	byName := make(map[string]int, len(p.Keys))
	for i, key := range p.Keys {
		name := table[key].Name
		if other, twice := byName[name]; twice {
			return nil, fmt.Errorf("the label table has two parcels %q, with keys %d and %d",
				clip(name), other, key)
		}
		byName[name] = key
		t.parcel[key] = i
		p.Names = append(p.Names, name)
		p.Uncovered = append(p.Uncovered, t.counts[key])
	}
	return p, nil
}

// average fills the means. A parcel sums up in the order of the dense file, so that the same files
// give the same bits.
func (p *Parcellation) average(series *Image, t *keyTable) {
	p.Grayordinates, p.NotFinite = make([]int, len(p.Keys)), make([]int, len(p.Keys))
	t.each(series, func(parcel int, _ []float64) {
		p.Grayordinates[parcel]++
		p.Uncovered[parcel]--
	})
	width := series.Axes[0].Length
	p.Values = array.Array{Shape: []int{len(p.Keys), width},
		Data: make([]float64, len(p.Keys)*width)}
	t.each(series, func(parcel int, row []float64) {
		sum, finite := p.Values.Data[parcel*width:(parcel+1)*width], true
		for j, v := range row {
			sum[j] += v
			finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
		}
		if !finite {
			p.NotFinite[parcel]++
		}
	})
	for i, n := range p.Grayordinates {
		for j := range width {
			p.Values.Data[i*width+j] /= float64(n)
		}
	}
}

// each calls f with each row of a dense file that is in a parcel.
func (t *keyTable) each(series *Image, f func(parcel int, row []float64)) {
	width := series.Axes[0].Length
	for _, model := range series.Axes[1].Models {
		model.grayordinates(func(g grayordinate, index int) {
			if key, ok := t.keys[g]; ok {
				f(t.parcel[key], series.Data.Data[index*width:(index+1)*width])
			}
		})
	}
}

// checkCovered names the parcels that a mean cannot be taken of.
func (p *Parcellation) checkCovered(name string) error {
	var empty []string
	for i, n := range p.Grayordinates {
		if n == 0 {
			empty = append(empty, fmt.Sprintf("%q (key %d, %d in the label file)", clip(p.Names[i]),
				p.Keys[i], p.Uncovered[i]))
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return &MissingParcelsError{fmt.Sprintf("%s has no vertex or voxel of the parcels %s", name,
		wording.List(5, empty))}
}
