package item

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		d.Pairs(2, []figure.Panel{p, p})
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
