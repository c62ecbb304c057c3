package pe_test

import (
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// build builds a scheme for 8 wide tokens with the code's defaults, and lets go of it.
func build(s pe.Scheme, p pe.Positions) error {
	options, err := s.Resolve("code", nil)
	if err != nil {
		return err
	}
	_, err = s.Build(pe.Config{
		Members: 1, Layers: 2, Heads: 1, DModel: 8, Positions: p, Sigma: []float64{1}, Options: options,
	}, torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU))
	return err
}

// TestStackIsItsParts: a stack's hooks are its parts', one after the other; its parameters are
// theirs under their names.
func TestStackIsItsParts(t *testing.T) {
	both := petest.Spec{Scheme: "learn+rope", Heads: 2}.Model(t)
	one := petest.Spec{Scheme: "learn", Heads: 2,
		Set: map[string][]float64{"pe.table": valuesOf(t, both, "pe.learn.table")}}.Model(t)
	two := petest.Spec{Scheme: "rope", Heads: 2}.Model(t)
	p := pe.Grid(2, 4)
	for layer := range 2 {
		petest.Near(t, "what is added", added(both, layer, p), added(one, layer, p), 0)
	}
	q, k := wave(8, 2, 4, 0), wave(8, 2, 4, 1)
	got, _ := rotated(both, q, k, p)
	want, _ := rotated(two, q, k, p)
	petest.Near(t, "what is turned", got, want, 0)
	if both.Encoding.Sites() != pe.AtEmbed|pe.AtQK ||
		both.Encoding.Sites().String() != "embedding, q and k" {
		t.Errorf("the stack acts at %v", both.Encoding.Sites())
	}
	expect.Equal(t, "the stack asks for", both.Encoding.Attention(), two.Encoding.Attention())
}

// TestStackInTheRegistry: a stack is found by its name and says what its parts say; it is no entry
// of its own.
func TestStackInTheRegistry(t *testing.T) {
	s, err := pe.Find("rope+learn")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Learned || s.About().Criteria.TranslationInvariant || !s.About().Criteria.DataDriven ||
		s.Needs != pe.NeedsOrder || len(s.Options) != 9 {
		t.Errorf("rope+learn: %+v", s)
	}
	if s, err := pe.Find("nope+learn"); err != nil || s.Needs != pe.NeedsSame {
		t.Errorf("nope+learn needs %v, %v", s.Needs, err)
	}
	if slices.Contains(pe.Names(), "rope+learn") {
		t.Error("the stack is listed")
	}
	for name, says := range map[string][]string{
		"rope+lern": {"rope+lern", `"lern"`}, "rope+": {`""`}, "rope+learn+rope": {"rope is there twice"},
	} {
		_, err := pe.Find(name)
		expect.Error(t, err, says...)
	}
}

// wanting is a scheme that asks something of attention.
type wanting struct {
	pe.None
	sites pe.Site
	wants pe.Attention
}

func (w wanting) Sites() pe.Site { return w.sites }

func (w wanting) Attention() pe.Attention { return w.wants }

// TestStackConflicts: two parts that cannot go together give an error that names both.
func TestStackConflicts(t *testing.T) {
	ask := func(change func(*pe.Attention)) pe.Attention {
		a := pe.PlainAttention
		change(&a)
		return a
	}
	hot := ask(func(a *pe.Attention) { a.Temperature = 2 })
	cold := ask(func(a *pe.Attention) { a.Temperature = 0.5 })
	small := ask(func(a *pe.Attention) { a.Scale = 0.1 })
	large := ask(func(a *pe.Attention) { a.Scale = 1 })
	other := ask(func(a *pe.Attention) { a.Replaces = true })
	logits, turning := wanting{sites: pe.AtLogits, wants: pe.PlainAttention},
		wanting{sites: pe.AtQK, wants: pe.PlainAttention}
	for _, c := range []struct {
		parts []wanting
		says  []string // nil where they get along
	}{
		{[]wanting{{wants: hot}, {wants: hot}}, nil},
		{[]wanting{{wants: hot}, {wants: small}, logits}, nil},
		{[]wanting{{wants: hot}, {wants: pe.PlainAttention}, {wants: cold}},
			[]string{"one and three", "temperatures 2 and 0.5"}},
		{[]wanting{{wants: small}, {wants: large}}, []string{"one and two", "scales 0.1 and 1"}},
		{[]wanting{{wants: other, sites: pe.AtLogits}, logits}, nil},
		{[]wanting{{wants: other}, {wants: other}}, []string{"one and two", "both replace"}},
		{[]wanting{logits, {wants: other}}, []string{"two replaces", "undo one", "name it first"}},
		{[]wanting{{wants: other}, turning}, []string{"one and two", "through q and k"}},
	} {
		encodings := make([]pe.Encoding, len(c.parts))
		for i, part := range c.parts {
			encodings[i] = part
		}
		_, err := pe.StackForTest(encodings)
		if c.says == nil && err != nil {
			t.Errorf("%+v: %v", c.parts, err)
		}
		expect.Error(t, err, c.says...)
	}
}
