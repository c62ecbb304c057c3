package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Setting is a row of the table: one key of config.json and what follows from it.
type Setting struct {
	Key   string // in config.json; keys of inner objects follow a dot, as in masked.mask_level
	Flag  string // of torchpe train, without dashes; "" where no flag sets it
	Help  string
	Tasks Tasks

	Effect       Effect
	Sweep        Sweep
	Path         bool // it names files
	Factor       bool // models of one study differ in it: figures compare them
	Common       bool // --help has it; `--help all` has the others
	SameStepTime bool // the time of a training step depends on it little or not at all

	Value  Value        // place, type, default and check; nil for what members have each
	Member *MemberField // the same for what members have each

	Complete func(c *Config, bad *Problems) // derives the value from others and leaves out defaults
	Check    func(c *Config, bad *Problems) // checks the value beside others
	Unused   func(c *Config) string         // says where a given flag has no effect, or ""
	Instead  string                         // ends the note on a flag that the task does not have
}

// Tasks says which configurations have a setting.
type Tasks int

// The configurations that may have a setting.
const (
	AllTasks      Tasks = iota
	Puzzles             // task lst
	Masked              // tasks nmar, fmri and masked
	Simulated           // task nmar
	FromSurrogate       // task fmri where no files are given: the surrogate
	FromSeries          // tasks fmri and masked where files are given
	Sequences           // tasks sequence and text
	Languages           // task sequence
	Texts               // task text
	FromData            // tasks fmri and masked where files are given, and text
	AllButPuzzles       // all but lst
)

// has reports whether a configuration is one of these tasks.
func (t Tasks) has(c *Config) bool {
	switch m := c.Masked; t {
	case Puzzles:
		return c.HasPuzzles()
	case AllButPuzzles:
		return !c.HasPuzzles()
	case Sequences:
		return c.Sequence != nil
	case Languages:
		return c.Sequence != nil && c.Task != "text"
	case Texts:
		return c.Sequence != nil && c.Task == "text"
	case FromData:
		return FromSeries.has(c) || Texts.has(c)
	case Masked:
		return m != nil
	case Simulated:
		return m != nil && m.NMAR != nil
	case FromSurrogate:
		return m != nil && m.Surrogate != nil
	case FromSeries:
		return m != nil && m.Files != nil
	}
	return true
}

// String names the tasks as help texts do.
func (t Tasks) String() string {
	return []string{"", "lst", "masked prediction", "nmar", "fmri", "fmri, masked", "sequence, text",
		"sequence", "text", "fmri, masked, text", "all but lst"}[t]
}

// Effect says what a setting changes. A sweep identifies its runs by the settings that change more
// than nothing.
type Effect int

// The effects.
const (
	Results  Effect = iota // the trained model
	Measures               // what is measured and recorded, not the model
	Nothing                // neither: where, how fast and how safely a run is made
)

// String names the effect in docs/settings.md.
func (e Effect) String() string { return []string{"results", "measurements", "nothing"}[e] }

// Sweep says how a setting takes values in a sweep.
type Sweep int

// The ways in which a setting takes values.
const (
	Axis     Sweep = iota // commas and ranges separate values, each of which is trained
	Whole                 // one value, in which there may be commas
	List                  // one value, a list; a sweep file writes it as one
	Repeated              // one value, the texts of a flag that is given several times
)

// String names the way in docs/settings.md.
func (s Sweep) String() string { return []string{"axis", "one value", "one list", "one list"}[s] }

// Group is a heading of the help with its settings.
type Group struct {
	Name     string
	Settings []Setting
}

// Groups lists all settings in the order of config.json.
func Groups() []Group { return groups() }

var groups = sync.OnceValue(func() []Group {
	all := []Group{
		{"task", taskSettings},
		{"encoding", encodingSettings},
		{"model", modelSettings},
		{"optimizer", optimizerSettings},
		{"data", slices.Concat(dataSettings, maskedSettings, sourceSettings, sequenceSettings,
			positionsSettings)},
		{"measures", measureSettings},
		{"output", outputSettings},
		{"device", deviceSettings},
	}
	for _, g := range all {
		for i := range g.Settings {
			s := &g.Settings[i]
			switch {
			case s.Value != nil:
				s.Value = s.Value.at(pathOf(reflect.TypeFor[Config](), s.Key))
			case s.Member != nil:
				s.Member.path = pathOf(reflect.TypeFor[Member](), strings.TrimPrefix(s.Key, "members."))
			}
		}
	}
	return all
})

// Settings lists all rows of the table.
func Settings() (all []Setting) {
	for _, g := range Groups() {
		all = append(all, g.Settings...)
	}
	return all
}

// EachMember is the part of the help of settings that members may differ in.
const EachMember = ", one or one a member"

var flagTable = sync.OnceValue(func() map[string]Setting {
	all := map[string]Setting{}
	for _, s := range Settings() {
		if s.Flag != "" {
			all[s.Flag] = s
		}
	}
	return all
})

// ByFlag returns the setting that a flag sets.
func ByFlag(flag string) (s Setting, ok bool) {
	s, ok = flagTable()[flag]
	return s, ok
}

// CommonFlags lists the flags of the settings that --help shows without being asked for all.
func CommonFlags() (flags []string) {
	for _, s := range Settings() {
		if s.Common {
			flags = append(flags, s.Flag)
		}
	}
	return flags
}

// Keys lists the keys of the settings that a function chooses.
func Keys(choose func(s Setting) bool) (keys []string) {
	for _, s := range Settings() {
		if choose(s) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// KeysWith lists the keys of the settings with one of the effects.
func KeysWith(effects ...Effect) []string {
	return Keys(func(s Setting) bool { return slices.Contains(effects, s.Effect) })
}

// Usage returns the text of --help: what the setting is, its other defaults and its tasks.
func (s Setting) Usage() string {
	text := s.Help
	if s.Value != nil {
		text += s.Value.others()
	} else if s.Member != nil {
		text += others(s.Member.DefaultFor)
	}
	if s.Tasks != AllTasks {
		text += " [" + s.Tasks.String() + "]"
	}
	return text
}

// hasPlace reports whether a configuration has a place for the setting's value.
func (s Setting) hasPlace(c *Config) bool { return s.Tasks <= Puzzles || s.Tasks.has(c) }

// Store puts the value of a given flag into a configuration that has a place for it.
func (s Setting) Store(c *Config, f Flag) error {
	if !f.storesItself() && !s.hasPlace(c) {
		return nil
	}
	if err := f.store(c); err != nil {
		return fmt.Errorf("--%s: %w", s.Flag, err)
	}
	return nil
}

// Ignored returns a note where the flag of the setting has no effect on a configuration, or "".
func (s Setting) Ignored(c *Config) string {
	if s.Unused != nil {
		if note := s.Unused(c); note != "" {
			return "--" + s.Flag + " has no effect " + note
		}
	}
	if s.Tasks.has(c) {
		return ""
	}
	note := "--" + s.Flag + " has no effect on task " + c.Task + s.Instead
	if s.Tasks == FromSeries && c.Masked != nil && c.Masked.NMAR == nil {
		note += " without --data"
	}
	return note
}
