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

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/document"
	"torchpe/report/figure"
	"torchpe/report/internal/synthetic"
	"torchpe/report/item"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// report writes runs, and their report; it returns the directory of the report.
func report(t *testing.T, all ...synthetic.Run) (dir string, w document.Written) {
	t.Helper()
	dir = t.TempDir()
	synthetic.Write(t, filepath.Join(dir, "runs"), all...)
	r := expect.Must(Read(filepath.Join(dir, "runs")))
	w = expect.Must(r.Write(filepath.Join(dir, "report")))
	return filepath.Join(dir, "report"), w
}

// draftOf makes an item of a report.
func draftOf(r *Report, id string) *draft {
	all := specs()
	it := all[slices.IndexFunc(all, func(it spec) bool { return it.ID == id })]
	return expect.Must(r.draft(it))
}

// made makes the report of runs on own data; edit changes their members.
func made(t *testing.T, edit func(*synthetic.Member)) (dir string, w document.Written) {
	t.Helper()
	subjects := []string{"07", "anna", "3"}
	return report(t, synthetic.Run{Name: "a/b/learn", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{3, 5},
		Heads: 2, Subjects: subjects, Edit: edit},
		synthetic.Run{Task: "masked", PE: "learn", Sigma: 2, Seeds: []int{3}, Subjects: subjects, Records: 7},
		synthetic.Run{Task: "masked", PE: "nope", Seeds: []int{3, 5, 8}, Subjects: subjects},
		synthetic.Run{Task: "nmar", PE: "nope", Seeds: []int{3}}) // the paper's
}

// rows reads a CSV file of a report.
func rows(dir, name string) [][]string {
	return expect.Must(csv.NewReader(strings.NewReader(read(dir, name))).ReadAll())
}

// The report has the numbers of the run directories, names tokens, modules and subjects, and says
// nothing of the paper.
func TestReport(t *testing.T) {
	dir, w := made(t, func(m *synthetic.Member) {
		m.Result.Measures["test_mse/0.50"] = map[int]float64{3: 0.25, 5: 0.75}[m.Seed] // mean 0.5, SD 1/sqrt 8
		m.Records[1].Measures["train_mse"], m.Records[1].Measures["test_mse/0.50"] = 0.375, 0.625
		for i := range m.Attention[0] { // one head attends to the first token alone, the other to all alike
			m.Attention[0][i] = 0.125
			if i < 64 {
				m.Attention[0][i] = map[bool]float32{true: 1}[i%8 == 0]
			}
		}
	})
	expect.Equal(t, "figures and tables", [2]int{w.Figures, w.Tables}, [2]int{6, 2})
	table := rows(dir, "table_errors.csv")
	at := slices.Index(table[0], "test_mse_50")
	if got := table[1]; got[0] != "learn-0.1" || got[1] != "2" || got[at] != "0.5" ||
		!strings.HasPrefix(got[at+1], "0.3535533") {
		t.Errorf("errors %q of %q", got, table[0])
	}
	for i, want := range []string{"1200", "700", "1200"} {
		expect.Equal(t, "steps of "+table[i+1][0], table[i+1][slices.Index(table[0], "steps")], want)
	}
	course := rows(dir, "errors.csv")
	if got, want := fmt.Sprint(course[0], course[2]), "[pe seed step train_mse test_mse_50] "+
		"[learn-0.1 3 200 0.375 0.625]"; got != want {
		t.Errorf("errors.csv has %s, want %s", got, want)
	}
	for _, row := range rows(dir, "attention_learn_0_1_block0.csv")[1:] {
		if got, want := fmt.Sprint(row[1:]), "[0.5625 0.0625 0.0625 0.0625 0.0625 0.0625 0.0625 0.0625]"; got != want {
			t.Errorf("attention of %s is %s, want %s", row[0], got, want)
		}
	}
	if last := table[len(table)-1]; last[0] != "baseline: zero" || last[at] != "1" {
		t.Errorf("the last row is %q", last)
	}
	expect.Equal(t, "columns of subjects.csv", rows(dir, "subjects.csv")[0], []string{"subject", "mse_learn_0_1",
		"mse_learn_2_0", "mse_nope"})
	expect.Equal(t, "cosine of a position with itself", rows(dir, "similarity_learn_2_0.csv")[1][1], "1")
	if subjects := rows(dir, "subjects.csv"); len(subjects) != 4 || subjects[2][0] != "anna" ||
		!strings.HasPrefix(subjects[2][1], "0.2") {
		t.Errorf("subjects %q", subjects)
	}
	expect.Contains(t, read(dir, "explorer.html"), `"label":"learn-0.1"`, `"label":"learn-2.0"`,
		`"name":"`+synthetic.TokenNames[5], `"name":"right"`, `"label":"attention, block 0`)
	for i, row := range rows(dir, "maps.csv")[1:] {
		k := i % len(synthetic.TokenNames)
		if row[1] != synthetic.TokenNames[k] || row[2] != []string{"left", "right"}[k/4] {
			t.Errorf("row %d of the map is %q", i, row)
		}
	}
	for want, name := range map[string]string{">learn-0.1, block 0<": "attention.svg", ">Training<": "errors.svg",
		"dots: subjects": "subjects.svg", "mean with 95 % confidence interval": "subjects.svg",
		">conditional Gaussian<": "subjects.svg", ">regression on mean<": "subjects.svg",
		">correlations of the data<": "scores.svg"} {
		expect.Contains(t, read(dir, name), want)
	}
	page := read(dir, "index.html")
	// Student's 95 % interval of 0.1, 0.2, 0.3: 0.2 ± 4.302653 * 0.1 / sqrt 3 (scipy.stats.t.ppf(0.975, 2))
	expect.Contains(t, page, "of 3 encodings ranges from .500 ± .354 (learn-0.1, n = 2) to ",
		"trained for different lengths, so this does not compare", "which needs no model, has ", ".200 (−.048 to .448)",
		"Left out", "nope",
		"6 models of 3 runs", "…/b/learn", "No table of positions, so no map: nope",
		"Trained with 50 % masked.", "compact modules pass this test",
		"the order or the given places of the tokens match the modules", "training samples (0.125; negative ones as 0)")
	for _, no := range []string{"arXiv", "Table A", "torchpe sweep"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// Two subjects have no interval, and the caption says nothing of one. Where models predict no better than the
// mean of the visible the caption of their modules says so.
func TestFewSubjectsAndPoorModels(t *testing.T) {
	dir, _ := report(t, synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1},
		Subjects: []string{"07", "anna"},
		Edit:     func(m *synthetic.Member) { m.Result.Measures["test_mse/0.50"] = .97 }})
	page := read(dir, "index.html")
	expect.Contains(t, page, "the mean over seeds. Dashed: ", "learn-0.1, seed 1 (test MSE .970, 0.50 masked): no "+
		"better than a regression on the mean of the visible tokens (.960); train longer")
}

