package analysis

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"torchpe/report/metrics"
	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// BlockToeplitz is how translation invariant a block's table is.
type BlockToeplitz struct {
	Block     int      `json:"block"`
	R2        Number   `json:"r2"`         // of E E^T
	R2Centred Number   `json:"r2_centred"` // of E E^T with the mean row taken off E
	Attention []Number `json:"attention"`  // of E Wq Wk^T E^T, each head; null where no projections are known
}

// Toeplitz is how translation invariant a model's tables are (Wennberg and Henter 2021, section 3 and appendix B).
type Toeplitz struct {
	Subject
	Positions [2]int          `json:"positions"` // first, and the one after the last
	Dim       int             `json:"dim"`
	R2        Number          `json:"r2"`         // mean over blocks
	R2Centred Number          `json:"r2_centred"` // mean over blocks
	Attention Number          `json:"attention"`  // mean over blocks and heads
	Blocks    []BlockToeplitz `json:"blocks"`
}

// Projections are the query and key weights that positional scores are made with: Query and Key [k,d], as PyTorch stores them.
type Projections struct {
	Query, Key []float64
	K, D       int // outputs, of all heads, and inputs
	Heads      int
	Words      []float64 // [d] the mean word embedding, or nil
}

// ProjectionFiles name projections of a user's own model.
type ProjectionFiles struct {
	Query, Key, Words string // FILE[:tensor]
	Heads             int
	InOut             bool // the files have [inputs,outputs], as in E W
}

// Given says whether any is named.
func (p ProjectionFiles) Given() bool { return p.Query != "" || p.Key != "" || p.Words != "" }

// Read reads projections for tables of d dimensions.
func (p ProjectionFiles) Read(d int) (*Projections, error) {
	if p.Query == "" || p.Key == "" {
		return nil, errors.New("positional scores need the weights of queries and of keys: give --query and --key")
	}
	out := &Projections{D: d, Heads: p.Heads}
	for _, one := range []struct {
		reference string
		into      *[]float64
	}{{p.Query, &out.Query}, {p.Key, &out.Key}} {
		values, k, err := p.matrix(one.reference, d)
		if err != nil {
			return nil, err
		}
		if out.K != 0 && k != out.K {
			return nil, fmt.Errorf("%s has %d outputs, the query's has %d: want the same", one.reference, k, out.K)
		}
		*one.into, out.K = values, k
	}
	if p.Heads < 1 || out.K%p.Heads != 0 {
		return nil, fmt.Errorf("%d heads for %d outputs of the query's weights: want a divisor", p.Heads, out.K)
	}
	if p.Words == "" {
		return out, nil
	}
	a, err := ReadArray(p.Words, func(shape []int) error {
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
	a, err := ReadArray(reference, func(shape []int) error {
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

// Scores returns the positional part of each head's attention scores, E Wq Wk^T E^T [n,n] (Wennberg and Henter 2021, equation 3;
// with Words, E has the mean word embedding added to each row, their equation 12 but for a constant).
func (p *Projections) Scores(t Table) [][]float64 {
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
		mat.NewDense(t.Tokens, t.Tokens, out[h]).Mul(q.Slice(0, t.Tokens, h*width, (h+1)*width), k.Slice(0, t.Tokens, h*width, (h+1)*width).T())
	}
	return out
}

// Toeplitzness measures the tables of models, and the positional part of attention scores with the projections of files, or of a
// run's own checkpoint: those of the block at whose input the table is added.
func Toeplitzness(models []*Model, files ProjectionFiles) (out []Toeplitz, notes []string, err error) {
	projections := make([][]*Projections, len(models))
	weights := map[*runs.Run]*runs.Weights{}
	for i, m := range models {
		var found []*Projections
		switch {
		case files.Given():
			p, err := files.Read(m.Tables[0].Dim)
			if err != nil {
				return nil, nil, err
			}
			for range m.Tables {
				found = append(found, p)
			}
		case m.Run():
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
		one, err := m.toeplitz(projections[i])
		if err != nil {
			return nil, nil, err
		}
		out = append(out, one)
	}
	return out, unique(notes), nil
}

func (m *Model) toeplitz(projections []*Projections) (Toeplitz, error) {
	one := Toeplitz{Subject: m.Subject, Positions: [2]int{m.from, m.from + m.Tables[0].Tokens}, Dim: m.Tables[0].Dim, Attention: None}
	var heads []Number
	for i, t := range m.Tables {
		b := BlockToeplitz{Block: t.Block}
		plain, err := gramR2(t.Values, t)
		if err != nil {
			return one, fmt.Errorf("%s: table %d: %w", m.Source, t.Block, err)
		}
		b.R2, b.R2Centred = plain, None
		if centred, err := gramR2(centre(t), t); err == nil { // rows that are all the same have nothing left
			b.R2Centred = centred
		}
		if i < len(projections) {
			for h, scores := range projections[i].Scores(t) {
				r2, err := metrics.ToeplitzR2(scores, t.Tokens)
				if err != nil {
					return one, fmt.Errorf("%s: table %d, head %d: %w", m.Source, t.Block, h, err)
				}
				b.Attention = append(b.Attention, Number(r2))
			}
			heads = append(heads, b.Attention...)
		}
		one.Blocks = append(one.Blocks, b)
	}
	one.R2 = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.R2 })
	one.R2Centred = meanOf(one.Blocks, func(b BlockToeplitz) Number { return b.R2Centred })
	one.Attention = meanOf(heads, func(n Number) Number { return n })
	return one, nil
}

func gramR2(values []float64, t Table) (Number, error) {
	gram, err := metrics.Gram(values, t.Tokens, t.Dim)
	if err != nil {
		return None, err
	}
	r2, err := metrics.ToeplitzR2(gram, t.Tokens)
	return Number(r2), err
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

// projections finds those of a run's member for each of its tables, or a note that says why there are none.
func (m *Model) projections(cache map[*runs.Run]*runs.Weights) ([]*Projections, string, error) {
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
	var out []*Projections
	for _, t := range m.Tables {
		name := fmt.Sprintf("block%d.attn.in.weight", t.Block)
		values, shape, ok, err := cache[r].Parameter(name, m.member.Index)
		if err != nil {
			return nil, "", err
		}
		heads := max(1, r.Config.Heads)
		if !ok || len(shape) != 2 || shape[0]%3 != 0 || shape[1] != t.Dim || shape[0]/3%heads != 0 {
			return nil, fmt.Sprintf("%s: the checkpoint has no parameter %s of shape [3k,%d] (found %v): no positional attention scores", m.Source, name, t.Dim, shape), nil
		}
		k := shape[0] / 3
		out = append(out, &Projections{Query: values[:k*t.Dim], Key: values[k*t.Dim : 2*k*t.Dim], K: k, D: t.Dim, Heads: heads})
	}
	return out, "", nil
}

// unique leaves out notes that were made before.
func unique(notes []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, n := range notes {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}
