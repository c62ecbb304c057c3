package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/data/series"
	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// jsonKeys lists the keys of a struct's JSON, those of inner structs after a dot; without members'
// and the surrogate's, which one row sets as a whole.
func jsonKeys(t reflect.Type, prefix string) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
			continue
		case f.Anonymous:
			keys = append(keys, jsonKeys(f.Type, prefix)...)
			continue
		case inner == reflect.TypeFor[Member]():
			keys = append(keys, prefix+name)
			keys = append(keys, jsonKeys(inner, prefix+name+".")...)
		case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[Surrogate]():
			keys = append(keys, jsonKeys(inner, prefix+name+".")...)
		default:
			keys = append(keys, prefix+name)
		}
	}
	return keys
}

// TestRows checks that each key of config.json has one row, and each flag one, and that tasks name
// defaults of settings.
func TestRows(t *testing.T) {
	fields := jsonKeys(reflect.TypeFor[Config](), "")
	rows := Keys(func(Setting) bool { return true })
	slices.Sort(fields)
	slices.Sort(rows)
	if !slices.Equal(fields, rows) {
		t.Errorf("fields %q\nrows %q", fields, rows)
	}
	flags := map[string]bool{}
	for _, s := range Settings() {
		if flags[s.Flag] && s.Flag != "" {
			t.Errorf("two rows have the flag --%s", s.Flag)
		}
		flags[s.Flag] = true
		if s.Help == "" {
			t.Errorf("%s: no help", s.Key)
		}
	}
	for _, task := range tasks() {
		for _, values := range []defaults{task.Defaults, task.QuickDefaults} {
			for key := range values {
				if !slices.Contains(rows, key) {
					t.Errorf("task %s has a default of %s, which no row has", task.Name, key)
				}
			}
		}
	}
}

// problemsOf completes a configuration and returns what is wrong with it.
func problemsOf(c Config) (bad Problems) {
	c.Complete(&bad)
	c.Validate(&bad)
	return bad
}

// TestPresetsAreValid checks the defaults of all presets against the rows' checks; data of one's
// own is missing.
func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets() {
		for _, fidelity := range fidelities() {
			c := expect.Must(Preset(name, fidelity))
			if name == "masked" {
				c.Masked.Files.Data = []string{"x.csv"}
			}
			if Languages.has(&c) {
				c.Sequence.Name = "even-pairs"
			}
			if Texts.has(&c) {
				c.Sequence.Text = []string{"x.txt"}
			}
			expect.Equal(t, fmt.Sprintf("%s, %s", name, fidelity), problemsOf(c).Err(), nil)
		}
	}
}

// TestEffects pins the settings that tell no runs of a sweep apart: a plan made by an earlier
// version finds its runs again only as long as they stay.
func TestEffects(t *testing.T) {
	for effect, want := range map[Effect][]string{
		Nothing:  {"checkpoint_every", "tensorboard", "device", "threads"},
		Measures: {"noise", "noise_repeats", "tangent_puzzles", "record_maps", "log_every"},
	} {
		expect.Equal(t, fmt.Sprint("settings that change ", effect), KeysWith(effect), want)
	}
}

// A setting that makes measures names families of measures, and changes no model.
func TestMakers(t *testing.T) {
	families := map[string]bool{}
	for _, m := range runlog.Measures() {
		families[m.Family()] = true
	}
	for _, s := range Settings() {
		for _, family := range s.Makes {
			if !families[family] || s.Effect != Measures {
				t.Errorf("%s makes %q", s.Key, family)
			}
		}
	}
}

// TestFlagsTakeTheirDefaults checks that each flag reads what it shows, and that a copy is not
// changed by it.
func TestFlagsTakeTheirDefaults(t *testing.T) {
	for _, preset := range []string{"lst", "nmar"} {
		c, _ := Preset(preset, "code")
		before, _ := c.JSON()
		for _, s := range Settings() {
			if s.IsMember() || s.Flag == "" || s.Sweep == Repeated || !s.Tasks.has(&c) {
				continue
			}
			f := s.NewFlag()
			text := strings.Trim(f.String(), "[]")
			if s.Flag == "pe-warmup-steps" || s.Flag == "pe-init-sparsity" { // which have none
				text = "0"
			}
			if s.Flag == "log-every" { // whose zero is derived
				text = "1"
			}
			if err := f.Set(text); err != nil {
				t.Errorf("--%s %q: %v", s.Flag, text, err)
				continue
			}
			changed := c.Clone()
			expect.Equal(t, fmt.Sprintf("--%s %q", s.Flag, text), s.Store(&changed, f), nil)
		}
		expect.Equal(t, "the configuration that a copy was made of", string(expect.Must(c.JSON())), string(before))
	}
}

// Texts take their files by the flag that other tasks have for series, and need places for an output
// of twice the input.
func TestTexts(t *testing.T) {
	c, err := Preset("text", "code")
	s, _ := ByFlag("data")
	f := s.NewFlag()
	err = errors.Join(err, f.Set("a.txt"), s.Store(&c, f))
	expect.NoError(t, err)
	expect.Equal(t, "text", c.Sequence.Text, []string{"a.txt"})
	if n, fixed := c.Tokens(); n != 128 || fixed { // windows of 64 characters
		t.Errorf("%d tokens, fixed: %v", n, fixed)
	}
}

