package analysis

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/arrayfile"
	"torchpe/data/partition"
	"torchpe/internal/layers"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

func newProcrustes() Measure {
	var reference string
	return Measure{
		Use:   "procrustes RUN... | --table FILE[:tensor]",
		Short: "Distance of encodings from a reference, up to rotation and reflection",
		Long: `Distances of a table A from a reference B [tokens,dimensions]:

  raw           min over orthogonal R of |A R - B|, Frobenius norm (paper figure 3D). It grows
                with the norm of A, whatever its shape
  norm-matched  the same after A is scaled to the norm of B
  disparity     that of scipy.spatial.procrustes, 0 to 1: both are centred and scaled to norm 1, A is
                rotated, reflected and scaled to fit; the sum of squared differences

--reference 2d-fixed (default) and 1d-fixed are the sinusoidal tables of the same shape, at the places
of the tokens: those of the run's --positions, else in order, row by row. The first position, and which
half of 2d-fixed encodes the row, make no difference to any of the three. The reference may also be a
run (its member of the same seed, else its first, with a note) or FILE[:tensor], with one table for all
blocks or one for each. If both have names of tokens, rows are paired by name, else in order. If the
reference has fewer columns, such as the coordinates of a layout, both are compared in these
dimensions, about their means: A by its first principal axes.

JSON: {reference, models: [{source, member, seed, pe, reference: {source, member, seed, pe},
tokens, dim, raw, norm_matched, disparity, blocks: [{block, raw, norm_matched, disparity}]}],
notes}; the numbers of a model are means over its blocks. Notes say why a distance has no value.`,
		Example: `  torchpe analyze procrustes runs/lst_learn-0.2_code_seed1 runs/lst_learn-2.0_code_seed1
  torchpe analyze procrustes runs/lst_learn-0.2_code_seed1 --reference runs/lst_2d-fixed_code_seed1
  torchpe analyze procrustes --table mine.npy --reference theirs.safetensors:pos_embed --json`,
		Block: All,
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&reference, "reference", fixed2D, "2d-fixed, 1d-fixed, a run or FILE[:tensor]")
		},
		run: func(in *Input) (*Report, error) { return procrustes(in, reference) },
	}
}

// procrustes returns the distances of models' tables from those of a reference.
func procrustes(in *Input, reference string) (*Report, error) {
	if a := in.Args; len(a) == 2 && isRegular(a[0]) && isRegular(a[1]) {
		return nil, fmt.Errorf("%s and %s are files, not runs: --table %s --reference %s", a[0], a[1],
			wording.Quote(a[0]), wording.Quote(a[1]))
	}
	models, err := in.models()
	if err != nil {
		return nil, err
	}
	references, err := in.referenceModels(reference)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	pairs := make([][2]*Model, len(models)) // a model and its reference, with tables of equal shape
	for i, m := range models {
		if pairs[i], err = in.pair(m, reference, references); err != nil {
			return nil, fmt.Errorf("%s against reference %s: %w", m.Source, reference, err)
		}
	}
	numbers := blocks(column{key: "raw", heading: "raw"}, column{key: "norm_matched", heading: "norm-matched"},
		column{key: "disparity", heading: "disparity"})
	var found []scores
	for _, p := range pairs {
		one := numbers.measure(p[0], func(i int, t Table) ([]any, string) {
			d, err := metrics.Procrustes(t.Table, p[1].table(i).Table)
			return []any{Number(d.Raw), Number(d.NormMatched), Number(d.Disparity)}, reason(err)
		})
		t := p[0].Tables[0]
		one.about = Object{{"reference", p[1].object()}, {"tokens", t.Tokens}, {"dim", t.Dim}}
		found = append(found, one)
	}
	return numbers.report(Object{{"reference", reference}}, found), nil
}

// table returns the table to compare with table i of another model: the i-th, or the only one.
func (m *Model) table(i int) Table { return m.Tables[min(i, len(m.Tables)-1)] }

// referenceModels reads the members of a run, or FILE[:tensor]. It returns nil for closed forms.
func (in *Input) referenceModels(reference string) ([]*Model, error) {
	if reference == fixed1D || reference == fixed2D {
		return nil, nil
	}
	other := &Input{Member: All, Block: All, Header: in.Header} // pair takes positions
	if isDirectory(reference) {
		other.Args = []string{reference}
	} else {
		other.Files = []string{reference}
	}
	models, err := other.models()
	if err == nil {
		err = oneRun(reference, models)
	}
	in.Notes = append(in.Notes, other.Notes...)
	return models, err
}

