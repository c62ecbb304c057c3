package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/data/lst"
	"torchpe/models"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// maxEvaluationBatch is the largest number of examples of a forward pass in an evaluation.
const maxEvaluationBatch = 256

// accuracy is the share of correct answers of each member on one split.
type accuracy struct {
	overall     []float64                   // [E]
	byCondition []map[lst.Condition]float64 // [E]
	byLines     []map[int]float64           // [E], empty if examples.lines is nil
	predicted   []int64                     // [E,n] classes
}

func (t *lstTask) evaluate(e *ensemble, r examples) (accuracy, error) {
	a := accuracy{predicted: make([]int64, e.members()*r.n)}
	err := t.forward(e, r, func(p piece, logits torchpe.Tensor, _ *models.Trace) {
		classes := torchpe.Values[int64](logits.Argmax(-1))
		for m := range e.members() {
			copy(a.predicted[m*r.n+p.from:], classes[m*p.n:(m+1)*p.n])
		}
	})
	if err != nil {
		return a, err
	}
	for m := range e.members() {
		correct, total := make([]bool, r.n), 0.0
		for i, class := range a.predicted[m*r.n : (m+1)*r.n] {
			if correct[i] = class == r.target[i]; correct[i] {
				total++
			}
		}
		a.overall = append(a.overall, total/float64(r.n))
		a.byCondition = append(a.byCondition, shareBy(r.condition, correct))
		a.byLines = append(a.byLines, shareBy(r.lines, correct))
	}
	return a, nil
}

// sums returns the sums of losses and correct answers over a split.
func (t *lstTask) sums(e *ensemble, r examples) (trainSums, error) {
	sums := newTrainSums(e.members())
	sums.examples = float64(r.n)
	err := t.forward(e, r, func(p piece, logits torchpe.Tensor, _ *models.Trace) {
		target := torchpe.Of(logits.Scope(), e.device,
			slices.Repeat(r.target[p.from:p.from+p.n], e.members()), e.members(), p.n)
		losses := torchpe.CrossEntropy(logits, target).Float64s()
		for m, right := range torchpe.CountCorrect(logits, target).Float64s() {
			sums.loss[m] += losses[m] * float64(p.n)
			sums.correct[m] += right
		}
	})
	return sums, err
}

// shareBy returns the share of correct examples, by kind.
func shareBy[Kind comparable](kinds []Kind, correct []bool) map[Kind]float64 {
	shares, count := map[Kind]float64{}, map[Kind]float64{}
	for i, k := range kinds {
		count[k]++
		if correct[i] {
			shares[k]++
		}
	}
	for k, n := range count {
		shares[k] /= n
	}
	return shares
}

// piece is the examples of one forward pass: n examples from number from.
type piece struct{ from, n int }

// forward runs all examples of a split through the model in pieces, with the same examples for all
// members. use gets the logits [E,n,C] of a piece and the traced intermediates; it must copy what
// it needs later.
func (t *lstTask) forward(e *ensemble, r examples,
	use func(p piece, logits torchpe.Tensor, trace *models.Trace), traced ...string) error {
	return e.inPieces(r.n, maxEvaluationBatch, func(s *torchpe.Scope, from, n int) {
		p, trace := piece{from, n}, newTrace(traced)
		b := t.evaluationBatch(e, s, r, p)
		use(p, r.model(e).Forward(s, b.Input, trace), trace)
	})
}

// inPieces splits n examples into pieces of at most size and calls f for each with its first
// number, its count and a scope of its own.
func (e *ensemble) inPieces(n, size int, f func(s *torchpe.Scope, from, n int)) error {
	return torchpe.Catch(func() {
		for from := 0; from < n; from += size {
			e.inScope(func(s *torchpe.Scope) { f(s, from, min(size, n-from)) })
		}
	})
}

// seedEvaluation seeds the random draws of an evaluation in s with a step that training never uses.
// They are the same after each step, so that a stopped member gives the answers of its last record.
func (e *ensemble) seedEvaluation(s *torchpe.Scope) { s.Seed(e.seeds, -1) }

// inScope calls f with a scope without gradients, and closes the scope.
func (e *ensemble) inScope(f func(s *torchpe.Scope)) {
	s := e.resident.ChildNoGrad()
	defer s.Close()
	f(s)
}

// newTrace returns a trace of the named intermediates; nil if there are none.
func newTrace(names []string) *models.Trace {
	if names == nil {
		return nil
	}
	return models.NewTrace(names...)
}

