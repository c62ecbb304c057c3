// Package nmar simulates the nonlinear multivariate autoregressive network of the paper's appendix
// A.4: nodes in modules whose activity depends on their own past, strongly on nodes of their module
// and weakly on others.
//
//	x_i(t) = sum_k w_ik x_i(t-k) + sum_j c_ij sin(x_j(t-1)) + e_i(t),   e ~ N(0, Noise^2)
//
// with w ~ Scale U(AR), and couplings c ~ U(Intra) within a module, U(Inter) between modules and 0 on the
// diagonal. As printed (Scale 1) the process diverges; see Options.Scale.
//
// The paper's network has 15 nodes in modules of 5, so that a node is coupled with 4 nodes of its module
// and 10 others. In larger networks couplings are scaled to keep a node's expected sums:
// c ~ min(1, 4/(m-1)) U(Intra) in a module of m nodes, and c ~ min(1, 10/(Nodes-m)) U(Inter).
//
// The order of the nodes is drawn from the seed. If nodes of a module were neighbours, any encoding of
// their places on a line would be modular, regardless of what a model learned.
package nmar

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Numbers of couplings of a node in the paper's network, within its module and with other modules.
const (
	paperNeighbours = 4
	paperOthers     = 10
)

// Options holds the parameters of a simulation.
type Options struct {
	Nodes, Modules int // modules are consecutive nodes; their sizes differ by at most one
	Lags           int // p
	Frames         int // time points kept
	Burn           int // time points discarded before those
	// Ranges of the uniform weights.
	AR, Intra, Inter [2]float64
	Noise            float64 // SD of the noise; the paper's N(0, .2) is read as an SD of .2
	// Scale is a factor on the autoregressive weights. The default, 0, means 1/Lags: the past of a node
	// enters as the mean over its lags, and the weights of a node sum to at most the upper end of AR.
	// If that is below 1 the process is bounded, because the sine bounds the input from other nodes.
	// With the default scale a network that is not stable is an error. With a given factor only a
	// network that diverges is one.
	Scale float64
}

// DefaultOptions returns the paper's options with the scale that keeps the process stable.
func DefaultOptions() Options {
	return Options{
		Nodes: 15, Modules: 3, Lags: 3, Frames: 20_000, Burn: 1_000,
		AR: [2]float64{0.2, 0.5}, Intra: [2]float64{0.02, 0.2}, Inter: [2]float64{0.005, 0.01}, Noise: 0.2,
	}
}

// Limits of the options, so that a mistyped number is an error.
const (
	maxNodes  = 4096
	maxFrames = 1 << 26
	maxLags   = 1000
)

// Validate returns an error that lists everything wrong with the options that users can set.
func (o Options) Validate() error {
	var bad []string
	within := func(what string, v, low, high int) {
		if v < low || v > high {
			bad = append(bad, fmt.Sprintf("%s %d is not in [%d, %d]", what, v, low, high))
		}
	}
	within("nodes", o.Nodes, 2, maxNodes)
	within("modules", o.Modules, 1, max(1, o.Nodes))
	within("lags", o.Lags, 1, maxLags)
	within("frames", o.Frames, 2, maxFrames)
	if !(o.Noise > 0) || math.IsInf(o.Noise, 0) {
		bad = append(bad, fmt.Sprintf("noise %g: want an SD above 0", o.Noise))
	}
	if !(o.Scale >= 0) || math.IsInf(o.Scale, 0) {
		bad = append(bad, fmt.Sprintf("scale %g: want a factor above 0, or 0 for the default", o.Scale))
	}
	if bad != nil {
		return errors.New("nmar: " + strings.Join(bad, "; "))
	}
	return nil
}

// Simulation is a network and its series. All fields list the nodes in the same order: see Simulate and
// ByModule.
type Simulation struct {
	Options Options
	AR      []float64 // [nodes,lags], scaled
	Weights []float64 // [nodes,nodes]: entry [i,j] is the effect of node j on node i; diagonal 0
	Labels  []int     // [nodes] module of each node, from 0
	Names   []string  // [nodes] node01, node02, ... by module
	X       []float32 // [frames,nodes]

	place []int // [nodes] index of each node in the order of modules
}

// Independent random streams of a seed. More frames only lengthen the series, and other ranges of weights
// do not change the noise.
const (
	streamWeights = 0x77656967687473 // "weights"
	streamNoise   = 0x6e6f697365     // "noise"
	streamOrder   = 0x6f72646572     // "order"
)

// diverged is the activity at which a simulation fails. The activity of a stable network is of the order
// of the noise.
const diverged = 1e6

