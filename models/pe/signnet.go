// signnet: eigenvectors of the graph's Laplacian through a network that does not feel their signs (Lim
// et al. 2023, "Sign and Basis Invariant Networks for Spectral Graph Representation Learning"; the two
// forms of GraphGPS).
//
//	z_p = rho( [phi(v_k) + phi(-v_k)]_{k=1..K} )_p  (mlp)  or  rho( sum_k phi(v_k) + phi(-v_k) )_p  (deepset)
//	phi: layers y <- W_2 ReLU(W_1 (y_p + sum of y over neighbours of p) + b_1) + b_2
//	rho: a network with ReLU,  x <- x + z
//
// phi and rho serve all eigenvectors and tokens. The eigenvectors are the first K, that of the eigenvalue
// 0 among them; where a graph has fewer, mlp reads zeros and deepset leaves them out. GraphGPS
// concatenates z to the token's features; here rho has D outputs and z is added. Batch norm, which the
// published code can put between the layers, is left out. The graph is that of the positions; without
// one, neighbours on the grid or the line are joined. Edges count by their weights, in both directions.

package pe

import (
	"fmt"
	"math/rand/v2"

	"torchpe/torchpe"
)

var (
	signnetForm = Option{Name: "signnet", Default: "deepset", Check: oneOf("mlp", "deepset"),
		Help: "what rho of signnet reads: phi of all eigenvectors side by side, or their sum"}
	signnetVectors = Option{Name: "signnet-vectors", Default: "8", Check: whole(1, 1<<16),
		Help: "eigenvectors of signnet from the smallest eigenvalue on"}
	signnetWidth = Option{Name: "signnet-width", Default: "32", Check: whole(1, 1<<16),
		Help: "width of the hidden layers of signnet"}
	signnetOut = Option{Name: "signnet-out", Default: "4", Check: whole(1, 1<<16),
		Help: "numbers that phi of signnet gives for each eigenvector and token"}
	signnetLayers = Option{Name: "signnet-layers", Default: "3", Check: whole(1, 64),
		Help: "layers of phi of signnet"}
	signnetPost = Option{Name: "signnet-post-layers", Default: "2", Check: whole(1, 64),
		Help: "layers of rho of signnet"}
)

func init() {
	Register(Scheme{
		Name:         "signnet",
		Needs:        NeedsGraph,
		Extrapolates: Always,
		Options: []Option{signnetForm, signnetVectors, signnetWidth, signnetOut, signnetLayers,
			signnetPost},
		New: newSignNet,
	})
}

type signnet struct {
	atEmbed
	vectors *torchpe.Param // [E,K,N]
	sums    *torchpe.Param // [E,N,N]: I + A
	phi     [][2]linearMap
	rho     []linearMap
	deepset bool
	nodes   int
}

func newSignNet(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	n, k := c.Positions.Tokens(), c.Options.Int(signnetVectors.Name)
	width, out := c.Options.Int(signnetWidth.Name), c.Options.Int(signnetOut.Name)
	y := &signnet{deepset: c.Options.Text(signnetForm.Name) == "deepset", nodes: n}
	var table []float64 // the same for all members
	y.vectors = ps.Add("pe.vectors", false, func(_ int, _ *rand.Rand, out []float64) {
		if table == nil {
			_, vectors := c.Positions.Neighbours().Laplacian()
			table = make([]float64, k*n)
			for i := range min(k, n) {
				copy(table[i*n:], vectors[i])
			}
		}
		copy(out, table)
	}, k, n)
	y.sums = ps.Add("pe.sums", false, func(_ int, _ *rand.Rand, out []float64) {
		g := c.Positions.Neighbours()
		for i := range n {
			for j := range n {
				out[i*n+j] = oneIf(i == j) + max(g.Weight(i, j), g.Weight(j, i))
			}
		}
	}, n, n)
	in, layers := 1, c.Options.Int(signnetLayers.Name)
	for i := range layers {
		to := width
		if i == layers-1 {
			to = out
		}
		y.phi = append(y.phi, [2]linearMap{
			newLinearMap(ps, fmt.Sprintf("pe.phi.%d.in.", i), in, width),
			newLinearMap(ps, fmt.Sprintf("pe.phi.%d.out.", i), width, to)})
		in = width
	}
	if in = out; !y.deepset {
		in *= k
	}
	layers = c.Options.Int(signnetPost.Name)
	for i := range layers {
		to := width
		if i == layers-1 {
			to = c.DModel
		}
		y.rho = append(y.rho, newLinearMap(ps, fmt.Sprintf("pe.rho.%d.", i), in, to))
		in = to
	}
	return y, nil
}

// Begin computes z of all nodes, as phi needs their neighbours.
func (y *signnet) Begin(s *torchpe.Scope, p Positions) Hooks {
	v, sums := y.vectors.In(s), y.sums.In(s).Unsqueeze(1)
	e, k, n := v.Size(0), v.Size(1), v.Size(2)
	x := torchpe.Cat(1, v, v.Neg()).Unsqueeze(3) // [E,2K,N,1]
	for _, layer := range y.phi {
		x = layer[1].of(layer[0].of(sums.MatMul(x)).ReLU())
	}
	x = x.Narrow(1, 0, k).Add(x.Narrow(1, k, k)) // [E,K,N,F]
	if y.deepset {
		x = x.Narrow(1, 0, min(k, y.nodes)).Sum(1)
	} else {
		x = x.Transpose(1, 2).Reshape(e, n, k*x.Size(3))
	}
	for i, layer := range y.rho {
		if i > 0 {
			x = x.ReLU()
		}
		x = layer.of(x)
	}
	return &tableHooks{tables: rowsAt(s, x, 1, p.Index).Unsqueeze(1)}
}
