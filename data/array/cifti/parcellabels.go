package cifti

import (
	"slices"

	"torchpe/data/array"
)

// ParcelLabels returns the names of parcels and the label that each has in a dlabel file, such as
// its network: parcels are those of a parcel file (ptseries, pscalar, ...) or the labels of the
// first map of a dlabel file, by ascending key. The labels are those of the first map, too.
// More than half of a parcel's labelled vertices and voxels must agree.
func ParcelLabels(parcels, labels *Image) (names, found []string, err error) {
	defer array.Catch(&err)
	l := labelled(labels)
	names, members := parcels.members(labels)
	for i, name := range names {
		counts, all, best := make([]int, len(l.keys)), 0, 0
		for _, g := range members[i] {
			if label, ok := l.of[g]; ok {
				counts[label]++
				all++
			}
		}
		for label, n := range counts {
			if n > counts[best] {
				best = label
			}
		}
		if 2*counts[best] <= all {
			array.Failf("parcel %d (%.60q) of %s has %d vertices and voxels; of the %d that %s labels, no "+
				"label has more than half", i, name, parcels.Name, len(members[i]), all, labels.Name)
		}
		found = append(found, l.names[best])
	}
	return names, found, nil
}

// members lists the vertices and voxels of each parcel.
func (m *Image) members(space *Image) (names []string, members [][]grayordinate) {
	i := slices.IndexFunc(m.Axes[:], func(a Axis) bool { return a.Kind == Parcels })
	if i < 0 {
		return m.labelMembers(space)
	}
	m.checkSameSurfaces(i, space)
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
	return names, members
}

// labelMembers takes the labels of a dlabel file for parcels.
func (m *Image) labelMembers(space *Image) (names []string, members [][]grayordinate) {
	if m.Kind != Dlabel {
		array.Failf("%s is a %s file, which has no parcels", m.Name, m.Kind)
	}
	checkSameSpace(m, space)
	l := labelled(m)
	l.checkNames()
	members = make([][]grayordinate, len(l.keys))
	for _, model := range m.Axes[1].Models {
		model.grayordinates(func(g grayordinate, _ int) {
			if label, ok := l.of[g]; ok {
				members[label] = append(members[label], g)
			}
		})
	}
	return l.names, members
}
