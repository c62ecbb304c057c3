package analysis

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

// BlockProcrustes has the distance of a block's table from the reference's.
type BlockProcrustes struct {
	Block       int    `json:"block"`
	Raw         Number `json:"raw"`
	NormMatched Number `json:"norm_matched"`
	Disparity   Number `json:"disparity"`
}

// ProcrustesResult has the distance of a model's tables from a reference.
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

// Procrustes compares the tables of models with a reference: 1d-fixed, 2d-fixed, a run (its member
// of the same seed, else its first member, which a note says) or FILE[:tensor]. The reference has
// one table for all blocks, or one for each. Where both have names of tokens, rows are paired by
// name, else in order. Where the reference has fewer columns, tables are compared along as many of
// their principal axes.
func Procrustes(models []*Model, reference string, s Selection) (out []ProcrustesResult, notes []string, err error) {
	find, err := referenceTables(reference, s)
	if err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	type pair struct{ model, reference *Model }
	var pairs []pair
	for _, m := range models {
		r, note, err := find(m)
		var how string
		if err == nil {
			r, how, err = pairRows(m, r, s)
		}
		of, fewer := m, ""
		if err == nil {
			of, r, fewer, err = inReferenceDimensions(m, r)
		}
		if err == nil {
			err = comparable(of, r)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s against reference %s: %w", m.Source, reference, err)
		}
		notes = append(notes, note, how, fewer)
		pairs = append(pairs, pair{of, r})
	}
	for _, p := range pairs {
		m := p.model
		one := ProcrustesResult{Subject: m.Subject, Reference: p.reference.Subject,
			Tokens: m.Tables[0].Tokens, Dim: m.Tables[0].Dim}
		for i, t := range m.Tables {
			other := p.reference.Tables[min(i, len(p.reference.Tables)-1)]
			d, err := metrics.Procrustes(t.Values, other.Values, t.Tokens, t.Dim)
			if err != nil {
				return nil, nil, fmt.Errorf("%s against reference %s: %w", m.Source, reference, err)
			}
			one.Blocks = append(one.Blocks, BlockProcrustes{t.Block, Number(d.Raw),
				Number(d.NormMatched), Number(d.Disparity)})
		}
		one.Raw = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.Raw })
		one.NormMatched = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.NormMatched })
		one.Disparity = meanOf(one.Blocks, func(b BlockProcrustes) Number { return b.Disparity })
		out = append(out, one)
	}
	return out, unique(notes), nil
}

// pairRows returns a reference with the rows of a model's tokens, and a note where they are paired in
// order though one of the two has names. Names that count the tokens say no more than their order.
func pairRows(m, r *Model, s Selection) (*Model, string, error) {
	named, other := m.Names != nil && !countTokens(m.Names, m.from), r.Names != nil && !countTokens(r.Names, 0)
	whole := s.From == 0 && s.To == 0
	switch {
	case r.Source == fixed1D || r.Source == Fixed2D: // made for these tokens
		return r, "", nil
	case m.Names != nil && r.Names != nil && (named || other):
		if whole && len(m.Names) != len(r.Names) {
			return nil, "", fmt.Errorf("it has %d named tokens, the reference %d: want the same",
				len(m.Names), len(r.Names))
		}
		byName, err := rowsOf(r, m.Names)
		return byName, "", err
	case whole:
	default:
		part := *r
		part.Tables = slices.Clone(r.Tables)
		if err := part.restrict(Selection{Block: All, From: s.From, To: s.To}); err != nil {
			return nil, "", err
		}
		r = &part
	}
	if named != other {
		with, without := m.Source, r.Source
		if other {
			with, without = without, with
		}
		return r, fmt.Sprintf("%s has names of tokens and %s none: rows are paired in order", with, without), nil
	}
	return r, "", nil
}

// countTokens reports whether names are numbers that count tokens, from a number on or from 1.
func countTokens(names []string, from int) bool {
	return slices.ContainsFunc([]int{from, 1}, func(start int) bool {
		for i, name := range names {
			if name != strconv.Itoa(start+i) {
				return false
			}
		}
		return true
	})
}

