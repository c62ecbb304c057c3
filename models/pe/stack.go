// Stacks apply several schemes, each in all or some of the layers: rope+learn, rope@1-3,nope@4,
// rope*3,nope. In a layer each acts at its own sites, in the order of the name. A part that acts on
// the logits sees queries and keys as changed by the other parts' QKV hooks. A part is built only
// for its layers, which it counts from 0. Its parameters are named pe.<scheme>, or pe.<scheme>-2
// for a scheme that occurs a second time.

package pe

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/layers"
	"torchpe/torchpe"
)

// part is a scheme within a stack.
type part struct {
	Scheme
	label string  // prefix of its parameters: pe.<label>
	own   Options // options in parentheses after its name
	entry int     // index in the stack's list of layers
}

// options returns the options of a part, selected from those of its stack.
func (p part) options(of Options) Options {
	own := maps.Clone(of)
	maps.Copy(own, p.own)
	return own
}

// stackOf returns the scheme called name, which applies the schemes of list.
func stackOf(name string, list layers.List) (Scheme, error) {
	all := Scheme{Name: name, Needs: NeedsNothing, layers: list}
	count := map[string]int{}
	for i, entry := range list {
		var here []string
		for _, text := range strings.Split(entry.Value, "+") {
			p, err := partOf(text)
			if err == nil && slices.Contains(here, p.Name) {
				err = fmt.Errorf("%s occurs twice", p.Name)
			}
			if err != nil {
				return Scheme{}, fmt.Errorf("%s: %w", name, err)
			}
			here = append(here, p.Name)
			p.entry, p.label = i, p.Name
			if count[p.Name]++; count[p.Name] > 1 {
				p.label = fmt.Sprintf("%s-%d", p.Name, count[p.Name])
			}
			all.parts = append(all.parts, p)
			all.add(p)
		}
	}
	all.Extrapolates = func(o Options) bool {
		return !slices.ContainsFunc(all.parts, func(p part) bool {
			return !p.CanExtrapolate(p.options(o))
		})
	}
	all.Ahead = func(o Options) bool {
		return slices.ContainsFunc(all.parts, func(p part) bool { return p.LooksAhead(p.options(o)) })
	}
	all.New = func(c Config, ps *torchpe.ParamSet) (Encoding, error) { return newStack(all, c, ps) }
	return all, nil
}

// partOf reads a part such as rope(base=1000000,layout=half). An option is given by its name, or by
// what follows a dash in its name.
func partOf(text string) (p part, err error) {
	name, settings, isSet := strings.Cut(text, "(")
	if p.Scheme, err = findOne(name); err != nil || !isSet {
		return p, err
	}
	settings, closed := strings.CutSuffix(settings, ")")
	if !closed {
		return p, fmt.Errorf("%s: want a ) at the end", text)
	}
	p.own = Options{}
	var last string
	for _, setting := range strings.Split(settings, ",") {
		key, value, ok := strings.Cut(setting, "=")
		if !ok && last != "" { // a value that is a list
			p.own[last] += "," + setting
			continue
		}
		option, err := p.option(strings.TrimSpace(key))
		if err != nil {
			return p, fmt.Errorf("%s: %w", text, err)
		}
		last = option.Name
		p.own[last] = strings.TrimSpace(value)
	}
	for _, o := range p.Options {
		if value, ok := p.own[o.Name]; ok {
			if err := o.Check(value); err != nil {
				return p, fmt.Errorf("%s: %s: %w", text, o.Name, err)
			}
		}
	}
	return p, nil
}

// Part is a scheme in some layers of a model.
type Part struct {
	Scheme  Scheme
	Label   string  // in a stack, prefix of its parameters: pe.<Label>
	Options Options // of the scheme
	Layers  []int   // from 0
}

// IsStack reports whether the scheme has parts, which are distinguished by labels.
func (s Scheme) IsStack() bool { return s.parts != nil }

