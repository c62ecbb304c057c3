package config

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
	InitScale      *float64          `json:"init_scale,omitempty"`       // nil is 1
	EmbedInitScale *float64          `json:"embed_init_scale,omitempty"` // nil is 1
	From           *FromConfig       `json:"from,omitempty"`             // nil: weights are drawn
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

// startSettings are those of parameters at their start, and of the encoding's in training.
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
		Help: "start at gradients: share of the correlations of each token that is dropped, the least " +
			"(default: 0.9; of 20 tokens or fewer 0.5)",
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
		Help: "factor on the initial values of all weights but the PE's and those of layer norm",
	},
	{
		Key: "embed_init_scale", Flag: "embed-init-scale", Zero: "1", Range: "(0, 1e6]",
		Help: "factor on the initial values of the token embedding, on top of --init-scale",
	},
}
