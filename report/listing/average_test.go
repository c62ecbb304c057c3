package listing_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/report/internal/viewer"
	"torchpe/report/listing"
	"torchpe/train/runlog"
)

// member is one of an ensemble with its validation accuracy.
type member struct {
	sigma, lr float64
	seed      int
	accuracy  float64
	status    string // done where empty
}

// ensemble writes a finished run whose members may differ in more than their seeds. settings are
// further ones of its configuration.
func ensemble(t *testing.T, dir, settings string, all ...member) {
	t.Helper()
	var members []string
	var result runlog.Result
	for _, m := range all {
		members = append(members, fmt.Sprintf(`{"seed":%d,"sigma":%g,"lr":%g,"weight_decay":0}`, m.seed, m.sigma, m.lr))
		if m.status == "" {
			m.status = runlog.StatusDone
		}
		result.Members = append(result.Members, runlog.MemberResult{Status: m.status, Steps: 30,
			Measures: runlog.Numbers{"validation": m.accuracy, "iid": math.NaN(), "train": 1}})
	}
	r := expect.Must(runlog.Create(dir, fmt.Appendf(nil, `{"task":"lst","pe":"learn","members":[%s]%s}`,
		strings.Join(members, ","), settings), runlog.Environment{}, runlog.Options{}))
	defer r.Close()
	for i, m := range all {
		rec := runlog.Record{Step: 30, Epoch: 3, Member: i, Measures: runlog.Numbers{}}
		rec.Measures["validation"] = m.accuracy
		expect.NoError(t, r.Append(rec))
	}
	expect.NoError(t, r.SaveResult(result))
}

// With --until, models of another --log-every have another row, and a column tells them apart.
func TestAverageOfCriteria(t *testing.T) {
	for settings, want := range map[string]string{`"epochs":9`: "1 row", `"until":"train=0.99"`: "2 rows log_every"} {
		dir := t.TempDir()
		for i, every := range []string{"1", "20"} {
			ensemble(t, filepath.Join(dir, every), `,"log_every":`+every+`,`+settings, member{.2, 1e-4, i, .2, ""})
		}
		columns, all := rows(t, read(dir).Average())
		got := wording.Count(len(all), "row")
		if slices.Contains(columns, "log_every") {
			got += " log_every"
		}
		expect.Equal(t, settings, got, want)
	}
}

