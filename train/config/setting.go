package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Setting is a row of the table: one key of config.json and what follows from it. Most settings
// need only a key, a flag, a help text, a default and a range or words; the functions at the end
// are for the few that need more.
type Setting struct {
	Key   string // in config.json; keys of inner objects follow a dot: masked.split, members.lr
	Flag  string // of torchpe train, without dashes; "" if no flag sets it
	Help  string
	Tasks *Tasks

	Effect       Effect
	Makes        []string // the families of measures that cannot be compared if it differs
	Sweep        Sweep
	Path         bool // it names files
	Factor       bool // models of one study differ in it: figures compare them
	Common       bool // in --help; `--help all` has the others
	SameStepTime bool // hardly changes the time of a training step

	Default    any               // of the field's type, or what its pointer points to; nil is the zero value
	DefaultFor defaults          // by reading of the paper or preset; see also TaskFacts.Defaults
	Zero       string            // what stands for the zero value on the command line, such as auto
	OneOf      []string          // the values of a text
	Gone       map[string]string // values that only earlier versions had, with advice
	Range      string            // interval of the number, or of each number of a list: "[0, 1)"

	OtherKey  string // the key that the flag sets in tasks that lack Key
	Inherits  string // the flag of the setting whose value this one takes by default
	CurveName string // of a member's setting: its name in the names of curves
	With      string // the flag, and the prefix of its value, that this one needs to have an effect
	Resets    string // the key of the setting that giving this flag resets to its zero value
	Instead   string // end of the note that the flag has no effect on the task
	Cleared   bool   // a task that lacks the setting clears it
	Refused   string // reason, after "task NAME", why the task's config.json may not have the setting

	Parse    func(text string) (any, error)   // reads a type of its own
	Place    func(c *Config, given any) error // creates the struct that holds a given value, or refuses it
	Complete func(c *Config) error            // derives the value from others
	Check    func(c *Config) error            // checks the value together with others
	Unused   func(c *Config) (where string)   // describes the case in which a given flag has no effect, or ""

	fields []field // of Key and OtherKey in Config, or of Key in Member
	kind   any     // zero value of the field's type
	taken  any     // zero value of the flag's type: members' flags take a list
	bounds bounds
}

// defaults are a setting's defaults by preset or by reading of the paper, or a preset's by key of
// the setting.
type defaults map[string]any

// keyOfPreset returns the key of a preset in the defaults of a setting; "text" alone is a reading
// of the paper.
func keyOfPreset(name string) string {
	if name == "text" {
		return "task text"
	}
	return name
}

// Tasks is a set of configurations that may have a setting; nil is all of them. The files of the
// tasks declare these sets.
type Tasks struct {
	name       string // as in help texts
	holds      func(c *Config) bool
	everywhere bool // every configuration has a place for the setting
}

// stepped are the configurations whose length is a number of steps.
var stepped = &Tasks{
	name: "all but lst", everywhere: true,
	holds: func(c *Config) bool { return !c.Facts().InEpochs },
}

func (t *Tasks) has(c *Config) bool { return t == nil || t.holds(c) }

// String names the tasks as in help texts.
func (t *Tasks) String() string {
	if t == nil {
		return ""
	}
	return t.name
}

// Effect says what a setting changes. A sweep identifies its runs by all settings except those that
// change nothing.
type Effect int

// The effects.
const (
	Results  Effect = iota // the trained model
	Measures               // what is measured and recorded, not the model
	Nothing                // neither: device, speed and safety of a run
)

// Sweep says how a setting takes values in a sweep.
type Sweep int

// The ways in which a setting takes values.
const (
	Axis     Sweep = iota // commas and ranges separate values, each of which is trained
	Whole                 // one value, in which there may be commas
	List                  // one value, a list; a sweep file writes it as one
	Repeated              // one value, a list of texts from a flag given several times
	ByLayer               // several values, each of which may differ by layer
)

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
		{"encoding", slices.Concat(encodingSettings, memberSettings, startSettings, fromSettings)},
		{"model", modelSettings},
		{"optimizer", slices.Concat(optimizerSettings, memberRates, trainingSettings)},
		{"data", slices.Concat(lstSettings, maskedSettings, sourceSettings, sequenceSettings, positionsSettings)},
		{"measures", measureSettings},
		{"output", outputSettings},
		{"device", deviceSettings},
	}
	for _, g := range all {
		for i := range g.Settings {
			g.Settings[i].prepare()
		}
	}
	return all
})

// prepare finds the setting's fields and reads its range.
func (s *Setting) prepare() {
	var of reflect.Type
	if s.IsMember() {
		s.fields = make([]field, 1)
		s.fields[0], of = findField(reflect.TypeFor[Member](), s.MemberKey())
		s.taken = []float64{}
	} else {
		if s.OtherKey != "" {
			s.fields = append(s.fields, fieldOf(s.OtherKey))
		}
		var own field
		own, of = findField(reflect.TypeFor[Config](), s.Key)
		s.fields = append(s.fields, own)
	}
	for _, t := range tasks() {
		s.addDefault(t.Name, t.Defaults)
		s.addDefault(t.Quick, t.QuickDefaults)
	}
	s.kind = reflect.Zero(of).Interface()
	if s.taken == nil {
		s.taken = s.kind
	}
	s.bounds = parseBounds(s.Range)
}

// addDefault adds the setting's default in a preset, if the preset has one.
func (s *Setting) addDefault(preset string, values defaults) {
	value, ok := values[s.Key]
	if !ok {
		return
	}
	if s.DefaultFor == nil {
		s.DefaultFor = defaults{}
	}
	s.DefaultFor[keyOfPreset(preset)] = value
}

