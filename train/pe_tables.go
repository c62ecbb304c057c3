package train

import (
	"math"
	"slices"

	"torchpe/models/pe"
	"torchpe/report/metrics"
	"torchpe/torchpe"
)

// peTables are the tables that an encoding adds to the input of blocks: learned and fixed ones, but none that is drawn anew
// for each batch.
type peTables struct {
	blocks        [][][]float64 // [blocks][E] tables [N,D]; empty where the scheme has none
	tokens, width int           // N, D
}

// peTables copies the tables out as they are now.
func (e *ensemble) peTables() (p peTables, err error) {
	if _, drawn := e.model.Encoding.(pe.Sampler); drawn {
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

// course returns the Frobenius norm and the effective rank of a member's tables, means over the blocks; nil where there is no
// such number.
func (p peTables) course(member int) (norm, rank *float64) {
	if len(p.blocks) == 0 {
		return nil, nil
	}
	var before []float64
	var n, r, norms, ranks float64
	for _, block := range p.blocks {
		if table := block[member]; !slices.Equal(table, before) { // fixed tables are the same in every block
			n, r, before = frobenius(table), math.NaN(), table
			if finite(n) != nil { // else there are no singular values
				if v, err := metrics.EffectiveRank(table, p.tokens, p.width); err == nil { // zeros have none
					r = v
				}
			}
		}
		norms, ranks = norms+n, ranks+r
	}
	blocks := float64(len(p.blocks))
	return finite(norms / blocks), finite(ranks / blocks)
}

// frobenius returns the root of the sum of squares.
func frobenius(table []float64) float64 {
	sum := 0.0
	for _, v := range table {
		sum += v * v
	}
	return math.Sqrt(sum)
}
