package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"torchpe/data/hcp"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// TaskConfig says what is trained for, and which reading of the paper defaults come from.
type TaskConfig struct {
	Task     string `json:"task"`     // one of TaskNames
	Fidelity string `json:"fidelity"` // one of fidelities
}

// DataConfig says what is trained on.
type DataConfig struct {
	LSTTrain      []string `json:"lst_train"`      // files; empty = the generated set
	LSTValidation string   `json:"lst_validation"` // file
	DataSeed      uint64   `json:"data_seed"`

	LSTSide       int   `json:"lst_side,omitempty"`       // 0 is 4
	EvalTokens    []int `json:"eval_tokens,omitempty"`    // sorted
	RenameSymbols *bool `json:"rename_symbols,omitempty"` // nil: no

	Masked    *MaskedConfig    `json:"masked,omitempty"`    // of masked prediction
	Sequence  *SequenceConfig  `json:"sequence,omitempty"`  // of tasks sequence and text
	Positions *PositionsConfig `json:"positions,omitempty"` // nil: where the task has them
	Header    string           `json:"header,omitempty"`    // yes or no: the first line of texts holds names
}

// tasks lists all tasks, in the order of help texts. The first is that of configurations that have
// the settings of no other.
var tasks = sync.OnceValue(func() []*TaskFacts {
	all := []*TaskFacts{&lstTask, &nmarTask, &fmriTask, &maskedTask, &sequenceTask, &textTask}
	for _, t := range all {
		t.prepare()
	}
	return all
})

