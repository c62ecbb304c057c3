package analysis

import (
	"fmt"

	"torchpe/report/metrics"
)

// BlockNetwork are the scores of a block's table.
type BlockNetwork struct {
	Block      int    `json:"block"`
	Modularity Number `json:"modularity"`
	Clustering Number `json:"clustering"`
	P          Number `json:"p"` // of the modularity, by permutation; null where none was asked for
}

// Network are the scores of a model.
type Network struct {
	Subject
	Tokens      int            `json:"tokens"`
	Modules     int            `json:"modules"`
	ModulesFrom string         `json:"modules_from"`
	Modularity  Number         `json:"modularity"` // mean over blocks
	Clustering  Number         `json:"clustering"` // mean over blocks
	Blocks      []BlockNetwork `json:"blocks"`
}

// NetworkOptions say how weights are made and tested.
type NetworkOptions struct {
	Distance     metrics.Distance
	Permutations int // 0 = no test
	Seed         uint64
}

// Networks scores the tables of models against the modules of their tokens (metrics.ScorePE).
func Networks(models []*Model, modules string, o NetworkOptions) ([]Network, error) {
	all := make([]Modules, len(models))
	for i, m := range models {
		var err error
		if all[i], err = ModulesOf(m, modules); err != nil {
			return nil, err
		}
	}
	var out []Network
	for i, m := range models {
		n := Network{Subject: m.Subject, Tokens: m.Tables[0].Tokens, Modules: distinct(all[i].Labels), ModulesFrom: all[i].From}
		for _, t := range m.Tables {
			d, err := metrics.Distances(t.Values, t.Tokens, t.Dim, o.Distance)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Source, err)
			}
			b, err := o.score(metrics.Proximity(d), all[i].Labels)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Source, err)
			}
			b.Block = t.Block
			n.Blocks = append(n.Blocks, b)
		}
		n.Modularity = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Modularity })
		n.Clustering = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Clustering })
		out = append(out, n)
	}
	return out, nil
}

// Weights scores a matrix of weights [n,n] as it is, or each of a stack of them. A note says where it is not symmetric.
func Weights(reference, modules string, o NetworkOptions) (Network, string, error) {
	a, err := ReadArray(reference, func(shape []int) error {
		if k := len(shape); k < 2 || shape[k-1] != shape[k-2] || shape[k-1] < 2 {
			return fmt.Errorf("shape %v: want square weights [n,n], or a stack of them", shape)
		}
		if n := shape[len(shape)-1]; n > maxTokens {
			return fmt.Errorf("shape %v: want at most %d nodes", shape, maxTokens)
		}
		return nil
	})
	if err != nil {
		return Network{}, "", err
	}
	size := a.Shape[len(a.Shape)-1]
	m := &Model{Subject: Subject{Source: a.Source}, Names: a.Columns, tokens: size, Tables: []Table{{Tokens: size}}}
	if a.Rows != nil {
		m.Names = a.Rows
	}
	found, err := ModulesOf(m, modules)
	if err != nil {
		return Network{}, "", err
	}
	n := Network{Subject: m.Subject, Tokens: size, Modules: distinct(found.Labels), ModulesFrom: found.From}
	note := ""
	for at := 0; at < len(a.Data); at += size * size {
		w := a.Data[at : at+size*size]
		for i, v := range w {
			if v-v != 0 {
				return n, "", fmt.Errorf("%s: the weight of %d and %d is %v: want finite numbers", a.Source, i/size, i%size, v)
			}
			if v != w[i%size*size+i/size] {
				note = a.Source + ": the weights are not symmetric; degrees are the sums of rows"
			}
		}
		b, err := o.score(w, found.Labels)
		if err != nil {
			return n, "", fmt.Errorf("%s: %w", a.Source, err)
		}
		b.Block = len(n.Blocks)
		n.Blocks = append(n.Blocks, b)
	}
	if n.Blocks == nil {
		return n, "", fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	n.Modularity = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Modularity })
	n.Clustering = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Clustering })
	return n, note, nil
}

func (o NetworkOptions) score(w []float64, modules []int) (BlockNetwork, error) {
	s, err := metrics.ScoreNetwork(w, modules)
	b := BlockNetwork{Modularity: Number(s.Modularity), Clustering: Number(s.Clustering), P: None}
	if err == nil && o.Permutations > 0 && b.Modularity.Known() {
		var p float64
		p, err = metrics.PermutationP(w, modules, o.Permutations, o.Seed)
		b.P = Number(p)
	}
	return b, err
}

func distinct(labels []int) int {
	seen := map[int]bool{}
	for _, l := range labels {
		seen[l] = true
	}
	return len(seen)
}