// A mean is over the seeds of one configuration: members of other σ or learning rates, other states
// and other settings have rows of their own, in one run and in several.
func TestAverage(t *testing.T) {
	dir := t.TempDir()
	ensemble(t, filepath.Join(dir, "a"), "",
		member{.2, 1e-4, 1, .2, ""}, member{.2, 1e-4, 2, .4, ""}, member{1, 1e-4, 1, .8, ""},
		member{.2, 1e-3, 1, .5, ""}, member{.2, 1e-4, 3, .1, runlog.StatusDiverged})
	ensemble(t, filepath.Join(dir, "b"), `,"device":"cuda"`, member{.2, 1e-4, 7, .6, ""})
	ensemble(t, filepath.Join(dir, "c"), `,"heads":4`, member{.2, 1e-4, 7, .9, ""})
	ensemble(t, filepath.Join(dir, "d"), `,"heads":4,"until":"train=0.99"`, member{.2, 1e-4, 7, .7, ""})
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for name, v := range map[string]struct {
		roots []string
		want  []string
	}{
		// SD of .2 and .4: √.02; of .2, .4 and .6: .2.
		"side by side": {[]string{a, b}, []string{
			a + " 1 and 2: σ 0.2, lr 0.0001, n 2, done .300 ± .141", a + " 1: σ 1, lr 0.0001, n 1, done .800",
			a + " 1: σ 0.2, lr 0.001, n 1, done .500", a + " 3: σ 0.2, lr 0.0001, n 1, diverged .100",
			b + " 7: σ 0.2, lr 0.0001, n 1, done .600"}},
		"in one folder": {[]string{dir}, []string{
			dir + " 1, 2 and 7: σ 0.2, lr 0.0001, n 3, done .400 ± .200", "a 1: σ 1, lr 0.0001, n 1, done .800",
			"a 1: σ 0.2, lr 0.001, n 1, done .500", "a 3: σ 0.2, lr 0.0001, n 1, diverged .100",
			"c 7: σ 0.2, lr 0.0001, n 1, done .900", "d 7: σ 0.2, lr 0.0001, n 1, done .700"}},
	} {
		columns, got := rows(t, read(v.roots...).Average())
		if len(got) != len(v.want) {
			t.Fatalf("%s: %d rows, want %d: %v", name, len(got), len(v.want), got)
		}
		for i, r := range got {
			text := fmt.Sprintf("%v %v: σ %v, lr %v, n %v, %v %s", r["run"], r["seed"], r["sigma"], r["lr"],
				r["n"], r["status"], strings.TrimPrefix(fmt.Sprintf("%.3f", r["validation"]), "0"))
			if sd, ok := r["validation_sd"].(float64); ok {
				text += " ± " + strings.TrimPrefix(fmt.Sprintf("%.3f", sd), "0")
			}
			expect.Equal(t, name, text, v.want[i])
			// The training accuracy of all is 1.
			if sd, ok := r["train_sd"].(float64); ok != strings.Contains(text, "±") || sd != 0 {
				t.Errorf("%s: SD %v of equal numbers", text, r["train_sd"])
			}
		}
		// What only one of two runs of an encoding has tells them apart.
		shown := strings.Join(columns, " ")
		if differ := strings.Contains(shown, "heads until"); differ != (name == "in one folder") ||
			strings.Contains(shown, "device") {
			t.Errorf("%s: columns %s", name, shown)
		}
	}
}

// A row counts those of its models that have fitted; weight decay, which members hold, makes another
// row, and so does divergence, whose step is listed.
func TestAverageOfFits(t *testing.T) {
	dir := t.TempDir()
	edit := func(m *synthetic.Member) {
		m.Result.Measures["train"] = .9
		m.Result.Fit = &runlog.Fit{Criterion: "train=0.99", Reached: m.Seed == 3, Epoch: 2, Step: 200}
	}
	run := synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2, 3, 4}, Edit: edit}
	decay := run
	decay.Name, decay.Decay, decay.Seeds = "b", 0.3, []int{5, 6}
	diverged := synthetic.Run{Name: "c", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{7},
		Edit: func(m *synthetic.Member) {
			m.Result.Status, m.Result.DivergedAtStep, m.Result.Steps = runlog.StatusDiverged, 80, 79
		}}
	early := run // seed 8 has no criterion, seed 9 meets another one than the task's
	early.Name, early.Decay, early.Seeds = "d", 0.5, []int{8, 9, 10}
	early.Edit = func(m *synthetic.Member) {
		m.Result.Fit, m.Result.Measures["train"] = nil, .9
		if m.Seed > 8 {
			m.Result.Fit = &runlog.Fit{Criterion: "iid=0.2", Reached: m.Seed == 9, Epoch: 2, Step: 200}
		}
	}
	synthetic.Write(t, dir, run, decay, diverged, early)
	var got []string
	expect.Equal(t, "seed 7 diverged at step", read(dir).Rows[6].Value("diverged_at").String(), "80")
	for _, c := range read(dir).Average().Table().Columns {
		if c.Heading == "seed" || strings.HasPrefix(c.Heading, "fitted at") {
			t.Errorf("a column of several models is headed %q", c.Heading)
		}
	}
	_, all := rows(t, read(dir).Average())
	for _, r := range all {
		got = append(got, fmt.Sprintf("n %v, decay %v, %v, fitted %v", r["n"], r["weight_decay"], r["status"],
			r["fitted"]))
	}
	expect.Equal(t, "rows", got, []string{"n 4, decay 0, done, fitted 1 of 4 models",
		"n 2, decay 0.3, done, fitted 0 of 2 models", "n 1, decay 0, diverged, fitted at epoch 12",
		"n 3, decay 0.5, done, fitted 0 of 3 models"})
}

