package analysis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"torchpe/internal/metrics"
	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
)

func newAttention() Measure {
	var reference, pooling string
	return Measure{
		Use:   "attention RUN|FILE[:tensor]... --reference RUN|FILE[:tensor]",
		Short: "Similarity of attention maps, of runs or arrays, to those of a reference",
		Long: `Cosine, and Jensen-Shannon divergence in bits (0 to 1, mean over the rows), of attention maps
and those of a reference. The maps of a run are those of the validation puzzles, or for masked
prediction the mean over test frames. They are compared with the reference's member of the same seed
(else its first, with a note).

An array FILE[:tensor] has shape [tokens,tokens], [examples,tokens,tokens],
[layers,examples,tokens,tokens] or [layers,examples,heads,tokens,tokens]. Its rows, the last axis,
must be distributions: at least 0, with a sum of 1 within 0.001. If both maps have names of
tokens, tokens are paired by name, else in order.

The paper does not say how maps were pooled; --pooling:

  each     each layer's map of each puzzle (example) with its counterpart, then the mean (default)
  layers   the mean over layers first, then each puzzle
  puzzles  the mean over puzzles first, then each layer
  all      all maps as one vector

The cosine of a map treats all its heads as one vector. Numbers by layer and by example use the maps
of that layer or example alone, pooled in the same way.

JSON: {pooling, models: [{source, member, seed, pe, reference: {source, member, seed, pe},
same_seed, examples, heads, cosine, jsd, layers: [{layer, cosine, jsd}], by_example: [{example,
cosine, jsd}]}], notes}.`,
		Example: `  torchpe analyze attention runs/lst_learn-0.2_code_seed1 --reference runs/lst_2d-fixed_code_seed1
  torchpe analyze attention runs --reference runs/lst_2d-fixed_code_seed1 --pooling layers --json
  torchpe analyze attention mine.npy --reference theirs.safetensors:attention`,
		Maps: true,
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&reference, "reference", "", "run or FILE[:tensor] to compare with (required)")
			fl.StringVar(&pooling, "pooling", string(metrics.EachMap), "each, layers, puzzles or all")
		},
		run: func(in *Input) (*Report, error) {
			how, err := metrics.ParsePooling(pooling)
			switch {
			case err != nil:
				return nil, fmt.Errorf("--pooling: %w", err)
			case len(in.Args) == 0:
				return nil, errors.New("no run is given: name one or more directories, or arrays FILE[:tensor]")
			case reference == "":
				return nil, errors.New("--reference is missing: give the run or array to compare with")
			}
			return attention(in, reference, how)
		},
	}
}

// attention compares the attention of models with that of a reference: an array, or the run's member
// with the same seed. If there is none, it takes the first member and says so in a note.
func attention(in *Input, reference string, how metrics.Pooling) (*Report, error) {
	models, err := in.attentionModels()
	if err != nil {
		return nil, err
	}
	other := &Input{Args: []string{reference}, Member: All, Header: in.Header}
	references, err := other.attentionModels()
	if err == nil {
		err = oneRun(reference, references)
	}
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	in.Notes = append(in.Notes, other.Notes...)
	numbers := layout{part: "layer", whole: string(how), extra: []string{"reference's seed"},
		columns: []column{{key: "cosine", heading: "cosine"}, {key: "jsd", heading: "JSD (bits)"}}}
	var found []scores
	for _, m := range models {
		r := in.sameSeed(m, references)
		if m.member == nil && len(references) > 1 {
			in.note("%s has no seed: compared with the first of %s, of seed %d", m.Source,
				wording.Count(len(references), "member"), r.seed())
		}
		in.noteOtherData(m, r)
		a, b, err := in.attentionPair(m, r)
		if err != nil {
			return nil, err
		}
		s, err := compareAttention(a, b, how)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.label(), err)
		}
		s.Subject, s.about, s.extra = m.Subject, Object{{"reference", r.object()}}, r.cells()[3:]
		if m.isRun() && r.isRun() {
			s.about = append(s.about, Field{"same_seed", m.seed() == r.seed()})
		}
		s.about = append(s.about, Field{"examples", a.Examples}, Field{"heads", a.Heads})
		found = append(found, s)
	}
	report := numbers.report(Object{{"pooling", how}}, found)
	report.notes = in.Notes
	return report, nil
}

