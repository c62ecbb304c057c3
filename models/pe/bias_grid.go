// Biases of tokens on a grid, or with coordinates.

package pe

import (
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

// window holds the size of the grid for which a table of two-dimensional offsets was built.
type window struct{ rows, columns int }

func windowOf(p Positions) window {
	rows, columns := p.Extent()
	return window{rows, columns}
}

// offsets returns the number of distinct offsets between two cells.
func (w window) offsets() int { return (2*w.rows - 1) * (2*w.columns - 1) }

// row returns the number of the offset from key to query, counted row by row.
func (w window) row(query, key [2]int) int {
	return (query[0]-key[0]+w.rows-1)*(2*w.columns-1) + query[1] - key[1] + w.columns - 1
}

// cells returns Cells for the named scheme. It panics with an *Error if there are none.
func (p Positions) cells(scheme string) [][2]int {
	if p.Cells == nil {
		panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("it needs tokens on a grid, but they lie on %v", p)})
	}
	return p.Cells
}

// check panics with an *Error if a token has no cell, or one outside the grid.
func (w window) check(scheme string, p Positions) {
	for i, cell := range p.cells(scheme) {
		if cell[0] < 0 || cell[0] >= w.rows || cell[1] < 0 || cell[1] >= w.columns {
			panic(&torchpe.Error{Op: scheme, Msg: fmt.Sprintf("token %d lies on cell %v; "+
				"the encoding was built for a grid of %d x %d", i, cell, w.rows, w.columns)})
		}
	}
}

// gridNumbers starts tables of offsets as in the published code of Swin (which truncates the normal
// distribution at 2, a hundred standard deviations away). The window of these papers is the whole grid here.
var gridNumbers = torchpe.Normal(0, 0.02)

var _ = Register(Scheme{Name: "swin", Needs: NeedsGrid,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		w := windowOf(c.Positions)
		table := ps.Add("pe.table", true, gridNumbers, c.Layers, w.offsets(), c.Heads)
		return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
			w.check("swin", p)
			return layerBias(biasOf(s, table.In(s), pairs(p.Cells, w.row), p.Tokens()))
		}}, nil
	}})

// The tasks of this program have no class token. --beit-class-token first uses the first place of
// the line as one, regardless of its cell. Its three rows follow those of offsets: class to patch,
// patch to class, class to itself.
var _ = Register(Scheme{Name: "beit", Needs: NeedsGrid, New: newBEiT},
	option("beit-shared", "true", yesNo, "one table of beit for all layers"),
	option("beit-class-token", "none", oneOf("none", "first"),
		"class token of beit, whose cell is ignored: none, or the first token"))

func newBEiT(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	class := c.is("beit-class-token", "first")
	patches := func(p Positions) Positions {
		if !class {
			return p
		}
		var rest Positions
		for i, at := range p.Index {
			if at != 0 && p.Cells != nil {
				rest.Index, rest.Cells = append(rest.Index, at), append(rest.Cells, p.Cells[i])
			}
		}
		return rest
	}
	w := windowOf(patches(c.Positions))
	if w.rows == 0 {
		return nil, fmt.Errorf("beit: --beit-class-token first leaves no patch of %d token",
			c.Positions.Tokens())
	}
	rows, tables := w.offsets(), 1
	if class {
		rows += 3
	}
	if !c.yes("beit-shared") {
		tables = c.Layers
	}
	table := ps.Add("pe.table", true, gridNumbers, tables, rows, c.Heads)
	return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		p.cells("beit")
		if rest := patches(p); rest.Cells != nil {
			w.check("beit", rest)
		}
		index := pairs(Line(p.Tokens()).Index, func(i, j int) int {
			switch query, key := class && p.Index[i] == 0, class && p.Index[j] == 0; {
			case query && key:
				return w.offsets() + 2
			case key:
				return w.offsets() + 1
			case query:
				return w.offsets()
			}
			return w.row(p.Cells[i], p.Cells[j])
		})
		return layerBias(biasOf(s, table.In(s), index, p.Tokens()))
	}}, nil
}