// oneRun returns an error if the models of a reference are of several runs.
func oneRun(reference string, models []*Model) error {
	var sources []string
	for _, m := range models {
		if !slices.Contains(sources, m.Source) {
			sources = append(sources, m.Source)
		}
	}
	if len(sources) > 1 {
		return fmt.Errorf("%s has %d runs: name one, such as %s", reference, len(sources), sources[0])
	}
	return nil
}

// pair returns a model and its reference ready to be compared: the reference's member of the same seed,
// rows of the same tokens, and the dimensions of the reference. Notes say what was changed.
func (in *Input) pair(m *Model, reference string, references []*Model) ([2]*Model, error) {
	var r *Model
	var err error
	if references == nil {
		r, err = closedForm(reference, m)
	} else {
		r = in.sameSeed(m, references)
		in.noteSameDraw(m, r)
		if r, err = ofBlocks(r, m); err == nil {
			r, err = in.pairRows(m, r)
		}
	}
	if err == nil {
		m, r, err = in.inReferenceDimensions(m, r)
	}
	if err == nil {
		err = comparable(m, r)
	}
	return [2]*Model{m, r}, err
}

// sameSeed returns the member of the reference that has the model's seed, or the first, with a note. Of several it
// takes the one with the other settings of the model, or the first, with a note.
func (in *Input) sameSeed(m *Model, references []*Model) *Model {
	first := references[0]
	if !m.isRun() || !first.isRun() {
		return first
	}
	var same []*Model
	for _, r := range references {
		if r.seed() == m.seed() {
			same = append(same, r)
		}
	}
	for _, r := range same {
		if len(same) == 1 || reflect.DeepEqual(r.member.Member, m.member.Member) {
			return r
		}
	}
	if len(same) > 0 {
		in.note("%s: the reference has %d members of seed %d, and none has the model's settings: compared with the "+
			"first, %s", m.label(), len(same), m.seed(), same[0].label())
		return same[0]
	}
	in.note("%s: the reference has no member of seed %d: compared with its first, of seed %d", m.Source, m.seed(),
		first.seed())
	return first
}

// noteSameDraw adds a note if two models began with the same table, apart from its size. Such tables stay alike
// if neither model learned much.
func (in *Input) noteSameDraw(m, r *Model) {
	if m.isRun() && r.isRun() && m.member.Run != r.member.Run && m.seed() == r.seed() &&
		slices.ContainsFunc(learnedParts(m), func(name string) bool { return slices.Contains(learnedParts(r), name) }) {
		in.note("%s and %s began with tables of the same seed, which are alike without training: compare another seed",
			m.label(), r.label())
	}
}

// learnedParts returns names of the learned tables of a run, which with its seed determine their draws: learn, or
// pe.learn within a stack and among encodings by layer.
func learnedParts(m *Model) (names []string) {
	pe := m.member.Run.Config.PE
	list, err := layers.Parse(pe)
	if err != nil {
		return nil
	}
	isStack := layers.Differ(pe) || strings.Contains(pe, "+")
	for _, entry := range list {
		for part := range strings.SplitSeq(entry.Value, "+") {
			part, _, _ = strings.Cut(part, "(")
			switch {
			case !strings.HasPrefix(part, "learn"):
			case isStack:
				names = append(names, "pe."+part)
			default:
				names = append(names, part)
			}
		}
	}
	return names
}

// ofBlocks returns r with the tables of m's blocks, if it has several tables. Those of files are taken in order, unless
// m has only one. The only table of r stands for all blocks, unless r has encodings by layer.
func ofBlocks(r, m *Model) (*Model, error) {
	ofLayers := r.isRun() && layers.Differ(r.member.Run.Config.PE)
	if len(r.Tables) == 1 && !ofLayers || len(m.Tables) > 1 && !(m.isRun() && r.isRun()) {
		return r, nil
	}
	chosen := *r
	chosen.Tables = nil
	for _, t := range m.Tables {
		i := slices.IndexFunc(r.Tables, func(o Table) bool { return o.Block == t.Block })
		if i < 0 {
			return nil, fmt.Errorf("the reference has no table of block %d: choose a block of both with --block",
				t.Block)
		}
		chosen.Tables = append(chosen.Tables, r.Tables[i])
	}
	return &chosen, nil
}

