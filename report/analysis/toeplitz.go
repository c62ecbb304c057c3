package analysis

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// BlockToeplitz measures how translation invariant a block's table is.
type BlockToeplitz struct {
	Block int    `json:"block"`
	R2    Number `json:"r2"` // of E E^T
	// mean over random orders of the tokens; null where none were drawn
	R2Shuffled Number `json:"r2_shuffled"`
	// the share of orders that reach R2, (1 + reached) / (1 + orders)
	P         Number `json:"p"`
	R2Centred Number `json:"r2_centred"` // of E E^T with the mean row taken off E
	// of E Wq Wk^T E^T, each head; null where no projections are known
	Attention         []Number `json:"attention"`
	AttentionShuffled Number   `json:"attention_shuffled"` // mean over random orders and heads
}

// Toeplitz measures how translation invariant a model's tables are (Wennberg and Henter 2021,
// section 3 and appendix B).
type Toeplitz struct {
	Subject
	Positions         [2]int          `json:"positions"` // first, and the one after the last
	Dim               int             `json:"dim"`
	R2                Number          `json:"r2"` // mean over blocks, as those below
	R2Shuffled        Number          `json:"r2_shuffled"`
	R2Centred         Number          `json:"r2_centred"`
	Attention         Number          `json:"attention"` // also over heads
	AttentionShuffled Number          `json:"attention_shuffled"`
	Blocks            []BlockToeplitz `json:"blocks"`
}

// Shuffles say how many random orders of the tokens R^2 is held against: the diagonal alone, where
// a row meets itself, makes a random table of d dimensions and n tokens look d/(d+n) Toeplitz.
type Shuffles struct {
	Count int
	Seed  uint64
}

// streamShuffle keeps the draws apart from others of the same seed.
const streamShuffle = 0x73687566 // "shuf"

// meanR2 returns the mean R^2 of a matrix [n,n] under random orders of its tokens, and the share that
// reaches r2.
func (s Shuffles) meanR2(m []float64, n int, r2 float64) (mean, p Number, err error) {
	if s.Count == 0 {
		return None, None, nil
	}
	rng := rand.New(rand.NewPCG(s.Seed, streamShuffle))
	reached, sum, shuffled := 0, 0.0, make([]float64, n*n)
	for range s.Count {
		order := rng.Perm(n)
		for i, from := range order {
			for j, other := range order {
				shuffled[i*n+j] = m[from*n+other]
			}
		}
		v, err := metrics.ToeplitzR2(shuffled, n)
		if err != nil {
			return None, None, err
		}
		sum += v
		if v >= r2-1e-12 { // a sum in another order may differ in its last bits
			reached++
		}
	}
	return Number(sum / float64(s.Count)), Number(float64(1+reached) / float64(1+s.Count)), nil
}

// headProjections are the query and key weights that positional scores are made with: Query and Key
// [k,d], as PyTorch stores them.
type headProjections struct {
	Query, Key []float64
	K, D       int // outputs, of all heads, and inputs
	Heads      int
	Words      []float64 // [d] the mean word embedding, or nil
}

// ProjectionFiles name projections of a user's own model.
type ProjectionFiles struct {
	Query, Key, Words string // FILE[:tensor]
	Heads             int
	InOut             bool        // the files have [inputs,outputs], as in E W
	Header            text.Choice // whether the first line of texts holds names
}

// Given says whether any is named.
func (p ProjectionFiles) Given() bool { return p.Query != "" || p.Key != "" || p.Words != "" }