// A task whose length is a number of steps fits at a step.
func TestFittedAtAStep(t *testing.T) {
	dir := t.TempDir()
	synthetic.Write(t, dir, synthetic.Run{Name: "a", Task: "nmar", PE: "rope", Seeds: []int{1},
		Edit: func(m *synthetic.Member) { m.Result.Fit = &runlog.Fit{Reached: true, Epoch: 1, Step: 40} }})
	for where, n := range map[string]int{"fitted<100": 1, "fitted<9": 0} {
		l := expect.Must(read(dir).Select(listing.Query{Where: []string{where}, Columns: []string{"fitted"}}))
		expect.Equal(t, where, len(l.Rows), n)
		expect.Equal(t, "heading", l.Table().Columns[0].Heading, "fitted at epoch or step")
	}
	expect.Equal(t, "averaged", read(dir).Average().Rows[0].Value("fitted").String(), "at step 40")
}

// A model has its share of the time of those that were trained together.
func TestTimeOfAModel(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "three", Task: "lst", PE: "rope", Seeds: []int{1, 2, 3}})
	swept := half(t, filepath.Join(dir, "swept"))
	expect.NoError(t, swept.SaveResult(runlog.Result{TrainedTogether: 4, WallSeconds: 60, StepsPerSecond: 20,
		Members: []runlog.MemberResult{{Status: runlog.StatusDone}}}))
	swept.Close()
	r := expect.Must(runlog.Create(filepath.Join(dir, "unfinished"), []byte(`{"task":"lst","pe":"nope",`+
		`"members":[{"seed":1},{"seed":2}]}`), runlog.Environment{}, runlog.Options{}))
	expect.NoError(t, r.Append(runlog.Record{Step: 3, WallSeconds: 60, StepMS: 50}))
	r.Close()
	for run, want := range map[string]string{"three": "20 60", "swept": "15 80", "unfinished": "30 40"} {
		row := expect.Must(read(dir).Select(listing.Query{Where: []string{"run=" + run}})).Rows[0]
		expect.Equal(t, run, fmt.Sprint(row.Value("seconds"), " ", row.Value("steps_per_second")), want)
	}
}

// The accuracy on longer inputs is headed so where all models have it, and else validation.
func TestHeadingOfLongerInputs(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "puzzles", Task: "lst", PE: "rope", Seeds: []int{1}})
	r := expect.Must(runlog.Create(filepath.Join(dir, "language"), []byte(`{"task":"sequence","pe":"nope",`+
		`"sequence":{"language":"even-pairs"},"members":[{"seed":1}]}`), runlog.Environment{}, runlog.Options{}))
	expect.NoError(t, r.SaveResult(runlog.Result{Members: []runlog.MemberResult{{Status: runlog.StatusDone,
		Measures: runlog.Numbers{"validation": .5}}}}))
	r.Close()
	for root, want := range map[string]string{dir: "validation", filepath.Join(dir, "language"): "longer"} {
		for _, l := range []*listing.List{read(root), read(root).Average()} {
			l = expect.Must(l.Select(listing.Query{Columns: []string{"validation"}}))
			expect.Equal(t, root, l.Table().Columns[0].Heading, want)
		}
	}
}

