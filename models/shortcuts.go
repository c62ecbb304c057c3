package models

import (
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// shortcuts lists what one forward pass skips or shares. No shortcut changes the result by more
// than rounding. shortcutsOf chooses all of them.
type shortcuts struct {
	// Tokens with the same symbol and position have the same input to the first block: it projects
	// one row for all of them, if there are fewer rows than tokens.
	sharesRows bool
	layers     []shortcut
}

// shortcut lists the choices for one layer.
type shortcut struct {
	attention attentionForm
	// The maps of a single head are multiplied out in pairs, which costs 12 D^3 operations and
	// saves 12 D^2 per token.
	folds bool
	// The layer norm before this layer adds the PE table, which saves one pass over memory.
	hasTable bool
	// Only the tokens that are read are computed: after attention each token is independent of the others.
	readsOnly bool
	// Only these tokens have queries in the operator of `fused`, if no bias has a row for each query.
	asksOnly bool
}

// attentionForm says how many operators compute a layer's attention.
type attentionForm int

const (
	// The encoding, dropout or the trace uses logits or weights as tensors.
	byWeights attentionForm = iota
	// One operator from queries, keys and values onwards; the encoding adds a bias to the logits,
	// or nothing.
	fused
	// One operator for the projections, the attention, the residual sum and its layer norm.
	fusedBlock
)

// shortcutsOf chooses the shortcuts of a pass that still compute everything the trace asks for.
func (m *Model) shortcutsOf(p pass) shortcuts {
	c, batch, last := m.Config, p.batch, len(m.blocks)-1
	onCPU := c.Device == torchpe.CPU // a GPU is limited by memory, not by products
	// tf32 and bf16 round the gradient of each token instead of that of a row.
	exact := torchpe.Precision() == "fp32"
	drops := batch.Training && c.Dropout > 0
	examples, tokens := batch.shape()[1], batch.shape()[1]*batch.shape()[2]
	alike := m.Encoding.Sites(0)&pe.AtEmbed == 0 || p.hooks.AddsTable(0)

	all := shortcuts{layers: make([]shortcut, len(m.blocks))}
	all.sharesRows = onCPU && exact && alike && !drops && !batch.Noise.Defined() && p.trace == nil &&
		examples >= 2*m.kinds()
	for layer := range all.layers {
		l := &all.layers[layer]
		if !drops && !p.trace.wants(attentionName(layer)) {
			l.attention = m.attentionForm(layer, p.hooks)
		}
		l.folds = l.attention == fusedBlock && onCPU && exact && c.Heads == 1 && tokens >= 2*c.DModel
		l.hasTable = layer > 0 && p.hooks.AddsTable(layer) && !p.trace.wants(hiddenName(layer-1))
		l.readsOnly = layer == last && !p.trace.wants(hiddenName(layer))
		biased := m.Encoding.Sites(layer)&pe.AtLogits != 0 || m.sights[layer] != (pe.Sight{})
		l.asksOnly = l.readsOnly && l.attention == fused && !biased
	}
	return all
}

// attentionForm returns the form that the encoding allows in a layer if nothing uses the weights.
func (m *Model) attentionForm(layer int, hooks pe.Hooks) attentionForm {
	sites, attention := m.Encoding.Sites(layer), m.attention[layer]
	switch {
	case sites&^pe.AtEmbed == 0 && attention.OutputProjection:
		return fusedBlock
	case sites&(pe.AtLogits|pe.AtOutput) == 0:
		return fused
	}
	_, adds := hooks.(pe.Adding)
	if adds && sites&pe.AtOutput == 0 && attention.Temperature == 1 && m.Config.Device == torchpe.CPU {
		return fused
	}
	return byWeights
}
