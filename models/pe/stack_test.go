package pe_test

import (
	"fmt"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
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
		Set: map[string][]float64{"pe.table": valuesOf(both, "pe.learn.table")}}.Model(t)
	two := petest.Spec{Scheme: "rope", Heads: 2}.Model(t)
	p := pe.Grid(2, 4)
	for layer := range 2 {
		petest.Near(t, "what is added", added(both, layer, p), added(one, layer, p), 0)
	}
	q, k := wave(8, 2, 4, 0), wave(8, 2, 4, 1)
	got, _ := rotated(both, q, k, p)
	want, _ := rotated(two, q, k, p)
	petest.Near(t, "what is turned", got, want, 0)
	if both.Encoding.Sites(0) != pe.AtEmbed|pe.AtQK ||
		both.Encoding.Sites(0).String() != "embedding, q and k" {
		t.Errorf("the stack acts at %v", both.Encoding.Sites(0))
	}
	expect.Equal(t, "the stack asks for", both.Encoding.Attention(0), two.Encoding.Attention(0))
}

// TestStackInTheRegistry: a stack is found by its name and says what its parts say; it is no entry
// of its own.
func TestStackInTheRegistry(t *testing.T) {
	s := expect.Must(pe.Find("rope+learn"))
	if !s.Learned || s.About().Criteria.TranslationInvariant || !s.About().Criteria.DataDriven ||
		s.Needs != pe.NeedsOrder || len(s.Options) != 9 {
		t.Errorf("rope+learn: %+v", s)
	}
	expect.Equal(t, "nope+learn needs", expect.Must(pe.Find("nope+learn")).Needs, pe.NeedsSame)
	expect.Equal(t, "the stack is listed", slices.Contains(pe.Names(), "rope+learn"), false)
	for name, says := range map[string][]string{
		"rope+lern": {"rope+lern", `"lern"`}, "rope+": {`""`}, "rope+learn+rope": {"rope occurs twice"},
	} {
		_, err := pe.Find(name)
		expect.Error(t, err, says...)
	}
}

// TestLayers: a part acts in its layers alone, with its own tables there and its own options.
func TestLayers(t *testing.T) {
	p := pe.Grid(2, 4)
	m := petest.Spec{Scheme: "learn@1-2,rope(base=7)@3,rope@4", Heads: 2, Layers: 4}.Model(t)
	expect.Equal(t, "numbers of learn in two of four layers", len(valuesOf(m, "pe.learn.table")), 2*8*8)
	for layer, want := range []pe.Site{pe.AtEmbed, pe.AtEmbed, pe.AtQK, pe.AtQK} {
		expect.Equal(t, fmt.Sprintf("layer %d acts at", layer+1), m.Encoding.Sites(layer), want)
	}
	q, k := wave(8, 2, 4, 0), wave(8, 2, 4, 1)
	for layer, base := range map[int]string{2: "7", 3: "10000"} {
		one := petest.Spec{Scheme: "rope", Heads: 2, Given: pe.Options{"rope-base": base}}.Model(t)
		want, _ := rotated(one, q, k, p)
		got := turnedIn(m, layer, q, k, p)
		petest.Near(t, "what is turned with base "+base, got, want, 0)
	}
	petest.Near(t, "the first layer", turnedIn(m, 0, q, k, p), q, 0)
	for layer := range 2 {
		table := valuesOf(m, "pe.learn.table")[layer*64 : (layer+1)*64]
		expect.Equal(t, fmt.Sprintf("layer %d adds another table than its own", layer+1),
			!slices.Equal(added(m, layer, p).Values, table), false)
	}
	expect.Equal(t, "the last layer adds a table",
		slices.ContainsFunc(added(m, 3, p).Values, func(v float64) bool { return v != 0 }), false)
}

// turnedIn returns the queries [N,H,Dh] that a layer's QKV hook returns.
func turnedIn(m *models.Model, layer int, q, k petest.Array, p pe.Positions) (out petest.Array) {
	petest.Closed(func(s *torchpe.Scope) {
		heads := q.Shape[1]
		turned, _, _ := begin(s, m, p).QKV(pe.Attn{Layer: layer, Q: byHeads(s, q, heads), K: byHeads(s, k, heads)})
		out = fromHeads(turned)
	})
	return out
}

// TestLayersByTurns: turns begin at the first layer, and attention is that of the layer's part.
func TestLayersByTurns(t *testing.T) {
	m := petest.Spec{Scheme: "rope*2,xpos", Heads: 2, Layers: 5}.Model(t)
	for layer, want := range []bool{false, false, true, false, false} {
		if around, sight := m.Attention(layer); around.Causal != want || sight.Causal != want {
			t.Errorf("layer %d is causal: %v", layer+1, !want)
		}
	}
}

// TestLayerNames: what cannot be meant is said before anything is built.
func TestLayerNames(t *testing.T) {
	for name, says := range map[string]string{
		"rope(bas=5)@1":                          `"bas" is not an option of rope, which has positions-from, rope-base`,
		"rope(base=x)@1":                         `rope-base: "x" is not a number`,
		"rope(base=5@1":                          "want a ) at the end",
		"rope(base=5)":                           "give the options as flags",
		"rop@1":                                  `did you mean "rope"?`,
		"rope+rope@1":                            "rope occurs twice",
		"rope,nope":                              "rope*1,nope assigns them to layers in turn",
		"rope@1,rope@local":                      "",
		"rope-longrope(factors=1,2,3,scale=4)@1": "",
	} {
		_, err := pe.Find(name)
		if says == "" {
			expect.NoError(t, err)
			continue
		}
		expect.Error(t, err, says)
	}
	s := expect.Must(pe.Find("rope@1-3,nope@4"))
	expect.NoError(t, s.CheckLayers(4, nil))
	expect.Error(t, s.CheckLayers(6, nil), "rope@1-3,nope@4", "layer 5 of 6")
	expect.Error(t, build(s, pe.Line(4)), "the model has 2 layers")
}

// wanting is a scheme that asks something of attention.
type wanting struct {
	pe.None
	sites pe.Site
	wants pe.Attention
}

func (w wanting) Sites(int) pe.Site { return w.sites }

func (w wanting) Attention(int) pe.Attention { return w.wants }

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
