package train

import (
	"fmt"
	"strconv"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// robustness counts the validation puzzles that each member answers correctly with noise a z on its
// token embeddings, z ~ N(0,1) for each token and dimension on its own. All amplitudes a of a
// repeat share z, so curves over a are smooth.
type robustness struct {
	amplitudes       []float64 // [A]
	members, repeats int       // E, R
	puzzles          int
	correct          []float64 // [E,A,R]
}

// standardNoise returns the z of a repeat for a piece of the validation split, [E,n,N,D] in s: a function
// of the member's seed, the repeat and the puzzle. It is drawn in Go as float32, so that it is the same on
// every device and in both precisions.
func (t *lstTask) standardNoise(e *ensemble, s *torchpe.Scope, p piece, repeat int) torchpe.Tensor {
	c := e.model.Config
	tokens := c.Positions.Tokens()
	z := make([]float32, 0, e.members()*p.n*tokens*c.DModel)
	for _, seed := range e.seeds {
		for i := range p.n {
			rng := torchpe.Stream(seed, fmt.Sprintf("noise validation %d %d", repeat, p.from+i))
			for range tokens * c.DModel {
				z = append(z, float32(rng.NormFloat64()))
			}
		}
	}
	return torchpe.Of(s, e.device, z, e.members(), p.n, tokens, c.DModel).To(c.DType, e.device)
}

// robustness measures the validation split. Dropout of fixed PEs and drawn positions are as in
// evaluate after the same step, so that amplitude 0 gives its accuracy.
func (t *lstTask) robustness(
	e *ensemble, step int, amplitudes []float64, repeats int) (robustness, error) {
	r := t.validation
	x := robustness{amplitudes: amplitudes, members: e.members(), repeats: repeats, puzzles: r.n}
	x.correct = make([]float64, x.members*len(amplitudes)*repeats)
	err := e.inPieces(r.n, maxEvaluationBatch, func(_ *torchpe.Scope, from, n int) {
		p := piece{step, from, n}
		for repeat := range repeats {
			e.inScope(func(s *torchpe.Scope) {
				z := t.standardNoise(e, s, p, repeat)
				for a, amplitude := range amplitudes {
					for m, correct := range t.countCorrect(e, s, p, z.MulScalar(amplitude)) {
						x.correct[(m*len(amplitudes)+a)*repeats+repeat] += correct
					}
				}
			})
		}
	})
	return x, err
}

// countCorrect counts correct validation answers with noise [E,n,N,D] on the embeddings: [E].
func (t *lstTask) countCorrect(
	e *ensemble, outer *torchpe.Scope, p piece, noise torchpe.Tensor) []float64 {
	s := outer.Child()
	defer s.Close()
	b := t.evaluationBatch(e, s, t.validation, p)
	b.Noise = noise
	return torchpe.CountCorrect(e.model.Forward(s, b.Input, nil), b.target).Float64s()
}

// accuracies returns a member's accuracies [R] at the amplitude of that index, and their mean.
func (x robustness) accuracies(member, amplitude int) (each []float64, mean float64) {
	from := (member*len(x.amplitudes) + amplitude) * x.repeats
	correct := 0.0
	for _, n := range x.correct[from : from+x.repeats] {
		each, correct = append(each, n/float64(x.puzzles)), correct+n
	}
	// A mean of counts: without noise it equals the accuracy of one repeat to the bit.
	return each, correct / float64(x.puzzles*x.repeats)
}

// byAmplitude returns a member's mean accuracies; nil where nothing was measured.
func (x robustness) byAmplitude(member int) map[string]float64 {
	if len(x.amplitudes) == 0 {
		return nil
	}
	means := map[string]float64{}
	for a, amplitude := range x.amplitudes {
		_, means[strconv.FormatFloat(amplitude, 'g', -1, 64)] = x.accuracies(member, a)
	}
	return means
}

// addTensors adds noise/amplitude [A] and noise/accuracy [E,A,R]. As in all probes, members that
// diverged are measured with the weights of their last checkpoint.
func (x robustness) addTensors(out *tensorList) {
	var all []float64
	for m := range x.members {
		for a := range x.amplitudes {
			each, _ := x.accuracies(m, a)
			all = append(all, each...)
		}
	}
	addTensor(out, runlog.AmplitudesProbe, []int{len(x.amplitudes)}, x.amplitudes)
	addTensor(out, "noise/accuracy", []int{x.members, len(x.amplitudes), x.repeats}, all)
}
