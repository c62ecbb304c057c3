package config

import (
	"fmt"
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
		Key: "pe", Flag: "pe", Usual: true, Chosen: true, Untimed: true,
		Help: "positional encoding: one of torchpe pe list; learn-S means learn with sigma S; rope+learn stacks two",
		Value: Of[string]{
			At: func(c *Config) *string { return &c.PE }, Default: "learn",
			Store: func(c *Config, v string) error { c.PE, c.PEOptions = v, nil; return nil },
		},
	},
	{
		Key: "pe_options", Chosen: true, Untimed: true,
		Help: "options of the encoding, each with a flag of its own; see docs/encodings.md",
	},
	{
		Key: "members", Chosen: true, Untimed: true,
		Help: "the members of the ensemble: seed, sigma, learning rates and weight decays",
	},
	{Key: "members.seed", Help: "seed of the member; --seed, --seeds and --members give it"},
	{
		Key: "members.sigma", Flag: "sigma", Usual: true,
		Help: "standard deviation of the initial learned PE" + EachMember,
		Member: &OfMember{
			At:      func(m *Member) *float64 { return m.Sigma },
			Set:     func(m *Member, v float64) { m.Sigma = &v },
			Default: 0.2, Check: upToMillion,
		},
	},
	{
		Key: "members.pe_lr", Flag: "pe-lr",
		Help: "learning rate of the PE's parameters" + EachMember + "; 0 leaves them as they start " +
			"(default: --lr)",
		Member: &OfMember{
			At:       func(m *Member) *float64 { return m.PELR },
			Set:      func(m *Member, v float64) { m.PELR = &v },
			Optional: true, Check: upToMillion,
		},
	},
	{
		Key: "members.pe_weight_decay", Flag: "pe-weight-decay",
		Help: "weight decay of the PE's parameters" + EachMember + " (default: --weight-decay)",
		Member: &OfMember{
			At:       func(m *Member) *float64 { return m.PEWeightDecay },
			Set:      func(m *Member, v float64) { m.PEWeightDecay = &v },
			Optional: true, Check: upToMillion,
		},
	},
	{
		Key: "pe_init", Flag: InitFlag,
		Help: "start of the learned PE: normal, uniform, orthogonal, zeros, sinusoidal-1d, " +
			"sinusoidal-2d, low-rank:R, matched:SCHEME, mds, mds:K, gradients, gradients:K",
		Value: Of[string]{At: func(c *Config) *string { return &c.PEInit }, Shown: "normal"},
		Complete: func(c *Config, _ *Problems) {
			if c.PEInit == "normal" {
				c.PEInit = ""
			}
		},
	},
	{
		Key: "pe_init_scale", Flag: "pe-init-scale",
		Help:  "sinusoidal starts: own, as they are, or sigma, scaled to the norm that sigma gives",
		Value: Of[string]{At: func(c *Config) *string { return &c.PEInitScale }, Shown: "own"},
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
		Value: Of[*float64]{
			At: func(c *Config) **float64 { return &c.PEInitSparsity }, Shown: "0.9",
			Check: func(v *float64) string {
				if v == nil {
					return ""
				}
				return belowOne(*v)
			},
		},
		Unused: func(c *Config) string {
			if !strings.HasPrefix(c.PEInit, "gradients") {
				return "without --pe-init gradients"
			}
			return ""
		},
	},
	{
		Key: "pe_warmup_steps", Flag: "pe-warmup-steps",
		Help: "steps in which the PE's learning rate rises to its value (default: --warmup-steps)",
		Value: Of[*int]{
			At: func(c *Config) **int { return &c.PEWarmupSteps },
			Check: func(v *int) string {
				if v == nil {
					return ""
				}
				return atLeast(0)(*v)
			},
		},
	},
	{
		Key: "pe_dropout", Flag: "pe-dropout",
		Help:  "dropout on the learned PE's table in training, 0 to 1",
		Value: Of[float64]{At: func(c *Config) *float64 { return &c.PEDropout }, Check: belowOne},
	},
	{
		Key: "init_scale", Flag: "init-scale",
		Help: "factor on the initial values of all weights but the PE's and those of layer norm",
		Value: Of[*float64]{
			At: func(c *Config) **float64 { return &c.InitScale }, Shown: "1",
			Check: func(v *float64) string {
				if v != nil && !(*v > 0 && *v <= 1e6) {
					return fmt.Sprintf("%g is not in (0, 1e6]", *v)
				}
				return ""
			},
		},
		Complete: func(c *Config, _ *Problems) {
			if c.InitScale != nil && *c.InitScale == 1 {
				c.InitScale = nil
			}
		},
	},
}
