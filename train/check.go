package train

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"torchpe/train/config"
)

// CheckModels builds the untrained model of each configuration, given as the text of config.json,
// once for configurations that differ only in their members. It returns one error per
// configuration: nil if the model can be built and measured on all held-out data, or if the text is
// nil; else the reason, such as an encoding that does not suit the tokens, or a table too short for
// longer inputs. Consecutive configurations share the data that they read, unless the encoding
// decides what is measured or starts from the data. CheckModels fails if data cannot be read, or if
// their SHA-256 is not sum, unless sum is empty. It passes notes on the data to note, once, and those
// on the settings of each configuration.
func CheckModels(texts [][]byte, sum string, note func(string)) (unsuited []error, err error) {
	var read task
	var before config.Config // the one whose data were read
	checked := map[string]error{}
	unsuited = make([]error, len(texts))
	for i, text := range texts {
		if text == nil {
			continue
		}
		stored, err := config.Parse(text)
		if err != nil {
			return nil, err
		}
		alone := stored
		alone.Members = nil
		key, err := alone.JSON()
		if err != nil {
			return nil, err
		}
		if reason, ok := checked[string(key)]; ok {
			unsuited[i] = reason
			continue
		}
		c := Config{stored}
		if err := c.Resolve(); err != nil {
			return nil, err
		}
		isNew := read == nil || !sameData(stored, before)
		if isNew || !sameTask(stored, before) {
			if read, err = newTask(c); err != nil {
				return nil, &DataError{err}
			}
			before = stored
		}
		if isNew {
			for _, text := range read.notes() {
				note(text)
			}
			if sum != "" && read.fingerprint() != sum {
				return nil, &DataError{errors.New("the content of the data has changed: give another --out")}
			}
		}
		for _, text := range c.notesOnSettings(read) {
			note(text)
		}
		if unsuited[i], err = checkModel(c, read); err != nil {
			return nil, err
		}
		checked[string(key)] = unsuited[i]
	}
	return unsuited, nil
}

// UnmeasuredError says why a model can be trained, but not measured on all held-out data.
type UnmeasuredError struct{ error }

// checkModel builds the untrained model of a configuration. unsuited is the reason why it cannot be
// built or measured; err is a lack of memory.
func checkModel(c Config, t task) (unsuited, err error) {
	one := c
	one.Device, one.Members = "cpu", c.Members[:1]
	e, err := emptyEnsemble(one, t)
	if err != nil {
		return nil, err
	}
	unsuited = e.buildModels()
	e.close()
	if unsuited != nil && outOfMemory(unsuited) {
		return nil, fmt.Errorf("%s: %w", c.PE, unsuited)
	}
	if unsuited == nil {
		if err := t.checkMeasured(c); err != nil {
			unsuited = UnmeasuredError{err}
		}
	}
	return unsuited, nil
}

func sameData(a, b config.Config) bool {
	return reflect.DeepEqual(a.TaskConfig, b.TaskConfig) && reflect.DeepEqual(a.DataConfig, b.DataConfig)
}

// sameTask reports whether two configurations with the same data make the same task of them. They
// do not if their encodings decide which inputs are measured, or start from the data.
func sameTask(a, b config.Config) bool {
	return a.PEInit == "" && b.PEInit == "" &&
		(!a.Facts().DependsOnPE || a.PE == b.PE && maps.Equal(a.PEOptions, b.PEOptions))
}
