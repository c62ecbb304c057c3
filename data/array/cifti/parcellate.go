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

	Grayordinates []int    // [parcels], how many vertices and voxels each mean is of
	Missing       []string // names of the parcels that were left out
}

// Parcellate averages a dense file (dtseries, dscalar) within the labels of the first map of a dlabel
// file. Vertices are matched by structure and number and voxels by i, j, k, never by their place in
// the file. The mean is over vertices and voxels with equal weights.
//
// Parcels are the labels that some vertex or voxel of the map has, by ascending key, as wb_command
// -cifti-parcellate emits them; labels of the table that nothing has are no parcels. The label
// "???" is left out, and key 0 where the table gives it no name. A vertex that the dense file lacks
// is left out of the mean, as with -legacy-mode. A NaN or infinity is part of the mean, as without
// -only-numeric, so that the parcel's value at that time is not finite either.
//
// It fails where the files disagree about the vertices of a surface or the space of voxels, where the
// map has a key that is not in its table, and where two parcels have one name. A parcel that has
// nothing in the dense file, such as one below the cortex where that has the cortex alone, is an error
// too; with skipMissing only if no parcel is left.
func Parcellate(series, labels *Image, skipMissing bool) (p *Parcellation, err error) {
	defer array.Catch(&err)
	defer array.Within("parcellate %s by %s", series.Name, labels.Name)
	checkFiles(series, labels)
	l := labelled(labels)
	l.checkNames()
	covered, place := make([]int, len(l.keys)), make([]int, len(l.keys))
	l.each(series, func(label int, _ []float64) { covered[label]++ })
	p = &Parcellation{}
	var missing []string
	for i, n := range covered {
		if n == 0 {
			p.Missing = append(p.Missing, l.names[i])
			missing = append(missing, fmt.Sprintf("%.60q (key %d, %d in the label file)", l.names[i],
				l.keys[i], l.sizes[i]))
			continue
		}
		place[i] = len(p.Keys)
		p.Keys, p.Names = append(p.Keys, l.keys[i]), append(p.Names, l.names[i])
		p.Grayordinates = append(p.Grayordinates, n)
	}
	if len(missing) > 0 && !(skipMissing && len(p.Keys) > 0) {
		array.Failf("%s has no vertex or voxel of the parcels %s: --missing-parcels skip "+
			"leaves such parcels out", series.Name, wording.List(5, missing))
	}
	width := series.Axes[0].Length
	p.Values = array.Array{Shape: []int{len(p.Keys), width},
		Data: make([]float64, len(p.Keys)*width)}
	// A parcel sums up in the order of the dense file, so that the same files give the same bits.
	l.each(series, func(label int, row []float64) {
		sum := p.Values.Data[place[label]*width:]
		for j, v := range row {
			sum[j] += v
		}
	})
	for i, n := range p.Grayordinates {
		for j := range width {
			p.Values.Data[i*width+j] /= float64(n)
		}
	}
	return p, nil
}

// checkFiles fails for files that are no dense file and one with labels of it.
func checkFiles(series, labels *Image) {
	for _, m := range []*Image{series, labels} {
		if err := m.Data.Check(); err != nil || !slices.Equal(m.Data.Shape, m.Shape()) {
			array.Failf("%s: its data was not read, or is not of the shape %d of its axes", m.Name, m.Shape())
		}
	}
	if !slices.Contains([]Kind{Dtseries, Dscalar, Dpconn}, series.Kind) {
		array.Failf("%s is a %s file; averaged are dtseries and dscalar files", series.Name, series.Kind)
	}
	checkSameSpace(series, labels)
}

// checkSameSurfaces checks that axis i of m means the same surfaces as axis 1 of space.
func (m *Image) checkSameSurfaces(i int, space *Image) {
	sizes := map[string]int{}
	for _, s := range m.Axes[i].surfaces() {
		sizes[s.Structure] = s.Vertices
	}
	for _, s := range space.Axes[1].surfaces() {
		if size, both := sizes[s.Structure]; both && size != s.Vertices {
			array.Failf("the surface of %.60q has %d vertices in %s and %d in %s; resample one of them, as "+
				"by wb_command -cifti-resample", s.Structure, size, m.Name, s.Vertices, space.Name)
		}
	}
}