// PartNames returns the name of the scheme, or the distinct names of a stack's parts.
func (s Scheme) PartNames() (names []string) {
	if !s.IsStack() {
		return []string{s.Name}
	}
	for _, p := range s.parts {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Parts returns the parts of a stack in a model, or the scheme itself as the only part.
func (s Scheme) Parts(c Config) ([]Part, error) {
	of, own := make([]int, c.Layers), []part{{Scheme: s, label: s.Name}}
	if s.IsStack() {
		own = s.parts
		var err error
		if of, err = s.layers.Assign(c.Layers, c.Local); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	all := make([]Part, len(own))
	for i, p := range own {
		all[i] = Part{Scheme: p.Scheme, Label: p.label, Options: Options{}}
		options := p.options(c.Options)
		for _, o := range p.Options {
			all[i].Options[o.Name] = options[o.Name]
		}
		for layer, entry := range of {
			if entry == p.entry {
				all[i].Layers = append(all[i].Layers, layer)
			}
		}
	}
	return all, nil
}

// option returns the option for a key.
func (s Scheme) option(key string) (Option, error) {
	var names []string
	var found []Option
	for _, o := range s.Options {
		if o.Name == key {
			return o, nil
		}
		if strings.HasSuffix(o.Name, "-"+key) {
			found = append(found, o)
		}
		names = append(names, o.Name)
	}
	if len(found) != 1 {
		return Option{}, fmt.Errorf("%q is not an option of %s, which has %s", key, s.Name,
			strings.Join(names, ", "))
	}
	return found[0], nil
}

// add adds a part to a stack's entry in the registry.
func (s *Scheme) add(p part) {
	s.Needs = max(s.Needs, p.Needs) // for display: each part checks its own
	s.MinHeadWidth = max(s.MinHeadWidth, p.MinHeadWidth)
	s.Learned = s.Learned || p.Learned
	for _, o := range p.Options {
		_, isOwn := p.own[o.Name]
		has := func(have Option) bool { return have.Name == o.Name }
		if !isOwn && !slices.ContainsFunc(s.Options, has) {
			s.Options = append(s.Options, o)
		}
	}
}

// CheckLayers returns an error if the layers of a stack do not match a model's. isLocal says which
// layers have a window; nil for none.
func (s Scheme) CheckLayers(n int, isLocal []bool) error {
	if !s.IsStack() {
		return nil
	}
	if _, err := s.layers.Assign(n, isLocal); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

type stack struct {
	parts  []stackPart
	layers []joined
	draw   Draw
}

// stackPart is an encoding in some layers.
type stackPart struct {
	Encoding
	at []int // its own number of each layer; -1 if it does not act there
}

func newStack(all Scheme, c Config, ps *torchpe.ParamSet) (Encoding, error) {
	parts, err := all.Parts(c)
	if err != nil {
		return nil, err
	}
	s := &stack{layers: make([]joined, c.Layers)}
	for i := range s.layers {
		s.layers[i].attention = PlainAttention
	}
	for _, p := range parts {
		at := slices.Repeat([]int{-1}, c.Layers)
		for own, layer := range p.Layers {
			at[layer] = own
		}
		var e Encoding
		within := func(name string) string { return "pe." + p.Label + strings.TrimPrefix(name, "pe") }
		ps.Renamed(within, func() { e, err = p.Scheme.Build(c.forPart(p), ps) })
		if err != nil {
			return nil, err
		}
		if err := s.join(p.Scheme.Name, stackPart{e, at}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// forPart returns the configuration of a part of a stack: without Init if it has no learned table,
// and without Dropout, which is checked for the whole stack.
func (c Config) forPart(p Part) Config {
	c.Layers, c.Local, c.Dropout, c.Options = len(p.Layers), nil, 0, p.Options
	if !p.Scheme.Learned {
		c.Init = Init{}
	}
	return c
}

// join adds a part.
func (s *stack) join(name string, p stackPart) error {
	for layer, at := range p.at {
		if at < 0 {
			continue
		}
		if err := s.layers[layer].add(name, p.Sites(at), p.Attention(at)); err != nil {
			return err
		}
	}
	s.parts = append(s.parts, p)
	switch draw := p.Draw(); {
	case draw.Range == 0:
	case s.draw.Range != 0 && s.draw != draw:
		return fmt.Errorf("%s draws %v, but an earlier scheme %v: use the same for both", name, draw, s.draw)
	default:
		s.draw = draw
	}
	return nil
}

// joined holds the requirements of the parts of a stack in one layer.
type joined struct {
	sites     Site
	attention Attention
	names     []string
	wants     []Attention // of each
}

// add adds the requirements of another part. Any attention overrides plain attention; two different
// temperatures or scales, and two parts that replace the logits, are an error.
func (j *joined) add(name string, sites Site, b Attention) error {
	a := &j.attention
	// rival names the earlier parts with another requirement.
	rival := func(want func(Attention) bool) string {
		var names []string
		for i, other := range j.wants {
			if want(other) {
				names = append(names, j.names[i])
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
	case b.Replaces && j.sites&(AtQK|AtLogits) != 0:
		with := rival(func(Attention) bool { return true })
		return fmt.Errorf("%s replaces the logits and would undo %s: "+
			"name it first, and omit schemes that rotate q and k", name, with)
	case a.Replaces && sites&AtQK != 0:
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
	j.sites |= sites
	j.names, j.wants = append(j.names, name), append(j.wants, b)
	return nil
}

func (s *stack) Sites(layer int) Site { return s.layers[layer].sites }

func (s *stack) Attention(layer int) Attention { return s.layers[layer].attention }

func (s *stack) Draw() Draw { return s.draw }

func (s *stack) Begin(scope *torchpe.Scope, p Positions) Hooks {
	h := make(stackHooks, len(s.parts))
	for i, part := range s.parts {
		h[i] = stacked{part.Begin(scope, p), part}
	}
	return h
}

// stacked is a part within a forward pass.
type stacked struct {
	Hooks
	part stackPart
}

type stackHooks []stacked

// in returns the parts of a layer, each with its own number of the layer.
func (h stackHooks) in(layer int) iter.Seq2[int, stacked] {
	return func(yield func(int, stacked) bool) {
		for _, s := range h {
			if at := s.part.at[layer]; at >= 0 && !yield(at, s) {
				return
			}
		}
	}
}

func (h stackHooks) Embed(layer int, x torchpe.Tensor) torchpe.Tensor {
	for at, s := range h.in(layer) {
		x = s.Embed(at, x)
	}
	return x
}

// Table returns the sum of the parts' tables; ok is false if a part adds something else to x.
func (h stackHooks) Table(layer int) (sum torchpe.Tensor, ok bool) {
	for at, s := range h.in(layer) {
		if s.part.Sites(at)&AtEmbed == 0 {
			continue
		}
		t, added := s.Table(at)
		switch {
		case !added && at == 0:
			return torchpe.Tensor{}, false
		case !added: // it adds only at the input
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

// AddsTable reports whether exactly one part acts on the input of blocks and adds a table.
func (h stackHooks) AddsTable(layer int) bool {
	parts, adds := 0, false
	for at, s := range h.in(layer) {
		if s.part.Sites(at)&AtEmbed != 0 {
			parts, adds = parts+1, s.AddsTable(at)
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
	for at, s := range h.in(a.Layer) {
		a.Q, a.K, a.V = s.QKV(a.in(at))
	}
	return a.Q, a.K, a.V
}

func (h stackHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	for at, s := range h.in(a.Layer) {
		logits = s.Logits(a.in(at), logits)
	}
	return logits
}

func (h stackHooks) Output(a Attn, weights, out torchpe.Tensor) torchpe.Tensor {
	for at, s := range h.in(a.Layer) {
		out = s.Output(a.in(at), weights, out)
	}
	return out
}

// in returns the attention as seen by a part that numbers its layer at.
func (a Attn) in(at int) Attn {
	a.Layer = at
	return a
}