// Models that differ in more than their seeds are averaged apart.
func TestSettingsAreApart(t *testing.T) {
	run := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1, 2},
		Places: "[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1]]"}
	decay, rate := run, run
	decay.Name, decay.Decay, decay.Seeds = "b", 0.3, []int{3}
	rate.Name, rate.LR, rate.Seeds = "c", 1e-3, []int{4, 5, 6}
	dir, _ := report(t, run, decay, rate)
	n := map[string]bool{}
	all := rows(dir, "table_errors.csv")
	for _, row := range all[1:4] {
		n[row[slices.Index(all[0], "n")]] = true
	}
	if len(all) != 7 || !n["1"] || !n["2"] || !n["3"] { // the last three are the baselines
		t.Errorf("groups %q, want those of 1, 2 and 3 models", all)
	}
	if page := read(dir, "index.html"); strings.Count(page, "(smooth: p ") != 3 ||
		!strings.Contains(page, "In brackets: tables that are equally smooth") {
		t.Error("the tests against smooth tables are not said")
	}
	scores := rows(dir, "scores.csv") // a row for each model; the first of an encoding is tested
	expect.Equal(t, "rows of scores.csv", len(scores), 1+6)
	for i, row := range scores {
		expect.Equal(t, fmt.Sprintf("column 4 of row %q", row), row[4], []string{"data", "0.125"}[min(i, 1)])
		isTested := i == 0 || row[0] != scores[i-1][0]
		expect.Equal(t, fmt.Sprintf("row %q has p", row), row[9] != "", isTested)
		expect.Equal(t, fmt.Sprintf("row %q has Q and C", row), row[2] != "" && row[3] != "", true)
	}
	if maps := rows(dir, "maps.csv"); maps[1][0] != "as given" || len(maps) != 1+8*4 {
		t.Errorf("maps.csv has %d rows, from %q", len(maps), maps[1])
	}
	expect.Equal(t, "times that the given places are drawn", strings.Count(read(dir, "maps.svg"), ">As given<"), 1)
}

