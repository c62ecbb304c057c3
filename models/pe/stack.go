// Stacks apply several schemes at once, as in rope+learn. Each acts at its own sites, in the order
// of the name; their parameters lie under pe.<scheme>. A part that acts on the logits sees queries
// and keys as the other parts' QKV hooks left them.

package pe

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/torchpe"
)

// stackOf returns the scheme that applies all of the named ones.
func stackOf(names []string) (Scheme, error) {
	all := Scheme{Name: strings.Join(names, "+"), Needs: NeedsNothing}
	parts := make([]Scheme, len(names))
	for i, name := range names {
		part, err := Find(name)
		if err != nil {
			return Scheme{}, fmt.Errorf("%s: %w", all.Name, err)
		}
		if slices.Contains(names[:i], name) {
			return Scheme{}, fmt.Errorf("%s: %s is there twice", all.Name, name)
		}
		parts[i] = part
		all.add(part)
	}
	all.parts = parts
	all.Extrapolates = func(o Options) bool {
		return !slices.ContainsFunc(parts, func(part Scheme) bool {
			return !part.CanExtrapolate(o)
		})
	}
	all.New = func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		return newStack(parts, c, ps)
	}
	return all, nil
}

// add joins a part's entry in the registry to s.
func (s *Scheme) add(part Scheme) {
	s.Needs = max(s.Needs, part.Needs) // for a reader: each part checks its own
	s.MinHeadWidth = max(s.MinHeadWidth, part.MinHeadWidth)
	s.Learned = s.Learned || part.Learned
	for _, o := range part.Options {
		if !slices.ContainsFunc(s.Options, func(have Option) bool { return have.Name == o.Name }) {
			s.Options = append(s.Options, o)
		}
	}
}

type stack struct {
	parts     []Encoding
	sites     Site
	attention Attention
	draw      Draw
}

func newStack(schemes []Scheme, c Config, ps *torchpe.ParamSet) (Encoding, error) {
	s := &stack{attention: PlainAttention}
	for i, scheme := range schemes {
		var part Encoding
		var err error
		within := func(name string) string {
			return "pe." + scheme.Name + strings.TrimPrefix(name, "pe")
		}
		ps.Renamed(within, func() { part, err = scheme.Build(c.forPart(scheme), ps) })
		if err != nil {
			return nil, err
		}
		if err := s.merge(schemes[:i], scheme.Name, part); err != nil {
			return nil, err
		}
		s.parts, s.sites = append(s.parts, part), s.sites|part.Sites()
		switch draw := part.Draw(); {
		case draw.Range == 0:
		case s.draw.Range != 0 && s.draw != draw:
			return nil, fmt.Errorf("%s draws %v, a scheme before it %v: give both the same",
				scheme.Name, draw, s.draw)
		default:
			s.draw = draw
		}
	}
	return s, nil
}

// forPart returns the configuration of a part of a stack: without Init if it has no learned table, and
// without Dropout, which is checked for the whole stack.
func (c Config) forPart(part Scheme) Config {
	c.Dropout = 0
	if !part.Learned {
		c.Init = Init{}
	}
	return c
}

