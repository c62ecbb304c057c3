package lengths

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// made is a run whose members have accuracies that a test knows: member i has iid[i] at the lengths
// of training, and longer[i] beyond; a NaN stands for an encoding without places.
type made struct {
	task, pe    string
	iid, longer []float64
	lr          float64 // 0: 1e-3
}

func (m made) write(t *testing.T, dir string) {
	t.Helper()
	c := expect.Must(config.Preset("sequence-quick", "code"))
	c.PE, c.Sequence.Name, c.Sequence.TestLengths = m.pe, m.task, 2 // 60 and 100
	c.Members = nil
	result := runlog.Result{Fidelity: "code"}
	for i, iid := range m.iid {
		c.Members = append(c.Members, config.Member{Seed: uint64(i + 1), LR: cmp.Or(m.lr, 1e-3)})
		r := runlog.MemberResult{PE: m.pe, Seed: int64(i + 1), Status: runlog.StatusDone,
			Fit: &runlog.Fit{Criterion: runlog.SequenceCriterion, Reached: iid >= .99, Step: 500},
			Measures: runlog.Numbers{"train": 1, "iid": iid, "validation": m.longer[i], "length/10": iid,
				"length/20": iid}}
		if m.longer[i] == m.longer[i] { // no NaN
			r.Measures["length/60"], r.Measures["length/100"] = m.longer[i]+.1, m.longer[i]-.1
		}
		result.Members = append(result.Members, r)
	}
	saveRun(t, dir, c, result, "")
}

// saveRun writes a run directory with a configuration, a result and a checkpoint that has the SHA-256 of
// the data.
func saveRun(t *testing.T, dir string, c config.Config, result runlog.Result, data string) {
	t.Helper()
	text := expect.Must(c.JSON())
	run := expect.Must(runlog.Create(dir, text, runlog.Environment{}, runlog.Options{}))
	defer run.Close()
	err := run.SaveCheckpoint(1, nil, map[string]string{runlog.DataKey: data})
	expect.NoError(t, errors.Join(err, run.SaveResult(result)))
}

// The tables hold means over models that have fitted, and say how many have; the figure's numbers are
// those of each model.
func TestReport(t *testing.T) {
	nan := expect.Must(strconv.ParseFloat("NaN", 64))
	dir := t.TempDir()
	for name, m := range map[string]made{
		"a": {"reverse-string", "rope", []float64{1, .995, .5}, []float64{.6, .8, .1}, 0},
		"b": {"reverse-string", "alibi", []float64{.7}, []float64{.9}, 0},
		"c": {"reverse-string", "relative", []float64{1}, []float64{nan}, 0},
		"d": {"even-pairs", "rope", []float64{1}, []float64{.75}, 0},
	} {
		m.write(t, filepath.Join(dir, "runs", name))
	}
	s := expect.Must(Read(dir))
	expect.Equal(t, fmt.Sprintf("runs and notes of %q", s.Notes), [2]int{s.CountRuns(), len(s.Notes)},
		[2]int{4, 0})
	out := filepath.Join(dir, "report")
	w := expect.Must(s.Write(out))
	expect.Equal(t, "figures and tables", [2]int{w.Figures, w.Tables}, [2]int{1, 3})
	read := func(name string) (rows []string) {
		file := expect.Must(os.Open(filepath.Join(out, name)))
		defer file.Close()
		for _, row := range expect.Must(csv.NewReader(file).ReadAll()) {
			rows = append(rows, strings.Join(row, " "))
		}
		return rows
	}
	scores, models, curves := read("scores.csv"), read("models.csv"), read("lengths.csv")
	for _, want := range []string{"rope 0.75 0.7 0.14142135623730953", "alibi   ", "relative   "} {
		if !slices.Contains(scores, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(scores, "\n"))
		}
	}
	for _, want := range []string{"reverse-string rope 3 2 1 0 0.8316666666666667", "reverse-string alibi 1 0 1",
		"even-pairs rope 1 1 1"} {
		if !slices.ContainsFunc(models, func(row string) bool { return strings.HasPrefix(row, want) }) {
			t.Errorf("no %q in\n%s", want, strings.Join(models, "\n"))
		}
	}
	for _, want := range []string{"reverse-string rope 2 100 0.7000000000000001", "reverse-string relative 1 20 1"} {
		if !slices.Contains(curves, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(curves, "\n"))
		}
	}
	for want, name := range map[string]string{"alibi*": "lengths.svg", "rope*": "lengths.svg",
		"trained to 20": "lengths.svg", "2 lengths above 20, to 100, 128 sequences": "index.html",
		"accuracy on longer inputs: rope on even-pairs (0.750), reverse-string (0.700).": "index.html",
		"4 runs on 2 formal languages, by torchpe.":                                      "index.html",
		"Accuracy": "lengths.svg"} {
		text := expect.Must(os.ReadFile(filepath.Join(out, name)))
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "relative*") {
			t.Errorf("%s: no %q, or relative is marked, which has fitted", name, want)
		}
	}
}

