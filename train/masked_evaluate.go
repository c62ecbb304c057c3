package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"torchpe/data/array/safetensors"
	"torchpe/internal/metrics"
	"torchpe/models"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// evaluationTokens is the largest number of tokens of one member in a forward pass of an evaluation.
const evaluationTokens = 16 * maxEvaluationBatch

// probeFrames is the number of test frames over which the probes average attention maps.
const probeFrames = 64

// testMSE returns each member's mean squared error over the masked tokens of a test set.
func (t *maskedTask) testMSE(e *ensemble, set testSet) ([]float64, error) {
	sums, counts := make([]float64, e.members()), 0.0
	for _, hidden := range set.masks {
		if hidden {
			counts++
		}
	}
	pass := maskedPass{set: set, frames: len(t.split.Test)}
	err := t.forward(e, pass, func(b maskedBatch, predicted torchpe.Tensor, _ *models.Trace) {
		sum, _ := b.squares(predicted)
		for m, v := range sum.To(torchpe.Float64, torchpe.CPU).Float64s() {
			sums[m] += v
		}
	})
	for m := range sums {
		sums[m] /= counts
	}
	return sums, err
}

// maskedPass is a forward pass of the first frames of a test set.
type maskedPass struct {
	set    testSet
	frames int
	trace  []string // intermediates to keep
}

// forward runs a test set through the model in pieces, with the same frames and masks for all
// members. use gets each piece; it must copy what it needs later.
func (t *maskedTask) forward(e *ensemble, pass maskedPass,
	use func(b maskedBatch, predicted torchpe.Tensor, trace *models.Trace)) error {
	n := t.table.Tokens
	return e.inPieces(pass.frames, max(1, evaluationTokens/n), func(s *torchpe.Scope, from, samples int) {
		e.seedEvaluation(s)
		index := toInt64(t.split.Test[from : from+samples])
		masks := slices.Repeat(pass.set.masks[from*n:(from+samples)*n], e.members())
		in := stepInputs{arrays: t.arrays(e.members(), slices.Repeat(index, e.members()), masks)}
		onDevice := allocateInputs(s, e.device, in)
		onDevice.write(in)
		b := t.gather(e, s, onDevice)
		e.addDrawnPositions(s, &b.Input, samples, fmt.Sprintf("positions %s %d", pass.set.key(), from))
		trace := newTrace(pass.trace)
		use(b, e.model.Forward(s, b.Input, trace), trace)
	})
}

// networkScores are modularity and clustering of the PE of each block and member.
type networkScores struct {
	modularity, clustering [][]float64 // [blocks with tables][E]; empty if there is nothing to score
	layers                 []int       // the block of each
}

func (t *maskedTask) networkScores(p peTables) (s networkScores, err error) {
	if t.table.Modules == nil {
		return s, nil
	}
	kind, err := metrics.ParseDistance(t.config.Distance)
	if err != nil {
		return s, err
	}
	s.layers = p.layers
	for _, block := range p.blocks {
		var q, c []float64
		for _, table := range block {
			score, err := metrics.Table{Tokens: p.tokens, Dim: p.width, Values: table}.Score(kind, t.table.Modules)
			if err != nil {
				return s, err
			}
			q, c = append(q, score.Modularity), append(c, score.Clustering)
		}
		s.modularity, s.clustering = append(s.modularity, q), append(s.clustering, c)
	}
	return s, nil
}

// add adds a member's scores of each block, and their means.
func (s networkScores) add(member int, to runlog.Numbers) {
	for key, blocks := range map[string][][]float64{"modularity": s.modularity, "clustering": s.clustering} {
		sum := 0.0
		for i, b := range blocks {
			to[fmt.Sprintf("%s/%d", key, s.layers[i])] = b[member]
			sum += b[member]
		}
		if blocks != nil {
			to[key] = sum / float64(len(blocks))
		}
	}
}

