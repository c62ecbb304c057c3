package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/nmar"
	"torchpe/data/series"
	"torchpe/train/config"
)

// tinyFiles is a small run of task masked on files in a folder of the test.
func tinyFiles(t *testing.T, files map[string]string) (Config, string) {
	t.Helper()
	c := tinyMasked(t, "learn")
	masked, err := Preset("masked", "code")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c.Task, c.Masked = "masked", masked.Masked
	c.Masked.Files = &series.Source{}
	c.Masked.TestFrames = 50
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(name, "modules"):
			c.Masked.Files.Modules = path
		case strings.HasPrefix(name, "subjects"):
			c.Masked.Files.Subjects = path
		default:
			c.Masked.Files.Data = append(c.Masked.Files.Data, path)
		}
	}
	slices.Sort(c.Masked.Files.Data)
	return c, dir
}

// table is a CSV of frames x 5 tokens, whose numbers differ by seed.
func tableText(frames, seed int) string {
	var b strings.Builder
	b.WriteString("a,b,c,d,e\n")
	for f := range frames {
		for p := range 5 {
			fmt.Fprintf(&b, "%d", ((f*7+p*(seed+3))*(f+seed+p))%23)
			if p < 4 {
				b.WriteString(",")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A simulation that goes through files trains to the same bits as the simulation itself.
func TestFilesEqualTheSimulation(t *testing.T) {
	c := tinyMasked(t, "learn")
	sim, err := nmar.Simulate(c.Masked.NMAR.Options(), c.DataSeed)
	if err != nil {
		t.Fatal(err)
	}
	var values, modules strings.Builder
	values.WriteString(strings.Join(sim.Names, ",") + "\n")
	for f := range c.Masked.NMAR.Frames {
		for p := range sim.Names {
			if p > 0 {
				values.WriteString(",")
			}
			fmt.Fprintf(&values, "%v", float64(sim.X[f*len(sim.Names)+p]))
		}
		values.WriteString("\n")
	}
	for i, name := range sim.Names {
		fmt.Fprintf(&modules, "%s,%d\n", name, sim.Labels[i])
	}
	own, _ := tinyFiles(t, map[string]string{"series.csv": values.String(), "modules.csv": modules.String()})
	c.Masked.ZScore = true // as it is by default of files
	want, err := Run(context.Background(), c, filepath.Join(t.TempDir(), "nmar"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(context.Background(), own, filepath.Join(t.TempDir(), "masked"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for m := range want.Members {
		a, b := want.Members[m], got.Members[m]
		if !maps.Equal(a.Measures, b.Measures) {
			t.Errorf("member %d: %v from files, %v from the simulation", m, b.Measures, a.Measures)
		}
	}
	if fmt.Sprint(want.Baselines) != fmt.Sprint(got.Baselines) {
		t.Errorf("baselines %v and %v", got.Baselines, want.Baselines)
	}
	if got.Data.Tokens != 15 || got.Data.Modules != 3 || !strings.Contains(got.Data.ModulesFrom, "by name") {
		t.Errorf("data %+v", got.Data)
	}
}

// Held out are whole subjects, those of the table where there is one, and otherwise the end of each
// run.
func TestSplits(t *testing.T) {
	files := map[string]string{"sub-1_a.csv": tableText(40, 1), "sub-1_b.csv": tableText(20, 2),
		"sub-2.csv": tableText(30, 3), "sub-3.csv": tableText(10, 4)}
	with := func(more map[string]string, change func(*Config)) (*maskedTask, error) {
		all := map[string]string{}
		for name, text := range files {
			all[name] = text
		}
		for name, text := range more {
			all[name] = text
		}
		c, _ := tinyFiles(t, all)
		c.Masked.TestFrames = 0
		if change != nil {
			change(&c)
		}
		return newMaskedTask(c)
	}
	inRange := func(frames []int, spans ...[2]int) bool {
		n := 0
		for _, s := range spans {
			n += s[1] - s[0]
			for f := s[0]; f < s[1]; f++ {
				if !slices.Contains(frames, f) {
					return false
				}
			}
		}
		return n == len(frames)
	}
	task, err := with(map[string]string{"subjects.csv": "subject,set\n1,test\n2,train\n3,test\n"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !inRange(task.split.Test, [2]int{0, 60}, [2]int{90, 100}) || !inRange(task.split.Train, [2]int{60, 90}) {
		t.Errorf("by the table: train %v, test %v", task.split.Train, task.split.Test)
	}
	if fmt.Sprint(task.data.TestSubjects) != "[1 3]" || task.data.Runs != 4 || task.data.Subjects != 3 {
		t.Errorf("%+v", task.data)
	}
	if task, err = with(nil, nil); err != nil {
		t.Fatal(err)
	}
	if len(task.data.TestSubjects) != 1 || !strings.Contains(task.data.Split, "1 of 3 subjects") {
		t.Errorf("70/30 of three subjects: %+v", task.data)
	}
	if task, err = with(nil, func(c *Config) { c.Masked.Split = config.TimeSplit }); err != nil {
		t.Fatal(err)
	}
	if !inRange(task.split.Test, [2]int{28, 40}, [2]int{54, 60}, [2]int{81, 90}, [2]int{97, 100}) {
		t.Errorf("by time: %v", task.split.Test)
	}
	if task, err = with(nil, func(c *Config) { c.Masked.Split = config.RandomSplit }); err != nil ||
		len(task.split.Test) != 30 || slices.Max(task.split.Train) < 60 {
		t.Errorf("at random: %v, %v", task, err)
	}
	if _, err = with(map[string]string{"subjects.csv": "subject,set\n1,test\n2,train\n3,test\n"},
		func(c *Config) { c.Masked.Split = config.TimeSplit }); err == nil ||
		!strings.Contains(err.Error(), "--split") {
		t.Errorf("a table and another split: %v", err)
	}
	files = map[string]string{"one.csv": tableText(40, 1)}
	if _, err = with(nil, func(c *Config) { c.Masked.Split = config.SubjectSplit }); err == nil ||
		!strings.Contains(err.Error(), "1 subject") {
		t.Errorf("one subject: %v", err)
	}
}

// A run refuses to go on with files that changed.
func TestChangedFilesAreNoticed(t *testing.T) {
	c, dir := tinyFiles(t, map[string]string{"x.csv": tableText(80, 1)})
	run := filepath.Join(dir, "run")
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := Run(ctx, c, run, Options{Observer: &stopper{cancel: cancel, after: 5}}); err == nil {
		t.Fatal("not interrupted")
	}
	if err := os.WriteFile(c.Masked.Files.Data[0], []byte(tableText(80, 2)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), c, run, Options{Resume: true}); err == nil ||
		!strings.Contains(err.Error(), "data") {
		t.Errorf("other data: %v", err)
	}
}

// The surrogate trains, with scores against its own networks; without scores where no modules are
// known.
func TestSurrogateTrains(t *testing.T) {
	c := tinyMasked(t, "learn")
	fmri, err := Preset("fmri", "code")
	if err != nil {
		t.Fatal(err)
	}
	c.Task, c.Masked, c.Batch, c.Steps, c.LogEvery = "fmri", fmri.Masked, 4, 4, 2
	c.Masked.Surrogate = &config.Surrogate{Subjects: 4, Frames: 30}
	c.Masked.TestFrames, c.Masked.TestLevels = 8, []float64{0.5}
	dir := filepath.Join(t.TempDir(), "run")
	r, err := Run(context.Background(), c, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Data.Tokens != 360 || r.Data.Modules != 12 || math.IsNaN(r.Members[0].Measures.Get("modularity")) ||
		len(r.Data.TestSubjects) != 1 || len(r.Data.Notes) != 1 {
		t.Errorf("%+v", r.Data)
	}
	own, _ := tinyFiles(t, map[string]string{"x.csv": tableText(80, 1)})
	if r, err = Run(context.Background(), own, filepath.Join(t.TempDir(), "run"), Options{}); err != nil ||
		!math.IsNaN(r.Members[0].Measures.Get("modularity")) || r.Data.Modules != 0 {
		t.Errorf("%+v, %v", r.Data, err)
	}
}

func TestSourcesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no files": {func(c *Config) { c.Masked.Files.Data = nil }, "--data"},
		"two sources": {func(c *Config) {
			c.Masked.Surrogate = &config.Surrogate{Subjects: 4,
				Frames: 30}
		}, "--preset masked"},
		"another task's": {func(c *Config) { c.Task = "nmar" }, "--preset nmar"},
		"bad axes":       {func(c *Config) { c.Masked.Files.Axes = "x,y" }, "--axes"},
		"bad split":      {func(c *Config) { c.Masked.Split = "half" }, "--split"},
		"bad tokens":     {func(c *Config) { c.Masked.Files.Tokens = -1 }, "--tokens"},
	} {
		config, _ := tinyFiles(t, map[string]string{"x.csv": "a,b\n1,2\n"})
		c.change(&config)
		if err := config.Resolve(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	c := tinyMasked(t, "learn")
	fmri, _ := Preset("fmri", "code")
	c.Task, c.Masked = "fmri", fmri.Masked
	c.Masked.Surrogate = &config.Surrogate{Subjects: 1, Frames: 30}
	if err := c.Resolve(); err == nil || !strings.Contains(err.Error(), "1 subjects") {
		t.Errorf("one subject of the surrogate: %v", err)
	}
}
