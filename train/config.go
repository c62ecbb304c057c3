package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"torchpe/internal/nearest"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Config is everything needed to repeat a run; config.json holds it resolved.
type Config struct {
	Task     string `json:"task"`     // lst, nmar, fmri or masked
	Fidelity string `json:"fidelity"` // code or text: the reading of the paper that defaults come from

	PE        string            `json:"pe"`
	PEOptions map[string]string `json:"pe_options"` // every option of the scheme
	Members   []Member          `json:"members"`

	// The learning of the PE apart from that of the rest.
	PEInit        string   `json:"pe_init,omitempty"`         // how learned tables start, as pe.ParseInit reads it; "" is normal
	PEInitScale   string   `json:"pe_init_scale,omitempty"`   // of sinusoidal starts: "" is own, as they are; or sigma
	PEWarmupSteps *int     `json:"pe_warmup_steps,omitempty"` // of the PE's learning rate; null: as the others
	PEDropout     float64  `json:"pe_dropout,omitempty"`      // on the tables that are added, in training
	InitScale     *float64 `json:"init_scale,omitempty"`      // factor on all other initial weights; null is 1

	Layers        int     `json:"layers"`
	Heads         int     `json:"heads"`
	DModel        int     `json:"d_model"`
	FFMultiple    int     `json:"ff_multiple"` // d_ff / d_model
	Dropout       float64 `json:"dropout"`
	TokenInput    string  `json:"token_input"` // the three of task lst
	EmbeddingInit string  `json:"embedding_init"`
	ReadOut       string  `json:"read_out"`

	Optimizer   string  `json:"optimizer"`
	Schedule    string  `json:"schedule"`
	WarmupSteps int     `json:"warmup_steps"`
	ClipNorm    float64 `json:"clip_norm"` // 0 = off
	Batch       int     `json:"batch"`
	Epochs      int     `json:"epochs"`          // of task lst; 0 elsewhere
	Steps       int     `json:"steps,omitempty"` // of masked prediction; 0 elsewhere
	LimitSteps  int     `json:"limit_steps"`     // stop after so many steps; 0 = not before the end

	LSTTrain      []string `json:"lst_train"`      // files; empty = the generated set
	LSTValidation string   `json:"lst_validation"` // file
	DataSeed      uint64   `json:"data_seed"`      // of generated data, of the split, and of test masks

	// Sizes of puzzles.
	LSTSide       int   `json:"lst_side,omitempty"`       // rows and columns of generated training puzzles; 0 is 4
	EvalTokens    []int `json:"eval_tokens,omitempty"`    // numbers of tokens of further puzzles to evaluate on
	RenameSymbols *bool `json:"rename_symbols,omitempty"` // give each puzzle's symbols other names, anew in each epoch; null: no

	Masked *MaskedConfig `json:"masked,omitempty"` // of masked prediction

	Positions *PositionsConfig `json:"positions,omitempty"` // where tokens lie; null: where the task has them

	// At the end of task lst: validation accuracy with N(0, a^2) added to each token embedding, for these a, each so many times.
	// No amplitudes: it is not measured. No repeats: 10.
	Noise        []float64 `json:"noise,omitempty"`
	NoiseRepeats int       `json:"noise_repeats,omitempty"`

	LogEvery        int      `json:"log_every"`        // epochs; steps of masked prediction
	CheckpointEvery Duration `json:"checkpoint_every"` // wall time
	TensorBoard     bool     `json:"tensorboard"`      // write event files; true where a file does not say

	DType   string `json:"dtype"`
	Device  string `json:"device"`
	Threads int    `json:"threads"` // 0 = found by a short calibration
	DeviceConfig
}

// Member is what may differ between the members of an ensemble.
type Member struct {
	Seed        uint64   `json:"seed"`
	Sigma       *float64 `json:"sigma"` // null for schemes that are not initialised with sigma
	LR          float64  `json:"lr"`
	WeightDecay float64  `json:"weight_decay"`

	// Those of the PE's parameters; null: the two above.
	PELR          *float64 `json:"pe_lr,omitempty"`
	PEWeightDecay *float64 `json:"pe_weight_decay,omitempty"`
}

// Duration is a time.Duration that JSON holds as text, such as "1m0s".
type Duration time.Duration

// MarshalText writes the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Schedules of the learning rate over all steps, after warm-up.
const (
	Constant = "constant"
	Linear   = "linear" // to zero
	Cosine   = "cosine" // to zero, half a period
)

