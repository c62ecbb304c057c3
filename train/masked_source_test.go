package train

import (
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
	"torchpe/internal/expect"
	"torchpe/train/config"
)

// tinyFiles is a small run of task masked on files in a folder of the test.
func tinyFiles(t *testing.T, files map[string]string) (Config, string) {
	t.Helper()
	c := tinyMasked(t, "learn")
	masked := expect.Must(Preset("masked", "code"))
	dir := t.TempDir()
	c.Task, c.Masked = "masked", masked.Masked
	c.Masked.Files = &series.Source{}
	c.Masked.TestFrames = 50
	for name, text := range files {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
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
	sim := expect.Must(nmar.Simulate(c.Masked.NMAR.Options(), c.DataSeed))
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
	_, want := runTiny(t, c)
	_, got := runTiny(t, own)
	for m := range want.Members {
		a, b := want.Members[m], got.Members[m]
		expect.Equal(t, fmt.Sprintf("member %d", m), a.Measures, b.Measures)
	}
	expect.Equal(t, "baselines", fmt.Sprint(got.Baselines), fmt.Sprint(want.Baselines))
	if got.Data.Tokens != 15 || got.Data.Modules != 3 || !strings.Contains(got.Data.ModulesFrom, "by name") {
		t.Errorf("data %+v", got.Data)
	}
}

// Held out are whole subjects, those of the table where there is one, and otherwise the end of each
// run.
func TestSplits(t *testing.T) {
	four := map[string]string{"sub-1_a.csv": tableText(40, 1), "sub-1_b.csv": tableText(20, 2),
		"sub-2.csv": tableText(30, 3), "sub-3.csv": tableText(10, 4)}
	named := maps.Clone(four)
	named["subjects.csv"] = "subject,set\n1,test\n2,train\n3,test\n"
	splitOf := func(files map[string]string, split string) (*maskedTask, error) {
		c, _ := tinyFiles(t, files)
		if c.Masked.TestFrames = 0; split != "" {
			c.Masked.Split = split
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
	task := expect.Must(splitOf(named, ""))
	if !inRange(task.split.Test, [2]int{0, 60}, [2]int{90, 100}) || !inRange(task.split.Train, [2]int{60, 90}) {
		t.Errorf("by the table: train %v, test %v", task.split.Train, task.split.Test)
	}
	expect.Equal(t, "test subjects, runs and subjects",
		fmt.Sprint(task.data.TestSubjects, task.data.Runs, task.data.Subjects), "[1 3] 4 3")
	task = expect.Must(splitOf(four, ""))
	if len(task.data.TestSubjects) != 1 || !strings.Contains(task.data.Split, "1 of 3 subjects") {
		t.Errorf("70/30 of three subjects: %+v", task.data)
	}
	task = expect.Must(splitOf(map[string]string{"sub-1.csv": four["sub-2.csv"], "sub-2.csv": four["sub-3.csv"]},
		config.SubjectSplit))
	if len(task.data.TestSubjects) != 1 || !strings.Contains(task.data.Split, "1 of 2 subjects") {
		t.Errorf("70/30 of two subjects: %+v", task.data)
	}
	task = expect.Must(splitOf(four, config.TimeSplit))
	if !inRange(task.split.Test, [2]int{28, 40}, [2]int{54, 60}, [2]int{81, 90}, [2]int{97, 100}) {
		t.Errorf("by time: %v", task.split.Test)
	}
	task = expect.Must(splitOf(four, config.RandomSplit))
	if len(task.split.Test) != 30 || slices.Max(task.split.Train) < 60 {
		t.Errorf("at random: %v", task)
	}
	expect.Error(t, expect.ErrorOf(splitOf(named, config.TimeSplit)), "--split")
	c, _ := tinyFiles(t, named)
	c.Masked.TestShare = 0.2
	expect.Error(t, expect.ErrorOf(newMaskedTask(c)), "--test-share: 0.2, but the column set of --subjects")
	one := map[string]string{"one.csv": tableText(40, 1)}
	expect.Error(t, expect.ErrorOf(splitOf(one, config.SubjectSplit)), "1 subject")
}

// A run refuses to go on with files that changed.
func TestChangedFilesAreNoticed(t *testing.T) {
	c, dir := tinyFiles(t, map[string]string{"x.csv": tableText(80, 1)})
	run := filepath.Join(dir, "run")
	stopAfter(t, c, run, 5)
	expect.NoError(t, os.WriteFile(c.Masked.Files.Data[0], []byte(tableText(80, 2)), 0o600))
	expect.Error(t, expect.ErrorOf(Run(t.Context(), c, run, Options{Resume: true})), "data")
}

// The surrogate trains, with scores against its own networks; without scores where no modules are
// known.
func TestSurrogateTrains(t *testing.T) {
	c := tinyMasked(t, "learn")
	fmri := expect.Must(Preset("fmri", "code"))
	c.Task, c.Masked, c.Batch, c.Steps, c.LogEvery = "fmri", fmri.Masked, 4, 4, 2
	c.Masked.Surrogate = &config.Surrogate{Subjects: 4, Frames: 30}
	c.Masked.TestFrames, c.Masked.TestLevels = 8, []float64{0.5}
	_, r := runTiny(t, c)
	if r.Data.Tokens != 360 || r.Data.Modules != 12 || math.IsNaN(r.Members[0].Measures.Get("modularity")) ||
		len(r.Data.TestSubjects) != 1 || len(r.Data.Notes) != 1 {
		t.Errorf("%+v", r.Data)
	}
	// Its files are known by the names of the subjects.
	again, _ := tinyFiles(t, map[string]string{"surrogate001.csv": tableText(80, 1),
		"surrogate002.csv": tableText(80, 2)})
	known := expect.Must(newMaskedTask(again)).data
	if !r.Data.Surrogate || !known.Surrogate || !strings.Contains(fmt.Sprint(known.Notes), "not human fMRI") {
		t.Errorf("%+v, read again %+v", r.Data, known)
	}
	own, _ := tinyFiles(t, map[string]string{"x.csv": tableText(80, 1)})
	if _, r = runTiny(t, own); !math.IsNaN(r.Members[0].Measures.Get("modularity")) || r.Data.Modules != 0 ||
		r.Data.Surrogate {
		t.Errorf("%+v", r.Data)
	}
}

func TestSourcesAreChecked(t *testing.T) {
	surrogate := &config.Surrogate{Subjects: 4, Frames: 30}
	for want, change := range map[string]func(*Config){
		"--data":          func(c *Config) { c.Masked.Files.Data = nil },
		"--preset masked": func(c *Config) { c.Masked.Surrogate = surrogate },
		"--preset nmar":   func(c *Config) { c.Task = "nmar" },
		"--axes":          func(c *Config) { c.Masked.Files.Axes = "x,y" },
		"--split":         func(c *Config) { c.Masked.Split = "half" },
		"--tokens":        func(c *Config) { c.Masked.Files.Tokens = -1 },
		"1 subjects": func(c *Config) {
			c.Task, c.Masked = "fmri", expect.Must(Preset("fmri", "code")).Masked
			c.Masked.Surrogate = &config.Surrogate{Subjects: 1, Frames: 30}
		},
	} {
		c, _ := tinyFiles(t, map[string]string{"x.csv": "a,b\n1,2\n"})
		change(&c)
		expect.Error(t, c.Resolve(), want)
	}
}
