package cohort_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/config"
)

// Two models differ where any setting that changes results does, whichever part of the configuration
// it is in. Settings that change nothing, and the seed, tell no models apart.
func TestEverySettingSplits(t *testing.T) {
	// modelWith returns a model whose configuration has a value at a key.
	modelWith := func(key, value string) cohort.Model {
		m := cohort.Model{Run: &cohort.Run{}}
		text := value
		parts := strings.Split(key, ".")
		for i := len(parts) - 1; i >= 0; i-- {
			text = fmt.Sprintf(`{%q:%s}`, parts[i], text)
		}
		m.Run.Config.JSON = json.RawMessage(text)
		if parts[0] == "members" {
			m.Run.Config.JSON = json.RawMessage("{}")
			if err := json.Unmarshal(fmt.Appendf(nil, `{%q:%s}`, parts[1], value), &m.Member); err != nil {
				t.Fatal(key, err)
			}
		}
		return m
	}
	keys := 0
	for _, s := range config.Settings() {
		if s.Key == "members" {
			continue // its parts have rows
		}
		groups, err := cohort.Groups([]cohort.Model{modelWith(s.Key, "1"), modelWith(s.Key, "2")})
		if err != nil {
			t.Fatal(s.Key, err)
		}
		want := 2
		if s.Effect == config.Nothing || s.Effect == config.Measures || s.Key == "members.seed" {
			want = 1
		}
		if len(groups) != want {
			t.Errorf("%s: %d groups, want %d", s.Key, len(groups), want)
		}
		keys++
		groups, err = cohort.GroupsOfAnyLength([]cohort.Model{modelWith(s.Key, "1"), modelWith(s.Key, "2")})
		if err != nil ||
			len(groups) != want && !cohort.IsLength(s.Key) {
			t.Errorf("%s: %d groups of any length, want %d (%v)", s.Key, len(groups), want, err)
		}
	}
	for _, key := range []string{"members.lr", "members.pe_lr", "members.pe_weight_decay", "members.sigma",
		"members.weight_decay", "removed.of_an_older_version"} {
		groups, err := cohort.Groups([]cohort.Model{modelWith(key, "1"), modelWith(key, "2")})
		if err != nil || len(groups) != 2 {
			t.Errorf("%s: %d groups, want 2 (%v)", key, len(groups), err)
		}
	}
	if keys < 60 {
		t.Errorf("the table has %d settings; it had 60 and more", keys)
	}
}

func TestDifference(t *testing.T) {
	for want, of := range map[string][2]string{
		"lr 0.001": {"members.lr", "0.001"}, "until none": {"until", ""}, "pe_lr shared": {"members.pe_lr", ""},
		"data 1a0dc7ef": {cohort.DataKey, "1a0dc7efbb"}, "data unknown": {cohort.DataKey, ""},
		"positions bdcef564": {"positions.sha256", "bdcef564711d"}, "imported": {cohort.WeightsKey, "imported"},
	} {
		if got := cohort.Difference(of[0], of[1]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Models of other data, imported ones, and those whose settings changed in training are groups of
// their own, which the label says; a copy and a longer training at a constant rate are not.
func TestGroupsByOrigin(t *testing.T) {
	run := func(name string, seed int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "lst", PE: "rope", Seeds: []int{seed}, Data: "aaaaaaaaaaaa"}
	}
	imported, other, unknown, changed, longer := run("imported", 1), run("other", 2), run("unknown", 3),
		run("changed", 4), run("longer", 5)
	edited := run("edited", 6)
	edited.Checkpoint = `{"heads":7,"epochs":1,"device":"cuda:9","new":1}`
	imported.Changed = []string{"weights imported from x/weights.safetensors, whose SHA-256 is 00"}
	other.Data, unknown.Data = "bbbbbbbbbbbb", ""
	changed.Changed = []string{"members.lr was 0.1 and is 0.2 after step 64"}
	longer.Changed = []string{"epochs was 6 and is 12 after step 64", `device was "cpu" and is "cuda:0"`}
	dir := synthetic.Dir(t, run("one", 1), run("copy of one", 1), longer, imported, other, unknown,
		changed, edited)
	found, skipped, err := cohort.Find(dir)
	if err != nil || skipped != nil {
		t.Fatal(skipped, err)
	}
	read, err := cohort.Read(dir, func(*cohort.Run) bool { return true })
	want := []string{"how models were trained in PyTorch is not known: imported, seed 1, imported from PyTorch " +
		"after 12 epochs"}
	if err != nil || !slices.Equal(read.Notes, want) {
		t.Errorf("%q, %v, want %q", read.Notes, err, want)
	}
	models, _ := cohort.Models(found)
	models, notes, err := cohort.Distinct(models)
	if err != nil || fmt.Sprint(notes) != "[counted once: 1 model with the settings, data and seed of another; "+
		"for 1 of them the numbers differ (another build or device?), and the first counts]" {
		t.Errorf("%q, %v", notes, err)
	}
	groups := expect.Must(cohort.Groups(models))
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%s: %d", g.Label, len(g.Models)))
	}
	want = []string{"rope, data aaaaaaaa: 2",
		"rope, data aaaaaaaa, config.json was edited: heads: 1", "rope, data aaaaaaaa, imported: 1",
		"rope, data aaaaaaaa, members.lr was 0.1 and is 0.2 after step 64: 1",
		"rope, data bbbbbbbb: 1", "rope, data unknown: 1"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Encodings that differ in more than the encoding are named with what they differ in, unless all labels say it
// or the caller leaves it out; their own settings and σ are no difference.
func TestNoteUnlike(t *testing.T) {
	group := func(label, pe string, rate float64, sigma *float64, settings string) cohort.Group {
		m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{LR: rate, Sigma: sigma, PELR: sigma}}
		m.Run.Config.PE = pe
		m.Run.Config.JSON = fmt.Appendf(nil, `{"pe":%q,"pe_options":{"own-%s":"1"}%s}`, pe, pe, settings)
		return cohort.Group{Label: label, Models: []cohort.Model{m}}
	}
	sigma := .2
	learn := group("learn-0.2", "learn", .1, &sigma, "")
	for name, c := range map[string]struct {
		groups  []cohort.Group
		ignored []string
		want    string
	}{
		"alike": {[]cohort.Group{learn, group("rope", "rope", .1, nil, "")}, nil, "[]"},
		"rates": {[]cohort.Group{learn, group("rope", "rope", .3, nil, "")}, nil,
			"lr 0.1 (learn-0.2), lr 0.3 (rope)]"},
		"said": {[]cohort.Group{group("a, lr 0.1", "a", .1, nil, ""), group("b, lr 0.3", "b", .3, nil, "")}, nil,
			"[]"},
		"longer": {[]cohort.Group{learn, group("rope", "rope", .1, nil, `,"steps":9`)}, nil,
			"steps 9 (rope), steps none"},
		"left out": {[]cohort.Group{learn, group("rope", "rope", .1, nil, `,"steps":9`)}, cohort.LengthKeys, "[]"},
	} {
		f := &cohort.Found{}
		expect.NoError(t, f.NoteUnlike(c.groups, c.ignored...))
		if got := fmt.Sprint(f.Notes); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
