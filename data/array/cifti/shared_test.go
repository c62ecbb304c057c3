package cifti

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// shared returns a file of the CIFTI-2 test set (nitrc.org/projects/cifti) beside the repository,
// or skips the test.
func shared(t *testing.T, name string) string {
	t.Helper()
	dir := expect.Must(os.Getwd())
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
	path := filepath.Join(dir, "..", "shared", "fmri", "cifti", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the CIFTI-2 test set is not here:", err)
	}
	return path
}

// conte is the beginning of the names of the test set's files.
const conte = "Conte69.MyelinAndCorrThickness.32k_fs_LR."

// testSet holds what nibabel 5.0.0 says about the data of a file of the test set, with more digits and
// numbers than the files of testdata have.
type testSet struct {
	Raw struct {
		First []float64 `json:"first_values_raw"`
	}
	Shape []int
	DType string
	Axes  []struct {
		Size  int
		Names []string
	}
	NaNs     int `json:"nan_count"`
	Min, Max float64
	Sum      float64
	SumSq    float64
	Rows     [][]float64 `json:"first_rows"`
	Last     []float64   `json:"last_row_last12"`
}

// TestStandardFiles compares two files of the standard's test set, which Workbench wrote, with their
// JSON.
func TestStandardFiles(t *testing.T) {
	for _, kind := range []Kind{Dtseries, Ptseries} {
		t.Run(string(kind), func(t *testing.T) {
			path := shared(t, conte+string(kind)+".nii")
			b := expect.Must(os.ReadFile(strings.TrimSuffix(path, ".nii") + ".expected.json"))
			var want testSet
			expect.NoError(t, json.Unmarshal(b, &want))
			got := expect.Must(Read(path))
			if got.Datatype != want.DType || got.Kind != kind ||
				!slices.Equal(got.Data.Shape, []int{want.Shape[1], want.Shape[0]}) {
				t.Errorf("%s %s %d", got.Kind, got.Datatype, got.Data.Shape)
			}
			for i, w := range want.Axes {
				var names []string
				for _, p := range got.Axes[i].Parcels {
					names = append(names, p.Name)
				}
				if got.Axes[i].Length != w.Size || !slices.Equal(names, w.Names) {
					t.Errorf("axis %d of %d: %q, want %q", i, got.Axes[i].Length, names, w.Names)
				}
			}
			sameNumbers(t, got.Data, want)
		})
	}
}

// sameNumbers compares the data. The JSON's sums were added up in another order.
func sameNumbers(t *testing.T, got array.Array, want testSet) {
	t.Helper()
	if !slices.Equal(got.Data[:len(want.Raw.First)], want.Raw.First) {
		t.Errorf("data begins with %v, want %v", got.Data[:5], want.Raw.First)
	}
	shown := got.Transpose() // nibabel's orientation
	columns := shown.Shape[1]
	for i, row := range want.Rows {
		expect.Equal(t, fmt.Sprintf("row %d", i), shown.Data[i*columns:i*columns+len(row)], row)
	}
	expect.Equal(t, "data ends with", shown.Data[len(shown.Data)-len(want.Last):], want.Last)
	nans, sum, squares := 0, 0.0, 0.0
	for _, v := range got.Data {
		if math.IsNaN(v) {
			nans++
		}
		sum += v
		squares += v * v
	}
	if nans != want.NaNs || slices.Min(got.Data) != want.Min || slices.Max(got.Data) != want.Max ||
		math.Abs(sum-want.Sum) > 1e-12*want.Sum || math.Abs(squares-want.SumSq) > 1e-12*want.SumSq {
		t.Errorf("%d NaNs, %v to %v, sums %v and %v", nans, slices.Min(got.Data),
			slices.Max(got.Data), sum, squares)
	}
}

// TestParcellateAsWorkbench compares with wb_command: the test set's ptseries file is its
// -cifti-parcellate of the dtseries file (so the Provenance says). The label file is not here; its
// labels are those of the parcels that the ptseries file has.
func TestParcellateAsWorkbench(t *testing.T) {
	dense := expect.Must(Read(shared(t, conte+"dtseries.nii")))
	want := expect.Must(Read(shared(t, conte+"ptseries.nii")))
	labels := labelsOf(want.Axes[1])
	p := expect.Must(Parcellate(dense, labels, false))
	for i, parcel := range want.Axes[1].Parcels {
		if p.Names[i] != parcel.Name || p.Keys[i] != i+1 {
			t.Errorf("parcel %d is %q, want %q", i, p.Names[i], parcel.Name)
		}
		for j := range 2 {
			got, want := p.Values.Data[2*i+j], want.Data.Data[2*i+j]
			// numpy's means of the same vertices differ from the file by 2.9e-6 at most
			if math.Abs(got-want) > 5e-6 {
				t.Errorf("%s at %d: %v, want %v", parcel.Name, j, got, want)
			}
		}
	}
}

// labelsOf makes a dlabel image of parcels, with keys from 1 and the right hemisphere first.
func labelsOf(a Axis) *Image {
	m := &Image{Name: "labels", Kind: Dlabel, Axes: [2]Axis{{Kind: Labels, Length: 1},
		{Kind: BrainModels}}}
	table := map[int]string{0: unassigned}
	surfaces := slices.Clone(a.Surfaces)
	slices.Reverse(surfaces)
	for _, s := range surfaces {
		model := Model{Structure: s.Structure, Offset: m.Axes[1].Length,
			SurfaceVertices: s.Vertices}
		for i, p := range a.Parcels {
			table[i+1] = p.Name
			for _, v := range p.Vertices {
				if v.Structure == s.Structure {
					model.Vertices = append(model.Vertices, v.Index...)
					m.Data.Data = append(m.Data.Data, slices.Repeat([]float64{float64(i + 1)},
						len(v.Index))...)
				}
			}
		}
		model.Count = len(model.Vertices)
		m.Axes[1].Models = append(m.Axes[1].Models, model)
		m.Axes[1].Length += model.Count
	}
	m.Axes[0].Maps = []Map{{Name: "parcels", Labels: table}}
	m.Data.Shape = m.Shape()
	return m
}
