// rrwp: the probabilities that random walks on the graph lead from one token to another after so many
// steps (Ma et al. 2023, "Graph Inductive Biases in Transformers without Message Passing", section 3.1).
//
//	M_ij = [I, P, P^2, .., P^(K-1)]_ij in R^K,  P = D^-1 A,  D the sums of the weights of outgoing edges
//	x_i <- x_i + C M_ii + c,  logits_ij = q_i k_j / sqrt(Dh) + w_h M_ij
//
// --rrwp-identity false leaves I out and ends at P^K. With --rrwp-distance the vector of a pair is 1 at
// the first number of steps that joins them and 0 elsewhere, and tokens have none, as with the published
// code's spd. That code's attention over vectors of pairs and its factors of degrees are left out: here
// each layer maps the vectors to a number for each head, which is added to the logits. Edges count by
// their weights. The graph is that of the positions; without one, neighbours on the grid or the line are
// joined.

package pe

import (
	"math/rand/v2"

	"torchpe/torchpe"
)

var (
	rrwpSteps = Option{Name: "rrwp-steps", Default: "21", Check: whole(1, 1<<10),
		Help: "powers K of the random walk that rrwp looks at"}
	rrwpIdentity = Option{Name: "rrwp-identity", Default: "true", Check: yesNo,
		Help: "whether the powers of rrwp begin with that of no step"}
	rrwpDistance = Option{Name: "rrwp-distance", Default: "false", Check: yesNo,
		Help: "whether rrwp looks only at the first power that joins two tokens"}
)

func init() {
	Register(Scheme{
		Name:         "rrwp",
		Needs:        NeedsGraph,
		Extrapolates: Always,
		Options:      []Option{rrwpSteps, rrwpIdentity, rrwpDistance},
		New:          newRRWP,
	})
}

type rrwp struct {
	None
	node  *mapped        // nil for distances
	pairs *torchpe.Param // [E,K,N,N]
	w     *torchpe.Param // [E,L,H,K]
}

func newRRWP(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	k, n := c.Options.Int(rrwpSteps.Name), c.Positions.Tokens()
	distance := c.Options.Bool(rrwpDistance.Name)
	var all [][][]float64 // [K][N][N], the same for all members
	powers := func() [][][]float64 {
		if all != nil {
			return all
		}
		w := walkOf(c.Positions.Neighbours(), true)
		if !c.Options.Bool(rrwpIdentity.Name) {
			w.step()
		}
		for range k {
			all = append(all, w.power)
			w.step()
		}
		if distance {
			all = firstSteps(all)
		}
		return all
	}
	r := &rrwp{
		pairs: ps.Add("pe.pairs", false, func(_ int, _ *rand.Rand, out []float64) {
			for _, power := range powers() {
				for _, row := range power {
					out = out[copy(out, row):]
				}
			}
		}, k, n, n),
		w: ps.Add("pe.pair-weight", true, torchpe.FanIn(k), c.Layers, c.Heads, k),
	}
	if !distance {
		r.node = newMapped(c, ps, k, func() [][]float64 {
			rows := make([][]float64, n)
			for _, power := range powers() {
				for i := range rows {
					rows[i] = append(rows[i], power[i][i])
				}
			}
			return rows
		})
	}
	return r, nil
}

// firstSteps returns 1 for each pair at the first power [K][N][N] that is not 0.
func firstSteps(powers [][][]float64) [][][]float64 {
	first := make([][][]float64, len(powers))
	for k, power := range powers {
		first[k] = make([][]float64, len(power))
		for i, row := range power {
			first[k][i] = make([]float64, len(row))
			for j, p := range row {
				joined := 0.0
				for _, before := range first[:k] {
					joined += before[i][j]
				}
				first[k][i][j] = oneIf(p > 0 && joined == 0)
			}
		}
	}
	return first
}

func (r *rrwp) Sites() Site {
	if r.node == nil {
		return AtLogits
	}
	return AtEmbed | AtLogits
}

func (r *rrwp) Begin(s *torchpe.Scope, p Positions) Hooks {
	m := rowsAt(s, rowsAt(s, r.pairs.In(s), 2, p.Index), 3, p.Index)
	w, n := r.w.In(s), p.Tokens()
	e, layers, heads, k := w.Size(0), w.Size(1), w.Size(2), w.Size(3)
	bias := w.Reshape(e, layers*heads, k).MatMul(m.Reshape(e, k, n*n))
	h := biasHooks{bias: bias.Reshape(e, layers, heads, n, n)}
	if r.node == nil {
		return h
	}
	return embedAnd{h, r.node.Begin(s, p)}
}

// embedAnd are the hooks of an encoding that adds a table to the input and acts in attention too.
type embedAnd struct {
	Hooks
	table Hooks
}

func (h embedAnd) Embed(layer int, x torchpe.Tensor) torchpe.Tensor { return h.table.Embed(layer, x) }

func (h embedAnd) Table(layer int) (torchpe.Tensor, bool) { return h.table.Table(layer) }

func (h embedAnd) AddsTable(layer int) bool { return h.table.AddsTable(layer) }

func (h embedAnd) DropTables(p float64) (Hooks, bool) {
	table, ok := h.table.DropTables(p)
	return embedAnd{h.Hooks, table}, ok
}
