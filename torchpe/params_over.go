package torchpe

import (
	"errors"
	"fmt"
	"slices"
)

// BuildOver builds the set on the parameters of another one: each trained parameter becomes a view
// of the parameter of the same name and shape in base, and of its gradient; the others are
// allocated and filled as by Build. It is an error if base lacks a trained parameter. Flat and
// Grads of the set are undefined.
func (ps *ParamSet) BuildOver(base *ParamSet, seeds []uint64) error {
	if ps.Members != base.Members || !base.built {
		return fmt.Errorf("%d members over %d, built: %v", ps.Members, base.Members, base.built)
	}
	return ps.build(base, seeds)
}

// lieOver makes p a view of the trained parameter of its name in base.
func (p *Param) lieOver(base *ParamSet) (err error) {
	trained := base.byName[p.Name]
	if trained == nil || !trained.Trainable || !slices.Equal(trained.Shape, p.Shape) {
		return errors.New("no parameter of that name and shape was trained")
	}
	p.init = nil
	p.h, err = leaf(base.flat, base.grads, trained)
	return err
}
