// Package pe holds the positional encodings: each scheme is one file and one test, and registers itself.
//
// A scheme is an Encoding. The transformer asks it at its start what it needs of the attention around it, opens
// each forward pass with Begin, and calls the hooks of what Begin returns, those of its Sites at least: it knows no scheme by
// name. A scheme embeds Identity in its hooks and overrides those where it acts.
//
// Parameters and fixed tables belong to the ParamSet given to New, under names that start with "pe.". What a
// forward pass shares between layers is computed once in Begin. Nothing is kept in globals but the registry.
//
// Shapes: E members, B batch, N tokens, D model width, H heads, Dh head width, L layers. The package may import
// torchpe and the standard library only.
package pe

import (
	"math"
	"strings"

	"torchpe/torchpe"
)

// Site is a set of places where a scheme acts.
type Site uint8

// The places.
const (
	AtEmbed  Site = 1 << iota // the input of a block
	AtQK                      // queries and keys
	AtLogits                  // attention logits, before mask and softmax
	AtOutput                  // what attention gives out
	AtValues                  // values
)

// String lists the places, as in "embedding, q and k".
func (s Site) String() string {
	var names []string
	for _, place := range []struct {
		site Site
		name string
	}{{AtEmbed, "embedding"}, {AtQK, "q and k"}, {AtValues, "values"}, {AtLogits, "logits"}, {AtOutput, "output"}} {
		if s&place.site != 0 {
			names = append(names, place.name)
		}
	}
	if names == nil {
		return "nowhere"
	}
	return strings.Join(names, ", ")
}

// Attention is what a scheme needs of the attention around it.
type Attention struct {
	Causal           bool    // token i sees only tokens j whose position is not after its own
	Temperature      float64 // the scaled logits are divided by it before the softmax
	Bias             bool    // biases in the projections to q, k, v and out
	OutputProjection bool    // a linear map after the heads are merged
	LinearInit       bool    // projections start as a plain linear map, U(+-1/sqrt(D)), instead of Xavier's
	Scale            float64 // the logits are Scale q k^T; 0 stands for 1/sqrt(Dh)
	Replaces         bool    // the Logits hook puts its own logits in place of Scale q k^T
}

// LogitScale returns Scale, or what 0 stands for.
func (a Attention) LogitScale(headWidth int) float64 {
	if a.Scale != 0 {
		return a.Scale
	}
	return 1 / math.Sqrt(float64(headWidth))
}

// PlainAttention is the attention of Vaswani et al. 2017, as in torch.nn.MultiheadAttention.
var PlainAttention = Attention{Temperature: 1, Bias: true, OutputProjection: true}

// Encoding is a positional encoding, with its parameters, for all layers of a model.
type Encoding interface {
	// Sites says where the scheme acts: a hook changes its input if and only if its site is declared.
	Sites() Site
	// Attention says what the scheme needs of the attention around it.
	Attention() Attention
	// Begin opens a forward pass in s over tokens at positions p.
	Begin(s *torchpe.Scope, p Positions) Hooks
}

// Hooks is an encoding within one forward pass.
type Hooks interface {
	// Embed changes the input x [E,B,N,D] of a block.
	Embed(layer int, x torchpe.Tensor) torchpe.Tensor
	// Table returns what Embed adds to x, where that is a table: [E,N,D], or [E,B,N,D] where it depends on the draw. ok is false
	// where it adds nothing, or what depends on x. It is shown and analysed.
	Table(layer int) (t torchpe.Tensor, ok bool)
	// QKV changes queries, keys and values [E,B,H,N,Dh], which are a's.
	QKV(a Attn) (q, k, v torchpe.Tensor)
	// Logits changes the scaled attention logits [E,B,H,N,N], before mask and softmax.
	Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor
	// Output changes what attention gives out, out [E,B,H,N,Dh] = weights [E,B,H,N,N] times values.
	Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor
}

// Attn is the attention of one layer, as the hooks in it see it.
type Attn struct {
	Layer   int
	X       torchpe.Tensor // [E,B,N,D], from which q, k and v were projected
	Q, K, V torchpe.Tensor // [E,B,H,N,Dh]; for Logits and Output as the QKV hook left them
	Scale   float64        // the logits are Scale q k^T
	// Project maps other vectors y [E,B,M,D] by the layer's own projections, to [E,B,H,M,Dh] each.
	Project func(y torchpe.Tensor) (q, k, v torchpe.Tensor)
}

// Identity is Hooks that change nothing.
type Identity struct{}

// Embed returns x.
func (Identity) Embed(_ int, x torchpe.Tensor) torchpe.Tensor { return x }

// Table returns no table.
func (Identity) Table(int) (torchpe.Tensor, bool) { return torchpe.Tensor{}, false }

// QKV returns q, k and v.
func (Identity) QKV(a Attn) (q, k, v torchpe.Tensor) { return a.Q, a.K, a.V }

// Logits returns logits.
func (Identity) Logits(_ Attn, logits torchpe.Tensor) torchpe.Tensor { return logits }

// Output returns out.
func (Identity) Output(_ Attn, _, out torchpe.Tensor) torchpe.Tensor { return out }

// None is the encoding that acts nowhere; schemes embed it.
type None struct{}

// Sites returns the empty set.
func (None) Sites() Site { return 0 }

// Attention returns PlainAttention.
func (None) Attention() Attention { return PlainAttention }

// Begin returns hooks that change nothing.
func (None) Begin(*torchpe.Scope, Positions) Hooks { return Identity{} }

// Sampler is implemented by encodings that need positions drawn anew for each batch.
type Sampler interface {
	// MaxPosition is the number of positions to draw from: 0..MaxPosition-1.
	MaxPosition() int
}
