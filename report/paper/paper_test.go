package paper

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/report/internal/viewer"
	"torchpe/report/item"
	"torchpe/train/config"
)

// write makes the report of runs that are in dir. TORCHPE_REPORT_OUT=DIR keeps it there.
func write(t testing.TB, dir string) (Written, string) {
	t.Helper()
	out := t.TempDir()
	if keep := os.Getenv("TORCHPE_REPORT_OUT"); keep != "" {
		out = filepath.Join(keep, t.Name())
	}
	s := expect.Must(Read(dir, ""))
	w := expect.Must(s.Write(out))
	return w, out
}

// study reads made-up runs.
func study(t testing.TB, all ...synthetic.Run) *Study {
	return expect.Must(Read(synthetic.Dir(t, all...), ""))
}

// sums are the hashes of the files in a directory.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	expect.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[filepath.Base(path)] = sha256.Sum256(text)
		return err
	}))
	return out
}

// With the paper's whole grid nothing is missing, every listed file is there, and the same runs
// give the same bytes.
func TestWholeGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("makes every figure and table")
	}
	dir := synthetic.Dir(t, paperRuns(paper.Sigmas(), []int{1, 2, 3})...)
	w, out := write(t, dir)
	expect.Equal(t, fmt.Sprintf("figures, tables and notes (%q)", w.Notes),
		[3]int{w.Figures, w.Tables, len(w.Notes)}, [3]int{20, 11, 0})
	expect.Equal(t, fmt.Sprintf("missing: %+v", w.Missing), len(w.Missing), 0)
	var listed reportJSON
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err == nil {
		err = json.Unmarshal(text, &listed)
	}
	expect.NoError(t, err)
	expect.Equal(t, "items of report.json", len(listed.Items), len(specs()))
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

// A page of a report shows all its figures in a browser, and nothing goes wrong there.
func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("opens pages in a browser")
	}
	dir := synthetic.Dir(t, append(paperRuns([]float64{.2, 1, 2}, []int{1, 2}),
		synthetic.Run{Name: "other", Task: "nmar", PE: "rope", Seeds: []int{1}, MaskLevel: .3})...)
	w, _ := write(t, dir)
	var got struct {
		Drawn   int
		Undrawn []string
		Missing int
		Broken  []string
	}
	problems := viewer.Browser{Width: 1280}.Evaluate(t, w.Index, `
		const all = s => [...document.querySelectorAll(s)], ids = new Set(all("[id]").map(e => e.id));
		const drawn = e => e.complete && e.naturalWidth > 0;
		return {
			Drawn: all("img").filter(drawn).length,
			Undrawn: all("img").filter(e => !drawn(e)).map(e => e.alt),
			Missing: all("code").length,
			Broken: all("a[href^='#']").map(e => decodeURIComponent(e.hash.slice(1))).filter(id => !ids.has(id)),
		};`, &got)
	if got.Drawn != w.Figures || len(got.Undrawn) > 0 || got.Missing < len(w.Missing) ||
		len(w.Missing) == 0 || len(got.Broken) > 0 {
		t.Errorf("%+v of %d figures, %d missing", got, w.Figures, len(w.Missing))
	}
	for _, problem := range problems {
		t.Error("the page logs", problem)
	}
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
		s := study(t, run)
		items, err := s.items()
		expect.Equal(t, name, err, nil)
		figures, missing := 0, 0
		for _, item := range items {
			if item.Figure != nil {
				figures++
			}
			for _, m := range item.Missing {
				missing++
				if !strings.HasPrefix(m.Command, "torchpe sweep ") &&
					!strings.Contains(m.Command, "--modules") || m.What == "" {
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
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2, 3}},
		synthetic.Run{Name: "b", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, Fidelity: "text"},
		// trained as long as that of a
		synthetic.Run{Name: "c", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{3}},
	)
	s, err := Read(dir, "")
	if err != nil || s.Fidelity != "code" || len(s.puzzles(nil)) != 3 || len(s.Notes) != 2 ||
		!strings.Contains(s.Notes[0], "such as b") {
		t.Errorf("%+v, %v", s, err)
	}
	s = expect.Must(Read(dir, "text"))
	expect.Equal(t, "models as the text says", fmt.Sprintf("%s %d", s.Fidelity, len(s.puzzles(nil))), "text 2")
}