// Settings lists all rows of the table.
func Settings() (all []Setting) {
	for _, g := range Groups() {
		all = append(all, g.Settings...)
	}
	return all
}

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

// CommonFlags lists the flags that plain --help shows.
func CommonFlags() (flags []string) {
	for _, s := range Settings() {
		if s.Common {
			flags = append(flags, s.Flag)
		}
	}
	return flags
}

// Keys lists the keys of the settings for which choose returns true.
func Keys(choose func(s Setting) bool) (keys []string) {
	for _, s := range Settings() {
		if choose(s) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// KeysWith lists the keys of the settings that have one of the effects.
func KeysWith(effects ...Effect) []string {
	return Keys(func(s Setting) bool { return slices.Contains(effects, s.Effect) })
}

// PathKeys lists the keys of the settings that name files.
func PathKeys() []string { return Keys(func(s Setting) bool { return s.Path }) }

// EachMember ends the help of settings that may differ between members.
const EachMember = ", one, or one per member"

// Usage returns the text of --help: the description, other defaults and the tasks.
func (s Setting) Usage() string {
	text := s.Help
	if s.IsMember() && s.Flag != "" {
		text += EachMember
	}
	if s.Inherits != "" {
		text += " (default: --" + s.Inherits + ")"
	}
	text += s.DefaultFor.String()
	if s.Tasks != nil {
		text += " [" + s.Tasks.String() + "]"
	}
	return text
}

// hasPlace reports whether a configuration can hold the setting's value. Only its own task can,
// except for settings of puzzles and the number of steps.
func (s Setting) hasPlace(c *Config) bool { return s.Tasks.has(c) || s.Tasks.everywhere }

// Store puts the value of a given flag into a configuration that can hold it.
func (s Setting) Store(c *Config, f *Flag) error {
	if s.Place != nil {
		if err := s.Place(c, f.value); err != nil {
			return fmt.Errorf("--%s: %w", s.Flag, err)
		}
	} else if !s.hasPlace(c) || s.Refused != "" && !s.Tasks.has(c) {
		return nil
	}
	if zero := reflect.ValueOf(f.value); s.Tasks.has(c) && zero.IsValid() && zero.IsZero() {
		if err := f.fault(); err != nil { // in config.json the zero value stands for the default
			return fmt.Errorf("--%s: %w", s.Flag, err)
		}
	}
	for _, v := range s.values(c) {
		set(v, f.value)
	}
	if s.Resets != "" {
		fieldOf(s.Resets).in(c).SetZero()
	}
	return nil
}

// TextIn returns the value in a configuration as the command line has it. It is empty for other tasks, and for
// members and lists.
func (s Setting) TextIn(c *Config) string {
	values := s.values(c)
	if s.IsMember() || !s.Tasks.has(c) || len(values) != 1 {
		return ""
	}
	if values[0].IsZero() && s.Zero != "" {
		return s.Zero
	}
	return textOf(values[0])
}

// Ignored returns a note if the flag of the setting has no effect on a configuration, else "".
func (s Setting) Ignored(c *Config) string {
	where := ""
	switch {
	case !s.Tasks.has(c):
		where = "on task " + c.Task + s.Instead
		if s.Tasks == FromSeries && c.Masked != nil && c.Facts().useFiles != nil {
			where += " without --data"
		}
	case s.With != "" && !s.hasCompanion(c):
		where = "without --" + s.With
	case s.Unused != nil:
		where = s.Unused(c)
	}
	if where == "" {
		return ""
	}
	return "--" + s.Flag + " has no effect " + where
}

// hasCompanion reports whether a configuration has the flag and value of With.
func (s Setting) hasCompanion(c *Config) bool {
	flag, start, _ := strings.Cut(s.With, " ")
	other, _ := ByFlag(flag)
	for _, v := range other.values(c) {
		if !v.IsZero() && (start == "" || strings.HasPrefix(v.String(), start)) {
			return true
		}
	}
	return false
}

// complete derives the value from others and omits it if it is what Zero stands for.
func (s Setting) complete(c *Config) error {
	for _, v := range s.values(c) {
		if s.Zero != "" && textOf(v) == s.Zero || s.Cleared && !s.Tasks.has(c) {
			v.SetZero()
		}
	}
	if s.Complete == nil || !s.Tasks.has(c) {
		return nil
	}
	return s.Complete(c)
}

// name returns the name of the setting in messages.
func (s Setting) name() string {
	if s.Flag == "" {
		return s.Key
	}
	return "--" + s.Flag
}

// validate reports errors of the value, by itself and together with others.
func (s Setting) validate(c *Config, bad *Problems) {
	name := s.name()
	refuseStdin(c, s, bad)
	if !s.Tasks.has(c) {
		for _, v := range s.values(c) {
			if s.Refused != "" && !v.IsZero() {
				bad.Add("%s: task %s %s", name, c.Task, s.Refused)
			}
		}
		return
	}
	for i, v := range s.values(c) {
		whose := ""
		if s.IsMember() {
			whose = fmt.Sprintf(" (member %d)", i)
		}
		mayBeZero := s.Zero != "" || s.With != "" && !s.hasCompanion(c)
		if mayBeZero && v.IsZero() {
			continue
		}
		for _, fault := range s.faults(v, whose) {
			bad.Add("%s: %s", name, fault)
		}
	}
	if s.Check != nil {
		if err := s.Check(c); err != nil {
			bad.Add("%s: %v", name, err)
		}
	}
}
