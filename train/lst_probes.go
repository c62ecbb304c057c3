package train

import (
	"fmt"
	"strings"

	"torchpe/models"
	"torchpe/torchpe"
	"torchpe/train/runlog/safetensors"
)

// probes returns the PE tables pe/<layer> [E,N,D], the attention maps attention/<layer> [E,n,H,N,N] on the n validation
// puzzles, the predicted classes prediction/<split> [E,n] (see also sizeProbes), and validation accuracies with noise (see robustness.tensors).
func (t *lstTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	kept := map[string]*probe{}
	r := t.held["validation"]
	err := t.forward(e, r, step, []string{"pe/*", "attention/*"}, func(from, n int, _ torchpe.Tensor, trace *models.Trace) {
		for _, name := range trace.Names() {
			x, _ := trace.Get(name)
			if kept[name] == nil {
				kept[name] = newProbe(name, x.Shape(), e.members(), r.n)
			}
			kept[name].put(from, n, torchpe.Values[float32](x))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	var out []safetensors.Tensor
	for name, p := range kept {
		x, err := safetensors.New(name, p.shape, p.values)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
	}
	for _, split := range []string{"iid", "validation"} {
		if t.held[split].n == 0 {
			continue
		}
		a, err := t.evaluate(e, t.held[split], step)
		if err != nil {
			return nil, nil, err
		}
		x, err := safetensors.New("prediction/"+split, []int{e.members(), t.held[split].n}, a.predicted)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
	}
	sizes, err := t.sizeProbes(e, step)
	if err != nil {
		return nil, nil, err
	}
	out = append(out, sizes...)
	if len(t.config.Noise) > 0 {
		if t.noisy, err = t.robustness(e, step, t.config.Noise, t.config.NoiseRepeats); err != nil {
			return nil, nil, err
		}
		tensors, err := t.noisy.tensors()
		if err != nil {
			return nil, nil, err
		}
		out = append(out, tensors...)
	}
	return out, map[string]string{"step": fmt.Sprint(step), "puzzles": "validation"}, nil
}

// probe collects an intermediate over the pieces of a split.
type probe struct {
	shape     []int
	members   int
	perSample int // elements of one sample of one member; 0 for what all samples share
	values    []float32
}

// newProbe makes room for an intermediate that has the given shape in one piece.
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
