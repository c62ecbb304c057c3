// Package arch holds the settings of a transformer that config.json stores and that package models
// builds from, so that both have the same. It imports nothing.
package arch

// Transformer describes the blocks of a transformer, and how tokens enter and leave it. The order of its
// fields is that of the keys in config.json.
type Transformer struct {
	Layers        int     `json:"layers"`
	Heads         int     `json:"heads"`
	DModel        int     `json:"d_model"`
	FFMultiple    int     `json:"ff_multiple"`    // d_ff = FFMultiple * DModel
	Dropout       float64 `json:"dropout"`        // on embeddings and attention weights, in training only
	TokenInput    string  `json:"token_input"`    // OneHot, Embedding or Scalar
	EmbeddingInit string  `json:"embedding_init"` // of TokenInput Embedding: LikeLinear or UnitNormal
	ReadOut       string  `json:"read_out"`       // LastToken, ProbeToken or ReadTokens
}

// How a token's content enters the model. OneHot is the published code's: a linear map of one-hot
// channels, all zero for a blank. Embedding is our reading of the text: a learned vector for each symbol.
// Scalar is for masked prediction: a linear map of the token's number, or the mask vector of a masked
// token.
const (
	OneHot    = "one-hot"
	Embedding = "embedding"
	Scalar    = "scalar"
)

// The initial values of embedded symbols. LikeLinear starts embeddings like the columns of OneHot's
// linear map, U(+-1/sqrt(symbols-1)); UnitNormal starts them as N(0,1), like torch.nn.Embedding. The paper
// names neither. UnitNormal learns several times slower with the paper's settings.
const (
	LikeLinear = "linear"
	UnitNormal = "normal"
)

// The token from which the answer is read. LastToken is the published code's choice. ProbeToken is our
// reading of the text. ReadTokens reads the tokens that a batch names, for masked prediction and
// sequences.
const (
	LastToken  = "last"
	ProbeToken = "probe"
	ReadTokens = "tokens"
)

// The vector of a masked token of TokenInput Scalar, before its PE: a learned one, or zeros.
const (
	LearnedMask = "learned"
	ZeroMask    = "zero"
)
