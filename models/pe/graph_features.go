// Features of a token's node in the graph, through a trained map: eigenvectors of the Laplacian and
// probabilities of random walks. The graph is that of the positions, or if there is none,
// neighbours on the grid or the line are connected.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"torchpe/torchpe"
)

// newMapped declares a table [N,width], which fill computes when it is first needed, and the map
// from its rows to the addend of the input.
func (c Config) newMapped(ps *torchpe.ParamSet, name string, width int, fill func() []float64) Encoding {
	features := ps.Add(name, false, once(fill), c.Positions.Tokens(), width)
	toModel := newLinearMap(ps, "pe.", width, c.DModel)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		return &tableHooks{tables: toModel.of(rowsAt(s, features.In(s), 1, p.Index)).Unsqueeze(1)}
	})
}

// Tab-PET also uses the last eigenvectors, scales each to mean 0 and standard deviation 1,
// multiplies by alpha and concatenates the result to the token's features: before a linear map this
// is the same as C z added to x. If a graph has fewer eigenvectors, the other columns are zeros, as
// in Dwivedi's code. The entry of the largest magnitude is positive; signs are not drawn anew in
// training as in that code. For a repeated eigenvalue (a grid has some) any basis would do; the
// same graph always gets the same one.
var _ = Register(Scheme{Name: "laplacian", Needs: NeedsGraph, Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		n, first, last := c.Positions.Tokens(), c.int("laplacian-first"), c.int("laplacian-last")
		k, alpha, scale := first+last, c.float("laplacian-alpha"), c.is("laplacian-scale", "z-score")
		return c.newMapped(ps, "pe.vectors", k, func() []float64 {
			table := make([]float64, n*k)
			for i, u := range chosenVectors(c.Positions.Neighbours(), first, last) {
				if scale {
					u = zScored(u)
				}
				for p, v := range u {
					table[p*k+i] = alpha * v
				}
			}
			return table
		}), nil
	}},
	option("laplacian-first", "8", whole(1, 1<<16),
		"number of eigenvectors of laplacian, from the second smallest eigenvalue up"),
	option("laplacian-last", "0", whole(0, 1<<16),
		"number of eigenvectors of laplacian with the largest eigenvalues, as in Tab-PET"),
	option("laplacian-scale", "none", oneOf("none", "z-score"),
		"eigenvectors of laplacian unscaled, or each with mean 0 and standard deviation "+
			"1 (Tab-PET)"),
	option("laplacian-alpha", "1", between(1e-6, 1e6),
		"factor of the eigenvectors of laplacian (Tab-PET's alpha)"))

// chosenVectors returns the eigenvectors 1..first and the last ones, each once, and zeros if the graph has fewer.
func chosenVectors(g *Graph, first, last int) (chosen [][]float64) {
	_, vectors := g.Laplacian()
	n := len(vectors)
	take := func(at int) {
		u := make([]float64, n)
		if at >= 1 && at < n {
			u = vectors[at]
		}
		chosen = append(chosen, u)
	}
	for i := range first {
		take(1 + i)
	}
	for i := range last {
		at := n - last + i
		if at <= first { // chosen above
			at = 0
		}
		take(at)
	}
	return chosen
}

// zScored returns u scaled to mean 0 and standard deviation 1, with N-1 in the variance; a constant
// becomes 0.
func zScored(u []float64) []float64 {
	var mean, squares float64
	for _, v := range u {
		mean += v / float64(len(u))
	}
	for _, v := range u {
		squares += (v - mean) * (v - mean)
	}
	out := make([]float64, len(u))
	if deviation := math.Sqrt(squares / float64(len(u)-1)); deviation > 1e-12 {
		for i, v := range u {
			out[i] = (v - mean) / deviation
		}
	}
	return out
}