// read reads projections for tables of d dimensions.
func (p ProjectionFiles) read(d int) (*headProjections, error) {
	if p.Query == "" || p.Key == "" {
		return nil, errors.New("positional scores need the weights of queries and of keys: give --query and --key")
	}
	out := &headProjections{D: d, Heads: p.Heads}
	for _, one := range []struct {
		reference string
		into      *[]float64
	}{{p.Query, &out.Query}, {p.Key, &out.Key}} {
		values, k, err := p.matrix(one.reference, d)
		if err != nil {
			return nil, err
		}
		if out.K != 0 && k != out.K {
			return nil, fmt.Errorf("%s has %s, the query's has %d: want the same", one.reference,
				wording.Count(k, "output"), out.K)
		}
		*one.into, out.K = values, k
	}
	if p.Heads < 1 || out.K%p.Heads != 0 {
		return nil, fmt.Errorf("%s for %s of the query's weights: want a divisor",
			wording.Count(p.Heads, "head"), wording.Count(out.K, "output"))
	}
	if p.Words == "" {
		return out, nil
	}
	a, err := arrayfile.Read(p.Words, p.Header, func(shape []int) error {
		if len(shape) != 2 || shape[0] < 1 || shape[1] != d {
			return fmt.Errorf("shape %v: want word embeddings [words,%d]", shape, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Words = make([]float64, d)
	for i, v := range a.Data {
		out.Words[i%d] += v / float64(a.Shape[0])
	}
	return out, nil
}

// matrix reads weights as [k,d].
func (p ProjectionFiles) matrix(reference string, d int) ([]float64, int, error) {
	axis, want := 1, "[outputs,inputs] with %d inputs (PyTorch's layout; --in-out for the other)"
	if p.InOut {
		axis, want = 0, "[inputs,outputs] with %d inputs"
	}
	a, err := arrayfile.Read(reference, p.Header, func(shape []int) error {
		if len(shape) != 2 || shape[axis] != d || shape[1-axis] < 1 {
			return fmt.Errorf("shape %v: want "+want, shape, d)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if p.InOut {
		a.Array = a.Transpose()
	}
	return a.Data, a.Shape[0], nil
}

// scores returns the positional part of each head's attention scores, E Wq Wk^T E^T [n,n] (Wennberg
// and Henter 2021, equation 3; with Words, E has the mean word embedding added to each row, their
// equation 12 but for a constant).
func (p *headProjections) scores(t Table) [][]float64 {
	e := append([]float64(nil), t.Values...)
	if p.Words != nil {
		for i := range e {
			e[i] += p.Words[i%t.Dim]
		}
	}
	E := mat.NewDense(t.Tokens, t.Dim, e)
	var q, k mat.Dense
	q.Mul(E, mat.NewDense(p.K, p.D, p.Query).T())
	k.Mul(E, mat.NewDense(p.K, p.D, p.Key).T())
	out := make([][]float64, p.Heads)
	width := p.K / p.Heads
	for h := range out {
		out[h] = make([]float64, t.Tokens*t.Tokens)
		mat.NewDense(t.Tokens, t.Tokens, out[h]).Mul(q.Slice(0, t.Tokens, h*width, (h+1)*width),
			k.Slice(0, t.Tokens, h*width, (h+1)*width).T())
	}
	return out
}

// Toeplitzness measures the tables of models, and the positional part of attention scores with the
// projections of files, or of a run's own checkpoint: those of the block at whose input the table
// is added.
func Toeplitzness(models []*Model, files ProjectionFiles,
	shuffles Shuffles) (out []Toeplitz, notes []string, err error) {
	projections := make([][]*headProjections, len(models))
	weights := map[*runs.Run]*runs.Weights{}
	for i, m := range models {
		var found []*headProjections
		switch {
		case files.Given():
			p, err := files.read(m.Tables[0].Dim)
			if err != nil {
				return nil, nil, err
			}
			for range m.Tables {
				found = append(found, p)
			}
		case m.isRun():
			var note string
			if found, note, err = m.projections(weights); err != nil {
				return nil, nil, err
			}
			if note != "" {
				notes = append(notes, note)
			}
		}
		projections[i] = found
	}
	for i, m := range models {
		one, err := m.toeplitz(projections[i], shuffles)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, one)
	}
	return out, unique(notes), nil
}

func (m *Model) toeplitz(projections []*headProjections, shuffles Shuffles) (Toeplitz, error) {
	one := Toeplitz{Subject: m.Subject, Positions: [2]int{m.from, m.from + m.Tables[0].Tokens}, Dim: m.Tables[0].Dim}
	var heads []Number
	for i, t := range m.Tables {
		var p *headProjections
		if i < len(projections) {
			p = projections[i]
		}
		b, err := t.toeplitz(p, shuffles)
		if err != nil {
			return one, fmt.Errorf("%s: table %d: %w", m.Source, t.Block, err)
		}
		heads = append(heads, b.Attention...)
		one.Blocks = append(one.Blocks, b)
	}
	one.R2 = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.R2 })
	one.R2Shuffled = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.R2Shuffled })
	one.R2Centred = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.R2Centred })
	one.Attention = meanOf(heads, func(n Number) Number { return n })
	one.AttentionShuffled = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.AttentionShuffled })
	return one, nil
}

