// Package hcp supports resting-state fMRI of the human cortex in the form of the Human Connectome Project.
// Make draws surrogate data with known structure: 360 parcels in the twelve networks of the
// Cole-Anticevic partition. Clean cleans parcellated runs. Check describes a user's own data as
// training would read it. Package series reads the data.
//
// Clean removes motion and physiological noise by regression on 64 nuisance signals, run by run, as
// Ito's published pipeline does (github.com/ito-takuya/corrquench, glmScripts):
//
//  1. 32 signals over all frames of the run: 6 motion parameters, their derivatives, 5 aCompCor
//     components of white matter, their derivatives, 5 of the ventricles, their derivatives; and
//     the squares of these 32, in the same order.
//  2. The first 5 frames are dropped, of the series and of the signals.
//  3. The mean and the least-squares line of each parcel's series are subtracted. The signals are not
//     detrended.
//  4. The residual of one least-squares regression of all parcels on an intercept and the signals is
//     the result.
//
// There is no censoring, no band-pass filter and no regression on the global signal. The pipeline computes
// pinv(X'X)X'Y. Clean uses a singular value decomposition of the centred and scaled columns, which gives the
// same residuals with smaller rounding errors.
//
// Invariants: the same options and seed give the same surrogate on every machine of one word size.
// Inputs are not changed. Residuals do not depend on the units or signs of the signals. Incomplete
// inputs cause an error or a note.
package hcp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/data/partition"
	"torchpe/data/series"
)

// Options are the parameters of the surrogate. Start from DefaultOptions.
type Options struct {
	Subjects int
	Frames   int // of each subject, one run

	// Mean shares of the variance of a parcel. The rest is the parcel's own noise.
	Network float64 // signal of its network
	Global  float64 // signal shared by all parcels
	Local   float64 // signal shared with its counterpart in the other hemisphere

	Mixing  float64 // SD of the weights of other networks' signals, shared by all subjects
	Subject float64 // SD of the difference between a subject's weights and the group's
	Memory  float64 // lag-1 autocorrelation of a latent signal
}

// DefaultOptions returns options for twelve subjects that are about as hard to predict as twelve real
// ones. With eight subjects to fit and four to test, a conditional Gaussian has mean squared errors of
// .61, .61, .62 and .66 at 15, 50, 75 and 90 % masked (real: .62, .63, .66, .72), and the mean of the
// visible parcels has .86 (real: .86). The networks are more distinct: the modularity of the
// correlations is .23 (real: .11).
func DefaultOptions() Options {
	return Options{Subjects: 12, Frames: 1195, Network: 0.33, Global: 0.11, Local: 0.2, Mixing: 0.6,
		Subject: 0.15, Memory: 0.9}
}

// Validate returns an error unless Subjects and Frames are in range.
func (o Options) Validate() error {
	switch {
	case o.Subjects < 2 || o.Subjects > 100_000:
		return fmt.Errorf("surrogate: %d subjects; want 2 to 100000, so that some can "+
			"be held out", o.Subjects)
	case o.Frames < 2 || o.Frames > 1_000_000:
		return fmt.Errorf("surrogate: %d frames per subject; want 2 to 1000000",
			o.Frames)
	}
	return nil
}

// Parcels is the number of parcels of the cortex.
const Parcels = 360

// streamSurrogate separates the draws from others with the same seed.
const streamSurrogate = 0x686370 // "hcp"

// surrogateName begins the names of subjects that Make draws.
const surrogateName = "surrogate"

// AreSurrogates reports whether subjects are named as Make names them, also when their files are read again.
func AreSurrogates(subjects []string) bool {
	return len(subjects) > 0 && !slices.ContainsFunc(subjects, func(name string) bool {
		return !strings.HasPrefix(name, surrogateName)
	})
}

// Make draws a surrogate: one run per subject, in which each parcel has mean 0 and SD 1. Parcels of the
// left hemisphere come first; their names are such as L_DMN_3. Modules are the twelve networks.
func Make(o Options, seed uint64) (*series.Dataset, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	m := &partition.Matched{How: "of the surrogate, in the sizes of the Cole-Anticevic networks"}
	for _, n := range partition.CABNP {
		m.Modules = append(m.Modules, n.Name)
	}
	var names []string
	for _, side := range "LR" {
		for k, n := range partition.CABNP {
			parcels := n.Left
			if side == 'R' {
				parcels = n.Right
			}
			for i := range parcels {
				names = append(names, fmt.Sprintf("%c_%s_%d", side, n.Abbreviation, i+1))
				m.Labels = append(m.Labels, k)
			}
		}
	}
	group := newGroup(o, names, m.Labels, rand.New(rand.NewPCG(seed, streamSurrogate)))
	frames := o.Subjects * o.Frames
	d := &series.Dataset{Modules: m, Set: &series.Set{
		Frames: frames, Tokens: Parcels, X: make([]float32, frames*Parcels), Names: names}}
	for i := range o.Subjects {
		run := series.Run{Subject: fmt.Sprintf("%s%03d", surrogateName, i+1), First: i * o.Frames, Frames: o.Frames}
		d.Subjects, d.Runs = append(d.Subjects, run.Subject), append(d.Runs, run)
		d.OfFrame = append(d.OfFrame, slices.Repeat([]int{i}, o.Frames)...)
		rng := rand.New(rand.NewPCG(seed, streamSurrogate+1+uint64(i)))
		group.draw(rng, d.X[run.First*Parcels:(run.First+run.Frames)*Parcels])
	}
	return d, nil
}

