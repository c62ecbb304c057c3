package pe

import "torchpe/torchpe"

// StackForTest stacks up to three encodings as schemes called one, two, three.
func StackForTest(parts []Encoding) (Encoding, error) {
	schemes := make([]Scheme, len(parts))
	for i, part := range parts {
		schemes[i] = Scheme{
			Name: []string{"one", "two", "three"}[i],
			New:  func(Config, *torchpe.ParamSet) (Encoding, error) { return part, nil },
		}
	}
	c := Config{Members: 1, Layers: 1, Heads: 1, DModel: 4, Positions: Line(2)}
	return newStack(schemes, c, torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU))
}
