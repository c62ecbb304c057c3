package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"torchpe/internal/metrics"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/item"
)

// reference is the encoding with which the others are compared: the true arrangement of the tokens.
const reference = paper.Truth

// probed holds the measures of a model's probes.
type probed struct {
	// values has measures of puzzles by name: "noise/A" (accuracy under noise of amplitude A) and their mean
	// "noise"; compared with the model of the reference encoding, "cosine" and "jsd" of attention, and
	// "procrustes", "disparity" and "table_cosine" of tables, which are means over blocks.
	values     map[string]float64
	amplitudes []float64 // of the noise
	hasTables  bool      // it adds tables of positions
}

// drop removes a measure and its parts at each amplitude of noise.
func (q *probed) drop(measure string) {
	q.values[measure] = math.NaN()
	if measure != "noise" {
		return
	}
	for _, a := range q.amplitudes {
		q.values[underNoise(a)] = math.NaN()
	}
	q.amplitudes = nil
}

// value returns a measure of a model's probes, else of its result, or NaN if it was not measured.
func (s *Study) value(m cohort.Model, measure string) float64 {
	if p := s.probed[m.Key()]; p != nil {
		if v, ok := p.values[measure]; ok {
			return v
		}
	}
	return item.Value(m, measure)
}

// measured returns a draft that reads measures of models, including those of their probes.
func (s *Study) measured() *item.Draft { return &item.Draft{Measure: s.value} }

// values returns a measure of a group's models.
func (s *Study) values(g cohort.Group, measure string) []float64 {
	return s.measured().Known(g, measure)
}

// mean returns the mean of a measure of a group's models, or NaN if none has it.
func (s *Study) mean(g cohort.Group, measure string) float64 { return stats.Mean(s.values(g, measure)) }

// readProbes reads the probes of all models once, those of the references first.
func (s *Study) readProbes() error {
	refs, err := s.readReferences()
	if err != nil {
		return err
	}
	s.probed = map[cohort.ModelKey]*probed{}
	of := map[*cohort.Run][]cohort.Model{}
	for _, models := range [][]cohort.Model{s.LST, s.NMAR, s.FMRI} {
		for _, m := range models {
			s.probed[m.Key()] = &probed{values: map[string]float64{}}
			of[m.Run] = append(of[m.Run], m)
		}
	}
	var work errgroup.Group
	work.SetLimit(runtime.NumCPU())
	for r, models := range of {
		work.Go(func() error {
			p, err := r.Probes()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, m := range models {
				if err := s.probed[m.Key()].read(p, m, refs.of(m)); err != nil {
					return fmt.Errorf("%s, member %d: %w", r.Dir, m.Index, err)
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// referenceModel is a model with which others are compared.
type referenceModel struct {
	attention metrics.Attention
	tables    []metrics.Table // by block
}

// references holds the reference models of each variant, by seed, and the first one for seeds that have none.
type references map[Variant]map[uint64]*referenceModel

// firstSeed is the key of the reference for seeds without one.
const firstSeed = math.MaxUint64

// readReferences reads the fitted models of the reference encoding.
func (s *Study) readReferences() (references, error) {
	refs := references{}
	for _, m := range s.LST {
		if m.Label() != reference || m.IsUnfitted() {
			continue
		}
		p, err := m.Run.Probes()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ref := &referenceModel{}
		if ref.attention, err = p.Attention(m.Index); err != nil {
			return nil, err
		}
		if ref.tables, err = tablesOf(p, m); err != nil {
			return nil, err
		}
		v := variantOf(m)
		if refs[v] == nil {
			refs[v] = map[uint64]*referenceModel{firstSeed: ref}
		}
		if refs[v][m.Member.Seed] == nil {
			refs[v][m.Member.Seed] = ref
		}
	}
	return refs, nil
}

// of returns the reference of a model, that of its seed if there is one; nil for none.
func (r references) of(m cohort.Model) *referenceModel {
	v := variantOf(m)
	if v.Placement == "" { // an encoding without placement takes any reference that is otherwise alike
		for _, v.Placement = range []string{"block", "input"} {
			if r[v] != nil {
				break
			}
		}
	}
	if ref := r[v][m.Member.Seed]; ref != nil {
		return ref
	}
	return r[v][firstSeed]
}

// tablesOf returns the tables that a model adds, by block.
func tablesOf(p *cohort.Probes, m cohort.Model) (all []metrics.Table, err error) {
	for _, block := range p.Blocks() {
		t, err := p.Table(m.Index, block)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// read measures the probes of a model; ref may be nil.
func (q *probed) read(p *cohort.Probes, m cohort.Model, ref *referenceModel) error {
	tables, err := tablesOf(p, m)
	if err != nil {
		return err
	}
	q.hasTables = tables != nil
	if m.Run.Config.Task != "lst" {
		return nil
	}
	if err := q.readNoise(p, m); err != nil {
		return err
	}
	if ref == nil {
		return nil
	}
	own, err := p.Attention(m.Index)
	if err != nil {
		return err
	}
	q.compareTables(tables, ref.tables)
	return q.compareAttention(own, ref.attention)
}

func (q *probed) compareAttention(own, ref metrics.Attention) error {
	if own.Size() != ref.Size() {
		return nil
	}
	likeness, err := own.Compare(ref, metrics.EachMap)
	if err != nil {
		return err
	}
	q.values["cosine"], q.values["jsd"] = likeness.Cosine, likeness.JSD
	return nil
}

func (q *probed) compareTables(own, ref []metrics.Table) {
	var distances, disparities, cosines []float64
	for block, t := range own {
		if block >= len(ref) {
			break
		}
		d, err := metrics.Procrustes(t, ref[block])
		if err != nil { // a table of zeros, or of another size
			break
		}
		distances, disparities = append(distances, d.Raw), append(disparities, d.Disparity)
		cosines = append(cosines, metrics.CosineOf(t.Values, ref[block].Values))
	}
	q.values["procrustes"], q.values["disparity"] = plainMean(distances), plainMean(disparities)
	q.values["table_cosine"] = stats.Mean(cosines)
}

// plainMean returns the sum divided by the number; stats.Mean rounds differently in the last digit.
func plainMean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// readNoise reads the accuracy under noise: noise/amplitude [A] and noise/accuracy [E,A,R].
func (q *probed) readNoise(p *cohort.Probes, m cohort.Model) error {
	amplitudes, ok, err := p.NoiseAmplitudes()
	if !ok || err != nil {
		return err
	}
	accuracy, shape, ok, err := p.Values("noise/accuracy", m.Index)
	if !ok || err != nil {
		return err
	}
	if len(shape) != 2 || shape[0] != len(amplitudes) {
		return fmt.Errorf("probes.safetensors: noise/accuracy has shape %v for %d amplitudes", shape, len(amplitudes))
	}
	q.amplitudes = amplitudes
	total := 0.0
	for i, a := range amplitudes {
		sum := 0.0
		for _, v := range accuracy[i*shape[1] : (i+1)*shape[1]] {
			sum += v / float64(shape[1])
		}
		q.values[underNoise(a)] = sum
		total += sum
	}
	q.values["noise"] = total / float64(len(amplitudes))
	return nil
}

// underNoise names the accuracy under noise of an amplitude.
func underNoise(amplitude float64) string {
	return "noise/" + strconv.FormatFloat(amplitude, 'g', -1, 64)
}
