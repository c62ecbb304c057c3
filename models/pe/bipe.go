// bipe: bilevel positions. A trained vector for a token's place within its segment is added to the
// input; the segments' numbers turn queries and keys, or are a penalty on the logits (He et al. 2024,
// "Two Stones Hit One Bird: Bilevel Positional Encoding for Better Length Extrapolation", section 3).
//
//	x_i <- x_i + E[min(place in the segment, T-1)]
//	rope:  q and k turn by rope's angles of the number of the segment, dimensions c and c + Dh/2 together
//	alibi: logits_ij = q_i k_j / sqrt(Dh) - 96 m_h (s_i - s_j),  s the number of the segment
//
// The published code adds 96 m_h s_j, which the softmax cannot tell from that. Segments are the rows of
// the tokens' grid, and columns the places in them. E has T = --bipe-places rows (0: as many as the
// grid has columns), which start as N(0, 0.02^2).

package pe

import (
	"math"

	"torchpe/torchpe"
)

const bipeFactor = 96 // of alibi's slopes

var (
	bipeForm = Option{Name: "bipe", Default: "rope", Check: oneOf("rope", "alibi"),
		Help: "what the numbers of segments go into in bipe"}
	bipePlaces = Option{Name: "bipe-places", Default: "0", Check: whole(0, 1<<20),
		Help: "places in a segment that bipe tells apart; 0 for all there are"}
	bipeDirection = Option{Name: "bipe-direction", Default: "causal",
		Check: oneOf("causal", "bidirectional"),
		Help:  "whether tokens of bipe see only those before them"}
)

func init() {
	Register(Scheme{
		Name:         "bipe",
		Needs:        NeedsGrid,
		Extrapolates: func(o Options) bool { return o.Int(bipePlaces.Name) > 0 },
		Options:      []Option{bipeForm, bipePlaces, bipeDirection, ropeBase},
		New:          newBiPE,
	})
}

type bipe struct {
	None
	table  *torchpe.Param // [E,1,T,D]
	rotary *rotary        // nil for alibi
	slopes *torchpe.Param // [E,H]; nil for rope
	places int            // 0 where the table has all
	causal bool
}

func newBiPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	rows, columns := c.Positions.Extent()
	b := &bipe{
		places: c.Options.Int(bipePlaces.Name),
		causal: c.Options.Text(bipeDirection.Name) == "causal",
	}
	if b.places > 0 {
		columns = b.places
	}
	b.table = ps.Add("pe.table", true, torchpe.Normal(0, 0.02), 1, columns, c.DModel)
	if c.Options.Text(bipeForm.Name) == "alibi" {
		b.slopes = ps.Add("pe.slopes", false, copied(alibiSlopes(c.Heads)), c.Heads)
		return b, nil
	}
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	turn := plainTurn(c.Options.Float(ropeBase.Name), c.HeadWidth())
	b.rotary = c.rotaryTables(ps, rows, c.HeadWidth()/2,
		func(row, pair int) (angle, q, k float64) { return turn(float64(row), pair) })
	b.rotary.half, b.rotary.width = true, c.HeadWidth()
	b.rotary.rows = segmentsIn
	return b, nil
}

// segmentsIn returns the row of each token's cell.
func segmentsIn(p Positions) []int {
	rows := make([]int, len(p.Cells))
	for i, cell := range p.Cells {
		rows[i] = cell[0]
	}
	return rows
}

func (b *bipe) Sites() Site {
	if b.rotary == nil {
		return AtEmbed | AtLogits
	}
	return AtEmbed | AtQK
}

func (b *bipe) Attention() Attention { return attentionWithMask(b.causal) }

func (b *bipe) Begin(s *torchpe.Scope, p Positions) Hooks {
	cells := p.cells("bipe")
	at := make([]int, len(cells))
	for i, cell := range cells {
		if at[i] = cell[1]; b.places > 0 {
			at[i] = min(at[i], b.places-1)
		}
	}
	table := &tableHooks{tables: rowsAt(s, b.table.In(s), 2, at)}
	if b.rotary != nil {
		return embedAnd{b.rotary.Begin(s, p), table}
	}
	slopes := b.slopes.In(s)
	segments := pairTensor(s, slopes, segmentsIn(p), func(i, j int) float64 {
		if b.causal {
			return -bipeFactor * float64(i-j)
		}
		return -bipeFactor * math.Abs(float64(i-j))
	})
	slopes = slopes.Reshape(slopes.Size(0), 1, slopes.Size(1), 1, 1)
	return embedAnd{biasHooks{bias: slopes.Mul(segments)}, table}
}
