package cifti

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// scalarsOf writes the maps of x.pscalar.nii, which nibabel wrote, over the parcels of a template.
func scalarsOf(t *testing.T, template string) (path string, original *Image) {
	t.Helper()
	original = load("x.pscalar.nii")
	p := expect.Must(ReadTemplate(filepath.Join("testdata", template)))
	var maps []ParcelMap
	for k, name := range []string{"thick", "myelin"} {
		m := ParcelMap{Name: name}
		for i := range p.Names {
			m.Values = append(m.Values, original.Data.Data[2*i+k])
		}
		maps = append(maps, m)
	}
	body := expect.Must(p.Encode(maps))
	path = filepath.Join(t.TempDir(), "made.pscalar.nii")
	expect.NoError(t, os.WriteFile(path, body, 0o666))
	return path, original
}

// A pscalar.nii over the parcels of a series, of a matrix or of scalars is that of nibabel: the same
// header but for the length of the XML, the same parcels, maps and numbers.
func TestScalarsAsNibabel(t *testing.T) {
	theirs := expect.Must(os.ReadFile(filepath.Join("testdata", "x.pscalar.nii")))
	for _, template := range []string{"x.ptseries.nii", "x.pconn.nii", "z.ptseries.nii.gz", "x.pscalar.nii"} {
		path, want := scalarsOf(t, template)
		got, err := Read(path)
		if err != nil {
			t.Fatalf("%s: %v", template, err)
		}
		got.Axes[1].text, want.Axes[1].text = nil, nil // blanks may differ
		if got.Kind != Pscalar || got.Datatype != "float32" || !reflect.DeepEqual(got.Axes, want.Axes) ||
			!slices.Equal(got.Data.Data, want.Data.Data) {
			t.Errorf("%s: %+v, want %+v", template, got, want)
		}
		ours := expect.Must(os.ReadFile(path))
		for _, b := range [][]byte{ours, theirs} {
			clear(b[atVoxOffset : atVoxOffset+8])
		}
		if !bytes.Equal(ours[:atFlag+4], theirs[:atFlag+4]) {
			t.Errorf("%s: the header is\n%x, nibabel's\n%x", template, ours[:atFlag+4], theirs[:atFlag+4])
		}
	}
}

// nibabel itself reads the file.
func TestNibabelReadsScalars(t *testing.T) {
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import nibabel").Run(); err != nil {
		t.Skip("what was written was not checked (apt install python3-nibabel):", err)
	}
	path, want := scalarsOf(t, "x.ptseries.nii")
	out, err := exec.Command(python, "-c", `import json, sys, nibabel
image = nibabel.load(sys.argv[1])
maps, parcels = (image.header.get_axis(i) for i in (0, 1))
print(json.dumps({"kind": type(image).__name__, "maps": list(maps.name), "parcels": list(parcels.name),
                  "voxels": [v.tolist() for v in parcels.voxels], "data": image.get_fdata().T.tolist()}))
`, path).Output()
	expect.NoError(t, err)
	var got struct {
		Kind          string
		Maps, Parcels []string
		Voxels        [][][3]int32
		Data          [][]float64
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if got.Kind != "Cifti2Image" || !slices.Equal(got.Maps, []string{"thick", "myelin"}) ||
		!slices.Equal(slices.Concat(got.Data...), want.Data.Data) || len(got.Parcels) != 4 {
		t.Errorf("%s", out)
	}
	for i, p := range want.Axes[1].Parcels {
		if p.Name != got.Parcels[i] || !slices.Equal(p.Voxels, got.Voxels[i]) && len(p.Voxels) > 0 {
			t.Errorf("parcel %d: %+v, nibabel has %s", i, p, out)
		}
	}
}

// What has no parcels is no template, and names of maps may hold any text.
func TestTemplates(t *testing.T) {
	for name, want := range map[string]string{"x.dscalar.nii": "has no parcels", "make.py": "not a NIfTI file"} {
		expect.Error(t, expect.ErrorOf(ReadTemplate(filepath.Join("testdata", name))), want)
	}
	p := expect.Must(ReadTemplate(filepath.Join("testdata", "x.ptseries.nii")))
	if _, err := p.Encode([]ParcelMap{{Name: "a", Values: make([]float64, 3)}}); err == nil {
		t.Error("3 numbers for 4 parcels")
	}
	const odd = "<&> \"PC 1\" ä"
	body := expect.Must(p.Encode([]ParcelMap{{Name: odd, Values: make([]float64, 4)}}))
	m, err := decode(bytes.NewReader(body), int64(len(body)), "odd", true)
	if err != nil || m.Axes[0].Maps[0].Name != odd {
		t.Errorf("%+v, %v", m, err)
	}
}
