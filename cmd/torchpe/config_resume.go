package main

import (
	"fmt"

	"torchpe/train"
	"torchpe/train/config"
)

// resumed returns the configuration of the run in path, changed by the flags. A flag that would
// change what is trained is an error, unless the key of its setting is allowed.
func (f *configFlags) resumed(path string, allowed []string) (train.Config, []string, error) {
	stored, err := train.ReadConfig(path)
	if err != nil {
		return stored, nil, err
	}
	if f.file != "" {
		return stored, nil, fmt.Errorf("--config %s: the run to resume has a configuration of its own, "+
			"%s", f.file, path)
	}
	given := f.given()
	if len(given) == 0 {
		return stored, nil, nil
	}
	if given["preset"] || given["fidelity"] {
		fresh, notes, err := f.resolve()
		if err != nil {
			return stored, nil, err
		}
		if !given["threads"] {
			fresh.Threads = stored.Threads
		}
		if !given["noise"] && !given["noise-repeats"] { // runs before there was noise have none
			fresh.Noise, fresh.NoiseRepeats = stored.Noise, stored.NoiseRepeats
		}
		return fresh, notes, config.CheckResumed(stored.Config, fresh.Config, path, allowed)
	}
	f.file = path
	changed, notes, err := f.apply(stored)
	if err != nil {
		return stored, nil, err
	}
	if !given["log-every"] {
		changed.LogEvery = stored.LogEvery
	}
	return changed, notes, config.CheckResumed(stored.Config, changed.Config, path, allowed)
}
