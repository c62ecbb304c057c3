package pe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// fake is a scheme that adds a trained table to tokens, as well or as badly as its parts do.
type fake struct {
	pe.None
	sites  pe.Site
	table  *torchpe.Param // [E,N,D]
	embed  func(t tokens) torchpe.Tensor
	tables func(rows torchpe.Tensor, layer int) (torchpe.Tensor, bool) // nil for none
}

// builder makes the encoding of a fake scheme.
type builder func(pe.Config, *torchpe.ParamSet) (pe.Encoding, error)

func (f *fake) Sites(int) pe.Site { return f.sites }

func (f *fake) Begin(s *torchpe.Scope, p pe.Positions) pe.Hooks {
	return fakeHooks{fake: f, s: s, p: p}
}

type fakeHooks struct {
	pe.Identity
	fake *fake
	s    *torchpe.Scope
	p    pe.Positions
}

func (h fakeHooks) Embed(_ int, x torchpe.Tensor) torchpe.Tensor {
	return h.fake.embed(tokens{h.fake, x, h.p})
}

func (h fakeHooks) Table(layer int) (torchpe.Tensor, bool) {
	if h.fake.tables == nil {
		return torchpe.Tensor{}, false
	}
	return h.fake.tables(h.fake.rows(h.s, h.p.Index).Squeeze(1), layer)
}

// rows returns the table's rows for the tokens, [E,1,N,D].
func (f *fake) rows(s *torchpe.Scope, places []int) torchpe.Tensor {
	index := make([]int64, len(places))
	for i, at := range places {
		index[i] = int64(at)
	}
	return f.table.In(s).IndexSelect(1, torchpe.Of(s, torchpe.CPU, index, len(index))).Unsqueeze(1)
}

// a fake changes tokens.
type tokens struct {
	*fake
	x torchpe.Tensor
	p pe.Positions
}

// at returns the table's rows of places.
func (t tokens) at(places []int) torchpe.Tensor { return t.rows(t.x.Scope(), places) }

// sum is the sound way to add the table.
func (t tokens) sum() torchpe.Tensor { return t.x.Add(t.at(t.p.Index)) }

// unsteady counts the parameters that were drawn in the whole program.
var unsteady float64

// left holds the tensor that the leaking scheme leaves open, for the test to close.
var left []*torchpe.Scope

// fakeTable returns a builder of fakes with a trained N(0, sigma^2) table.
func fakeTable(change func(f *fake)) builder { return fakeTableOf(torchpe.Normal(0, 1), true, change) }

func fakeTableOf(init torchpe.Init, trainable bool, change func(f *fake)) builder {
	return func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
		f := &fake{sites: pe.AtEmbed, embed: tokens.sum, table: ps.Add("pe.table", trainable, init,
			c.Positions.Tokens(), c.DModel)}
		if change != nil {
			change(f)
		}
		return f, nil
	}
}

// fakeEmbed returns a builder of fakes that add their table in this way.
func fakeEmbed(how func(t tokens) torchpe.Tensor) builder {
	return fakeTable(func(f *fake) { f.embed = how })
}

func unchanged(t tokens) torchpe.Tensor { return t.x }

// option is one that the fakes ignore, unless they look.
var option = pe.Option{Name: "fake", Text: "a", Code: "a", Help: "for tests", Check: func(v string) error {
	if v != "a" && v != "b" {
		return fmt.Errorf("%q is neither a nor b", v)
	}
	return nil
}}

