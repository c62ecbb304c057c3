package train

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// NoiseOptions say what Noise measures; fields left at zero are as in the run, or the default.
type NoiseOptions struct {
	Amplitudes []float64 // standard deviations of the noise
	Repeats    int
	Device     string
}

// NoiseReport holds the accuracies of a run's members on validation puzzles with noise.
type NoiseReport struct {
	Step       int           `json:"step"` // of the checkpoint
	Puzzles    int           `json:"puzzles"`
	Amplitudes []float64     `json:"amplitudes"` // [A]
	Repeats    int           `json:"repeats"`
	Members    []NoiseMember `json:"members"`
	Warning    string        `json:"warning,omitempty"` // about a damaged checkpoint
}

// NoiseMember is one member of a NoiseReport.
type NoiseMember struct {
	PE                 string       `json:"pe"`
	Sigma              *float64     `json:"sigma"` // null where the scheme has none
	Seed               uint64       `json:"seed"`
	DivergedAtStep     int          `json:"diverged_at_step,omitempty"` // its last checkpoint is measured
	ValidationAccuracy float64      `json:"validation_accuracy"`        // without noise
	Noise              []NoiseLevel `json:"noise"`                      // [A]
}

// NoiseLevel is a member's accuracy at one amplitude.
type NoiseLevel struct {
	Amplitude float64   `json:"amplitude"`
	Mean      float64   `json:"mean"`
	SD        *float64  `json:"sd"`       // over repeats, with R-1; null for one repeat
	Accuracy  []float64 `json:"accuracy"` // [R]
}

// Noise measures a run of task lst, finished or not, from its newest checkpoint, as a run is
// measured at its end. It writes nothing.
func Noise(dir string, o NoiseOptions) (NoiseReport, error) {
	c, checkpoint, err := readRun(dir)
	if err != nil {
		return NoiseReport{}, err
	}
	report, err := measureNoise(c, checkpoint, o)
	if err != nil {
		return NoiseReport{}, fmt.Errorf("%s: %w", dir, err)
	}
	return report, nil
}

func measureNoise(c Config, checkpoint *runlog.Checkpoint, o NoiseOptions) (NoiseReport, error) {
	if !c.HasPuzzles() {
		return NoiseReport{}, &ConfigError{
			fmt.Errorf("task %s has no puzzles to answer with noise; task lst has", c.Task)}
	}
	if err := o.applyTo(&c); err != nil {
		return NoiseReport{}, err
	}
	splits, err := load(c)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: the run was trained on this file; put it back, or run this where the "+
			"paths in config.json lead to it", err)
	}
	if err != nil {
		return NoiseReport{}, err
	}
	done, err := c.onDevice()
	if err != nil {
		return NoiseReport{}, fmt.Errorf("%w; --device cpu measures it anywhere", err)
	}
	defer done()
	torchpe.SetThreads(max(1, c.Threads))
	task, err := newLSTTask(c, splits)
	if err != nil {
		return NoiseReport{}, err
	}
	e, err := newEnsemble(c, task)
	if err != nil {
		return NoiseReport{}, err
	}
	defer e.close()
	state, err := e.load(checkpoint)
	if err != nil {
		return NoiseReport{}, err
	}
	report, err := task.noiseReport(e, state)
	report.Warning = checkpoint.Warning
	return report, err
}

// readRun returns the configuration of a run, resolved, and its newest checkpoint; both must be of one
// configuration. Its attention is one that this version computes.
func readRun(dir string) (Config, *runlog.Checkpoint, error) {
	r, err := runlog.Open(dir)
	if err != nil {
		return Config{}, nil, err
	}
	defer r.Close()
	c, err := ParseConfig(r.Config().JSON)
	if err == nil {
		err = c.resolveStored()
	}
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w", dir, err)
	}
	if _, err = r.Result(); err != nil && !errors.Is(err, runlog.ErrNoResult) {
		return c, nil, err
	}
	unfinished := err != nil
	checkpoint, err := r.LoadCheckpoint()
	if err == nil && unfinished {
		if _, err = changedSettings(checkpoint, c, nil); err != nil {
			err = fmt.Errorf("%s: %w", dir, err)
		}
	}
	c.replaceGoneForm()
	return c, checkpoint, err
}

// applyTo replaces settings of a run's configuration by the options, and checks it.
func (o NoiseOptions) applyTo(c *Config) error {
	if len(o.Amplitudes) > 0 {
		c.Noise = o.Amplitudes
	} else if len(c.Noise) == 0 {
		d, err := Preset("lst", c.Fidelity)
		if err != nil {
			return err
		}
		c.Noise = d.Noise
	}
	if o.Repeats != 0 {
		c.NoiseRepeats = o.Repeats
	}
	if o.Device != "" {
		c.Device = o.Device
	}
	return c.Resolve()
}

// noiseReport measures the present ensemble.
func (t *lstTask) noiseReport(e *ensemble, st state) (NoiseReport, error) {
	report := NoiseReport{
		Step: st.step, Puzzles: t.validation.n,
		Amplitudes: t.config.Noise, Repeats: t.config.NoiseRepeats,
	}
	clean, err := t.evaluate(e, t.validation, st.step)
	if err != nil {
		return report, err
	}
	noisy, err := t.robustness(e, st.step, t.config.Noise, t.config.NoiseRepeats)
	if err != nil {
		return report, err
	}
	for m, member := range t.config.Members {
		r := NoiseMember{
			PE: t.config.PE, Sigma: member.Sigma, Seed: member.Seed,
			DivergedAtStep: st.diverged[m], ValidationAccuracy: clean.overall[m],
		}
		for a, amplitude := range noisy.amplitudes {
			each, mean := noisy.accuracies(m, a)
			r.Noise = append(r.Noise, NoiseLevel{amplitude, mean, sampleSD(each, mean), each})
		}
		report.Members = append(report.Members, r)
	}
	return report, nil
}

// sampleSD returns the standard deviation of a sample with that mean, nil for one number.
func sampleSD(x []float64, mean float64) *float64 {
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return finiteOrNil(math.Sqrt(sum / float64(len(x)-1)))
}
