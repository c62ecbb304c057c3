package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
)

// SplitLabel takes apart what Label puts together; a dash in a name is no sign of a number.
func TestSplitLabel(t *testing.T) {
	for _, sigma := range []float64{0.1, 0.2, 1, 2, 1e-9, 1234.5} {
		label := Label("rope+learn", &sigma)
		if pe, s, ok := SplitLabel(label); pe != "rope+learn" || s != sigma || !ok {
			t.Errorf("%s is %s, %g, %v", label, pe, s, ok)
		}
	}
	for _, label := range []string{"nope", "2d-fixed", "c-nope", "-1", "learn-", "learn-02", "nope@1,learn@2-4", ""} {
		if pe, _, ok := SplitLabel(label); pe != label || ok {
			t.Errorf("%s was taken apart", label)
		}
	}
}

// Flags that were given have one value for all members or one a member; the others stay.
func TestNewMembers(t *testing.T) {
	given := map[string][]float64{"lr": {0.1, 0.2}, "sigma": {3}}
	got, err := NewMembers([]Member{{WeightDecay: 7, LR: 5}}, []uint64{4, 2}, given)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for i, want := range []Member{{Seed: 4, LR: 0.1}, {Seed: 2, LR: 0.2}} {
		if m := got[i]; m.Seed != want.Seed || m.LR != want.LR || *m.Sigma != 3 || m.WeightDecay != 7 || m.PELR != nil {
			t.Errorf("member %d: %+v", i, m)
		}
	}
	own := .5
	for flag, want := range map[string]float64{"pe-lr": .5, "pe-weight-decay": 7} {
		s, _ := ByFlag(flag)
		if got := s.Of(Member{LR: 5, WeightDecay: 7, PELR: &own}); got == nil || *got != want {
			t.Errorf("--%s: %v, want %g", flag, got, want)
		}
	}
	expect.Error(t, expect.ErrorOf(NewMembers([]Member{{}}, []uint64{1, 2, 3}, given)), "--lr: 2 values for 3 members")
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{"3, 9223372036854775807": {3, 1<<63 - 1}, "paper": paper.Seeds(),
		"1:3": {1, 2, 3}, "1..3,1": {1, 2, 3, 1}, "1:7:3": {1, 4, 7}} {
		expect.Equal(t, text, fmt.Sprint(ParseSeeds(text)), fmt.Sprint(want, nil))
	}
	for _, bad := range []string{"paper,1", "-1", "1.5", "", "3:1", "1:2:0", "1:2:3:4"} {
		expect.Refused(t, bad, expect.ErrorOf(ParseSeeds(bad)))
	}
}

// A run goes on with other threads, but not with another model.
func TestCheckResumed(t *testing.T) {
	stored := expect.Must(Preset("quick", "code"))
	now := stored.Clone()
	now.Threads++
	expect.NoError(t, CheckResumed(stored, now, "f", nil))
	now.Layers = stored.Layers + 1
	if err := CheckResumed(stored, now, "f", nil); err == nil || !strings.Contains(err.Error(), "layers was ") ||
		strings.Contains(err.Error(), "threads") {
		t.Error(err)
	}
	expect.NoError(t, CheckResumed(stored, now, "f", []string{"layers"}))
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "result.json"), nil, 0o666))
	expect.Error(t, CheckResumed(stored, now, filepath.Join(dir, "config.json"), []string{"layers"}),
		"layers was 4 and would be 5\nit is finished", "--from "+dir+" --take all")
	stored.Members = []Member{{LR: 1, Seed: 2}, {LR: 1, Seed: 3}}
	now = stored.Clone()
	now.Members[1].LR = 4
	if err := CheckResumed(stored, now, "f", nil); err == nil ||
		!strings.Contains(err.Error(), "members.lr was 1, 1 and would be 1, 4\n") ||
		strings.Contains(err.Error(), "seed") {
		t.Error(err)
	}
}
