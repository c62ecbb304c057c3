// Package models implements the encoder transformer of the paper: an ensemble of E independent members.
// Every parameter and activation has a leading axis E, and every linear map is one batched product.
//
// A block, with post-layer-norm and GELU after both linear maps of the MLP, is
//
//	x <- PE hook(x)
//	x <- LN(x + attention(x))
//	x <- LN(x + GELU(W2 GELU(W1 x + b1) + b2))
//
// The package knows no positional encoding by name. Of this module it imports only torchpe,
// models/arch and models/pe.
package models

import (
	"fmt"
	"math/rand/v2"

	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Model is an ensemble with its parameters. Call Close when done.
type Model struct {
	Config   Config
	Params   *torchpe.ParamSet
	Encoding pe.Encoding

	encodingSize   int            // trained parameters of the encoding per member
	encodingCols   int            // their number of columns in Params' buffer, from the first
	attention      []pe.Attention // [L]
	sights         []pe.Sight     // [L]
	embedW, embedB *torchpe.Param
	maskToken      *torchpe.Param // nil except for TokenInput Scalar with LearnedMask
	blocks         []block
	headW, headB   *torchpe.Param
}

// block holds the parameters of one layer.
type block struct {
	qkvW, qkvB, outW, outB           *torchpe.Param // all but qkvW may be nil
	norm1W, norm1B, norm2W, norm2B   *torchpe.Param
	mlpInW, mlpInB, mlpOutW, mlpOutB *torchpe.Param
}

// New builds the ensemble. Parameters of member e are drawn from streams of Seeds[e], by name.
func New(c Config) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	scheme, err := pe.Find(c.PE)
	if err != nil {
		return nil, err
	}
	ps := torchpe.NewParamSet(len(c.Seeds), c.DType, c.Device)
	m := &Model{Config: c, Params: ps}
	if err := m.encode(scheme, c.encoding()); err != nil {
		return nil, err
	}
	m.encodingSize, m.encodingCols = ps.Count(), ps.Columns()
	m.declare()
	if err := ps.Build(c.Seeds); err != nil {
		return nil, err
	}
	return m, nil
}

// encode builds the encoding, declares its parameters, and sets the attention that each layer needs
// around it.
func (m *Model) encode(scheme pe.Scheme, c pe.Config) (err error) {
	if m.Encoding, err = scheme.Build(c, m.Params); err != nil {
		return err
	}
	windows, err := m.Config.Windows()
	if err != nil {
		return err
	}
	m.attention, m.sights = make([]pe.Attention, c.Layers), make([]pe.Sight, c.Layers)
	for layer, window := range windows {
		m.attention[layer] = m.Encoding.Attention(layer)
		m.sights[layer] = pe.Sight{Causal: m.attention[layer].Causal || m.Config.Causal, Window: window}
	}
	return nil
}

// Attention returns the attention of a layer, and which keys its queries see.
func (m *Model) Attention(layer int) (pe.Attention, pe.Sight) {
	return m.attention[layer], m.sights[layer]
}

// EncodingSize returns the number of trained parameters in a member's encoding.
func (m *Model) EncodingSize() int { return m.encodingSize }

// EncodingColumns returns the number of columns of Params' buffer [E,P], from the first, that
// belong to the encoding.
func (m *Model) EncodingColumns() int { return m.encodingCols }

// Close frees the parameters.
func (m *Model) Close() { m.Params.Close() }

// scaled returns init with its values times InitScale.
func (m *Model) scaled(init torchpe.Init) torchpe.Init { return times(m.Config.InitScale, init) }

// scaledEmbedding returns init with its values times InitScale and EmbedInitScale.
func (m *Model) scaledEmbedding(init torchpe.Init) torchpe.Init {
	return times(m.Config.EmbedInitScale, m.scaled(init))
}

// times returns init with its values multiplied by a factor; 0 stands for 1.
func times(by float64, init torchpe.Init) torchpe.Init {
	if by == 0 || by == 1 {
		return init
	}
	return func(member int, rng *rand.Rand, out []float64) {
		init(member, rng, out)
		for i := range out {
			out[i] *= by
		}
	}
}

// declare adds all parameters except the encoding's, with PyTorch's default initial values times InitScale.
func (m *Model) declare() {
	c, ps := m.Config, m.Params
	d, ff := c.DModel, c.FFMultiple*c.DModel
	linear := func(name string, out, in int) (w, b *torchpe.Param) {
		start := m.scaled(torchpe.FanIn(in))
		if name == "embed" {
			start = m.scaledEmbedding(torchpe.FanIn(in))
		}
		w = ps.Add(name+".weight", true, start, out, in)
		return w, ps.Add(name+".bias", true, start, out)
	}
	norm := func(name string) (w, b *torchpe.Param) {
		w = ps.Add(name+".weight", true, torchpe.Constant(1), d)
		return w, ps.Add(name+".bias", true, torchpe.Constant(0), d)
	}
	channels := c.Symbols - 1
	switch c.TokenInput {
	case arch.OneHot:
		m.embedW, m.embedB = linear("embed", d, channels)
	case arch.Scalar:
		m.embedW, m.embedB = linear("embed", d, 1)
		if c.MaskToken == arch.LearnedMask {
			m.maskToken = ps.Add("embed.mask", true, m.scaledEmbedding(torchpe.Normal(0, c.MaskSD)), d)
		}
	case arch.Embedding:
		start := torchpe.FanIn(channels)
		if c.EmbeddingInit == arch.UnitNormal {
			start = torchpe.Normal(0, 1)
		}
		m.embedW = ps.Add("embed.weight", true, m.scaledEmbedding(start), c.Symbols, d)
	}
	m.blocks = make([]block, c.Layers)
	for i := range m.blocks {
		b, name := &m.blocks[i], fmt.Sprintf("block%d.", i)
		m.declareAttention(i, name)
		b.norm1W, b.norm1B = norm(name + "norm1")
		b.mlpInW, b.mlpInB = linear(name+"mlp.in", ff, d)
		b.mlpOutW, b.mlpOutB = linear(name+"mlp.out", d, ff)
		b.norm2W, b.norm2B = norm(name + "norm2")
	}
	m.headW, m.headB = linear("head", c.Classes, d)
}

// declareAttention adds the projections of one layer, with the scheme's choice of initial values:
// Xavier with zero biases as in torch.nn.MultiheadAttention, or those of a plain linear map.
func (m *Model) declareAttention(layer int, name string) {
	b, a := &m.blocks[layer], m.attention[layer]
	ps, d := m.Params, m.Config.DModel
	in, bias := torchpe.Xavier(d, 3*d), torchpe.Constant(0)
	if a.LinearInit {
		in, bias = torchpe.FanIn(d), torchpe.FanIn(d)
	}
	b.qkvW = ps.Add(name+"attn.in.weight", true, m.scaled(in), 3*d, d)
	if a.Bias {
		b.qkvB = ps.Add(name+"attn.in.bias", true, m.scaled(bias), 3*d)
	}
	if !a.OutputProjection {
		return
	}
	b.outW = ps.Add(name+"attn.out.weight", true, m.scaled(torchpe.FanIn(d)), d, d)
	if a.Bias {
		b.outB = ps.Add(name+"attn.out.bias", true, m.scaled(bias), d)
	}
}
