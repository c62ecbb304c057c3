package train

import (
	"math"
	"slices"

	"torchpe/internal/metrics"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// peTables are the tables that an encoding adds to the input of blocks, learned or fixed. Tables
// that are drawn for each batch are left out.
type peTables struct {
	blocks        [][][]float64 // [blocks][E] tables [N,D]; empty where the scheme has none
	tokens, width int           // N, D
}

// peTables copies the present tables to the host.
func (e *ensemble) peTables() (p peTables, err error) {
	if e.model.Encoding.Draw().Range > 0 {
		return p, nil
	}
	s := e.resident.ChildNoGrad()
	defer s.Close()
	err = torchpe.Catch(func() {
		hooks := e.model.Encoding.Begin(s, e.model.Config.Positions)
		for layer := range e.config.Layers {
			if x, ok := hooks.Table(layer); ok {
				shape := x.Shape() // [E,N,D]
				p.tokens, p.width = shape[1], shape[2]
				p.blocks = append(p.blocks, slices.Collect(slices.Chunk(x.Float64s(), p.tokens*p.width)))
			}
		}
	})
	return p, err
}

// addNormAndRank adds the Frobenius norm and the effective rank of a member's tables, means over the
// blocks.
func (p peTables) addNormAndRank(member int, to runlog.Numbers) {
	if len(p.blocks) == 0 {
		return
	}
	var before []float64
	var n, r, norms, ranks float64
	for _, block := range p.blocks {
		// Fixed tables are the same in every block.
		if table := block[member]; !slices.Equal(table, before) {
			n, r, before = frobenius(table), math.NaN(), table
			if isFinite(n) { // else there are no singular values
				v, err := metrics.Table{Tokens: p.tokens, Dim: p.width, Values: table}.EffectiveRank()
				if err == nil { // zeros have no rank
					r = v
				}
			}
		}
		norms, ranks = norms+n, ranks+r
	}
	blocks := float64(len(p.blocks))
	to["pe_norm"], to["pe_effective_rank"] = norms/blocks, ranks/blocks
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// frobenius returns the root of the sum of squares.
func frobenius(table []float64) float64 {
	sum := 0.0
	for _, v := range table {
		sum += v * v
	}
	return math.Sqrt(sum)
}
