package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// Pooling selects how the attention maps of two models are averaged before they are compared. The
// paper does not say which it uses.
type Pooling string

// The poolings.
const (
	EachMap       Pooling = "each"    // compare the maps of each layer and example, then average
	LayersPooled  Pooling = "layers"  // average over layers, compare the maps of each example
	ExamplePooled Pooling = "puzzles" // average over examples, compare the maps of each layer
	AllPooled     Pooling = "all"     // compare all maps as one vector
)

func poolings() []Pooling { return []Pooling{EachMap, LayersPooled, ExamplePooled, AllPooled} }

// ParsePooling returns the pooling of that name.
func ParsePooling(name string) (Pooling, error) {
	var names []string
	for _, p := range poolings() {
		if string(p) == name {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown pooling %q; want one of %s%s", name, strings.Join(names, ", "),
		wording.Hint(name, names))
}

// Similarity holds two measures of the similarity of the attention of two models.
type Similarity struct {
	Cosine float64
	JSD    float64 // mean Jensen-Shannon divergence of the rows in bits, 0 to 1
}

// Attention holds attention maps. Each row has Tokens weights that sum to 1.
type Attention struct {
	Examples, Heads, Tokens int
	Layers                  [][]float64 // [layers][Examples*Heads*Tokens*Tokens]
}

// Size returns "4 layers, 24 examples, 1 head, 16 tokens".
func (a Attention) Size() string {
	return strings.Join([]string{wording.Count(len(a.Layers), "layer"), wording.Count(a.Examples, "example"),
		wording.Count(a.Heads, "head"), wording.Count(a.Tokens, "token")}, ", ")
}

// Compare returns the similarity of a to the maps b of another model for the same examples, heads
// and tokens. It returns an error if sizes differ or a row is not a distribution.
func (a Attention) Compare(b Attention, how Pooling) (s Similarity, err error) {
	x, y, examples, rows, n := a.Layers, b.Layers, a.Examples, a.Heads*a.Tokens, a.Tokens
	isWrong := func(layer []float64) bool { return len(layer) == 0 || len(layer) != examples*rows*n }
	if len(x) == 0 || a.Size() != b.Size() || slices.ContainsFunc(slices.Concat(x, y), isWrong) {
		return s, fmt.Errorf("metrics: attention of %s and of %s: sizes differ, or a layer has another number of "+
			"weights", a.Size(), b.Size())
	}
	switch how {
	case LayersPooled:
		x, y = [][]float64{meanOf(x)}, [][]float64{meanOf(y)}
	case ExamplePooled:
		x, y = overExamples(x, examples), overExamples(y, examples)
		examples = 1
	case AllPooled:
		rows *= examples * len(x)
		x, y, examples = [][]float64{slices.Concat(x...)}, [][]float64{slices.Concat(y...)}, 1
	case EachMap:
	default:
		_, err := ParsePooling(string(how))
		return s, err
	}
	size := rows * n
	for layer := range x {
		sum := 0.0
		for e := range examples {
			p, q := x[layer][e*size:(e+1)*size], y[layer][e*size:(e+1)*size]
			sum += CosineOf(p, q)
			for r := range rows {
				d, err := jsd(p[r*n:(r+1)*n], q[r*n:(r+1)*n])
				if err != nil {
					return s, fmt.Errorf("layer %d, example %d, row %d: %w", layer, e, r, err)
				}
				s.JSD += d / float64(len(x)*examples*rows)
			}
		}
		s.Cosine += sum / float64(len(x)*examples)
	}
	return s, nil
}

// SumTolerance is the largest accepted difference of the sum of a distribution from 1. It is above the
// rounding error of half precision.
const SumTolerance = 1e-3

// jsd returns the Jensen-Shannon divergence of two distributions in bits, 0 to 1 (Lin 1991). Its
// square root is scipy.spatial.distance.jensenshannon with base 2. It returns an error for a negative
// weight and for weights that do not sum to 1 within SumTolerance.
func jsd(p, q []float64) (float64, error) {
	if len(p) != len(q) {
		return 0, fmt.Errorf("metrics: distributions of %d and %d weights", len(p), len(q))
	}
	var sp, sq float64
	for i := range p {
		if !(p[i] >= 0) || !(q[i] >= 0) {
			return 0, fmt.Errorf("metrics: weights %v and %v at %d: want none below 0", p[i], q[i], i)
		}
		sp, sq = sp+p[i], sq+q[i]
	}
	if !(math.Abs(sp-1) < SumTolerance && math.Abs(sq-1) < SumTolerance) {
		return 0, fmt.Errorf("metrics: weights sum to %v and %v: want 1", sp, sq)
	}
	sum := 0.0
	part := func(x, m float64) {
		if x > 0 {
			sum += x * math.Log2(x/m)
		}
	}
	for i := range p {
		x, y := p[i]/sp, q[i]/sq
		m := (x + y) / 2
		part(x, m)
		part(y, m)
	}
	return max(0, sum/2), nil
}

func meanOf(all [][]float64) []float64 {
	out := make([]float64, len(all[0]))
	for _, x := range all {
		for i, v := range x {
			out[i] += v / float64(len(all))
		}
	}
	return out
}

// overExamples returns the mean of each layer's maps over the examples.
func overExamples(layers [][]float64, examples int) [][]float64 {
	out := make([][]float64, len(layers))
	for k, x := range layers {
		out[k] = meanOf(slices.Collect(slices.Chunk(x, len(x)/examples)))
	}
	return out
}
