// Package config holds the settings of a training run: their table, the configuration that
// config.json stores, and its presets.
//
// Each setting is a field of Config and, in the same file, a row of the table (Setting), which finds
// the field by its key in JSON: flag, help, default, range, what it changes, how a sweep varies it
// and which tasks have it. The flags of torchpe train, the notes on flags without effect, the check
// at resume, the identity of a sweep's runs, the comparison of runs in reports and docs/settings.md
// are derived from the rows. Options of positional encodings have a table of their own (pe.Option).
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"torchpe/models/arch"
)

// Config is everything needed to repeat a run; config.json holds it resolved. The order of its
// fields is that of the keys in the file and must stay: sweeps identify their runs by the text.
type Config struct {
	TaskConfig
	EncodingConfig
	arch.Transformer
	OptimizerConfig
	DataConfig
	MeasuresConfig
	OutputConfig
	DeviceConfig
}

// Clone returns a copy that shares no memory with the configuration.
func (c Config) Clone() (out Config) {
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // numbers, texts and lists can be written and read
	}
	return out
}

// Complete derives settings from others and leaves out defaults, as config.json has them.
func (c *Config) Complete(bad *Problems) {
	for _, s := range Settings() {
		if err := s.complete(c); err != nil {
			bad.Add("%s: %v", s.name(), err)
		}
	}
}

// Validate reports everything wrong with a configuration that can be seen without the registry of
// encodings.
func (c *Config) Validate(bad *Problems) {
	for _, s := range Settings() {
		s.validate(c, bad)
	}
}

// WholeSteps returns the length of training that the schedule follows, where an epoch has perEpoch steps.
func (c Config) WholeSteps(perEpoch int) int {
	if c.Facts().InEpochs {
		return perEpoch * c.Epochs
	}
	return c.Steps
}

// TotalSteps returns how many of these steps are trained: LimitSteps may end training before.
func (c Config) TotalSteps(perEpoch int) int {
	if c.LimitSteps > 0 {
		return min(c.WholeSteps(perEpoch), c.LimitSteps)
	}
	return c.WholeSteps(perEpoch)
}

// JSON returns the configuration as config.json holds it.
func (c Config) JSON() ([]byte, error) { return json.MarshalIndent(c, "", "  ") }

// Problems collects what is wrong with a configuration, so that all of it is reported at once.
type Problems []string

// Add appends a problem.
func (p *Problems) Add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Err returns all problems as one error, or nil.
func (p Problems) Err() error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return errors.New(p[0])
	}
	return fmt.Errorf("%d mistakes in the configuration:\n  %s", len(p), strings.Join(p, "\n  "))
}
