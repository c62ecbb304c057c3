package catalogue

import (
	"math"
	"slices"

	"torchpe/models/pe"
)

// angles holds the cosines and sines of a scheme, which rotate pairs of dimensions or are the columns of a
// table, and the changes that a convention makes to their angles.
type angles struct {
	tokens      int // the rows
	pairs       int
	cos, sin    [2][]float64 // [tokens,pairs] of queries and of keys; a table uses the first
	fixed       []float64    // a table of sinusoids [tokens,width]; nil for rotations
	columns     [][2]int     // the columns of its sines and cosines, for each pair
	width       int          // of the table
	coordinates [][]float64  // of each row, in steps
	options     pe.Options
	headWidth   int
	attention   pe.Attention

	law     law
	linear  bool // the angles follow the law
	changed bool
	sign    float64 // of all angles
	quarter bool    // pi/2 is added to all angles
	round   rounding
	of      [2]side // of queries and keys
	layout  layout
}

// side describes changes to the angles of only the queries, or only the keys.
type side struct {
	shift float64 // in steps
	times float64 // factor of the angles
	power float64 // of the scheme's own factor of cosines and sines
}

// rounding says which of positions, frequencies and angles are rounded to few significant bits.
type rounding struct {
	bits                       int
	position, frequency, angle bool
}

// of returns a number, rounded if rounded is true.
func (r rounding) of(number float64, rounded bool) float64 {
	if !rounded {
		return number
	}
	return toBits(number, r.bits)
}

// law holds angles that are linear in the coordinates c of a row: start + sum_a slope_a c_a, for each pair.
type law struct {
	start []float64
	slope [][]float64 // [axes][pairs]
}

// axesOf returns the number of coordinates that a scheme's angles depend on.
func axesOf(scheme pe.Scheme, options pe.Options) int {
	switch scheme.Needs {
	case pe.NeedsGrid, pe.NeedsPlane:
		return 2
	case pe.NeedsSpace:
		return 3
	case pe.NeedsPoints:
		return options.Int("rope-axes")
	}
	return 1
}

// newAngles returns the angles of a scheme that has cosines and sines, or nil.
func newAngles(i *Instance) *angles {
	tables, err := tablesOf(i, "pe.cos", "pe.sin", "pe.key-cos", "pe.key-sin", "pe.fixed")
	if err != nil || len(tables) == 0 {
		return nil
	}
	n := i.Positions.Tokens()
	a := &angles{tokens: n, options: i.options, headWidth: i.Setting.headWidth(),
		attention: i.encoding.Attention(0)}
	switch cos, sin, fixed := tables["pe.cos"], tables["pe.sin"], tables["pe.fixed"]; {
	case cos != nil && sin != nil && fixed == nil:
		a.cos, a.sin = [2][]float64{cos, cos}, [2][]float64{sin, sin}
		if tables["pe.key-cos"] != nil {
			a.cos[1], a.sin[1] = tables["pe.key-cos"], tables["pe.key-sin"]
		}
		if a.pairs = len(cos) / n; a.pairs == 0 || len(cos) != n*a.pairs || 2*a.pairs > a.headWidth ||
			len(sin) != len(cos) || len(a.cos[1]) != len(cos) || len(a.sin[1]) != len(cos) {
			return nil
		}
	case cos == nil && fixed != nil && len(fixed) == n*i.Setting.DModel:
		a.width, a.fixed = i.Setting.DModel, fixed
		if a.columns = sinusoidColumns(i.Scheme, i.options, a.width); a.columns == nil {
			return nil
		}
		a.pairs = len(a.columns)
		var c, s []float64
		for k := range n * a.pairs {
			row, of := k/a.pairs*a.width, a.columns[k%a.pairs]
			s, c = append(s, fixed[row+of[0]]), append(c, fixed[row+of[1]])
		}
		a.cos, a.sin = [2][]float64{c, c}, [2][]float64{s, s}
	default:
		return nil
	}
	return a.prepared(i)
}

// prepared finds the coordinates of rows, the law and the layout.
func (a *angles) prepared(i *Instance) *angles {
	axes := axesOf(i.Scheme, i.options)
	if a.coordinates = coordinatesOf(i.Positions, axes); a.coordinates == nil {
		return nil
	}
	a.law, a.linear = lawOf(a.coordinates, a.pairs, 1e-6, func(row, pair int) float64 {
		at := row*a.pairs + pair
		return math.Atan2(a.sin[0][at], a.cos[0][at])
	})
	a.layout = newLayout(layoutOf(i.options), a.pairs, axes)
	a.sign = 1
	a.of = [2]side{{times: 1, power: 1}, {times: 1, power: 1}}
	return a
}

// sinusoidColumns returns the columns of the sine and cosine of each pair, or nil for a layout in which each
// column has its own frequency. Remaining columns keep their numbers.
func sinusoidColumns(scheme pe.Scheme, options pe.Options, width int) (all [][2]int) {
	layout, blocks, each := options["sinusoid-layout"], 1, width
	switch {
	case scheme.Name == "2d-fixed":
		blocks, each = 2, width/2
	case scheme.Name == "3d-fixed" && options["space-layout"] == "padded":
		layout, blocks, each = "t2t", 3, 2*(width/6)
	case scheme.Name == "3d-fixed":
		layout, blocks, each = "interleaved", 3, 2*((width+5)/6)
	}
	if layout != "interleaved" && layout != "concat" && layout != "t2t" {
		return nil
	}
	if layout != "interleaved" {
		layout = "half"
	}
	pairs := newLayout(layout, each/2, 1).reads
	for block := range blocks {
		for _, of := range pairs {
			if sine, cosine := block*each+of[0], block*each+of[1]; cosine < width {
				all = append(all, [2]int{sine, cosine})
			}
		}
	}
	return all
}

