// Package pe holds the positional encodings, in families that share a mechanism: rotations
// (rotary.go), biases on the logits (bias.go), tables added to the input (table.go) and encodings
// of graphs (graph.go). A scheme has facts in schemes.yaml, a row with its options, and a function
// that builds its Encoding and states its formula.
//
// The transformer reads Attention when it is built, starts each forward pass with Begin, and calls
// the hooks that Begin returns, at least those of the encoding's Sites. It knows no scheme by name.
//
// Parameters and fixed tables belong to the ParamSet given to New, under names that start with
// "pe.". Begin computes once what the layers of a forward pass share. The only global is the
// registry.
//
// Shapes: E members, B batch, N tokens, D model width, H heads, Dh head width, L layers.
package pe

import (
	"math"
	"strings"

	"torchpe/torchpe"
)

// Site is a set of places in the transformer where a scheme acts.
type Site uint8

// The places.
const (
	AtEmbed  Site = 1 << iota // the input of a block
	AtQK                      // queries and keys
	AtLogits                  // attention logits, before mask and softmax
	AtOutput                  // the output of attention
	AtValues                  // values
)

// String lists the places, as in "embedding, q and k".
func (s Site) String() string {
	var names []string
	for _, place := range []struct {
		site Site
		name string
	}{
		{AtEmbed, "embedding"}, {AtQK, "q and k"}, {AtValues, "values"}, {AtLogits, "logits"},
		{AtOutput, "output"},
	} {
		if s&place.site != 0 {
			names = append(names, place.name)
		}
	}
	if names == nil {
		return "nowhere"
	}
	return strings.Join(names, ", ")
}

// Attention describes the attention that a scheme needs.
type Attention struct {
	Causal           bool    // token i sees only tokens j at its own or earlier positions
	Temperature      float64 // the scaled logits are divided by it before the softmax
	Bias             bool    // biases in the projections to q, k, v and out
	OutputProjection bool    // a linear map after the heads are merged
	LinearInit       bool    // projections start as U(+-1/sqrt(D)) instead of Xavier's
	Scale            float64 // the logits are Scale q k^T; 0 stands for 1/sqrt(Dh)
	Replaces         bool    // the Logits hook replaces Scale q k^T by its own logits
}

// LogitScale returns Scale, or 1/sqrt(Dh) if it is 0.
func (a Attention) LogitScale(headWidth int) float64 {
	if a.Scale != 0 {
		return a.Scale
	}
	return 1 / math.Sqrt(float64(headWidth))
}

// PlainAttention describes the attention of Vaswani et al. 2017, as in torch.nn.MultiheadAttention.
var PlainAttention = Attention{Temperature: 1, Bias: true, OutputProjection: true}

// Encoding is a positional encoding, with its parameters, for all layers of a model.
type Encoding interface {
	// Sites returns the places where the scheme acts in a layer: a hook changes its input if and
	// only if its site is declared.
	Sites(layer int) Site
	// Attention returns the attention that the scheme needs in a layer.
	Attention(layer int) Attention
	// Draw says which positions must be drawn for each batch (Positions.Drawn); its Range is 0 for none.
	Draw() Draw
	// Begin starts a forward pass in s over tokens at positions p.
	Begin(s *torchpe.Scope, p Positions) Hooks
}

// sitesIn returns the places where an encoding acts in any of count layers.
func sitesIn(e Encoding, count int) (all Site) {
	for layer := range count {
		all |= e.Sites(layer)
	}
	return all
}

