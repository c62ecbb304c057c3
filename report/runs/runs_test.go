package runs_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/report/internal/synthetic"
	"torchpe/report/runs"
	"torchpe/train/runlog"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(dir,
		synthetic.Run{Name: "b/two", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{5, 6}},
		synthetic.Run{Name: "a", Task: "fmri", PE: "rope", Seeds: []int{1}},
	); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"unfinished/config.json":  `{"schema":1,"task":"lst"}`,
		"newer/config.json":       `{"schema":99}`,
		"not a run/config.json":   `{"name":"x"}`,
		"b/two/inner/config.json": `{"schema":1}`, // inside a run: not looked at
		// Of a sweep, what it is working on is passed over; a folder that is merely called so is
		// not.
		"swept/sweep.json":                   `{}`,
		"swept/tasks/000001/run/config.json": `{"schema":1,"task":"lst"}`,
		"tasks/x/config.json":                `{"schema":99}`,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	found, skipped, err := runs.Find(dir)
	if err != nil || len(found) != 2 || found[0].Name != "a" || found[1].Name != "b/two" {
		t.Fatalf("%v, %v", found, err)
	}
	if len(skipped) != 3 || !strings.Contains(skipped[0].Reason, "99") ||
		!strings.Contains(skipped[1].Reason, "99") ||
		!strings.Contains(skipped[2].Reason, runlog.ErrNoResult.Error()) {
		t.Errorf("skipped %+v", skipped)
	}
	models, diverged := runs.Models(found)
	if len(models) != 3 || diverged != 0 || models[0].Label() != "rope" ||
		models[2].Label() != "learn-0.2" || models[2].Member.Seed != 6 || models[0].Sigma() != -1 {
		t.Errorf("%+v, %d", models, diverged)
	}
	records, err := found[1].Records()
	if own := models[2].Records(records); err != nil || len(own) == 0 ||
		len(own) != len(records)/2 || own[0].Seed != 6 {
		t.Errorf("%d of %d records, %v", len(own), len(records), err)
	}
	if _, _, err := runs.Find(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	one, _, err := runs.Find(filepath.Join(dir, "a"))
	if err != nil || len(one) != 1 || one[0].Name != "a" {
		t.Errorf("a run itself: %v, %v", one, err)
	}
}

func TestProbes(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(dir,
		synthetic.Run{Name: "lst", Task: "lst", PE: "learn", Sigma: .5, Seeds: []int{1, 2}, Heads: 2},
		synthetic.Run{Name: "nmar", Task: "nmar", PE: "rope", Seeds: []int{1}},
	); err != nil {
		t.Fatal(err)
	}
	run, err := runs.Open(filepath.Join(dir, "lst"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.Probes()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Blocks(); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("blocks %v", got)
	}
	first, err1 := p.Table(0, 0)
	second, err2 := p.Table(1, 0)
	if err1 != nil || err2 != nil || first.Tokens != 16 || len(second.Values) != 16*first.Dim ||
		slices.Equal(first.Values, second.Values) {
		t.Errorf("tables %v, %v", err1, err2)
	}
	a, err := p.Attention(1)
	if err != nil || a.Heads != 2 || a.Tokens != 16 || len(a.Layers) != 4 || len(a.Layers[3]) != a.Examples*2*16*16 {
		t.Fatalf("attention %d examples, %d heads, %v", a.Examples, a.Heads, err)
	}
	sum := 0.0
	for _, v := range a.Layers[3][:16] {
		sum += v
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Errorf("a row of attention sums to %v", sum)
	}
	if _, err := p.Table(2, 0); err == nil || !strings.Contains(err.Error(), "members") {
		t.Errorf("member 2 of 2: %v", err)
	}
	if run, err = runs.Open(filepath.Join(dir, "nmar")); err != nil {
		t.Fatal(err)
	}
	if p, err = run.Probes(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Table(0, 0); !errors.Is(err, runs.ErrNoTable) || p.Blocks() != nil {
		t.Errorf("rope has a table: %v", err)
	}
	if a, err := p.Attention(0); err != nil || a.Examples != 1 || a.Tokens != 15 {
		t.Errorf("attention of %d examples, %v", a.Examples, err)
	}
	if modules, ok, err := p.Shared("modules"); !ok || err != nil || len(modules) != 15 || modules[14] != 2 {
		t.Errorf("modules %v, %v", modules, err)
	}
}

func TestBaseAndDifferences(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(dir,
		synthetic.Run{Name: "a", Task: "fmri", PE: "learn", Sigma: .1, Seeds: []int{1}},
		synthetic.Run{Name: "b", Task: "fmri", PE: "rope", Seeds: []int{2}, MaskLevel: .9, Heads: 2},
		synthetic.Run{Name: "c", Task: "nmar", PE: "rope", Seeds: []int{2}},
	); err != nil {
		t.Fatal(err)
	}
	found, _, err := runs.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var bases []string
	var settings []map[string]string
	for _, r := range found {
		base, err := r.Config.Base()
		if err != nil {
			t.Fatal(err)
		}
		own, err := r.Config.Settings()
		if err != nil {
			t.Fatal(err)
		}
		bases, settings = append(bases, base), append(settings, own)
	}
	if bases[0] != bases[1] || bases[1] == bases[2] {
		t.Errorf("bases %q", bases)
	}
	keys := runs.Differing(settings[:2])
	if want := []string{"heads", "masked.mask_level", "pe", "pe_options.pe-placement"}; !slices.Equal(keys, want) {
		t.Errorf("differences %v, want %v", keys, want)
	}
	if settings[0]["masked.mask_level"] != "0.5" || settings[1]["masked.mask_level"] != "0.9" ||
		settings[0]["pe_options.pe-placement"] != "block" {
		t.Errorf("%v", settings)
	}
	if !runs.IsIncidental("device") || runs.IsIncidental("heads") {
		t.Error("the device changes no model, the number of heads does")
	}
}

func TestLabel(t *testing.T) {
	for sigma, want := range map[float64]string{.2: "learn-0.2", 1: "learn-1.0", .05: "learn-0.05",
		10: "learn-10.0", 0: "learn-0.0"} {
		if got := runs.Label("learn", &sigma); got != want {
			t.Errorf("%g: %s, want %s", sigma, got, want)
		}
	}
	if got := runs.Label("rope", nil); got != "rope" {
		t.Error(got)
	}
}
