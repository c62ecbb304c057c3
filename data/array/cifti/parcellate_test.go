package cifti

import (
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// dense returns a dtseries image of two times over a surface L of ten vertices: vertex v has the
// values v and 100+v.
func dense(vertices ...int32) *Image {
	m := &Image{Name: "series.nii", Kind: Dtseries, Axes: [2]Axis{{Kind: Series, Length: 2},
		surfaceAxis(vertices)}}
	for _, v := range vertices {
		m.Data.Data = append(m.Data.Data, float64(v), 100+float64(v))
	}
	m.Data.Shape = m.Shape()
	return m
}

// surfaceAxis returns an axis of vertices of L.
func surfaceAxis(vertices []int32) Axis {
	n := len(vertices)
	return Axis{Kind: BrainModels, Length: n,
		Models: []Model{{Structure: "L", Count: n, SurfaceVertices: 10, Vertices: vertices}}}
}

// dlabel returns a dlabel image of one map, "map", whose vertex i of L has the key keys[i].
func dlabel(table map[int]string, keys ...float64) *Image {
	vertices := make([]int32, len(keys))
	for i := range vertices {
		vertices[i] = int32(i)
	}
	m := &Image{Name: "labels.nii", Kind: Dlabel, Axes: [2]Axis{{Kind: Labels, Length: 1},
		surfaceAxis(vertices)}}
	m.Axes[0].Maps = []Map{{Name: "map", Labels: table}}
	m.Data = array.Array{Shape: m.Shape(), Data: keys}
	return m
}

// only returns a dlabel image with the map of that name alone.
func only(t *testing.T, m *Image, name string) *Image {
	t.Helper()
	column := slices.IndexFunc(m.Axes[0].Maps, func(k Map) bool { return k.Name == name })
	if column < 0 {
		t.Fatalf("%s has no map %q", m.Name, name)
	}
	one, columns := *m, m.Axes[0].Length
	one.Axes[0].Maps, one.Axes[0].Length = m.Axes[0].Maps[column:column+1], 1
	one.Data = array.Array{Shape: one.Shape()}
	for i := range m.Axes[1].Length {
		one.Data.Data = append(one.Data.Data, m.Data.Data[i*columns+column])
	}
	return &one
}

// areas is a table of labels.
func areas() map[int]string {
	return map[int]string{0: unassigned, 1: "one", 2: "two",
		9: "unused"}
}

// TestParcellateByHand compares with means taken by hand: vertices 1 and 3 are "one", 2 and 5
// "two"; 5 is not in the series.
func TestParcellateByHand(t *testing.T) {
	p := expect.Must(Parcellate(dense(3, 0, 2, 1, 7), dlabel(areas(), 0, 1, 2, 1, 0, 2), false))
	if !slices.Equal(p.Values.Data, []float64{2, 102, 2, 102}) ||
		!slices.Equal(p.Values.Shape, []int{2, 2}) ||
		!slices.Equal(p.Names, []string{"one", "two"}) || !slices.Equal(p.Keys, []int{1, 2}) ||
		!slices.Equal(p.Grayordinates, []int{2, 1}) {
		t.Errorf("%+v", p)
	}
}

// TestUnassigned checks which labels are no parcels: "???" with any key, and key 0 unless the table
// names it, as in Workbench (GiftiLabelTable::getUnassignedLabelKey).
func TestUnassigned(t *testing.T) {
	tests := []struct {
		table map[int]string
		want  []int
	}{
		{map[int]string{0: "???", 1: "one", 4: "four"}, []int{1, 4}},
		{map[int]string{1: "one", 4: "four"}, []int{1, 4}},
		{map[int]string{0: "", 1: "one", 4: "four"}, []int{1, 4}},
		{map[int]string{0: "zero", 1: "one", 4: "???"}, []int{0, 1}},
		{map[int]string{0: "zero", 1: "???", 4: "???"}, []int{0}},
	}
	for _, test := range tests {
		p, err := Parcellate(dense(0, 1, 2), dlabel(test.table, 0, 1, 4), false)
		if err != nil || !slices.Equal(p.Keys, test.want) {
			t.Errorf("%v: %+v (%v), want the keys %d", test.table, p, err, test.want)
		}
	}
}

// TestNotFinite checks that a NaN and an infinity reach the mean of their parcel and time only.
func TestNotFinite(t *testing.T) {
	series := dense(0, 1, 2, 3)
	series.Data.Data[2], series.Data.Data[3], series.Data.Data[7] = math.NaN(), math.Inf(1),
		math.Inf(-1)
	p := expect.Must(Parcellate(series, dlabel(areas(), 1, 1, 2, 2), false))
	v := p.Values.Data
	if !math.IsNaN(v[0]) || !math.IsInf(v[1], 1) || v[2] != 2.5 || !math.IsInf(v[3], -1) {
		t.Errorf("%+v", p)
	}
}

// TestParcellateErrors checks that what does not fit is refused, with the files and the values
// named.
func TestParcellateErrors(t *testing.T) {
	series, labels := dense(0, 1, 2),
		func(keys ...float64) *Image { return dlabel(areas(), keys...) }
	surface := labels(1, 2)
	surface.Axes[1].Models[0].SurfaceVertices = 59
	header := dense(0, 1)
	header.Data = array.Array{}
	many := map[int]string{}
	var keys []float64
	for i := range 9 {
		many[i+1] = strings.Repeat("p", i+1)
		keys = append(keys, float64(i+1))
	}
	tests := []struct {
		name           string
		series, labels *Image
		want           []string
	}{
		{"no vertex", series, labels(1, 1, 1, 2),
			[]string{"series.nii", `"two" (key 2, 1 in the label file)`}},
		{"no vertices of many", dense(0), dlabel(many, keys...),
			[]string{`"pp"`, `"pppppp"`, "and 3 more"}},
		{"surface sizes", series, surface,
			[]string{"10 vertices in series.nii",
				"59 in labels.nii", `"L"`, "-cifti-resample"}},
		{"no parcels", series, labels(0, 0),
			[]string{"labels.nii", "no parcels", "???"}},
		{"unknown key", series, labels(1, 5),
			[]string{"key 5", "vertex 1 of L", "labels.nii"}},
		{"fraction", series, labels(1, 1.5),
			[]string{"1.5", "vertex 1 of L"}},
		{"NaN key", series, labels(math.NaN(), 1),
			[]string{"NaN", "vertex 0 of L"}},
		{"huge key", series, labels(1e300, 1),
			[]string{"1e+300"}},
		{"two parcels of a name", series, dlabel(map[int]string{1: "x", 2: "x"}, 1, 2),
			[]string{`"x"`, "keys 1 and 2"}},
		{"header only", header, labels(1, 2),
			[]string{"series.nii", "not read"}},
		{"labels for series", labels(1, 2), labels(1, 2),
			[]string{"labels.nii is a dlabel file"}},
		{"series for labels", series, series,
			[]string{"series.nii is a dtseries file, not a dlabel"}},
		{"ptseries", load("x.ptseries.nii"), labels(1, 2),
			[]string{"ptseries file; averaged are dtseries"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parcellate(test.series, test.labels, false)
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q lacks %q", err, want)
				}
			}
		})
	}
}