// pairRows returns r with the rows of m's tokens. It adds a note if rows are paired in order because only one
// of the two has names.
func (in *Input) pairRows(m, r *Model) (*Model, error) {
	rows, err := in.pairNames(m, r)
	if err != nil || rows != nil {
		return r.withRows(rows), err
	}
	if in.from != 0 || in.to != 0 {
		part := *r
		part.Tables = slices.Clone(r.Tables)
		return &part, part.restrict(&Input{Block: All, from: in.from, to: in.to})
	}
	return r, nil
}

// pairNames returns the row of r for each token of m by name, or nil if they are paired in order, with a note if
// one of the two has names. Names that only count the tokens are ignored.
func (in *Input) pairNames(m, r *Model) ([]int, error) {
	named, other := m.Names != nil && !countTokens(m.Names, m.from), r.Names != nil && !countTokens(r.Names, 0)
	if m.Names != nil && r.Names != nil && (named || other) {
		if in.from == 0 && in.to == 0 && len(m.Names) != len(r.Names) {
			return nil, fmt.Errorf("it has %d named tokens, the reference %d: want the same",
				len(m.Names), len(r.Names))
		}
		return r.rowsNamed(m)
	}
	with, without := m.Source, r.Source
	if other {
		with, without = without, with
	}
	if named != other {
		in.note("%s has names of tokens and %s none: rows are paired in order", with, without)
	}
	return nil, nil
}

// countTokens reports whether names are consecutive numbers that start at from or at 1.
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

// rowsNamed returns, for each token of another model, the row of m that has its name.
func (m *Model) rowsNamed(other *Model) ([]int, error) {
	for _, of := range []*Model{m, other} {
		if i, j, twice := arrayfile.Twice(of.Names); twice {
			return nil, fmt.Errorf("%s: tokens %d and %d are both named %q: make names unique", of.Source, of.from+i,
				of.from+j, of.Names[i])
		}
	}
	rows, missing, _ := partition.MatchNames(m.Names, other.Names)
	if missing != nil {
		return nil, fmt.Errorf("token %q is not among the %d of %s, which must have the same names%s",
			missing[0], len(m.Names), m.Source, wording.Hint(missing[0], m.Names))
	}
	return rows, nil
}

// withRows returns m with these rows of its tables, in this order, and without names.
func (m *Model) withRows(rows []int) *Model {
	out := *m
	out.Tables, out.Names = nil, nil
	for _, t := range m.Tables {
		picked := Table{t.Block, metrics.Table{Tokens: len(rows), Dim: t.Dim}}
		for _, i := range rows {
			picked.Values = append(picked.Values, t.Row(i)...)
		}
		out.Tables = append(out.Tables, picked)
	}
	return &out
}

// inReferenceDimensions returns m and r unchanged unless r has fewer columns. Then m is projected on as
// many of its principal axes, both are centred, and a note says so.
func (in *Input) inReferenceDimensions(m, r *Model) (of, reference *Model, err error) {
	k, d := r.Tables[0].Dim, m.Tables[0].Dim
	if k >= d {
		return m, r, nil
	}
	along, about := *m, *r
	along.Tables, about.Tables = slices.Clone(m.Tables), slices.Clone(r.Tables)
	for i := range along.Tables {
		t := &along.Tables[i].Table
		if *t, _, err = t.PCA(k); errors.Is(err, metrics.ErrEqualRows) { // all tokens are at their mean
			t.Values = make([]float64, t.Tokens*k)
		} else if err != nil {
			return nil, nil, err
		}
	}
	for i := range about.Tables {
		about.Tables[i].Table = about.Tables[i].Centred()
	}
	in.note("%s has %d columns and the reference %d: compared in %s along the table's first principal axes, "+
		"both about their means", m.Source, d, k, wording.Count(k, "dimension"))
	return &along, &about, nil
}

// comparable returns an error if the tables of two models cannot be compared.
func comparable(m, r *Model) error {
	if len(r.Tables) != 1 && len(r.Tables) != len(m.Tables) {
		return fmt.Errorf("it has %s, the reference %d: want one, or one for each",
			wording.Count(len(m.Tables), "table"), len(r.Tables))
	}
	for i, t := range m.Tables {
		if o := r.table(i); o.Tokens != t.Tokens || o.Dim != t.Dim {
			return fmt.Errorf("table of shape [%d,%d], the reference's is [%d,%d]: want as many tokens, and no more "+
				"columns", t.Tokens, t.Dim, o.Tokens, o.Dim)
		}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