// experiments matches files whose names of settings are data: experiments, fixtures, what is written for
// PyTorch, and the keys of transformers' configurations.
var experiments = regexp.MustCompile(
	`_test\.go$|train/sweep/presets|report/paper/|report/internal/synthetic/|models/export/|models/pe/petest/|` +
		`report/catalogue/hf_`)

// TestFilesThatNameASetting counts the files of Go, outside this package, that hold the key or flag
// of a setting as a text: one that uses it. Rows of this package may name each other. Keys of one
// word and those of members are not counted: they name columns and other things, too.
func TestFilesThatNameASetting(t *testing.T) {
	named, found := map[string][]string{}, map[string]bool{} // both by key: files elsewhere, anywhere
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || experiments.MatchString(filepath.ToSlash(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, s := range Settings() {
			key := s.Key[strings.LastIndex(s.Key, ".")+1:]
			if !strings.Contains(key, "_") || s.IsMember() || s.Flag == "" {
				continue
			}
			for _, name := range []string{`"` + key + `"`, `"` + key + `,`, `"` + s.Flag + `"`} {
				if strings.Contains(string(text), name) {
					found[s.Key] = true
					if !strings.Contains(filepath.ToSlash(path), "/train/config/") {
						named[s.Key] = append(named[s.Key], path)
					}
					break
				}
			}
		}
		return nil
	})
	expect.NoError(t, err)
	for _, s := range Settings() {
		if files := named[s.Key]; len(files) > 1 {
			t.Errorf("%s is named in %d files: %q; want its use", s.Key, len(files), files)
		}
	}
	if len(found) < 30 {
		t.Errorf("only %d settings were found", len(found))
	}
}

// What a run of an earlier version has, or a caller of the package may give, is refused or named.
func TestConfigurationsOfOthers(t *testing.T) {
	c := expect.Must(Preset("nmar", "code"))
	var bad Problems
	c.Complete(&bad)
	c.Masked.NMAR.Order = ""
	c.Validate(&bad)
	expect.Error(t, bad.Err(), `masked.nmar.order: ""`)
	for _, noise := range [][]float64{{}, {0.5}} { // draws of no noise are none
		quick, _ := Preset("quick", "code")
		quick.Noise, quick.NoiseRepeats = noise, 3-3*len(noise)
		quick.Complete(&bad)
		if want := defaultNoiseRepeats * len(noise); quick.NoiseRepeats != want || (quick.Noise == nil) != (want == 0) {
			t.Errorf("noise %v is drawn %d times, want %d", quick.Noise, quick.NoiseRepeats, want)
		}
	}
	onLine, _ := Preset("sequence-quick", "code")
	onLine.Sequence.Name, onLine.Positions = "even-pairs", &PositionsConfig{}
	bad = nil
	onLine.Validate(&bad)
	if !slices.ContainsFunc(bad, func(s string) bool { return strings.HasPrefix(s, "--positions: sequences ") }) {
		t.Errorf("positions of a sequence: %q", bad)
	}
	text := SequenceConfig{Text: []string{"x.txt"}, TrainLength: 3, TestLength: 24}
	at, longer := text.Lengths()
	expect.Equal(t, "lengths of a text", fmt.Sprint(at, longer), "[3] [6 12 24]")
	others := map[string]string{"nmar": "lst", "fmri": "text", "quick": "nmar", "sequence-quick": "masked"}
	for preset, task := range others {
		other, _ := Preset(preset, "code")
		other.Task, bad = task, nil
		other.Validate(&bad)
		expect.Contains(t, strings.Join(bad, "\n"), "--task: "+task+" has the settings of another task")
	}
	files, made, simulated := &series.Source{}, &Surrogate{}, &NMAR{}
	for task, want := range map[string][4]bool{ // of an NMAR, a surrogate, files, and two of them
		"nmar": {true, false, false, false}, "fmri": {false, true, true, false}, "masked": {false, false, true, false},
	} {
		for i, m := range []MaskedConfig{{NMAR: simulated}, {Surrogate: made}, {Files: files},
			{NMAR: simulated, Files: files}} {
			c := Config{DataConfig: DataConfig{Masked: &m}}
			expect.Equal(t, fmt.Sprintf("task %s, source %d", task, i), FindTask(task).hasData(&c), want[i])
		}
	}
	was, now := c.Clone(), c.Clone()
	now.Masked.NMAR.Order, was.Masked.NMAR = DrawnOrder, nil
	for i, pair := range [][2]Config{{was, now}, {now, was}} {
		all, err := Differences(pair[0], pair[1])
		if err != nil || len(all) == 0 {
			t.Errorf("%v, %v", all, err)
		}
		for _, d := range all {
			if d.Was == "none" != (i == 0) || d.Now == "none" != (i == 1) {
				t.Errorf("%v: the other has the data", d)
			}
		}
	}
}