// PaperSeeds are the 15 seeds of the published runs.
var PaperSeeds = []uint64{2235, 6312, 6068, 9742, 8880, 2197, 669, 6256, 3309, 2541, 8643, 7785, 195, 6914, 29}

// Tasks lists the tasks. Each is also the name of a preset.
func Tasks() []string { return []string{"lst", "nmar", "fmri", "masked"} }

// Presets lists the names that Preset knows.
func Presets() []string { return []string{"lst", "quick", "nmar", "fmri", "masked"} }

// Preset returns the configuration called name, in a reading of the paper: lst is the paper's Latin squares (4,000 epochs,
// d_model 160), quick a small one that shows their effect in a minute (20 epochs, d_model 64), nmar the paper's network
// simulation, fmri its human fMRI (a surrogate where no data is named), masked the same on any table.
func Preset(name, fidelity string) (Config, error) {
	c := Config{
		Task: "lst", Fidelity: fidelity, PE: "learn",
		Layers: 4, Heads: 1, DModel: 160, FFMultiple: 4,
		TokenInput: string(models.OneHot), EmbeddingInit: string(models.LikeLinear), ReadOut: string(models.LastToken),
		Optimizer: string(torchpe.Adam), Schedule: Constant, Batch: 128, Epochs: 4000,
		DataSeed: 0, Noise: []float64{0.02, 0.05, 0.1, 0.2, 0.5, 1}, NoiseRepeats: defaultNoiseRepeats, CheckpointEvery: Duration(time.Minute), TensorBoard: true, DType: torchpe.Float32.String(), Device: "auto",
	}
	lr := 1e-4
	switch name {
	case "lst":
	case "quick":
		c.DModel, c.Epochs, lr = 64, 20, 3e-4
	case "nmar", "fmri", "masked":
		c.Task, c.DModel, c.Epochs, c.Steps, c.Masked = name, 64, 0, 50_000, defaultMasked(name)
		c.Noise, c.NoiseRepeats = nil, 0
	default:
		return c, fmt.Errorf("preset %q is unknown; there are %s%s", name, strings.Join(Presets(), ", "), nearest.Hint(name, Presets()))
	}
	switch fidelity {
	case "code":
	case "text":
		c.TokenInput, c.ReadOut = string(models.Embedding), string(models.ProbeToken)
	default:
		return c, fmt.Errorf("fidelity %q is unknown; it is code or text", fidelity)
	}
	sigma := 0.2
	c.Members = []Member{{Seed: 1, Sigma: &sigma, LR: lr}}
	return c, nil
}

// Resolve fills in what follows from the rest: the scheme's options, the log interval. It returns an error that lists
// everything wrong with the configuration.
func (c *Config) Resolve() error {
	var bad problems
	scheme, err := pe.Find(c.PE)
	if err != nil {
		bad.add("--pe: %v%s", err, nearest.Hint(c.PE, pe.Names()))
	} else {
		options, err := scheme.Resolve(c.Fidelity, c.PEOptions)
		if err != nil {
			bad.add("%v", err)
		}
		c.PEOptions = options
		c.resolveLearning(scheme, &bad)
		for i := range c.Members {
			if !scheme.Learned {
				c.Members[i].Sigma = nil
			} else if c.Members[i].Sigma == nil {
				bad.add("--sigma: %s is initialised with sigma, and member %d has none", c.PE, i)
			}
		}
	}
	if c.Precision == "auto" {
		c.Precision = ""
	}
	if c.Positions != nil {
		copied := *c.Positions
		c.Positions = &copied
		c.Positions.resolve(&bad)
	}
	if c.LogEvery == 0 {
		c.LogEvery = max(1, (c.Epochs+c.Steps)/20)
		if c.Masked == nil && c.Epochs <= 50 {
			c.LogEvery = 1
		}
	}
	if c.Masked != nil {
		c.TokenInput, c.EmbeddingInit, c.ReadOut = "", "", ""
	} else if len(c.Noise) == 0 {
		c.Noise, c.NoiseRepeats = nil, 0
	} else if c.NoiseRepeats == 0 {
		c.NoiseRepeats = defaultNoiseRepeats
	}
	c.resolveSizes(&bad)
	c.validate(&bad)
	return bad.err()
}