// merge joins the attention that a part needs with that of the parts before it. Plain attention
// gives way to any other; two different temperatures or scales, and logits that are replaced twice,
// are an error.
func (s *stack) merge(before []Scheme, name string, part Encoding) error {
	a, b := &s.attention, part.Attention()
	// rival names the parts before this one that want something else.
	rival := func(want func(Attention) bool) string {
		var names []string
		for i, p := range s.parts {
			if want(p.Attention()) {
				names = append(names, before[i].Name)
			}
		}
		return strings.Join(names, ", ")
	}
	switch {
	case a.Temperature != 1 && b.Temperature != 1 && a.Temperature != b.Temperature:
		with := rival(func(o Attention) bool { return o.Temperature != 1 })
		return fmt.Errorf("%s and %s cannot be stacked: temperatures %g and %g of the logits",
			with, name, a.Temperature, b.Temperature)
	case a.Scale != 0 && b.Scale != 0 && a.Scale != b.Scale:
		with := rival(func(o Attention) bool { return o.Scale != 0 })
		return fmt.Errorf("%s and %s cannot be stacked: scales %g and %g of the logits",
			with, name, a.Scale, b.Scale)
	case a.Replaces && b.Replaces:
		with := rival(func(o Attention) bool { return o.Replaces })
		return fmt.Errorf("%s and %s cannot be stacked: both replace the logits", with, name)
	case b.Replaces && s.sites&(AtQK|AtLogits) != 0:
		with := rival(func(Attention) bool { return true })
		return fmt.Errorf("%s replaces the logits and would undo %s: "+
			"name it first, and leave out what turns q and k", name, with)
	case a.Replaces && part.Sites()&AtQK != 0:
		with := rival(func(o Attention) bool { return o.Replaces })
		return fmt.Errorf("%s and %s cannot be stacked: %s replaces the logits, "+
			"which %s changes through q and k", with, name, with, name)
	}
	a.Causal = a.Causal || b.Causal
	a.Replaces = a.Replaces || b.Replaces
	a.LinearInit = a.LinearInit || b.LinearInit
	a.Bias = a.Bias && b.Bias
	a.OutputProjection = a.OutputProjection && b.OutputProjection
	if b.Temperature != 1 {
		a.Temperature = b.Temperature
	}
	if b.Scale != 0 {
		a.Scale = b.Scale
	}
	return nil
}

func (s *stack) Sites() Site { return s.sites }

func (s *stack) Attention() Attention { return s.attention }

func (s *stack) Draw() Draw { return s.draw }

func (s *stack) Begin(scope *torchpe.Scope, p Positions) Hooks {
	h := make(stackHooks, len(s.parts))
	for i, part := range s.parts {
		h[i] = stacked{part.Begin(scope, p), part.Sites()}
	}
	return h
}

// stacked is a part within a forward pass, with its sites.
type stacked struct {
	Hooks
	sites Site
}

type stackHooks []stacked

func (h stackHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	for _, part := range h {
		x = part.Embed(layer, x)
	}
	return x
}

// Table returns the sum of the parts' tables; none where a part adds something else to x.
func (h stackHooks) Table(layer int) (sum torchpe.Tensor, ok bool) {
	for _, part := range h {
		if part.sites&AtEmbed == 0 {
			continue
		}
		t, added := part.Table(layer)
		switch {
		case !added && layer == 0:
			return torchpe.Tensor{}, false
		case !added: // it adds at the input alone
		case !ok:
			sum, ok = t, true
		case len(sum.Shape()) < len(t.Shape()):
			sum = t.Add(sum.Unsqueeze(1))
		case len(sum.Shape()) > len(t.Shape()):
			sum = sum.Add(t.Unsqueeze(1))
		default:
			sum = sum.Add(t)
		}
	}
	return sum, ok
}

// AddsTable returns whether one part acts on the input of blocks and adds a table.
func (h stackHooks) AddsTable(layer int) bool {
	parts, adds := 0, false
	for _, part := range h {
		if part.sites&AtEmbed != 0 {
			parts, adds = parts+1, part.AddsTable(layer)
		}
	}
	return parts == 1 && adds
}

func (h stackHooks) DropTables(p float64) (Hooks, bool) {
	some := false
	for i := range h {
		if dropped, ok := h[i].DropTables(p); ok {
			h[i].Hooks, some = dropped, true
		}
	}
	return h, some
}

func (h stackHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	for _, part := range h {
		a.Q, a.K, a.V = part.QKV(a)
	}
	return a.Q, a.K, a.V
}

func (h stackHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	for _, part := range h {
		logits = part.Logits(a, logits)
	}
	return logits
}

func (h stackHooks) Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor {
	for _, part := range h {
		out = part.Output(a, weights, out)
	}
	return out
}
