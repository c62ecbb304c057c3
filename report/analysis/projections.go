package analysis

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/train/runlog"
)

// projection holds the query and key weights of positional scores.
type projection struct {
	query, key []float64 // [outputs,d], as PyTorch stores them
	outputs    int       // of all heads
	heads      int
	words      []float64 // [d] the mean word embedding, or nil
}

// projectionFiles names the files with the projections of a user's own model.
type projectionFiles struct {
	query, key, words string // FILE[:tensor]
	heads             int
	inOut             bool // the files have [inputs,outputs], as in E W
}

func (p projectionFiles) given() bool { return p.query != "" || p.key != "" || p.words != "" }

// read reads projections for tables of d dimensions.
func (p projectionFiles) read(d int, header text.Choice) (*projection, error) {
	if p.query == "" || p.key == "" {
		return nil, errors.New("positional scores need the weights of queries and of keys: give --query and --key")
	}
	query, outputs, err := p.matrix(p.query, d, header)
	if err != nil {
		return nil, err
	}
	key, k, err := p.matrix(p.key, d, header)
	switch {
	case err != nil:
		return nil, err
	case k != outputs:
		return nil, fmt.Errorf("%s has %s, the query's has %d: want the same", p.key, wording.Count(k,
			"output"), outputs)
	case outputs%p.heads != 0:
		return nil, fmt.Errorf("%s for %s of the query's weights: want a divisor",
			wording.Count(p.heads, "head"), wording.Count(outputs, "output"))
	}
	out := &projection{query: query, key: key, outputs: outputs, heads: p.heads}
	if p.words == "" {
		return out, nil
	}
	a, err := finiteArray(p.words, header, func(shape []int) error {
		if len(shape) != 2 || shape[0] < 1 || shape[1] != d {
			return fmt.Errorf("shape %v: want word embeddings [words,%d]", shape, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.words = make([]float64, d)
	for i, v := range a.Data {
		out.words[i%d] += v / float64(a.Shape[0])
	}
	return out, nil
}

// finiteArray reads a matrix of finite numbers.
func finiteArray(reference string, header text.Choice, fits func([]int) error) (arrayfile.Array, error) {
	a, err := arrayfile.Read(reference, header, fits)
	for i, v := range a.Data {
		if v-v != 0 {
			return a, fmt.Errorf("%s: row %d, column %d (from 0) is %v: want finite numbers", a.Source,
				i/a.Shape[1], i%a.Shape[1], v)
		}
	}
	return a, err
}

// matrix reads weights [outputs,d] and returns the number of outputs.
func (p projectionFiles) matrix(reference string, d int, header text.Choice) ([]float64, int, error) {
	axis, want := 1, "[outputs,inputs] with %d inputs (PyTorch's layout; --in-out for the other)"
	if p.inOut {
		axis, want = 0, "[inputs,outputs] with %d inputs"
	}
	a, err := finiteArray(reference, header, func(shape []int) error {
		switch {
		case len(shape) != 2 || shape[axis] != d || shape[1-axis] < 1:
			return fmt.Errorf("shape %v: want "+want, shape, d)
		case shape[1-axis] == 3*d && p.query == p.key:
			return fmt.Errorf("shape %v: these seem to be the weights of queries, keys and values in one: give the "+
				"queries' and the keys' part in two files", shape)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if p.inOut {
		a.Array = a.Transpose()
	}
	return a.Data, a.Shape[0], nil
}

// ownProjections returns the projections of a run's member for each of its tables. If there are none, they
// are nil and a note says why. A note also says if they come from an older checkpoint.
func (in *Input) ownProjections(m *Model, cache map[*cohort.Run]*cohort.Weights) ([]*projection, error) {
	none := make([]*projection, len(m.Tables))
	if !m.isRun() {
		return none, nil
	}
	r := m.member.Run
	if cache[r] == nil {
		w, err := r.Weights()
		if errors.Is(err, runlog.ErrNoCheckpoint) {
			in.note("%s: no checkpoint was kept: no positional attention scores", m.Source)
			return none, nil
		}
		if err != nil {
			return nil, err
		}
		cache[r] = w
	}
	var out []*projection
	for _, t := range m.Tables {
		name := fmt.Sprintf("block%d.attn.in.weight", t.Block)
		values, shape, ok, err := cache[r].Parameter(name, m.member.Index)
		if err != nil {
			return nil, err
		}
		heads := max(1, r.Config.Heads)
		if !ok || len(shape) != 2 || shape[0]%3 != 0 || shape[1] != t.Dim || shape[0]/3%heads != 0 {
			in.note("%s: the checkpoint has no parameter %s of shape [3k,%d] (found %v): no positional attention "+
				"scores", m.Source, name, t.Dim, shape)
			return none, nil
		}
		size := len(values) / 3 // queries, keys and values
		out = append(out, &projection{query: values[:size], key: values[size : 2*size], outputs: shape[0] / 3,
			heads: heads})
	}
	in.Notes = append(in.Notes, cache[r].Warning)
	return out, nil
}

// scores returns the positional part of each head's attention scores, E Wq Wk^T E^T [n,n] (Wennberg and Henter
// 2021, equation 3). With words, the mean word embedding is added to each row of E: their equation 12, apart
// from a constant. It returns nothing if p is nil.
func (p *projection) scores(t Table) [][]float64 {
	if p == nil {
		return nil
	}
	e := append([]float64(nil), t.Values...)
	if p.words != nil {
		for i := range e {
			e[i] += p.words[i%t.Dim]
		}
	}
	E := mat.NewDense(t.Tokens, t.Dim, e)
	var q, k mat.Dense
	q.Mul(E, mat.NewDense(p.outputs, t.Dim, p.query).T())
	k.Mul(E, mat.NewDense(p.outputs, t.Dim, p.key).T())
	out := make([][]float64, p.heads)
	width := p.outputs / p.heads
	for h := range out {
		out[h] = make([]float64, t.Tokens*t.Tokens)
		mat.NewDense(t.Tokens, t.Tokens, out[h]).Mul(q.Slice(0, t.Tokens, h*width, (h+1)*width),
			k.Slice(0, t.Tokens, h*width, (h+1)*width).T())
	}
	return out
}