// coordinatesOf returns the coordinates of the token at each place in the order, or the places themselves for
// one axis. It returns nil if there are no coordinates.
func coordinatesOf(at pe.Positions, axes int) [][]float64 {
	if axes == 1 {
		at.Cells, at.Points = nil, nil
	}
	points, ok := at.Coordinates(axes)
	if !ok || axes == 0 {
		return nil
	}
	return gather(points, inverse(at.Index))
}

// lawOf returns the law that angles follow within a tolerance. Frequencies are below pi per step.
func lawOf(coordinates [][]float64, pairs int, tolerance float64,
	angle func(row, pair int) float64) (law, bool) {
	axes, first := len(coordinates[0]), 0
	for row, at := range coordinates {
		if slices.Compare(at, coordinates[first]) < 0 {
			first = row
		}
	}
	l := law{start: make([]float64, pairs), slope: make([][]float64, axes)}
	for axis := range axes {
		l.slope[axis] = make([]float64, pairs)
		steps := along(coordinates, first, axis)
		for pair := range pairs {
			zero, slope, products, squares := angle(first, pair), 0.0, 0.0, 0.0
			for _, row := range steps {
				step := coordinates[row][axis] - coordinates[first][axis]
				predicted := slope * step
				turned := predicted + wrapped(angle(row, pair)-zero-predicted)
				products, squares = products+step*turned, squares+step*step
				slope = products / squares
			}
			l.slope[axis][pair] = slope
		}
	}
	for pair := range pairs {
		l.start[pair] = wrapped(angle(first, pair) - l.at(coordinates[first], pair))
	}
	for _, row := range thinned(indices(0, len(coordinates))) {
		for pair := range pairs {
			if !(math.Abs(wrapped(angle(row, pair)-l.at(coordinates[row], pair))) < tolerance) {
				return l, false
			}
		}
	}
	return l, true
}

// thinned returns the first rows, and increasingly fewer of later ones.
func thinned(rows []int) (some []int) {
	const near = 24
	next := 0
	for k, row := range rows {
		if k == next || k == len(rows)-1 {
			some, next = append(some, row), k+1+max(0, k-near)/8
		}
	}
	return some
}

// along returns, in order, the rows that differ from the first only along an axis.
func along(coordinates [][]float64, first, axis int) (rows []int) {
	for row, at := range coordinates {
		same := at[axis] > coordinates[first][axis]
		for other := range at {
			same = same && (other == axis || at[other] == coordinates[first][other])
		}
		if same {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b int) int { return slices.Compare(coordinates[a], coordinates[b]) })
	return thinned(rows)
}

// wrapped returns an angle in [-pi, pi].
func wrapped(angle float64) float64 { return math.Remainder(angle, 2*math.Pi) }

// at returns the angle of a pair at coordinates.
func (l law) at(coordinates []float64, pair int) float64 {
	angle := l.start[pair]
	for axis, c := range coordinates {
		angle += l.slope[axis][pair] * c
	}
	return angle
}

// clone returns a copy that can be changed.
func (a *angles) clone() *angles {
	b := *a
	b.law = law{slices.Clone(a.law.start), nil}
	for _, slope := range a.law.slope {
		b.law.slope = append(b.law.slope, slices.Clone(slope))
	}
	return &b
}

// cosSin returns the cosine and sine of a row and pair, of queries (0) or keys (1).
func (a *angles) cosSin(row, pair, which int) (cos, sin float64) {
	at := row*a.pairs + pair
	cos, sin = a.cos[which][at], a.sin[which][at]
	if !a.changed {
		return cos, sin
	}
	side := a.of[which]
	own := math.Hypot(cos, sin)
	angle := math.Atan2(sin, cos)
	if a.linear {
		angle = a.angle(row, pair, side.shift)
	}
	angle *= a.sign * side.times
	if a.quarter {
		angle += math.Pi / 2
	}
	factor := math.Pow(own, side.power)
	sin, cos = math.Sincos(angle)
	return cos * factor, sin * factor
}

// angle returns the angle according to the law, with rounding.
func (a *angles) angle(row, pair int, shift float64) float64 {
	angle, left := 0.0, a.law.start[pair]
	for axis, slope := range a.law.slope {
		frequency, position := slope[pair], a.coordinates[row][axis]+shift
		if frequency == 0 {
			continue
		}
		if a.round.position || a.round.frequency {
			position += left / frequency // the start belongs to the one axis that a pair has
			left = 0
		}
		angle += a.round.of(frequency, a.round.frequency) * a.round.of(position, a.round.position)
	}
	return a.round.of(angle+left, a.round.angle)
}

// halfFormats lists the formats of half precision and their significant bits.
var halfFormats = [2]struct {
	name string
	bits int
}{{"bfloat16", 8}, {"float16", 11}}

// toBits rounds a number to significant bits.
func toBits(v float64, bits int) float64 {
	fraction, exponent := math.Frexp(v)
	scale := math.Ldexp(1, bits)
	return math.Ldexp(math.RoundToEven(fraction*scale)/scale, exponent)
}
