package item

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/table"
)

// Panels without room side by side stand one below the other. A figure that cannot be drawn at all says
// why.
func TestNoRoom(t *testing.T) {
	made := func(title string) document.Item {
		d := Draft{Item: document.Item{ID: "maps", Section: "Maps", Tables: []document.Named{{Name: "maps",
			Table: table.Table{Columns: []table.Column{{Heading: "x", Name: "x"}}}}}}}
		p := figure.Map{Title: title, XY: make([][2]float64, 2)}
		d.Grid(2, 2, []figure.Panel{p, p})
		return d.Finish()
	}
	if wide := made(strings.Repeat("title ", 24)); wide.Figure == nil || len(wide.Panels) != 2 {
		t.Errorf("%d rows", len(wide.Panels))
	}
	over := made(strings.Repeat("title ", 40))
	dir := t.TempDir()
	d, err := document.Open(dir, "Test")
	if err == nil {
		_, err = d.Add(over)
	}
	if err == nil {
		err = d.Close()
	}
	page, errPage := os.ReadFile(filepath.Join(dir, "index.html"))
	if err := errors.Join(err, errPage); err != nil || over.Undrawn == nil || d.Figures != 0 ||
		!strings.Contains(string(page), "Not drawn: ") || !strings.Contains(string(page), `href="maps.csv"`) {
		t.Errorf("%v: %d figures; the page does not say why, or has no link to the numbers", err, d.Figures)
	}
}

// A column of square panels is as wide as a column of a page, which it would leave half blank; where it does not
// fit there, and with other panels, a figure is as wide as the page.
func TestWidth(t *testing.T) {
	square := figure.Map{Title: "map", XY: [][2]float64{{0, 0}, {1, 1}}}
	long := square
	long.Title = strings.Repeat("title ", 24)
	boxes := figure.Boxes{Title: "boxes", YLabel: "y", Groups: []figure.Group{{Label: "a", Values: []float64{1, 2}}}}
	for name, c := range map[string]struct {
		rows  [][]figure.Panel
		width float64
	}{
		"one map": {[][]figure.Panel{{square}}, figure.ColumnWidth}, "two rows": {[][]figure.Panel{{square}, {square}},
			figure.ColumnWidth},
		"two in a row": {[][]figure.Panel{{square, square}}, figure.PageWidth},
		"with boxes":   {[][]figure.Panel{{square}, {boxes}}, figure.PageWidth},
		"long title":   {[][]figure.Panel{{long}}, figure.PageWidth},
	} {
		d := Draft{}
		for _, row := range c.rows {
			d.Row(2, row...)
		}
		made := d.Finish()
		if made.Figure == nil {
			t.Fatalf("%s: %v", name, made.Undrawn)
		}
		width, _ := made.Figure.Size()
		expect.Near(t, name+": width in points", width, 72*c.width, 1)
	}
}

// Boxes of many names have a row of their own, between what stands before and after them.
func TestManyNamesHaveARow(t *testing.T) {
	boxes := func(n int, name string) (b figure.Boxes) {
		for i := range n {
			b.Groups = append(b.Groups, figure.Group{Label: fmt.Sprintf("%s%d", name, i), Values: []float64{1}})
		}
		return b
	}
	few, many, numbers := boxes(15, "a"), boxes(16, "a"), boxes(40, "")
	var d Draft
	d.Row(2, few, numbers, many, few, few)
	var got []int
	for _, r := range d.Panels {
		got = append(got, len(r.Cells))
	}
	expect.Equal(t, "panels", got, []int{2, 1, 2})
}

// Tokens of three groups, dealt at random, are in groups again, whatever their order was.
func TestClusterOrder(t *testing.T) {
	const n = 12
	group := []int{0, 2, 1, 1, 0, 2, 2, 0, 1, 0, 1, 2}
	alike := make([]float64, n*n)
	for i := range n {
		for j := range n {
			if alike[i*n+j] = 0.01 * float64((i+j)%5); group[i] == group[j] {
				alike[i*n+j]++
			}
		}
	}
	alike[0*n+1], alike[1*n+0] = math.NaN(), math.NaN()
	order := ClusterOrder(alike, n)
	changes := 0
	for k := 1; k < n; k++ {
		if group[order[k]] != group[order[k-1]] {
			changes++
		}
	}
	if sorted := slices.Sorted(slices.Values(order)); changes != 2 || sorted[0] != 0 || sorted[n-1] != n-1 ||
		len(slices.Compact(sorted)) != n {
		t.Errorf("order %v", order)
	}
}
