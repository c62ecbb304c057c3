package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

func TestConfigRoundTrip(t *testing.T) {
	c := expect.Must(Preset("lst", "text"))
	expect.NoError(t, c.Resolve())
	text := expect.Must(c.JSON())
	back := expect.Must(ParseConfig(text))
	expect.Equal(t, "read back", back, c)
	again := back
	expect.NoError(t, again.Resolve())
	expect.Equal(t, "resolving twice", again, c)
}

// Settings that mean the same are stored as the same text.
func TestNumbersAsTyped(t *testing.T) {
	c := expect.Must(Preset("nmar", "code"))
	c.PE, c.PEOptions = "learn+rope", map[string]string{"rope-base": "1e4"}
	c.Until, c.PEInit = "test_mse/.5=1e-1", "low-rank:04"
	expect.NoError(t, c.Resolve())
	expect.Equal(t, "resolved", []string{c.PEOptions["rope-base"], c.Until, c.PEInit},
		[]string{"10000", "test_mse/0.50=0.1", "low-rank:4"})
}

// Configurations of all presets, and of released runs, are as docs/settings.schema.json says, and an
// unknown key is not.
func TestConfigSchema(t *testing.T) {
	text := expect.Must(os.ReadFile("../docs/settings.schema.json"))
	var schema jsonschema.Schema
	expect.NoError(t, json.Unmarshal(text, &schema))
	resolved := expect.Must(schema.Resolve(nil))
	texts := map[string][]byte{}
	released, _ := filepath.Glob("../cmd/torchpe/testdata/released/*/config.json") // a valid pattern
	for _, path := range released {
		texts[path] = expect.Must(os.ReadFile(path))
	}
	if len(texts) == 0 {
		t.Error("no released configurations")
	}
	for _, name := range config.Presets() {
		c := expect.Must(Preset(name, "code"))
		texts[name] = expect.Must(c.JSON())
	}
	for name, text := range texts {
		var value map[string]any
		expect.NoError(t, json.Unmarshal(text, &value))
		expect.Equal(t, name, resolved.Validate(value), nil)
		value["no_setting"] = 1
		if resolved.Validate(value) == nil {
			t.Errorf("%s: an unknown key is taken", name)
		}
	}
}

// The readings differ in what DESIGN's table of differences lists, and in nothing else.
func TestReadings(t *testing.T) {
	for scheme, want := range map[string]map[string][2]string{ // option: code, text
		"learn": {"pe-placement": {"block", "input"}},
		"1d-fixed": {"pe-placement": {"block", "input"}, "positions-from": {"0", "1"},
			"fixed-pe-dropout": {"0.1", "0"}},
		"2d-fixed": {"pe-placement": {"block", "input"}, "positions-from": {"0", "1"},
			"fixed-pe-dropout": {"0.1", "0"}, "grid-order": {"columns-first", "rows-first"}},
		"relative": {"relative": {"skew", "shaw"}, "attention-init": {"linear", "xavier"}},
		"random":   {"pe-placement": {"block", "input"}, "random": {"frozen", "ruoss"}},
		"rope": {"positions-from": {"0", "1"}, "attention-bias": {"false", "true"},
			"attention-init": {"linear", "xavier"}},
		"c-nope": {"c-nope-temperature": {"0.01", "1"}, "attention-bias": {"false", "true"},
			"attention-init": {"linear", "xavier"}},
		"nope": {},
	} {
		var read [2]Config
		for i, fidelity := range []string{"code", "text"} {
			c := expect.Must(Preset("lst", fidelity))
			c.PE = scheme
			expect.NoError(t, c.Resolve())
			read[i] = c
		}
		if a, b := read[0], read[1]; a.TokenInput != "one-hot" || b.TokenInput != "embedding" ||
			a.ReadOut != "last" || b.ReadOut != "probe" {
			t.Errorf("%s: token input %s/%s, read-out %s/%s", scheme, a.TokenInput, b.TokenInput,
				a.ReadOut, b.ReadOut)
		}
		differ := map[string][2]string{}
		for option, v := range read[0].PEOptions {
			if w := read[1].PEOptions[option]; w != v {
				differ[option] = [2]string{v, w}
			}
		}
		expect.Equal(t, fmt.Sprintf("%s: options differ in", scheme), differ, want)
	}
}

