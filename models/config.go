package models

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

const layerNormEps = 1e-5

// Config describes an ensemble of encoder transformers.
type Config struct {
	arch.Transformer
	Positions pe.Positions
	Trained   int // number of tokens in training, if Positions has more places; else 0
	// number of symbols, including the blank as symbol 0; unused with TokenInput Scalar
	Symbols   int
	Classes   int     // outputs of the read-out; 1 with TokenInput Scalar
	MaskToken string  // with TokenInput Scalar: arch.LearnedMask or arch.ZeroMask
	MaskSD    float64 // SD of the initial LearnedMask
	Causal    bool    // no token sees a later one, regardless of the encoding

	PE        string     // name of the scheme
	PEOptions pe.Options // resolved
	Sigma     []float64  // [E]; used by learned schemes
	PEInit    pe.Init    // how learned tables start
	PEDropout float64    // on the tables that the scheme adds, in training only
	// factor on the initial weights except those of the PE and of layer norm; 0 stands for 1
	InitScale float64
	// factor on the initial token embedding, on top of InitScale; 0 stands for 1
	EmbedInitScale float64

	Seeds  []uint64 // [E], one for each member
	DType  torchpe.DType
	Device torchpe.Device
}

// encoding returns the configuration of the encoding.
func (c Config) encoding() pe.Config {
	return pe.Config{
		Members: len(c.Seeds), Layers: c.Layers, Heads: c.Heads, DModel: c.DModel,
		Positions: c.Positions, Trained: c.Trained, Sigma: c.Sigma, Init: c.PEInit, Options: c.PEOptions,
		Dropout: c.PEDropout, Local: c.LocalLayers(),
	}
}

// Parts returns the schemes of the encoding, each with its options and layers.
func (c Config) Parts() ([]pe.Part, error) {
	scheme, err := pe.Find(c.PE)
	if err != nil {
		return nil, err
	}
	return scheme.Parts(c.encoding())
}

// Validate returns an error that lists all problems of the configuration.
func (c Config) Validate() error {
	var bad []string
	report := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	report(len(c.Seeds) == 0, "no seeds: an ensemble has at least one member")
	report(c.Positions.Tokens() == 0, "no tokens")
	if c.TokenInput == arch.Scalar {
		report(c.Classes != 1, "classes %d: want 1, because one number per token is predicted", c.Classes)
		report(c.ReadOut != arch.ReadTokens,
			"read-out %q: want tokens, because numbers are predicted at tokens", c.ReadOut)
		report(c.MaskToken != arch.LearnedMask && c.MaskToken != arch.ZeroMask,
			"mask token %q is not one of learned, zero", c.MaskToken)
		report(!(c.MaskSD >= 0) || math.IsInf(c.MaskSD, 0),
			"SD %g of the initial mask token is not a finite number of at least 0", c.MaskSD)
	} else {
		report(c.Symbols < 2, "symbols %d: at least 2", c.Symbols)
		report(c.Classes < 2, "classes %d: at least 2", c.Classes)
		report(c.EmbeddingInit != arch.LikeLinear && c.EmbeddingInit != arch.UnitNormal,
			"embedding init %q is not one of linear, normal", c.EmbeddingInit)
		report(!slices.Contains([]string{arch.LastToken, arch.ProbeToken, arch.ReadTokens}, c.ReadOut),
			"read-out %q is not one of last, probe, tokens", c.ReadOut)
	}
	report(c.Layers < 1, "layers %d: at least 1", c.Layers)
	report(c.Heads < 1, "heads %d: at least 1", c.Heads)
	report(c.DModel < 1, "d_model %d: at least 1", c.DModel)
	report(c.Heads >= 1 && c.DModel >= 1 && c.DModel%c.Heads != 0,
		"d_model %d is not divisible by %d heads", c.DModel, c.Heads)
	_, err := c.Windows()
	report(err != nil, "%v", err)
	report(c.FFMultiple < 1, "d_ff multiple %d: at least 1", c.FFMultiple)
	report(!(c.Dropout >= 0 && c.Dropout < 1), "dropout %g is not in [0, 1)", c.Dropout)
	for _, scale := range []float64{c.InitScale, c.EmbedInitScale} {
		report(!(scale >= 0) || math.IsInf(scale, 0),
			"scale %g of the initial weights is not a finite number above 0", scale)
	}
	report(!slices.Contains([]string{arch.OneHot, arch.Embedding, arch.Scalar}, c.TokenInput),
		"token input %q is not one of one-hot, embedding, scalar", c.TokenInput)
	_, err = pe.Find(c.PE)
	report(err != nil, "%v", err)
	if bad != nil {
		return fmt.Errorf("model: %s", strings.Join(bad, "; "))
	}
	return nil
}