// Rows of a grid count downwards, coordinates upwards.
func TestGivenPlaces(t *testing.T) {
	for places, want := range map[string]float64{
		"[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1]]":        -2,
		"[[0,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2.5,1]]":      2.5,
		"[[-1,0],[0,1],[0,2],[1,0],[1,1],[1,2],[2,0],[2,1]]":       2,
		"[[0.5,0],[0.5,1],[0.5,2],[1,0],[1,1],[1,2],[2,0],[-2,1]]": -2,
	} {
		run := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1}, Places: places}
		dir := t.TempDir()
		synthetic.Write(t, dir, run)
		r := expect.Must(Read(dir))
		expect.NoError(t, r.readLearned())
		given, _ := r.learned[0].givenMap()
		expect.Equal(t, fmt.Sprintf("%s: the last token is at", places), given.XY[7], [2]float64{1, want})
		if strings.HasPrefix(places, "[[0,0]") { // coordinates may be whole numbers, if the user says so
			r.learned[0].model.Run.Config.Positions = &config.PositionsConfig{As: "coordinates"}
			given, _ = r.learned[0].givenMap()
			expect.Equal(t, places+", coordinates: the last token is at", given.XY[7], [2]float64{1, math.Abs(want)})
		}
	}
}

// Runs of an earlier version, without names and subjects, have positions for names; what diverged
// or lacks numbers is left out.
func TestEarlierRuns(t *testing.T) {
	_, w := report(t, synthetic.Run{Name: "old", Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{1, 2},
		Edit: func(m *synthetic.Member) {
			if m.Seed == 2 {
				m.Result.Status = runlog.StatusDiverged
			}
			delete(m.Result.Measures, "modularity")
			delete(m.Result.Measures, "clustering")
		}})
	all := strings.Join(w.Notes, "\n")
	expect.Contains(t, all, "1 model diverged: left out", "No errors by subject", "No modularity")
}

// A folder without runs on own data is an error that says so.
func TestNothingOwn(t *testing.T) {
	root := synthetic.Dir(t, synthetic.Run{Task: "lst", PE: "nope", Seeds: []int{1}})
	s := expect.Must(Read(root))
	expect.Error(t, expect.ErrorOf(s.Write(filepath.Join(root, "report"))), "nothing to report")
}

// read returns the text of a file of a report.
func read(dir, name string) string {
	return string(expect.Must(os.ReadFile(filepath.Join(dir, name))))
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
	expect.Equal(t, fmt.Sprintf("%q: figures", w.Notes), w.Figures, 6)
	expect.Equal(t, "maps.csv has", rows(dir, "maps.csv")[1][1], synthetic.TokenNames[0])
	visual := figure.GroupColors(1, []string{"Visual1"})[0]
	color := fmt.Sprintf("fill:#%02X%02X%02X", visual.R, visual.G, visual.B)
	for _, name := range []string{"maps.svg", "similarity.svg", "attention.svg"} {
		svg := read(dir, name)
		expect.Contains(t, svg, "shortened", ">Visual1<", ">Default<", color)
		if strings.Contains(svg, synthetic.TokenNames[0]) {
			t.Errorf("%s has a whole name", name)
		}
	}
	expect.Equal(t, "captions that say that names are shortened",
		strings.Count(read(dir, "index.html"), "Long names are shortened in the figure"), 3)
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
	expect.Equal(t, fmt.Sprintf("%q: figures", w.Notes), w.Figures, 6)
	expect.Equal(t, "maps.csv has", rows(dir, "maps.csv")[1][1], `a\x01\x1b[31m`)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		text := read(dir, name)
		switch filepath.Ext(name) {
		case ".png", ".pdf":
			continue
		case ".csv":
			rows(dir, name)
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

// The explorer has at most 40 maps of a model over training, evenly spaced up to the last.
func TestMapsOverTraining(t *testing.T) {
	for records, want := range map[int]string{40: "40 1 40", 41: "21 1 41", 80: "40 2 80", 81: "27 3 81"} {
		dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "masked", PE: "learn", Seeds: []int{1},
			Records: records, Edit: func(m *synthetic.Member) {
				for i := range m.Records {
					m.Records[i].Step, m.Records[i].Map = i+1, make([][2]float64, 8)
				}
			}})
		found, _, err := cohort.Find(dir)
		expect.NoError(t, err)
		models, _ := cohort.Models(found)
		frames, err := mapsOver(models[0], 8)
		if err != nil || len(frames) == 0 {
			t.Fatal(err)
		}
		expect.Equal(t, fmt.Sprintf("of %d records: frames, first and last step are", records),
			fmt.Sprint(len(frames), frames[0].Step, frames[len(frames)-1].Step), want)
	}
}