// Models that are not finished, or diverged, are averaged only where they came equally far. A note says which
// mean lacks models without the number.
func TestAverageOfUnlike(t *testing.T) {
	dir := t.TempDir()
	run := func(name, status string, steps int, measured float64, seeds ...int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "lst", PE: "rope", Seeds: seeds, Edit: func(m *synthetic.Member) {
			m.Result.Status, m.Result.Steps = status, steps
			m.Result.Measures["iid"] = measured
		}}
	}
	synthetic.Write(t, dir, run("a", runlog.StatusDone, 1200, .5, 1, 2),
		run("b", runlog.StatusDone, 1200, math.NaN(), 3), run("c", runlog.StatusDiverged, 80, .5, 4, 5),
		run("d", runlog.StatusDiverged, 90, .5, 6))
	for name, steps := range map[string]int{"e": 10, "f": 10, "g": 20} {
		half(t, filepath.Join(dir, name), runlog.Record{Step: steps, Measures: runlog.Numbers{"train": .5}}).Close()
	}
	l := read(dir).Average()
	var got []string
	for _, r := range l.Rows {
		got = append(got, fmt.Sprint(r.Value("status"), " ", r.Value("n")))
	}
	expect.Equal(t, "rows", strings.Join(got, ", "), "done 3, diverged 2, diverged 1, stopped 1, stopped 1")
	expect.Contains(t, l.Table().Note, "IID test of rope, seeds 1, 2 and 3: of 2 of 3 models")
}

// A mean is over models of one identity, and of those over the ones that took the measure alike.
func TestAverageAsksCohort(t *testing.T) {
	synthetic.EverySetting(t, func(key string, models []cohort.Model, isTold bool) {
		l := expect.Must(listing.ListOf(models)).Average()
		expect.Equal(t, key+": rows of two models", len(l.Rows), map[bool]int{true: 2, false: 1}[isTold])
	})
	var models []cohort.Model
	for i, puzzles := range []int{64, 128, 64} {
		m := cohort.Model{Run: &cohort.Run{}, Index: i, Member: cohort.Member{Seed: uint64(i)}}
		m.Run.Config.JSON, m.Run.Config.TangentPuzzles = []byte("{}"), puzzles
		m.Result.Measures = runlog.Numbers{"tangent_alignment": float64(i * i), "validation": float64(i)}
		models = append(models, m)
	}
	l := expect.Must(listing.ListOf(models))
	average := l.Average()
	for name, want := range map[string]string{"validation": "1", "tangent_alignment": "2"} {
		expect.Equal(t, name, average.Rows[0].Value(name).String(), want)
	}
	expect.Equal(t, "the list has lost a number", l.Rows[1].Value("tangent_alignment").String(), "1")
}

// A run is as long as its steps or its epochs say: the other setting is none, not 0.
func TestLengths(t *testing.T) {
	dir := t.TempDir()
	ensemble(t, filepath.Join(dir, "a"), `,"epochs":0,"steps":300`, member{.2, 1e-4, 1, .2, ""},
		member{.2, 1e-4, 2, .4, ""})
	row := read(dir).Rows[0]
	if epochs, steps := row.Value("config_epochs"), row.Value("config_steps"); !epochs.IsMissing() ||
		steps.String() != "300" {
		t.Errorf("%q epochs and %q steps", epochs.String(), steps.String())
	}
}

// The page has the curves of all tasks, a line a configuration.
func TestWritePage(t *testing.T) {
	dir := synthetic.Dir(t, synthetic.Run{Name: "a", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1, 2}},
		synthetic.Run{Name: "b", Task: "lst", PE: "rope", Seeds: []int{3}, Heads: 2},
		synthetic.Run{Name: "c", Task: "nmar", PE: "learn", Sigma: 1, Seeds: []int{1}},
		synthetic.Run{Name: "d", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{3}},
	)
	out := t.TempDir()
	expect.NoError(t, read(dir).Average().WritePage(out))
	for _, name := range []string{"index.html", "runs.csv", "runs.tex", "validation.pdf",
		"test_mse_90.svg", "test_mse_90.csv", "modularity.png"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "validation.csv"))
	// 12 records a model; that of σ 0.2 are over two runs.
	if err != nil || strings.Count(string(text), "\nlearn-0.2,") != 36 ||
		strings.Count(string(text), "\nrope,1,") != 12 {
		t.Errorf("validation.csv: %v\n%s", err, text)
	}
	var undrawn int
	problems := viewer.Browser{Width: 1280}.Evaluate(t, filepath.Join(out, "index.html"), `
		return [...document.querySelectorAll("img")].filter(e => !(e.complete && e.naturalWidth > 0)).length;`, &undrawn)
	if undrawn > 0 || len(problems) > 0 {
		t.Errorf("%d images are not drawn; %v", undrawn, problems)
	}
}