// broken lists schemes, each with the check that must catch it and what that says. The first is sound.
var broken = []struct {
	name, check, says string
	build             builder
	change            func(*Case)
}{
	{"sound", "", "", fakeTable(nil), nil},
	{"narrow", "hooks", "turns the shape", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.Narrow(-1, 0, 4)
	}), nil},
	{"widening", "hooks", "float32", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.sum().To(torchpe.Float64, torchpe.CPU)
	}), nil},
	{"not a number", "hooks", "not finite", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.MulScalar(math.NaN())
	}), nil},
	{"writer", "hooks", "writes into its input", fakeEmbed(func(t tokens) torchpe.Tensor {
		out := t.sum()
		t.x.Fill(0)
		return out
	}), nil},
	{"undeclared", "sites", "not declared", fakeTable(func(f *fake) { f.sites = pe.AtQK }), nil},
	{"idle", "sites", "changes nothing", fakeTable(func(f *fake) { f.sites |= pe.AtLogits }), nil},
	{"hidden table", "tables", "Embed changes its input", fakeTable(func(f *fake) {
		f.tables = func(rows torchpe.Tensor, layer int) (torchpe.Tensor, bool) { return rows, layer == 0 }
	}), nil},
	{"mistaken table", "tables", "does not add the table", fakeTable(func(f *fake) {
		f.tables = func(rows torchpe.Tensor, _ int) (torchpe.Tensor, bool) { return rows.MulScalar(2), true }
	}), nil},
	{"in array order", "permutation", "permuted tokens and positions", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(pe.Line(t.p.Tokens()).Index))
	}), nil},
	{"one row for all", "permutation", "ignores positions", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(make([]int, t.p.Tokens())))
	}), nil},
	{"not relative", "shift", "positions shifted", fakeTable(nil), func(c *Case) { c.Unmoved = true }},
	{"not absolute", "shift", "which the case does not say", fakeEmbed(unchanged), nil},
	{"unused", "gradients", "is zero for member", fakeEmbed(unchanged), nil},
	{"half detached", "gradients", "finite differences", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.sum().Add(t.at(t.p.Index)).Sub(t.at(t.p.Index).MulScalar(0.5).Detach())
	}), nil},
	{"exploding", "gradients", "not finite", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.sum().Add(t.at(t.p.Index).MulScalar(0).Square().Sqrt())
	}), nil},
	{"unsteady", "seeds", "between two models of one seed", fakeTableOf(func(_ int, _ *rand.Rand, out []float64) {
		for i := range out {
			unsteady++
			out[i] = unsteady
		}
	}, true, nil), nil},
	{"always alike", "seeds", "same for another seed", fakeTableOf(torchpe.Constant(1), true, nil), nil},
	{"drawn but not said", "seeds", "Case.Drawn", fakeTableOf(torchpe.Normal(0, 1), false, nil), nil},
	{"said but not drawn", "seeds", "same for another seed", fakeTableOf(torchpe.Constant(1), false, nil),
		func(c *Case) { c.Drawn = []string{"pe.table"} }},
	{"mixed members", "members", "the same model alone", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(t.p.Index).SumKeep(0))
	}), nil},
	{"wrapping", "tokens", "built for 8, are no error", fakeEmbed(func(t tokens) torchpe.Tensor {
		places := slices.Clone(t.p.Index)
		for i := range places {
			places[i] %= t.table.Shape[1]
		}
		return t.x.Add(t.at(places))
	}), nil},
	{"whole or nothing", "tokens", "3 tokens of 8", fakeEmbed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.table.In(t.x.Scope()).Unsqueeze(1))
	}), nil},
	{"said to extrapolate", "extrapolation", "of another shape at 12 tokens", fakeTable(nil), nil},
	{"leaking", "sites", "1 tensors are left", func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
		s := torchpe.NewScope()
		left = append(left, s)
		torchpe.Zeros(s, torchpe.Float32, torchpe.CPU, 1)
		return fakeTable(nil)(c, ps)
	}, nil},
	{"option not varied", "options", "no variant changes --fake alone", fakeTable(nil),
		func(c *Case) { c.Variants = nil }},
	{"variant of nothing", "options", "changes no option", fakeTable(nil), func(c *Case) {
		c.Variants = append(c.Variants, variants("fake=a")...)
	}},
	{"option without effect", "differ", "the same as its plain reading", fakeTable(nil), nil},
	{"not refused", "refusals", "is not refused", fakeTable(nil),
		func(c *Case) { c.Refuse = []Refusal{refuse("d_model=7", "7")} }},
	{"refused in other words", "refusals", `does not say "seven"`,
		func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
			if c.DModel == 7 {
				return nil, fmt.Errorf("no")
			}
			return fakeTable(nil)(c, ps)
		}, func(c *Case) { c.Refuse = []Refusal{refuse("d_model=7", "seven")} }},
}

// TestBrokenSchemes: each fault is caught by the check that is there for it, and a sound scheme by
// none.
func TestBrokenSchemes(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range broken {
		s := pe.Scheme{Name: b.name, Options: []pe.Option{option}, New: b.build}
		if b.check == "extrapolation" {
			s.Extrapolates = pe.Always
		}
		pe.Register(s)
		defer pe.Unregister(b.name)
		c := Case{Scheme: b.name, Variants: variants("fake=b")}
		if b.change != nil {
			b.change(&c)
		}
		t.Run(b.name, func(t *testing.T) {
			for _, check := range append(slices.Clone(checks), schemeChecks...) {
				sound := b.check == "" && check.name != "differ" // its option has no effect
				if !sound && check.name != b.check {
					continue
				}
				err := perform(check, trial{Case: c, variant: Variant{Fidelity: "code"}, heads: 2, members: 3})
				if sound && err != nil {
					t.Errorf("%s finds fault with a sound scheme: %v", check.name, err)
				}
				if !sound && (err == nil || !strings.Contains(err.Error(), b.says)) {
					t.Errorf("%s says %v, want an error with %q", check.name, err, b.says)
				}
				caught[b.check] = true
			}
		})
	}
	for _, s := range left {
		s.Close()
	}
	for _, check := range append(slices.Clone(checks), schemeChecks...) {
		if !caught[check.name] && check.name != "devices" { // which needs a GPU
			t.Errorf("no scheme here is broken for the check of %s", check.name)
		}
	}
}
