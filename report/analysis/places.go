package analysis

import (
	"errors"
	"fmt"
	"slices"

	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/data/positions"
	"torchpe/internal/metrics"
)

// Values of --null: how to draw networks that are as smooth over the tokens as the measured one.
const (
	moran = "moran" // draws equally smooth tables (metrics.Moran)
	spin  = "spin"  // rotates the sphere on which the tokens lie (metrics.Sphere)
)

var nulls = []string{moran, spin}

// places holds where a model's tokens lie.
type places struct {
	points    [][]float64 // [tokens][axes], or nil
	distances []float64   // [tokens,tokens]
	from      string      // where they come from, in words
}

// byGrid is the value of --coordinates for a square grid that the tokens fill row by row.
const byGrid = "grid"

// errNoPlaces is returned if nothing says where the tokens lie.
var errNoPlaces = errors.New("nothing says where tokens lie, which a spatial null needs: give " +
	"--coordinates FILE, or grid for tokens of a square grid, or --distances FILE")

// placesOf returns where a model's tokens lie: according to a file of coordinates or distances, a grid,
// or the run.
func (o *networkOptions) placesOf(m *Model, header text.Choice) (places, error) {
	p, err := o.allPlaces(m, header)
	if err != nil {
		return p, fmt.Errorf("%s: %w", m.Source, err)
	}
	n := m.Tables[0].Tokens
	if p.points == nil {
		part := make([]float64, 0, n*n)
		for i := range n {
			at := (m.from+i)*m.tokens + m.from
			part = append(part, p.distances[at:at+n]...)
		}
		p.distances = part
		return p, nil
	}
	p.points = p.points[m.from : m.from+n]
	p.distances = metrics.TableOf(p.points).Distances(metrics.Euclidean)
	return p, nil
}

func (o *networkOptions) allPlaces(m *Model, header text.Choice) (places, error) {
	reference, form := o.coordinates, positions.Coordinates
	switch {
	case reference == byGrid:
		side, err := squareSide(m.tokens)
		p := places{from: fmt.Sprintf("the %d x %d grid", side, side)}
		for i := range m.tokens {
			p.points = append(p.points, []float64{float64(i / max(side, 1)), float64(i % max(side, 1))})
		}
		return p, err
	case o.distances != "":
		reference, form = o.distances, positions.Distances
	case reference == "" && m.isRun():
		if p := m.probes.TokenPoints(m.tokens); p != nil {
			return places{points: p, from: "the run's coordinates"}, nil
		}
	}
	if reference == "" {
		return places{}, errNoPlaces
	}
	file, err := positions.Read(reference, form, header, m.all...)
	if err != nil {
		return places{}, err
	}
	placed, err := file.Place(positions.Tokens{Count: m.tokens, Names: m.all})
	if err != nil {
		return places{}, err
	}
	p := places{points: placed.Points, from: string(form) + " of " + reference}
	if form == positions.Distances {
		p.distances = slices.Concat(placed.Weights...)
	}
	return p, nil
}

// smoothNull draws networks that are as smooth as the measured one. The zero value draws none.
type smoothNull struct {
	moran  *metrics.Moran
	sphere *metrics.Sphere
	from   string // where tokens lie, in words
}

// nullOf prepares the smooth surrogates of a model. If nothing says where its tokens lie, there are none,
// which is an error only if --null asks for them.
func (o *networkOptions) nullOf(m *Model, header text.Choice) (smoothNull, error) {
	out := smoothNull{}
	if o.permutations == 0 {
		return out, nil
	}
	p, err := o.placesOf(m, header)
	if errors.Is(err, errNoPlaces) && o.null == "" {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.from = p.from
	if o.null != spin && o.weights == "" {
		n := m.Tables[0].Tokens
		out.moran, err = metrics.NewMoran(metrics.InverseDistances(p.distances, n), n)
		return out, err
	}
	var right []bool
	if m.Names != nil {
		if right, err = partition.Right(m.Names); err != nil {
			return out, fmt.Errorf("%s: %w", m.Source, err)
		}
	}
	if p.points == nil {
		return out, fmt.Errorf("%s: a spin needs --coordinates of tokens on a sphere, and no distances", m.Source)
	}
	if out.sphere, err = metrics.NewSphere(p.points, right); err != nil {
		return out, fmt.Errorf("%s: %s: %w; tables can be drawn for tokens that lie anywhere (--null moran)", m.Source,
			p.from, err)
	}
	out.from += ", one sphere"
	if right != nil {
		out.from = p.from + ", a sphere for each hemisphere by the names of tokens"
	}
	return out, nil
}

// name returns the value of --null for these surrogates, or "" if there are none.
func (by smoothNull) name() string {
	switch {
	case by.moran != nil:
		return moran
	case by.sphere != nil:
		return spin
	}
	return ""
}

// surrogate returns a function that draws surrogates of a table's weights, or nil if there are none.
func (by smoothNull) surrogate(t Table, w []float64, kind metrics.Distance, modules moduleSet) metrics.Surrogate {
	switch {
	case by.moran != nil:
		return by.moran.Surrogate(t.Table, kind, modules.Labels)
	case by.sphere != nil:
		return by.sphere.Surrogate(w, modules.Labels)
	}
	return nil
}
