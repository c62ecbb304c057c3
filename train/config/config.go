// Package config holds the settings of a training run: their table, the configuration that
// config.json stores, and its presets.
//
// Each setting is a field of Config and, in the same file, a row of the table (Setting), which
// refers to the field by its JSON key. The row has the flag, help, default and range, what the
// setting changes, how a sweep varies it and which tasks have it. The flags of torchpe train, the
// notes on flags without effect, the check at resume, the identity of a sweep's runs, the
// comparison of runs in reports and docs/settings.md are derived from the rows. Options of
// positional encodings have a table of their own (pe.Option).
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"torchpe/models/arch"
)

// Config is everything needed to repeat a run; config.json holds it resolved. The order of its
// fields is that of the keys in the file. It must not change, because sweeps identify their runs by
// the text.
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
		panic(err) // numbers, texts and lists always survive a round trip
	}
	return out
}

// Complete derives settings from others and omits defaults, as config.json does.
func (c *Config) Complete(bad *Problems) {
	for _, s := range Settings() {
		if err := s.complete(c); err != nil {
			bad.Add("%s: %v", s.name(), err)
		}
	}
}

// Validate reports all errors of a configuration that can be found without the registry of
// encodings.
func (c *Config) Validate(bad *Problems) {
	for _, s := range Settings() {
		s.validate(c, bad)
	}
}

// WholeSteps returns the number of steps of the schedule. An epoch has perEpoch steps.
func (c Config) WholeSteps(perEpoch int) int {
	if c.Facts().InEpochs {
		return perEpoch * c.Epochs
	}
	return c.Steps
}

// TotalSteps returns the number of these steps that are trained: LimitSteps may end training
// earlier.
func (c Config) TotalSteps(perEpoch int) int {
	if c.LimitSteps > 0 {
		return min(c.WholeSteps(perEpoch), c.LimitSteps)
	}
	return c.WholeSteps(perEpoch)
}

// JSON returns the text of config.json.
func (c Config) JSON() ([]byte, error) { return json.MarshalIndent(c, "", "  ") }

// Problems collects the errors of a configuration, so that all are reported at once.
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
	return fmt.Errorf("%d errors in the configuration:\n  %s", len(p), strings.Join(p, "\n  "))
}