// DataKeys lists the keys of the settings that say which examples models see.
func DataKeys() []string {
	keys := []string{"task"}
	for _, s := range slices.Concat(lstSettings, maskedSettings, sourceSettings, sequenceSettings) {
		if !s.Factor {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// TaskFacts holds what the rest of the program asks about a task. It stands beside the task's
// settings; package train has, in a file of its own, what reads the task's data and trains it.
type TaskFacts struct {
	Name     string // of --task, and of the preset with its defaults
	Title    string // in help texts
	Settings string // the key of its settings, which no other task's configuration has; "" for none
	Quick    string // a preset of smaller size; "" where there is none

	// Values of settings, by key, in its preset and in that of smaller size, where they are not the
	// table's defaults.
	Defaults, QuickDefaults defaults

	// Records and results.
	Measures    runlog.Task
	Criterion   string   // says when a model has fitted where --until does not; "" where nothing does
	IsAccuracy  bool     // its measures are accuracies, and tables say whether a model has fitted
	SlowRecords bool     // a record takes as long as many steps
	Baselines   []string // of results, by name, for each level of test_mse
	Progress    []string // measures that a line of progress has; of a family, such as test_mse/, all
	Columns     []string // measures that the table of members has, in the same way
	Narrow      []string // columns that a narrow terminal drops, the last one first

	// Data.
	InEpochs     bool // the length of training is a number of epochs, else of steps
	HasSeries    bool // tokens have series of values, whose correlations can place them
	IsLine       bool // tokens lie on a line, whatever a file says
	DependsOnPE  bool // the encoding decides which data are held out
	KeptExamples int  // examples whose attention maps a finished run keeps

	tokens   func(c *Config) (n int, fixed bool) // see Tokens
	label    func(c *Config) string              // see TaskLabel; nil for Name
	create   func(c *Config)                     // makes the settings of the preset; nil where there are none
	hasData  func(c *Config) bool                // the data are of a kind that the task knows; nil for yes
	useFiles func(c *Config)                     // makes the place for files; nil where the task reads none

	TokenCounts []int // that series of the task are taken to have where nothing else says it

	field field // of Settings
}

func (t *TaskFacts) prepare() {
	if t.Settings != "" {
		t.field = fieldOf(t.Settings)
	}
}

// isSet reports whether a configuration has settings of the task.
func (t *TaskFacts) isSet(c *Config) bool { return t.Settings != "" && !t.field.in(c).IsNil() }

// fits reports whether a configuration has the settings of the task, and those of no other.
func (t *TaskFacts) fits(c *Config) bool {
	return !slices.ContainsFunc(tasks(), func(other *TaskFacts) bool {
		return other.isSet(c) != (other.Settings != "" && other.Settings == t.Settings)
	})
}

// Facts returns the facts of the configuration's task. Where the settings belong to another task than the
// name, which Validate refuses, it returns the facts of that other task.
func (c *Config) Facts() *TaskFacts {
	if t := FindTask(c.Task); t != nil && t.fits(c) {
		return t
	}
	for _, t := range tasks() {
		if t.isSet(c) {
			return t
		}
	}
	return tasks()[0]
}

// FindTask returns the task of a name; nil where there is none.
func FindTask(name string) *TaskFacts {
	for _, t := range tasks() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Tokens returns the number of tokens of a training example: an estimate unless fixed, which says
// that it is the number of all examples.
func (c *Config) Tokens() (n int, fixed bool) { return c.Facts().tokens(c) }

// TaskLabel names the task and what is trained of it, as the names of run directories do.
func (c *Config) TaskLabel() string {
	if label := c.Facts().label; label != nil {
		return label(c)
	}
	return c.Task
}

// TaskNames lists the tasks. Each is also the name of a preset.
func TaskNames() []string { return taskNames(func(*TaskFacts) bool { return true }) }

func taskNames(choose func(t *TaskFacts) bool) (names []string) {
	for _, t := range tasks() {
		if choose(t) {
			names = append(names, t.Name)
		}
	}
	return names
}

func fidelities() []string { return []string{"code", "text"} }

// Presets lists the names that Preset knows.
func Presets() (names []string) {
	for _, t := range tasks() {
		names = append(names, t.Name)
		if t.Quick != "" {
			names = append(names, t.Quick)
		}
	}
	return names
}

var taskSettings = []Setting{
	{
		Key: "fidelity", Flag: "fidelity", Factor: true, SameStepTime: true,
		Help:    "reading of the paper: code (what produced its numbers) or text",
		Default: "code", OneOf: fidelities(),
	},
	{
		Key: "task", Flag: "task", Common: true, Help: taskHelp(), Default: lstTask.Name, OneOf: TaskNames(),
		Check: func(c *Config) error {
			t := FindTask(c.Task)
			switch {
			case t == nil: // which OneOf says
			case !t.fits(c):
				return fmt.Errorf("%s has the settings of another task; start from --preset %s", c.Task, c.Task)
			case t.hasData != nil && !t.hasData(c):
				return fmt.Errorf("%s has the data of another task; start from --preset %s", c.Task, c.Task)
			}
			return nil
		},
	},
}

func taskHelp() string {
	var names []string
	for _, t := range tasks() {
		names = append(names, fmt.Sprintf("%s (%s)", t.Name, t.Title))
	}
	return "task: " + strings.Join(names, ", ") + "; its preset gives the defaults"
}

// Preset returns the configuration called name, one of Presets, in a reading of the paper: text or code.
func Preset(name, fidelity string) (Config, error) {
	c := Config{TaskConfig: TaskConfig{Task: name, Fidelity: fidelity}}
	switch {
	case !slices.Contains(Presets(), name):
		return c, fmt.Errorf("preset %q is unknown; there are %s%s", name, strings.Join(Presets(), ", "),
			wording.Hint(name, Presets()))
	case !slices.Contains(fidelities(), fidelity):
		return c, fmt.Errorf("fidelity %q is unknown; it is code or text", fidelity)
	}
	for _, t := range tasks() {
		if name == t.Name || name == t.Quick {
			c.Task = t.Name
			if t.create != nil {
				t.create(&c)
			}
		}
	}
	c.Members = []Member{{Seed: 1}}
	for _, s := range Settings() {
		if s.Key != "task" && s.Key != "fidelity" && s.Tasks.has(&c) {
			s.reset(&c, name, fidelity)
		}
	}
	return c, nil
}

// defaultSurrogate returns the size of the surrogate where no other is asked for.
func defaultSurrogate() Surrogate {
	o := hcp.DefaultOptions()
	return Surrogate{Subjects: o.Subjects, Frames: o.Frames}
}
