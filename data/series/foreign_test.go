package series

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A folder with all that lies beside series is described to its end.
func TestInspectAllOfForeignFiles(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{ // by file
		"a.dscalar.nii": "maps of scalars", "b.dlabel.nii": "labels (",
		"c.pconn.nii": "connectivity matrix, not series",
		"d.dconn.nii": "connectivity matrix, not series", "e.plabel.nii": "labels (",
		"f.txt": "4 labels in 2 modules (Visual1, Auditory)", "g.csv": "a connectivity matrix, not series",
		"h.npy": "h.npy", "i.ptseries.nii": "", "j.csv": "4 labels in 2 modules", "k.csv": "not a number",
	}
	for name := range want {
		text := map[string]string{
			"f.txt": "INDEX\tKEYVALUE\tLABEL\tHEMISPHERE\tNETWORK\tNETWORKKEY\n" +
				"1\t1\tVisual1-01_L-Ctx\tL\tVisual1\t1\n" +
				"2\t2\tVisual1-02_L-Ctx\tL\tVisual1\t1\n3\t3\tAuditory-01_R-Ctx\tR\tAuditory\t2\n" +
				"4\t4\tAuditory-02_R-Ctx\tR\tAuditory\t2\n",
			"g.csv": "a,b,c\n1,0.5,0.25\n0.5,1,0.125\n0.25,0.125,1\n", "h.npy": "damaged", "j.csv": "1\n1\n2\n2\n",
			"k.csv": "a,b,c\n1,2,3\n7%,3,4\n",
		}[name]
		if strings.HasSuffix(name, ".nii") {
			from := "../array/cifti/testdata/x" + name[1:]
			if name == "b.dlabel.nii" {
				from = fixture("parcels.dlabel.nii")
			}
			b := expect.Must(os.ReadFile(from))
			text = string(b)
		}
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	all, _, err := InspectAll(Source{Data: []string{dir}}, CorticalParcels)
	expect.NoError(t, err)
	expect.Equal(t, "files", len(all), len(want))
	for _, i := range all {
		expected := want[filepath.Base(i.File)]
		if !strings.Contains(i.Problem, expected) || expected == "" && i.Problem != "" {
			t.Errorf("%s: %q, want %q", i.File, i.Problem, expected)
		}
		if strings.HasSuffix(i.File, ".pconn.nii") && (len(i.Shape) != 2 || len(i.Names) != i.Shape[0]) {
			t.Errorf("%+v", i)
		}
	}
	// Training refuses them, and says why.
	for _, name := range []string{"c.pconn.nii", "g.csv"} {
		expect.Error(t, expect.ErrorOf(Load([]string{filepath.Join(dir, name)}, Options{})), name,
			"a connectivity matrix, not series")
	}
	// A subject that cannot be told stops nothing either, nor does an option that does not fit.
	all, notes, err := InspectAll(Source{Data: []string{dir}, SubjectPattern: "/(none)/", Datasets: []string{"x"}}, nil)
	if len(all) != len(want) || err == nil || len(notes) != 1 || !strings.Contains(notes[0], "finds no subject") {
		t.Errorf("%d files, %q, %v", len(all), notes, err)
	}
}
