package analysis

import (
	"fmt"

	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

// DistanceMatrix are the distances between the tokens of a table.
type DistanceMatrix struct {
	Subject
	Block     int        `json:"block"`
	Distance  string     `json:"distance"`
	Tokens    []string   `json:"tokens"` // names, or positions where there are none
	Distances [][]Number `json:"distances"`
	Notes     []string   `json:"-"` // why distances have no value

	Values []float64 `json:"-"` // [n,n]
}

// Between returns the distances between the tokens of a model's first table.
func Between(m *Model, kind metrics.Distance) (DistanceMatrix, error) {
	t := m.Tables[0]
	out := DistanceMatrix{Subject: m.Subject, Block: t.Block, Distance: kind.String(), Tokens: m.tokenNames()}
	var err error
	if out.Values, err = metrics.Distances(t.Values, t.Tokens, t.Dim, kind); err != nil {
		return out, fmt.Errorf("%s: %w", m.Source, err)
	}
	if why := noDirection(t, kind); why != "" {
		out.Notes = append(out.Notes, m.Source+": "+why)
	}
	for i := range t.Tokens {
		out.Distances = append(out.Distances, numbers(out.Values[i*t.Tokens:(i+1)*t.Tokens]))
	}
	return out, nil
}

// tokenNames returns the names of tokens, or their positions.
func (m *Model) tokenNames() []string {
	if m.Names != nil {
		return m.Names
	}
	names := make([]string, m.Tables[0].Tokens)
	for i := range names {
		names[i] = fmt.Sprint(m.from + i)
	}
	return names
}

// Map are coordinates of the tokens of a table.
type Map struct {
	Subject
	Block       int        `json:"block"`
	Method      string     `json:"method"`              // pca or mds
	Distance    string     `json:"distance,omitempty"`  // of mds
	Explained   []Number   `json:"explained,omitempty"` // of pca: share of variance along each axis
	Stress      *Number    `json:"stress,omitempty"`    // of mds: Kruskal's stress-1
	Tokens      []string   `json:"tokens"`
	Modules     []string   `json:"modules,omitempty"` // of each token, where modules are known
	Coordinates [][]Number `json:"coordinates"`       // [tokens][dims]
}

// The methods of a map.
const (
	PCA = "pca"
	MDS = "mds"
)

// MapOptions say how coordinates are made.
type MapOptions struct {
	Method   string // PCA or MDS
	Distance metrics.Distance
	Dims     int
	Modules  string      // as of ModulesOf
	Header   text.Choice // whether the first line of texts holds names
}

// Maps maps the tokens of each model's first table.
func Maps(models []*Model, o MapOptions) ([]Map, error) {
	all := make([]Map, len(models))
	for i, m := range models {
		var err error
		if all[i], err = Coordinates(m, o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Coordinates maps the tokens of a model's first table.
func Coordinates(m *Model, o MapOptions) (Map, error) {
	t := m.Tables[0]
	out := Map{Subject: m.Subject, Block: t.Block, Method: o.Method, Tokens: m.tokenNames()}
	most := t.Tokens - 1
	if o.Method == PCA {
		most = min(most, t.Dim)
	}
	if o.Dims < 1 || o.Dims > most {
		return out, fmt.Errorf("%s: %s of a map of a table [%d,%d]: want 1 to %d", m.Source,
			wording.Count(o.Dims, "dimension"), t.Tokens, t.Dim, most)
	}
	found, err := modulesOf(m, o.Modules, o.Header)
	if err != nil && o.Modules != "" {
		return out, err
	}
	if err == nil {
		for _, l := range found.Labels {
			out.Modules = append(out.Modules, found.Names[l])
		}
	}
	var at []float64
	if o.Method == PCA {
		var explained []float64
		at, explained, err = metrics.PCA(t.Values, t.Tokens, t.Dim, o.Dims)
		out.Explained = numbers(explained)
	} else {
		at, err = out.scale(t, o)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", m.Source, err)
	}
	for i := range t.Tokens {
		out.Coordinates = append(out.Coordinates, numbers(at[i*o.Dims:(i+1)*o.Dims]))
	}
	return out, nil
}

// scale finds coordinates by classical MDS, and their stress.
func (m *Map) scale(t Table, o MapOptions) ([]float64, error) {
	m.Distance = o.Distance.String()
	d, err := metrics.Distances(t.Values, t.Tokens, t.Dim, o.Distance)
	if err != nil {
		return nil, err
	}
	for i, v := range d { // rounding: 1 - cosine of parallel rows
		if v < 0 && v > -1e-12 {
			d[i] = 0
		}
	}
	at, err := metrics.ClassicalMDS(d, t.Tokens, o.Dims)
	if err != nil {
		return nil, err
	}
	stress := Number(metrics.Stress(d, at, t.Tokens, o.Dims))
	m.Stress = &stress
	return at, nil
}