// attentionModels returns the members of the runs among the arguments, then the arrays FILE[:tensor].
func (in *Input) attentionModels() ([]*Model, error) {
	var dirs, files []string
	for _, r := range in.Args {
		if isDirectory(r) {
			dirs = append(dirs, r)
		} else {
			files = append(files, r)
		}
	}
	models, err := in.members(dirs)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		m, err := in.fileAttention(file)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	return models, nil
}

// attention returns the maps of a file or of a run's member.
func (m *Model) attention() (metrics.Attention, error) {
	if m.maps != nil {
		return *m.maps, nil
	}
	return m.probes.Attention(m.member.Index)
}

// attentionPair reads the maps of two models, which must have the same shape, with the tokens of r in the order of
// m's.
func (in *Input) attentionPair(m, r *Model) (a, b metrics.Attention, err error) {
	if a, err = m.attention(); err != nil {
		return a, b, err
	}
	if b, err = r.attention(); err != nil {
		return a, b, fmt.Errorf("reference: %w", err)
	}
	if x, y := a.Size(), b.Size(); x != y {
		return a, b, fmt.Errorf("%s has attention of %s, the reference %s of %s: want the same", m.Source, x,
			r.Source, y)
	}
	for _, of := range []*Model{m, r} {
		if of.isRun() {
			of.Names = of.probes.TokenNames(a.Tokens)
		}
	}
	rows, err := in.pairNames(m, r)
	if err != nil {
		return a, b, fmt.Errorf("%s against reference %s: %w", m.Source, r.Source, err)
	}
	if rows != nil {
		b = withTokens(b, rows)
	}
	return a, b, nil
}

// withTokens returns maps between these tokens, in this order.
func withTokens(a metrics.Attention, tokens []int) metrics.Attention {
	n, all := a.Tokens, a.Layers
	a.Layers = nil
	for _, layer := range all {
		var picked []float64
		for one := range slices.Chunk(layer, n*n) {
			for _, i := range tokens {
				for _, j := range tokens {
					picked = append(picked, one[i*n+j])
				}
			}
		}
		a.Layers = append(a.Layers, picked)
	}
	return a
}

// compareAttention compares two models' maps as a whole, by layer and by example.
func compareAttention(a, b metrics.Attention, how metrics.Pooling) (scores, error) {
	var s scores
	compare := func(a, b metrics.Attention) ([]Number, error) {
		alike, err := a.Compare(b, how)
		return []Number{Number(alike.Cosine), Number(alike.JSD)}, err
	}
	var err error
	if s.whole, err = compare(a, b); err != nil {
		return s, err
	}
	for layer := range a.Layers {
		v, err := compare(ofLayer(a, layer), ofLayer(b, layer))
		if err != nil {
			return s, err
		}
		s.parts = append(s.parts, []any{layer, v[0], v[1]})
	}
	var examples []Object
	for e := range a.Examples {
		v, err := compare(ofExample(a, e), ofExample(b, e))
		if err != nil {
			return s, err
		}
		examples = append(examples, Object{{"example", e}, {"cosine", v[0]}, {"jsd", v[1]}})
	}
	s.more = Object{{"by_example", examples}}
	return s, nil
}

// ofLayer and ofExample return the maps of one layer, and of one example.

func ofLayer(a metrics.Attention, layer int) metrics.Attention {
	a.Layers = a.Layers[layer : layer+1]
	return a
}

func ofExample(a metrics.Attention, e int) metrics.Attention {
	size := a.Heads * a.Tokens * a.Tokens
	all := a.Layers
	a.Examples, a.Layers = 1, nil
	for _, layer := range all {
		a.Layers = append(a.Layers, layer[e*size:(e+1)*size])
	}
	return a
}

// noteOtherData adds a note if the settings of two runs give them different examples, or mask other shares of these
// while attention is taken.
func (in *Input) noteOtherData(m, r *Model) {
	if m.Source == r.Source || !m.isRun() || !r.isRun() {
		return
	}
	unlike, err := cohort.UnlikeData(*m.member, *r.member)
	switch {
	case err != nil:
		in.note("%v", err)
	case unlike != nil:
		in.note("%s and the reference %s may have different examples: %s and %s", m.Source, r.Source, unlike[0][0],
			unlike[0][1])
	}
	if a, b := m.member.AttentionLevel(), r.member.AttentionLevel(); a != b {
		in.note("%s has attention with %s of the tokens masked, the reference %s with %s", m.Source, number.Percent(a),
			r.Source, number.Percent(b))
	}
}