// rowsOf returns a model with the rows of these names, in their order.
func rowsOf(m *Model, names []string) (*Model, error) {
	place := make(map[string]int, len(m.Names))
	for i, name := range m.Names {
		if before, twice := place[name]; twice {
			return nil, fmt.Errorf("%s: tokens %d and %d are both named %q: name them apart", m.Source,
				before, i, name)
		}
		place[name] = i
	}
	out := *m
	out.Names, out.Tables = names, nil
	for _, t := range m.Tables {
		picked := Table{Block: t.Block, Tokens: len(names), Dim: t.Dim}
		for _, name := range names {
			i, ok := place[name]
			if !ok {
				return nil, fmt.Errorf("token %q is not among the %d of %s%s: want the same names",
					name, len(m.Names), m.Source, wording.Hint(name, m.Names))
			}
			picked.Values = append(picked.Values, t.Values[i*t.Dim:(i+1)*t.Dim]...)
		}
		out.Tables = append(out.Tables, picked)
	}
	return &out, nil
}

// inReferenceDimensions returns a model along as many principal axes as a reference of fewer columns has, both
// about their means, and a note that says so; of another reference, both as they are.
func inReferenceDimensions(m, r *Model) (of, reference *Model, note string, err error) {
	k, d := r.Tables[0].Dim, m.Tables[0].Dim
	if k >= d {
		return m, r, "", nil
	}
	along, about := *m, *r
	along.Tables, about.Tables = slices.Clone(m.Tables), slices.Clone(r.Tables)
	for i := range along.Tables {
		t := &along.Tables[i]
		if t.Values, _, err = metrics.PCA(t.Values, t.Tokens, t.Dim, k); err != nil {
			return nil, nil, "", err
		}
		t.Dim = k
	}
	for i := range about.Tables {
		t := &about.Tables[i]
		t.Values = metrics.CentredRows(t.Values, t.Tokens, t.Dim)
	}
	return &along, &about, fmt.Sprintf("%s has %d columns and the reference %d: compared in %s along the "+
		"table's first principal axes, both about their means", m.Source, d, k, wording.Count(k, "dimension")), nil
}

// comparable says why the tables of two models cannot be held against each other.
func comparable(m, r *Model) error {
	if len(r.Tables) != 1 && len(r.Tables) != len(m.Tables) {
		return fmt.Errorf("it has %s, the reference %d: want one, or one for each",
			wording.Count(len(m.Tables), "table"), len(r.Tables))
	}
	for i, t := range m.Tables {
		if o := r.Tables[min(i, len(r.Tables)-1)]; o.Tokens != t.Tokens || o.Dim != t.Dim {
			return fmt.Errorf("table of shape [%d,%d], the reference's is [%d,%d]: want as many tokens, and no more "+
				"columns", t.Tokens, t.Dim, o.Tokens, o.Dim)
		}
	}
	return nil
}

// referenceTables returns what finds the reference of a model.
func referenceTables(reference string, s Selection) (func(*Model) (*Model, string, error), error) {
	if reference == fixed1D || reference == Fixed2D {
		return func(m *Model) (*Model, string, error) {
			r, err := closedForm(reference, m)
			return r, "", err
		}, nil
	}
	s = Selection{Files: []string{reference}, Member: All, Block: All} // paired takes positions
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

// closedForm makes the fixed table for a model's tokens; of a part of them, as the whole table has
// it there.
func closedForm(name string, m *Model) (*Model, error) {
	d := m.Tables[0].Dim
	var table []float64
	var err error
	if name == fixed1D {
		table, err = sinusoid1D(m.tokens, d)
	} else if task := m.task(); task == "sequence" || task == "text" {
		err = fmt.Errorf("the tokens of task %s are a line, and 2d-fixed is of a grid: want 1d-fixed", task)
	} else {
		var side int
		if side, err = squareSide(m.tokens); err == nil {
			table, err = sinusoid2D(side, side, d)
		}
	}
	if err != nil {
		return nil, err
	}
	n := m.Tables[0].Tokens
	return &Model{Subject: Subject{Source: name},
		Tables: []Table{{Tokens: n, Dim: d, Values: table[m.from*d : (m.from+n)*d]}}}, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sameSeed returns the reference of a model among those of a run or a file: the member of the same
// seed, else the first.
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
	return r, fmt.Sprintf("%s: the reference has no member of seed %d: held against its "+
		"first, of seed %d", m.Source, *m.Seed, *r.Seed)
}
