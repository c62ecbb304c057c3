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

// TaskConfig names the task, and the reading of the paper that defaults follow.
type TaskConfig struct {
	Task     string `json:"task"`     // one of TaskNames
	Fidelity string `json:"fidelity"` // one of fidelities
}

// DataConfig holds the settings of the data.
type DataConfig struct {
	LSTTrain      []string `json:"lst_train"`      // files; empty = the generated set
	LSTValidation string   `json:"lst_validation"` // file
	DataSeed      uint64   `json:"data_seed"`

	LSTSide       int   `json:"lst_side,omitempty"`       // 0 is 4
	EvalTokens    []int `json:"eval_tokens,omitempty"`    // sorted
	RenameSymbols *bool `json:"rename_symbols,omitempty"` // nil: no

	Masked    *MaskedConfig    `json:"masked,omitempty"`    // of masked prediction
	Sequence  *SequenceConfig  `json:"sequence,omitempty"`  // of tasks sequence and text
	Positions *PositionsConfig `json:"positions,omitempty"` // nil: the task's own
	Header    string           `json:"header,omitempty"`    // yes or no: the first line of texts holds names
}

// tasks lists all tasks, in the order of help texts. Configurations without the settings of any
// task belong to the first.
var tasks = sync.OnceValue(func() []*TaskFacts {
	all := []*TaskFacts{&lstTask, &nmarTask, &fmriTask, &maskedTask, &sequenceTask, &textTask}
	for _, t := range all {
		t.prepare()
	}
	return all
})

// DataKeys lists the keys of the settings that determine the examples.
func DataKeys() []string {
	keys := []string{"task"}
	for _, s := range slices.Concat(lstSettings, maskedSettings, sourceSettings, sequenceSettings) {
		if !s.Factor {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// TaskFacts holds what the rest of the program needs to know about a task. The file that declares
// it also has the task's settings; a file of package train reads the task's data and trains it.
type TaskFacts struct {
	Name     string // of --task, and of the preset with its defaults
	Title    string // in help texts
	Settings string // key of the settings that only its configurations have; "" for none
	Quick    string // its smaller preset; "" for none

	// Values of settings, by key, that differ from the table's defaults: in its preset and in the
	// smaller one.
	Defaults, QuickDefaults defaults

	// Records and results.
	Measures    runlog.Task
	Criterion   string   // default of --until for judging whether a model has fitted; "" for none
	IsAccuracy  bool     // its measures are accuracies, and tables say whether a model has fitted
	SlowRecords bool     // a record takes the time of many steps
	Baselines   []string // names of baselines in results, each with all levels of test_mse
	Progress    []string // measures in progress lines; a family, such as test_mse/, means all of it
	Columns     []string // measures in the table of members, likewise
	Narrow      []string // columns that a narrow terminal drops, the last one first

	// Data.
	InEpochs     bool // training length counts epochs, else steps
	HasSeries    bool // tokens have series of values, whose correlations can place them
	IsLine       bool // tokens always lie on a line, regardless of --positions
	DependsOnPE  bool // held-out data depend on the encoding
	KeptExamples int  // examples whose attention maps a finished run keeps

	tokens   func(c *Config) (n int, fixed bool) // see Tokens
	label    func(c *Config) string              // see TaskLabel; nil: Name
	create   func(c *Config)                     // creates the settings of the preset; nil if there are none
	hasData  func(c *Config) bool                // reports whether the task can use the data; nil: always
	useFiles func(c *Config)                     // creates the configuration of files; nil if the task reads none

	TokenCounts []int // assumed numbers of tokens in series, if nothing else gives one

	field field // of Settings
}

func (t *TaskFacts) prepare() {
	if t.Settings != "" {
		t.field = fieldOf(t.Settings)
	}
}

// isSet reports whether a configuration has settings of the task.
func (t *TaskFacts) isSet(c *Config) bool { return t.Settings != "" && !t.field.in(c).IsNil() }

// fits reports whether a configuration has the settings of this task and of no other.
func (t *TaskFacts) fits(c *Config) bool {
	return !slices.ContainsFunc(tasks(), func(other *TaskFacts) bool {
		return other.isSet(c) != (other.Settings != "" && other.Settings == t.Settings)
	})
}

// Facts returns the facts of the configuration's task. If the settings belong to another task than
// the name, which Validate refuses, it returns the facts of that other task.
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

// FindTask returns the task called name, or nil.
func FindTask(name string) *TaskFacts {
	for _, t := range tasks() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Tokens returns the number of tokens of a training example. If fixed is true all examples have
// this number, else it is an estimate.
func (c *Config) Tokens() (n int, fixed bool) { return c.Facts().tokens(c) }

// TaskLabel names the task and its variant, as in the names of run directories.
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

// Presets lists the names that Preset accepts.
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
		Help:    "reading of the paper: code (the published one) or text (ours of what it leaves open)",
		Default: "code", OneOf: fidelities(),
	},
	{
		Key: "task", Flag: "task", Common: true, Help: taskHelp(), Default: lstTask.Name, OneOf: TaskNames(),
		Check: func(c *Config) error {
			t := FindTask(c.Task)
			switch {
			case t == nil: // OneOf reports it
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

// Preset returns the configuration called name, one of Presets, in a reading of the paper, "text"
// or "code".
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

// defaultSurrogate returns the default size of the surrogate.
func defaultSurrogate() Surrogate {
	o := hcp.DefaultOptions()
	return Surrogate{Subjects: o.Subjects, Frames: o.Frames}
}