// group holds the parameters that all subjects share.
type group struct {
	Options
	of      []int           // [360], network of each parcel
	mixing  [12][12]float64 // weight of each network's signal (column) in a network (row)
	network []float64       // [360], weight of its network's mixed signal
	global  []float64       // [360]
	local   []float64       // [360]
	pair    []int           // [360], the signal shared with the other hemisphere; -1 for none
	pairs   int
}

func newGroup(o Options, names []string, of []int, rng *rand.Rand) *group {
	g := &group{Options: o, of: of}
	for i := range g.mixing {
		norm := 1.0
		for j := range g.mixing[i] {
			if g.mixing[i][j] = 1; i != j {
				g.mixing[i][j] = o.Mixing * rng.NormFloat64()
				norm += g.mixing[i][j] * g.mixing[i][j]
			}
		}
		for j := range g.mixing[i] {
			g.mixing[i][j] /= math.Sqrt(norm)
		}
	}
	pairs := map[string]int{} // pairs by name without the hemisphere
	for i, name := range names {
		// Strengths vary between parcels, so that positions within a network differ.
		strength := 0.5 + rng.Float64()
		g.network = append(g.network, math.Sqrt(o.Network*strength))
		g.global = append(g.global, math.Sqrt(o.Global*(0.5+rng.Float64())))
		g.local = append(g.local, math.Sqrt(o.Local*(0.5+rng.Float64())))
		if i < Parcels/2 {
			pairs[name[1:]] = g.pairs
			g.pair = append(g.pair, g.pairs)
			g.pairs++
		} else if p, ok := pairs[name[1:]]; ok {
			g.pair = append(g.pair, p)
		} else {
			g.pair = append(g.pair, g.pairs)
			g.pairs++
		}
	}
	return g
}

// draw fills one subject's series, [frames, 360].
func (g *group) draw(rng *rand.Rand, into []float32) {
	const networks = len(g.mixing)
	latent := make([][]float64, networks+1+g.pairs) // networks, global, local
	for i := range latent {
		latent[i] = smooth(rng, g.Frames, g.Memory)
	}
	differ := func(w float64) float64 { return w * (1 + g.Subject*rng.NormFloat64()) }
	var mixing [12][12]float64
	for i := range mixing {
		for j := range mixing[i] {
			mixing[i][j] = g.mixing[i][j] + g.Subject*rng.NormFloat64()/math.Sqrt(float64(networks))
		}
	}
	mixed := make([][]float64, networks)
	for i := range mixed {
		mixed[i] = make([]float64, g.Frames)
		for j, w := range mixing[i] {
			for f := range mixed[i] {
				mixed[i][f] += w * latent[j][f]
			}
		}
	}
	x := make([]float64, g.Frames)
	for p := range Parcels {
		wn, wg, wl := differ(g.network[p]), differ(g.global[p]), differ(g.local[p])
		noise := math.Sqrt(math.Max(0.05, 1-wn*wn-wg*wg-wl*wl))
		// The autocorrelation of a parcel's own noise decays twice as fast as that of shared signals.
		own := smooth(rng, g.Frames, g.Memory*g.Memory)
		global, local := latent[networks], latent[networks+1+g.pair[p]]
		for f := range x {
			x[f] = wn*mixed[g.of[p]][f] + wg*global[f] + wl*local[f] + noise*own[f]
		}
		standardise(x)
		for f, v := range x {
			into[f*Parcels+p] = float32(v)
		}
	}
}

// smooth draws a stationary autoregressive series of order 1 with variance 1.
func smooth(rng *rand.Rand, frames int, memory float64) []float64 {
	x := make([]float64, frames)
	x[0] = rng.NormFloat64()
	fresh := math.Sqrt(1 - memory*memory)
	for f := 1; f < frames; f++ {
		x[f] = memory*x[f-1] + fresh*rng.NormFloat64()
	}
	return x
}
