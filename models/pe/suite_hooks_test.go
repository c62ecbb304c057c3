package pe_test

import (
	"fmt"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// begin opens a forward pass of the model's encoding, with positions drawn where it wants them.
func begin(s *torchpe.Scope, m *models.Model, p pe.Positions) pe.Hooks {
	s.Seed(m.Config.Seeds, noiseStep)
	return m.Encoding.Begin(s, newBatch(m, p).Input(s, m).Positions)
}

// call records one call of a hook, with its tensors before and after.
type call struct {
	name    string
	layer   int
	site    pe.Site
	in, out []torchpe.Tensor
	before  []petest.Array
}

// changed reports whether an output differs from its input.
func (c call) changed() bool {
	for i := range c.in {
		if !same(petest.ArrayOf(c.out[i]), c.before[i]) {
			return true
		}
	}
	return false
}

// callHooks calls all hooks of all layers with random tensors.
func callHooks(s *torchpe.Scope, m *models.Model, p pe.Positions) (pe.Hooks, []call) {
	hooks := begin(s, m, p)
	c := m.Config
	members, size, n, seed := len(c.Seeds), 2, p.Tokens(), uint64(0)
	random := func(shape ...int) torchpe.Tensor {
		seed++
		return torchpe.RandN(s, seed, c.DType, c.Device, shape...)
	}
	heads := func() torchpe.Tensor { return random(members, size, c.Heads, n, c.DModel/c.Heads) }
	var calls []call
	for layer := range c.Layers {
		add := func(name string, site pe.Site, f func(in []torchpe.Tensor) []torchpe.Tensor,
			in ...torchpe.Tensor) {
			made := call{name: name, layer: layer, site: site, in: in}
			for _, t := range in {
				made.before = append(made.before, petest.ArrayOf(t))
			}
			made.out = f(in)
			calls = append(calls, made)
		}
		add("Embed", pe.AtEmbed, func(in []torchpe.Tensor) []torchpe.Tensor {
			return []torchpe.Tensor{hooks.Embed(layer, in[0])}
		}, random(members, size, n, c.DModel))
		q, k, v := heads(), heads(), heads()
		weight := random(members, 3*c.DModel, c.DModel)
		attn := pe.Attn{Layer: layer, X: random(members, size, n, c.DModel), Q: q, K: k, V: v, Scale: 0.5}
		attn.Project = func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
			return torchpe.ProjectQKV(y, weight, torchpe.Tensor{}, c.Heads)
		}
		add("QKV", pe.AtQK, func([]torchpe.Tensor) []torchpe.Tensor {
			q, k, _ := hooks.QKV(attn)
			return []torchpe.Tensor{q, k}
		}, q, k)
		add("QKV (values)", pe.AtValues, func([]torchpe.Tensor) []torchpe.Tensor {
			_, _, v := hooks.QKV(attn)
			return []torchpe.Tensor{v}
		}, v)
		logits := torchpe.AttentionLogits(q, k, attn.Scale)
		add("Logits", pe.AtLogits, func(in []torchpe.Tensor) []torchpe.Tensor {
			return []torchpe.Tensor{hooks.Logits(attn, in[0])}
		}, logits)
		weights := logits.Softmax(-1)
		add("Output", pe.AtOutput, func(in []torchpe.Tensor) []torchpe.Tensor {
			return []torchpe.Tensor{hooks.Output(attn, weights, in[0])}
		}, torchpe.AttentionValues(weights, v))
	}
	return hooks, calls
}

// devices lists the CPU and the first GPU, if any.
func devices() []torchpe.Device {
	if len(torchpe.DescribeSystem().GPUs) > 0 {
		return []torchpe.Device{torchpe.CPU, torchpe.CUDA(0)}
	}
	return []torchpe.Device{torchpe.CPU}
}

// checkHooks checks that every hook keeps shape, dtype and device, returns finite values, and leaves its
// input as it was: in float32 and float64, on the CPU and on a GPU where there is one.
func checkHooks(tr trial) error {
	for _, device := range devices() {
		for _, dtype := range []torchpe.DType{torchpe.Float32, torchpe.Float64} {
			typed := func(tr trial) petest.Spec { return typed(tr.spec(), dtype, device) }
			if err := on(typed, checkCalls)(tr); err != nil {
				return fmt.Errorf("%v on %v: %w", dtype, device, err)
			}
		}
	}
	return nil
}

func checkCalls(_ trial, m *models.Model) error {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	_, calls := callHooks(s, m, m.Config.Positions)
	for _, c := range calls {
		for i, in := range c.in {
			out := c.out[i]
			switch {
			case fmt.Sprint(out.Shape()) != fmt.Sprint(in.Shape()):
				return fmt.Errorf("%s of layer %d turns the shape %v into %v",
					c.name, c.layer, in.Shape(), out.Shape())
			case out.DType() != in.DType() || out.Device() != in.Device():
				return fmt.Errorf("%s of layer %d turns %v on %v into %v on %v",
					c.name, c.layer, in.DType(), in.Device(), out.DType(), out.Device())
			case !finite(out.Float64s()):
				return fmt.Errorf("%s of layer %d: values that are not finite", c.name, c.layer)
			case !same(petest.ArrayOf(in), c.before[i]):
				return fmt.Errorf("%s of layer %d writes into its input", c.name, c.layer)
			}
		}
	}
	return nil
}

// checkSites checks that a hook changes its input in some layer if and only if its site is
// declared, and always in the first.
func checkSites(_ trial, m *models.Model) error {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	_, calls := callHooks(s, m, m.Config.Positions)
	for _, c := range calls {
		declared := m.Encoding.Sites(c.layer)&c.site != 0
		if changed := c.changed(); changed && !declared {
			return fmt.Errorf("%s of layer %d changes its input, although the site is not declared",
				c.name, c.layer)
		} else if !changed && declared && c.layer == 0 {
			return fmt.Errorf("%s of layer 0 changes nothing, although the site is declared", c.name)
		}
	}
	return nil
}

// checkTables checks that Embed adds what Table returns, for schemes that have a table, and nothing
// in a layer without one.
func checkTables(_ trial, m *models.Model) error {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	hooks, calls := callHooks(s, m, m.Config.Positions)
	some := false
	for layer := range m.Config.Layers {
		_, ok := hooks.Table(layer)
		some = some || ok
	}
	for _, c := range calls {
		if c.site != pe.AtEmbed || !some {
			continue
		}
		table, added := hooks.Table(c.layer)
		if !added {
			if c.changed() {
				return fmt.Errorf("layer %d has no table, but Embed changes its input", c.layer)
			}
			continue
		}
		if len(table.Shape()) == 3 {
			table = table.Unsqueeze(1) // [E,N,D] over the batch
		}
		if err := petest.Compare(petest.ArrayOf(c.out[0]), petest.ArrayOf(c.in[0].Add(table)), exactly); err != nil {
			return fmt.Errorf("layer %d: Embed does not add the table: %w", c.layer, err)
		}
	}
	return nil
}
