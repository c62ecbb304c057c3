package advise

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/train"
	"torchpe/train/runlog"
)

// small returns a candidate that trains in a second.
func small(t *testing.T, name, pe string) Candidate {
	t.Helper()
	c, err := train.Preset("nmar", "code")
	if err != nil {
		t.Fatal(err)
	}
	c.PE, c.Steps, c.LogEvery, c.Batch, c.Layers, c.DModel, c.Threads = pe, 30, 30, 8, 1, 8, 1
	c.Masked.NMAR.Frames = 200
	c.Members[0].LR = 1e-2
	c.Members = append(c.Members, c.Members[0])
	c.Members[1].Seed++
	if err := c.Resolve(); err != nil {
		t.Fatal(err)
	}
	return Candidate{Name: name, Config: c}
}

// watching ends a context after so many trainings.
type watching struct {
	left  int
	stop  context.CancelFunc
	ended int
}

func (w *watching) watch(Candidate) Watch {
	if w.left--; w.left == 0 {
		w.stop()
	}
	return Watch{Observer: silent{}, Ended: func(int, []float64, time.Duration) { w.ended++ }}
}

type silent struct{}

func (silent) Started(int, int)       {}
func (silent) Stepped(int)            {}
func (silent) Logged([]runlog.Record) {}
func (silent) Noticed(string)         {}

// A study that is stopped goes on to what one gives that was left alone, and its errors are those of
// runs that were never stopped.
func TestStudy(t *testing.T) {
	candidates := func() []Candidate {
		return []Candidate{small(t, "none", "nope"), small(t, "sines", "1d-fixed"), small(t, "random", "random")}
	}
	var advice [2]Advice
	for i := range advice {
		s, err := NewStudy(t.TempDir(), candidates())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		w := &watching{left: 3 * i, stop: stop} // the second study is stopped in its third training
		advice[i], err = s.Run(ctx, w.watch)
		if i == 1 {
			var stopped *train.Interrupted
			if !errors.As(err, &stopped) || w.ended != 2 {
				t.Fatalf("stopped: %v after %d trainings", err, w.ended)
			}
			w.left = -1
			advice[i], err = s.Run(t.Context(), w.watch)
		}
		if err != nil || w.ended != 11 { // three at each stage, two to the end
			t.Fatalf("%v after %d trainings", err, w.ended)
		}
		best := s.Candidates[advice[i].Best]
		result, err := train.Run(t.Context(), best.Config, filepath.Join(t.TempDir(), "alone"), train.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(advice[i].Standings, func(s Standing) bool { return s.Candidate == advice[i].Best })
		for m, r := range result.Members {
			if got, want := advice[i].Standings[at].Errors[m], r.TestMSEByMask["0.50"]; got != want {
				t.Errorf("member %d: error %g, trained alone %g", m, got, want)
			}
		}
	}
	if !reflect.DeepEqual(advice[0], advice[1]) {
		t.Errorf("left alone:\n%+v\nstopped:\n%+v", advice[0], advice[1])
	}
}

func TestStudyRefuses(t *testing.T) {
	longer, none := small(t, "longer", "rope"), small(t, "none", "nope")
	longer.Config.Steps *= 2
	short := []Candidate{small(t, "none", "nope"), small(t, "a", "rope"), small(t, "b", "random")}
	for i := range short {
		short[i].Config.Steps = 9
	}
	for want, candidates := range map[string][]Candidate{
		"no candidate is nope":  {small(t, "a", "rope")},
		"only candidate":        {none},
		"after the same length": {none, longer},
		"path separator":        {none, small(t, "../a", "rope")},
		"too short to choose":   short,
	} {
		if _, err := NewStudy(t.TempDir(), candidates); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
