package paper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/report/internal/synthetic"
)

// What TestNumbers holds of drafts is what a report has: Items gives their panels, tables and
// captions, and Write the same CSVs and captions.
func TestReportIsOfDrafts(t *testing.T) {
	s, err := Read(synthesise(t, synthetic.Run{Task: "lst", PE: "nope", Seeds: []int{3}},
		synthetic.Run{Task: "fmri", PE: "rope", Seeds: []int{3}, MaskLevel: .9}), "")
	if err != nil {
		t.Fatal(err)
	}
	items, err := s.items()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	written, err := s.Write(out, false)
	if err != nil {
		t.Fatal(err)
	}
	var listed reportJSON
	if err := json.Unmarshal(readFile(t, out, "report.json"), &listed); err != nil {
		t.Fatal(err)
	}
	figures, tables := 0, 0
	for i, m := range specs() {
		d, err := s.draft(m)
		if err != nil {
			t.Fatal(err)
		}
		item := items[i]
		if item.ID != m.id || item.Caption != d.Caption ||
			fmt.Sprint(item.Panels) != fmt.Sprint(d.Rows) ||
			(item.Figure != nil) != (d.Rows != nil) ||
			fmt.Sprint(item.Tables) != fmt.Sprint(d.Tables) {
			t.Errorf("item %d is not the draft of %s", i, m.id)
		}
		if have := listed.Items[i]; have.ID != m.id || have.Caption != d.Caption {
			t.Errorf("report.json has %s with caption %q, want %q", have.ID, have.Caption,
				d.Caption)
		}
		if item.Figure != nil {
			figures++
		}
		for _, named := range d.Tables {
			if item.Figure == nil {
				tables++
			}
			var want strings.Builder
			if err := named.CSV(&want); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(out, named.Name+".csv"))
			if err != nil || string(got) != want.String() {
				t.Errorf("%s.csv: %v\n%s, want\n%s", named.Name, err, got, want.String())
			}
		}
	}
	if written.Figures != figures || written.Tables != tables || figures < 5 || tables < 2 {
		t.Errorf("%d figures and %d tables written, of %d and %d", written.Figures, written.Tables,
			figures, tables)
	}
}

// draftOf makes an item of a study.
func draftOf(t *testing.T, s *Study, id string) *draft {
	t.Helper()
	for _, it := range specs() {
		if it.id == id {
			d, err := s.draft(it)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatal("no item", id)
	return nil
}

// A caption speaks of the panels that are drawn.
func TestCaptionsOfFewPanels(t *testing.T) {
	s, err := Read(synthesise(t, synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, Edit: edit},
		synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}, Heads: 4}), "")
	if err != nil {
		t.Fatal(err)
	}
	for id, texts := range map[string][2]string{ // what it says, and what not
		"fig1":    {"sees them: on the grid.", "fixed encodings"},
		"fig_a15": {"Attention with 4 heads", "2 heads"},
		"course":  {"training: their Frobenius norm", "modularity"},
	} {
		if caption := draftOf(t, s, id).Caption; !strings.Contains(caption, texts[0]) ||
			strings.Contains(caption, texts[1]) {
			t.Errorf("%s: %q has no %q, or %q", id, caption, texts[0], texts[1])
		}
	}
	if d := draftOf(t, s, "fig_a7"); d.Rows != nil || d.Tables != nil || len(d.Missing) != 2 {
		t.Errorf("one optimizer is compared with none: %+v", d.Item)
	}
}
