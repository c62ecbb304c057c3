package paper

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/lst"
	"torchpe/report/internal/chromium"
	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// write makes the report of runs that are in dir. TORCHPE_REPORT_OUT=DIR keeps it there.
func write(t testing.TB, dir string) (Written, string) {
	t.Helper()
	out := t.TempDir()
	if keep := os.Getenv("TORCHPE_REPORT_OUT"); keep != "" {
		out = filepath.Join(keep, t.Name())
	}
	s, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return w, out
}

func synthesise(t testing.TB, all ...synthetic.Run) string {
	t.Helper()
	dir := t.TempDir()
	if err := synthetic.Write(dir, all...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sums are the hashes of the files in a directory.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[filepath.Base(path)] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// With the paper's whole grid nothing is missing, every listed file is there, and the same runs give the same bytes.
func TestWholeGrid(t *testing.T) {
	dir := synthesise(t, synthetic.Paper(synthetic.Sigmas(), []int{1, 2, 3})...)
	w, out := write(t, dir)
	if w.Figures != 21 || w.Tables != 7 || len(w.Notes) != 0 {
		t.Errorf("%d figures, %d tables, notes %q", w.Figures, w.Tables, w.Notes)
	}
	if len(w.Missing) != 0 {
		t.Errorf("missing: %+v", w.Missing)
	}
	var listed reportJSON
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err == nil {
		err = json.Unmarshal(text, &listed)
	}
	if err != nil || len(listed.Items) != len(makers()) {
		t.Fatalf("report.json lists %d items of %d, %v", len(listed.Items), len(makers()), err)
	}
	for _, item := range listed.Items {
		if len(item.Files) < 4 || item.Caption == "" {
			t.Errorf("%s: files %v, caption %q", item.ID, item.Files, item.Caption)
		}
		for _, name := range item.Files {
			if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	first := sums(t, out)
	_, again := write(t, dir)
	if second := sums(t, again); !maps.Equal(first, second) {
		for name := range first {
			if first[name] != second[name] {
				t.Errorf("%s differs from one report to the next", name)
			}
		}
	}
}

// Panels come by themselves, a column wide, named by their letters.
func TestPanels(t *testing.T) {
	s, err := Read(synthesise(t, synthetic.Run{Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}}), "")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := s.Write(out, Options{Panels: true}); err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"a", "b", "c", "d"} { // the schematic, two curves, and boxes by sigma
		text, err := os.ReadFile(filepath.Join(out, "fig2_"+letter+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		width := "237.6pt"
		if letter == "a" { // its five boxes do not fit
			width = "504pt"
		}
		if head := string(text[:400]); !strings.Contains(head, `width="`+width) {
			t.Errorf("panel %s is not %s wide: %s", letter, width, head)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "fig2_e.svg")); err == nil {
		t.Error("figure 2 has a fifth panel")
	}
}

// A page of a report shows all its figures in a browser, and nothing goes wrong there.
func TestInBrowser(t *testing.T) {
	dir := synthesise(t, append(synthetic.Paper([]float64{.2, 1, 2}, []int{1, 2}), synthetic.Run{Name: "other", Task: "nmar", PE: "rope", Seeds: []int{1}, MaskLevel: .3})...)
	w, _ := write(t, dir)
	page := chromium.Open(t, w.Index)
	var got struct {
		Drawn   int
		Undrawn []string
		Missing int
		Broken  []string
	}
	page.Evaluate(`(() => { const all = s => [...document.querySelectorAll(s)]; const ids = new Set(all("[id]").map(e => e.id)); return {
		Drawn: all("img").filter(e => e.complete && e.naturalWidth > 0).length,
		Undrawn: all("img").filter(e => !(e.complete && e.naturalWidth > 0)).map(e => e.alt),
		Missing: all("code").length,
		Broken: all("a[href^='#']").map(e => decodeURIComponent(e.hash.slice(1))).filter(id => !ids.has(id)),
	}})()`, &got)
	if got.Drawn != w.Figures || len(got.Undrawn) > 0 || got.Missing < len(w.Missing) || len(w.Missing) == 0 || len(got.Broken) > 0 {
		t.Errorf("%+v of %d figures, %d missing", got, w.Figures, len(w.Missing))
	}
	for _, problem := range page.Problems() {
		t.Error("the page logs", problem)
	}
	chromium.Save(t, "report", page.Screenshot)
}

// One run makes what it can feed; all else is listed with the command that makes it.
func TestOneRun(t *testing.T) {
	for name, run := range map[string]synthetic.Run{
		"learn":  {Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}},
		"2d":     {Task: "lst", PE: "2d-fixed", Seeds: []int{1}},
		"nope":   {Task: "lst", PE: "nope", Seeds: []int{7}},
		"sgd":    {Task: "lst", PE: "learn", Sigma: .01, Optimizer: "sgd", Seeds: []int{7}},
		"corner": {Task: "lst", PE: "learn", Sigma: 2, Placement: "input", Seeds: []int{7}},
		"text":   {Task: "lst", PE: "learn", Sigma: 2, Fidelity: "text", Seeds: []int{7}},
		"nmar":   {Task: "nmar", PE: "learn", Sigma: .1, Seeds: []int{1}},
		"rope":   {Task: "nmar", PE: "rope", Seeds: []int{1}},
		"fmri":   {Task: "fmri", PE: "learn", Sigma: .1, Seeds: []int{1}, MaskLevel: .9},
	} {
		s, err := Read(synthesise(t, run), "")
		if err != nil {
			t.Fatal(err)
		}
		items, err := s.Items()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		figures, missing := 0, 0
		for _, item := range items {
			if item.Figure != nil {
				figures++
			}
			for _, m := range item.Missing {
				missing++
				if !strings.HasPrefix(m.Command, "torchpe sweep ") && !strings.Contains(m.Command, "--modules") || m.What == "" {
					t.Errorf("%s: %+v", name, m)
				}
			}
		}
		if figures == 0 || missing < 10 {
			t.Errorf("%s: %d figures, %d missing", name, figures, missing)
		}
	}
}

// Models of other sizes or readings are named, not mixed in.
func TestBasesAreNotMixed(t *testing.T) {
	dir := synthesise(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2, 3}},
		synthetic.Run{Name: "b", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, Fidelity: "text"},
		synthetic.Run{Name: "c", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{3}}, // trained as long as that of a
	)
	s, err := Read(dir, "")
	if err != nil || s.Fidelity != "code" || len(s.Puzzles(s.Main())) != 3 || len(s.Notes) != 2 || !strings.Contains(s.Notes[0], "such as b") {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = Read(dir, "text"); err != nil || s.Fidelity != "text" || len(s.Puzzles(s.Main())) != 2 {
		t.Errorf("text: %d models, %v", len(s.LST), err)
	}
}

// Runs that differ in their learning rate alone are groups of their own in every figure, and none is set beside a printed number.
func TestLearningRates(t *testing.T) {
	dir := synthesise(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}},
		synthetic.Run{Name: "b", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, LR: 1e-3},
		synthetic.Run{Name: "c", Task: "lst", PE: "2d-fixed", Seeds: []int{1, 2}},
	)
	s, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Items(); err != nil {
		t.Error(err)
	}
	var labels []string
	for _, g := range s.mainGroups() {
		labels = append(labels, g.Label)
	}
	if want := []string{"2d-fixed", "learn-0.2 (lr 0.0001)", "learn-0.2 (lr 0.001)"}; !slices.Equal(labels, want) {
		t.Errorf("groups %q, want %q", labels, want)
	}
}

