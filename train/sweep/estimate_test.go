package sweep

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/config"
)

// The hours of a shape are steps x milliseconds x members of its tasks, done ones left out; those of
// the plan are shared by the workers. Length and encoding change no step, layers do.
func TestEstimate(t *testing.T) {
	var configs [][]byte
	for _, c := range []struct {
		layers, epochs int
	}{{1, 2}, {1, 3}, {2, 5}} {
		base := expect.Must(config.Preset("quick", "code"))
		base.PE, base.Layers, base.Epochs, base.LogEvery = "nope", c.layers, c.epochs, 2
		base.Members = []config.Member{{Seed: 1, LR: 1}, {Seed: 2, LR: 1}}
		configs = append(configs, expect.Must(json.Marshal(base)))
	}
	var p Plan
	expect.Must(p.Add(configs, Packing{Members: 1}, nil))
	// Task 1, a seed of the first configuration, is done.
	st := Status{Runs: 2, DoneRuns: 1, Tasks: []TaskStatus{{}, {Done: &Done{}}}}
	e, err := p.Estimate(st)
	if err != nil || e.Runs != 6 || e.Tasks != 6 || e.New != 4 || e.Done != 1 || len(e.Shapes) != 2 {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Workers = 2
	expect.NoError(t, e.Calibrate(&p, func(c config.Config, _ string) (StepTime, error) {
		return StepTime{Device: "x", MemberMS: 36 * float64(c.Layers), StepsPerEpoch: 100, RecordMS: 360}, nil
	}))
	// 100 steps of 36 ms are a thousandth of an hour: 2 + 3 + 3 epochs, and 5 + 5 of twice the time.
	// A measurement takes a tenth of that: 1 + 2 + 2 and 3 + 3 of them.
	one, two := 8e-3+5e-4, 20e-3+6e-4
	if s := e.Shapes; math.Abs(s[0].Hours-one) > 1e-12 || math.Abs(s[1].Hours-two) > 1e-12 ||
		math.Abs(e.Hours-(one+two)/2) > 1e-12 || s[0].Runs != 3 || s[1].StepMS != 72 || e.Device != "x" ||
		math.Abs(e.RecordHours-11e-4/2) > 1e-12 || !slices.Equal(e.Steps, []int{200, 300, 500}) {
		t.Errorf("%+v", e)
	}
	size, larger := sizeOf(expect.Must(readConfig(configs[0]))), sizeOf(expect.Must(readConfig(configs[2])))
	expect.Near(t, "MB", e.DiskMB, 3*size.DiskMB+2*larger.DiskMB, 1e-9)
}

// The mask level, a key within another, makes no step of another kind; the number of nodes does.
func TestShapesOfMaskLevels(t *testing.T) {
	var configs [][]byte
	for _, c := range []struct {
		level float64
		nodes int
	}{{0.5, 15}, {0.15, 15}, {0.9, 15}, {0.5, 30}} {
		base := expect.Must(config.Preset("nmar", "code"))
		base.PE, base.Masked.Level, base.Masked.NMAR.Nodes = "nope", c.level, c.nodes
		base.Members = []config.Member{{Seed: 1, LR: 1}}
		configs = append(configs, expect.Must(json.Marshal(base)))
	}
	var p Plan
	expect.Must(p.Add(configs, Packing{Members: 1}, nil))
	e, err := p.Estimate(Status{})
	if err != nil || len(e.Shapes) != 2 || e.Shapes[0].Runs != 3 || e.Shapes[1].Runs != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

// A folder that is not there yet has the space of the one that it will be in.
func TestFreeMB(t *testing.T) {
	dir := t.TempDir()
	if a, b := FreeMB(dir), FreeMB(dir+"/x/y"); a <= 0 || math.Abs(a-b) > 0.01*a {
		t.Errorf("%g and %g MB", a, b)
	}
}
