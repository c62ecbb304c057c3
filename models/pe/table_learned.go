// Learned tables of places, of rows and columns, and of other numbers of a token.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// The subject of the paper. In the code's reading each block has its own table, which is added at its input.
var _ = Register(Scheme{Name: "learn", Learned: true, Needs: NeedsSame,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		n := c.Positions.Tokens()
		start, err := c.start(n, c.DModel, true)
		if err != nil {
			return nil, err
		}
		tables, shared := tablesFor(c), c.is("pe-tables", "shared") && tablesFor(c) > 1
		if shared {
			tables = 1
		}
		return byIndex(ps.Add("pe.table", true, start, tables, n, c.DModel), shared), nil
	}}, placement, option("pe-tables", "own", oneOf("own", "shared"),
	"with --pe-placement block: a table for each block, or one shared by all").later())

// byIndex returns the encoding that adds the rows of tables [E,T,N,D] at the tokens' places. With
// repeat, the single table is added in all blocks.
func byIndex(table *torchpe.Param, repeat bool) Encoding {
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		return &tableHooks{tables: rowsAt(s, table.In(s), 2, p.Index), repeat: repeat}
	})
}

// ViT's full table has another row, for a class token, and DETR's has 50 rows and columns
// regardless of the image; here there are those of the grid.
var _ = Register(Scheme{Name: "learn-2d", Learned: true, Needs: NeedsGrid, New: newLearned2D}, placement,
	option("grid-table", "sum", oneOf("sum", "concat", "full"),
		"tables of learn-2d: one for rows and one for columns, added or concatenated; "+
			"or a row for each cell"))

func newLearned2D(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	grid, width, concat := windowOf(c.Positions), c.DModel, c.is("grid-table", "concat")
	if c.is("grid-table", "full") {
		table, err := c.addLearned(ps, "pe.table", grid.rows*grid.columns, width)
		return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
			grid.check("learn-2d", p)
			cells := make([]int, p.Tokens())
			for i, at := range p.Cells {
				cells[i] = at[0]*grid.columns + at[1]
			}
			return &tableHooks{tables: rowsAt(s, table.In(s), 2, cells)}
		}), err
	}
	if concat && width%2 != 0 {
		return nil, fmt.Errorf("learn-2d: d_model %d is odd; "+
			"--grid-table concat gives row and column half of it each", width)
	}
	if concat {
		width /= 2
	}
	ofRow, err := c.addLearned(ps, "pe.row", grid.rows, width)
	if err != nil {
		return nil, err
	}
	ofColumn, err := c.addLearned(ps, "pe.column", grid.columns, width)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		grid.check("learn-2d", p)
		rows, columns := make([]int, p.Tokens()), make([]int, p.Tokens())
		for i, at := range p.Cells {
			rows[i], columns[i] = at[0], at[1]
		}
		row, column := rowsAt(s, ofRow.In(s), 2, rows), rowsAt(s, ofColumn.In(s), 2, columns)
		if concat {
			return &tableHooks{tables: torchpe.Cat(-1, column, row)}
		}
		return &tableHooks{tables: row.Add(column)}
	}), err
}

// F, the number of places along the fast axis, is by default the smallest integer whose square is
// at least N.
var _ = Register(Scheme{Name: "axial", Learned: true, New: newAxial}, placement,
	option("axial-join", "slow-first", oneOf("slow-first", "fast-first", "sum"),
		"how axial joins its factors: concatenated in this order, or added"),
	option("axial-fast", "0", whole(0, 1<<20),
		"places along the fast axis of axial; 0 for the square root of the tokens, "+
			"rounded up"),
	option("axial-width", "0", whole(0, 1<<20), "dimensions of axial's first factor; 0 for half of d_model"))

func newAxial(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, f, join := c.Positions.Tokens(), c.int("axial-fast"), c.text("axial-join")
	for f == 0 || c.int("axial-fast") == 0 && f*f < n {
		f++
	}
	ofSlow, ofFast, err := c.axialWidths(join)
	if err != nil {
		return nil, err
	}
	slowTable, err := c.addLearned(ps, "pe.slow", (n+f-1)/f, ofSlow)
	if err != nil {
		return nil, err
	}
	fastTable, err := c.addLearned(ps, "pe.fast", f, ofFast)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		checkPlaces(p.Index, n)
		slows, fasts := make([]int, p.Tokens()), make([]int, p.Tokens())
		for i, at := range p.Index {
			slows[i], fasts[i] = at/f, at%f
		}
		slow, fast := rowsAt(s, slowTable.In(s), 2, slows), rowsAt(s, fastTable.In(s), 2, fasts)
		switch join {
		case "slow-first":
			return &tableHooks{tables: torchpe.Cat(-1, slow, fast)}
		case "fast-first":
			return &tableHooks{tables: torchpe.Cat(-1, fast, slow)}
		}
		return &tableHooks{tables: slow.Add(fast)}
	}), err
}

