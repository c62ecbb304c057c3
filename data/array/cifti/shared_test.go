package cifti

import (
	"crypto/sha256"
	"encoding/hex"
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

// testSet holds what nibabel 5.0.0 and a look at the raw bytes say about a file of the test set.
type testSet struct {
	Raw struct {
		Bytes      int64 `json:"file_bytes"`
		SHA256     string
		Size       int32 `json:"sizeof_hdr"`
		Magic      string
		Datatype   int16
		Bitpix     int16
		Dim        [8]int64
		Pixdim     [8]float64
		VoxOffset  int64   `json:"vox_offset"`
		Slope      float64 `json:"scl_slope,string"`
		Inter      float64 `json:"scl_inter,string"`
		Flag       [4]byte `json:"extension_flag"`
		Extensions []struct {
			Length int    `json:"xml_len_without_nul_padding"`
			Start  string `json:"first80"`
		}
		DataBytes int64     `json:"data_bytes_after_vox_offset"`
		First     []float64 `json:"first_values_raw"`
	}
	Shape []int
	DType string
	Axes  []struct {
		Size  int
		Names []string
		First []struct {
			Name      string
			NVoxels   int `json:"n_voxels"`
			Vertices  map[string][]int32
			NVertices map[string]int `json:"n_vertices"`
		} `json:"parcels_first"`
		Structures []struct {
			Name          string
			Offset        int     `json:"index_offset"`
			Count         int     `json:"index_count"`
			Surface       bool    `json:"is_surface"`
			FirstVertices []int32 `json:"first_vertices"`
		}
		NVertices map[string]int `json:"nvertices"`
		Volume    []int          `json:"volume_shape"`
	}
	NaNs     int `json:"nan_count"`
	Min, Max float64
	Sum      float64
	SumSq    float64
	Rows     [][]float64 `json:"first_rows"`
	Last     []float64   `json:"last_row_last12"`
	Maps     []struct {
		Applies []int `json:"applies_to"`
		Type    AxisKind
		Series  *struct{ N int }
	} `json:"mims"`
}

// TestStandardFiles compares two files of the standard's test set with everything that their JSON
// says.
func TestStandardFiles(t *testing.T) {
	for _, name := range []string{conte + "dtseries", conte + "ptseries"} {
		t.Run(name, func(t *testing.T) {
			path := shared(t, name+".nii")
			b := expect.Must(os.ReadFile(strings.TrimSuffix(path, ".nii") + ".expected.json"))
			var want testSet
			expect.NoError(t, json.Unmarshal(b, &want))
			sameRaw(t, path, want)
			got := expect.Must(Read(path))
			sameImage(t, got, want)
		})
	}
}

// sameRaw compares the header, its extension and the place of the data.
func sameRaw(t *testing.T, path string, want testSet) {
	t.Helper()
	b := expect.Must(os.ReadFile(path))
	w := want.Raw
	if sum := sha256.Sum256(b); int64(len(b)) != w.Bytes || hex.EncodeToString(sum[:]) != w.SHA256 {
		t.Skip("another version of the file than the JSON's")
	}
	s := newSource(strings.NewReader(string(b)), int64(len(b)))
	h, order := readFileHeader(s)
	if h.Size != w.Size || strings.Trim(fmt.Sprintf("%q", h.Magic), `"`) != w.Magic ||
		h.Datatype != w.Datatype || h.Bitpix != w.Bitpix ||
		h.Dim != w.Dim || h.Pixdim != w.Pixdim || h.VoxOffset != w.VoxOffset ||
		h.Slope != w.Slope || h.Inter != w.Inter ||
		order.String() != "LittleEndian" || w.Flag[0] != 1 {
		t.Errorf("header %+v, want %+v", h, w)
	}
	text := findXML(s, h, order)
	if len(text) != w.Extensions[0].Length || string(text[:80]) != w.Extensions[0].Start {
		t.Errorf("XML of %d bytes, want %+v", len(text), w.Extensions)
	}
	if int64(len(b))-h.VoxOffset != w.DataBytes {
		t.Errorf("%d bytes of data, want %d", int64(len(b))-h.VoxOffset, w.DataBytes)
	}
}

// sameImage compares axes and data.
func sameImage(t *testing.T, got *Image, want testSet) {
	t.Helper()
	if got.Datatype != want.DType ||
		!slices.Equal(got.Data.Shape, []int{want.Shape[1], want.Shape[0]}) {
		t.Errorf("%s %d", got.Datatype, got.Data.Shape)
	}
	for i, m := range want.Maps {
		if m.Applies[0] != i || got.Axes[i].Kind != m.Type {
			t.Errorf("axis %d is %s, want %+v", i, got.Axes[i].Kind, m)
		}
		if s := m.Series; s != nil && got.Axes[i].Length != s.N {
			t.Errorf("series of %d, want %d", got.Axes[i].Length, s.N)
		}
	}
	for i, w := range want.Axes {
		a := got.Axes[i]
		if a.Length != w.Size || len(a.Parcels) != len(w.Names) || len(a.Models) != len(w.Structures) ||
			a.Volume != nil || w.Volume != nil {
			t.Errorf("axis %d: %s of %d with %d parcels and %d models", i, a.Kind, a.Length,
				len(a.Parcels), len(a.Models))
		}
		for j, name := range w.Names {
			if a.Parcels[j].Name != name {
				t.Errorf("parcel %d is %q, want %q", j, a.Parcels[j].Name, name)
			}
		}
		for j, p := range w.First {
			if a.Parcels[j].Name != p.Name || len(a.Parcels[j].Voxels) != p.NVoxels ||
				len(a.Parcels[j].Vertices) != len(p.NVertices) {
				t.Errorf("parcel %d: %+v", j, a.Parcels[j])
			}
			for _, v := range a.Parcels[j].Vertices {
				n := len(p.Vertices[v.Structure])
				if len(v.Index) != p.NVertices[v.Structure] || n == 0 ||
					!slices.Equal(v.Index[:n], p.Vertices[v.Structure]) {
					t.Errorf("parcel %d, %s: %d", j, v.Structure, len(v.Index))
				}
			}
		}
		for j, s := range w.Structures {
			m := a.Models[j]
			if m.Structure != s.Name || m.Offset != s.Offset || m.Count != s.Count ||
				m.Surface() != s.Surface ||
				!slices.Equal(m.Vertices[:len(s.FirstVertices)], s.FirstVertices) ||
				m.SurfaceVertices != w.NVertices[s.Name] {
				t.Errorf("model %d: %s %d %d", j, m.Structure, m.Offset, m.Count)
			}
		}
	}
	sameNumbers(t, got.Data, want)
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
		if !slices.Equal(shown.Data[i*columns:i*columns+len(row)], row) {
			t.Errorf("row %d: %v, want %v", i, shown.Data[i*columns:i*columns+len(row)], row)
		}
	}
	if end := shown.Data[len(shown.Data)-len(want.Last):]; !slices.Equal(end, want.Last) {
		t.Errorf("data ends with %v, want %v", end, want.Last)
	}
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
