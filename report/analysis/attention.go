package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"

	"torchpe/report/metrics"
	"torchpe/report/runs"
)

// LayerAttention is how alike a layer's attention is to the reference's.
type LayerAttention struct {
	Layer  int    `json:"layer"`
	Cosine Number `json:"cosine"`
	JSD    Number `json:"jsd"`
}

// AttentionResult is how alike a model's attention is to a reference's.
type AttentionResult struct {
	Subject
	Reference Subject          `json:"reference"`
	SameSeed  bool             `json:"same_seed"`
	Examples  int              `json:"examples"`
	Heads     int              `json:"heads"`
	Cosine    Number           `json:"cosine"`
	JSD       Number           `json:"jsd"` // bits
	Layers    []LayerAttention `json:"layers"`
}

// Attentions compares the attention of runs' members with that of the reference run's member of the same seed, else its first
// member, which a note says.
func Attentions(models []*Model, reference string, how metrics.Pooling) (out []AttentionResult, notes []string, err error) {
	references, _, err := Members([]string{reference}, All)
	if err != nil {
		return nil, nil, fmt.Errorf("reference: %w", err)
	}
	for _, m := range models {
		r, note := sameSeed(m, references)
		if note != "" {
			notes = append(notes, note)
		}
		if differ := otherData(m, r); differ != "" {
			notes = append(notes, differ)
		}
		a, b, err := attentionPair(m, r)
		if err != nil {
			return nil, nil, err
		}
		one, err := compare(a, b, how)
		if err != nil {
			return nil, nil, fmt.Errorf("%s member %d: %w", m.Source, *m.Member, err)
		}
		one.Subject, one.Reference, one.SameSeed = m.Subject, r.Subject, *m.Seed == *r.Seed
		out = append(out, one)
	}
	return out, unique(notes), nil
}

// attentionPair reads the maps of two models, which must have the same shape.
func attentionPair(m, r *Model) (a, b runs.Attention, err error) {
	if a, err = m.probes.Attention(m.member.Index); err != nil {
		return a, b, err
	}
	if b, err = r.probes.Attention(r.member.Index); err != nil {
		return a, b, fmt.Errorf("reference: %w", err)
	}
	shape := func(x runs.Attention) [4]int { return [4]int{len(x.Layers), x.Examples, x.Heads, x.Tokens} }
	if x, y := shape(a), shape(b); x != y {
		return a, b, fmt.Errorf("%s has attention of %d layers, %d examples, %d heads, %d tokens, the reference %s of %d, %d, %d, %d: want the same",
			m.Source, x[0], x[1], x[2], x[3], r.Source, y[0], y[1], y[2], y[3])
	}
	return a, b, nil
}

func compare(a, b runs.Attention, how metrics.Pooling) (AttentionResult, error) {
	one := AttentionResult{Examples: a.Examples, Heads: a.Heads}
	rows := a.Heads * a.Tokens
	s, err := metrics.CompareAttention(a.Layers, b.Layers, a.Examples, rows, a.Tokens, how)
	if err != nil {
		return one, err
	}
	one.Cosine, one.JSD = Number(s.Cosine), Number(s.JSD)
	for layer := range a.Layers {
		s, err := metrics.CompareAttention(a.Layers[layer:layer+1], b.Layers[layer:layer+1], a.Examples, rows, a.Tokens, how)
		if err != nil {
			return one, err
		}
		one.Layers = append(one.Layers, LayerAttention{layer, Number(s.Cosine), Number(s.JSD)})
	}
	return one, nil
}

// otherData says where two runs do not look at the same examples by their settings.
func otherData(m, r *Model) string {
	if m.Source == r.Source {
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
			return fmt.Sprintf("%s and the reference %s may look at other examples: %s is %s and %s", m.Source, r.Source, key, x, y)
		}
	}
	return ""
}
