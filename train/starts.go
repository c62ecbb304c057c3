package train

import (
	"cmp"
	"fmt"
	"math"

	"torchpe/data/masked"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// startCoordinates returns the coordinates of tokens, by their Index, at which learned tables start, and a
// note on them; nil where they start otherwise. They follow from where the tokens lie, or from the
// training frames, which baselines hold; nil for a task without series.
func (c Config) startCoordinates(at pe.Positions, baselines *masked.Baselines) (
	coordinates [][]float64, note string, err error,
) {
	e, err := c.encoding()
	if err != nil {
		return nil, "", err
	}
	init := e.start
	var x []float64
	var k int
	switch init.Kind {
	case pe.MDSInit:
		x, k, note, err = c.scaled(init, at, baselines)
	case pe.GradientsInit:
		x, k, note, err = c.gradients(init, baselines)
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("--pe-init %s: %w", init, err)
	}
	coordinates = make([][]float64, at.Tokens())
	for token, row := range at.Index {
		coordinates[row] = x[token*k : (token+1)*k]
	}
	return coordinates, fmt.Sprintf("start of %s: %s", c.PE, note), nil
}

// dims returns the number of coordinates that init asks for, by default at most `most`.
func (c Config) dims(init pe.Init, tokens, most int) (int, error) {
	there := min(tokens-1, c.DModel)
	if init.Rank > there {
		return 0, fmt.Errorf("%d tokens in tables of %d columns have at most %s", tokens, c.DModel,
			wording.Count(there, "coordinate"))
	}
	return cmp.Or(init.Rank, min(there, most)), nil
}

// scaled returns coordinates [N,k] whose distances approximate those of the tokens: of their positions if
// a file or the task has them, else 1 - r of their training frames. Classical scaling finds them; a descent
// of the stress refines them.
func (c Config) scaled(init pe.Init, at pe.Positions, baselines *masked.Baselines) (
	x []float64, k int, note string, err error,
) {
	n := at.Tokens()
	d, from := []float64(nil), fmt.Sprintf("of tokens on %v", at)
	if baselines == nil || c.Positions != nil {
		d, err = at.Distances()
	} else {
		from = fmt.Sprintf("1 - r over %s", wording.Count(baselines.Frames, "training frame"))
		if d, err = baselines.Correlation(); err == nil {
			for i := range d {
				d[i] = 1 - d[i]
			}
		}
	}
	if err != nil {
		return nil, 0, "", err
	}
	most, err := c.dims(init, n, c.DModel)
	if err != nil {
		return nil, 0, "", err
	}
	all, err := metrics.ClassicalMDS(d, n, most)
	if err != nil {
		return nil, 0, "", err
	}
	if x, k = withoutZeros(all, n, most); k == 0 {
		return nil, 0, "", fmt.Errorf("the distances %s are all 0", from)
	}
	stress := func() float64 { // without the last digits of sums that are 0
		return math.Round(1e10*metrics.Stress(d, x, n, k)) / 1e10
	}
	classical := stress()
	x = metrics.RefineMDS(d, x, n, k)
	return x, k, fmt.Sprintf("%s of distances %s, stress-1 %.3g (%.3g by classical scaling)",
		wording.Count(k, "coordinate"), from, stress(), classical), nil
}

// withoutZeros returns the columns of x [n,most] before the first that is 0 up to rounding.
func withoutZeros(x []float64, n, most int) (kept []float64, k int) {
	lengths := make([]float64, most)
	for i, v := range x {
		lengths[i%most] = math.Hypot(lengths[i%most], v)
	}
	for k < most && lengths[k] > 1e-6*lengths[0] {
		k++
	}
	for i := range n {
		kept = append(kept, x[i*most:i*most+k]...)
	}
	return kept, k
}

// With fewer tokens than leastForSparsity the usual sparsity, 0.9, would keep at most two correlations of
// a token, one of which is its own: then half of them are dropped.
const (
	leastForSparsity = 21
	sparsityOfFew    = 0.5
)

// gradients returns the coordinates [N,k] of tokens along the gradients of the correlations of their
// training frames.
func (c Config) gradients(init pe.Init, baselines *masked.Baselines) (
	x []float64, k int, note string, err error,
) {
	r, err := baselines.Correlation()
	if err != nil {
		return nil, 0, "", err
	}
	n := int(math.Sqrt(float64(len(r))))
	o, why := metrics.DefaultGradients(), ""
	if c.PEInitSparsity != nil {
		o.Sparsity = *c.PEInitSparsity
	} else if n < leastForSparsity {
		why = fmt.Sprintf(" (%g leaves a token too few of %d correlations)", o.Sparsity, n)
		o.Sparsity = sparsityOfFew
	}
	if o.Dims, err = c.dims(init, n, o.Dims); err != nil {
		return nil, 0, "", err
	}
	x, strengths, err := metrics.Gradients(r, n, o)
	if err != nil {
		return nil, 0, "", fmt.Errorf("%w: take a lower --pe-init-sparsity", err)
	}
	return x, o.Dims, fmt.Sprintf("%s of correlations over %s, sparsity %g%s, strengths %.3g to %.3g",
		wording.Count(o.Dims, "gradient"), wording.Count(baselines.Frames, "training frame"), o.Sparsity, why,
		strengths[0], strengths[o.Dims-1]), nil
}
