package train

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/report/metrics"
	"torchpe/torchpe"
	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// evaluationTokens bounds how many tokens a member's forward pass of an evaluation takes.
const evaluationTokens = 16 * evaluationBatch

// probeFrames is how many test frames the attention maps of the probes are averaged over.
const probeFrames = 64

// testMSE returns each member's mean squared error over the masked tokens of a test set.
func (t *maskedTask) testMSE(e *ensemble, set testSet, step int) ([]float64, error) {
	sums, counts := make([]float64, e.members()), 0.0
	for _, hidden := range set.masks {
		if hidden {
			counts++
		}
	}
	err := t.forward(e, set, step, len(t.split.Test), nil, func(b maskedBatch, predicted torchpe.Tensor, _ *models.Trace) {
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

// forward runs the first frames of a test set through the model, in pieces, with all members on the same frames and masks.
// use gets each piece; what it needs later it must copy.
func (t *maskedTask) forward(e *ensemble, set testSet, step, frames int, names []string, use func(maskedBatch, torchpe.Tensor, *models.Trace)) error {
	n := t.table.Tokens
	piece := max(1, evaluationTokens/n)
	return torchpe.Catch(func() {
		for from := 0; from < frames; from += piece {
			samples := min(piece, frames-from)
			s := e.resident.ChildNoGrad()
			func() {
				defer s.Close()
				s.Seed(e.seeds, step)
				index := make([]int64, samples)
				for i := range index {
					index[i] = int64(t.split.Test[from+i])
				}
				masks := set.masks[from*n : (from+samples)*n]
				in := stepInputs{arrays: t.arrays(e.members(), slices.Repeat(index, e.members()), slices.Repeat(masks, e.members()))}
				places := place(s, e.device, in)
				places.write(in)
				b := t.gather(e, s, places)
				e.draw(s, &b.Input, samples, fmt.Sprintf("positions %s %d %d", set.key(), step, from))
				var trace *models.Trace
				if names != nil {
					trace = models.NewTrace(names...)
				}
				use(b, e.model.Forward(s, b.Input, trace), trace)
			}()
		}
	})
}

// networkScores are modularity and clustering of the PE of each block and member.
type networkScores struct {
	modularity, clustering [][]float64 // [blocks][E]; empty where there is nothing to score
}

// networkScores scores the PE tables against the known modules.
func (t *maskedTask) networkScores(p peTables) (s networkScores, err error) {
	if t.table.Modules == nil {
		return s, nil
	}
	kind, err := metrics.ParseDistance(t.config.Distance)
	if err != nil {
		return s, err
	}
	for _, block := range p.blocks {
		var q, c []float64
		for _, table := range block {
			score, err := metrics.ScorePE(table, p.tokens, p.width, kind, t.table.Modules)
			if err != nil {
				return s, err
			}
			q, c = append(q, score.Modularity), append(c, score.Clustering)
		}
		s.modularity, s.clustering = append(s.modularity, q), append(s.clustering, c)
	}
	return s, nil
}

// fill writes the scores of a member.
func (s networkScores) fill(member int, into *runlog.MaskedMeasures) {
	mean := func(blocks [][]float64) (each []float64, all *float64) {
		sum := 0.0
		for _, b := range blocks {
			if finite(b[member]) == nil {
				return nil, nil
			}
			each = append(each, b[member])
			sum += b[member]
		}
		if each == nil {
			return nil, nil
		}
		return each, finite(sum / float64(len(each)))
	}
	into.ModularityByBlock, into.Modularity = mean(s.modularity)
	into.ClusteringByBlock, into.Clustering = mean(s.clustering)
}

// probes returns the PE tables pe/<layer> [E,N,D] and the attention maps attention/<layer> [E,H,N,N], which are means over
// test frames under the masks of the first test level; where modules are known, their labels modules [N].
func (t *maskedTask) probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error) {
	frames := min(probeFrames, len(t.split.Test))
	sums, shapes := map[string][]float32{}, map[string][]int{}
	err := t.forward(e, t.tests[0], step, frames, []string{"pe/*", "attention/*"}, func(_ maskedBatch, _ torchpe.Tensor, trace *models.Trace) {
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
	var out []safetensors.Tensor
	for name, values := range sums {
		x, err := safetensors.New(name, shapes[name], values)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, x)
	}
	about := map[string]string{
		"step": fmt.Sprint(step), "attention": fmt.Sprintf("mean over %d test frames at mask level %s", frames, t.tests[0].key()),
	}
	if t.table.Modules != nil {
		labels := make([]int64, t.table.Tokens)
		for i, m := range t.table.Modules {
			labels[i] = int64(m)
		}
		modules, err := safetensors.New("modules", []int{t.table.Tokens}, labels)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, modules)
		about["module_names"] = strings.Join(t.table.ModuleNames, "\n")
	}
	return out, about, nil
}
