// detr: an absolute PE of row and column that only queries and keys see, in every block (Carion et
// al. 2020, "End-to-end object detection with transformers", section 3.2 and appendix A.4).
//
//	q = W_q (x + P),  k = W_k (x + P),  v = W_v x
//
// P is one table for all blocks: 2d-fixed with rows first and counted from 1, as it is (sine) or
// with coordinates scaled to (0, 2 pi] (normalised, the default of DETR); or [C[c] | R[r]] with
// learned rows and columns, U(0, 1) at first as in DETR's code. The values carry no position.

package pe

import (
	"fmt"

	"torchpe/torchpe"
)

var detrTable = Option{Name: "detr-table", Default: "normalised", Check: oneOf("normalised", "sine",
	"learned"),
	Help: "table of detr: sinusoids of coordinates from 0 to 2 pi, of the coordinates " +
		"themselves, or learned rows and columns"}

func init() {
	Register(Scheme{
		Name:         "detr",
		Needs:        NeedsGrid,
		Extrapolates: func(o Options) bool { return o.Text(detrTable.Name) != "learned" },
		Options:      []Option{detrTable},
		New:          newDETR,
	})
}

type detr struct {
	None
	table Encoding // adds P, of which only the table is used
}

func newDETR(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	given := Options{
		positionsFrom.Name: "1", gridOrder.Name: "rows-first", gridNormalize.Name: "false",
		gridTable.Name: "concat", placement.Name: "input",
	}
	name := "2d-fixed"
	switch c.Options.Text(detrTable.Name) {
	case "normalised":
		given[gridNormalize.Name] = "true"
	case "learned":
		name, c.initial = "learn-2d", uniformBelow(1)
	}
	if name == "2d-fixed" && c.DModel%4 != 0 {
		return nil, fmt.Errorf("detr: d_model %d is not divisible by 4: two coordinates in pairs of "+
			"sine and cosine", c.DModel)
	}
	base, err := Find(name)
	if err != nil {
		return nil, err
	}
	if c.Options, err = base.Resolve("text", given); err != nil {
		return nil, err
	}
	table, err := base.New(c, ps)
	if err != nil {
		return nil, fmt.Errorf("detr: %w", err)
	}
	return &detr{table: table}, nil
}

func (d *detr) Sites() Site { return AtQK }

func (d *detr) Begin(s *torchpe.Scope, p Positions) Hooks {
	table, _ := d.table.Begin(s, p).Table(0)
	return &detrHooks{table: table.Unsqueeze(1)}
}

type detrHooks struct {
	Identity
	table torchpe.Tensor // [E,1,N,D]
}

// QKV adds W_q P and W_k P, which are those of one sample: the projections of P without their
// biases, which q and k have already.
func (h *detrHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	pq, pk, _ := a.Project(h.table)
	zero := h.table.Narrow(2, 0, 1).Detach().MulScalar(0)
	bq, bk, _ := a.Project(zero)
	return a.Q.Add(pq.Sub(bq)), a.K.Add(pk.Sub(bk)), a.V
}
