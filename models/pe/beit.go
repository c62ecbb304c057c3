// beit: Swin's trained number for each offset between two cells of a grid, and three more for pairs
// with a class token (Bao et al. 2022, BEiT, section 2; its code).
//
//	logits = q k^T / sqrt(Dh) + B,  B_ij = T[y-y', x-x'] between patches,
//	T[M] class to patch,  T[M+1] patch to class,  T[M+2] class to itself
//
// with M = (2R-1)(2C-1). One table serves all layers, as when BEiT is pre-trained; in fine-tuning
// each has its own (--beit-shared false). The tasks of this program have no class token;
// --beit-class-token first takes the first place of the line for one, whatever its cell.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var (
	beitShared = Option{Name: "beit-shared", Default: "true", Check: yesNo,
		Help: "one table of beit for all layers"}
	beitClass = Option{Name: "beit-class-token", Default: "none", Check: oneOf("none", "first"),
		Help: "class token of beit, whose cell does not count: none, or the first token"}
)

func init() {
	Register(Scheme{
		Name:    "beit",
		Needs:   NeedsGrid,
		Options: []Option{beitShared, beitClass},
		New:     newBEiT,
	})
}

type beit struct {
	atLogits
	table  *torchpe.Param // [E,T,M,H] or [E,T,M+3,H]
	window window
	class  bool
}

func newBEiT(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	b := &beit{class: c.Options.Text(beitClass.Name) == "first"}
	b.window = windowOf(b.patches(c.Positions))
	if b.window.rows == 0 {
		return nil, fmt.Errorf("beit: --beit-class-token first leaves no patch of %d token",
			c.Positions.Tokens())
	}
	rows, tables := b.window.offsets(), 1
	if b.class {
		rows += 3
	}
	if !c.Options.Bool(beitShared.Name) {
		tables = c.Layers
	}
	b.table = ps.Add("pe.table", true, torchpe.Normal(0, 0.02), tables, rows, c.Heads)
	return b, nil
}

// patches returns the positions without the class token.
func (b *beit) patches(p Positions) Positions {
	if !b.class {
		return p
	}
	var rest Positions
	for i, at := range p.Index {
		if at != 0 {
			rest.Index, rest.Cells = append(rest.Index, at), append(rest.Cells, p.Cells[i])
		}
	}
	return rest
}

func (b *beit) Begin(s *torchpe.Scope, p Positions) Hooks {
	if p.Cells != nil && b.patches(p).Cells != nil {
		b.window.check("beit", b.patches(p))
	} else if p.Cells == nil {
		b.window.check("beit", p)
	}
	tokens := make([]int, p.Tokens())
	for i := range tokens {
		tokens[i] = i
	}
	index := pairs(tokens, func(i, j int) int {
		switch query, key := b.class && p.Index[i] == 0, b.class && p.Index[j] == 0; {
		case query && key:
			return b.window.offsets() + 2
		case key:
			return b.window.offsets() + 1
		case query:
			return b.window.offsets()
		}
		return b.window.row(p.Cells[i], p.Cells[j])
	})
	return biasHooks{bias: biasOf(s, b.table.In(s), index, p.Tokens())}
}
