package own

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	_ "torchpe/internal/golden" // for the flag -update
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// made writes runs on own data, and the report of them; edit changes their members.
func made(t *testing.T, edit func(*synthetic.Member)) (dir string, w document.Written) {
	t.Helper()
	dir = t.TempDir()
	subjects := []string{"07", "anna", "3"}
	err := synthetic.Write(filepath.Join(dir, "runs"),
		synthetic.Run{Name: "a/b/learn", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{3, 5}, Heads: 2,
			Subjects: subjects, Edit: edit},
		synthetic.Run{Task: "masked", PE: "learn", Sigma: 2, Seeds: []int{3}, Subjects: subjects, Records: 7},
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
		*m.Records[1].TrainMSE, m.Records[1].TestMSEByMask["0.50"] = 0.375, 0.625
		for i := range m.Attention[0] { // one head attends to the first token alone, the other to all alike
			m.Attention[0][i] = 0.125
			if i < 64 {
				m.Attention[0][i] = map[bool]float32{true: 1}[i%8 == 0]
			}
		}
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
	for i, want := range []string{"1200", "700", "1200"} {
		if got := table[i+1][slices.Index(table[0], "steps")]; got != want {
			t.Errorf("%s has %s steps, want %s", table[i+1][0], got, want)
		}
	}
	course := rows(t, dir, "errors.csv")
	if got, want := fmt.Sprint(course[0], course[2]), "[pe seed step train_mse test_mse] "+
		"[learn-0.1 3 200 0.375 0.625]"; got != want {
		t.Errorf("errors.csv has %s, want %s", got, want)
	}
	for _, row := range rows(t, dir, "attention_1_block1.csv")[1:] {
		if got, want := fmt.Sprint(row[1:]), "[0.5625 0.0625 0.0625 0.0625 0.0625 0.0625 0.0625 0.0625]"; got != want {
			t.Errorf("attention of %s is %s, want %s", row[0], got, want)
		}
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
	for name, title := range map[string]string{"attention.svg": "learn-0.1, block 1", "errors.svg": "Training"} {
		if !strings.Contains(read(t, dir, name), ">"+title+"<") {
			t.Errorf("%s has no panel %q", name, title)
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

// Models that differ in more than their seeds are averaged apart.
func TestSettingsAreApart(t *testing.T) {
	run := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1, 2},
		Places: "[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1]]"}
	decay, rate := run, run
	decay.Name, decay.Decay, decay.Seeds = "b", 0.3, []int{3}
	rate.Name, rate.LR, rate.Seeds = "c", 1e-3, []int{4, 5, 6}
	root := t.TempDir()
	if err := synthetic.Write(root, run, decay, rate); err != nil {
		t.Fatal(err)
	}
	s, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(filepath.Join(root, "report"), false); err != nil {
		t.Fatal(err)
	}
	n := map[string]bool{}
	all := rows(t, filepath.Join(root, "report"), "table_errors.csv")
	for _, row := range all[1:4] {
		n[row[slices.Index(all[0], "n")]] = true
	}
	if len(all) != 7 || !n["1"] || !n["2"] || !n["3"] { // the last three are the baselines
		t.Errorf("groups %q, want those of 1, 2 and 3 models", all)
	}
	if n := strings.Count(read(t, filepath.Join(root, "report"), "maps.svg"), ">As given<"); n != 1 {
		t.Errorf("the given places are drawn %d times, want once", n)
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

// read returns the text of a file of a report.
func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Long names are shortened in the figures and whole in the numbers, and a module has one colour and
// its name in all figures.
func TestLongNamesAndOnePalette(t *testing.T) {
	tokens, modules := synthetic.TokenNames, synthetic.ModuleNames
	t.Cleanup(func() { synthetic.TokenNames, synthetic.ModuleNames = tokens, modules })
	synthetic.TokenNames = nil
	for _, name := range tokens {
		synthetic.TokenNames = append(synthetic.TokenNames, "7Networks_LH_SalVentAttn_"+name+"_with_45_characters_1")
	}
	synthetic.ModuleNames = []string{"Visual1", "Default"}
	dir, w := made(t, nil)
	if w.Figures != 6 {
		t.Errorf("%d figures: %q", w.Figures, w.Notes)
	}
	if got := rows(t, dir, "maps.csv")[1][1]; got != synthetic.TokenNames[0] {
		t.Errorf("maps.csv has %q", got)
	}
	visual, _ := figure.NetworkColor("Visual1")
	color := fmt.Sprintf("fill:#%02X%02X%02X", visual.R, visual.G, visual.B)
	for _, name := range []string{"maps.svg", "similarity.svg", "attention.svg"} {
		svg := read(t, dir, name)
		for _, want := range []string{"shortened", ">Visual1<", ">Default<", color} {
			if !strings.Contains(svg, want) {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if strings.Contains(svg, synthetic.TokenNames[0]) {
			t.Errorf("%s has a whole name", name)
		}
	}
	if page := read(t, dir, "index.html"); strings.Count(page, "Long names are shortened in the figure") != 3 {
		t.Error("the captions do not say that names are shortened")
	}
}

// Names of tokens and modules may hold any text that readers let through: each file is whole, and figures
// and numbers have characters that XML does not take as escapes.
func TestNamesOfAnyText(t *testing.T) {
	tokens, modules := synthetic.TokenNames, synthetic.ModuleNames
	t.Cleanup(func() { synthetic.TokenNames, synthetic.ModuleNames = tokens, modules })
	synthetic.TokenNames = []string{"a\x01\x1b[31m", "b\x7f\u0085", "c\u2028x", "d\ufffe\uffff", "\ufeffe\u202e",
		"<script>&amp;]]>", strings.Repeat("L", 100), "=1+1|`*_{}\\"}
	synthetic.ModuleNames = []string{"m\x01<b>\ufffe", "n\x1b|`"}
	dir, w := made(t, nil)
	if w.Figures != 6 {
		t.Errorf("%d figures: %q", w.Figures, w.Notes)
	}
	if got := rows(t, dir, "maps.csv")[1][1]; got != `a\x01\x1b[31m` {
		t.Errorf("maps.csv has %q", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		text := read(t, dir, name)
		switch filepath.Ext(name) {
		case ".png", ".pdf":
			continue
		case ".csv":
			rows(t, dir, name)
		case ".json":
			if !json.Valid([]byte(text)) {
				t.Errorf("%s is no JSON", name)
			}
		case ".svg":
			for d := xml.NewDecoder(strings.NewReader(text)); err == nil; {
				_, err = d.Token()
			}
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", name, err)
			}
			err = nil
		}
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x01\x1b\x7f\u0085\ufffe\uffff") ||
			filepath.Ext(name) != ".csv" && strings.Contains(text, "<script>&amp;]]>") {
			t.Errorf("%s has characters of a name as they are", name)
		}
	}
}

// Matrices have colours of modules where modules are known, in the order of the tokens; limits of
// colours hold all but the diagonal.
func TestMatrices(t *testing.T) {
	x := tokens{names: []string{"a", "b"}, order: []int{1, 0}, modules: []string{"m", "n"}}
	if m := x.matrix([]float64{1, 2, 3, 4}); m.GroupNames != nil || !slices.Equal(m.Values, []float64{4, 3, 2, 1}) {
		t.Errorf("without modules: %+v", m)
	}
	x.labels = []int{0, 1}
	if m := x.matrix(make([]float64, 4)); fmt.Sprint(m.GroupNames, m.Groups) != "[m n] [1 0]" {
		t.Errorf("with modules: %+v", m)
	}
	for most, values := range map[float64][]float64{1: {5, 0, 0, 5}, 0.5: {5, -0.5, 0.25, 5}} {
		if low, high := offDiagonal(values, 2); low != -most || high != most {
			t.Errorf("limits %g and %g, want %g", low, high, most)
		}
	}
}

// Panels without room side by side stand one below the other; a figure that cannot be drawn at all
// leaves its place to the reason and its numbers.
func TestNoRoom(t *testing.T) {
	item := func(title string) document.Item {
		p := figure.Map{Title: title, XY: make([][2]float64, 2)}
		return document.Item{ID: "maps", Section: positionsSection, Title: "Maps",
			Panels: grid([]figure.Panel{p, p}), Tables: []document.Named{{Name: "maps", Table: table.Table{
				Columns: []table.Column{{Heading: "x", Name: "x"}}, Rows: []table.Row{{table.Number(1)}}}}}}
	}
	var s Study
	wide := item(strings.Repeat("title ", 24))
	if s.compose(&wide); wide.Figure == nil || len(wide.Panels) != 2 || s.Notes != nil {
		t.Errorf("%d rows, %v", len(wide.Panels), s.Notes)
	}
	over := item(strings.Repeat("title ", 40))
	if s.compose(&over); over.Undrawn == nil || len(s.Notes) != 1 ||
		!strings.Contains(s.Notes[0], "Maps: not drawn: ") {
		t.Fatalf("%v, %q", over.Undrawn, s.Notes)
	}
	dir := t.TempDir()
	d, err := document.Open(dir, "Test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.Add(over); err == nil {
		err = d.Close()
	}
	if page := read(t, dir, "index.html"); err != nil || d.Figures != 0 ||
		!strings.Contains(page, "Not drawn: ") || !strings.Contains(page, `href="maps.csv"`) {
		t.Errorf("%d figures, %v; the page does not say why, or has no link to the numbers", d.Figures, err)
	}
	if rows(t, dir, "maps.csv")[1][0] != "1" {
		t.Error("the numbers are wrong")
	}
}

// The page names files without their folders.
func TestNoPaths(t *testing.T) {
	root := t.TempDir()
	if err := synthetic.Write(root, synthetic.Run{Task: "masked", PE: "nope", Seeds: []int{1}}); err != nil {
		t.Fatal(err)
	}
	s, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	d := s.groups[0].models[0].Run.Result.Data
	d.ModulesFrom = "by name: /home/a b/mod.csv has the names of sch/sub-01_x.tsv"
	d.Notes = []string{"and/or 3/4", "C:/x/y.csv: 2", "\"/tmp/it.npy\" and ./a/b.tsv"}
	got := strings.Join(s.data(), "\n")
	for _, want := range []string{"mod.csv has the names of sub-01_x.tsv.", "and/or 3/4", "\ny.csv: 2",
		"\"it.npy\" and b.tsv"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// Dots of the errors by subject are subjects, with the baselines beside them.
func TestSubjectsFigure(t *testing.T) {
	dir, _ := made(t, nil)
	svg := read(t, dir, "subjects.svg")
	for _, want := range []string{"dots: subjects", "mean with 95 % confidence interval", ">conditional Gaussian<",
		">mean of the visible<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("subjects.svg has no %q", want)
		}
	}
}

// Models that differ in more than the seed have rows of their own, a copied run counts once, and runs
// on data that changed under the same path are left out by name. Models that stop early keep their
// last value; their steps are a range.
func TestOnlySeedsAreAveraged(t *testing.T) {
	run := func(name string, seeds ...int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "masked", PE: "learn", Sigma: .1, Seeds: seeds, Until: "test_mse=0.5",
			Data: "aaaa"}
	}
	short, own, edited := run("a", 1, 2), run("own rate", 3, 4), run("edited", 5)
	short.Edit = func(m *synthetic.Member) {
		m.Result.Fit = &runlog.Fit{Reached: true}
		if m.Seed == 2 { // stops first
			m.Records, m.Result.Steps = m.Records[:4], 400
		}
	}
	own.PELR, edited.Data = .3, "bbbb"
	dir := t.TempDir()
	if err := synthetic.Write(dir, short, run("z copy", 1), own, edited); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "report")
	if _, err := s.Write(out, false); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{"1 model of other data or another size, such as edited",
		"1 model of the same settings and seed as another count once"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in the notes:\n%s", want, notes)
		}
	}
	var got []string
	for _, row := range rows(t, out, "table_errors.csv")[1:3] {
		got = append(got, strings.Join(row[:3], " | "))
	}
	if want := "learn-0.1, pe_lr 0.3 | 2 | 1200; learn-0.1, pe_lr shared | 2 | 400 to 1200"; strings.Join(got,
		"; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
	if text := read(t, out, "index.html"); !strings.Contains(text, runs.StoppedNote) {
		t.Errorf("the page does not say %q", runs.StoppedNote)
	}
}

// Errors by subject are by the subject's name, also where runs held out others.
func TestSubjectsByName(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(dir,
		synthetic.Run{Name: "a", Task: "masked", PE: "nope", Seeds: []int{1}, Subjects: []string{"0", "1"}},
		synthetic.Run{Name: "b", Task: "masked", PE: "nope", Seeds: []int{2}, Subjects: []string{"1", "4"}},
		synthetic.Run{Name: "c", Task: "masked", PE: "rope", Seeds: []int{1}, Subjects: []string{"4", "5", "0"}},
	); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(filepath.Join(dir, "report"), false); err != nil {
		t.Fatal(err)
	}
	// Subject i of a run has the error 0.1 (i+1): subject 1 is second in a and first in b.
	want := [][]string{{"0", "0.1", "0.3"}, {"1", "0.15", ""}, {"4", "0.2", "0.1"}, {"5", "", "0.2"}}
	for i, row := range rows(t, filepath.Join(dir, "report"), "subjects.csv")[1:] {
		for j, text := range row {
			got, _ := strconv.ParseFloat(text, 64)
			wanted, _ := strconv.ParseFloat(want[i][j], 64)
			if (text == "") != (want[i][j] == "") || math.Abs(got-wanted) > 1e-6 {
				t.Errorf("row %q, want %q", row, want[i])
			}
		}
	}
}