// toeplitz measures a table; p may be nil.
func (t Table) toeplitz(p *headProjections, shuffles Shuffles) (BlockToeplitz, error) {
	b := BlockToeplitz{Block: t.Block, R2Centred: None, AttentionShuffled: None}
	gram, err := metrics.Gram(t.Values, t.Tokens, t.Dim)
	if err != nil {
		return b, err
	}
	r2, err := metrics.ToeplitzR2(gram, t.Tokens)
	if err != nil {
		return b, err
	}
	b.R2 = Number(r2)
	if b.R2Shuffled, b.P, err = shuffles.meanR2(gram, t.Tokens, r2); err != nil {
		return b, err
	}
	if gram, err = metrics.Gram(centre(t), t.Tokens, t.Dim); err != nil {
		return b, err
	}
	if r2, err := metrics.ToeplitzR2(gram, t.Tokens); err == nil { // of rows that are all the same nothing is left
		b.R2Centred = Number(r2)
	}
	if p == nil {
		return b, nil
	}
	var shuffled []Number
	for h, scores := range p.scores(t) {
		r2, err := metrics.ToeplitzR2(scores, t.Tokens)
		if err != nil {
			return b, fmt.Errorf("head %d: %w", h, err)
		}
		mean, _, err := shuffles.meanR2(scores, t.Tokens, r2)
		if err != nil {
			return b, err
		}
		b.Attention, shuffled = append(b.Attention, Number(r2)), append(shuffled, mean)
	}
	b.AttentionShuffled = meanOf(shuffled, func(n Number) Number { return n })
	return b, nil
}

// centre returns a table with its mean row taken off.
func centre(t Table) []float64 {
	mean := make([]float64, t.Dim)
	for i, v := range t.Values {
		mean[i%t.Dim] += v / float64(t.Tokens)
	}
	out := make([]float64, len(t.Values))
	for i, v := range t.Values {
		out[i] = v - mean[i%t.Dim]
	}
	return out
}

// projections finds those of a run's member for each of its tables, with a note that says why there
// are none, or only older ones.
func (m *Model) projections(cache map[*runs.Run]*runs.Weights) ([]*headProjections, string, error) {
	r := m.member.Run
	if cache[r] == nil {
		w, err := r.Weights()
		if errors.Is(err, runlog.ErrNoCheckpoint) {
			return nil, m.Source + ": no checkpoint was kept: no positional attention scores", nil
		}
		if err != nil {
			return nil, "", err
		}
		cache[r] = w
	}
	var out []*headProjections
	for _, t := range m.Tables {
		name := fmt.Sprintf("block%d.attn.in.weight", t.Block)
		values, shape, ok, err := cache[r].Parameter(name, m.member.Index)
		if err != nil {
			return nil, "", err
		}
		heads := max(1, r.Config.Heads)
		if !ok || len(shape) != 2 || shape[0]%3 != 0 || shape[1] != t.Dim || shape[0]/3%heads != 0 {
			return nil, fmt.Sprintf("%s: the checkpoint has no parameter %s of shape [3k,%d] "+
				"(found %v): no positional attention scores", m.Source, name, t.Dim, shape), nil
		}
		k := shape[0] / 3
		out = append(out, &headProjections{Query: values[:k*t.Dim], Key: values[k*t.Dim : 2*k*t.Dim],
			K: k, D: t.Dim, Heads: heads})
	}
	return out, cache[r].Warning, nil
}

// unique leaves out notes that were made before, and empty ones.
func unique(notes []string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, n := range notes {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}
