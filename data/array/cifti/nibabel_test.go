package cifti

import (
	"encoding/binary"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// jsonAxis is an axis as testdata/make.py describes it.
type jsonAxis struct {
	Kind     string
	Size     int
	Surfaces map[string]int
	Parcels  []struct {
		Name     string
		Vertices map[string][]int32
		Voxels   [][3]int32
	}
	Models []struct {
		Structure       string
		Offset, Count   int
		SurfaceVertices int `json:"surface_vertices"`
		Vertices        []int32
		Voxels          [][3]int32
	}
	Maps []struct {
		Name   string
		Labels map[string]struct{ Name string }
	}
	Volume *struct {
		Size   [3]int
		Affine [4][4]float64
	}
}

// expectations is testdata/expected.json.
type expectations struct {
	Files map[string]struct {
		DType string
		Axes  [2]jsonAxis
		Data  [][]expect.Number
	}
	Parcellations []struct {
		Series, Labels, Map string
		Keys                []int
		Names               []string
		Values              [][]expect.Number
		Grayordinates       []int
	}
}

// expected reads testdata/expected.json, which testdata/make.py writes with nibabel and numpy.
func expected(t *testing.T) expectations {
	t.Helper()
	return expect.JSON[expectations](t, "testdata/expected.json")
}

// load reads a file of testdata.
func load(name string) *Image {
	return expect.Must(Read(filepath.Join("testdata", name)))
}

// TestNibabelFiles compares everything that nibabel reads in the files of testdata.
func TestNibabelFiles(t *testing.T) {
	e := expected(t)
	if len(e.Files) < 15 {
		t.Fatalf("%d files", len(e.Files))
	}
	for name, want := range e.Files {
		t.Run(name, func(t *testing.T) {
			got := load(name)
			if got.Datatype != want.DType {
				t.Errorf("%s, want %s", got.Datatype, want.DType)
			}
			kind := strings.Split(name, ".")[1]
			if string(got.Kind) != kind {
				t.Errorf("kind %s, want %s", got.Kind, kind)
			}
			for i := range want.Axes {
				sameAxis(t, got.Axes[i], want.Axes[i])
			}
			if !slices.Equal(got.Data.Shape, []int{len(want.Data), len(want.Data[0])}) {
				t.Fatalf("shape %d", got.Data.Shape)
			}
			// nibabel scales as float64(raw)*slope + intercept, as we do; only a fused multiply-add
			// may differ.
			sameRows(t, got.Data.Data, want.Data, 1e-15)
			header, err := ReadHeader(filepath.Join("testdata", name))
			if err != nil || header.Data.Data != nil ||
				!slices.Equal(header.Shape(), got.Data.Shape) || header.Kind != got.Kind {
				t.Errorf("ReadHeader: %v %v", header, err)
			}
		})
	}
}

// sameRows compares numbers with rows of numbers, relative to 1 or to the number where it is
// larger.
func sameRows(t *testing.T, got []float64, rows [][]expect.Number, tolerance float64) {
	t.Helper()
	for i, row := range rows {
		for j, w := range row {
			g, w := got[i*len(row)+j], float64(w)
			if g != w && !(math.IsNaN(g) && math.IsNaN(w)) &&
				!(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
				t.Errorf("[%d, %d] is %v, want %v", i, j, g, w)
			}
		}
	}
}

// sameAxis compares an axis with nibabel's.
func sameAxis(t *testing.T, got Axis, want jsonAxis) {
	t.Helper()
	if got.Kind != AxisKind("CIFTI_INDEX_TYPE_"+want.Kind) || got.Length != want.Size {
		t.Fatalf("axis %s of %d, want %s of %d", got.Kind, got.Length, want.Kind, want.Size)
	}
	surfaces := map[string]int{}
	for _, s := range got.Surfaces {
		surfaces[s.Structure] = s.Vertices
	}
	if !maps.Equal(surfaces, want.Surfaces) {
		t.Errorf("surfaces %v, want %v", surfaces, want.Surfaces)
	}
	if (got.Volume == nil) != (want.Volume == nil) {
		t.Fatalf("volume %v, want %v", got.Volume, want.Volume)
	}
	if got.Volume != nil && (got.Volume.Size != want.Volume.Size ||
		got.Volume.Affine != want.Volume.Affine ||
		got.Volume.MeterExponent != -3) {
		t.Errorf("volume %v, want %v", got.Volume, want.Volume)
	}
	if len(got.Parcels) != len(want.Parcels) || len(got.Models) != len(want.Models) ||
		len(got.Maps) != len(want.Maps) {
		t.Fatalf("%d parcels, %d models, %d maps, want %d, %d, %d", len(got.Parcels),
			len(got.Models), len(got.Maps),
			len(want.Parcels), len(want.Models), len(want.Maps))
	}
	for i, w := range want.Parcels {
		g := got.Parcels[i]
		if g.Name != w.Name || !slices.Equal(g.Voxels, w.Voxels) ||
			len(g.Vertices) != len(w.Vertices) {
			t.Errorf("parcel %+v, want %+v", g, w)
		}
		for _, v := range g.Vertices {
			if !slices.Equal(v.Index, w.Vertices[v.Structure]) {
				t.Errorf("parcel %q: %v, want %v", g.Name, v, w.Vertices)
			}
		}
	}
	for i, w := range want.Models {
		g := got.Models[i]
		if g.Structure != w.Structure || g.Offset != w.Offset || g.Count != w.Count ||
			g.SurfaceVertices != w.SurfaceVertices ||
			g.Surface() != (w.SurfaceVertices > 0) || !slices.Equal(g.Vertices, w.Vertices) ||
			!slices.Equal(g.Voxels, w.Voxels) {
			t.Errorf("model %+v, want %+v", g, w)
		}
	}
	for i, w := range want.Maps {
		g := got.Maps[i]
		if g.Name != w.Name || len(g.Labels) != len(w.Labels) {
			t.Errorf("map %+v, want %+v", g, w)
		}
		for key, label := range g.Labels {
			if l := w.Labels[strconv.Itoa(key)]; l.Name != label {
				t.Errorf("map %q: key %d is %q, want %q", g.Name, key, label, l.Name)
			}
		}
	}
}

// TestBigEndianIsTheSame checks that the byte-swapped copy has the very numbers of the file that it
// was made from.
func TestBigEndianIsTheSame(t *testing.T) {
	if b, err := os.ReadFile("testdata/big.ptseries.nii"); err != nil ||
		binary.BigEndian.Uint32(b) != 540 {
		t.Fatalf("big.ptseries.nii is not big-endian (%v)", err)
	}
	if !slices.Equal(load("x.ptseries.nii").Data.Data, load("big.ptseries.nii").Data.Data) {
		t.Error("other numbers")
	}
}

// TestParcellateAsNumpy compares with the means that testdata/make.py takes vertex by vertex. The
// files have the hemispheres in either order, other vertices, a vertex order of their own, and a
// NaN and an infinity.
func TestParcellateAsNumpy(t *testing.T) {
	for _, want := range expected(t).Parcellations {
		t.Run(want.Series+" "+want.Labels+" "+want.Map, func(t *testing.T) {
			series, labels := load(want.Series), only(t, load(want.Labels), want.Map)
			p := expect.Must(Parcellate(series, labels, false))
			if !slices.Equal(p.Keys, want.Keys) || !slices.Equal(p.Names, want.Names) ||
				!slices.Equal(p.Grayordinates, want.Grayordinates) {
				t.Errorf("got %+v, want %+v", p, want)
			}
			if err := p.Values.Check(); err != nil ||
				!slices.Equal(p.Values.Shape, []int{len(want.Keys), 5}) {
				t.Fatalf("shape %d: %v", p.Values.Shape, err)
			}
			// sums of up to 21 numbers in another order
			sameRows(t, p.Values.Data, want.Values, 1e-14)
		})
	}
}
