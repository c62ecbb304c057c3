package analysis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/cifti"
	"torchpe/internal/expect"
)

const template = "../../data/array/cifti/testdata/x.ptseries.nii" // of nibabel (make.py there)

// Coordinates stand at the parcels that have the tokens' names, whatever the order of either, and by
// order where tokens have none.
func TestMapOfParcels(t *testing.T) {
	const rows = "1,2,0\n-3,0.5,1\n0,4,2\n2,2,7\n"
	names := []string{"mixed", "r_v1", "thalamus", "both <&> ä"}
	named := "name,a,b,c\n"
	for i, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		named += names[i] + "," + row + "\n"
	}
	order := map[string]int{"R_V1_ROI": 1, "both <&> ä": 3, "thalamus": 2, "mixed": 0}
	for table, how := range map[string]string{expect.File(t, "named.csv", named): "by name", expect.File(t, "bare.csv",
		rows): "by order"} {
		line := "map --dims 3 --table " + table
		want, _ := result(t, line)
		out := filepath.Join(t.TempDir(), "m.pscalar.nii")
		r, in, err := run(line + " --template " + template + " --out " + out)
		expect.NoError(t, err)
		checkNotes(t, line, in.Notes, []string{"parcels matched " + how})
		expect.NoError(t, os.WriteFile(out, r.File, 0o666))
		m := expect.Must(cifti.Read(out))
		coordinates := value(want, "models/0/coordinates").([]any)
		for i, parcel := range m.Axes[1].Parcels {
			token := i
			if how == "by name" {
				token = order[parcel.Name]
			}
			for axis, v := range coordinates[token].([]any) {
				if got := m.Data.Data[3*i+axis]; got != float64(float32(v.(float64))) {
					t.Errorf("%s: axis %d of %q is %v, want %v", how, axis, parcel.Name, got, v)
				}
			}
		}
		if name := m.Axes[0].Maps[0].Name; !strings.HasPrefix(name, filepath.Base(table)+": PC 1 (") {
			t.Errorf("the first map is %q", name)
		}
	}
}
