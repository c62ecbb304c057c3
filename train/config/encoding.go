package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/layers"
	"torchpe/internal/number"
	"torchpe/train/runlog"
)

// EncodingConfig says which positional encoding is trained, how it starts, and what its training
// has of its own. The registry of encodings checks it: see train.Config.Resolve.
type EncodingConfig struct {
	PE             string            `json:"pe"`
	PEOptions      map[string]string `json:"pe_options"` // every option of the scheme
	Members        []Member          `json:"members"`
	PEInit         string            `json:"pe_init,omitempty"`          // as pe.ParseInit reads it; "" is normal
	PEInitScale    string            `json:"pe_init_scale,omitempty"`    // "" is own, or sigma
	PEInitSparsity *float64          `json:"pe_init_sparsity,omitempty"` // nil: 0.9, or 0.5 for at most 20 tokens
	PEWarmupSteps  *int              `json:"pe_warmup_steps,omitempty"`  // nil: that of the other parameters
	PEDropout      float64           `json:"pe_dropout,omitempty"`
	InitScale      *float64          `json:"init_scale,omitempty"`       // nil is 1
	EmbedInitScale *float64          `json:"embed_init_scale,omitempty"` // nil is 1
	From           *FromConfig       `json:"from,omitempty"`             // nil: random initial values
}

// InitFlag sets the start of the learned PE.
const InitFlag = "pe-init"

// encodingSettings come before the settings of members.
var encodingSettings = []Setting{
	{
		Key: "pe", Flag: "pe", Common: true, Factor: true, SameStepTime: true,
		Sweep: ByLayer,
		Help: "positional encoding: one of torchpe pe list; learn-S means learn with sigma S; rope+learn " +
			"stacks two; rope@1-3,nope@4 and rope*3,nope give layers their own",
		Default: "learn", Resets: "pe_options",
	},
	{
		Key: "pe_options", Factor: true, SameStepTime: true,
		Help: "options of the encoding, each with a flag of its own; see docs/encodings.md",
	},
}

// startSettings are the rows of initial values and of the encoding's training.
var startSettings = []Setting{
	{
		Key: "pe_init", Flag: InitFlag, Zero: "normal",
		Help: "start of the learned PE: normal, uniform, orthogonal, zeros, sinusoidal-1d, " +
			"sinusoidal-2d, low-rank:R, matched:SCHEME, mds, mds:K, gradients, gradients:K",
	},
	{
		Key: "pe_init_scale", Flag: "pe-init-scale", Zero: "own",
		Help: "sinusoidal starts: own, as they are, or sigma, scaled to the norm that sigma gives",
	},
	{
		Key: "pe_init_sparsity", Flag: "pe-init-sparsity", Tasks: Masked, Range: "[0, 1)",
		Help: "start at gradients: share of each token's correlations that is dropped, smallest first " +
			"(default: 0.9; 0.5 for 20 tokens or fewer)",
		With: "pe-init gradients",
	},
	{
		Key: "pe_warmup_steps", Flag: "pe-warmup-steps", Range: "[0, inf)", Inherits: "warmup-steps",
		Help: "steps in which the PE's learning rate rises to its value",
	},
	{
		Key: "pe_dropout", Flag: "pe-dropout", // the encoding checks it
		Help: "dropout on the learned PE's table in training, 0 to 1",
	},
	{
		Key: "init_scale", Flag: "init-scale", Zero: "1", Range: "(0, 1e6]",
		Help: "factor on the initial values of all weights except those of the PE and of layer norm",
	},
	{
		Key: "embed_init_scale", Flag: "embed-init-scale", Zero: "1", Range: "(0, 1e6]",
		Help: "factor on the initial values of the token embedding, on top of --init-scale",
	},
}

// FromConfig names the run whose weights a model starts from. A member starts from the member with
// its number, or from the only one.
type FromConfig struct {
	Run    string `json:"run"`
	Take   string `json:"take"`   // which of its weights
	SHA256 string `json:"sha256"` // of the run's checkpoint
}

// Values of FromConfig.Take.
const (
	TakeNoPE = "no-pe" // all weights except the encoding's
	TakePE   = "pe"    // only the encoding's trained parameters
	TakeAll  = "all"
)

// Takes reports whether a parameter, of the encoding or another, starts with the run's values.
func (f FromConfig) Takes(ofEncoding bool) bool {
	return f.Take == TakeAll || (f.Take == TakePE) == ofEncoding
}

var fromSettings = []Setting{
	{
		Key: "from.run", Flag: "from", Path: true,
		Help: "finished run whose weights the model starts from (default: random initial values)",
		Place: func(c *Config, given any) error {
			if c.From = nil; given != "" {
				c.From = &FromConfig{Take: TakeNoPE}
			}
			return nil
		},
		Complete: func(c *Config) (err error) {
			if c.From != nil && c.From.SHA256 == "" {
				with := *c.From
				with.SHA256, err = SumOf(runlog.CheckpointPath(with.Run))
				c.From = &with
			}
			return err
		},
	},
	{
		Key: "from.take", Flag: "take", With: "from", Default: TakeNoPE,
		OneOf: []string{TakeNoPE, TakePE, TakeAll},
		Help:  "weights of --from: no-pe (all except the encoding's), pe (only the encoding's), all",
	},
	{Key: "from.sha256", Help: "SHA-256 of that run's checkpoint"},
}

// Member holds the settings that may differ between the members of an ensemble.
type Member struct {
	Seed        uint64   `json:"seed"`
	Sigma       *float64 `json:"sigma"` // nil for schemes that are not initialised with sigma
	LR          float64  `json:"lr"`
	WeightDecay float64  `json:"weight_decay"`

	// Of the PE's parameters; nil: as the two above.
	PELR          *float64 `json:"pe_lr,omitempty"`
	PEWeightDecay *float64 `json:"pe_weight_decay,omitempty"`
}

