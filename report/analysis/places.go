package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"torchpe/data/array/text"
	"torchpe/data/partition"
	"torchpe/data/positions"
	"torchpe/internal/metrics"
	"torchpe/train/config"
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

// byGrid is the value of --coordinates for tokens on a grid.
const byGrid = "grid"

// errNoPlaces is returned if nothing says where the tokens lie.
var errNoPlaces = errors.New("a spatial null needs the places of tokens: give " +
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
		cells, from, err := m.grid()
		return places{points: cells, from: from}, err
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
	if columns := file.XYZ(); columns != nil { // a spin mirrors x
		for i, at := range placed.Points {
			placed.Points[i] = []float64{at[columns[0]], at[columns[1]], at[columns[2]]}
		}
	}
	p := places{points: placed.Points, from: string(form) + " of " + reference + ", " + placed.Match}
	if form == positions.Distances {
		p.distances = slices.Concat(placed.Weights...)
	}
	return p, nil
}

// positionsFile returns the settings of the file that says where a run's tokens lie, or nil.
func (m *Model) positionsFile() *config.PositionsConfig {
	if !m.isRun() {
		return nil
	}
	return m.member.Run.Config.Positions
}

// grid returns the row and the column of each token, from 0, and the grid in words: that of a run's file of
// positions, else the square grid that the tokens fill row by row.
func (m *Model) grid() (cells [][]float64, from string, err error) {
	file := m.positionsFile()
	if file == nil {
		if m.isRun() && !m.member.Run.Config.HasPuzzles() {
			return nil, "", fmt.Errorf("the tokens of task %s are on a line unless --positions of the training says "+
				"otherwise, so there is no grid: name a file in place of rows, columns, grid or 2d-fixed",
				m.member.Run.Config.Task)
		}
		side := int(math.Round(math.Sqrt(float64(m.tokens))))
		if side < 2 || side*side != m.tokens {
			return nil, "", fmt.Errorf("%d tokens fill no square grid", m.tokens)
		}
		for i := range m.tokens {
			cells = append(cells, []float64{float64(i / side), float64(i % side)})
		}
		return cells, fmt.Sprintf("the %d x %d grid", side, side), nil
	}
	isPlace := func(v float64) bool { return v >= 0 && v < 1<<20 && v == math.Trunc(v) }
	extent := [2]int{}
	cells = m.probes.TokenPoints(m.tokens)
	for _, at := range cells {
		if file.As == string(positions.Coordinates) || len(at) != 2 || !isPlace(at[0]) || !isPlace(at[1]) {
			cells = nil
			break
		}
		extent = [2]int{max(extent[0], int(at[0])+1), max(extent[1], int(at[1])+1)}
	}
	if cells == nil {
		if _, err := m.order(); err != nil {
			return nil, "", err
		}
		return nil, "", fmt.Errorf("--positions %s of the run places its tokens on no grid of rows and columns: "+
			"name a file in place of rows, columns, grid or 2d-fixed", file.File)
	}
	return cells, fmt.Sprintf("the run's %d x %d grid", extent[0], extent[1]), nil
}

// order returns the place of each token on a line, from 0: that of a run's file of positions, else the token's
// number.
func (m *Model) order() ([]int, error) {
	file := m.positionsFile()
	if file == nil {
		order := make([]int, m.tokens)
		for i := range order {
			order[i] = i
		}
		return order, nil
	}
	if order := m.probes.TokenOrder(m.tokens); order != nil {
		return order, nil
	}
	return nil, fmt.Errorf("the run, of an earlier version, does not keep where --positions %s places its tokens: "+
		"train it again", file.File)
}

// inOrder returns m with the rows of its tables in the order of the tokens' places on a line. It is an error if
// other tokens lie between them.
func (m *Model) inOrder() (*Model, error) {
	order, err := m.order()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Source, err)
	}
	n := m.Tables[0].Tokens
	order = order[m.from : m.from+n]
	first, rows := slices.Min(order), make([]int, n)
	if slices.Max(order)-first >= n {
		return nil, fmt.Errorf("%s: other tokens lie between tokens %d to %d by --positions of the run: leave "+
			"--positions out here", m.Source, m.from, m.from+n-1)
	}
	for i, at := range order {
		rows[at-first] = i
	}
	return m.withRows(rows), nil
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
	names := m.Names
	if names == nil && m.all != nil { // those of the modules
		names = m.all[m.from : m.from+m.Tables[0].Tokens]
	}
	if names != nil {
		if right, err = partition.Right(names); err != nil {
			return out, fmt.Errorf("%s: %w", m.Source, err)
		}
	}
	if p.points == nil {
		return out, fmt.Errorf("%s: a spin needs --coordinates of tokens on a sphere, not distances", m.Source)
	}
	if out.sphere, err = metrics.NewSphere(p.points, right); err != nil {
		return out, fmt.Errorf("%s: %s: %w; --null moran works for tokens that lie anywhere", m.Source,
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
