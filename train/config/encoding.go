package config

import (
	"strings"
)

// EncodingConfig says which positional encoding is trained and how it starts and learns apart from
// the rest. The registry of encodings checks it: see train.Config.Resolve.
type EncodingConfig struct {
	PE             string            `json:"pe"`
	PEOptions      map[string]string `json:"pe_options"` // every option of the scheme
	Members        []Member          `json:"members"`
	PEInit         string            `json:"pe_init,omitempty"`          // as pe.ParseInit reads it; "" is normal
	PEInitScale    string            `json:"pe_init_scale,omitempty"`    // "" is own, or sigma
	PEInitSparsity *float64          `json:"pe_init_sparsity,omitempty"` // nil is 0.9, or 0.5 of 20 tokens or fewer
	PEWarmupSteps  *int              `json:"pe_warmup_steps,omitempty"`  // nil: as the others
	PEDropout      float64           `json:"pe_dropout,omitempty"`
	InitScale      *float64          `json:"init_scale,omitempty"` // nil is 1
}

// InitFlag sets the start of the learned PE.
const InitFlag = "pe-init"

var encodingSettings = []Setting{
	{
		Key: "pe", Flag: "pe", Common: true, Factor: true, SameStepTime: true,
		Help: "positional encoding: one of torchpe pe list; learn-S means learn with sigma S; rope+learn stacks two",
		Value: Field[string]{
			Default: "learn", Stored: func(c *Config) { c.PEOptions = nil },
		},
	},
	{
		Key: "pe_options", Factor: true, SameStepTime: true,
		Help: "options of the encoding, each with a flag of its own; see docs/encodings.md",
	},
	{
		Key: "members", Factor: true, SameStepTime: true,
		Help: "the members of the ensemble: seed, sigma, learning rates and weight decays",
	},
	{Key: "members.seed", Help: "seed of the member; --seed, --seeds and --members give it"},
	{
		Key: "members.sigma", Flag: "sigma", Common: true,
		Help:   "standard deviation of the initial learned PE" + EachMember,
		Member: &MemberField{Default: 0.2, Check: in[float64](0, 1e6)},
	},
	{
		Key: "members.pe_lr", Flag: "pe-lr",
		Help: "learning rate of the PE's parameters" + EachMember + "; 0 leaves them as they start " +
			"(default: --lr)",
		Member: &MemberField{Optional: true, Check: in[float64](0, 1e6)},
	},
	{
		Key: "members.pe_weight_decay", Flag: "pe-weight-decay",
		Help:   "weight decay of the PE's parameters" + EachMember + " (default: --weight-decay)",
		Member: &MemberField{Optional: true, Check: in[float64](0, 1e6)},
	},
	{
		Key: "pe_init", Flag: InitFlag,
		Help: "start of the learned PE: normal, uniform, orthogonal, zeros, sinusoidal-1d, " +
			"sinusoidal-2d, low-rank:R, matched:SCHEME, mds, mds:K, gradients, gradients:K",
		Value: Field[string]{Shown: "normal"},
		Complete: func(c *Config, _ *Problems) {
			if c.PEInit == "normal" {
				c.PEInit = ""
			}
		},
	},
	{
		Key: "pe_init_scale", Flag: "pe-init-scale",
		Help:  "sinusoidal starts: own, as they are, or sigma, scaled to the norm that sigma gives",
		Value: Field[string]{Shown: "own"},
		Complete: func(c *Config, _ *Problems) {
			if c.PEInitScale == "own" && len(c.PEInit) >= 10 && c.PEInit[:10] == "sinusoidal" {
				c.PEInitScale = ""
			}
		},
	},
	{
		Key: "pe_init_sparsity", Flag: "pe-init-sparsity", Tasks: Masked,
		Help: "start at gradients: share of the correlations of each token that is dropped, the least " +
			"(of 20 tokens or fewer: 0.5)",
		Value: Field[*float64]{Shown: "0.9", Check: ifGiven(belowOne)},
		Unused: func(c *Config) string {
			if !strings.HasPrefix(c.PEInit, "gradients") {
				return "without --pe-init gradients"
			}
			return ""
		},
	},
	{
		Key: "pe_warmup_steps", Flag: "pe-warmup-steps",
		Help:  "steps in which the PE's learning rate rises to its value (default: --warmup-steps)",
		Value: Field[*int]{Check: ifGiven(atLeast(0))},
	},
	{
		Key: "pe_dropout", Flag: "pe-dropout",
		Help:  "dropout on the learned PE's table in training, 0 to 1",
		Value: Field[float64]{}, // the encoding checks it
	},
	{
		Key: "init_scale", Flag: "init-scale",
		Help:  "factor on the initial values of all weights but the PE's and those of layer norm",
		Value: Field[*float64]{Shown: "1", Check: ifGiven(positive)},
		Complete: func(c *Config, _ *Problems) {
			if c.InitScale != nil && *c.InitScale == 1 {
				c.InitScale = nil
			}
		},
	},
}
