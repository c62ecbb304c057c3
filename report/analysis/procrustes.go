package analysis

import (
	"fmt"
	"os"

	"torchpe/report/metrics"
)

// BlockProcrustes is how far a block's table is from the reference's.
type BlockProcrustes struct {
	Block       int    `json:"block"`
	Raw         Number `json:"raw"`
	NormMatched Number `json:"norm_matched"`
	Disparity   Number `json:"disparity"`
}

// ProcrustesResult is how far a model's tables are from a reference.
type ProcrustesResult struct {
	Subject
	Reference   Subject           `json:"reference"`
	Tokens      int               `json:"tokens"`
	Dim         int               `json:"dim"`
	Raw         Number            `json:"raw"`          // mean over blocks, as the next two
	NormMatched Number            `json:"norm_matched"` //
	Disparity   Number            `json:"disparity"`    //
	Blocks      []BlockProcrustes `json:"blocks"`
}

// Procrustes compares the tables of models with a reference: 1d-fixed, 2d-fixed, a run (its member of the same seed, else
// its first member, which a note says) or FILE[:tensor]. The reference has one table for all blocks, or one for each.
func Procrustes(models []*Model, reference string, s Selection) (out []ProcrustesResult, notes []string, err error) {
	find, err := referenceTables(reference, s)
	if err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	type pair struct{ model, reference *Model }
	var pairs []pair
	for _, m := range models {
		r, note, err := find(m)
		if err == nil {
			err = comparable(m, r)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s against reference %s: %w", m.Source, reference, err)
		}
		if note != "" {
			notes = append(notes, note)
		}
		pairs = append(pairs, pair{m, r})
	}
	for _, p := range pairs {
		m := p.model
		one := ProcrustesResult{Subject: m.Subject, Reference: p.reference.Subject, Tokens: m.Tables[0].Tokens, Dim: m.Tables[0].Dim}
		for i, t := range m.Tables {
			other := p.reference.Tables[min(i, len(p.reference.Tables)-1)]
			d, err := metrics.Procrustes(t.Values, other.Values, t.Tokens, t.Dim)
			if err != nil {
				return nil, nil, fmt.Errorf("%s against reference %s: %w", m.Source, reference, err)
			}
			one.Blocks = append(one.Blocks, BlockProcrustes{t.Block, Number(d.Raw), Number(d.NormMatched), Number(d.Disparity)})
		}
		one.Raw = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.Raw })
		one.NormMatched = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.NormMatched })
		one.Disparity = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.Disparity })
		out = append(out, one)
	}
	return out, notes, nil
}

// comparable says why the tables of two models cannot be held against each other.
func comparable(m, r *Model) error {
	if len(r.Tables) != 1 && len(r.Tables) != len(m.Tables) {
		return fmt.Errorf("it has %s, the reference %d: want one, or one for each", counted(len(m.Tables), "table"), len(r.Tables))
	}
	for i, t := range m.Tables {
		if o := r.Tables[min(i, len(r.Tables)-1)]; o.Tokens != t.Tokens || o.Dim != t.Dim {
			return fmt.Errorf("table of shape [%d,%d], the reference's is [%d,%d]: want the same", t.Tokens, t.Dim, o.Tokens, o.Dim)
		}
	}
	return nil
}

// referenceTables returns what finds the reference of a model.
func referenceTables(reference string, s Selection) (func(*Model) (*Model, string, error), error) {
	if reference == Fixed1D || reference == Fixed2D {
		return func(m *Model) (*Model, string, error) {
			r, err := closedForm(reference, m)
			return r, "", err
		}, nil
	}
	s.Runs, s.Files, s.Member, s.Block = nil, []string{reference}, All, All
	if isDirectory(reference) {
		s.Runs, s.Files = s.Files, nil
	}
	found, _, err := Tables(s)
	if err != nil {
		return nil, err
	}
	return func(m *Model) (*Model, string, error) {
		r, note := sameSeed(m, found)
		if len(m.Tables) < len(r.Tables) && len(m.Tables) == 1 { // one block was chosen
			chosen := *r
			for _, t := range r.Tables {
				if t.Block == m.Tables[0].Block {
					chosen.Tables = []Table{t}
				}
			}
			r = &chosen
		}
		return r, note, nil
	}, nil
}

// closedForm makes the fixed table for a model's tokens; of a part of them, as the whole table has it there.
func closedForm(name string, m *Model) (*Model, error) {
	d := m.Tables[0].Dim
	var table []float64
	var err error
	if name == Fixed1D {
		table, err = Sinusoid1D(m.tokens, d)
	} else {
		var side int
		if side, err = squareSide(m.tokens); err == nil {
			table, err = Sinusoid2D(side, side, d)
		}
	}
	if err != nil {
		return nil, err
	}
	n := m.Tables[0].Tokens
	return &Model{Subject: Subject{Source: name}, Tables: []Table{{Tokens: n, Dim: d, Values: table[m.from*d : (m.from+n)*d]}}}, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sameSeed returns the reference of a model among those of a run or a file: the member of the same seed, else the first.
func sameSeed(m *Model, references []*Model) (*Model, string) {
	if m.Seed != nil {
		for _, r := range references {
			if r.Seed != nil && *r.Seed == *m.Seed {
				return r, ""
			}
		}
	}
	r := references[0]
	if m.Seed == nil || r.Seed == nil {
		return r, ""
	}
	return r, fmt.Sprintf("%s: the reference has no member of seed %d: held against its first, of seed %d", m.Source, *m.Seed, *r.Seed)
}
