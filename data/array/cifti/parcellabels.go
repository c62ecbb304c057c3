package cifti

import (
	"fmt"
	"slices"
)

// ParcelLabels returns the names of parcels and the label that each has in a dlabel file, such as
// its network: parcels are those of a parcel file (ptseries, pscalar, ...) or the labels of the
// first map of a dlabel file, by ascending key. mapName is the map of labels, empty for the first.
// More than half of a parcel's labelled vertices and voxels must agree.
func ParcelLabels(parcels, labels *Image, mapName string) (names, found []string, err error) {
	if labels.Axes[0].Kind != Labels || labels.Axes[1].Kind != BrainModels {
		return nil, nil, fmt.Errorf("%s is a %s file, not a dlabel file", labels.Name, labels.Kind)
	}
	column, err := labels.mapIndex(mapName)
	if err != nil {
		return nil, nil, err
	}
	t, err := labelTable(labels, column)
	if err != nil {
		return nil, nil, err
	}
	names, members, err := parcels.members(labels)
	if err != nil {
		return nil, nil, err
	}
	table := labels.Axes[0].Maps[column].Labels
	for i, name := range names {
		counts := map[int]int{}
		all := 0
		for _, g := range members[i] {
			if key, ok := t.keys[g]; ok {
				counts[key]++
				all++
			}
		}
		best, most := 0, 0
		for key, n := range counts {
			if n > most {
				best, most = key, n
			}
		}
		if 2*most <= all {
			return nil, nil, fmt.Errorf("parcel %d (%q) of %s has %d vertices and voxels; of the "+
				"%d that %s labels, no label has more than half",
				i, clip(name), parcels.Name, len(members[i]), all, labels.Name)
		}
		found = append(found, table[best].Name)
	}
	return names, found, nil
}

// members lists the vertices and voxels of each parcel.
func (m *Image) members(space *Image) (names []string, members [][]grayordinate, err error) {
	i := slices.IndexFunc(m.Axes[:], func(a Axis) bool { return a.Kind == Parcels })
	if i < 0 {
		return m.labelMembers(space)
	}
	for _, s := range m.Axes[i].Surfaces {
		for _, model := range space.Axes[1].Models {
			if model.Structure == s.Structure && model.Surface() &&
				model.SurfaceVertices != s.Vertices {
				return nil, nil, fmt.Errorf("the surface of %q has %d vertices in %s and %d in "+
					"%s; resample one of them, as by wb_command -cifti-resample",
					clip(s.Structure), s.Vertices, m.Name, model.SurfaceVertices, space.Name)
			}
		}
	}
	for _, p := range m.Axes[i].Parcels {
		var all []grayordinate
		for _, v := range p.Vertices {
			for _, index := range v.Index {
				all = append(all, grayordinate{v.Structure, [3]int32{index}})
			}
		}
		for _, ijk := range p.Voxels {
			all = append(all, grayordinate{ijk: ijk})
		}
		names, members = append(names, p.Name), append(members, all)
	}
	return names, members, nil
}

// labelMembers takes the labels of a dlabel file for parcels.
func (m *Image) labelMembers(space *Image) (names []string, members [][]grayordinate, err error) {
	if m.Axes[0].Kind != Labels || m.Axes[1].Kind != BrainModels {
		return nil, nil, fmt.Errorf("%s is a %s file, which has no parcels", m.Name, m.Kind)
	}
	if err := sameSpace(m, space); err != nil {
		return nil, nil, err
	}
	t, err := labelTable(m, 0)
	if err != nil {
		return nil, nil, err
	}
	p, err := t.parcels(m.Axes[0].Maps[0].Labels)
	if err != nil {
		return nil, nil, err
	}
	members = make([][]grayordinate, len(p.Keys))
	for _, model := range m.Axes[1].Models {
		model.grayordinates(func(g grayordinate, _ int) {
			if key, ok := t.keys[g]; ok {
				members[t.parcel[key]] = append(members[t.parcel[key]], g)
			}
		})
	}
	return p.Names, members, nil
}
