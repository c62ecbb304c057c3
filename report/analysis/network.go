package analysis

import (
	"fmt"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/metrics"
)

// BlockNetwork are the scores of a block's table.
type BlockNetwork struct {
	Block      int    `json:"block"`
	Modularity Number `json:"modularity"`
	Clustering Number `json:"clustering"`
	P          Number `json:"p"` // of the modularity by surrogates; null where none were asked for
}

// Network are the scores of a model.
type Network struct {
	Subject
	Tokens      int            `json:"tokens"`
	Modules     int            `json:"modules"`
	ModulesFrom string         `json:"modules_from"`
	PlacesFrom  string         `json:"places_from,omitempty"` // of a spatial null
	Modularity  Number         `json:"modularity"`            // mean over blocks
	Clustering  Number         `json:"clustering"`            // mean over blocks
	Blocks      []BlockNetwork `json:"blocks"`
}

// NetworkOptions say how weights are made and tested.
type NetworkOptions struct {
	Distance     metrics.Distance
	Permutations int    // 0 = no test
	Null         string // Permute, which is the default, Moran or Spin
	Seed         uint64
	Coordinates  string      // of tokens, for a spatial null: a file, or grid; empty = those that a run keeps
	Distances    string      // between tokens, in the place of coordinates
	Header       text.Choice // whether the first line of texts holds names
}

// Networks scores the tables of models against the modules of their tokens (metrics.ScorePE). Notes
// say why a score has no value.
func Networks(models []*Model, modules string, o NetworkOptions) (out []Network, notes []string, err error) {
	all, by := make([]moduleSet, len(models)), make([]nullModel, len(models))
	for i, m := range models {
		if all[i], err = modulesOf(m, modules, o.Header); err != nil {
			return nil, nil, err
		}
		if i > 0 && m.Source == models[i-1].Source { // another member
			by[i] = by[i-1]
		} else if by[i], err = o.nullOf(m); err != nil {
			return nil, nil, err
		}
	}
	for i, m := range models {
		n := Network{Subject: m.Subject, Tokens: m.Tables[0].Tokens,
			Modules: countDistinct(all[i].Labels), ModulesFrom: all[i].From, PlacesFrom: by[i].from}
		for _, t := range m.Tables {
			b, why, err := o.table(t, all[i], by[i])
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", m.Source, err)
			}
			if why != "" {
				notes = append(notes, fmt.Sprintf("%s: table %d: %s", m.Source, t.Block, why))
			}
			n.Blocks = append(n.Blocks, b)
		}
		n.Modularity = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Modularity })
		n.Clustering = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Clustering })
		out = append(out, n)
	}
	return out, unique(notes), nil
}

// table scores a table, and says why a score has no value.
func (o NetworkOptions) table(t Table, modules moduleSet, by nullModel) (BlockNetwork, string, error) {
	none := BlockNetwork{Block: t.Block, Modularity: None, Clustering: None, P: None}
	d, err := metrics.Distances(t.Values, t.Tokens, t.Dim, o.Distance)
	if err != nil {
		return none, "", err
	}
	if why := noWeights(t, d, o.Distance); why != "" {
		return none, "no scores: " + why, nil
	}
	w := metrics.Proximity(d)
	b, why, err := o.score(w, modules, o.surrogate(by, t, w, modules))
	b.Block = t.Block
	return b, why, err
}

// Weights scores a matrix of weights [n,n] as it is, or each of a stack of them. Notes say where it
// is not symmetric or has weights below 0, and why a score has no value.
func Weights(reference, modules string, o NetworkOptions) (n Network, notes []string, err error) {
	a, err := arrayfile.Read(reference, o.Header, func(shape []int) error {
		if k := len(shape); k < 2 || shape[k-1] != shape[k-2] || shape[k-1] < 2 {
			return fmt.Errorf("shape %v: want square weights [n,n], or a stack of them", shape)
		}
		if n := shape[len(shape)-1]; n > maxTokens {
			return fmt.Errorf("shape %v: want at most %d nodes", shape, maxTokens)
		}
		return nil
	})
	if err != nil {
		return Network{}, nil, err
	}
	size := a.Shape[len(a.Shape)-1]
	m := &Model{Subject: Subject{Source: a.Source}, Names: a.Columns, tokens: size, Tables: []Table{{Tokens: size}}}
	if a.Rows != nil {
		m.Names = a.Rows
	}
	found, err := modulesOf(m, modules, o.Header)
	if err != nil {
		return Network{}, nil, err
	}
	by, err := o.nullOf(m)
	if err != nil {
		return Network{}, nil, err
	}
	n = Network{Subject: m.Subject, Tokens: size, Modules: countDistinct(found.Labels), ModulesFrom: found.From,
		PlacesFrom: by.from}
	notes = []string{numberedNames(a), negativeWeightsNote(a.Source, a.Data, size),
		diagonalNote(a.Source, a.Data, size)}
	for at := 0; at < len(a.Data); at += size * size {
		w := a.Data[at : at+size*size]
		for i, v := range w {
			if v-v != 0 {
				return n, nil, fmt.Errorf("%s: the weight of %d and %d is %v: want finite numbers",
					a.Source, i/size, i%size, v)
			}
			if v != w[i%size*size+i/size] {
				notes = append(notes, a.Source+": the weights are not symmetric; degrees are the sums of rows")
			}
		}
		b, why, err := o.score(w, found, o.surrogate(by, Table{}, w, found))
		if err != nil {
			return n, nil, fmt.Errorf("%s: %w", a.Source, err)
		}
		if b.Block = len(n.Blocks); why != "" {
			notes = append(notes, fmt.Sprintf("%s: matrix %d: %s", a.Source, b.Block, why))
		}
		n.Blocks = append(n.Blocks, b)
	}
	if n.Blocks == nil {
		return n, nil, fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	n.Modularity = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Modularity })
	n.Clustering = meanOf(n.Blocks, func(b BlockNetwork) Number { return b.Clustering })
	return n, unique(notes), nil
}

// score scores weights, and says why a score has no value.
func (o NetworkOptions) score(w []float64, modules moduleSet, draw metrics.Surrogate) (
	BlockNetwork, string, error) {
	s, err := metrics.ScoreNetwork(w, modules.Labels)
	b := BlockNetwork{Modularity: Number(s.Modularity), Clustering: Number(s.Clustering), P: None}
	if err == nil && o.Permutations > 0 && b.Modularity.known() {
		b.P = Number(metrics.Reached(metrics.Null(draw, o.Permutations, o.Seed), s.Modularity))
	}
	return b, noScore(w, modules, b), err
}

func countDistinct(labels []int) int {
	seen := map[int]bool{}
	for _, l := range labels {
		seen[l] = true
	}
	return len(seen)
}
