package paper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/document"
	"torchpe/report/internal/synthetic"
)

// What TestNumbers holds of drafts is what a report has: Items gives their panels, tables and
// captions, and Write the same CSVs and captions.
func TestReportIsOfDrafts(t *testing.T) {
	s := study(t, synthetic.Run{Task: "lst", PE: "nope", Seeds: []int{3}},
		synthetic.Run{Task: "fmri", PE: "rope", Seeds: []int{3}, MaskLevel: .9})
	if text := draftOf(t, s, "fig_a10").Caption; !strings.HasPrefix(text, "Maps: attention") {
		t.Errorf("without a model to compare with: %q", text)
	}
	items := expect.Must(s.items())
	out := t.TempDir()
	written := expect.Must(s.Write(out))
	var listed reportJSON
	expect.NoError(t, json.Unmarshal(readFile(out, "report.json"), &listed))
	figures, tables := 0, 0
	for i, m := range specs() {
		d := expect.Must(s.draft(m))
		item := items[i]
		if item.ID != m.ID || item.Caption != d.Caption ||
			fmt.Sprint(item.Panels) != fmt.Sprint(d.Panels) ||
			(item.Figure != nil) != (d.Panels != nil) ||
			fmt.Sprint(item.Tables) != fmt.Sprint(d.Tables) {
			t.Errorf("item %d is not the draft of %s", i, m.ID)
		}
		if have := listed.Items[i]; have.ID != m.ID || have.Caption != d.Caption {
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
			expect.Equal(t, named.Name+".csv",
				string(expect.Must(os.ReadFile(filepath.Join(out, named.Name+".csv")))), expect.Written(named.CSV))
		}
	}
	if written.Figures != figures || written.Tables != tables || figures < 5 || tables < 2 {
		t.Errorf("%d figures and %d tables written, of %d and %d", written.Figures, written.Tables,
			figures, tables)
	}
}

// items makes all items of a study.
func (s *Study) items() (all []document.Item, err error) {
	for _, it := range specs() {
		d, err := s.draft(it)
		if err != nil {
			return nil, err
		}
		all = append(all, d.Finish())
	}
	return all, nil
}

// draftOf makes an item of a study.
func draftOf(t *testing.T, s *Study, id string) *draft {
	t.Helper()
	for _, it := range specs() {
		if it.ID == id {
			return expect.Must(s.draft(it))
		}
	}
	t.Fatal("no item", id)
	return nil
}

// A caption speaks of the panels that are drawn, and of these alone. A figure without data is not drawn.
func TestCaptionsOfFewPanels(t *testing.T) {
	quiet := func(m *synthetic.Member) { // as runs that measure no motion
		edit(m)
		for _, key := range []string{"pe_gradient_share", "pe_disparity", "pe_disparity/0", "pe_disparity/1",
			"pe_cosine/0",
			"tangent_alignment"} {
			delete(m.Result.Measures, key)
			for _, r := range m.Records {
				delete(r.Measures, key)
			}
		}
	}
	s := study(t,
		synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, Edit: quiet},
		synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}, Heads: 4},
		synthetic.Run{Task: "lst", PE: "2d-fixed", Seeds: []int{1}, Edit: edit},
		synthetic.Run{Task: "nmar", PE: "rope", Seeds: []int{1}},
		synthetic.Run{Task: "fmri", PE: "rope", Seeds: []int{1}},
		synthetic.Run{Task: "fmri", PE: "rope", Seeds: []int{1}, MaskLevel: .9},
		synthetic.Run{Task: "fmri", PE: "learn", Sigma: 1, Seeds: []int{1}, MaskLevel: .15, Distance: "cosine"})
	for id, texts := range map[string][]string{ // what it says, and what not
		"fig1":    {"of the tokens, on the grid and in the fixed encodings."},
		"fig3":    {"−.98 for the distance.", "here", "ρ cosine"},
		"fig4":    {"have the nodes in an order drawn by data seed 0.", "Q and C", "Matrices"},
		"fig5":    {"a strip shows them"},
		"fig_a9":  {"then the mean.", "none", ".."},
		"maps":    {"by row, then by column (blue", "Nodes"},
		"fig_a12": {"Q and C are scored on the cosine distance of encodings. Chance:"},
		"fig_a14": {"90 % of the regions masked in training, 1200 steps.", "Q and C"},
		"fig_a15": {"Attention with 4 heads", "2 heads"},
		// of the published result files, and Table A2
		"table_a2": {".986 for learn-0.2 and .847 for learn-2.0, with validation accuracies of .956 and .377."},
		"lazy":     {"does not change. E: the table", "none", "gradient", "2d-fixed", "Alignment", "and validation:"},
	} {
		caption := draftOf(t, s, id).Caption
		expect.Contains(t, caption, texts[0])
		for _, text := range texts[1:] {
			if strings.Contains(caption, text) {
				t.Errorf("%s: %q in %q", id, text, caption)
			}
		}
	}
	if d := draftOf(t, s, "fig6"); d.Panels != nil {
		t.Errorf("figure 6 of encodings without a table has %d rows", len(d.Panels))
	}
	if d := draftOf(t, s, "fig_a7"); d.Panels != nil || d.Tables != nil || len(d.Missing) != 2 {
		t.Errorf("one optimizer is compared with none: %+v", d.Item)
	}
}