// resolveLearning checks how the PE learns, and leaves out what is the default.
func (c *Config) resolveLearning(scheme pe.Scheme, bad *problems) {
	if c.PEInit == "normal" {
		c.PEInit = ""
	}
	if c.PEInitScale == "own" && strings.HasPrefix(c.PEInit, "sinusoidal") {
		c.PEInitScale = ""
	}
	if c.InitScale != nil && *c.InitScale == 1 {
		c.InitScale = nil
	}
	init, err := pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity)
	if err != nil {
		bad.add("--pe-init: %v", err)
	} else if err := scheme.CheckInit(init); err != nil {
		bad.add("%v", err)
	}
	if c.PEDropout != 0 && !scheme.Learned {
		bad.add("--pe-dropout: %s has no learned table that starts with sigma", c.PE)
	}
	if scheme.Parameters == "none" && c.ownPESettings() {
		bad.add("--pe-lr, --pe-weight-decay, --pe-warmup-steps: %s has no trained parameters", c.PE)
	}
}

// ownPESettings says whether the PE's parameters have learning rate, weight decay or warm-up of their own.
func (c Config) ownPESettings() bool {
	own := func(m Member) bool { return m.PELR != nil || m.PEWeightDecay != nil }
	return c.PEWarmupSteps != nil || slices.ContainsFunc(c.Members, own)
}

// problems collects what is wrong, so that all of it is said at once.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	if len(p) == 1 {
		return errors.New(p[0])
	}
	return fmt.Errorf("%d mistakes in the configuration:\n  %s", len(p), strings.Join(p, "\n  "))
}

func (p *problems) oneOf(flag, value string, valid ...string) {
	if !slices.Contains(valid, value) {
		p.add("--%s: %q is not one of %s%s", flag, value, strings.Join(valid, ", "), nearest.Hint(value, valid))
	}
}

func (p *problems) atLeast(flag string, value, low int) {
	if value < low {
		p.add("--%s: %d is less than %d", flag, value, low)
	}
}

// finite checks that a number lies in [low, high].
func (p *problems) finite(flag string, value, low, high float64) {
	if math.IsNaN(value) || value < low || value > high {
		p.add("--%s: %g is not in [%g, %g]", flag, value, low, high)
	}
}

// Limits that keep a slip of the keyboard from asking for the impossible.
const (
	maxWidth  = 1 << 16
	maxLayers = 1 << 10
	maxEpochs = 100_000_000

	maxNoiseRepeats = 100_000
)

const defaultNoiseRepeats = 10

func (c *Config) validate(bad *problems) {
	bad.oneOf("task", c.Task, Tasks()...)
	if (c.Task == "lst") != (c.Masked == nil) {
		bad.add("--task: %s has the settings of another task; start from --preset %s", c.Task, c.Task)
	}
	bad.oneOf("fidelity", c.Fidelity, "code", "text")
	if c.Masked != nil {
		c.Masked.validate(c.Task, bad)
		bad.finite("steps", float64(c.Steps), 1, maxEpochs)
	} else {
		bad.oneOf("token-input", c.TokenInput, string(models.OneHot), string(models.Embedding))
		bad.oneOf("embedding-init", c.EmbeddingInit, string(models.LikeLinear), string(models.UnitNormal))
		bad.oneOf("read-out", c.ReadOut, string(models.LastToken), string(models.ProbeToken))
		bad.finite("epochs", float64(c.Epochs), 1, maxEpochs)
	}
	bad.oneOf("optimizer", c.Optimizer, torchpe.Methods()...)
	bad.oneOf("schedule", c.Schedule, Constant, Linear, Cosine)
	bad.oneOf("dtype", c.DType, torchpe.Float32.String(), torchpe.Float64.String())
	bad.finite("layers", float64(c.Layers), 1, maxLayers)
	bad.finite("heads", float64(c.Heads), 1, maxWidth)
	bad.finite("d-model", float64(c.DModel), 1, maxWidth)
	bad.finite("ff-multiple", float64(c.FFMultiple), 1, 1024)
	if c.Heads >= 1 && c.DModel >= 1 && c.DModel%c.Heads != 0 {
		bad.add("--d-model: %d is not divisible by --heads %d", c.DModel, c.Heads)
	}
	if !(c.Dropout >= 0 && c.Dropout < 1) {
		bad.add("--dropout: %g is not in [0, 1)", c.Dropout)
	}
	if !(c.PEDropout >= 0 && c.PEDropout < 1) {
		bad.add("--pe-dropout: %g is not in [0, 1)", c.PEDropout)
	}
	if s := c.InitScale; s != nil && !(*s > 0 && *s <= 1e6) {
		bad.add("--init-scale: %g is not in (0, 1e6]", *s)
	}
	if c.PEWarmupSteps != nil {
		bad.atLeast("pe-warmup-steps", *c.PEWarmupSteps, 0)
	}
	c.validateNoise(bad)
	bad.atLeast("warmup-steps", c.WarmupSteps, 0)
	bad.finite("clip-norm", c.ClipNorm, 0, math.MaxFloat64)
	bad.finite("batch", float64(c.Batch), 1, 1<<24)
	bad.atLeast("limit-steps", c.LimitSteps, 0)
	bad.atLeast("log-every", c.LogEvery, 1)
	bad.finite("threads", float64(c.Threads), 0, 4096)
	c.DeviceConfig.validate(bad)
	if c.CheckpointEvery < 0 {
		bad.add("--checkpoint-every: %v is negative", time.Duration(c.CheckpointEvery))
	}
	if (len(c.LSTTrain) == 0) != (c.LSTValidation == "") {
		bad.add("--lst-train and --lst-validation go together: give both, or neither for the generated set")
	}
	if len(c.Members) == 0 {
		bad.add("--members: an ensemble has at least one member")
	}
	for i, m := range c.Members {
		if m.Sigma != nil && !(*m.Sigma >= 0 && *m.Sigma <= 1e6) {
			bad.add("--sigma: %g (member %d) is not in [0, 1e6]", *m.Sigma, i)
		}
		if !(m.LR > 0 && m.LR <= 1e6) {
			bad.add("--lr: %g (member %d) is not in (0, 1e6]", m.LR, i)
		}
		if !(m.WeightDecay >= 0 && m.WeightDecay <= 1e6) {
			bad.add("--weight-decay: %g (member %d) is not in [0, 1e6]", m.WeightDecay, i)
		}
		if v := m.PELR; v != nil && !(*v >= 0 && *v <= 1e6) {
			bad.add("--pe-lr: %g (member %d) is not in [0, 1e6]", *v, i)
		}
		if v := m.PEWeightDecay; v != nil && !(*v >= 0 && *v <= 1e6) {
			bad.add("--pe-weight-decay: %g (member %d) is not in [0, 1e6]", *v, i)
		}
	}
}

