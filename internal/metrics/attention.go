package metrics

import (
	"fmt"
	"math"
	"strings"

	"torchpe/internal/wording"
)

// Pooling says what of two models' attention maps is compared with what; the paper does not.
type Pooling string

// The poolings.
const (
	EachMap       Pooling = "each"    // each layer's map of each example with its counterpart, then the mean over all
	LayersPooled  Pooling = "layers"  // the mean over layers first, then each example with its counterpart
	ExamplePooled Pooling = "puzzles" // the mean over examples first, then each layer with its counterpart
	AllPooled     Pooling = "all"     // all maps as one vector
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
	return "", fmt.Errorf("pooling %q is unknown; there are %s%s", name, strings.Join(names, ", "),
		wording.Hint(name, names))
}

// Similarity compares the attention of two models.
type Similarity struct {
	Cosine float64   `json:"cosine"`
	JSD    float64   `json:"jsd"`    // Jensen-Shannon divergence in bits, 0 to 1, of the rows' distributions
	Layers []float64 `json:"layers"` // cosine of each layer, examples as pooled; nil where layers are pooled
}

// AttentionMaps are attention maps whose rows of Tokens weights each sum to 1.
type AttentionMaps struct {
	Layers   [][]float64 // [layers][Examples*Rows*Tokens]
	Examples int
	Rows     int // of an example: heads times tokens
	Tokens   int
}

// Compare compares maps with those of another model for the same examples, heads and tokens.
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

// SumTolerance bounds the distance from 1 of the sum of a distribution's weights. It exceeds the
// rounding to half precision.
const SumTolerance = 1e-3

// jsd returns the Jensen-Shannon divergence of two distributions in bits, 0 to 1 (Lin 1991); its
// root is scipy.spatial.distance.jensenshannon with base 2. Each must be at least 0 and sum to 1
// within SumTolerance.
func jsd(p, q []float64) (float64, error) {
	if len(p) != len(q) {
		return 0, fmt.Errorf("metrics: distributions over %d and %d", len(p), len(q))
	}
	var sp, sq float64
	for i := range p {
		if !(p[i] >= 0) || !(q[i] >= 0) {
			return 0, fmt.Errorf("metrics: weights %v and %v at %d: a distribution has none below 0", p[i], q[i], i)
		}
		sp, sq = sp+p[i], sq+q[i]
	}
	if !(math.Abs(sp-1) < SumTolerance && math.Abs(sq-1) < SumTolerance) {
		return 0, fmt.Errorf("metrics: weights that sum to %v and %v: a distribution's sum to 1", sp, sq)
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

// meanOf returns the mean of vectors.
func meanOf(all [][]float64) []float64 {
	out := make([]float64, len(all[0]))
	for _, x := range all {
		for i, v := range x {
			out[i] += v / float64(len(all))
		}
	}
	return out
}

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