// Simulate draws a network, its series and the order of its nodes. They depend only on the options and
// the seed. It returns an error for a process that is not stable: see Options.Scale.
func Simulate(o Options, seed uint64) (*Simulation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	byDefault := o.Scale == 0
	if byDefault {
		o.Scale = 1 / float64(o.Lags)
	}
	s := &Simulation{Options: o}
	s.draw(rand.New(rand.NewPCG(seed, streamWeights)))
	if byDefault && !s.Stable() {
		return nil, fmt.Errorf("nmar: %d nodes in %d modules with seed %d: not stable, the "+
			"linearised network has spectral radius %.4g, which must be below 1, though the "+
			"autoregressive weights are scaled by %.4g: use another seed, or a smaller factor "+
			"with --scale (--nmar-scale in training)", o.Nodes, o.Modules, seed, s.SpectralRadius(),
			o.Scale)
	}
	if err := s.run(rand.New(rand.NewPCG(seed, streamNoise))); err != nil {
		return nil, err
	}
	return s.reorder(rand.New(rand.NewPCG(seed, streamOrder)).Perm(o.Nodes)), nil
}

// ByModule returns the simulation with its nodes in the order of their modules and names.
func (s *Simulation) ByModule() *Simulation {
	order := make([]int, len(s.place))
	for i, place := range s.place {
		order[place] = i
	}
	return s.reorder(order)
}

// reorder returns the simulation with node order[i] at index i.
func (s *Simulation) reorder(order []int) *Simulation {
	n, lags := len(order), s.Options.Lags
	out := &Simulation{Options: s.Options, X: make([]float32, 0, len(s.X))}
	for _, i := range order {
		out.AR = append(out.AR, s.AR[i*lags:(i+1)*lags]...)
		for _, j := range order {
			out.Weights = append(out.Weights, s.Weights[i*n+j])
		}
		out.Labels, out.Names = append(out.Labels, s.Labels[i]), append(out.Names, s.Names[i])
		out.place = append(out.place, s.place[i])
	}
	for frame := range slices.Chunk(s.X, n) {
		for _, i := range order {
			out.X = append(out.X, frame[i])
		}
	}
	return out
}

// draw draws the weights, with nodes in the order of their modules.
func (s *Simulation) draw(rng *rand.Rand) {
	o := s.Options
	uniform := func(r [2]float64) float64 { return r[0] + (r[1]-r[0])*rng.Float64() }
	for i := range o.Nodes {
		s.Labels = append(s.Labels, i*o.Modules/o.Nodes)
		s.Names = append(s.Names, fmt.Sprintf("node%02d", i+1))
		s.place = append(s.place, i)
		for range o.Lags {
			s.AR = append(s.AR, o.Scale*uniform(o.AR))
		}
	}
	size := make([]int, o.Modules)
	for _, module := range s.Labels {
		size[module]++
	}
	s.Weights = make([]float64, o.Nodes*o.Nodes)
	for i := range o.Nodes {
		m := size[s.Labels[i]]
		for j := range o.Nodes {
			switch {
			case i == j:
			case s.Labels[i] == s.Labels[j]:
				s.Weights[i*o.Nodes+j] = share(paperNeighbours, m-1) * uniform(o.Intra)
			default:
				s.Weights[i*o.Nodes+j] = share(paperOthers, o.Nodes-m) * uniform(o.Inter)
			}
		}
	}
}

// share returns the factor on couplings that keeps the expected sum of a node's couplings that of the
// paper's network, given their numbers in both networks.
func share(paper, here int) float64 { return math.Min(1, float64(paper)/float64(here)) }

// run simulates the series from rest.
func (s *Simulation) run(noise *rand.Rand) error {
	o := s.Options
	n := o.Nodes
	past := make([][]float64, o.Lags) // past[k] is x(t-k-1)
	for k := range past {
		past[k] = make([]float64, n)
	}
	sines, now := make([]float64, n), make([]float64, n)
	s.X = make([]float32, 0, o.Frames*n)
	for t := range o.Burn + o.Frames {
		for j, v := range past[0] {
			sines[j] = math.Sin(v)
		}
		for i := range n {
			v := o.Noise * noise.NormFloat64()
			for k, w := range s.AR[i*o.Lags : (i+1)*o.Lags] {
				v += w * past[k][i]
			}
			for j, c := range s.Weights[i*n : (i+1)*n] {
				v += c * sines[j]
			}
			if !(math.Abs(v) < diverged) {
				return fmt.Errorf("nmar: the process diverges: %s is beyond %g at time point %d; "+
					"the linearised network has spectral radius %.2f, which must be below 1: "+
					"lower the scale of %g (--scale, in training --nmar-scale), or leave it out "+
					"for one over the %d lags", s.Names[i], diverged, t, s.SpectralRadius(),
					o.Scale, o.Lags)
			}
			now[i] = v
		}
		if t >= o.Burn {
			for _, v := range now {
				s.X = append(s.X, float32(v))
			}
		}
		oldest := past[o.Lags-1]
		copy(past[1:], past[:o.Lags-1])
		past[0], now = now, oldest
	}
	return nil
}
