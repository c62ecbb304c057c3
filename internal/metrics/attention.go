package metrics

import (
	"fmt"
	"math"
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
	Cosine float64   `json:"cosine"`
	JSD    float64   `json:"jsd"`    // mean Jensen-Shannon divergence of the rows in bits, 0 to 1
	Layers []float64 `json:"layers"` // cosine of each layer; nil where layers are pooled
}

// AttentionMaps holds attention maps. Each row has Tokens weights that sum to 1.
type AttentionMaps struct {
	Layers   [][]float64 // [layers][Examples*Rows*Tokens]
	Examples int
	Rows     int // rows of an example: heads times tokens
	Tokens   int
}

// Compare returns the similarity of m to the maps other of another model for the same examples, heads
// and tokens. It returns an error where sizes differ or a row is not a distribution.
func (m AttentionMaps) Compare(other [][]float64, how Pooling) (Similarity, error) {
	var s Similarity
	a, b, examples, rows, n := m.Layers, other, m.Examples, m.Rows, m.Tokens
	if len(a) == 0 || len(a) != len(b) || examples < 1 || rows < 1 || n < 1 {
		return s, fmt.Errorf("metrics: attention of %d and %d layers, %d examples of %d rows of %d",
			len(a), len(b), examples, rows, n)
	}
	for layer := range a {
		if len(a[layer]) != examples*rows*n || len(b[layer]) != examples*rows*n {
			return s, fmt.Errorf("metrics: layer %d has maps of %d and %d weights; %d examples of "+
				"%d rows of %d have %d",
				layer, len(a[layer]), len(b[layer]), examples, rows, n, examples*rows*n)
		}
	}
	layers := len(a)
	switch how {
	case LayersPooled:
		a, b, layers = [][]float64{meanOf(a)}, [][]float64{meanOf(b)}, 1
	case ExamplePooled:
		a, b = overExamples(a, examples), overExamples(b, examples)
		examples = 1
	case AllPooled:
		rows *= examples * layers
		a, b, layers, examples = [][]float64{join(a)}, [][]float64{join(b)}, 1, 1
	case EachMap:
	default:
		_, err := ParsePooling(string(how))
		return s, err
	}
	size := rows * n
	for layer := range layers {
		sum := 0.0
		for e := range examples {
			x, y := a[layer][e*size:(e+1)*size], b[layer][e*size:(e+1)*size]
			sum += cosine(x, y)
			for r := range rows {
				d, err := jsd(x[r*n:(r+1)*n], y[r*n:(r+1)*n])
				if err != nil {
					return s, fmt.Errorf("layer %d, example %d, row %d: %w", layer, e, r, err)
				}
				s.JSD += d / float64(layers*examples*rows)
			}
		}
		s.Cosine += sum / float64(layers*examples)
		s.Layers = append(s.Layers, sum/float64(examples))
	}
	if how == LayersPooled || how == AllPooled {
		s.Layers = nil
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
		size := len(x) / examples
		parts := make([][]float64, examples)
		for e := range parts {
			parts[e] = x[e*size : (e+1)*size]
		}
		out[k] = meanOf(parts)
	}
	return out
}

func join(all [][]float64) []float64 {
	var out []float64
	for _, x := range all {
		out = append(out, x...)
	}
	return out
}
