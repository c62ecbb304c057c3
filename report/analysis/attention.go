package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"

	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/runs"
)

// LayerAttention compares a layer's attention with the reference's.
type LayerAttention struct {
	Layer  int    `json:"layer"`
	Cosine Number `json:"cosine"`
	JSD    Number `json:"jsd"`
}

// ExampleAttention compares the attention of one example, such as a puzzle, with the reference's.
type ExampleAttention struct {
	Example int    `json:"example"`
	Cosine  Number `json:"cosine"`
	JSD     Number `json:"jsd"`
}

// AttentionResult compares a model's attention with a reference's.
type AttentionResult struct {
	Subject
	Reference Subject            `json:"reference"`
	SameSeed  *bool              `json:"same_seed,omitempty"` // nil where one of the two has no seed
	Examples  int                `json:"examples"`
	Heads     int                `json:"heads"`
	Cosine    Number             `json:"cosine"`
	JSD       Number             `json:"jsd"`        // bits
	Layers    []LayerAttention   `json:"layers"`     // of each alone, pooled in the same way
	ByExample []ExampleAttention `json:"by_example"` // likewise
}

// AttentionModels returns models with attention maps: of directories the members of runs, then the
// arrays FILE[:tensor], of shape [tokens,tokens], [examples,tokens,tokens],
// [layers,examples,tokens,tokens] or [layers,examples,heads,tokens,tokens].
func AttentionModels(references []string, member int, header text.Choice) (models []*Model, notes []string,
	err error) {
	var dirs, files []string
	for _, r := range references {
		if isDirectory(r) {
			dirs = append(dirs, r)
		} else {
			files = append(files, r)
		}
	}
	models, notes, err = members(dirs, member)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		m, note, err := fileAttention(file, header)
		if err != nil {
			return nil, nil, err
		}
		models, notes = append(models, m), append(notes, note)
	}
	return models, unique(notes), nil
}

// Attentions compares the attention of models with that of a reference: an array, or a run's member
// of the same seed, else its first member, which a note says.
func Attentions(models []*Model, reference string, how metrics.Pooling,
	header text.Choice) (out []AttentionResult, notes []string, err error) {
	references, notes, err := AttentionModels([]string{reference}, All, header)
	if err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	for _, m := range models {
		r, note := sameSeed(m, references)
		if m.Seed == nil && len(references) > 1 {
			note = fmt.Sprintf("%s has no seed: held against the reference's first of "+
				"%s, of seed %d", m.Source, wording.Count(len(references), "member"), *r.Seed)
		}
		notes = append(notes, note, otherData(m, r))
		a, b, err := attentionPair(m, r)
		if err != nil {
			return nil, nil, err
		}
		one, err := compare(a, b, how)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.label(), err)
		}
		one.Subject, one.Reference = m.Subject, r.Subject
		if m.Seed != nil && r.Seed != nil {
			same := *m.Seed == *r.Seed
			one.SameSeed = &same
		}
		out = append(out, one)
	}
	return out, unique(notes), nil
}

// label returns the model in a message: its source, and its member.
func (m *Model) label() string {
	if m.Member == nil {
		return m.Source
	}
	return fmt.Sprintf("%s member %d", m.Source, *m.Member)
}

// attention returns the maps of a file or of a run's member.
func (m *Model) attention() (runs.Attention, error) {
	if m.maps != nil {
		return *m.maps, nil
	}
	return m.probes.Attention(m.member.Index)
}

// attentionPair reads the maps of two models, which must have the same shape.
func attentionPair(m, r *Model) (a, b runs.Attention, err error) {
	if a, err = m.attention(); err != nil {
		return a, b, err
	}
	if b, err = r.attention(); err != nil {
		return a, b, fmt.Errorf("reference: %w", err)
	}
	shape := func(x runs.Attention) [4]int { return [4]int{len(x.Layers), x.Examples, x.Heads, x.Tokens} }
	if x, y := shape(a), shape(b); x != y {
		parts := func(x [4]int) string {
			return fmt.Sprintf("%s, %s, %s, %s", wording.Count(x[0], "layer"), wording.Count(x[1], "example"),
				wording.Count(x[2], "head"), wording.Count(x[3], "token"))
		}
		return a, b, fmt.Errorf("%s has attention of %s, the reference %s of %s: want the same",
			m.Source, parts(x), r.Source, parts(y))
	}
	return a, b, nil
}

func compare(a, b runs.Attention, how metrics.Pooling) (AttentionResult, error) {
	one := AttentionResult{Examples: a.Examples, Heads: a.Heads}
	maps := metrics.AttentionMaps{Layers: a.Layers, Examples: a.Examples, Rows: a.Heads * a.Tokens, Tokens: a.Tokens}
	s, err := maps.Compare(b.Layers, how)
	if err != nil {
		return one, err
	}
	one.Cosine, one.JSD = Number(s.Cosine), Number(s.JSD)
	for layer := range a.Layers {
		maps.Layers = a.Layers[layer : layer+1]
		s, err := maps.Compare(b.Layers[layer:layer+1], how)
		if err != nil {
			return one, err
		}
		one.Layers = append(one.Layers, LayerAttention{layer, Number(s.Cosine), Number(s.JSD)})
	}
	maps.Examples = 1
	for e := range a.Examples {
		maps.Layers = example(a, e)
		s, err := maps.Compare(example(b, e), how)
		if err != nil {
			return one, err
		}
		one.ByExample = append(one.ByExample, ExampleAttention{e, Number(s.Cosine), Number(s.JSD)})
	}
	return one, nil
}

// example returns the maps of one example, by layer.
func example(a runs.Attention, e int) [][]float64 {
	size := a.Heads * a.Tokens * a.Tokens
	var out [][]float64
	for _, layer := range a.Layers {
		out = append(out, layer[e*size:(e+1)*size])
	}
	return out
}

// otherData says where two runs do not look at the same examples by their settings.
func otherData(m, r *Model) string {
	if m.Source == r.Source || !m.isRun() || !r.isRun() {
		return ""
	}
	var settings [2]map[string]json.RawMessage
	for i, c := range []runs.Config{m.member.Run.Config, r.member.Run.Config} {
		if err := json.Unmarshal(c.JSON, &settings[i]); err != nil {
			return fmt.Sprintf("%s: config.json: %v", m.Source, err)
		}
	}
	for _, key := range []string{"task", "data_seed", "lst_validation"} {
		if x, y := settings[0][key], settings[1][key]; !bytes.Equal(x, y) {
			return fmt.Sprintf("%s and the reference %s may look at other examples: %s "+
				"is %s and %s", m.Source, r.Source, key, x, y)
		}
	}
	return ""
}