// Tokens without modules and places stand by clusters of the first table, in all matrices.
func TestClusteredTokens(t *testing.T) {
	dir := t.TempDir()
	run := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1}, Modules: []int{},
		Edit: func(m *synthetic.Member) { // even and odd tokens point in two directions
			for i := range m.Tables[0] {
				m.Tables[0][i] = 0.01 * float32(i%5)
				if i%32 == i/32%2 {
					m.Tables[0][i] = 5
				}
			}
		}}
	synthetic.Write(t, dir, run)
	r := expect.Must(Read(dir))
	expect.NoError(t, r.readLearned())
	var even, odd []string
	for i, name := range synthetic.TokenNames {
		if i%2 == 0 {
			even = append(even, name)
		} else {
			odd = append(odd, name)
		}
	}
	slices.Sort(even)
	slices.Sort(odd)
	for _, what := range []string{"similarity", "attention"} {
		d := draftOf(r, what)
		labels := d.Panels[0].Cells[0].Panel.(figure.Matrix).RowLabels
		slices.Sort(labels[:4])
		slices.Sort(labels[4:])
		expect.Equal(t, fmt.Sprintf("%s has the order", what), labels, slices.Concat(even, odd))
		expect.Contains(t, d.Caption, "else by clusters of the first encoding's positions")
	}
}

// Matrices have colours of modules where modules are known, in the order of the tokens; limits of
// colours hold all but the diagonal.
func TestMatrices(t *testing.T) {
	x := item.Tokens{Names: []string{"a", "b"}, Order: []int{1, 0}, Modules: []string{"m", "n"}}
	if m := matrix(x, []float64{1, 2, 3, 4}); m.GroupNames != nil || !slices.Equal(m.Values, []float64{4, 3, 2, 1}) {
		t.Errorf("without modules: %+v", m)
	}
	x.Labels = []int{0, 1}
	m := matrix(x, make([]float64, 4))
	expect.Equal(t, "with modules", fmt.Sprint(m.GroupNames, m.Groups), "[m n] [1 0]")
	for most, values := range map[float64][]float64{1: {5, 0, 0, 5}, 0.5: {5, -0.5, 0.25, 5}} {
		expect.Equal(t, "limit", mostOf(item.OffDiagonal([]figure.Matrix{{Columns: 2, Values: values}})), most)
	}
}

// The page names files without their folders.
func TestNoPaths(t *testing.T) {
	root := synthetic.Dir(t, synthetic.Run{Task: "masked", PE: "nope", Seeds: []int{1}})
	s := expect.Must(Read(root))
	d := s.first().Result.Data
	d.ModulesFrom = "by name: /home/a b/mod.csv has the names of sch/sub-01_x.tsv"
	d.Notes = []string{"and/or 3/4", "C:/x/y.csv: 2", "\"/tmp/it.npy\" and ./a/b.tsv"}
	expect.Contains(t, strings.Join(s.data(), "\n"), "mod.csv has the names of sub-01_x.tsv.", "and/or 3/4",
		"\ny.csv: 2", "\"it.npy\" and b.tsv")
	d.Subjects = 1 // a table of one's own: nobody asks for errors by subject
	if draftOf(s, "subjects"); strings.Contains(strings.Join(s.Notes, "\n"), "subject") {
		t.Errorf("%q", s.Notes)
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
	short, own, edited := run("a", 1, 2), run("own rate", 3, 4), run("0 edited", 5)
	short.Edit = func(m *synthetic.Member) {
		m.Result.Fit = &runlog.Fit{Reached: true}
		if m.Seed == 2 { // stops first
			m.Records, m.Result.Steps = m.Records[:4], 400
		}
	}
	own.PELR, edited.Data = .3, "bbbb"
	out, w := report(t, short, run("z copy", 1), own, edited)
	expect.Contains(t, read(out, "index.html"), "4 models of 2 runs") // without the copy
	notes := strings.Join(w.Notes, "\n")
	expect.Contains(t, notes, "1 model not shown, such as 0 edited: data, modules or places of tokens (bbbb), not aaaa",
		"counted once: 1 model with the settings, data and seed of another")
	var got []string
	for _, row := range rows(out, "table_errors.csv")[1:3] {
		got = append(got, strings.Join(row[:3], " | "))
	}
	expect.Equal(t, "rows", strings.Join(got, "; "),
		"learn-0.1, pe_lr 0.3 | 2 | 1200; learn-0.1, pe_lr shared | 2 | 400 to 1200")
	expect.Contains(t, read(out, "index.html"), cohort.StoppedNote)
}

// Of models that were trained with several shares of tokens masked, the test nearest to that of most is shown,
// and the page says how each was trained. A mean over fewer models than there are says so.
func TestSharesMasked(t *testing.T) {
	few := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1}, MaskLevel: .15}
	most := synthetic.Run{Name: "b", Task: "masked", PE: "rope", Seeds: []int{1, 2, 3}, MaskLevel: .5,
		Edit: func(m *synthetic.Member) {
			m.Result.Measures["test_mse/0.50"] = float64(m.Seed)
			if m.Seed == 2 {
				m.Result.Measures["test_mse/0.50"] = math.NaN() // null in result.json
			}
		}}
	dir, w := report(t, few, most)
	text := read(dir, "index.html")
	expect.Contains(t, text, "Trained with 15 % or 50 % masked.", "test error with 50\u00a0% masked",
		"Means over fewer models, as others lack the number or took it otherwise: test MSE, 50 % of rope, 2 of 3.")
	want := "these encodings differ in more than the encoding: mask_level 0.15 (learn-0.1), mask_level 0.5 (rope)"
	if !slices.Contains(w.Notes, want) {
		t.Errorf("notes %q, want %q", w.Notes, want)
	}
	if row := rows(dir, "table_errors.csv")[2]; !slices.Contains(row, "2") { // of 1 and 3
		t.Errorf("mean of rope: %q", row)
	}
}

