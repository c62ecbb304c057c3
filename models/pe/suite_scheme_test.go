package pe_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// checkOptions checks that each option is the only one that some variant changes.
func checkOptions(tr trial) error {
	scheme, err := pe.Find(tr.Scheme)
	if err != nil {
		return err
	}
	alone := map[string]bool{}
	for _, v := range tr.Variants {
		base, err := scheme.Resolve(v.Fidelity, nil)
		if err != nil {
			return err
		}
		changed, err := scheme.Resolve(v.Fidelity, v.Given)
		if err != nil {
			return fmt.Errorf("variant %v: %w", v, err)
		}
		var differ []string
		for name := range base {
			if base[name] != changed[name] {
				differ = append(differ, name)
			}
		}
		if len(differ) == 0 {
			return fmt.Errorf("variant %v changes no option of its reading", v)
		}
		if len(differ) == 1 {
			alone[differ[0]] = true
		}
	}
	for _, o := range scheme.Options {
		if !alone[o.Name] {
			return fmt.Errorf("no variant changes --%s alone", o.Name)
		}
	}
	return nil
}

// fingerprint returns everything by which two instances can be told apart: the parameters, the
// outputs of the hooks for fixed inputs, and the intermediates of the model.
func fingerprint(sp petest.Spec) (map[string]petest.Array, error) {
	m, err := sp.New()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	print, err := parameters(m)
	if err != nil {
		return nil, err
	}
	for name, x := range forward(newBatch(m, m.Config.Positions), m) {
		print["run "+name] = x
	}
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	_, calls := callHooks(s, m, m.Config.Positions)
	for _, c := range calls {
		for i, out := range c.out {
			print[fmt.Sprintf("%s/%d/%d", c.name, c.layer, i)] = petest.ArrayOf(out)
		}
	}
	return print, nil
}

// checkDiffer checks that a variant differs from its reading in more than the seventh digit.
func checkDiffer(tr trial) error {
	for _, v := range tr.Variants {
		tr.heads = max(1, v.heads)
		tr.variant = Variant{Fidelity: v.Fidelity}
		plain, err := fingerprint(tr.spec())
		if err != nil {
			return err
		}
		tr.variant = v
		changed, err := fingerprint(tr.spec())
		if err != nil {
			return err
		}
		if near(changed, plain, petest.Tolerance{Atol: 1e-7, Rtol: 1e-7}) == nil {
			return fmt.Errorf("%v gives the same as its plain reading", v)
		}
	}
	return nil
}

// commonRefusals lists the configurations that no scheme can serve.
func commonRefusals(s pe.Scheme, width int) []Refusal {
	change := func(name string, f func(*models.Config), expect ...string) Refusal {
		return Refusal{name, petest.Spec{Change: f}, expect}
	}
	at := func(name string, index []int, expect ...string) Refusal {
		return Refusal{name, petest.Spec{Positions: pe.Positions{Index: index}}, expect}
	}
	list := []Refusal{
		change("no members", func(c *models.Config) {
			c.Seeds, c.Sigma = nil, nil
		}, "at least one member"),
		change("no layers", func(c *models.Config) { c.Layers = 0 }, "layers 0"),
		change("no heads", func(c *models.Config) { c.Heads = 0 }, "heads 0"),
		change("no width", func(c *models.Config) { c.DModel = 0 }, "d_model 0"),
		change("heads that do not divide the width", func(c *models.Config) {
			c.Heads = width + 1
		}, fmt.Sprintf("d_model %d", width), fmt.Sprintf("%d heads", width+1)),
		change("no tokens", func(c *models.Config) { c.Positions = pe.Positions{} }, "no tokens"),
		at("a position twice", []int{0, 2, 2}, "position 2", "permutation"),
		at("a position out of range", []int{0, 1, 3}, "position 3", "0..2"),
		at("a negative position", []int{0, -1}, "position -1"),
		{"too few grid cells", petest.Spec{Positions: pe.Positions{Index: []int{0, 1},
			Cells: [][2]int{{0, 0}}}}, []string{"1 grid cells", "2 tokens"}},
	}
	if s.Learned {
		list = append(list,
			Refusal{"too few sigmas", petest.Spec{Seeds: []uint64{1, 2}, Sigma: []float64{1}},
				[]string{"1 values of sigma", "2 members"}},
			Refusal{"a negative sigma", petest.Spec{Sigma: []float64{-1}}, []string{"sigma -1"}},
			Refusal{"an infinite sigma", petest.Spec{Sigma: []float64{math.Inf(1)}}, []string{"sigma +Inf"}},
			Refusal{"sigma NaN", petest.Spec{Sigma: []float64{math.NaN()}}, []string{"sigma NaN"}},
		)
	}
	for _, o := range s.Options {
		unresolved := func(c *models.Config) {
			c.PEOptions = maps.Clone(c.PEOptions)
			delete(c.PEOptions, o.Name)
		}
		list = append(list, change("no "+o.Name, unresolved, o.Name),
			refuse(o.Name+"=bogus", "--"+o.Name, "bogus"))
	}
	return list
}

// checkRefusals checks that configurations that the scheme cannot serve are errors with the
// expected text, both from the model and from Build alone.
func checkRefusals(tr trial) error {
	scheme, err := pe.Find(tr.Scheme)
	if err != nil {
		return err
	}
	plain, err := tr.spec().Config()
	if err != nil {
		return err
	}
	for _, r := range append(commonRefusals(scheme, plain.DModel), tr.Refuse...) {
		r.Spec.Scheme, r.Spec.DModel = tr.Scheme, cmp.Or(r.Spec.DModel, tr.DModel)
		if r.Spec.Positions.Index == nil {
			r.Spec.Positions = tr.Positions
		}
		before := torchpe.Live()
		m, err := r.Spec.New()
		if err == nil {
			m.Close()
			return fmt.Errorf("%s is not refused", r.Name)
		}
		for _, text := range r.Expect {
			if !strings.Contains(err.Error(), text) {
				return fmt.Errorf("%s: the error %q does not say %q", r.Name, err, text)
			}
		}
		if torchpe.Live() != before {
			return fmt.Errorf("%s: the refused model leaves tensors behind", r.Name)
		}
		if err := refuseAlone(scheme, r.Spec); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return nil
}

// refuseAlone checks that Build returns an error too, without the model's own checks before it.
func refuseAlone(scheme pe.Scheme, sp petest.Spec) error {
	c, err := sp.Config()
	if err != nil {
		return nil // a bad option, which Resolve has refused
	}
	ps := torchpe.NewParamSet(len(c.Seeds), c.DType, c.Device)
	_, err = scheme.Build(pe.Config{
		Members: len(c.Seeds), Layers: c.Layers, Heads: c.Heads, DModel: c.DModel,
		Positions: c.Positions, Sigma: c.Sigma, Options: c.PEOptions,
	}, ps)
	if err == nil {
		return fmt.Errorf("the model refuses it, but not Build")
	}
	return nil
}