// checkSameSpace checks that the files mean the same surfaces and the same voxels.
func checkSameSpace(a, b *Image) {
	a.checkSameSurfaces(1, b)
	for _, m := range []*Image{a, b} {
		if !slices.ContainsFunc(m.Axes[1].Models, func(m Model) bool { return !m.Surface() }) {
			return
		}
	}
	v, w := a.Axes[1].Volume, b.Axes[1].Volume
	if v.Size != w.Size {
		array.Failf("the volume has %d voxels in %s and %d in %s; resample one of them",
			v.Size, a.Name, w.Size, b.Name)
	}
	// A thousandth of a millimetre: far below a voxel, far above what writing a matrix with few
	// digits changes.
	const tolerance = 1e-6
	for i, row := range v.Affine[:3] {
		for j := range row {
			x, y := row[j]*math.Pow10(v.MeterExponent), w.Affine[i][j]*math.Pow10(w.MeterExponent)
			if math.Abs(x-y) > tolerance {
				array.Failf("row %d, column %d of the matrix from voxels to places is %g m "+
					"in %s and %g m in %s; resample one of them", i, j, x, a.Name, y, b.Name)
			}
		}
	}
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

// labels are those that some vertex or voxel of the first map of a dlabel file has, by ascending key.
// Labels that say that a vertex is unassigned are not among them.
type labels struct {
	keys  []int
	names []string
	sizes []int                // how many vertices and voxels each has
	of    map[grayordinate]int // the label of each, as a place in keys
}

// labelled reads the keys of the first map of a dlabel file.
func labelled(image *Image) *labels {
	if image.Kind != Dlabel {
		array.Failf("%s is a %s file, not a dlabel file", image.Name, image.Kind)
	}
	m, columns := image.Axes[0].Maps[0], image.Axes[0].Length
	l := &labels{of: make(map[grayordinate]int, image.Axes[1].Length)}
	counts := map[int]int{} // by key
	for _, model := range image.Axes[1].Models {
		model.grayordinates(func(g grayordinate, index int) {
			v := image.Data.Data[index*columns]
			key := int(v)
			name, known := m.Labels[key]
			switch {
			case float64(key) != v || math.Abs(v) > math.MaxInt32:
				array.Failf("map %.60q of %s has the value %v at %s, which is not a label key", m.Name,
					image.Name, v, g)
			case known && name == unassigned, key == 0 && name == "":
			case !known:
				array.Failf("map %.60q of %s has the key %d at %s, which is not in its label table",
					m.Name, image.Name, key, g)
			default:
				l.of[g] = key
				counts[key]++
			}
		})
	}
	if len(counts) == 0 {
		array.Failf("map %.60q of %s has no parcels: nothing in it has a label but %q", m.Name,
			image.Name, unassigned)
	}
	place := make(map[int]int, len(counts))
	for i, key := range slices.Sorted(maps.Keys(counts)) {
		place[key] = i
		l.keys, l.names = append(l.keys, key), append(l.names, m.Labels[key])
		l.sizes = append(l.sizes, counts[key])
	}
	for g, key := range l.of {
		l.of[g] = place[key]
	}
	return l
}

// checkNames fails where two labels have one name.
func (l *labels) checkNames() {
	first := make(map[string]int, len(l.names))
	for i, name := range l.names {
		if j, twice := first[name]; twice {
			array.Failf("the label table has two parcels %.60q, with keys %d and %d", name,
				l.keys[j], l.keys[i])
		}
		first[name] = i
	}
}

// each calls f with the label and the row of everything in a dense file that has a label.
func (l *labels) each(series *Image, f func(label int, row []float64)) {
	width := series.Axes[0].Length
	for _, model := range series.Axes[1].Models {
		model.grayordinates(func(g grayordinate, index int) {
			if label, ok := l.of[g]; ok {
				f(label, series.Data.Data[index*width:(index+1)*width])
			}
		})
	}
}

// String names a vertex or voxel.
func (g grayordinate) String() string {
	if g.structure == "" {
		return fmt.Sprintf("voxel %d", g.ijk)
	}
	return fmt.Sprintf("vertex %d of %.60s", g.ijk[0], g.structure)
}
