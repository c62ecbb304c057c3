package hcp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"torchpe/data/array"
)

// CleanOptions holds the options of [Clean]. Start from [DefaultCleanOptions].
type CleanOptions struct {
	Drop int // number of frames dropped at the start of a run
	// ZScore scales each parcel's residual to mean 0 and SD 1 (divisor: the number of frames).
	ZScore bool
}

// DefaultCleanOptions returns the options of the published pipeline: it drops 5 frames and does not
// z-score.
func DefaultCleanOptions() CleanOptions { return CleanOptions{Drop: 5} }

// Cleaned is a cleaned run.
type Cleaned struct {
	Residuals array.Array // [parcels, frames - Drop], in the units of the series, or z-scored
	Columns   []string    // columns of the design used, without the intercept
	Constant  []string    // constant columns, left out because the intercept covers them
	Rank      int         // rank of the design with the intercept; 65 for complete inputs
	Notes     []string    // notes on the inputs for the user, one sentence each
}

// Clean regresses the nuisance signals of a run (see designOf) out of its series.
func Clean(r Run, o CleanOptions) (*Cleaned, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if o.Drop < 0 {
		return nil, fmt.Errorf("clean: %d frames to drop: want 0 or more", o.Drop)
	}
	kept := r.Series.Shape[1] - o.Drop
	if kept <= designColumns+1 {
		return nil, fmt.Errorf("clean: %s has %d frames, less %d to drop: want more than the %d "+
			"columns of the design with its intercept, else nothing remains",
			called("series", r.Series), r.Series.Shape[1], o.Drop, designColumns+1)
	}
	design, err := designOf(r)
	if err != nil {
		return nil, err
	}
	result := &Cleaned{Notes: design.Notes}
	x := result.standardize(design, o.Drop)
	y := detrended(r.Series, o.Drop)
	residuals, err := result.project(x, y)
	if err != nil {
		return nil, err
	}
	result.Residuals = array.Array{Name: r.Series.Name, Shape: []int{r.Series.Shape[0], kept},
		Data: mat.DenseCopyOf(residuals.T()).RawMatrix().Data}
	if err := result.finish(r.Series, o); err != nil {
		return nil, err
	}
	return result, nil
}

// constant is the range of a column, as a share of its largest magnitude, below which it counts as
// constant. It is far above rounding errors and far below any signal.
const constant = 1e-12

// standardize returns an intercept and the columns of the design after the first drop frames,
// [frames-drop, 1 + columns]. It centres columns, scales them to unit norm and leaves out constant
// ones. This does not change the span or the residuals, and makes the condition number independent of
// the units of the signals.
func (r *Cleaned) standardize(design nuisance, drop int) *mat.Dense {
	kept := design.X.Shape[0] - drop
	var columns [][]float64
	for j, name := range design.Names {
		column := make([]float64, kept)
		low, high := math.Inf(1), math.Inf(-1)
		for i := range column {
			column[i] = rowOf(design.X, drop+i)[j]
			low, high = min(low, column[i]), max(high, column[i])
		}
		if scale := max(math.Abs(low), math.Abs(high)); high-low <= constant*scale {
			r.Constant = append(r.Constant, name)
			r.Notes = append(r.Notes, fmt.Sprintf("%s is %v in all frames: left out of the design",
				name, column[0]))
			continue
		} else if scale > 0 {
			// The squares of very large or small numbers would overflow or underflow.
			for i := range column {
				column[i] /= scale
			}
		}
		center(column)
		norm := math.Sqrt(square(column))
		for i := range column {
			column[i] /= norm
		}
		columns = append(columns, column)
		r.Columns = append(r.Columns, name)
	}
	x := mat.NewDense(kept, 1+len(columns), nil)
	for i := range kept {
		x.Set(i, 0, 1/math.Sqrt(float64(kept)))
		for j, column := range columns {
			x.Set(i, 1+j, column[i])
		}
	}
	return x
}

// detrended returns the series after the first drop frames, [frames-drop, parcels]. It subtracts the
// mean and the least-squares line of each parcel.
func detrended(series array.Array, drop int) *mat.Dense {
	kept := series.Shape[1] - drop
	line := make([]float64, kept)
	for i := range line {
		line[i] = float64(i)
	}
	center(line)
	norm := square(line)
	y, one := mat.NewDense(kept, series.Shape[0], nil), make([]float64, kept)
	for p := range series.Shape[0] {
		copy(one, rowOf(series, p)[drop:])
		center(one)
		slope := 0.0
		for i, v := range one {
			slope += v * line[i] / norm
		}
		for i, v := range one {
			y.Set(i, p, v-slope*line[i])
		}
	}
	return y
}

// project returns y minus its projection on the columns of x, as numpy.linalg.lstsq does: singular values
// below a tolerance count as 0.
func (r *Cleaned) project(x, y *mat.Dense) (*mat.Dense, error) {
	rows, columns := x.Dims()
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThinU) {
		return nil, errors.New("clean: the singular value decomposition of the design did not converge")
	}
	if r.Rank = svd.Rank(float64(rows) * 0x1p-52); r.Rank < columns {
		r.Notes = append(r.Notes, fmt.Sprintf("the design has rank %d of %d columns: some signals follow from "+
			"others", r.Rank, columns))
	}
	var u, b, fitted mat.Dense
	svd.UTo(&u)
	basis := u.Slice(0, rows, 0, r.Rank)
	b.Mul(basis.T(), y)
	fitted.Mul(basis, &b)
	fitted.Sub(y, &fitted)
	return &fitted, nil
}

// finish sets residuals that consist of rounding errors to 0, with a note, and z-scores the others if o
// asks for it.
func (r *Cleaned) finish(series array.Array, o CleanOptions) error {
	for p := range r.Residuals.Shape[0] {
		row, largest := rowOf(r.Residuals, p), 0.0
		for _, v := range rowOf(series, p)[o.Drop:] {
			largest = max(largest, math.Abs(v))
		}
		sd := math.Sqrt(square(row) / float64(len(row)))
		if sd-sd != 0 {
			return fmt.Errorf("clean: parcel %d (from 0) of %s reaches %v, beyond the range of "+
				"the sums: give it in another unit", p, called("series", series), largest)
		}
		if sd <= constant*largest {
			clear(row)
			r.Notes = append(r.Notes, fmt.Sprintf("nothing remains of parcel %d (from 0): its "+
				"series is constant, or a sum of nuisance signals; its residual is 0", p))
			continue
		}
		if o.ZScore {
			standardise(row)
		}
	}
	return nil
}

// standardise scales a series to mean 0 and SD 1 (divisor: the number of frames).
func standardise(x []float64) {
	center(x)
	sd := math.Sqrt(square(x) / float64(len(x)))
	for i := range x {
		x[i] /= sd
	}
}

// center subtracts the mean.
func center(x []float64) {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for i := range x {
		x[i] -= mean
	}
}

// square returns the sum of squares.
func square(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return sum
}