// The best is over learning rates too, which have rows of their own in the other tables, and of so many models.
// Settings that only texts have stand in no label of a language.
func TestBest(t *testing.T) {
	dir := t.TempDir()
	for name, m := range map[string]made{
		"a": {"even-pairs", "rope", []float64{1, 1, 1}, []float64{.6, .8, .1}, 1e-3},
		"b": {"even-pairs", "rope", []float64{.6}, []float64{.9}, 3e-4},
		"c": {"even-pairs", "alibi", []float64{1}, []float64{.5}, 0},
	} {
		m.write(t, filepath.Join(dir, "runs", name))
	}
	writeText(t, filepath.Join(dir, "runs", "text"), "aaaaaaaa")
	s := expect.Must(Read(dir))
	out := filepath.Join(dir, "report")
	expect.NoError(t, expect.ErrorOf(s.Write(out)))
	expect.Equal(t, "notes", s.Notes, []string{"1 model diverged: left out",
		"these encodings differ in more than the encoding: lr 0.0003 (rope, lr 0.0003), " +
			"lr 0.001 (alibi; rope, lr 0.001)"})
	expect.Refused(t, "a file as a folder", expect.ErrorOf(s.Write(filepath.Join(out, "best.csv"))))
	expect.Equal(t, "accuracies end at", expect.Must(curves(&draft{Report: s}))[0].(figure.Lines).YMax, 1)
	panels := expect.Must(textCurves(&draft{Report: s}))
	for i, want := range []float64{5, 1.6} {
		line := panels[i].(figure.Lines).Series[0]
		expect.Equal(t, fmt.Sprintf("panel %d draws", i), fmt.Sprint(line.X, line.Values),
			fmt.Sprintf("[64] [[%v]]", want))
	}
	for name, wants := range map[string][]string{
		"best.csv": {"encoding,even_pairs\nalibi,0.500 (1)\nrope,0.900 (4)\n"},
		"models.csv": {"iid_sd,longer,longer_sd,best\n", "even-pairs,alibi,1,", `"rope, lr 0.0003",1,0,`,
			`"rope, lr 0.001",3,3,`},
		"perplexity.csv": {",alibi,1,"},
		"text.csv":       {"book.txt,alibi,12,perplexity,64,5\n", "book.txt,alibi,12,loss,64,1.6\n"},
		"index.html": {"4 runs on 1 formal language and 1 text, by torchpe.", "Left: perplexity of held-out text",
			"longer inputs: alibi and rope, lr 0.001 on even-pairs (0.500)."},
	} {
		contains(t, filepath.Join(out, name), wants)
	}
}

// Of more encodings than lines can be told apart, the best ones are drawn; the table has all.
func TestMostLines(t *testing.T) {
	dir := t.TempDir()
	all := strings.Fields("alibi cape cope fire forgetting hope kerple logn pope repo rope t5")
	for i, pe := range all {
		made{"even-pairs", pe, []float64{1}, []float64{.5 + float64(i)/100}, 0}.write(t, filepath.Join(dir, pe))
	}
	d := &draft{Report: expect.Must(Read(dir))}
	lines := expect.Must(curves(d))[0].(figure.Lines)
	var drawn []string
	for _, s := range lines.Series {
		drawn = append(drawn, s.ColorOf)
	}
	slices.Sort(drawn)
	expect.Equal(t, "lines", drawn, all[2:])
	expect.Equal(t, "title", lines.Title, "even-pairs, trained to 20, the best 10 of 12")
	expect.Equal(t, "rows of the table", len(d.Tables[0].Rows), 4*len(all))
}

