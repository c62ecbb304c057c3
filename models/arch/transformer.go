// Package arch holds the settings of a transformer. They are part of config.json, and package
// models builds from them.
package arch

import (
	"fmt"
	"strconv"

	"torchpe/internal/layers"
)

// Transformer describes the blocks of a transformer, and how tokens enter and leave it. The order
// of its fields is the order of keys in config.json.
type Transformer struct {
	Layers        int     `json:"layers"`
	Heads         int     `json:"heads"`
	DModel        int     `json:"d_model"`
	FFMultiple    int     `json:"ff_multiple"`      // d_ff = FFMultiple * DModel
	Dropout       float64 `json:"dropout"`          // on embeddings and attention weights, in training only
	Window        string  `json:"window,omitempty"` // by layer, in the form that Windows reads; "" is none
	TokenInput    string  `json:"token_input"`      // OneHot, Embedding or Scalar
	EmbeddingInit string  `json:"embedding_init"`   // of TokenInput Embedding: LikeLinear or UnitNormal
	ReadOut       string  `json:"read_out"`         // LastToken, ProbeToken or ReadTokens
}

// Windows returns the window of each layer: a token sees only tokens less than this many places
// away, or all for 0.
func (t Transformer) Windows() ([]int, error) {
	windows := make([]int, t.Layers)
	if t.Window == "" {
		return windows, nil
	}
	list, err := layers.Parse(t.Window)
	if err != nil {
		return nil, err
	}
	of, err := list.Assign(t.Layers, nil)
	if err != nil {
		return nil, err
	}
	for layer, entry := range of {
		text := list[entry].Value
		if windows[layer], err = strconv.Atoi(text); err != nil || windows[layer] < 0 {
			return nil, fmt.Errorf("%q is not a number of places", text)
		}
	}
	return windows, nil
}

// LocalLayers reports for each layer whether it has a window; nil if Windows returns an error.
func (t Transformer) LocalLayers() (local []bool) {
	windows, err := t.Windows()
	if err != nil {
		return nil
	}
	for _, window := range windows {
		local = append(local, window > 0)
	}
	return local
}

// How a token's content enters the model. OneHot, as in the published code, is a linear map of
// one-hot channels, all zero for a blank. Embedding, our reading of the text, is a learned vector
// for each symbol. Scalar, for masked prediction, is a linear map of the token's number, or the
// mask vector for a masked token.
const (
	OneHot    = "one-hot"
	Embedding = "embedding"
	Scalar    = "scalar"
)

// The initial values of embedded symbols. LikeLinear starts embeddings like the columns of OneHot's
// linear map, U(+-1/sqrt(symbols-1)); UnitNormal starts them as N(0,1), like torch.nn.Embedding.
// The paper does not say which. UnitNormal learns several times slower with the paper's settings.
const (
	LikeLinear = "linear"
	UnitNormal = "normal"
)

// The token from which the answer is read. LastToken is the choice of the published code,
// ProbeToken our reading of the text. ReadTokens reads the tokens that a batch names, for masked
// prediction and sequences.
const (
	LastToken  = "last"
	ProbeToken = "probe"
	ReadTokens = "tokens"
)

// The embedding of a masked token with TokenInput Scalar, before its PE: learned or zeros.
const (
	LearnedMask = "learned"
	ZeroMask    = "zero"
)
