// edge-geometry: a bias of the logits by where the key lies, seen from the query (the edge features
// of Pfaff et al. 2021, "Learning mesh-based simulation with graph networks", section 3.2,
// MeshGraphNets).
//
//	e_ij = [p_j - p_i, |p_j - p_i|] in R^{M+1},  logits_hij <- logits_hij + w_h e_ij
//
// In MeshGraphNets e_ij is the input of an edge's MLP, with j the edge's sender and i its receiver.
// In attention every pair is an edge and the logit is what an edge has: a weight for each feature,
// head and block is our reading of it. w starts as in torch.nn.Linear. Coordinates are cells {row,
// column}, points, or the line. The cost is a table of N x N x (M+1) a pass and a bias of H x N x N
// a block.

package pe

import (
	"slices"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name:         "edge-geometry",
		Needs:        NeedsPoints,
		Extrapolates: Always,
		New:          newEdgeGeometry,
	})
}

type edgeGeometry struct {
	atLogits
	w    *torchpe.Param // [E,L,H,M+1]
	dims int
}

func newEdgeGeometry(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims := len(c.Positions.coordinates("edge-geometry", 0)[0])
	return &edgeGeometry{w: ps.Add("pe.weight", true, torchpe.FanIn(dims+1), c.Layers, c.Heads,
		dims+1), dims: dims}, nil
}

func (g *edgeGeometry) Begin(s *torchpe.Scope, p Positions) Hooks {
	flat := slices.Concat(p.coordinates("edge-geometry", g.dims)...)
	w, n := g.w.In(s), p.Tokens()
	at := numbers(s, w, flat, n, g.dims)
	apart := at.Unsqueeze(0).Sub(at.Unsqueeze(1)) // [N,N,M], of query and key
	edges := torchpe.Cat(-1, apart, apart.Square().SumKeep(-1).Sqrt())
	return &edgeHooks{w: w, edges: edges.Reshape(1, n*n, g.dims+1)}
}

type edgeHooks struct {
	Identity
	w     torchpe.Tensor // [E,L,H,M+1]
	edges torchpe.Tensor // [1,N N,M+1]
}

func (h *edgeHooks) Bias(a Attn) torchpe.Tensor {
	q := a.Q.Shape()
	bias := h.w.Select(1, a.Layer).MatMul(h.edges.Transpose(1, 2)) // [E,H,N N]
	return bias.Reshape(q[0], 1, q[2], q[3], q[3])
}

func (h *edgeHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}
