package models

import (
	"fmt"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// At returns the model with its tokens at other positions, more or fewer: its trained parameters are this model's and follow its training;
// what the encoding computes from positions is made anew. An encoding that cannot be evaluated at more tokens is an error
// (pe.Scheme.CheckTokens); at fewer it does as it was built, and sees the first places. Params of the result are those of its encoding.
// Close it before this model.
func (m *Model) At(p pe.Positions) (*Model, error) {
	scheme, err := pe.Find(m.Config.PE)
	if err != nil {
		return nil, err
	}
	trained := m.Config.Positions.Tokens()
	if err := scheme.CheckTokens(trained, p.Tokens(), m.Config.PEOptions); err != nil {
		return nil, err
	}
	c := m.Config
	at := *m
	at.Config.Positions = p
	at.Params = torchpe.NewParamSet(len(c.Seeds), c.DType, c.Device)
	if scheme.CanExtrapolate(c.PEOptions) {
		at.Encoding, err = scheme.Build(pe.Config{
			Members: len(c.Seeds), Layers: c.Layers, Heads: c.Heads, DModel: c.DModel,
			Positions: p, Trained: trained, Sigma: c.Sigma, Init: c.PEInit, Options: c.PEOptions,
		}, at.Params)
		if err != nil {
			return nil, err
		}
		at.attention = at.Encoding.Attention()
	}
	if err := at.Params.BuildOver(m.Params, c.Seeds); err != nil {
		return nil, fmt.Errorf("%s at %d tokens: %w", c.PE, p.Tokens(), err)
	}
	// Positions that the encoding has no place for are found here, and not in the middle of an evaluation.
	if _, drawn := at.Encoding.(pe.Sampler); !drawn {
		s := torchpe.NewScopeNoGrad()
		err = torchpe.Catch(func() { at.Encoding.Begin(s, p) })
		s.Close()
	}
	if err != nil {
		at.Close()
		return nil, err
	}
	return &at, nil
}
