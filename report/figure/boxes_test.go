package figure

import (
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"
)

// Many groups whose n differ still fit half a page: their n stand in the note.
func TestManyGroupsOfDifferentSizes(t *testing.T) {
	b := Boxes{YLabel: "Accuracy"}
	for i := range 22 {
		values := make([]float64, 10+i%3)
		for k := range values {
			values[k] = float64(k) / 20
		}
		b.Groups = append(b.Groups,
			Group{Label: strconv.FormatFloat(float64(i)/10, 'f', 1, 64), Values: values})
	}
	if _, err := Compose(Page{Width: PageWidth,
		Rows: []Row{{Height: 2.2, Cells: []Cell{{Panel: b}, {Panel: b}}}}}); err != nil {
		t.Error(err)
	}
	if note := b.note(draw.Canvas{}); !strings.Contains(note, "n = 10 to 12") {
		t.Error(note)
	}
}
