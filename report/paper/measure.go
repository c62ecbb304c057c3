package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"sync"

	"torchpe/internal/metrics"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/runs"
)

// Model is a finished model with what its probes hold.
type Model struct {
	runs.Model
	Variant  Variant
	identity map[string]string // runs.Model.Identity

	// Of puzzles, against the model with the reference encoding: nil where there is no such model,
	// or nothing to compare.
	Attention   *metrics.Similarity
	Procrustes  []metrics.ProcrustesDistances // by block
	TableCosine []float64                     // of the two tables as they are, by block
	PairedSeed  bool                          // the reference has the same seed

	Toeplitz      []float64 // R^2 of E E^T, by block
	EffectiveRank []float64 // of the table, by block
	Noise         []NoisePoint
}

// NoisePoint is the accuracy under noise of one amplitude on the token embeddings.
type NoisePoint struct {
	Amplitude, Accuracy float64 // mean over repeats
}

// reference is the encoding that the others are compared with: the ground truth's arrangement.
const reference = paper.Truth

// measure reads the probes of all models once, those of the references first.
func (s *Study) measure() error {
	refs, err := s.references()
	if err != nil {
		return err
	}
	for _, models := range [][]Model{s.LST, s.NMAR, s.FMRI} {
		if err := eachRun(models, func(r *runs.Run, own []*Model) error {
			p, err := r.Probes()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, m := range own {
				if err := m.read(p, refs); err != nil {
					return fmt.Errorf("%s, member %d: %w", r.Dir, m.Index, err)
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// eachRun calls f for each run of the models, as many at a time as there are CPUs.
func eachRun(models []Model, f func(*runs.Run, []*Model) error) error {
	var order []*runs.Run
	own := map[*runs.Run][]*Model{}
	for i := range models {
		r := models[i].Run
		if own[r] == nil {
			order = append(order, r)
		}
		own[r] = append(own[r], &models[i])
	}
	failed := make([]error, len(order))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.NumCPU())
	for i, r := range order {
		wait.Add(1)
		slots <- struct{}{}
		go func() {
			defer wait.Done()
			failed[i] = f(r, own[r])
			<-slots
		}()
	}
	wait.Wait()
	return errors.Join(failed...)
}

// referenceModel is a model that others are compared with.
type referenceModel struct {
	attention runs.Attention
	tables    []runs.Table // by block
}

// references holds the reference models of each variant, by seed; the first is that of seeds that
// have none.
type references map[Variant]map[uint64]*referenceModel

// firstSeed is the key of the reference for seeds that have none of their own.
const firstSeed = math.MaxUint64

// references reads the models of the reference encoding that have fitted their training puzzles.
func (s *Study) references() (references, error) {
	refs := references{}
	for _, m := range s.LST {
		if m.Label() != reference || isUnfitted(m) {
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
		for _, block := range p.Blocks() {
			t, err := p.Table(m.Index, block)
			if err != nil {
				return nil, err
			}
			ref.tables = append(ref.tables, t)
		}
		if refs[m.Variant] == nil {
			refs[m.Variant] = map[uint64]*referenceModel{firstSeed: ref}
		}
		if refs[m.Variant][m.Member.Seed] == nil {
			refs[m.Variant][m.Member.Seed] = ref
		}
	}
	return refs, nil
}

// of returns the reference of a model.
func (r references) of(m *Model) (ref *referenceModel, paired bool) {
	v := m.Variant
	if v.Placement == "" { // an encoding without placement: any reference that is alike otherwise
		for _, v.Placement = range []string{"block", "input"} {
			if r[v] != nil {
				break
			}
		}
	}
	if ref = r[v][m.Member.Seed]; ref != nil {
		return ref, true
	}
	return r[v][firstSeed], false
}

// read measures what the probes hold of a model.
func (m *Model) read(p *runs.Probes, refs references) error {
	var tables []runs.Table
	for _, block := range p.Blocks() {
		t, err := p.Table(m.Index, block)
		if err != nil {
			return err
		}
		tables = append(tables, t)
		gram, err := metrics.Gram(t.Values, t.Tokens, t.Dim)
		if err != nil {
			return err
		}
		// A table of zeros, or of equal rows, has neither rank nor diagonals to speak of.
		if r2, err := metrics.ToeplitzR2(gram, t.Tokens); err == nil {
			m.Toeplitz = append(m.Toeplitz, r2)
		}
		if rank, err := metrics.EffectiveRank(t.Values, t.Tokens, t.Dim); err == nil {
			m.EffectiveRank = append(m.EffectiveRank, rank)
		}
	}
	if m.Run.Config.Task != "lst" {
		return nil
	}
	if err := m.readNoise(p); err != nil {
		return err
	}
	ref, paired := refs.of(m)
	if ref == nil {
		return nil
	}
	m.PairedSeed = paired
	return m.compare(p, tables, ref)
}

// compare compares attention and tables with those of the reference.
func (m *Model) compare(p *runs.Probes, tables []runs.Table, ref *referenceModel) error {
	own, err := p.Attention(m.Index)
	if err != nil {
		return err
	}
	if own.Examples == ref.attention.Examples && own.Heads == ref.attention.Heads &&
		own.Tokens == ref.attention.Tokens && len(own.Layers) == len(ref.attention.Layers) {
		maps := metrics.AttentionMaps{Layers: own.Layers, Examples: own.Examples, Rows: own.Heads * own.Tokens,
			Tokens: own.Tokens}
		s, err := maps.Compare(ref.attention.Layers, metrics.EachMap)
		if err != nil {
			return err
		}
		m.Attention = &s
	}
	for block, t := range tables {
		if block >= len(ref.tables) || t.Tokens != ref.tables[block].Tokens || t.Dim != ref.tables[block].Dim {
			break
		}
		d, err := metrics.Procrustes(t.Values, ref.tables[block].Values, t.Tokens, t.Dim)
		if err != nil { // a table of zeros
			break
		}
		m.Procrustes = append(m.Procrustes, d)
		m.TableCosine = append(m.TableCosine, cosine(t.Values, ref.tables[block].Values))
	}
	return nil
}

// readNoise reads the accuracy under noise: noise/amplitude [A] and noise/accuracy [E,A,R].
func (m *Model) readNoise(p *runs.Probes) error {
	amplitudes, ok, err := p.Shared("noise/amplitude")
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
	for i, a := range amplitudes {
		sum := 0.0
		for _, v := range accuracy[i*shape[1] : (i+1)*shape[1]] {
			sum += v / float64(shape[1])
		}
		m.Noise = append(m.Noise, NoisePoint{Amplitude: a, Accuracy: sum})
	}
	return nil
}

// cosine returns the cosine similarity of the model's attention with the reference's; NaN where it
// is not known.
func (m Model) cosine() float64 {
	if m.Attention == nil {
		return math.NaN()
	}
	return m.Attention.Cosine
}

// jsd returns the Jensen-Shannon divergence of the model's attention from the reference's, in bits.
func (m Model) jsd() float64 {
	if m.Attention == nil {
		return math.NaN()
	}
	return m.Attention.JSD
}

// distance returns the orthogonal Procrustes distance from the reference's table, mean over blocks;
// NaN where there is no table.
func (m Model) distance() float64 {
	return m.overBlocks(func(d metrics.ProcrustesDistances) float64 { return d.Raw })
}

// disparity returns the distance whatever the norms: scipy's disparity, mean over blocks.
func (m Model) disparity() float64 {
	return m.overBlocks(func(d metrics.ProcrustesDistances) float64 { return d.Disparity })
}

// tableCosine returns the cosine of the model's table with the reference's as they are, mean over
// blocks.
func (m Model) tableCosine() float64 { return stats.Mean(m.TableCosine) }

func cosine(a, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return ab / math.Sqrt(aa*bb)
}

func (m Model) overBlocks(of func(metrics.ProcrustesDistances) float64) float64 {
	sum := 0.0
	for _, d := range m.Procrustes {
		sum += of(d)
	}
	return sum / float64(len(m.Procrustes))
}

func validation(m Model) float64 { return m.Result.ValidationAccuracy }
func training(m Model) float64   { return m.Result.TrainAccuracy }
func iid(m Model) float64        { return m.Result.IIDAccuracy }