// probes returns the PE tables pe/<layer> [E,N,D] and the attention maps attention/<layer>
// [E,H,N,N], means over test frames with the masks of the first test level; if modules are known,
// their labels modules [N]; if frames of several subjects are held out, the errors subjects/<level>
// [E,S] of each. The metadata has the names.
func (t *maskedTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	frames := min(probeFrames, len(t.split.Test))
	sums, shapes := map[string][]float32{}, map[string][]int{}
	pass := maskedPass{t.tests[0], frames, []string{"pe/*", "attention/*"}}
	err := t.forward(e, pass, func(_ maskedBatch, _ torchpe.Tensor, trace *models.Trace) {
		for _, name := range trace.Names() {
			x, _ := trace.Get(name)
			if len(x.Shape()) == 3 {
				sums[name], shapes[name] = torchpe.Values[float32](x), x.Shape()
				continue
			}
			x = x.Sum(1).MulScalar(1 / float64(frames))
			shapes[name] = x.Shape()
			if sums[name] == nil {
				sums[name] = make([]float32, len(torchpe.Values[float32](x)))
			}
			for i, v := range torchpe.Values[float32](x) {
				sums[name][i] += v
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	var out tensorList
	for name, values := range sums {
		addTensor(&out, name, shapes[name], values)
	}
	about := map[string]string{
		"step":      fmt.Sprint(step),
		"attention": fmt.Sprintf("mean over %d test frames at mask level %s", frames, t.tests[0].key()),
	}
	if t.table.Modules != nil {
		addTensor(&out, runlog.ModulesProbe, []int{t.table.Tokens}, toInt64(t.table.Modules))
		about["module_names"] = lines(t.table.ModuleNames)
	}
	if err := t.describeRows(about); err != nil {
		return nil, nil, err
	}
	if subjects, of := t.testSubjects(); subjects != nil {
		about["test_subjects"] = lines(subjects)
		for _, set := range t.tests {
			mse, err := t.subjectMSE(e, set, of)
			if err != nil {
				return nil, nil, err
			}
			addTensor(&out, "subjects/"+set.key(), []int{e.members(), len(subjects)}, mse)
		}
	}
	return out.all, about, out.err
}

// describeRows adds what is known about the tokens to the metadata of the probes: their names, one per line, and
// their positions.
func (t *maskedTask) describeRows(about map[string]string) error {
	if t.table.Names != nil {
		about[tokenNames] = lines(t.table.Names)
	}
	if !t.positionsGiven {
		return nil
	}
	return aboutPositions(about, t.positions, t.table.Tokens)
}

// longestName is the number of letters of a name that reports show.
const longestName = 200

func tooLong(name string) bool { return utf8.RuneCountInString(name) > longestName }

// lines writes one name per line. Line breaks in names are removed, and a name that is too long is
// shortened to its start and its place.
func lines(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		if tooLong(name) {
			name = fmt.Sprintf("%s… (%d)", string([]rune(name)[:longestName]), i)
		}
		out[i] = strings.ReplaceAll(name, "\n", " ")
	}
	return strings.Join(out, "\n")
}

// unmeasured notes the held-out subjects without a measured frame.
func (t *maskedTask) unmeasured(measured []int) (notes []string) {
	if t.table.Groups == nil {
		return nil
	}
	has := map[int]bool{}
	for _, frame := range measured {
		has[t.table.Groups[frame]] = true
	}
	for _, frame := range t.split.Test {
		if group := t.table.Groups[frame]; !has[group] {
			has[group] = true
			notes = append(notes, fmt.Sprintf("held-out subject %s has none of the %d measured frames: give a larger "+
				"--test-frames, or 0 for all", t.subjects[group], len(measured)))
		}
	}
	return notes
}

// testSubjects lists the subjects of the measured test frames, in the order of the data, and the
// index of each frame's subject in that list. Both are nil if there are fewer than two subjects.
func (t *maskedTask) testSubjects() (names []string, of []int) {
	at := map[int]int{}
	for _, frame := range t.split.Test {
		if t.table.Groups == nil {
			return nil, nil
		}
		group := t.table.Groups[frame]
		if _, ok := at[group]; !ok {
			at[group] = len(names)
			names = append(names, t.subjects[group])
		}
		of = append(of, at[group])
	}
	if len(names) < 2 {
		return nil, nil
	}
	return names, of
}

// subjectMSE returns [E,S], the mean squared error over the masked tokens of each test subject's
// frames, or NaN if none is masked. of has the subject of each frame.
func (t *maskedTask) subjectMSE(e *ensemble, set testSet, of []int) ([]float32, error) {
	subjects := slices.Max(of) + 1
	sums, counts := make([]float64, e.members()*subjects), make([]float64, subjects)
	n := t.table.Tokens
	for i, hidden := range set.masks {
		if hidden {
			counts[of[i/n]]++
		}
	}
	from := 0
	pass := maskedPass{set: set, frames: len(t.split.Test)}
	err := t.forward(e, pass, func(b maskedBatch, predicted torchpe.Tensor, _ *models.Trace) {
		each := predicted.Sub(b.target).Square()
		if b.weight.Defined() {
			each = each.Mul(b.weight)
		}
		samples := each.Size(1)
		for i, v := range each.Sum(2).To(torchpe.Float64, torchpe.CPU).Float64s() { // [E,B]
			sums[i/samples*subjects+of[from+i%samples]] += v
		}
		from += samples
	})
	out := make([]float32, len(sums))
	for i, sum := range sums {
		out[i] = float32(math.NaN())
		if c := counts[i%subjects]; c > 0 {
			out[i] = float32(sum / c)
		}
	}
	return out, err
}
