package petest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := torchpe.CheckNoLiveTensors(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

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

func (f *fake) Sites() pe.Site { return f.sites }

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

// table returns a builder of fakes with a trained N(0, sigma^2) table.
func table(change func(f *fake)) builder { return tableOf(torchpe.Normal(0, 1), true, change) }

func tableOf(init torchpe.Init, trainable bool, change func(f *fake)) builder {
	return func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
		f := &fake{sites: pe.AtEmbed, embed: tokens.sum, table: ps.Add("pe.table", trainable, init,
			c.Positions.Tokens(), c.DModel)}
		if change != nil {
			change(f)
		}
		return f, nil
	}
}

// embed returns a builder of fakes that add their table in this way.
func embed(how func(t tokens) torchpe.Tensor) builder { return table(func(f *fake) { f.embed = how }) }

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
	{"sound", "", "", table(nil), nil},
	{"narrow", "hooks", "turns the shape", embed(func(t tokens) torchpe.Tensor { return t.x.Narrow(-1, 0, 4) }), nil},
	{"widening", "hooks", "float32", embed(func(t tokens) torchpe.Tensor {
		return t.sum().To(torchpe.Float64, torchpe.CPU)
	}), nil},
	{"not a number", "hooks", "not finite", embed(func(t tokens) torchpe.Tensor {
		return t.x.MulScalar(math.NaN())
	}), nil},
	{"writer", "hooks", "writes into its input", embed(func(t tokens) torchpe.Tensor {
		out := t.sum()
		t.x.Fill(0)
		return out
	}), nil},
	{"undeclared", "sites", "not declared", table(func(f *fake) { f.sites = pe.AtQK }), nil},
	{"idle", "sites", "changes nothing", table(func(f *fake) { f.sites |= pe.AtLogits }), nil},
	{"hidden table", "tables", "Embed changes its input", table(func(f *fake) {
		f.tables = func(rows torchpe.Tensor, layer int) (torchpe.Tensor, bool) { return rows, layer == 0 }
	}), nil},
	{"mistaken table", "tables", "does not add the table", table(func(f *fake) {
		f.tables = func(rows torchpe.Tensor, _ int) (torchpe.Tensor, bool) { return rows.MulScalar(2), true }
	}), nil},
	{"in array order", "permutation", "permuted tokens and positions", embed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(pe.Line(t.p.Tokens()).Index))
	}), nil},
	{"one row for all", "permutation", "ignores positions", embed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(make([]int, t.p.Tokens())))
	}), nil},
	{"not relative", "shift", "positions shifted", table(nil), func(c *Case) { c.Shift = Unmoved }},
	{"not absolute", "shift", "which the case does not say", embed(unchanged), nil},
	{"unused", "gradients", "is zero for member", embed(unchanged), nil},
	{"half detached", "gradients", "finite differences", embed(func(t tokens) torchpe.Tensor {
		return t.sum().Add(t.at(t.p.Index)).Sub(t.at(t.p.Index).MulScalar(0.5).Detach())
	}), nil},
	{"exploding", "gradients", "not finite", embed(func(t tokens) torchpe.Tensor {
		return t.sum().Add(t.at(t.p.Index).MulScalar(0).Square().Sqrt())
	}), nil},
	{"unsteady", "seeds", "between two models of one seed", tableOf(func(_ int, _ *rand.Rand, out []float64) {
		for i := range out {
			unsteady++
			out[i] = unsteady
		}
	}, true, nil), nil},
	{"always alike", "seeds", "same for another seed", tableOf(torchpe.Constant(1), true, nil), nil},
	{"drawn but not said", "seeds", "Case.Drawn", tableOf(torchpe.Normal(0, 1), false, nil), nil},
	{"said but not drawn", "seeds", "same for another seed", tableOf(torchpe.Constant(1), false, nil),
		func(c *Case) { c.Drawn = []string{"pe.table"} }},
	{"mixed members", "members", "the same model alone", embed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.at(t.p.Index).SumKeep(0))
	}), nil},
	{"wrapping", "tokens", "built for 8, are no error", embed(func(t tokens) torchpe.Tensor {
		places := slices.Clone(t.p.Index)
		for i := range places {
			places[i] %= t.table.Shape[1]
		}
		return t.x.Add(t.at(places))
	}), nil},
	{"whole or nothing", "tokens", "3 tokens of 8", embed(func(t tokens) torchpe.Tensor {
		return t.x.Add(t.table.In(t.x.Scope()).Unsqueeze(1))
	}), nil},
	{"said to extrapolate", "extrapolation", "of another shape at 12 tokens", table(nil), nil},
	{"leaking", "sites", "1 tensors are left", func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
		s := torchpe.NewScope()
		left = append(left, s)
		torchpe.Zeros(s, torchpe.Float32, torchpe.CPU, 1)
		return table(nil)(c, ps)
	}, nil},
	{"option not varied", "options", "no variant changes --fake alone", table(nil), func(c *Case) { c.Variants = nil }},
	{"variant of nothing", "options", "changes no option", table(nil), func(c *Case) {
		c.Variants = append(c.Variants, Variants("fake=a")...)
	}},
	{"option without effect", "differ", "the same as its plain reading", table(nil), nil},
	{"not refused", "refusals", "is not refused", table(nil),
		func(c *Case) { c.Refuse = []Refusal{Refuse("d_model=7", "7")} }},
	{"refused in other words", "refusals", `does not say "seven"`,
		func(c pe.Config, ps *torchpe.ParamSet) (pe.Encoding, error) {
			if c.DModel == 7 {
				return nil, fmt.Errorf("no")
			}
			return table(nil)(c, ps)
		}, func(c *Case) { c.Refuse = []Refusal{Refuse("d_model=7", "seven")} }},
}