// GraphGPS concatenates a linear map of z to the token's features: before a linear map that is the
// same as C z added to x. Its factor k^(d/2) for a space of d dimensions is 1 by default. The walk
// ends at a node without outgoing edges.
var _ = Register(Scheme{Name: "rwse", Needs: NeedsGraph, Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		steps, err := stepsOf(c.text("rwse-steps"))
		dims, n, k := c.float("rwse-dimensions"), c.Positions.Tokens(), len(steps)
		return c.newMapped(ps, "pe.features", k, func() []float64 {
			table, at := make([]float64, n*k), 0
			w := walkOf(c.Positions.Neighbours(), false)
			for column, step := range steps {
				for ; at < step; at++ {
					w.step()
				}
				for i := range n {
					table[i*k+column] = w.power[i][i] * math.Pow(float64(step), dims/2)
				}
			}
			return table
		}), err
	}},
	option("rwse-steps", "1-20", parsed(stepsOf),
		"numbers of steps of the walks of rwse, as in 1-20 or 2,4,8"),
	option("rwse-dimensions", "0", between(0, 64), "dimensions d of the space for the factor k^(d/2) of rwse"))

// stepsOf reads an ascending list of numbers and ranges of steps.
func stepsOf(v string) (steps []int, err error) {
	for _, part := range strings.Split(v, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		low, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("%q is not a list of steps such as 1-20 or 2,4,8", v)
		}
		high, err := strconv.Atoi(last)
		if err != nil || low < 1 || high < low || high > 1<<12 ||
			len(steps) > 0 && low <= steps[len(steps)-1] {
			return nil, fmt.Errorf("%q is not a list of steps from 1 to %d in ascending order", v, 1<<12)
		}
		for k := low; k <= high; k++ {
			steps = append(steps, k)
		}
	}
	return steps, nil
}

// Without the identity the powers end at P^K. For distances the vector of a pair is 1 at the first
// number of steps that connects the two and 0 elsewhere, and tokens get no vector, as with the
// published code's spd. That code's attention over vectors of pairs and its factors of degrees are
// omitted: here each layer maps the vectors to one number for each head.
var _ = Register(Scheme{Name: "rrwp", Needs: NeedsGraph, Extrapolates: Always, New: newRRWP},
	option("rrwp-steps", "21", whole(1, 1<<10), "number K of powers of the random walk of rrwp"),
	option("rrwp-identity", "true", yesNo, "whether the powers of rrwp start with the identity (no step)"),
	option("rrwp-distance", "false", yesNo, "whether rrwp uses only the first power that connects two tokens"))

func newRRWP(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	k, n, distance := c.int("rrwp-steps"), c.Positions.Tokens(), c.yes("rrwp-distance")
	powers := sync.OnceValue(func() []float64 { // [K,N,N]
		w, all := walkOf(c.Positions.Neighbours(), true), []float64(nil)
		if !c.yes("rrwp-identity") {
			w.step()
		}
		for range k {
			for _, row := range w.power {
				all = append(all, row...)
			}
			w.step()
		}
		if distance {
			keepFirst(all, n*n)
		}
		return all
	})
	ofPairs := ps.Add("pe.pairs", false, once(powers), k, n, n)
	weights := ps.Add("pe.pair-weight", true, torchpe.FanIn(k), c.Layers, c.Heads, k)
	bias := func(s *torchpe.Scope, p Positions) Hooks {
		m, n := rowsAt(s, rowsAt(s, ofPairs.In(s), 2, p.Index), 3, p.Index), p.Tokens()
		w := weights.In(s).Reshape(c.Members, c.Layers*c.Heads, k)
		return layerBias(w.MatMul(m.Reshape(c.Members, k, n*n)).Reshape(c.Members, c.Layers, c.Heads, n, n))
	}
	if distance {
		return encoding{AtLogits, PlainAttention, bias}, nil
	}
	node := c.newMapped(ps, "pe.features", k, func() []float64 {
		all, own := powers(), make([]float64, n*k)
		for i := range n {
			for step := range k {
				own[i*k+step] = all[step*n*n+i*n+i]
			}
		}
		return own
	})
	return encoding{AtEmbed | AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		return embedAnd{bias(s, p), node.Begin(s, p)}
	}}, nil
}

// keepFirst sets, for each pair, its first power that is not 0 to 1 and all others to 0. Each power
// has `each` numbers.
func keepFirst(powers []float64, each int) {
	for pair := range each {
		joined := false
		for at := pair; at < len(powers); at += each {
			now := powers[at] > 0
			powers[at] = oneIf(now && !joined)
			joined = joined || now
		}
	}
}