// Texts of one name whose characters differ are two tasks, and a copy of a run counts once.
func TestTextsOfOneName(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "a"), "aaaaaaaa")
	writeText(t, filepath.Join(dir, "copy"), "aaaaaaaa")
	s, err := Read(dir)
	if err != nil || len(s.texts) != 1 || s.texts[0].name != "book.txt" || len(s.Models) != 1 {
		t.Errorf("%v: %d models, %+v", err, len(s.Models), s.texts)
	}
	writeText(t, filepath.Join(dir, "b"), "bbbbbbbb")
	s = expect.Must(Read(dir))
	var got []string
	for _, task := range s.texts {
		got = append(got, fmt.Sprintf("%s: %d", task.name, len(task.groups[0].Models)))
	}
	expect.Equal(t, "texts", fmt.Sprint(got), "[book.txt, data aaaaaaaa: 1 book.txt, data bbbbbbbb: 1]")
}

// Captions, titles and tables say of each model how it was trained, where that differs.
func TestLengthsOfTraining(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "a"), "aaaaaaaa")
	for name, length := range map[string]int{"b": 20, "c": 30} {
		c := expect.Must(config.Preset("sequence-quick", "code"))
		c.PE, c.Sequence.Name, c.Sequence.TrainLength = "rope", "even-pairs", length
		c.Members = []config.Member{{Seed: 1, LR: 1e-3}}
		saveRun(t, filepath.Join(dir, name), c, runlog.Result{Members: []runlog.MemberResult{{PE: "rope",
			Status: runlog.StatusDone, Measures: runlog.Numbers{"validation": .5, "length/10": .5}}}}, "")
		c = expect.Must(config.Preset("text", "code"))
		c.PE, c.Sequence.Text, c.Sequence.TrainLength = "rope", []string{"book.txt"}, length
		c.Members = []config.Member{{Seed: 1, LR: 1e-3}}
		saveRun(t, filepath.Join(dir, "text "+name), c, runlog.Result{Members: []runlog.MemberResult{{PE: "rope",
			Status:   runlog.StatusDone,
			Measures: runlog.Numbers{"perplexity/40": 7, fmt.Sprint("perplexity/", length): 7}}}},
			"aaaaaaaa")
	}
	c := expect.Must(config.Preset("sequence-quick", "code"))
	c.PE, c.Sequence.Name, c.Steps, c.Members = "alibi", "even-pairs", 7, []config.Member{{Seed: 1, LR: 1e-3}}
	saveRun(t, filepath.Join(dir, "short"), c, runlog.Result{Members: []runlog.MemberResult{{PE: "alibi",
		Status: runlog.StatusDone, Measures: runlog.Numbers{"validation": .5}}}}, "")
	s := expect.Must(Read(dir))
	expect.Contains(t, strings.Join(s.Notes, "\n"), "steps 7 (alibi)")
	out := t.TempDir()
	expect.Must(s.Write(out))
	for name, wants := range map[string][]string{
		"index.html": {"8 lengths above 20, to 100, 128 sequences of each or 8 lengths above 30, to 100, 128",
			"length of training: none on book.txt (encodings differ in train_length)."},
		"lengths.svg":    {"even-pairs, trained to 20 or 30"},
		"perplexity.csv": {`"rope, train_length 20",1,40,20,7`, `"rope, train_length 30",1,40,30,7`},
	} {
		contains(t, filepath.Join(out, name), wants)
	}
}

// The best encoding has the most of an accuracy and the least of a perplexity; one without a number is none.
func TestSentence(t *testing.T) {
	values := map[string]float64{"a": 2, "b": 5, "c": math.NaN()}
	tasks := []task{{"book", groupsNamed("c", "a", "b")}, {"x", groupsNamed("c")}}
	for measure, want := range map[string]string{"perplexity/N": "Best: a on book (2.000); none on x.",
		"validation": "Best: b on book (5.000); none on x."} {
		of := func(g cohort.Group) float64 { return values[g.Label] }
		expect.Equal(t, measure, sentence("Best", measure, tasks, of), want)
	}
}

