package masked

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Errors holds mean squared errors over all masked values. A sample is weighted by its number of masked
// tokens.
type Errors struct {
	Zero     float64 // predicting zero
	Mean     float64 // regression of each token on the mean of the visible tokens
	Gaussian float64 // the conditional Gaussian
	Samples  int     // number of samples with a masked value
	Masked   int     // number of masked values
}

// MSE predicts the masked values of the given frames of a table and returns the errors. masks is
// [len(frames), Tokens], row-major; true means masked. With v the visible and m the masked tokens of a
// sample, the predictions are:
//
//	zero:      0
//	mean:      mu_m + cov(x_m, g) / var(g) (g - mean of mu_v), g the mean of x_v: the
//	           least-squares line of the training frames for this mask
//	Gaussian:  mu_m + S_mv S_vv^-1 (x_v - mu_v), S the covariance with the ridge
//
// A sample without a visible token is predicted by the training means. Results do not depend on the
// number of goroutines. A thousand samples of 360 tokens take about half a second on two cores at
// level 0.5, the slowest level.
func (b *Baselines) MSE(t Table, frames []int, masks []bool) (Errors, error) {
	return b.mse(t, frames, masks, runtime.GOMAXPROCS(0))
}

func (b *Baselines) mse(t Table, frames []int, masks []bool, workers int) (Errors, error) {
	parts := make([]Errors, len(frames)) // sums of one sample each
	failed := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			s := newSolver(b)
			for i := w; i < len(frames); i += workers {
				part, err := s.sample(t.Row(frames[i]), masks[i*t.Tokens:(i+1)*t.Tokens])
				if err != nil {
					failed[w] = fmt.Errorf("masked: frame %d: %w", frames[i], err)
					return
				}
				parts[i] = part
			}
		})
	}
	wait.Wait()
	if err := cmp.Or(failed...); err != nil {
		return Errors{}, err
	}
	return average(parts)
}

// average sums the errors of samples in order and divides by the number of masked values.
func average(parts []Errors) (Errors, error) {
	var sum Errors
	for _, p := range parts {
		sum.Zero += p.Zero
		sum.Mean += p.Mean
		sum.Gaussian += p.Gaussian
		sum.Samples += p.Samples
		sum.Masked += p.Masked
	}
	if sum.Masked == 0 {
		return Errors{}, fmt.Errorf(
			"masked: no value of %d samples is masked: there is nothing to predict", len(parts))
	}
	n := float64(sum.Masked)
	sum.Zero /= n
	sum.Mean /= n
	sum.Gaussian /= n
	return sum, nil
}

// solver holds the buffers of one goroutine.
type solver struct {
	b               *Baselines
	visible, masked []int
	x               []float64 // [tokens], less the training means
	prediction      []float64 // [tokens], less the training means; valid for masked tokens
	weight, product []float64 // [tokens], scratch
	block           []float64 // [tokens^2], the matrix to factorise
	right           []float64 // [tokens], its right-hand side
	factor          mat.Cholesky
	solution        mat.VecDense
}

func newSolver(b *Baselines) *solver {
	n := b.tokens
	return &solver{b: b, x: make([]float64, n), prediction: make([]float64, n),
		weight:  make([]float64, n),
		product: make([]float64, n), block: make([]float64, n*n), right: make([]float64, n)}
}

// sample returns the sums of squared errors of one sample.
func (s *solver) sample(row []float32, mask []bool) (Errors, error) {
	s.visible, s.masked = s.visible[:0], s.masked[:0]
	for i, v := range row {
		s.x[i] = float64(v) - s.b.mean[i]
		if mask[i] {
			s.masked = append(s.masked, i)
		} else {
			s.visible = append(s.visible, i)
		}
	}
	if len(s.masked) == 0 {
		return Errors{}, nil
	}
	sum := Errors{Samples: 1, Masked: len(s.masked)}
	for _, i := range s.masked {
		sum.Zero += float64(row[i]) * float64(row[i])
	}
	s.onMean()
	sum.Mean = s.squared()
	if err := s.gaussian(); err != nil {
		return Errors{}, err
	}
	sum.Gaussian = s.squared()
	return sum, nil
}