// Hooks is an encoding within one forward pass.
type Hooks interface {
	// Embed changes the input x [E,B,N,D] of a block.
	Embed(layer int, x torchpe.Tensor) torchpe.Tensor
	// Table returns the table that Embed adds to x: [E,N,D], or [E,B,N,D] if it depends on drawn
	// positions. ok is false if Embed adds nothing, or something that depends on x. Tables are
	// traced and analysed.
	Table(layer int) (t torchpe.Tensor, ok bool)
	// AddsTable reports whether Embed of a layer returns exactly x + Table(layer), with a table
	// [E,N,D]: then the transformer may add the table where it computes x.
	AddsTable(layer int) bool
	// DropTables returns the hooks with each element of the trained tables that Embed adds dropped
	// with probability p, one draw for each member and step. ok is false if there is no such table.
	DropTables(p float64) (dropped Hooks, ok bool)
	// QKV changes the queries, keys and values of a, [E,B,H,N,Dh].
	QKV(a Attn) (q, k, v torchpe.Tensor)
	// Logits changes the scaled attention logits [E,B,H,N,N], before mask and softmax.
	Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor
	// Output changes out [E,B,H,N,Dh], the product of weights [E,B,H,N,N] and values.
	Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor
}

// Adding is implemented by Hooks whose Logits only adds a bias. Attention then needs no tensor of logits.
type Adding interface {
	// Bias returns what Logits adds: it broadcasts to the logits [E,B,H,N,N].
	Bias(a Attn) torchpe.Tensor
}

// Attn holds the attention of one layer for the hooks in it.
type Attn struct {
	Layer   int
	X       torchpe.Tensor // [E,B,N,D], from which q, k and v were projected
	Q, K, V torchpe.Tensor // [E,B,H,N,Dh]; for Logits and Output as returned by the QKV hook
	Scale   float64        // the logits are Scale q k^T
	// Project applies the layer's own projections to other vectors y [E,B,M,D], and returns
	// [E,B,H,M,Dh] each.
	Project func(y torchpe.Tensor) (q, k, v torchpe.Tensor)
}

// Identity implements Hooks that change nothing, for embedding in other hooks.
type Identity struct{}

// Embed returns x.
func (Identity) Embed(_ int, x torchpe.Tensor) torchpe.Tensor { return x }

// Table returns no table.
func (Identity) Table(int) (torchpe.Tensor, bool) { return torchpe.Tensor{}, false }

// AddsTable returns false.
func (Identity) AddsTable(int) bool { return false }

// DropTables returns ok false.
func (Identity) DropTables(float64) (Hooks, bool) { return nil, false }

// QKV returns q, k and v.
func (Identity) QKV(a Attn) (q, k, v torchpe.Tensor) { return a.Q, a.K, a.V }

// Logits returns logits.
func (Identity) Logits(_ Attn, logits torchpe.Tensor) torchpe.Tensor { return logits }

// Output returns out.
func (Identity) Output(_ Attn, _, out torchpe.Tensor) torchpe.Tensor { return out }

// None implements an encoding that acts nowhere, for embedding in schemes.
type None struct{}

// Sites returns the empty set.
func (None) Sites(int) Site { return 0 }

// Attention returns PlainAttention.
func (None) Attention(int) Attention { return PlainAttention }

// Draw returns the zero Draw: no positions are drawn.
func (None) Draw() Draw { return Draw{} }

// Begin returns hooks that change nothing.
func (None) Begin(*torchpe.Scope, Positions) Hooks { return Identity{} }

// encoding is an Encoding made of functions, as in most schemes.
type encoding struct {
	sites     Site
	attention Attention
	begin     func(s *torchpe.Scope, p Positions) Hooks
}

func (e encoding) Sites(int) Site { return e.sites }

func (e encoding) Attention(int) Attention { return e.attention }

func (e encoding) Draw() Draw { return Draw{} }

func (e encoding) Begin(s *torchpe.Scope, p Positions) Hooks { return e.begin(s, p) }

// qkvHooks change queries, keys and values.
type qkvHooks struct {
	Identity
	change func(a Attn) (q, k, v torchpe.Tensor)
}

func (h qkvHooks) QKV(a Attn) (q, k, v torchpe.Tensor) { return h.change(a) }

// logitHooks change the logits in other ways than by a sum.
type logitHooks struct {
	Identity
	change func(a Attn, logits torchpe.Tensor) torchpe.Tensor
}

func (h logitHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor { return h.change(a, logits) }