// writeText makes a run of task text with alibi, whose second member diverged. data identifies the text.
func writeText(t *testing.T, dir, data string) {
	t.Helper()
	c := expect.Must(config.Preset("text", "code"))
	c.PE, c.Sequence.Text, c.Members = "alibi", []string{"book.txt"}, []config.Member{{Seed: 12, LR: 1e-3},
		{Seed: 13, LR: 1e-3}}
	saveRun(t, dir, c, runlog.Result{Fidelity: "code", Members: []runlog.MemberResult{{PE: "alibi", Seed: 12,
		Status: runlog.StatusDone, Measures: runlog.Numbers{"length/64": .5, "perplexity/64": 5,
			"position_loss/64": 1.6}},
		{PE: "alibi", Seed: 13, Status: runlog.StatusDiverged, DivergedAtStep: 7}}}, data)
}

// contains checks that a file holds each text.
func contains(t *testing.T, path string, wants []string) {
	t.Helper()
	expect.Contains(t, string(expect.Must(os.ReadFile(path))), wants...)
}

// groupsNamed returns groups of one model each.
func groupsNamed(labels ...string) (all []cohort.Group) {
	for _, label := range labels {
		m := cohort.Model{Run: &cohort.Run{}}
		m.Run.Config.JSON = []byte("{}")
		all = append(all, cohort.Group{Label: label, Models: []cohort.Model{m}})
	}
	return all
}

// A run on a language and its copy that has lost its checkpoint count once. Models lose a number that they took
// otherwise than most of their language, not of all languages; encodings that differ in that are named. Labels are
// those of all languages.
func TestModelsOfALanguage(t *testing.T) {
	dir := t.TempDir()
	language := func(name, pe, task, data string, every int, lr float64, seeds ...uint64) {
		c := expect.Must(config.Preset("sequence-quick", "code"))
		c.PE, c.Sequence.Name, c.LogEvery, c.Members = pe, task, every, nil
		var result runlog.Result
		for _, seed := range seeds {
			c.Members = append(c.Members, config.Member{Seed: seed, LR: lr})
			result.Members = append(result.Members, runlog.MemberResult{PE: pe, Seed: int64(seed),
				Status: runlog.StatusDone, Measures: runlog.Numbers{"train": .5, "iid": 1, "validation": .5}})
		}
		saveRun(t, filepath.Join(dir, name), c, result, data)
	}
	language("a", "rope", "even-pairs", "aaaa", 500, .001, 1, 2, 3)
	language("b", "rope", "bucket-sort", "bbbb", 100, .001, 1, 2)
	language("c", "rope", "bucket-sort", "", 100, .001, 1, 2)
	language("d", "alibi", "bucket-sort", "bbbb", 500, .001, 1)
	language("e", "rope", "even-pairs", "aaaa", 500, .01, 1)
	s := expect.Must(Read(dir))
	expect.Equal(t, "runs", s.CountRuns(), 4)
	expect.Equal(t, "notes", s.Notes, []string{"counted once: 2 models with the settings, data and seed of another",
		"training errors are means since the record before; these lengths (--log-every) differ, so they cannot be " +
			"compared: 100 steps (rope, lr 0.001), 500 steps (alibi)"})
	out := t.TempDir()
	expect.Must(s.Write(out))
	contains(t, filepath.Join(out, "models.csv"), []string{"bucket-sort,\"rope, lr 0.001\",2,2,0.5,0,",
		"even-pairs,\"rope, lr 0.001\",3,3,0.5,0,"})
}

// Encodings that share the best number are all named.
func TestTiesAreNamed(t *testing.T) {
	of := map[string]float64{"a": .9001, "b": .9004, "c": .8}
	tasks := []task{{"t", groupsNamed("a", "b", "c")}, {"u", groupsNamed("c")}}
	got := sentence("Best", "validation", tasks, func(g cohort.Group) float64 { return of[g.Label] })
	expect.Equal(t, "sentence", got, "Best: a and b on t (0.900); c on u (0.800).")
}
