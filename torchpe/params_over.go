package torchpe

import (
	"errors"
	"fmt"
	"slices"

	"torchpe/torchpe/internal/ctorch"
)

// BuildOver builds the set on the parameters of another one: each trained parameter becomes a view
// of that of the same name and shape in base, and of its gradient; the others are allocated and
// filled as by Build. An error names a trained parameter that base does not have. Flat and Grads of
// the set are undefined.
func (ps *ParamSet) BuildOver(base *ParamSet, seeds []uint64) (err error) {
	if len(seeds) != ps.Members || ps.Members != base.Members {
		return fmt.Errorf("%d seeds for %d members over %d members", len(seeds), ps.Members, base.Members)
	}
	if ps.built || !base.built {
		return errors.New("the parameters are built already, or what they lie over is not")
	}
	ps.built = true
	defer func() {
		if err != nil {
			ps.Close()
		}
	}()
	if ps.frozen, err = ctorch.Full([]int{ps.Members, ps.columns[0]}, 0, int(ps.DType), int(ps.Device)); err != nil {
		return fmt.Errorf("allocating %d parameters for %d members: %w", ps.columns[0], ps.Members, err)
	}
	for _, p := range ps.params {
		if !p.Trainable {
			err = ps.place(p, seeds)
		} else if trained := base.byName[p.Name]; trained == nil || !trained.Trainable ||
			!slices.Equal(trained.Shape, p.Shape) {
			err = errors.New("no parameter of that name and shape was trained")
		} else {
			p.init = nil
			p.h, err = leaf(base.flat, base.grads, trained)
		}
		if err != nil {
			return fmt.Errorf("parameter %s %v: %w", p.Name, p.Shape, err)
		}
	}
	return nil
}
