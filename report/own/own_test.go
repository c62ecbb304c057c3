package own

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "torchpe/internal/golden" // for the flag -update
	"torchpe/report/document"
	"torchpe/report/internal/synthetic"
	"torchpe/train/runlog"
)

// made writes runs on own data, and the report of them; edit changes their members.
func made(t *testing.T, edit func(*synthetic.Member)) (dir string, w document.Written) {
	t.Helper()
	dir = t.TempDir()
	subjects := []string{"07", "anna", "3"}
	err := synthetic.Write(filepath.Join(dir, "runs"),
		synthetic.Run{Name: "a/b/learn", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{3, 5},
			Subjects: subjects, Edit: edit},
		synthetic.Run{Task: "masked", PE: "learn", Sigma: 2, Seeds: []int{3}, Subjects: subjects},
		synthetic.Run{Task: "masked", PE: "nope", Seeds: []int{3, 5, 8}, Subjects: subjects},
		synthetic.Run{Task: "nmar", PE: "nope", Seeds: []int{3}}, // the paper's
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(filepath.Join(dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	if w, err = s.Write(filepath.Join(dir, "report"), false); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "report"), w
}

// rows reads a CSV file of a report.
func rows(t *testing.T, dir, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The report has the numbers of the run directories, names tokens, modules and subjects, and says
// nothing of the paper.
func TestReport(t *testing.T) {
	dir, w := made(t, func(m *synthetic.Member) {
		m.Result.TestMSEByMask["0.50"] = map[int]float64{3: 0.25, 5: 0.75}[m.Seed] // mean 0.5, SD 1/sqrt 8
	})
	if w.Figures != 6 || w.Tables != 2 {
		t.Errorf("%d figures and %d tables", w.Figures, w.Tables)
	}
	table := rows(t, dir, "table_errors.csv")
	at := slices.Index(table[0], "test_mse_50")
	if got := table[1]; got[0] != "learn-0.1" || got[1] != "2" || got[at] != "0.5" ||
		!strings.HasPrefix(got[at+1], "0.3535533") {
		t.Errorf("errors %q of %q", got, table[0])
	}
	if last := table[len(table)-1]; last[0] != "baseline: zero" || last[at] != "1" {
		t.Errorf("the last row is %q", last)
	}
	if subjects := rows(t, dir, "subjects.csv"); len(subjects) != 4 || subjects[2][0] != "anna" ||
		!strings.HasPrefix(subjects[2][1], "0.2") {
		t.Errorf("subjects %q", subjects)
	}
	explorer, err := os.ReadFile(filepath.Join(dir, "explorer.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"label":"learn-0.1"`, `"label":"learn-2.0"`, `"name":"` + synthetic.TokenNames[5],
		`"name":"right"`, `"label":"attention, block 1`} {
		if !strings.Contains(string(explorer), want) {
			t.Errorf("explorer.html has no %s", want)
		}
	}
	for i, row := range rows(t, dir, "maps.csv")[1:] {
		k := i % len(synthetic.TokenNames)
		if row[1] != synthetic.TokenNames[k] || row[2] != []string{"left", "right"}[k/4] {
			t.Errorf("row %d of the map is %q", i, row)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	// Student's 95 % interval of 0.1, 0.2, 0.3: 0.2 ± 4.302653 * 0.1 / sqrt 3 (scipy.stats.t.ppf(0.975, 2))
	for _, want := range []string{"0.200 [-0.048, 0.448]", "Left out", "nope", "6 models of 3 runs", "…/b/learn",
		"No table of positions, and so no map: nope"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, no := range []string{"arXiv", "Table A", "torchpe sweep"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// Runs of an earlier version, without names and subjects, have positions for names; what diverged
// or lacks numbers is left out.
func TestEarlierRuns(t *testing.T) {
	root := t.TempDir()
	err := synthetic.Write(root, synthetic.Run{Name: "old", Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{1, 2},
		Edit: func(m *synthetic.Member) {
			if m.Seed == 2 {
				m.Result.Status = runlog.StatusDiverged
			}
			m.Result.Modularity, m.Result.Clustering = nil, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(filepath.Join(root, "report"), true)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(w.Notes, "\n")
	for _, want := range []string{"1 model diverged", "No errors by subject", "No modularity"} {
		if !strings.Contains(all, want) {
			t.Errorf("no note %q in %q", want, all)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "report", "errors_a.pdf")); err != nil {
		t.Error(err)
	}
}

// A folder without runs on own data is an error that says so.
func TestNothingOwn(t *testing.T) {
	root := t.TempDir()
	if err := synthetic.Write(root, synthetic.Run{Task: "lst", PE: "nope", Seeds: []int{1}}); err != nil {
		t.Fatal(err)
	}
	s, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(filepath.Join(root, "report"), false); err == nil ||
		!strings.Contains(err.Error(), "nothing to report") {
		t.Errorf("error %v", err)
	}
}