// axialWidths returns the widths of both factors.
func (c Config) axialWidths(join string) (slow, fast int, err error) {
	d, first := c.DModel, c.int("axial-width")
	switch {
	case join == "sum" && first != 0:
		return 0, 0, fmt.Errorf("axial: --axial-width %d has no meaning with --axial-join sum, "+
			"where both factors have d_model %d", first, d)
	case join == "sum":
		return d, d, nil
	case first == 0:
		first = d / 2
	}
	switch {
	case first < 1 || first >= d:
		return 0, 0, fmt.Errorf("axial: --axial-width %d of d_model %d leaves nothing for one "+
			"of the two factors; give 1 to %d", first, d, d-1)
	case join == "fast-first":
		return d - first, first, nil
	}
	return first, d - first, nil
}

// A grid is one frame. Places and frames are counted in ascending order of those for which the
// encoding was built. TimeSformer's class token has its own row of S and no time.
var _ = Register(Scheme{Name: "space-time", Learned: true, Needs: NeedsSpace, New: newSpaceTime}, placement)

func newSpaceTime(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	var places, frames [][]float64
	for _, point := range c.Positions.coordinates("space-time", 3) {
		frames, places = append(frames, point[:1]), append(places, point[1:])
	}
	placeOf, frameOf := numbered(places), numbered(frames)
	space, err := c.addLearned(ps, "pe.space", len(placeOf), c.DModel)
	if err != nil {
		return nil, err
	}
	time, err := c.addLearned(ps, "pe.time", len(frameOf), c.DModel)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		ofSpace, ofTime := make([]int, p.Tokens()), make([]int, p.Tokens())
		for i, point := range p.coordinates("space-time", 3) {
			frame, okFrame := frameOf[pointKey(point[:1])]
			place, okPlace := placeOf[pointKey(point[1:])]
			if !okFrame || !okPlace {
				panic(&torchpe.Error{Op: "space-time", Msg: fmt.Sprintf("token %d is at %v, "+
					"a frame or place for which the encoding was not built", i, point)})
			}
			ofSpace[i], ofTime[i] = place, frame
		}
		return &tableHooks{tables: rowsAt(s, space.In(s), 2, ofSpace).Add(rowsAt(s, time.In(s), 2, ofTime))}
	}), err
}

// numbered numbers distinct points in ascending order.
func numbered(points [][]float64) map[[3]float64]int {
	slices.SortFunc(points, slices.Compare)
	numbers := map[[3]float64]int{}
	for _, point := range points {
		if _, known := numbers[pointKey(point)]; !known {
			numbers[pointKey(point)] = len(numbers)
		}
	}
	return numbers
}

// It is for tokens that spell numbers. k comes from the positions: their Runs; points of one dimension are k
// itself; on a grid k is the place in the row; on a line it is the place. In training an offset,
// the same for all runs of a batch, is added to k from 1 up, so that rows beyond the longest run
// are trained. The authors' code draws it from 0..99; by default there is none.
var _ = Register(Scheme{Name: "abacus", Learned: true, Extrapolates: Always, New: newAbacus}, placement,
	option("abacus-rows", "101", whole(2, 1<<20),
		"rows of the table of abacus: one more than the digits of the longest number and --abacus-offset"),
	option("abacus-offset", "0", whole(0, 1<<20),
		"largest offset of the places of abacus in training, drawn for each step, so that numbers "+
			"longer than those of training have trained rows; 99 in the published code"))

func newAbacus(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	offset, rows := c.int("abacus-offset"), c.int("abacus-rows")
	if _, err := runPlaces(c.Positions, rows, offset); err != nil {
		return nil, fmt.Errorf("abacus: %w", err)
	}
	tables, err := c.addLearned(ps, "pe.table", rows, c.DModel)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		places, err := runPlaces(p, rows, offset)
		if err != nil {
			panic(&torchpe.Error{Op: "abacus", Msg: err.Error()})
		}
		table := tables.In(s)
		if !p.Training || offset == 0 {
			return &tableHooks{tables: rowsAt(s, table, 2, places)}
		}
		return &tableHooks{tables: movedRows(s, table, places, offset)}
	}), err
}

// runPlaces returns each token's place in its run, which must be a row of the table with any offset.
func runPlaces(p Positions, rows, offset int) ([]int, error) {
	if p.Runs == nil && p.Points != nil && len(p.Points[0]) != 1 {
		return nil, fmt.Errorf("%d coordinates per token: it takes one, the place in the run "+
			"of digits", len(p.Points[0]))
	}
	places := make([]int, p.Tokens())
	for i, at := range p.Index {
		k := float64(at + 1)
		switch {
		case p.Runs != nil:
			k = float64(p.Runs[i])
		case p.Points != nil:
			k = p.Points[i][0]
		case p.Cells != nil:
			k = float64(p.Cells[i][1] + 1)
		}
		if places[i] = int(k); float64(places[i]) != k || k < 0 || places[i] >= rows-offset {
			return nil, fmt.Errorf("token %d has place %g in its run: places must be whole numbers "+
				"from 0 to %d (--abacus-rows %d, --abacus-offset %d)", i, k, rows-offset-1, rows, offset)
		}
	}
	return places, nil
}

