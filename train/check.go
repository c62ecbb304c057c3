package train

import (
	"errors"
	"fmt"
	"reflect"

	"torchpe/train/config"
)

// CheckModels builds the untrained model of each configuration. It returns one error for each: nil if
// the model can be built and measured on all held-out data, else the reason, such as an encoding that
// does not suit the tokens, or a table too short for longer inputs. It reads data once for
// configurations in a row that share them, and fails where they cannot be read, or where their SHA-256
// is not sum, unless that is empty. It passes what is to be known of the data to note.
func CheckModels(configs []config.Config, sum string, note func(string)) (unsuited []error, err error) {
	var t task
	unsuited = make([]error, len(configs))
	for i, stored := range configs {
		c := Config{stored}
		if err := c.Resolve(); err != nil {
			return nil, err
		}
		if i == 0 || !sameData(stored, configs[i-1]) {
			if t, err = newTask(c); err != nil {
				return nil, &DataError{err}
			}
			for _, text := range t.notes() {
				note(text)
			}
		}
		if sum != "" && t.fingerprint() != sum {
			return nil, &DataError{errors.New("the content of the data has changed: give another --out")}
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
		if unsuited[i] == nil {
			unsuited[i] = t.checkMeasured(c)
		}
	}
	return unsuited, nil
}

// sameData reports whether two configurations read the same data.
func sameData(a, b config.Config) bool {
	return reflect.DeepEqual(a.TaskConfig, b.TaskConfig) && reflect.DeepEqual(a.DataConfig, b.DataConfig)
}