// evaluationBatch returns a piece of a split, the same for all members, and seeds the random draws in s.
func (t *lstTask) evaluationBatch(e *ensemble, s *torchpe.Scope, r examples, p piece) lstBatch {
	e.seedEvaluation(s)
	index := make([]int64, 0, e.members()*p.n)
	for range e.members() {
		for i := range p.n {
			index = append(index, int64(p.from+i))
		}
	}
	b := t.gather(e, s, r, torchpe.Of(s, e.device, index, e.members(), p.n))
	e.addDrawnPositions(s, &b.Input, p.n, fmt.Sprintf("positions %s %d", r.name, p.from))
	return b
}

// robustness counts the validation puzzles that each member answers correctly with noise a z added
// to its token embeddings, z ~ N(0,1), independent for each token and dimension. All amplitudes a
// of a repeat share z, so that curves over a are smooth.
type robustness struct {
	amplitudes       []float64 // [A]
	members, repeats int       // E, R
	puzzles          int
	correct          []float64 // [E,A,R]
}

// standardNoise returns the z of a repeat for a piece of the validation split, [E,n,N,D] in s. It
// depends only on the member's seed, the repeat and the puzzle. It is drawn in Go as float32, so
// that it is the same on all devices and in both precisions.
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

// robustness measures the validation split. Dropout of fixed PEs and drawn positions are those of
// evaluate, so that amplitude 0 gives its accuracy.
func (t *lstTask) robustness(e *ensemble, amplitudes []float64, repeats int) (robustness, error) {
	r := t.validation
	x := robustness{amplitudes: amplitudes, members: e.members(), repeats: repeats, puzzles: r.n}
	x.correct = make([]float64, x.members*len(amplitudes)*repeats)
	err := e.inPieces(r.n, maxEvaluationBatch, func(_ *torchpe.Scope, from, n int) {
		p := piece{from, n}
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

// countCorrect returns [E], the number of correct validation answers with noise [E,n,N,D] on the embeddings.
func (t *lstTask) countCorrect(
	e *ensemble, outer *torchpe.Scope, p piece, noise torchpe.Tensor) []float64 {
	s := outer.Child()
	defer s.Close()
	b := t.evaluationBatch(e, s, t.validation, p)
	b.Noise = noise
	return torchpe.CountCorrect(e.model.Forward(s, b.Input, nil), b.target).Float64s()
}

// accuracies returns a member's accuracies [R] at the amplitude with this index, and their mean.
func (x robustness) accuracies(member, amplitude int) (each []float64, mean float64) {
	from := (member*len(x.amplitudes) + amplitude) * x.repeats
	correct := 0.0
	for _, n := range x.correct[from : from+x.repeats] {
		each, correct = append(each, n/float64(x.puzzles)), correct+n
	}
	// The mean is one of counts: without noise it equals the accuracy of one repeat exactly.
	return each, correct / float64(x.puzzles*x.repeats)
}

// byAmplitude returns a member's mean accuracies, or nil if nothing was measured.
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

// addTensors adds noise/amplitude [A] and noise/accuracy [E,A,R]. As in all probes, diverged
// members are measured with the weights of their last checkpoint.
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

// probes returns the PE tables pe/<layer> [E,N,D], the attention maps attention/<layer> [E,n,H,N,N]
// on the n validation puzzles, the predicted classes prediction/<split> [E,n], also for
// prediction/tokens<N>, the correct classes target/<split> [n] if symbols are renamed or sizes
// generated, and validation accuracies with noise (see robustness.addTensors).
func (t *lstTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	var out tensorList
	if err := t.addIntermediates(&out, e); err != nil {
		return nil, nil, err
	}
	addPrediction := func(r examples, a accuracy) {
		addTensor(&out, "prediction/"+r.name, []int{e.members(), r.n}, a.predicted)
		if t.config.Renames() || t.sizes != nil { // not in any file
			addTensor(&out, runlog.TargetProbes+r.name, []int{r.n}, r.target)
		}
	}
	for _, r := range []examples{t.iid, t.validation} {
		if r.n > 0 {
			a, err := t.evaluate(e, r)
			if err != nil {
				return nil, nil, err
			}
			addPrediction(r, a)
		}
	}
	var err error
	if t.atEnd, err = t.evaluateSizes(e); err != nil {
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
		t.noisy, err = t.robustness(e, t.config.Noise, t.config.NoiseRepeats)
		if err != nil {
			return nil, nil, err
		}
		t.noisy.addTensors(&out)
	}
	about := map[string]string{"step": fmt.Sprint(step), "puzzles": "validation"}
	out.err = errors.Join(out.err, t.describeRows(about))
	return out.all, about, out.err
}

func (t *lstTask) describeRows(about map[string]string) error {
	if t.config.Positions == nil {
		return nil
	}
	return aboutPositions(about, t.positions, t.positions.Tokens())
}

func (t *lstTask) addIntermediates(out *tensorList, e *ensemble) error {
	kept := map[string]*probe{}
	r := t.validation
	err := t.forward(e, r, func(part piece, _ torchpe.Tensor, trace *models.Trace) {
		for _, name := range trace.Names() {
			x, _ := trace.Get(name)
			if kept[name] == nil {
				kept[name] = newProbe(name, x.Shape(), e.members(), r.n)
			}
			kept[name].put(part.from, part.n, torchpe.Values[float32](x))
		}
	}, "pe/*", "attention/*")
	for name, p := range kept {
		addTensor(out, name, p.shape, p.values)
	}
	return err
}

// probe collects an intermediate over the pieces of a split.
type probe struct {
	shape     []int
	members   int
	perSample int // elements of one sample of one member; 0 if all samples share them
	values    []float32
}

// newProbe allocates an intermediate of n samples, which has this shape for one piece.
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

// put stores samples from to from+n-1.
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

// outputs are a model's outputs for some examples: of returns f(x_i) [E,classes] of all members in s.
type outputs struct {
	examples, classes int
	of                func(s *torchpe.Scope, i int) torchpe.Tensor
}

// tangentKernels returns for each member the kernel
//
//	K[i,j] = sum over outputs c of <df_c(x_i)/dw, df_c(x_j)/dw>
//
// of n examples, [E][n*n], from the model's outputs, computed in children of within. It leaves the
// gradients of ps at 0.
//
// Source: Jacot et al. 2018, "Neural tangent kernel", equation of section 4, traced over outputs.
// It needs n*C backward passes and the memory of n gradients.
func tangentKernels(within *torchpe.Scope, ps *torchpe.ParamSet, f outputs) (kernels [][]float64, err error) {
	n := f.examples
	kernels = make([][]float64, ps.Members)
	for m := range kernels {
		kernels[m] = make([]float64, n*n)
	}
	err = torchpe.Catch(func() {
		for k := range f.classes {
			all := torchpe.NewScopeNoGrad()
			func() {
				defer all.Close()
				gradients := torchpe.Zeros(all, ps.DType, ps.Device, ps.Members, n, ps.Columns())
				for i := range n {
					ps.Grads(all).Fill(0)
					s := within.Child()
					func() {
						defer s.Close()
						f.of(s, i).Select(1, k).Sum().Backward() // members are independent
					}()
					gradients.Select(1, i).CopyFrom(ps.Grads(all))
				}
				ps.Grads(all).Fill(0)
				products := gradients.MatMul(gradients.Transpose(1, 2)).Float64s()
				for m := range kernels {
					for at, v := range products[m*n*n : (m+1)*n*n] {
						kernels[m][at] += v
					}
				}
			}()
		}
	})
	return kernels, err
}

// alignment returns the cosine <a, b> / (|a| |b|) of two kernels. In lazy training it stays at 1.
func alignment(a, b []float64) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// tangentAlignments returns [E], the alignment of each member's tangent kernel with that of the
// model before its first step, on evenly spaced training puzzles.
func (t *lstTask) tangentAlignments(e *ensemble) ([]float64, error) {
	begin := *e // with the weights that training began with
	var err error
	if begin.model, err = e.newModel(); err != nil {
		return nil, err
	}
	defer begin.model.Close()
	if err := begin.startFrom(); err != nil {
		return nil, err
	}
	shown := t.shownTraining(e)
	n := min(t.config.TangentPuzzles, shown.n)
	var kernels [2][][]float64
	for k, m := range []*models.Model{begin.model, e.model} {
		classes := m.Config.Classes
		of := func(s *torchpe.Scope, i int) torchpe.Tensor {
			b := t.evaluationBatch(e, s, shown, piece{from: i * shown.n / n, n: 1})
			return m.Forward(s, b.Input, nil).Reshape(e.members(), classes)
		}
		kernels[k], err = tangentKernels(e.resident, m.Params, outputs{n, classes, of})
		if err != nil {
			return nil, err
		}
	}
	out := make([]float64, e.members())
	for m := range out {
		out[m] = alignment(kernels[0][m], kernels[1][m])
	}
	return out, nil
}
