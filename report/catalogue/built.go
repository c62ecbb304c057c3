package catalogue

import "torchpe/models"

// Model returns the scheme with its parameters as part of a model that has nothing else.
func (i *Instance) Model() *models.Model {
	s := i.Setting
	return &models.Model{
		Config: models.Config{Positions: i.Positions, Layers: s.Layers, Heads: s.Heads, DModel: s.DModel,
			PE: i.Scheme.Name, PEOptions: i.options()},
		Params: i.params, Encoding: i.encoding,
	}
}
