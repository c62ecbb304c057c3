package models

import (
	"cmp"
	"fmt"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// At returns the model with its tokens at other positions, more or fewer. It shares this model's
// trained parameters, which training may change; what the encoding computes from positions is
// computed anew. It returns an error if the encoding cannot be evaluated at more tokens
// (pe.Scheme.CheckTokens); with fewer it uses its first places. Params of the result holds the
// parameters of its encoding. Close it before this model.
func (m *Model) At(p pe.Positions) (*Model, error) {
	scheme, err := pe.Find(m.Config.PE)
	if err != nil {
		return nil, err
	}
	trained := m.Config.Positions.Tokens()
	if err := scheme.CheckTokens(trained, p.Tokens(), m.Config.PEOptions); err != nil {
		return nil, err
	}
	at := *m
	at.Config.Positions = p
	c := at.Config
	at.Params = torchpe.NewParamSet(len(c.Seeds), c.DType, c.Device)
	if scheme.CanExtrapolate(c.PEOptions) {
		built := c.encoding()
		built.Trained = cmp.Or(built.Trained, trained)
		if err := at.encode(scheme, built); err != nil {
			return nil, err
		}
	}
	if err := at.Params.BuildOver(m.Params, c.Seeds); err != nil {
		return nil, fmt.Errorf("%s at %d tokens: %w", c.PE, p.Tokens(), err)
	}
	// Detect positions that the encoding has no place for here instead of during an evaluation.
	if at.Encoding.Draw().Range == 0 {
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
