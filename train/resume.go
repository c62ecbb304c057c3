package train

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// provenance is the part of an Environment on which bits may depend; messages have the name of each.
type provenance struct {
	Torchpe    string `json:"torchpe" name:"torchpe"`
	Libtorch   string `json:"libtorch" name:"libtorch"`
	BLAS       string `json:"blas" name:"BLAS"`
	BLASKernel string `json:"blas_kernel" name:"BLAS kernel"`
	Device     string `json:"device" name:"device"`
	GPU        string `json:"gpu" name:"GPU"`
	Precision  string `json:"precision" name:"precision"`
	Arch       string `json:"arch" name:"processor"`
}

func provenanceOf(e runlog.Environment) provenance {
	return provenance{Torchpe: e.Torchpe, Libtorch: e.LibtorchRunning, BLAS: e.BLAS, BLASKernel: e.BLASKernel,
		Device: e.Device, GPU: e.GPU, Precision: e.Precision, Arch: e.Arch}
}

// start begins the claimed directory of a new run, by Start or StartHidden of runlog.
func (t *trainer) start(begin func([]byte, runlog.Environment) error) error {
	text, err := t.config.JSON()
	if err != nil {
		return err
	}
	return begin(text, t.environment)
}

// metadata returns the metadata of a checkpoint: what made it, and how long that took.
func (t *trainer) metadata() (map[string]string, error) {
	c, err := json.Marshal(t.config)
	if err != nil {
		return nil, err
	}
	made, err := json.Marshal(provenanceOf(t.environment))
	return map[string]string{
		runlog.ConfigKey: string(c), runlog.EnvironmentKey: string(made),
		runlog.DataKey: t.task.fingerprint(), runlog.OptimizerKey: t.config.Optimizer,
		runlog.SecondsKey: strconv.FormatFloat(t.state.seconds, 'g', -1, 64),
	}, err
}

// checkResumed compares the settings and the machine of a checkpoint with those of now, and lists in the
// environment what has changed. A setting that is not allowed to change is an error. Checkpoints of earlier
// versions have neither.
func (t *trainer) checkResumed(c *runlog.Checkpoint) error {
	changed, err := changedSettings(c, t.config, t.allowChanged)
	if err != nil {
		return err
	}
	moved, err := changedMachine(c, provenanceOf(t.environment))
	if err != nil {
		return err
	}
	if moved != nil {
		t.observer.Noticed(fmt.Sprintf("goes on from step %d with another machine or program, so not bit for bit: %s",
			c.Step, strings.Join(moved, "; ")))
	}
	t.environment.Changed = slices.Concat(changed, moved)
	return nil
}

// recordResume records that a run goes on from its checkpoint: the environment, and the
// configuration if it has changed.
func (t *trainer) recordResume() error {
	if err := t.run.AddEnvironment(t.environment); err != nil {
		return err
	}
	return t.updateConfig()
}

// updateConfig writes the configuration if it differs from the stored one: in settings that were
// allowed to change, in the place of files, or in the version of the run directory. An earlier program
// then refuses the run, because it would miss the numbers of new records.
func (t *trainer) updateConfig() error {
	was := t.run.Config()
	stored, err := ParseConfig(was.JSON)
	if err != nil {
		return err
	}
	switch all, err := config.Differences(stored.Config, t.config.Config); {
	case err != nil:
		return err
	case all == nil && was.Schema == runlog.SchemaVersion:
		return nil
	case all == nil:
		return t.run.SetConfig(was.JSON)
	}
	text, err := t.config.JSON()
	if err != nil {
		return err
	}
	return t.run.SetConfig(text)
}

// changedSettings describes the differences in allowed keys between the configuration of a checkpoint
// and that of its run now; other differences are an error. Where files are does not matter: their
// content is compared apart.
func changedSettings(c *runlog.Checkpoint, now Config, allow []string) ([]string, error) {
	text, ok := c.Metadata[runlog.ConfigKey]
	if !ok {
		return nil, nil
	}
	was, err := ParseConfig([]byte(text))
	if err == nil {
		err = was.resolveStored()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the configuration in its metadata: %w", c.Name, err)
	}
	all, err := config.Differences(was.Config, now.Config)
	if err != nil {
		return nil, err
	}
	var allowed, refused, keys []string
	for _, d := range all {
		switch {
		case slices.Contains(config.PathKeys(), d.Key):
		case slices.Contains(allow, d.Key):
			allowed = append(allowed, fmt.Sprintf("%s after step %d", d, c.Step))
		default:
			refused, keys = append(refused, d.String()), append(keys, "--allow-changed "+d.Key)
		}
	}
	if refused != nil {
		return nil, fmt.Errorf("the settings of this run are not those of its first %d steps (%s):\n  %s\nput them "+
			"back in config.json, or go on with these, which will be recorded, by %s", c.Step, c.Name,
			strings.Join(refused, "\n  "), strings.Join(keys, " "))
	}
	return allowed, nil
}

// changedMachine describes how the program and the machine differ from those that made a checkpoint.
func changedMachine(c *runlog.Checkpoint, now provenance) ([]string, error) {
	text, ok := c.Metadata[runlog.EnvironmentKey]
	if !ok {
		return nil, nil
	}
	var was provenance
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return nil, fmt.Errorf("%s: the environment in its metadata: %w", c.Name, err)
	}
	var changed []string
	before, after := reflect.ValueOf(was), reflect.ValueOf(now)
	for i := range before.NumField() {
		if a, b := before.Field(i).String(), after.Field(i).String(); a != b {
			name := before.Type().Field(i).Tag.Get("name")
			changed = append(changed, fmt.Sprintf("%s was %q and is %q", name, a, b))
		}
	}
	return changed, nil
}