// Encodings that differ in another setting, or in how they were measured, decide nothing. Training errors over
// other numbers of steps are named.
func TestOtherSettingsDecideNothing(t *testing.T) {
	learn := synthetic.Run{Name: "a", Task: "masked", PE: "learn", Sigma: .1, Seeds: []int{1, 2, 3}}
	rope := synthetic.Run{Name: "b", Task: "masked", PE: "rope", Seeds: []int{1, 2, 3},
		Edit: func(m *synthetic.Member) { m.Result.Measures["test_mse/0.50"] += 10 }}
	dir, _ := report(t, learn, rope)
	expect.Contains(t, read(dir, "index.html"), "The two differ: ")
	rope.LR = .1
	dir, w := report(t, learn, rope)
	text := read(dir, "index.html")
	expect.Contains(t, text, "They differ in more than the encoding (lr), so this does not compare encodings.")
	if strings.Contains(text, "The two differ") || strings.Contains(fmt.Sprint(w.Notes), "cannot be compared") {
		t.Errorf("another rate: %q", w.Notes)
	}

	root := synthetic.Dir(t, learn, rope)
	r := expect.Must(Read(root))
	r.groups[1].Models[0].Run.Config.LogEvery = 7
	r.NoteRecords(r.groups)
	expect.Contains(t, fmt.Sprint(r.Notes), "cannot be compared: 1 step (learn-0.1), 7 steps (rope)")
}

// Errors by subject are by the subject's name, also where runs held out others.
func TestSubjectsByName(t *testing.T) {
	dir, _ := report(t,
		synthetic.Run{Name: "a", Task: "masked", PE: "nope", Seeds: []int{1}, Subjects: []string{"0", "1"}},
		synthetic.Run{Name: "b", Task: "masked", PE: "nope", Seeds: []int{2}, Subjects: []string{"1", "4"}},
		synthetic.Run{Name: "c", Task: "masked", PE: "rope", Seeds: []int{1}, Subjects: []string{"4", "5", "0"}})
	// Subject i of a run has the error 0.1 (i+1): subject 1 is second in a and first in b.
	want := [][]string{{"0", "0.1", "0.3"}, {"1", "0.15", ""}, {"4", "0.2", "0.1"}, {"5", "", "0.2"}}
	for i, row := range rows(dir, "subjects.csv")[1:] {
		for j, text := range row {
			got, _ := strconv.ParseFloat(text, 64)
			wanted, _ := strconv.ParseFloat(want[i][j], 64)
			if (text == "") != (want[i][j] == "") || math.Abs(got-wanted) > 1e-6 {
				t.Errorf("row %q, want %q", row, want[i])
			}
		}
	}
}