// The least and the greatest value of each number are taken, and what lies beyond is not.
func TestBounds(t *testing.T) {
	for _, b := range []struct {
		flag      string
		low, high int
		at        func(c *Config) *int
	}{
		{"threads", 1, 4096, func(c *Config) *int { return &c.Threads }},
		{"layers", 1, 1024, func(c *Config) *int { return &c.Layers }},
		{"heads", 1, 65536, func(c *Config) *int { return &c.Heads }},
		{"d-model", 1, 65536, func(c *Config) *int { return &c.DModel }},
		{"ff-multiple", 1, 1024, func(c *Config) *int { return &c.FFMultiple }},
		{"batch", 1, 1 << 24, func(c *Config) *int { return &c.Batch }},
		{"epochs", 1, 1e8, func(c *Config) *int { return &c.Epochs }},
		{"tangent-puzzles", 0, 4096, func(c *Config) *int { return &c.TangentPuzzles }},
	} {
		for v, refused := range map[int]bool{b.low - 1: b.flag != "threads", b.low: false, b.high: false,
			b.high + 1: true} { // threads: 0 is auto
			c := expect.Must(Preset("quick", "code"))
			var bad Problems
			c.Complete(&bad)
			*b.at(&c) = v
			c.Validate(&bad)
			want := fmt.Sprintf("--%s: %d is not in [%d, %d]", b.flag, v, b.low, b.high)
			want = strings.Replace(want, ", 100000000]", ", 1e8]", 1)
			expect.Equal(t, want, slices.Contains(bad, want), refused)
		}
	}
	for sizes, want := range map[[2]int]string{{25, 36}: "", {25, 25}: "--eval-tokens: 25 is given twice",
		{25, 26}: "--eval-tokens: no puzzle has 26 tokens", {25, 81}: "--eval-tokens: no puzzle has 81 tokens",
		{-4, 25}: "--eval-tokens: no puzzle has -4 tokens"} {
		c := expect.Must(Preset("quick", "code"))
		c.EvalTokens = sizes[:]
		bad := problemsOf(c)
		if want == "" && len(bad) > 0 || want != "" && (len(bad) != 1 || !strings.HasPrefix(bad[0], want)) {
			t.Errorf("%v: %q", sizes, bad)
		}
	}
	cases := map[string]bool{"0.5,-0.1": true, "0.5,0": false, "1e6": false, "2e6": true, "nan": true}
	for text, refused := range cases {
		c := expect.Must(Preset("quick", "code"))
		noise, _ := ByFlag("noise")
		f := noise.NewFlag()
		err := errors.Join(f.Set(text), noise.Store(&c, f))
		err = errors.Join(err, problemsOf(c).Err())
		expect.Equal(t, fmt.Sprintf("--noise %s: %v", text, err), err != nil, refused)
	}
	surrogate, _ := ByFlag("surrogate")
	for task, refused := range map[string]bool{"nmar": true, "masked": true, "lst": true, "fmri": false} {
		var c Config // of a config.json without the key masked
		c.Task = task
		expect.Equal(t, "--surrogate on task "+task, surrogate.Store(&c, surrogate.NewFlag()) != nil, refused)
	}
	// Earlier versions wrote tensorboard where it was off alone.
	for text, want := range map[string]bool{`{}`: true, `{"tensorboard":false}`: false} {
		if c, err := Parse([]byte(text)); err != nil || c.TensorBoard != want {
			t.Errorf("%s: %v, %v", text, c.TensorBoard, err)
		}
	}
}

// Runs of a sweep share their data where they differ in the model, the optimizer or the seed. The
// sequences that are held out depend on the encoding and its options, too.
func TestSharesData(t *testing.T) {
	for _, c := range []struct {
		preset string
		change func(*Config)
		want   bool
	}{
		{"quick", func(c *Config) { c.PE, c.Heads, c.Members[0].Seed = "rope", 2, 9 }, true},
		{"quick", func(c *Config) { c.PEOptions = map[string]string{"pe-placement": "input"} }, true},
		{"quick", func(c *Config) { c.DataSeed++ }, false},
		{"quick", func(c *Config) { c.LSTTrain = []string{"other.csv"} }, false},
		{"nmar", func(c *Config) { c.Masked.Level = .9 }, true},
		{"nmar", func(c *Config) { c.Masked.NMAR.Nodes++ }, false},
		{"sequence-quick", func(c *Config) { c.Members[0].LR = 1 }, true},
		{"sequence-quick", func(c *Config) { c.PE = "rope" }, false},
		{"sequence-quick", func(c *Config) { c.PEOptions = map[string]string{"max-position": "64"} }, false},
	} {
		a := expect.Must(Preset(c.preset, "code"))
		if a.Members == nil {
			a.Members = []Member{{}}
		}
		b := a.Clone()
		c.change(&b)
		if got, err := SharesData(a, b); got != c.want || err != nil {
			t.Errorf("%s, with a change: %v, %v; want %v", c.preset, got, err, c.want)
		}
	}
}
