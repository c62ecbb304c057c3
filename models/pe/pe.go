// Package pe holds the positional encodings: each scheme is one file and one test, and registers itself.
//
// A scheme is an Encoding. The transformer asks it at its start what it needs of the attention around it, opens
// each forward pass with Begin, and calls all four hooks of what Begin returns, always: it knows no scheme by
// name. A scheme embeds Identity in its hooks and overrides those where it acts.
//
// Parameters and fixed tables belong to the ParamSet given to New, under names that start with "pe.". What a
// forward pass shares between layers is computed once in Begin. Nothing is kept in globals but the registry.
//
// Shapes: E members, B batch, N tokens, D model width, H heads, Dh head width, L layers. The package may import
// torchpe and the standard library only.
package pe

import "torchpe/torchpe"

// Site is a set of places where a scheme acts.
type Site uint8

// The places.
const (
	AtEmbed  Site = 1 << iota // the input of a block
	AtQK                      // queries and keys
	AtLogits                  // attention logits, before mask and softmax
	AtOutput                  // what attention gives out
)

// Attention is what a scheme needs of the attention around it.
type Attention struct {
	Causal           bool    // token i sees only tokens j whose position is not after its own
	Temperature      float64 // the scaled logits are divided by it before the softmax
	Bias             bool    // biases in the projections to q, k, v and out
	OutputProjection bool    // a linear map after the heads are merged
	LinearInit       bool    // projections start as a plain linear map, U(+-1/sqrt(D)), instead of Xavier's
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
	// QK changes queries and keys [E,B,H,N,Dh].
	QK(layer int, q, k torchpe.Tensor) (torchpe.Tensor, torchpe.Tensor)
	// Logits changes the scaled attention logits [E,B,H,N,N], before mask and softmax.
	Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor
	// Output changes what attention gives out, out [E,B,H,N,Dh] = weights [E,B,H,N,N] times values.
	Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor
}

// Attn is the attention of one layer, as the hooks on its logits and output see it.
type Attn struct {
	Layer int
	Q, K  torchpe.Tensor // [E,B,H,N,Dh], after the QK hook
	V     torchpe.Tensor // [E,B,H,N,Dh]
	Scale float64        // 1/sqrt(Dh): the logits are Scale q k^T
}

// Identity is Hooks that change nothing.
type Identity struct{}

// Embed returns x.
func (Identity) Embed(_ int, x torchpe.Tensor) torchpe.Tensor { return x }

// QK returns q and k.
func (Identity) QK(_ int, q, k torchpe.Tensor) (torchpe.Tensor, torchpe.Tensor) { return q, k }

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

// Tables is implemented by schemes that add a table to the input of blocks, so that it can be shown and analysed.
type Tables interface {
	// Table returns what is added at the input of a block: [E,N,D], or [E,B,N,D] where it depends on the draw. ok is
	// false where nothing is added.
	Table(layer int) (t torchpe.Tensor, ok bool)
}

// Sampler is implemented by encodings that need positions drawn anew for each batch.
type Sampler interface {
	// MaxPosition is the number of positions to draw from: 0..MaxPosition-1.
	MaxPosition() int
}