// squared returns the sum of squared errors of the prediction.
func (s *solver) squared() float64 {
	sum := 0.0
	for _, i := range s.masked {
		d := s.x[i] - s.prediction[i]
		sum += d * d
	}
	return sum
}

// onMean predicts by regression on the mean g of the visible tokens. With w its weights,
// cov(x, g) = C w and var(g) = w'C w.
func (s *solver) onMean() {
	clear(s.prediction)
	if len(s.visible) == 0 {
		return
	}
	clear(s.weight)
	g, scale := 0.0, 0.0
	n := s.b.tokens
	c := blas64.Symmetric{N: n, Stride: n, Data: s.b.covariance, Uplo: blas.Upper}
	for _, i := range s.visible {
		s.weight[i] = 1 / float64(len(s.visible))
		g += s.weight[i] * s.x[i]
		scale += s.weight[i] * c.Data[i*n+i]
	}
	w := blas64.Vector{N: n, Inc: 1, Data: s.weight}
	cw := blas64.Vector{N: n, Inc: 1, Data: s.product}
	blas64.Symv(1, c, w, 0, cw)
	variance := blas64.Dot(w, cw)
	// A mean that is constant up to rounding predicts nothing.
	if variance <= 1e-14*scale {
		return
	}
	for _, i := range s.masked {
		s.prediction[i] = s.product[i] / variance * g
	}
}

// gaussian predicts by the conditional Gaussian. It factorises the block of the smaller of the visible
// and masked sets, because S_mv S_vv^-1 x_v = -L_mm^-1 L_mv x_v with L the inverse of S.
func (s *solver) gaussian() error {
	clear(s.prediction)
	if len(s.visible) == 0 {
		return nil
	}
	if len(s.visible) <= len(s.masked) {
		for k, i := range s.visible {
			s.right[k] = s.x[i]
		}
		z, err := s.solve(s.b.ridged, s.visible)
		if err != nil {
			return err
		}
		s.multiply(s.b.ridged, z)
		for k, i := range s.masked {
			s.prediction[i] = s.product[k]
		}
		return nil
	}
	for k, i := range s.visible {
		s.weight[k] = s.x[i]
	}
	s.multiply(s.b.precision, s.weight[:len(s.visible)])
	copy(s.right, s.product[:len(s.masked)])
	z, err := s.solve(s.b.precision, s.masked)
	if err != nil {
		return err
	}
	for k, i := range s.masked {
		s.prediction[i] = -z[k]
	}
	return nil
}

// multiply sets product to the block of a [tokens, tokens] with masked rows and visible columns, times
// z [visible].
func (s *solver) multiply(a, z []float64) {
	n := s.b.tokens
	for k, i := range s.masked {
		row := a[i*n : (i+1)*n]
		sum := 0.0
		for l, j := range s.visible {
			sum += row[j] * z[l]
		}
		s.product[k] = sum
	}
}

// solve solves the system of the block of a [tokens, tokens] for the given tokens and the right-hand side
// right. The result is valid until the next call.
func (s *solver) solve(a []float64, set []int) ([]float64, error) {
	n, size := s.b.tokens, len(set)
	block := s.block[:size*size]
	for k, i := range set {
		row := a[i*n : (i+1)*n]
		for l := k; l < size; l++ { // only the upper triangle is read
			block[k*size+l] = row[set[l]]
		}
	}
	if !s.factor.Factorize(mat.NewSymDense(size, block)) {
		return nil, fmt.Errorf("the covariance of %d tokens has no inverse: fit with a larger "+
			"ridge, such as %v", size, DefaultRidge)
	}
	s.solution.Reset()
	if err := s.factor.SolveVecTo(&s.solution, mat.NewVecDense(size, s.right[:size])); err != nil {
		return nil, fmt.Errorf("the covariance of %d tokens has no usable inverse (%w): fit with "+
			"a larger ridge, such as %v", size, err, DefaultRidge)
	}
	return s.solution.RawVector().Data, nil
}
