package cifti

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

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