// membersPrefix is the prefix of the keys of Member's fields.
const membersPrefix = "members."

// memberSettings are the rows of the members and of what their encodings start with.
var memberSettings = []Setting{
	{
		Key: "members", Factor: true, SameStepTime: true,
		Help: "the members of the ensemble: seed, sigma, learning rates and weight decays",
	},
	{Key: "members.seed", Help: "seed of the member; --seeds and --members give it"},
	{
		Key: "members.sigma", Flag: "sigma", Common: true, Default: 0.2, Range: "[0, 1e6]",
		Help: "standard deviation of the initial learned PE",
	},
	{
		Key: "members.pe_lr", Flag: "pe-lr", Range: "[0, 1e6]", Inherits: "lr", CurveName: "pelr",
		Help: "learning rate of the PE's parameters (0 leaves them as they start)",
	},
	{
		Key: "members.pe_weight_decay", Flag: "pe-weight-decay", Range: "[0, 1e6]",
		Inherits: "weight-decay", CurveName: "pewd", Help: "weight decay of the PE's parameters",
	},
}

// memberRates are the optimizer's rows that may differ between members.
var memberRates = []Setting{
	{
		Key: "members.lr", Flag: "lr", Common: true, Help: "learning rate", Range: "(0, 1e6]",
		CurveName: "lr", Default: 1e-4,
	},
	{
		Key: "members.weight_decay", Flag: "weight-decay", Help: "weight decay", Range: "[0, 1e6]",
		CurveName: "wd", Default: 0.0,
	},
}

// IsMember reports whether the setting may differ between members.
func (s Setting) IsMember() bool { return strings.HasPrefix(s.Key, membersPrefix) }

// MemberKey returns the key of a setting within a member of config.json, such as pe_lr.
func (s Setting) MemberKey() string { return strings.TrimPrefix(s.Key, membersPrefix) }

// MemberSettings lists the settings of members that have a flag, in the order of Member.
func MemberSettings() (all []Setting) {
	for _, s := range Settings() {
		if s.IsMember() && s.Flag != "" {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int { return slices.Compare(a.fields[0][0], b.fields[0][0]) })
	return all
}

// Own returns a member's own value of a setting, or nil.
func (s Setting) Own(m Member) *float64 {
	v := s.fields[0].in(&m)
	if v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	return v.Interface().(*float64)
}

// Of returns a member's value of a setting: its own, or the one that it inherits; nil if neither
// exists.
func (s Setting) Of(m Member) *float64 {
	other, inherits := ByFlag(s.Inherits)
	if own := s.Own(m); own != nil || !inherits {
		return own
	}
	return other.Of(m)
}

// OwnPESettings lists the flags of the PE's settings with a value of their own, not inherited from
// the other parameters.
func (c *Config) OwnPESettings() (flags []string) {
	for _, s := range Settings() {
		isSet := func(v reflect.Value) bool { return !v.IsZero() }
		if s.Inherits != "" && slices.ContainsFunc(s.values(c), isSet) {
			flags = append(flags, "--"+s.Flag)
		}
	}
	return flags
}

// NewMembers returns a member for each seed, with the settings of base: one member, or one for each seed. Values
// given by flags replace these. A setting without a value takes its default.
func NewMembers(base []Member, seeds []uint64, given map[string][]float64) ([]Member, error) {
	members := slices.Clone(base)
	if len(base) == 1 {
		members = slices.Repeat(base, len(seeds))
	}
	for i, seed := range seeds {
		members[i].Seed = seed
	}
	for _, s := range MemberSettings() {
		values := given[s.Flag]
		if values == nil {
			v, hasDefault := s.Default.(float64)
			if !hasDefault || s.Own(base[0]) != nil {
				continue
			}
			values = []float64{v}
		}
		if k := len(values); k != 1 && k != len(seeds) {
			return nil, fmt.Errorf("--%s: %d values for %d members; give one, or one per member",
				s.Flag, k, len(seeds))
		}
		for i := range members {
			set(s.fields[0].in(&members[i]), values[min(i, len(values)-1)])
		}
	}
	return members, nil
}

// Label names an encoding as the paper does: learn-0.2, 2d-fixed. In rope@1,learn@2-3, σ 0.2 the number is apart, to
// tell it from layers.
func Label(pe string, sigma *float64) string {
	if sigma != nil && layers.Differ(pe) {
		return pe + ", σ " + sigmaText(*sigma)
	}
	return NameInPath(pe, sigma)
}

// NameInPath names an encoding in the name of a file or folder: its label without a comma.
func NameInPath(pe string, sigma *float64) string {
	if sigma == nil {
		return pe
	}
	return pe + "-" + sigmaText(*sigma)
}

// sigmaText writes a sigma with a decimal point: "0.2", "2.0".
func sigmaText(sigma float64) string {
	text := strconv.FormatFloat(sigma, 'f', -1, 64)
	if sigma == math.Trunc(sigma) {
		text += ".0"
	}
	return text
}

// SplitLabel splits the label of an encoding with sigma, such as learn-0.2. ok is false if the text
// does not end in a dash and a number, or if the number lost its decimal point, as in 02. The
// encoding may be unknown. A number after the layers of an encoding, as in nope@1,learn@2-4, is a
// layer.
func SplitLabel(label string) (pe string, sigma float64, ok bool) {
	i := strings.LastIndex(label, "-")
	if i <= 0 || layers.Differ(label) {
		return label, 0, false
	}
	text := label[i+1:]
	sigma, err := number.Parse(text)
	lostPoint := len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789") == ""
	if err != nil || lostPoint {
		return label, 0, false
	}
	return label[:i], sigma, true
}
