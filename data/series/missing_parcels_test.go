package series

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/internal/expect"
)

// Of several maps of parcels the first is used, and a note names it.
func TestSeveralMaps(t *testing.T) {
	s := Source{Data: []string{fixture("dense.dtseries.nii")}, Parcellation: fixture("two-maps.dlabel.nii")}
	d := expect.Must(s.Read(nil, false))
	want := `Parcels are those of "parcels", the first of the 2 maps of testdata/two-maps.dlabel.nii.`
	if !slices.Equal(d.Names, names) || !slices.Contains(d.Notes, want) {
		t.Errorf("%q, %q", d.Names, d.Notes)
	}
	p := expect.Must(partition.Read(s.Parcellation, text.Auto))
	m := expect.Must(p.Match(partition.Tokens{Count: tokens, Parcels: fixture("sub-01.ptseries.nii")}))
	if !strings.HasSuffix(m.How, ", the first of its 2 maps") {
		t.Errorf("%q", m.How)
	}
}

// A compressed dense series is one, too.
func TestCompressedDenseSeries(t *testing.T) {
	s := Source{Data: []string{fixture("dense.dtseries.nii")}, Parcellation: fixture("parcels.dlabel.nii")}
	want := expect.Must(s.Read(nil, false))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(expect.Must(os.ReadFile(s.Data[0])))
	expect.NoError(t, errors.Join(err, w.Close()))
	s.Data[0] = expect.File(t, "dense.dtseries.nii.gz", b.String())
	expect.Equal(t, "values", expect.Must(s.Read(nil, false)).X, want.X)
}

// The left half of a dense series (make.py) holds the three left parcels of six.
func TestMissingParcels(t *testing.T) {
	s := Source{Data: []string{fixture("left.dtseries.nii")}, Parcellation: fixture("parcels.dlabel.nii")}
	expect.Error(t, expect.ErrorOf(s.Read(nil, false)), "--missing-parcels skip", "R_V1_ROI")
	s.MissingParcels = SkipMissing
	d := expect.Must(s.Read(nil, false))
	whole, err := Source{Data: []string{fixture("dense.dtseries.nii")}, Parcellation: s.Parcellation}.Read(nil, false)
	if err != nil || !slices.Equal(d.Names, names[:3]) || d.Frames != whole.Frames {
		t.Fatalf("%q, %d frames, %v", d.Names, d.Frames, err)
	}
	for f := range d.Frames {
		expect.Equal(t, fmt.Sprintf("frame %d", f), d.X[3*f:3*f+3], whole.X[6*f:6*f+3])
	}
	if !slices.ContainsFunc(d.Notes, func(n string) bool {
		return strings.Contains(n, "3 of the 6 parcels") && strings.Contains(n, "R_V1_ROI")
	}) {
		t.Errorf("%q", d.Notes)
	}
}
