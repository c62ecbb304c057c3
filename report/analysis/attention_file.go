package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/data/array/arrayfile"
	"torchpe/internal/metrics"
)

// attentionAxes maps the number of an array's axes to the names of those before [tokens,tokens].
var attentionAxes = map[int][]string{
	2: {}, 3: {"example"}, 4: {"layer", "example"}, 5: {"layer", "example", "head"},
}

// isAttention returns an error for a shape that attention maps cannot have.
func isAttention(shape []int) error {
	axes, ok := attentionAxes[len(shape)]
	if k := len(shape); !ok || shape[k-1] != shape[k-2] || shape[k-1] < 2 {
		return fmt.Errorf(
			"shape %v: want attention maps [tokens,tokens], [examples,tokens,tokens], [layers,examples,tokens,tokens] "+
				"or [layers,examples,heads,tokens,tokens] of 2 tokens or more", shape)
	}
	for i, axis := range axes {
		if shape[i] < 1 {
			return fmt.Errorf("shape %v has no %ss", shape, axis)
		}
	}
	return nil
}

// fileAttention reads the attention maps of FILE[:tensor], whose rows must be distributions.
func (in *Input) fileAttention(reference string) (*Model, error) {
	a, err := arrayfile.Read(reference, in.Header, isAttention)
	if err != nil {
		return nil, err
	}
	layers, maps := 1, metrics.Attention{Examples: 1, Heads: 1, Tokens: a.Shape[len(a.Shape)-1]}
	for i, axis := range attentionAxes[len(a.Shape)] {
		switch axis {
		case "layer":
			layers = a.Shape[i]
		case "example":
			maps.Examples = a.Shape[i]
		case "head":
			maps.Heads = a.Shape[i]
		}
	}
	if err := areDistributions(a); err != nil {
		return nil, err
	}
	maps.Layers = slices.Collect(slices.Chunk(a.Data, len(a.Data)/layers))
	in.Notes = append(in.Notes, numberedNames(a))
	names := a.Rows
	if names == nil {
		names = a.Columns
	}
	return &Model{Subject: Subject{Source: a.Source}, Names: names, maps: &maps}, nil
}

// areDistributions returns an error that names the first row that is not a distribution.
func areDistributions(a arrayfile.Array) error {
	n := a.Shape[len(a.Shape)-1]
	for at := 0; at < len(a.Data); at += n {
		sum := 0.0
		for j, v := range a.Data[at : at+n] {
			if v-v != 0 || v < 0 {
				return fmt.Errorf("%s: %s, column %d is %v: want weights of attention after the "+
					"softmax, which are at least 0", a.Source, rowOf(a.Shape, at/n), j, v)
			}
			sum += v
		}
		if !(math.Abs(sum-1) < metrics.SumTolerance) {
			return fmt.Errorf("%s: %s sums to %.6g: want weights of attention after the softmax, "+
				"whose rows (the last axis) sum to 1 within %g",
				a.Source, rowOf(a.Shape, at/n), sum, metrics.SumTolerance)
		}
	}
	return nil
}

// rowOf names row number at: "layer 0, example 3, row 5".
func rowOf(shape []int, at int) string {
	names := append(append([]string(nil), attentionAxes[len(shape)]...), "row")
	for i := len(names) - 1; i >= 0; i-- {
		names[i], at = fmt.Sprintf("%s %d", names[i], at%shape[i]), at/shape[i]
	}
	return strings.Join(names, ", ")
}