// The embedded numbers are those of the paper's tables.
func TestPrintedNumbers(t *testing.T) {
	all, err := PrintedNumbers()
	if err != nil || len(all) != 140 {
		t.Fatalf("%d numbers, %v", len(all), err)
	}
	dir := os.Getenv("TORCHPE_PAPER_TABLES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "paper", "tables")
	}
	f, err := os.Open(filepath.Join(dir, "table_a2.csv"))
	if err != nil {
		t.Skip("the paper's tables are not here: ", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	numbers, labels, err := printedTable("A2")
	if err != nil || len(labels) != 20 || len(rows) != 21 {
		t.Fatalf("%d labels, %v", len(labels), err)
	}
	for i, row := range rows[1:] {
		want := fmt.Sprintf("%s %s %s %s", row[1], row[2], row[3], row[4])
		train, validation := numbers[[2]string{labels[i], "train"}], numbers[[2]string{labels[i], "validation"}]
		if got := fmt.Sprintf("%.3f %.3f %.3f %.3f", train.Mean, train.SD, validation.Mean, validation.SD); got != want {
			t.Errorf("%s: %s, want %s", labels[i], got, want)
		}
	}
}

// ours are models with the given validation accuracies.
func ours(label string, sigma float64, values ...float64) Group {
	g := Group{Label: label, Sigma: sigma}
	for _, v := range values {
		g.Models = append(g.Models, Model{Model: runs.Model{Result: runlog.MemberResult{ValidationAccuracy: v}}})
	}
	return g
}

func TestBesidePrinted(t *testing.T) {
	// scipy.stats.ttest_ind_from_stats(mean(x), std(x, ddof=1), 4, .956, .039, 15, equal_var=False) with x as below gives p =
	// 0.6447658281265176; the same with .925 and .083 for x = (.5, .6, .7) gives 0.019159154867413916; Holm doubles the smaller one.
	q := quantity{name: "validation", heading: "validation", of: validation}
	numbers, labels, err := printedTable("A2")
	if err != nil {
		t.Fatal(err)
	}
	cells := q.cells(numbers, labels, []Group{ours("learn-0.2", .2, .93, .95, .98, 1), ours("learn-0.1", .1, .5, .6, .7), ours("learn-2.0", 2, .3)})
	if !near(t, cells[1][4], 0.6447658281265176) {
		t.Errorf("p of learn-0.2: %+v", cells[1][4])
	}
	if !near(t, cells[0][4], 2*0.019159154867413916) {
		t.Errorf("p of learn-0.1: %+v", cells[0][4])
	}
	if last := cells[19]; last[4] != (table.Cell{}) || last[2] != table.Count(1) {
		t.Errorf("one model has a test: %+v", last)
	}
	if cells[5][1] != (table.Cell{}) || cells[5][0] == (table.Cell{}) {
		t.Errorf("a printed number without models: %+v", cells[5])
	}
	tab, err := beside("A2", []Group{ours("learn-0.2", .2, .9), ours("learn-7.0", 7, .3)}, q)
	if err != nil || len(tab.Rows) != 21 {
		t.Fatalf("%d rows, %v", len(tab.Rows), err)
	}
	var text strings.Builder
	if err := tab.CSV(&text); err != nil || !strings.Contains(text.String(), "learn-7.0") {
		t.Error(err, text.String())
	}
}

// near says whether a cell of a p-value has that value to 1e-10.
func near(t *testing.T, c table.Cell, want float64) bool {
	t.Helper()
	tab := table.Table{Columns: []table.Column{{Heading: "p", Name: "p"}}, Rows: []table.Row{{c}}}
	var text strings.Builder
	if err := tab.CSV(&text); err != nil {
		t.Fatal(err)
	}
	var got float64
	if _, err := fmt.Sscanf(strings.Fields(text.String())[1], "%g", &got); err != nil {
		t.Fatal(err)
	}
	return math.Abs(got-want) < 1e-10
}

// The models' likeness to the reference is found with the model of the same seed.
func TestReferences(t *testing.T) {
	dir := synthesise(t,
		synthetic.Run{Name: "fixed", Task: "lst", PE: "2d-fixed", Seeds: []int{1, 2}},
		synthetic.Run{Name: "rope", Task: "lst", PE: "rope", Seeds: []int{2, 5}},
	)
	s, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.LST {
		if m.Attention == nil || m.PairedSeed != (m.Member.Seed < 5) {
			t.Errorf("%s, seed %d: attention %v, paired %v", m.Label(), m.Member.Seed, m.Attention, m.PairedSeed)
		}
		if self := m.Label() == reference; self != (m.Attention.Cosine > 1-1e-12) || self && (m.distance() > 1e-6 || len(m.Procrustes) != 4) {
			t.Errorf("%s: cosine %v, distances %v", m.Label(), m.Attention.Cosine, m.Procrustes)
		}
	}
	if len(s.LST) != 4 {
		t.Errorf("%d models", len(s.LST))
	}
}

func TestExamplePuzzles(t *testing.T) {
	for i, digits := range examplePuzzles {
		g, err := lst.ParseGrid(digits)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := lst.NewPuzzle(g); err != nil || p.Condition != lst.Conditions()[i] {
			t.Errorf("%s: %v, %v", digits, p.Condition, err)
		}
	}
}

func TestExemplars(t *testing.T) {
	var all []Group
	for _, sigma := range []float64{.1, .2, .5, 1.5, 2} {
		all = append(all, Group{Sigma: sigma})
	}
	var got []float64
	for _, g := range exemplars(all) {
		got = append(got, g.Sigma)
	}
	if want := []float64{.2, .5, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// BenchmarkThousandRuns makes a report of 1,000 runs of three members.
func BenchmarkThousandRuns(b *testing.B) {
	var all []synthetic.Run
	for seed := 0; len(all) < 1000; seed += 3 {
		for _, r := range synthetic.Paper(synthetic.Sigmas(), []int{seed, seed + 1, seed + 2}) {
			r.Name = fmt.Sprintf("%d/%d", seed, len(all))
			all = append(all, r)
		}
	}
	dir := synthesise(b, all[:1000]...)
	for b.Loop() {
		write(b, dir)
	}
}
