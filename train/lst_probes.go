package train

import (
	"fmt"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/torchpe"
)

// probes returns the PE tables pe/<layer> [E,N,D], the attention maps attention/<layer> [E,n,H,N,N]
// on the n validation puzzles, the predicted classes prediction/<split> [E,n], also for
// prediction/tokens<N>, and validation accuracies with noise (see robustness.addTensors).
func (t *lstTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	var out tensorList
	if err := t.addIntermediates(&out, e, step); err != nil {
		return nil, nil, err
	}
	addPrediction := func(r examples, a accuracy) {
		addTensor(&out, "prediction/"+r.name, []int{e.members(), r.n}, a.predicted)
	}
	for _, r := range []examples{t.iid, t.validation} {
		if r.n > 0 {
			a, err := t.evaluate(e, r, step)
			if err != nil {
				return nil, nil, err
			}
			addPrediction(r, a)
		}
	}
	var err error
	if t.atEnd, err = t.evaluateSizes(e, step); err != nil {
		return nil, nil, err
	}
	for i, a := range t.atEnd {
		addPrediction(t.sizes[i], a)
	}
	if t.config.TangentPuzzles > 0 {
		if t.tangent, err = t.tangentAlignments(e); err != nil {
			return nil, nil, err
		}
	}
	if len(t.config.Noise) > 0 {
		t.noisy, err = t.robustness(e, step, t.config.Noise, t.config.NoiseRepeats)
		if err != nil {
			return nil, nil, err
		}
		t.noisy.addTensors(&out)
	}
	return out.all, map[string]string{"step": fmt.Sprint(step), "puzzles": "validation"}, out.err
}

// addIntermediates adds the PE tables and attention maps.
func (t *lstTask) addIntermediates(out *tensorList, e *ensemble, step int) error {
	kept := map[string]*probe{}
	r := t.validation
	pass := forwardPass{r, step, []string{"pe/*", "attention/*"}}
	err := t.forward(e, pass, func(part piece, _ torchpe.Tensor, trace *models.Trace) {
		for _, name := range trace.Names() {
			x, _ := trace.Get(name)
			if kept[name] == nil {
				kept[name] = newProbe(name, x.Shape(), e.members(), r.n)
			}
			kept[name].put(part.from, part.n, torchpe.Values[float32](x))
		}
	})
	for name, p := range kept {
		addTensor(out, name, p.shape, p.values)
	}
	return err
}

// probe collects an intermediate over the pieces of a split.
type probe struct {
	shape     []int
	members   int
	perSample int // elements of one sample of one member; 0 for what all samples share
	values    []float32
}

// newProbe allocates an intermediate of n samples that has the given shape in one piece.
func newProbe(name string, shape []int, members, n int) *probe {
	if strings.HasPrefix(name, "pe/") && len(shape) == 3 { // [E,N,D]: the same for all samples
		return &probe{shape: shape, members: members}
	}
	full := append([]int{members, n}, shape[2:]...)
	p := &probe{shape: full, members: members, perSample: 1}
	for _, d := range shape[2:] {
		p.perSample *= d
	}
	p.values = make([]float32, members*n*p.perSample)
	return p
}

// put stores samples from...from+n.
func (p *probe) put(from, n int, values []float32) {
	if p.perSample == 0 {
		p.values = values
		return
	}
	all := p.shape[1]
	for m := range p.members {
		copy(p.values[(m*all+from)*p.perSample:], values[m*n*p.perSample:(m+1)*n*p.perSample])
	}
}