// Runs that differ in their learning rate alone are groups of their own in every figure, and none
// is set beside a printed number.
func TestLearningRates(t *testing.T) {
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}},
		synthetic.Run{Name: "b", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}, LR: 1e-3},
		synthetic.Run{Name: "c", Task: "lst", PE: "2d-fixed", Seeds: []int{1, 2}},
	)
	s := expect.Must(Read(dir, ""))
	expect.NoError(t, expect.ErrorOf(s.items()))
	var labels []string
	for _, g := range mainGroups(s) {
		labels = append(labels, g.Label)
	}
	expect.Equal(t, "groups", labels, []string{"2d-fixed", "learn-0.2 (lr 0.0001)", "learn-0.2 (lr 0.001)"})
}

// Rows and columns without models are left out; what has not fitted is marked for people alone. TestNumbers has
// the numbers.
func TestBesidePrinted(t *testing.T) {
	columns := []item.Column{{Measure: "validation", Heading: "validation"}}
	unfitted := made("learn-7.0", nil, .3)
	unfitted.Models[0].Result.Measures["train"] = .4
	tab := (&Study{}).besidePrinted("A2", part{[]cohort.Group{made("learn-0.2", nil, .9), unfitted}, columns})
	var text, shown strings.Builder
	expect.NoError(t, errors.Join(tab.CSV(&text), tab.Write(&shown, "md")))
	expect.Equal(t, "table", text.String(),
		"pe,validation_paper,validation_paper_sd,validation,validation_sd,validation_n,"+
			"validation_difference,fitted\nlearn-0.2,0.956,0.039,0.9,,1,-0.05599999999999994,1 of 1\n"+
			"learn-7.0,,,0.3,,1,,0 of 1\n")
	run := unfitted.Models[0].Run
	run.DataSHA256, run.Config.Layers, unfitted.Models[0].Member.LR = "other", 1, .01
	run.Config.JSON, run.Config.Schedule, run.Config.From = []byte(`{"layers":1,"schedule":"cosine"}`), "cosine",
		&config.FromConfig{}
	unfitted.Models[0].Member.PELR = new(float64)
	want := []string{"puzzles that may not be the published ones", "layers 1 (the paper: 4)",
		`schedule "cosine" (the paper: "constant")`, "lr 0.01 (the paper: 0.0001)",
		"a separate learning rate or weight decay for the encoding", "weights that were not trained only in this run"}
	expect.Equal(t, "unlike the paper", unlikePaper(unfitted.Models), want)
	unfitted = made("learn-7.0", nil, .3)
	unfitted.Models[0].Run.Config.LSTTrain = nil
	other := (&Study{}).besidePrinted("A2",
		part{[]cohort.Group{unfitted, made("learn-0.2", nil, .9, .8, .85)}, columns})
	text.Reset()
	if err := other.CSV(&text); err != nil || strings.Contains(text.String(), "difference") ||
		!strings.Contains(other.Note, "no difference is given: generated puzzles (the paper: published ones).") {
		t.Errorf("of generated puzzles: %s%s, %v", text.String(), other.Note, err)
	}
	if !strings.Contains(shown.String(), "learn-7.0\\* ") || strings.Contains(shown.String(), "learn-0.2\\*") {
		t.Error(shown.String())
	}
}

func TestExamplePuzzles(t *testing.T) {
	for i, digits := range examplePuzzles {
		g := expect.Must(lst.ParseGrid(digits))
		if p, err := lst.NewPuzzle(g); err != nil || p.Condition != lst.Conditions()[i] {
			t.Errorf("%s: %v, %v", digits, p.Condition, err)
		}
	}
}

func TestExemplars(t *testing.T) {
	var all []cohort.Group
	for _, label := range []string{"learn-0.1", "learn-0.2", "learn-0.5", "learn-1.5", "learn-2.0"} {
		all = append(all, made(label, nil, .5))
	}
	var got []float64
	for _, g := range exemplars(all) {
		got = append(got, sigma(g))
	}
	expect.Equal(t, "numbers", got, []float64{.2, .5, 2})
}
