package train

import (
	"fmt"
	"strconv"

	"torchpe/torchpe"
	"torchpe/train/runlog/safetensors"
)

// robustness is how many validation puzzles each member answers right with noise a z on its token embeddings, z ~ N(0,1) for each
// token and dimension on its own. All amplitudes a of a repeat share z, so curves over a are smooth.
type robustness struct {
	amplitudes       []float64 // [A]
	members, repeats int       // E, R
	puzzles          int
	right            []float64 // [E,A,R]
}

// standardNoise returns the z of a repeat for puzzles from...from+n of a split, [E,n,N,D] in s: a function of the member's seed,
// the repeat and the puzzle alone. Drawn in Go as float32, it is the same on every device and in both precisions.
func (t *lstTask) standardNoise(e *ensemble, s *torchpe.Scope, r resident, p piece, repeat int) torchpe.Tensor {
	c := e.model.Config
	tokens := c.Positions.Tokens()
	z := make([]float32, 0, e.members()*p.n*tokens*c.DModel)
	for _, seed := range e.seeds {
		for i := range p.n {
			rng := torchpe.Stream(seed, fmt.Sprintf("noise %s %d %d", r.name, repeat, p.from+i))
			for range tokens * c.DModel {
				z = append(z, float32(rng.NormFloat64()))
			}
		}
	}
	return torchpe.Of(s, e.device, z, e.members(), p.n, tokens, c.DModel).To(c.DType, e.device)
}

// robustness measures the validation split. All else that is random (dropout of the fixed PEs, drawn positions) is as in the
// evaluation without noise after the same step, so that amplitude 0 gives its accuracy.
func (t *lstTask) robustness(e *ensemble, step int, amplitudes []float64, repeats int) (robustness, error) {
	r := t.held["validation"]
	x := robustness{amplitudes: amplitudes, members: e.members(), repeats: repeats, puzzles: r.n}
	x.right = make([]float64, x.members*len(amplitudes)*repeats)
	err := torchpe.Catch(func() {
		for from := 0; from < r.n; from += evaluationBatch {
			p := piece{step, from, min(evaluationBatch, r.n-from)}
			for repeat := range repeats {
				s := e.resident.ChildNoGrad()
				func() {
					defer s.Close()
					z := t.standardNoise(e, s, r, p, repeat)
					for a, amplitude := range amplitudes {
						for m, right := range t.rightWith(e, s, r, p, z.MulScalar(amplitude)) {
							x.right[(m*len(amplitudes)+a)*repeats+repeat] += right
						}
					}
				}()
			}
		}
	})
	return x, err
}

// rightWith counts each member's right answers with noise [E,n,N,D] on the embeddings.
func (t *lstTask) rightWith(e *ensemble, outer *torchpe.Scope, r resident, p piece, noise torchpe.Tensor) []float64 {
	s := outer.Child()
	defer s.Close()
	b := t.piece(e, s, r, p)
	b.Noise = noise
	return torchpe.RightAnswers(e.model.Forward(s, b.Input, nil), b.target).Float64s()
}

// at returns a member's accuracies [R] at the amplitude of that index, and their mean.
func (x robustness) at(member, amplitude int) (each []float64, mean float64) {
	from := (member*len(x.amplitudes) + amplitude) * x.repeats
	right := 0.0
	for _, n := range x.right[from : from+x.repeats] {
		each, right = append(each, n/float64(x.puzzles)), right+n
	}
	return each, right / float64(x.puzzles*x.repeats) // of counts: without noise the very accuracy of one repeat
}

// byAmplitude returns a member's mean accuracies; nil where nothing was measured.
func (x robustness) byAmplitude(member int) map[string]float64 {
	if len(x.amplitudes) == 0 {
		return nil
	}
	means := map[string]float64{}
	for a, amplitude := range x.amplitudes {
		_, means[strconv.FormatFloat(amplitude, 'g', -1, 64)] = x.at(member, a)
	}
	return means
}

// tensors returns noise/amplitude [A] and noise/accuracy [E,A,R]. Members that diverged are measured with the weights that were
// kept of them, as in all probes.
func (x robustness) tensors() ([]safetensors.Tensor, error) {
	amplitude, err := safetensors.New("noise/amplitude", []int{len(x.amplitudes)}, x.amplitudes)
	if err != nil {
		return nil, err
	}
	var all []float64
	for m := range x.members {
		for a := range x.amplitudes {
			each, _ := x.at(m, a)
			all = append(all, each...)
		}
	}
	accuracy, err := safetensors.New("noise/accuracy", []int{x.members, len(x.amplitudes), x.repeats}, all)
	return []safetensors.Tensor{amplitude, accuracy}, err
}
