package config

// ModelConfig is the shape of the transformer.
type ModelConfig struct {
	Layers        int     `json:"layers"`
	Heads         int     `json:"heads"`
	DModel        int     `json:"d_model"`
	FFMultiple    int     `json:"ff_multiple"` // d_ff / d_model
	Dropout       float64 `json:"dropout"`
	TokenInput    string  `json:"token_input"`
	EmbeddingInit string  `json:"embedding_init"`
	ReadOut       string  `json:"read_out"`
}

// Limits that keep a slip of the keyboard from asking for the impossible.
const (
	maxWidth  = 1 << 16
	maxLayers = 1 << 10
)

// OtherNames are flags that another command, or other programs, call by another name.
var OtherNames = map[string]string{"dim": "d-model", "d-model": "dim", "width": "d-model"}

var modelSettings = []Setting{
	{
		Key: "layers", Flag: "layers", Common: true, Help: "blocks",
		Value: Field[int]{Default: 4,
			DefaultFor: map[string]int{"sequence": 5, "sequence-quick": 3}, Check: in[int](1, maxLayers)},
	},
	{
		Key: "heads", Flag: "heads", Factor: true, Help: "attention heads",
		Value: Field[int]{Default: 1,
			DefaultFor: map[string]int{"sequence": 8, "sequence-quick": 4, ofText: 4}, Check: in[int](1, maxWidth)},
	},
	{
		Key: "d_model", Flag: "d-model", Common: true, Help: "width of the model",
		Value: Field[int]{
			Default: 160,
			DefaultFor: map[string]int{"quick": 64, "nmar": 64, "fmri": 64, "masked": 64, "sequence": 64,
				"sequence-quick": 64, ofText: 128},
			Check: in[int](1, maxWidth),
		},
		Check: func(c *Config, bad *Problems) {
			if c.Heads >= 1 && c.DModel >= 1 && c.DModel%c.Heads != 0 {
				bad.Add("--d-model: %d is not divisible by --heads %d", c.DModel, c.Heads)
			}
		},
	},
	{
		Key: "ff_multiple", Flag: "ff-multiple", Help: "width of the MLP over that of the model",
		Value: Field[int]{Default: 4, Check: in[int](1, 1024)},
	},
	{
		Key: "dropout", Flag: "dropout", Help: "dropout on embeddings and attention weights in training, 0 to 1",
		Value: Field[float64]{Check: belowOne},
	},
	{
		Key: "token_input", Flag: "token-input", Tasks: Puzzles,
		Help: "symbols as one-hot channels or as a learned embedding: one-hot, embedding",
		Value: Field[string]{
			Default:    "one-hot",
			DefaultFor: map[string]string{"text": "embedding"}, OneOf: []string{"one-hot", "embedding"},
		},
		Complete: puzzlesOnly(func(c *Config) *string { return &c.TokenInput }),
	},
	{
		Key: "embedding_init", Flag: "embedding-init", Tasks: Puzzles,
		Help:     "start of a learned embedding: linear, U(±1/√5) as the one-hot map has it, or normal, N(0,1)",
		Value:    Field[string]{Default: "linear", OneOf: []string{"linear", "normal"}},
		Complete: puzzlesOnly(func(c *Config) *string { return &c.EmbeddingInit }),
		Unused: func(c *Config) string {
			if c.TokenInput == "one-hot" {
				return "on one-hot symbols"
			}
			return ""
		},
	},
	{
		Key: "read_out", Flag: "read-out", Factor: true, Tasks: Puzzles, SameStepTime: true,
		Help: "token the answer is read from: last, probe",
		Value: Field[string]{
			Default:    "last",
			DefaultFor: map[string]string{"text": "probe"}, OneOf: []string{"last", "probe"},
		},
		Complete: puzzlesOnly(func(c *Config) *string { return &c.ReadOut }),
	},
}

// puzzlesOnly leaves out a text that other tasks do not have.
func puzzlesOnly(at func(*Config) *string) func(*Config, *Problems) {
	return func(c *Config, _ *Problems) {
		if !c.HasPuzzles() {
			*at(c) = ""
		}
	}
}
