package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/report/internal/chromium"
	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
)

func find(t *testing.T, all ...synthetic.Run) []*runs.Run {
	t.Helper()
	dir := t.TempDir()
	if err := synthetic.Write(dir, all...); err != nil {
		t.Fatal(err)
	}
	found, _, err := runs.Find(dir)
	if err != nil || len(found) != len(all) {
		t.Fatalf("%d runs, %v", len(found), err)
	}
	return found
}

// rows are those of a table, by column.
func rows(t *testing.T, c *Comparison, i int) []map[string]any {
	t.Helper()
	var b strings.Builder
	if err := c.Tables()[i].JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	return got.Rows
}

func TestRuns(t *testing.T) {
	found := find(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}},
		synthetic.Run{Name: "b", Task: "lst", PE: "rope", Seeds: []int{3}, Heads: 2},
		synthetic.Run{Name: "c", Task: "nmar", PE: "learn", Sigma: 1, Seeds: []int{1}},
	)
	c, err := Runs(found)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]map[string]any{}
	for _, row := range rows(t, c, 0) {
		settings[row["setting"].(string)] = row
	}
	if got := settings["heads"]; got["run_1"] != "1" || got["run_2"] != "2" || got["run_3"] != "1" {
		t.Errorf("heads %v", got)
	}
	if _, there := settings["batch"]; there || settings["task"]["run_3"] != "nmar" {
		t.Errorf("settings %v", settings)
	}
	puzzles := rows(t, c, 1)
	if len(puzzles) != 3 || puzzles[1]["seed"] != 2.0 || puzzles[2]["pe"] != "rope" || puzzles[0]["validation"] != found[0].Result.Members[0].ValidationAccuracy {
		t.Errorf("puzzles %v", puzzles)
	}
	masked := rows(t, c, 2)
	if len(masked) != 1 || masked[0]["test_mse_50"] != found[2].Result.Members[0].TestMSEByMask["0.50"] || masked[0]["modularity"] != *found[2].Result.Members[0].Modularity {
		t.Errorf("masked %v", masked)
	}
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "settings.csv", "puzzles.tex", "puzzles_validation.pdf", "masked_test_mse_90.svg", "masked_test_mse_90.csv", "masked_modularity.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Error(err)
		}
	}
	page := chromium.Open(t, filepath.Join(dir, "index.html"))
	var undrawn int
	page.Evaluate(`[...document.querySelectorAll("img")].filter(e => !(e.complete && e.naturalWidth > 0)).length`, &undrawn)
	if undrawn > 0 || len(page.Problems()) > 0 {
		t.Errorf("%d images are not drawn; %v", undrawn, page.Problems())
	}
}

// Many runs with long names are drawn in several figures.
func TestManyRuns(t *testing.T) {
	var all []synthetic.Run
	for i := range 15 {
		all = append(all, synthetic.Run{Name: strings.Repeat("very-long-name-of-a-run", 3) + string(rune('a'+i)), Task: "lst", PE: "rope", Seeds: []int{1}})
	}
	c, err := Runs(find(t, all...))
	if err != nil || len(c.tasks[0].curves) != 2*len(puzzleMeasures) {
		t.Fatalf("%v", err)
	}
}

func TestSameRunTwice(t *testing.T) {
	found := find(t, synthetic.Run{Name: "a", Task: "lst", PE: "rope", Seeds: []int{1}})
	if _, err := Runs(append(found, found...)); err == nil || !strings.Contains(err.Error(), "a") {
		t.Error(err)
	}
}