// A network that was trained on another grid reads offsets relative to that grid, so that they can exceed 8
// here. Cosines are computed from q and k before the logits: q is divided by its length and multiplied by
// exp(tau) over the scale of the logits. Layers have their own tau and network. tau and the weights start as
// in the published code; b_1, which that code starts at zero (where ReLU has its kink for an offset of
// zero), as in torch.nn.Linear. The keys of that code have no bias.
var _ = Register(Scheme{Name: "swin-v2", Needs: NeedsGrid, Extrapolates: Always, New: newSwinV2},
	option("swin-v2-width", "512", whole(1, 1<<16), "width of the network of swin-v2"),
	option("swin-v2-pretrained", "0", orWord(gridSize, "0"),
		"grid RxC on which the network of swin-v2 was trained; 0 for the current one"))

func newSwinV2(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	w := windowOf(c.Positions)
	trained, width := w, c.int("swin-v2-width")
	if !c.is("swin-v2-pretrained", "0") {
		trained.rows, trained.columns, _ = parseGrid(c.text("swin-v2-pretrained")) // checked by Build
	}
	coordinates := ps.Add("pe.coordinates", false, computed(func(i int) float64 { // c
		offset, steps := i/2/(2*w.columns-1)-w.rows+1, trained.rows-1
		if i%2 == 1 {
			offset, steps = i/2%(2*w.columns-1)-w.columns+1, trained.columns-1
		}
		t := 8 * float64(offset) / float64(max(steps, 1))
		return math.Copysign(math.Log2(math.Abs(t)+1)/3, t)
	}), w.offsets(), 2)
	in := linearMap{w: ps.Add("pe.in.weight", true, gridNumbers, c.Layers, width, 2),
		b: ps.Add("pe.in.bias", true, torchpe.FanIn(2), c.Layers, width)}
	out := ps.Add("pe.out.weight", true, gridNumbers, c.Layers, c.Heads, width)
	tau := ps.Add("pe.tau", true, torchpe.Constant(math.Log(10)), c.Layers, c.Heads)
	return encoding{AtQK | AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
		w.check("swin-v2", p)
		e, layers, offsets := c.Members, c.Layers, w.offsets()
		x := coordinates.In(s).Unsqueeze(1).Expand(e, layers, offsets, 2).
			Reshape(e*layers, offsets, 2)
		x = torchpe.Linear(in.ofEach(x).ReLU(), out.In(s).Reshape(e*layers, c.Heads, width),
			torchpe.Tensor{}).Sigmoid().MulScalar(16).Reshape(e, layers, offsets, c.Heads)
		return swinV2Hooks{
			biasHooks: layerBias(biasOf(s, x, pairs(p.Cells, w.row), p.Tokens())),
			scales: tau.In(s).Clamp(-math.MaxFloat32, math.Log(100)).Exp().
				Reshape(e, layers, c.Heads, 1, 1),
		}
	}}, nil
}

type swinV2Hooks struct {
	biasHooks
	scales torchpe.Tensor // [E,L,H,1,1]
}

func (h swinV2Hooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	scale := layerOf(h.scales, a.Layer).MulScalar(1 / a.Scale)
	return unit(a.Q).Mul(scale), unit(a.K), a.V
}

// unit returns vectors of the last axis divided by their lengths, or by 1e-12 if they are shorter.
func unit(x torchpe.Tensor) torchpe.Tensor {
	return x.Div(x.Square().SumKeep(-1).Clamp(1e-24, math.MaxFloat32).Sqrt())
}

// In MeshGraphNets e_ij is the input of an edge's MLP, with j the edge's sender and i its receiver.
// In attention every pair is an edge, and an edge has a logit. We read this as one weight for each
// feature, head and block.
var _ = Register(Scheme{Name: "edge-geometry", Needs: NeedsPoints, Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		dims := len(c.Positions.coordinates("edge-geometry", 0)[0])
		weights := ps.Add("pe.weight", true, torchpe.FanIn(dims+1), c.Layers, c.Heads, dims+1)
		return encoding{AtLogits, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
			w, n := weights.In(s), p.Tokens()
			at := numbers(s, w, slices.Concat(p.coordinates("edge-geometry", dims)...), n, dims)
			apart := at.Unsqueeze(0).Sub(at.Unsqueeze(1)) // [N,N,M], of query and key
			edges := torchpe.Cat(-1, apart, apart.Square().SumKeep(-1).Sqrt()).Reshape(1, n*n, dims+1)
			return biasHooks{bias: func(a Attn) torchpe.Tensor {
				bias := w.Select(1, a.Layer).MatMul(edges.Transpose(1, 2)) // [E,H,N N]
				return bias.Reshape(c.Members, 1, c.Heads, n, n)
			}}
		}}, nil
	}})