func init() {
	for _, b := range broken {
		s := pe.Scheme{Name: b.name, Options: []pe.Option{option}, New: b.build}
		if b.check == "extrapolation" {
			s.Extrapolates = pe.Always
		}
		pe.Register(s)
	}
}

// TestBrokenSchemes: each fault is caught by the check that is there for it, and a sound scheme by
// none.
func TestBrokenSchemes(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range broken {
		c := Case{Scheme: b.name, Variants: Variants("fake=b")}
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

// TestMissing: schemes that were not run are named.
func TestMissing(t *testing.T) {
	names := []string{"a", "b", "c"}
	if got := missing(names, map[string]bool{"b": true}); !slices.Equal(got, []string{"a", "c"}) || len(names) != 3 {
		t.Errorf("missing %v of %v", got, names)
	}
}

func TestArrayFromJSON(t *testing.T) {
	var a Array
	if err := json.Unmarshal([]byte(`[[1, null, 3], [4, 5, 6.5]]`), &a); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Shape, []int{2, 3}) || !math.IsNaN(a.Values[1]) || a.Values[5] != 6.5 {
		t.Errorf("read %+v", a)
	}
	if err := json.Unmarshal([]byte(`{"1": [2, 3]}`), &a); err != nil || !slices.Equal(a.Shape, []int{2, 2}) ||
		!slices.Equal(a.Values, []float64{0, 0, 2, 3}) {
		t.Errorf("read %+v, %v", a, err)
	}
	for _, text := range []string{`[[1], [2, 3]]`, `[1, [2]]`, `["x"]`, `[[1], 2]`, `{}`, `{"x": [1]}`} {
		if err := json.Unmarshal([]byte(text), &a); err == nil {
			t.Errorf("%s is read as %+v", text, a)
		}
	}
}

func TestArrayAlong(t *testing.T) {
	a := Array{Shape: []int{2, 3, 2}, Values: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	got := a.along(1, []int{2, 0})
	if want := []float64{4, 5, 0, 1, 10, 11, 6, 7}; !slices.Equal(got.Values, want) ||
		!slices.Equal(got.Shape, []int{2, 2, 2}) {
		t.Errorf("along axis 1: %+v, want %v", got, want)
	}
	if got := a.along(0, []int{1, 0}); !slices.Equal(got.Values, []float64{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}) {
		t.Errorf("along axis 0: %+v", got)
	}
}

func TestCompare(t *testing.T) {
	one := Array{Shape: []int{2}, Values: []float64{1, 100}}
	for _, c := range []struct {
		got, want Array
		equal     bool
	}{
		{one, one, true},
		{Array{[]int{2}, []float64{1.05, 104}}, one, true}, // within 0.1 and 4 %
		{Array{[]int{2}, []float64{1.2, 100}}, one, false},
		{Array{[]int{2}, []float64{1, 105}}, one, false},
		{Array{[]int{2}, []float64{1, math.NaN()}}, one, false},
		{one, Array{[]int{2}, []float64{1, math.NaN()}}, true}, // masked
		{Array{[]int{1, 2}, []float64{1, 100}}, one, false},
	} {
		if err := compare(c.got, c.want, Tolerance{0.1, 0.04}); (err == nil) != c.equal {
			t.Errorf("%v against %v: %v", c.got, c.want, err)
		}
	}
}

// TestVectorsAreFound: each folder that the environment names must hold vectors; a file without
// cases is an error. As many ship as the manifest says, and it says why the others do not.
func TestVectorsAreFound(t *testing.T) {
	own, empty := t.TempDir(), t.TempDir()
	good := `{"cases": [{"name": "a", "outputs": {"y": 1}}], "tolerance": {"atol": 1e-12}}`
	if err := os.WriteFile(own+"/x.json", []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TORCHPE_PE_VECTORS", own+":"+own)
	if all, err := folderVectors(); err != nil || len(all) != 2 || all[0].file != "x" {
		t.Errorf("vectors %v, %v; want those of %q twice", all, err, own)
	}
	t.Setenv("TORCHPE_PE_VECTORS", own+":"+empty)
	if _, err := folderVectors(); err == nil || !strings.Contains(err.Error(), empty) {
		t.Errorf("a folder without vectors: %v", err)
	}
	t.Setenv("TORCHPE_PE_VECTORS", "")
	if all, err := folderVectors(); all != nil || err != nil {
		t.Errorf("no folder: %v, %v", all, err)
	}
	all, err := shippedVectors()
	if err != nil {
		t.Fatal(err)
	}
	cases, licensed := 0, 0
	for _, v := range all {
		cases += len(v.Cases)
		for _, c := range v.Cases {
			if c.Licence != "" && c.Commit != "" && c.SourceRepo != "" {
				licensed++
			}
		}
	}
	if cases != 252 || licensed != 197 {
		t.Errorf("%d cases, %d of them with a licence; want 252 and 197", cases, licensed)
	}
	path := own + "/x.json"
	for _, text := range []string{
		`{"cases": [{"name": "a", "outputs": {}}], "tolerance": {"atol": 1e-12}}`,
		`{"tolerance": {"atol": 1e-12}, "cases": []}`, `{"cases": [{"name": "a"}]}`, `{`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readVectors(path); err == nil {
			t.Errorf("%s is read without an error", text)
		}
	}
}

// TestSpecDefaults: a Spec builds the float64 model on the CPU unless it says otherwise.
func TestSpecDefaults(t *testing.T) {
	c, err := Spec{Scheme: "sound"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	if c.DType != torchpe.Float64 || c.Device != torchpe.CPU || len(c.Seeds) != 1 || c.ReadOut != models.ProbeToken {
		t.Errorf("configuration %+v", c)
	}
}

// recorder is a test that records its failure.
type recorder struct {
	testing.TB
	said string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

// TestAdapterThatPanics: an adapter's panic is a failure that says what the case needs.
func TestAdapterThatPanics(t *testing.T) {
	c, r := &VectorCase{Config: map[string]any{"axes": 7.}}, &recorder{TB: t}
	c.run(r, func(testing.TB, *VectorCase) Outputs { panic(&torchpe.Error{Op: "Narrow", Msg: "too short"}) })
	for _, text := range []string{"lacks", "too short", "axes:7"} {
		if !strings.Contains(r.said, text) {
			t.Errorf("the failure %q does not say %q", r.said, text)
		}
	}
}

// TestVectorComparison: outputs that are missing or off are named; null may be anything,
// NaN may not be a number; the tolerance is the case's own; eigenvectors compare up to sign, column
// by column.
func TestVectorComparison(t *testing.T) {
	path := t.TempDir() + "/x.json"
	text := `{"tolerance": {"atol": 1e-12, "rtol": 1e-12}, "cases": [
		{"name": "a", "outputs": {"y": [1, null], "z": 2}},
		{"name": "b", "tolerance": {"atol": 0.1, "rtol": 0}, "outputs": {"y": [[1, -2], [3, 4]]}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := readVectors(path)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(a, b float64) Array { return Array{Shape: []int{2}, Values: []float64{a, b}} }
	square := func(values ...float64) Array { return Array{Shape: []int{2, 2}, Values: values} }
	for _, c := range []struct {
		i    int
		got  Outputs
		sign bool
		says []string // nil where it passes
	}{
		{0, Outputs{"y": pair(1, math.NaN()), "z": Scalar(2)}, false, nil},
		{0, Outputs{"y": pair(1, 5), "z": Scalar(2 + 1e-13)}, false, nil},
		{0, Outputs{"y": pair(1+1e-6, 5)}, false, []string{"y: element 0", "z: the adapter gives no such output"}},
		{0, Outputs{"y": pair(math.NaN(), 5), "z": pair(2, 2), "w": Scalar(1)}, false,
			[]string{"y: element 0", "z: shape [2]"}},
		{1, Outputs{"y": square(1.05, -2, 3, 4)}, false, nil},
		{1, Outputs{"y": square(1, 2, 3, -4)}, false, []string{"y: element 1"}},
		{1, Outputs{"y": square(1, 2, 3, -4)}, true, nil},
		{1, Outputs{"y": square(-1, 2, 3, -4)}, true, []string{"y: element"}},
	} {
		one := v.Cases[c.i]
		one.signless = map[string]bool{"y": c.sign}
		err := one.compare(c.got)
		if c.says == nil && err != nil {
			t.Errorf("%v: %v", c.got, err)
		}
		for _, text := range c.says {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v: the error %v does not say %q", c.got, err, text)
			}
		}
	}
}
