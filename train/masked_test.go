package train

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/masked"
	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// tinyMasked is a small run of masked prediction on the network simulation.
func tinyMasked(t testing.TB, scheme string) Config {
	t.Helper()
	c := expect.Must(Preset("nmar", "code"))
	c.PE, c.Layers, c.DModel, c.Batch, c.Steps, c.LogEvery, c.Threads, c.Device = scheme, 2, 16, 32, 40, 15, 1, "cpu"
	c.Masked.NMAR.Frames, c.Masked.TestFrames = 1000, 50
	c.Members, c.Dropout = twoMembers(), 0.1
	return c
}

// Masked tokens are listed sample by sample for all members, or not at all where a sample has more
// or fewer than the others.
func TestMaskedTokens(t *testing.T) {
	mask := func(text string) (m []bool) {
		for _, c := range strings.ReplaceAll(text, " ", "") {
			m = append(m, c == 'x')
		}
		return m
	}
	for text, want := range map[string][]int64{
		"x.x. ..xx  .xx. xx..": {0, 2, 2, 3, 1, 2, 0, 1},
		"...x x...  .x.. ..x.": {3, 0, 1, 2},
		"xxxx xxxx  xxxx xxxx": {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3},
		"x.x. ..xx  .xx. xxx.": nil,
		"x.x. ..x.  .xx. xx..": nil,
		".... ....  .... ....": nil,
	} {
		if have := maskedTokens(mask(text), 2, 4); !slices.Equal(have, want) || (have == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", text, have, want)
		}
	}
}

// Every scheme that needs no grid trains, stops in the middle of an interval and goes on to the same
// bits. Those that need one say so.
func TestMaskedRunsResume(t *testing.T) {
	needsGrid := 0
	for _, name := range pe.Names() {
		c := tinyMasked(t, name)
		c.Steps, c.LogEvery, c.Masked.NMAR.Frames, c.TensorBoard = 12, 5, 300, false
		whole := filepath.Join(t.TempDir(), "run")
		if _, err := Run(t.Context(), c, whole, Options{}); err != nil {
			if needsGrid++; !strings.Contains(err.Error(), "lst has a grid") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		resumesTo(t, c, whole, 7)
	}
	if most := len(pe.Names()) / 3; needsGrid == 0 || needsGrid > most {
		t.Errorf("%d encodings need a grid, want some, and at most %d", needsGrid, most)
	}
}

// A model that answers 0 whatever it sees has the error of the baseline that does, over each
// level's own masks.
func TestMaskedErrorOfAZeroModel(t *testing.T) {
	for _, draw := range []string{config.ExactMask, config.BernoulliMask} {
		c := tinyMasked(t, "nope")
		c.Masked.Draw, c.DType = draw, "float64"
		expect.NoError(t, c.Resolve())
		task := expect.Must(newMaskedTask(c))
		table := task.table // its values are let go of once they are on the device
		e := expect.Must(newEnsemble(c, task))
		defer e.close()
		constantModel(t, e, []float64{0})
		for _, set := range task.tests {
			got := expect.Must(task.testMSE(e, set))
			for m, v := range got {
				expect.Near(t, fmt.Sprintf("%s, level %s, member %d", draw, set.key(), m), v, set.baselines.Zero,
					1e-12)
			}
			ofOne := expect.Must(task.subjectMSE(e, set, make([]int, len(task.split.Test))))
			for m, v := range ofOne { // float32
				expect.Near(t, fmt.Sprintf("%s, level %s, member %d: one subject", draw, set.key(), m), float64(v),
					set.baselines.Zero, 1e-6*set.baselines.Zero)
			}
		}
		// The training loss of that model is the mean square of the masked values of the step's own
		// frames.
		atStep(t, e, 3, task.inputs(e, 3), func(_ *torchpe.Scope, loss stepLoss) {
			for m, v := range loss.each.Float64s() {
				masks := make([]bool, c.Batch*15)
				task.train.Draw(masked.Source{Seed: e.seeds[m], Stream: "train", Step: 3}, 15, masks)
				sum, n := 0.0, 0.0
				for i, place := range task.order[m].Frames(3) {
					for j, x := range table.Row(task.split.Train[place]) {
						if masks[i*15+j] {
							sum, n = sum+float64(x)*float64(x), n+1
						}
					}
				}
				expect.Near(t, fmt.Sprint("training loss of member ", m, ", ", draw), v, sum/n, 1e-12)
			}
		})
	}
}

// All that is wrong with the settings of masked prediction is said at once.
func TestMaskedConfigErrors(t *testing.T) {
	c := tinyMasked(t, "learn")
	c.Steps = 0
	c.Masked.Level, c.Masked.Draw, c.Masked.Token, c.Masked.Distance = 1, "exct", "none", "l2"
	c.Masked.TestLevels, c.Masked.TestShare, c.Masked.NMAR.Nodes = []float64{0.5, 0.5, 0.123}, 0, 1
	err := c.Resolve()
	expect.Error(t, err, "--steps", "--mask-level: 1", `--mask-draw: "exct"`,
		`did you mean "exact"?`, "--mask-token", "--pe-distance", "--test-levels: 0.5 is",
		"--test-levels: 0.123", "--test-share: 0", "nodes 1")
	c, _ = Preset("quick", "code")
	c.Task = "nmar"
	expect.Error(t, c.Resolve(), "--preset nmar")
}