// Every mistake is reported, and all at once.
func TestMistakesAreListed(t *testing.T) {
	sigma := math.NaN()
	c, _ := Preset("lst", "code")
	c.PE, c.DModel, c.Heads, c.Batch, c.Epochs, c.Dropout = "lern", 10, 3, 0, -5, 1
	c.Optimizer, c.Schedule, c.DType, c.ReadOut, c.LogEvery, c.LSTTrain = "adm", "cosin", "float16",
		"first", -1, []string{"x"}
	c.Members = []Member{{Sigma: &sigma, LR: math.Inf(1), WeightDecay: -1}}
	err := c.Resolve()
	expect.Error(t, err,
		`did you mean "learn"`, "d-model", "--batch", "--epochs", "--dropout",
		`did you mean "adam"`, `did you mean "cosine"`, "float16", "--read-out",
		"--log-every", "--lst-validation", "--sigma", "--lr", "--weight-decay")
}

// TestSettingsNameWhatTorchpeKnows compares the values in the table of settings with those that
// optimizers, devices and encodings take: package config imports none of them.
func TestSettingsNameWhatTorchpeKnows(t *testing.T) {
	for flag, want := range map[string][]string{
		"optimizer": torchpe.Methods(),
		"dtype":     {torchpe.Float32.String(), torchpe.Float64.String()},
		"precision": append([]string{"auto"}, torchpe.Precisions()...),
		"attention": append([]string{"auto"}, torchpe.AttentionForms()...),
	} {
		s, _ := config.ByFlag(flag)
		expect.Equal(t, fmt.Sprintf("--%s", flag), s.OneOf, want)
	}
	s, _ := config.ByFlag("pe-init")
	expect.Contains(t, s.Help, pe.InitForms)
}

// What another task left in a config.json has no effect.
func TestLeftOvers(t *testing.T) {
	puzzles, same := tiny(t, "learn"), tiny(t, "learn")
	puzzles.Epochs, same.Epochs, puzzles.Steps = 400, 400, 5000
	puzzles.LogEvery, same.LogEvery = 0, 0
	expect.NoError(t, puzzles.Resolve())
	expect.NoError(t, same.Resolve())
	expect.Equal(t, "steps and log_every", [2]int{puzzles.Steps, puzzles.LogEvery}, [2]int{0, same.LogEvery})

	c := tinyText(t, "rope")
	c.Task, c.Sequence.Name, c.Sequence.Form, c.Sequence.TestLengths = "sequence", "parity-check", "encoder", 5
	c.Members[0].Sigma, c.Members[1].Sigma = nil, nil
	expect.NoError(t, c.Resolve())
	trained, longer := c.Sequence.Lengths()
	expect.Equal(t, "files of text, and measured lengths", [3]int{len(c.Sequence.Text), len(trained), len(longer)},
		[3]int{0, 6, 5})
}

// A criterion that no record before the last can meet, and a limit that ends nothing, are noted.
func TestNotesOnLength(t *testing.T) {
	for flag, change := range map[string]func(*Config){
		"":                                    func(*Config) {},
		"--until train=0.99 ends no training": func(c *Config) { c.Until, c.LogEvery = "train=0.99", 1000 },
		"--limit-steps 1000000 has no effect": func(c *Config) { c.LimitSteps = 1_000_000 },
	} {
		c := tiny(t, "learn")
		change(&c)
		e := started(t, c)
		notes := strings.Join(e.config.notes(e.task), "\n")
		if flag == "" && notes != "" || !strings.Contains(notes, flag) {
			t.Errorf("%q: %q", flag, notes)
		}
	}
}

// An option that an encoding got later is in a configuration only where it is not at its default:
// runs and sweeps from before stay what they were.
func TestLaterOptions(t *testing.T) {
	for _, name := range pe.Names() {
		scheme := expect.Must(pe.Find(name))
		for _, fidelity := range []string{"text", "code"} {
			all := expect.Must(scheme.Resolve(fidelity, nil))
			again, err := scheme.Resolve(fidelity, scheme.Stored(fidelity, all))
			if err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("%s, %s: %v, %v, want %v", name, fidelity, err, again, all)
			}
		}
	}
	c := tiny(t, "rope")
	c.Members[0].Sigma, c.Members[1].Sigma = nil, nil
	for _, given := range []string{"", "0.5", "1"} {
		c.PEOptions = nil
		if given != "" {
			c.PEOptions = pe.Options{"rope-proportion": given}
		}
		expect.NoError(t, c.Resolve())
		expect.Equal(t, fmt.Sprintf("given %q, stored", given),
			c.PEOptions["rope-proportion"], strings.TrimSuffix(given, "1"))
		expect.Equal(t, c.PEOptions, c.PEOptions["rope-dims"], "all")
	}
}
