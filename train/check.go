package train

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// CheckModels builds the untrained model of each configuration. It returns one error for each: nil if
// the model can be built and measured on all held-out data, else the reason, such as an encoding that
// does not suit the tokens, or a table too short for longer inputs. It reads data once for
// configurations in a row that share them, and fails where they cannot be read, or where the run that is
// to go on in runs, the directories of all, has other settings or data.
func CheckModels(configs []Config, runs []string) (unsuited []error, err error) {
	var t task
	unsuited = make([]error, len(configs))
	for i, c := range configs {
		if err := c.Resolve(); err != nil {
			return nil, err
		}
		if i == 0 || !sameData(c, configs[i-1]) {
			if t, err = newTask(c); err != nil {
				return nil, &DataError{err}
			}
		}
		if err := checkRun(runs[i], c, t); err != nil {
			return nil, err
		}
		one := c
		one.Device, one.Members = "cpu", c.Members[:1]
		e, err := emptyEnsemble(one, t)
		if err != nil {
			return nil, err
		}
		e.model, unsuited[i] = e.newModel()
		e.close()
		if unsuited[i] != nil && outOfMemory(unsuited[i]) {
			return nil, fmt.Errorf("%s: %w", c.PE, unsuited[i])
		}
		if s, ok := t.(*sequenceTask); ok && unsuited[i] == nil {
			unsuited[i] = s.checkLonger(c)
		}
	}
	return unsuited, nil
}

// checkRun returns an error where dir has a run of other settings or data. The interval of records may
// differ.
func checkRun(dir string, c Config, t task) error {
	r, err := runlog.Open(dir)
	if errors.Is(err, runlog.ErrNoRun) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	stored, err := ParseConfig(r.Config().JSON)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	stored.LogEvery = c.LogEvery // more or fewer records change no error
	all, err := config.Differences(stored.Config, c.Config)
	if err != nil {
		return err
	}
	var differ []string
	for _, d := range all {
		if !slices.Contains(config.PathKeys(), d.Key) {
			differ = append(differ, d.String())
		}
	}
	checkpoint, err := r.LoadCheckpoint()
	if err != nil && !errors.Is(err, runlog.ErrNoCheckpoint) {
		return err
	}
	if err == nil && checkpoint.Metadata[runlog.DataKey] != t.fingerprint() {
		differ = append(differ, "the content of the data has changed")
	}
	if differ != nil {
		return fmt.Errorf("%s was trained with other settings or data:\n  %s\ngive another --out", dir,
			strings.Join(differ, "\n  "))
	}
	return nil
}

// sameData reports whether two configurations read the same data.
func sameData(a, b Config) bool {
	return reflect.DeepEqual(a.TaskConfig, b.TaskConfig) && reflect.DeepEqual(a.DataConfig, b.DataConfig)
}