// movedRows returns the rows [E,T,N,D] of places. To places above 0 it adds an offset, drawn for
// each member from 0..most.
func movedRows(s *torchpe.Scope, table torchpe.Tensor, places []int, most int) torchpe.Tensor {
	e, t, n, d := table.Size(0), table.Size(1), len(places), table.Size(3)
	draw := uniform(s, table, e)                                                // [E]
	offset := draw.MulScalar(float64(most+1)).To(torchpe.Int64, table.Device()) // draw <= 1 - 2^-24
	isDigit := make([]int, n)
	for i, place := range places {
		isDigit[i] = min(place, 1)
	}
	moves := offset.Reshape(e, 1).Mul(indexTensor(s, table.Device(), isDigit, 1, n))
	rows := indexTensor(s, table.Device(), places, 1, n).Add(moves)
	return table.Gather(2, rows.Reshape(e, 1, n, 1).Expand(e, t, n, d))
}

// With N = L the linear and the bicubic form are learn itself. The notes say where a fractional
// position lies, not how it is read: linear is our reading. A class token keeps its own row in
// timm; no task of this project has one.
var _ = Register(Scheme{Name: "learn-resampled", Learned: true, Extrapolates: Always, New: newResampled},
	placement,
	option("resample-from", "4x4", gridSize,
		"rows x columns of the table of learn-resampled: the grid on which it is trained"),
	option("resample-by", "linear", oneOf("linear", "bicubic", "bilinear"),
		"how learn-resampled reads its table: along the line, or as an image on the grid"))

// gridSize checks that a value is rows x columns.
func gridSize(v string) error {
	_, _, err := parseGrid(v)
	return err
}

func parseGrid(v string) (rows, columns int, err error) {
	const most = 1 << 12
	a, b, ok := strings.Cut(v, "x")
	rows, errA := strconv.Atoi(a)
	columns, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil || rows < 1 || columns < 1 || rows > most ||
		columns > most {
		return 0, 0, fmt.Errorf("%q is not a size of a grid, such as 4x4, with sides of at most %d", v, most)
	}
	return rows, columns, nil
}

func newResampled(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	rows, columns, err := parseGrid(c.text("resample-from"))
	if err != nil {
		return nil, err
	}
	n, size := c.Positions.Tokens(), rows*columns
	weights := make([]float64, n*size) // weight of each row at each place
	if by := c.text("resample-by"); by != "linear" {
		if err := (Scheme{Name: "learn-resampled --resample-by " + by, Needs: NeedsGrid}).
			Fits(c.Positions); err != nil {
			return nil, err
		}
		newRows, newColumns := c.Positions.Extent()
		kernel := kernels[by]
		ofRow, ofColumn := kernel.resize(rows, newRows), kernel.resize(columns, newColumns)
		for i, at := range c.Positions.Index {
			cell := c.Positions.Cells[i]
			for r, a := range ofRow[cell[0]] {
				for k, b := range ofColumn[cell[1]] {
					weights[at*size+r*columns+k] = a * b
				}
			}
		}
	} else {
		for p := range n {
			at := float64(p) * float64(size) / float64(n)
			low := int(at)
			weights[p*size+low] += 1 - (at - float64(low))
			weights[p*size+min(low+1, size-1)] += at - float64(low)
		}
	}
	table, err := c.addLearned(ps, "pe.table", size, c.DModel)
	if err != nil {
		return nil, err
	}
	mix := ps.Add("pe.mix", false, copied(weights), 1, n, size)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		return &tableHooks{tables: rowsAt(s, mix.In(s), 2, p.Index).MatMul(table.In(s))}
	}), nil
}

// kernel weighs old points by their distance from a new one, up to its reach.
type kernel struct {
	weight func(distance float64) float64
	reach  float64
}

// kernels are the two kernels of antialiased resizes: Keys' kernel with a = -1/2, and the triangle.
var kernels = map[string]kernel{
	"bicubic": {func(x float64) float64 {
		const a = -0.5
		switch {
		case x < 1:
			return ((a+2)*x-(a+3))*x*x + 1
		case x < 2:
			return (((x-5)*x+8)*x - 4) * a
		}
		return 0
	}, 2},
	"bilinear": {func(x float64) float64 { return max(0, 1-x) }, 1},
}

// resize returns the weights [to][from] of old points for each new one in an antialiased resize:
// the kernel, as wide as the step between new points if these are fewer, normalised within the
// image (Pillow, and torch.nn.functional.interpolate with antialias).
func (k kernel) resize(from, to int) [][]float64 {
	step := float64(from) / float64(to)
	spread := max(step, 1)
	weights := make([][]float64, to)
	for i := range weights {
		weights[i] = make([]float64, from)
		centre, sum := step*(float64(i)+0.5), 0.0
		first, end := max(int(centre-k.reach*spread+0.5), 0), min(int(centre+k.reach*spread+0.5), from)
		for j := first; j < end; j++ {
			weights[i][j] = k.weight(math.Abs(float64(j)-centre+0.5) / spread)
			sum += weights[i][j]
		}
		for j := range weights[i] {
			weights[i][j] /= sum
		}
	}
	return weights
}
