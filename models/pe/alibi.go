// alibi: a penalty on the logits that grows with distance, steeper in some heads than in others
// (Press et al. 2022, "Train Short, Test Long", section 3).
//
//	logits_ij = q_i k_j / sqrt(Dh) - m_h (i-j) for j <= i,  m_h = 2^(-8h/H) for h = 1..H
//
// For H that is no power of 2 the slopes are those of the power below, followed by every second one
// of the power above, as in the authors' code. That code adds m_h j, which softmax cannot tell from
// -m_h (i-j). The paper has no form for both directions; two are in use: -m_h |i-j|
// (x-transformers), and DeepMind's, which takes half a step off for keys before the query, so that
// left and right can be told apart. Over coordinates of more dimensions the distance is the Euclidean
// one, as between patches of an image (Fuller et al. 2023, "CROMA"). Nothing is trained; all layers
// share the bias.

package pe

import (
	"math"

	"torchpe/torchpe"
)

var (
	alibiForm = Option{Name: "alibi", Default: "causal", Check: oneOf("causal", "symmetric",
		"sided", "euclidean"),
		Help: "distance of alibi: causal, the same both ways, half a step less for keys before " +
			"the query, or that of the tokens' coordinates (on a grid those of cells)"}
	alibiScaled = Option{Name: "alibi-scaled", Default: "false", Check: yesNo,
		Help: "whether the bias of alibi is divided by sqrt(Dh) as the logits are"}
)

func init() {
	Register(Scheme{
		Name:         "alibi",
		Extrapolates: Always,
		Options:      []Option{alibiForm, alibiScaled},
		New:          newALiBi,
	})
}

type alibi struct {
	atLogits
	slopes *torchpe.Param // [E,H]
	form   string
	scale  float64 // of the bias
}

func newALiBi(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	a := &alibi{slopes: addSlopes(c, ps), form: c.Options.Text(alibiForm.Name), scale: 1}
	if c.Options.Bool(alibiScaled.Name) {
		a.scale = 1 / math.Sqrt(float64(c.HeadWidth()))
	}
	return a, nil
}

// addSlopes adds m_h for each head, which are not trained.
func addSlopes(c Config, ps *torchpe.ParamSet) *torchpe.Param {
	slopes := alibiSlopes(c.Heads)
	return ps.Add("pe.slopes", false, computed(func(h int) float64 { return slopes[h] }), c.Heads)
}

// alibiSlopes returns m_h for each head.
func alibiSlopes(heads int) []float64 {
	below := 1 << int(math.Log2(float64(heads)))
	slopes := make([]float64, 0, heads)
	for h := 1; h <= below; h++ {
		slopes = append(slopes, math.Pow(2, -8*float64(h)/float64(below)))
	}
	for h := 1; len(slopes) < heads; h += 2 {
		slopes = append(slopes, math.Pow(2, -8*float64(h)/float64(2*below)))
	}
	return slopes
}

func (a *alibi) Attention() Attention { return attentionWithMask(a.form == "causal") }

// distance returns the factor of the slope for the places of a query and a key.
func (a *alibi) distance(i, j int) float64 {
	switch {
	case a.form == "causal":
		return float64(max(i-j, 0)) // keys after the query are masked
	case a.form == "sided" && j < i:
		return float64(i-j) - 0.5
	}
	return math.Abs(float64(i - j))
}

// euclidean returns the distance of two points.
func euclidean(x, y []float64) float64 {
	squares := 0.0
	for a := range x {
		squares += (x[a] - y[a]) * (x[a] - y[a])
	}
	return math.Sqrt(squares)
}

func (a *alibi) Begin(s *torchpe.Scope, p Positions) Hooks {
	slopes := a.slopes.In(s)
	var distances torchpe.Tensor
	if n := p.Tokens(); a.form == "euclidean" {
		of := func(x, y []float64) float64 { return -a.scale * euclidean(x, y) }
		distances = numbers(s, slopes, pairs(p.coordinates("alibi", 0), of), n, n)
	} else {
		distances = pairTensor(s, slopes, p.Index, func(i, j int) float64 {
			return -a.scale * a.distance(i, j)
		})
	}
	return biasHooks{bias: slopes.Reshape(slopes.Size(0), 1, slopes.Size(1), 1, 1).Mul(distances)}
}