// All eigenvectors share phi, and all tokens rho. The eigenvectors are the first K, including that
// of the eigenvalue 0. GraphGPS concatenates z to the token's features; here rho has D outputs and
// z is added. Batch norm, which the published code can put between the layers, is omitted. Edges
// count with their weights, in both directions.
var _ = Register(Scheme{Name: "signnet", Needs: NeedsGraph, Extrapolates: Always, New: newSignNet},
	option("signnet", "deepset", oneOf("mlp", "deepset"),
		"input of rho of signnet: phi of all eigenvectors concatenated, or their sum"),
	option("signnet-vectors", "8", whole(1, 1<<16),
		"number of eigenvectors of signnet, from the smallest eigenvalue up"),
	option("signnet-width", "32", whole(1, 1<<16), "width of the hidden layers of signnet"),
	option("signnet-out", "4", whole(1, 1<<16),
		"outputs of phi of signnet for each eigenvector and token"),
	option("signnet-layers", "3", whole(1, 64), "layers of phi of signnet"),
	option("signnet-post-layers", "2", whole(1, 64), "layers of rho of signnet"))

func newSignNet(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, k, deepset := c.Positions.Tokens(), c.int("signnet-vectors"), c.is("signnet", "deepset")
	if k == 1 && n > 1 && c.Positions.Neighbours().isRegular() {
		return nil, fmt.Errorf("signnet: --signnet-vectors 1 uses only the eigenvector of the eigenvalue 0, " +
			"which is constant if all nodes have the same degree, so that no token has a " +
			"position: give at least 2")
	}
	ofVectors := ps.Add("pe.vectors", false, once(func() []float64 {
		_, vectors := c.Positions.Neighbours().Laplacian()
		table := make([]float64, k*n)
		for i := range min(k, n) {
			copy(table[i*n:], vectors[i])
		}
		return table
	}), k, n)
	ofSums := ps.Add("pe.sums", false, once(func() []float64 { // I + A
		g, sums := c.Positions.Neighbours(), make([]float64, n*n)
		for i := range n {
			for j := range n {
				sums[i*n+j] = oneIf(i == j) + max(g.Weight(i, j), g.Weight(j, i))
			}
		}
		return sums
	}), n, n)
	phi, rho := addSignNet(c, ps, deepset)
	return adding(func(s *torchpe.Scope, p Positions) *tableHooks {
		v, sums := ofVectors.In(s), ofSums.In(s).Unsqueeze(1)
		x := torchpe.Cat(1, v, v.Neg()).Unsqueeze(3) // [E,2K,N,1]: all nodes, because phi needs neighbours
		for _, layer := range phi {
			x = layer[1].of(layer[0].of(sums.MatMul(x)).ReLU())
		}
		x = x.Narrow(1, 0, k).Add(x.Narrow(1, k, k)) // [E,K,N,F]
		if deepset {
			x = x.Narrow(1, 0, min(k, n)).Sum(1)
		} else {
			x = x.Transpose(1, 2).Reshape(c.Members, n, k*x.Size(3))
		}
		for i, layer := range rho {
			if i > 0 {
				x = x.ReLU()
			}
			x = layer.of(x)
		}
		return &tableHooks{tables: rowsAt(s, x, 1, p.Index).Unsqueeze(1)}
	}), nil
}

// addSignNet declares the layers of both networks.
func addSignNet(c Config, ps *torchpe.ParamSet, deepset bool) (phi [][2]linearMap, rho []linearMap) {
	width, out := c.int("signnet-width"), c.int("signnet-out")
	in, layers := 1, c.int("signnet-layers")
	for i := range layers {
		to := width
		if i == layers-1 {
			to = out
		}
		phi = append(phi, [2]linearMap{
			newLinearMap(ps, fmt.Sprintf("pe.phi.%d.in.", i), in, width),
			newLinearMap(ps, fmt.Sprintf("pe.phi.%d.out.", i), width, to)})
		in = width
	}
	if in = out; !deepset {
		in *= c.int("signnet-vectors")
	}
	layers = c.int("signnet-post-layers")
	for i := range layers {
		to := width
		if i == layers-1 {
			to = c.DModel
		}
		rho = append(rho, newLinearMap(ps, fmt.Sprintf("pe.rho.%d.", i), in, to))
		in = to
	}
	return phi, rho
}