// validateNoise checks what is measured with noise. Amplitudes are keys in the run's files.
func (c *Config) validateNoise(bad *problems) {
	if c.Masked != nil {
		if len(c.Noise) > 0 || c.NoiseRepeats != 0 {
			bad.add("--noise, --noise-repeats: task %s has no puzzles to answer with noise; task lst has", c.Task)
		}
		return
	}
	bad.amplitudes("noise", c.Noise)
	if len(c.Noise) > 0 {
		bad.finite("noise-repeats", float64(c.NoiseRepeats), 1, maxNoiseRepeats)
	}
}

// amplitudes checks the standard deviations of noise.
func (p *problems) amplitudes(flag string, values []float64) {
	for i, a := range values {
		p.finite(flag, a, 0, 1e6)
		if slices.Contains(values[:i], a) {
			p.add("--%s: %g is given twice", flag, a)
		}
	}
}

// CheckNoise returns what is wrong with amplitudes of noise that a flag gave.
func CheckNoise(flag string, amplitudes []float64) error {
	var bad problems
	bad.amplitudes(flag, amplitudes)
	return bad.err()
}

// TotalSteps is the length of training where an epoch has that many steps.
func (c Config) TotalSteps(perEpoch int) int {
	total := c.Steps
	if c.Masked == nil { // counted in epochs
		total = perEpoch * c.Epochs
	}
	if c.LimitSteps > 0 {
		total = min(total, c.LimitSteps)
	}
	return total
}

// JSON returns the configuration as config.json holds it.
func (c Config) JSON() ([]byte, error) { return json.MarshalIndent(c, "", "  ") }

// ParseConfig reads what JSON wrote. Unknown fields are errors that name the valid ones.
func ParseConfig(text []byte) (Config, error) {
	c := Config{TensorBoard: true}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("configuration: %w%s", err, validFields(err, c))
	}
	if _, err := d.Token(); err != io.EOF {
		return c, errors.New("configuration: there is text after the object")
	}
	return c, nil
}

// validFields lists the fields where an unknown one was named.
func validFields(err error, c Config) string {
	if !strings.Contains(err.Error(), "unknown field") {
		return ""
	}
	var fields map[string]any
	if text, err := json.Marshal(c); err != nil || json.Unmarshal(text, &fields) != nil {
		return ""
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	unknown := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
	return fmt.Sprintf("; the fields are %s%s", strings.Join(names, ", "), nearest.Hint(unknown, names))
}

// ReadConfig reads a config.json, of a run directory or of one's own; the run directory's schema version may be in it.
func ReadConfig(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	delete(fields, "schema")
	if text, err = json.Marshal(fields); err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}
