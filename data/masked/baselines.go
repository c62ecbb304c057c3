package masked

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"torchpe/internal/wording"
)

// DefaultRidge is the ridge of the conditional Gaussian, a share of each token's variance.
const DefaultRidge = 1e-3

// Baselines predicts masked tokens from the means and the covariance of the training frames. A model
// that has learned the dependences between tokens should come close to the conditional Gaussian.
type Baselines struct {
	Frames int // number of training frames

	tokens int
	names  []string  // of the tokens, or nil
	mean   []float64 // [tokens]
	// The following are [tokens, tokens], row-major, with both triangles.
	covariance []float64 // without the ridge, divisor Frames-1
	ridged     []float64 // S: the covariance with the ridge
	precision  []float64 // L, the inverse of S
}

// Fit computes the baselines of the given training frames of a table. The Gaussian adds ridge, at least 0,
// times the variance of each token to the diagonal of the covariance, so that the units of the tokens do not
// matter. Fit returns an error if the sum has no inverse. Its time grows as frames x tokens^2: 100,000
// frames of 360 tokens take a few seconds.
func Fit(t Table, frames []int, ridge float64) (*Baselines, error) {
	if len(frames) < 2 {
		return nil, fmt.Errorf("masked: baselines of %s: want at least 2",
			wording.Count(len(frames), "training frame"))
	}
	b := &Baselines{Frames: len(frames), tokens: t.Tokens, names: t.Names, mean: means(t, frames)}
	b.covariance = covariance(t, frames, b.mean)
	b.ridged = slices.Clone(b.covariance)
	for i := range t.Tokens {
		diagonal := &b.ridged[i*t.Tokens+i]
		if *diagonal == 0 { // a constant token has no information, regardless of the ridge
			*diagonal = 1
		}
		*diagonal *= 1 + ridge
	}
	if b.precision = inverse(b.ridged, t.Tokens); b.precision == nil {
		return nil, fmt.Errorf("masked: the covariance of %d tokens over %d frames, with a ridge "+
			"of %v, has no inverse: a token is constant or follows from others, or there are too "+
			"few frames; give a larger ridge, such as %v",
			t.Tokens, len(frames), ridge, DefaultRidge)
	}
	return b, nil
}

// means returns the mean of each token over the frames, [Tokens].
func means(t Table, frames []int) []float64 {
	mean := make([]float64, t.Tokens)
	for _, f := range frames {
		for j, v := range t.Row(f) {
			mean[j] += float64(v)
		}
	}
	for j := range mean {
		mean[j] /= float64(len(frames))
	}
	return mean
}

// covariance returns the covariance of the tokens over the frames, [Tokens, Tokens], divided by
// frames-1.
func covariance(t Table, frames []int, mean []float64) []float64 {
	// Blocks of frames avoid a float64 copy of the whole table. Only panels on and right of the
	// diagonal are computed.
	const rows, panel = 1024, 64
	n := t.Tokens
	sum := blas64.General{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	block := make([]float64, min(rows, len(frames))*n)
	for start := 0; start < len(frames); start += rows {
		part := frames[start:min(start+rows, len(frames))]
		for i, f := range part {
			for j, v := range t.Row(f) {
				block[i*n+j] = float64(v) - mean[j]
			}
		}
		for at := 0; at < n; at += panel {
			wide := min(panel, n-at)
			left := blas64.General{Rows: len(part), Cols: wide, Stride: n, Data: block[at:]}
			right := blas64.General{Rows: len(part), Cols: n - at, Stride: n, Data: block[at:]}
			out := blas64.General{Rows: wide, Cols: n - at, Stride: n, Data: sum.Data[at*n+at:]}
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, left, right, 1, out)
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			c := sum.Data[i*n+j] / float64(len(frames)-1)
			sum.Data[i*n+j], sum.Data[j*n+i] = c, c
		}
	}
	return sum.Data
}

// Correlation returns the correlation of the tokens over the training frames, [Tokens, Tokens]. It
// returns an error if a token is constant.
func (b *Baselines) Correlation() ([]float64, error) {
	n := b.tokens
	r := make([]float64, n*n)
	for i := range n {
		if !(b.covariance[i*n+i] > 0) {
			token := fmt.Sprint(i)
			if b.names != nil {
				token += " (" + b.names[i] + ")"
			}
			return nil, fmt.Errorf("masked: token %s, from 0, is constant over %s: it has no correlations", token,
				wording.Count(b.Frames, "training frame"))
		}
		for j := range i {
			v := b.covariance[i*n+j] / math.Sqrt(b.covariance[i*n+i]*b.covariance[j*n+j])
			v = max(-1, min(1, v))
			r[i*n+j], r[j*n+i] = v, v
		}
		r[i*n+i] = 1
	}
	return r, nil
}

// inverse returns the inverse of a symmetric positive definite matrix, [n, n] with both triangles, or
// nil if it is singular to working precision.
func inverse(a []float64, n int) []float64 {
	var factor mat.Cholesky
	var sym mat.SymDense
	if !factor.Factorize(mat.NewSymDense(n, a)) || factor.InverseTo(&sym) != nil {
		return nil
	}
	return mat.DenseCopyOf(&sym).RawMatrix().Data
}
