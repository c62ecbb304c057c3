// learn-resampled: a learned absolute PE for a grid of some size, read at the places of another:
// what is done to a trained table when there are more tokens than it has rows (notes on learned
// PEs, "position interpolation"; Dosovitskiy et al. 2021, section 3.2, for ViT).
//
//	linear    P[p] = (1-u) W[floor p'] + u W[ceil p'],  p' = p L/N,  u = p' - floor p'
//	bicubic   P = A_rows W A_columns^T: the table as an image of rows x columns, resized with
//	          antialiasing (timm's resample_abs_pos_embed)
//	bilinear  the same with a triangle for Keys' kernel (timm's interpolation="bilinear")
//
// W in R^{L x D} is trained and starts as N(0, sigma^2). L = rows x columns of --resample-from,
// whatever N is: so a model trained on that grid can be evaluated on another. With N = L both are
// learn itself. The notes say where a fractional position lies, not how it is read: linear is our
// reading. A class token keeps its own row in timm; no task of this project has one.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	resampleFrom = Option{Name: "resample-from", Default: "4x4", Check: gridSize,
		Help: "rows x columns of the table of learn-resampled: the grid that it is trained on"}
	resampleBy = Option{Name: "resample-by", Default: "linear", Check: oneOf("linear", "bicubic", "bilinear"),
		Help: "how learn-resampled reads its table: along the line, or as an image on the grid"}
)

func init() {
	Register(Scheme{
		Name: "learn-resampled", Learned: true,
		Extrapolates: Always,
		Options:      []Option{placement, resampleFrom, resampleBy},
		New:          newResampled,
	})
}

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
		return 0, 0, fmt.Errorf("%q is no size of a grid, such as 4x4, of at most %d a side",
			v, most)
	}
	return rows, columns, nil
}

type resampled struct {
	atEmbed
	table *torchpe.Param // [E,T,L,D]
	mix   *torchpe.Param // [E,1,N,L], what each place takes of each row
}

func newResampled(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	rows, columns, err := parseGrid(c.Options.Text(resampleFrom.Name))
	if err != nil {
		return nil, err
	}
	n, size := c.Positions.Tokens(), rows*columns
	mix := make([]float64, n*size)
	if by := c.Options.Text(resampleBy.Name); by != "linear" {
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
					mix[at*size+r*columns+k] = a * b
				}
			}
		}
	} else {
		for p := range n {
			at := float64(p) * float64(size) / float64(n)
			low := int(at)
			mix[p*size+low] += 1 - (at - float64(low))
			mix[p*size+min(low+1, size-1)] += at - float64(low)
		}
	}
	table, err := c.addLearned(ps, "pe.table", size, c.DModel)
	if err != nil {
		return nil, err
	}
	return &resampled{table: table, mix: ps.Add("pe.mix", false, copied(mix), 1, n, size)}, nil
}

// kernel weighs old points by their distance from a new one, up to its reach.
type kernel struct {
	weight func(distance float64) float64
	reach  float64
}

// kernels are those of antialiased resizes: Keys' with a = -1/2, and the triangle.
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

// resize returns the weights [to][from] by which an antialiased resize takes old points for each new
// one: the kernel, as wide as the step between new points where those are fewer, normalised within
// the image (Pillow, and torch.nn.functional.interpolate with antialias).
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

func (r *resampled) Begin(s *torchpe.Scope, p Positions) Hooks {
	mix := rowsAt(s, r.mix.In(s), 2, p.Index)
	return &tableHooks{tables: mix.MatMul(r.table.In(s))}
}