// TestVolumeSpaces checks that voxels are averaged only within one space: other lengths or another
// matrix are refused, and the same matrix in metres is not.
func TestVolumeSpaces(t *testing.T) {
	tests := []struct {
		name   string
		change func(v *Volume)
		want   string
	}{
		{"same", func(*Volume) {}, ""},
		{"in metres", func(v *Volume) {
			v.MeterExponent = 0
			for i := range v.Affine {
				for j := range v.Affine[i] {
					v.Affine[i][j] /= 1000
				}
			}
		}, ""},
		{"size", func(v *Volume) { v.Size[1]++ },
			"[9 8 7] voxels in testdata/lr.dtseries.nii and [9 9 7]"},
		{"origin", func(v *Volume) { v.Affine[0][3]++ }, "row 0, column 3"},
	}
	for _, test := range tests {
		labels := only(t, load("lr.dlabel.nii"), "areas")
		test.change(labels.Axes[1].Volume)
		_, err := Parcellate(load("lr.dtseries.nii"), labels, false)
		if (err == nil) != (test.want == "") || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestOrderDoesNotMatter reverses rows and models of both files and expects the same means up to
// the order of summation.
func TestOrderDoesNotMatter(t *testing.T) {
	series, labels := load("lr.dtseries.nii"), only(t, load("rl.dlabel.nii"), "areas")
	want := expect.Must(Parcellate(series, labels, false))
	got := expect.Must(Parcellate(reversed(series), reversed(labels), false))
	for i, v := range want.Values.Data {
		if math.Abs(v-got.Values.Data[i]) > 1e-14 {
			t.Errorf("value %d is %v, want %v", i, got.Values.Data[i], v)
		}
	}
}

// reversed returns an image with its rows, and so its models, vertices and voxels, in reverse
// order.
func reversed(m *Image) *Image {
	r := *m
	n, columns := m.Axes[1].Length, m.Axes[0].Length
	r.Axes[1].Models = nil
	for _, model := range slices.Backward(m.Axes[1].Models) {
		model.Offset = n - model.Offset - model.Count
		model.Vertices, model.Voxels = slices.Clone(model.Vertices), slices.Clone(model.Voxels)
		slices.Reverse(model.Vertices)
		slices.Reverse(model.Voxels)
		r.Axes[1].Models = append(r.Axes[1].Models, model)
	}
	r.Data.Data = nil
	for i := n - 1; i >= 0; i-- {
		r.Data.Data = append(r.Data.Data, m.Data.Data[i*columns:(i+1)*columns]...)
	}
	return &r
}