// Runs of other positions are apart, by the first digits of their hash, which may look like a number.
func TestHashes(t *testing.T) {
	dir := t.TempDir()
	for name, hash := range map[string]string{"a": "1e23456789012222", "b": "1e23456789112222"} {
		ensemble(t, filepath.Join(dir, name), `,"positions":{"file":"p.csv","sha256":"`+hash+`"}`,
			member{.2, 1e-4, 1, .2, ""})
	}
	var csv strings.Builder
	l := read(dir).Average()
	expect.NoError(t, l.Table().CSV(&csv))
	for i, want := range []string{"1e2345678901", "1e2345678911"} {
		if got := l.Rows[i].Value("positions_sha256").String(); got != want || !strings.Contains(csv.String(), want) {
			t.Errorf("row %d has %s, want %s, in\n%s", i, got, want, csv.String())
		}
	}
}

// Many configurations with long names are drawn in several figures.
func TestManyLines(t *testing.T) {
	dir := t.TempDir()
	for i := range 15 {
		synthetic.Write(t, dir, synthetic.Run{Name: strings.Repeat("very-long-name-of-a-run", 3) +
			string(rune('a'+i)), Task: "lst", PE: "rope", Seeds: []int{1}, Heads: i + 1})
	}
	out := t.TempDir()
	expect.NoError(t, read(dir).Average().WritePage(out))
	for _, name := range []string{"validation_1.pdf", "train_2.csv"} {
		expect.NoError(t, expect.ErrorOf(os.Stat(filepath.Join(out, name))))
	}
	expect.Contains(t, string(expect.Must(os.ReadFile(filepath.Join(out, "validation_1.csv")))),
		"\n\"rope, heads 3\",1,100,")
}

// A mean has each seed of a configuration once; a rate of the PE's own, other data and imported
// weights are configurations of their own, and shown. A model that stopped keeps its last value.
func TestAverageOfSeedsAlone(t *testing.T) {
	run := func(name string, seeds ...int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "lst", PE: "rope", Seeds: seeds, Data: "aaaa", Until: "train=0.99"}
	}
	own, edited, imported, stopped := run("own rate", 1), run("edited", 1), run("imported", 1), run("a", 1, 2)
	own.PELR, edited.Data = .3, "bbbb"
	imported.Changed = []string{"weights imported from x, whose SHA-256 is 00"}
	stopped.Edit = func(m *synthetic.Member) {
		m.Result.Fit = &runlog.Fit{Reached: m.Seed == 2, Epoch: 3}
		for i := range m.Records {
			m.Records[i].Measures["validation"] = float64(m.Seed) + float64(i)/100
		}
		if m.Seed == 2 {
			m.Records = m.Records[:3]
			m.Records[2].Fit = &runlog.Fit{Reached: true}
		}
	}
	dir := synthetic.Dir(t, stopped, run("copy", 1), own, edited, imported)
	l := read(dir).Average()
	var n []string
	for _, r := range l.Rows {
		n = append(n, r.Value("n").String())
	}
	expect.Equal(t, "models a row", strings.Join(n, " "), "2 1 1 1")
	csv := expect.Written(l.Table().CSV)
	expect.Contains(t, csv, "pe_lr", "data_sha256", "weights",
		"imported from PyTorch after 12 epochs", "aaaa", "bbbb")
	expect.Equal(t, "note", l.Table().Note, "counted once: 1 model with the settings, data and seed of another; "+
		"for 1 of them the numbers differ (another build or device, or imported weights?); the first counts")
	out := t.TempDir()
	expect.NoError(t, l.WritePage(out))
	text := string(expect.Must(os.ReadFile(filepath.Join(out, "validation.csv"))))
	// Of the first row's second model, the value of record 3 of 12 up to the last.
	expect.Equal(t, text+"\nnumbers like 2.02", strings.Count(text, ",2.02"), 10)
}
