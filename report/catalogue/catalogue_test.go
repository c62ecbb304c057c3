package catalogue

import (
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestMain(m *testing.M) {
	os.Exit(petest.Main(m))
}

// Table 2 of Wennberg and Henter 2021: n, d of the position embeddings; S = 5, H = 12, L = 12.
// ALBERT's column "Ke et al." takes its width of 128, which its layers share.
func TestParametersOfTISATable2(t *testing.T) {
	for _, c := range []struct {
		model            string
		tokens, width    int
		table, tupe, own int
	}{
		{"Longformer", 4096, 768, 3_145_728, 4_325_376, 2_160},
		{"BERT/RoBERTa", 512, 768, 393_216, 1_572_864, 2_160},
		{"ALBERT", 512, 128, 65_536, 98_304, 2_160},
	} {
		heads := 12
		if c.width%heads != 0 {
			heads = 16 // counts of learn and tupe do not depend on it
		}
		for _, s := range []struct {
			scheme string
			size   pe.Size
			want   int
		}{
			{"learn", pe.Size{Tokens: c.tokens, DModel: c.width, Heads: heads, Layers: 12}, c.table},
			{"tupe", pe.Size{Tokens: c.tokens, DModel: c.width, Heads: heads, Layers: 12}, c.tupe},
			{"tisa", pe.Size{Tokens: c.tokens, DModel: 768, Heads: 12, Layers: 12}, c.own},
			// "added to the counts in other columns"
			{"learn+tisa", pe.Size{Tokens: c.tokens, DModel: 768, Heads: 12, Layers: 12},
				c.tokens*768 + c.own},
		} {
			scheme := expect.Must(pe.Find(s.scheme))
			e := expect.Must(Describe(scheme, Setting{Size: s.size, Fidelity: "text"}))
			if e.Parameters == nil || *e.Parameters != s.want {
				t.Errorf("%s, %s: %s parameters, want %d", c.model, s.scheme, withCommas(e.Parameters), s.want)
			}
		}
	}
}

// entriesOf returns the entries of all schemes at the default setting.
func entriesOf(t *testing.T) []Entry {
	t.Helper()
	all, _, err := DescribeAll(pe.Schemes(), DefaultSetting())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEntries(t *testing.T) {
	all := entriesOf(t)
	if len(all) != len(pe.Names()) {
		t.Errorf("%d entries of %d schemes", len(all), len(pe.Names()))
	}
	for _, e := range all {
		if e.Parameters == nil && e.Refused == "" || !slices.Contains(families, e.Family) ||
			e.Year < 2017 || e.Reference == "" || e.Formula == "" {
			t.Errorf("%+v", e)
		}
	}
}

func TestRefusedSize(t *testing.T) {
	scheme := expect.Must(pe.Find("rope-3d"))
	s := DefaultSetting()
	s.DModel, s.Heads = 8, 4
	e, err := Describe(scheme, s)
	if err != nil || e.Parameters != nil || !strings.Contains(e.Refused, "head width 2") {
		t.Errorf("%+v, %v", e, err)
	}
	expect.Contains(t, Show(e, s), "refused: rope-3d")
}

func TestWhere(t *testing.T) {
	all := entriesOf(t)
	names := func(conditions ...string) string {
		kept, err := Where(all, conditions)
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, e := range kept {
			names = append(names, e.Name)
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct{ condition, want string }{
		{"name=tisa", "tisa"},
		{"year<=2017", "1d-fixed"},
		{"acts_on=nowhere", "c-nope nope"},
		{"reference~*Shaw*", "relative"},
		{"reference=Shaw", `"reference=Shaw": no scheme has this value; 1d-fixed has reference=Vaswani`},
		{"reference=Shaw", "reference~*Shaw* finds parts of texts"},
		{"acts_on!~*embedding*,year<2019", "relative"},
		{"parameters=60", "tisa"},
		{"yeer=3", `unknown key "yeer"; did you mean "year"?`},
		{"year=new", `"year=new": no scheme has this value`},
		{"causal=maybe", "1d-fixed has causal=no"},
		{"name>=a", `"a" is not a number`},
		{"causal", "want KEY OP VALUE"},
	} {
		if got := names(c.condition); got != c.want && (!strings.Contains(c.want, " ") ||
			!strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.condition, got, c.want)
		}
	}
	if got := names("printed=yes", "data_driven=no"); got != "1d-fixed rope" { // TISA's Table 1
		t.Errorf("printed and not data-driven: %s", got)
	}
	if a, b := strings.Fields(names("causal=yes")),
		strings.Fields(names("causal!=yes")); len(a)+len(b) != len(all) || len(a) == 0 {
		t.Errorf("%v causal, %v not", a, b)
	}
}

// instance builds a scheme for a test.
func instance(t *testing.T, name string, s Setting) *Instance {
	t.Helper()
	scheme := expect.Must(pe.Find(name))
	if s.Fidelity == "" {
		s.Fidelity = "code"
	}
	at := expect.Must(Place("grid", s.Tokens))
	i := expect.Must(Build(scheme, s, at, Start{0.2, 1}))
	t.Cleanup(i.Close)
	return i
}

// Equations 5 and 6 of TISA, with parameters from outside.
func TestGivenParameters(t *testing.T) {
	const n = 5
	i := instance(t, "tisa", Setting{Size: pe.Size{Tokens: n, DModel: 8, Heads: 2, Layers: 1},
		Given: pe.Options{"tisa-kernels": "1"}})
	shape := []int{2, 1, 1, 2}
	of := func(name string, own []float64) array.Array {
		return array.Array{Name: name, Shape: shape, Data: append([]float64{7, 7}, own...)}
	}
	a, b, c := []float64{0.5, -1}, []float64{0.1, -0.3}, []float64{1, -2}
	given := []array.Array{
		// member 1 of 2, as in a checkpoint
		of("pe.a", a), of("b", b), of("w/pe.c", c),
		{Name: "state/loss", Shape: []int{1}, Data: []float64{0}},
		{Name: "block0.mlp.in.weight", Shape: []int{1}, Data: []float64{0}}, // of another part of a model
	}
	expect.NoError(t, i.Set(given, 1))
	got, kind, err := i.Values(Want{})
	if err != nil || kind != kindBias || !slices.Equal(got.Shape, []int{2, n, n}) {
		t.Fatalf("%v %v %v", kind, got.Shape, err)
	}
	for h := range 2 {
		for q := range n {
			for k := range n {
				d := float64(k-q) - c[h]
				if want := a[h] * math.Exp(-math.Abs(b[h])*d*d); math.Abs(got.Data[(h*n+q)*n+k]-want) > 1e-14 {
					t.Fatalf("head %d, query %d, key %d: %v, want %v", h, q, k, got.Data[(h*n+q)*n+k], want)
				}
			}
		}
	}
	for want, wrong := range map[string][]array.Array{
		"pe.c is missing":       given[:2],
		"want [1 1 2]":          {{Name: "a", Shape: []int{2}, Data: a}},
		"has members 0 to 1":    given[2:],
		"pe.d is not a paramet": {{Name: "pe.d", Shape: []int{2}, Data: a}},
		"array has no name":     {{Shape: []int{2}, Data: a}},
	} {
		member := 1
		if strings.HasPrefix(want, "has members") {
			member = 2
		}
		expect.Error(t, i.Set(wrong, member), want)
	}
}

// Queries and keys are turned as the paper's formula says (check_test.go has it), whether their heads lie
// side by side or not, and logits are their products over sqrt(Dh).
func TestRotatedQueries(t *testing.T) {
	const h, n, dh = 2, 6, 4
	i := instance(t, "rope", Setting{Size: pe.Size{Tokens: n, DModel: h * dh, Heads: h, Layers: 1}})
	q, k := random("q", 1, h, n, dh), random("k", 2, h, n, dh)
	turn := neighbours(lineAngles(powers(10000, 2, 4), from(0)))
	turnedQ, turnedK := turn.of("", q), turn.of("", k)
	logits := products(turnedQ, turnedK, 0.5, func(_, _, _ int) float64 { return 0 })
	sideBySide := func(a array.Array) array.Array {
		return made("", []int{n, h * dh}, func(at []int) float64 {
			return a.Data[(at[1]/dh*n+at[0])*dh+at[1]%dh]
		})
	}
	for _, c := range []struct {
		in   Want
		kind string
		want array.Array
	}{
		{Want{Q: q}, kindQuery, turnedQ}, {Want{Q: sideBySide(q)}, kindQuery, turnedQ}, {Want{K: k}, kindKey, turnedK},
		{Want{Q: q, K: sideBySide(k)}, kindLogits, logits},
	} {
		got, kind, err := i.Values(c.in)
		if err != nil || kind != c.kind || !slices.Equal(got.Shape, c.want.Shape) {
			t.Fatalf("%v %v %v, want %v", kind, got.Shape, err, c.kind)
		}
		for at, v := range got.Data {
			if math.Abs(v-c.want.Data[at]) > 1e-13 {
				t.Fatalf("%s%v is %v, want %v", kind, array.Index(at, got.Shape, false), v, c.want.Data[at])
			}
		}
	}
}

func TestValuesRefused(t *testing.T) {
	size := pe.Size{Tokens: 4, DModel: 8, Heads: 2, Layers: 2}
	x := array.Array{Shape: []int{4, 8}, Data: make([]float64, 32)}
	for _, c := range []struct {
		scheme string
		want   Want
		says   string
	}{
		{"rope", Want{}, "give queries and keys"},
		{"nope", Want{}, "acts nowhere"},
		{"rope", Want{Kind: kindTable}, "rope has no table: it acts on q and k"},
		{"learn", Want{Kind: kindBias}, "learn has no bias"},
		{"learn", Want{Kind: "tabel"}, "want one of table, bias"},
		{"learn", Want{Layer: 2}, "there are layers 0 to 1"},
		{"rope", Want{Kind: kindLogits, Q: x}, "logits need queries and keys"},
		{"rope", Want{Q: array.Array{Shape: []int{4, 4}, Data: make([]float64, 16)}},
			"want [H,N,Dh] = [2,4,4] or [N,D] = [4,8]"},
		{"conv-pos", Want{}, "depends on the input: give --x"},
		{"conv-pos", Want{X: array.Array{Shape: []int{4, 4}, Data: make([]float64, 16)}},
			"embeddings have shape [4 4], want [N,D] = [4,8]"},
		{"conv-pos", Want{Kind: kindInput}, "x needs embeddings"},
		{"rope", Want{Kind: kindInput, X: x}, "rope does not change embeddings: it acts on q and k"},
		{"rope", Want{Kind: kindValue}, "v needs values"},
		{"detr", Want{Q: x, K: x}, "give --params that hold block0.attn.in.weight"},
		{"detr", Want{X: x}, "or --x with --params that hold block0.attn.in.weight"},
	} {
		_, _, err := instance(t, c.scheme, Setting{Size: size}).Values(c.want)
		expect.Error(t, err, c.says)
	}
}

// TestPairsTooMany: what holds numbers for all pairs of tokens is refused before the memory is taken.
func TestPairsTooMany(t *testing.T) {
	s := Setting{Size: pe.Size{Tokens: 400, DModel: 8, Heads: 2, Layers: 1}, Fidelity: "code"}
	alibi, fixed := instance(t, "alibi", s), instance(t, "1d-fixed", s)
	build := func(name string) error {
		scheme, err := pe.Find(name)
		if err == nil {
			_, err = Build(scheme, s, pe.Line(s.Tokens), Start{1, 1})
		}
		return err
	}
	array.SetLimit(4e6)
	defer array.SetLimit(0) // it is computed again
	for _, of := range []func() error{
		func() error { _, _, err := alibi.Values(Want{Kind: kindBias}); return err },
		func() error { _, err := Plot([]*Instance{fixed}, 0); return err },
		func() error { return build("laplacian") },
		func() error { return build("rope+graphormer") },
		func() error {
			scheme, err := pe.Find("laplacian")
			if e, failed := Describe(scheme, s); failed == nil && e.Refused != "" {
				return errors.New(e.Refused)
			}
			return err
		},
	} {
		expect.Error(t, of(), "all pairs of 400 tokens: reading needs ")
	}
	if _, _, err := fixed.Values(Want{}); err != nil {
		t.Errorf("a table: %v", err)
	}
}

// TestIdle: inputs that the values do not depend on are named.
func TestIdle(t *testing.T) {
	q, x := random("q", 1, 2, 4, 4), random("x", 2, 4, 8)
	for _, c := range []struct {
		scheme, kind string
		want         Want
		idle         string
	}{
		{"rope", kindQuery, Want{Q: q}, ""},
		{"rope", kindQuery, Want{Q: q, X: x}, "x"},
		{"rope", kindLogits, Want{Q: q, K: q, V: q}, "v"},
		{"rope", kindWeights, Want{Q: q, K: q}, ""},
		{"alibi", kindBias, Want{Q: q, K: q}, "q"},
		{"1d-fixed", kindTable, Want{X: x}, "x"},
		{"1d-fixed", kindInput, Want{X: x}, ""},
	} {
		i := instance(t, c.scheme, Setting{Size: pe.Size{Tokens: 4, DModel: 8, Heads: 2, Layers: 1}})
		c.want.Kind = c.kind
		values, kind, err := i.Values(c.want)
		if idle := i.Idle(c.want, kind, values); err != nil || idle != c.idle {
			t.Errorf("%s, %s: %q, %v; want %q", c.scheme, c.kind, idle, err, c.idle)
		}
	}
}

// TestPicturesOfOneToken: the bias of one token is drawn, though it is constant, and layers count from 0.
func TestPicturesOfOneToken(t *testing.T) {
	i := instance(t, "alibi", Setting{Size: pe.Size{Tokens: 1, DModel: 8, Heads: 2, Layers: 4}})
	all, err := i.pictures(3)
	if err != nil || all[0].against.YLabel != "bias on the logits" {
		t.Errorf("%+v, %v", all, err)
	}
	if note := i.note(3); !strings.Contains(note, "L = 4, layer 3, ") {
		t.Error(note)
	}
}

// wavy are numbers that have nothing to do with each other.
func wavy(seed float64, shape ...int) array.Array {
	a := array.Array{Shape: shape}
	count := 1
	for _, d := range shape {
		count *= d
	}
	for k := range count {
		a.Data = append(a.Data, math.Sin(seed+1.3*float64(k*k)))
	}
	return a
}

// Carion et al. 2020: q = W_q (x + P) + b_q, with P the sinusoids of row and column; values carry
// no position.
func TestProjectedEmbeddings(t *testing.T) {
	const n, d = 4, 8
	size := Setting{Size: pe.Size{Tokens: n, DModel: d, Heads: 2, Layers: 2}}
	table, _, err := instance(t, "2d-fixed", Setting{Size: size.Size, Fidelity: "text"}).Values(Want{})
	expect.NoError(t, err)
	size.Given = pe.Options{"detr-table": "sine"}
	i := instance(t, "detr", size)
	x, w, b := wavy(1, n, d), wavy(2, 2, 3*d, d), wavy(3, 2, 3*d)
	// As in a checkpoint of two members; those of layer 0 and of other parts of a model lie beside
	// them.
	expect.NoError(t, i.Set([]array.Array{{Name: "w/block1.attn.in.weight", Shape: w.Shape, Data: w.Data},
		{Name: "w/block1.attn.in.bias", Shape: b.Shape, Data: b.Data},
		{Name: "w/block1.attn.out.weight", Shape: []int{1}, Data: []float64{1}}}, 1))
	for part, kind := range []string{kindQuery, kindKey, kindValue} {
		got, _, err := i.Values(Want{Kind: kind, Layer: 1, X: x})
		expect.NoError(t, err)
		for token := range n {
			for k := range d {
				row := 3*d + part*d + k // of member 1
				want := b.Data[row]
				for in := range d {
					v := x.Data[token*d+in]
					if kind != kindValue {
						v += table.Data[token*d+in]
					}
					want += w.Data[row*d+in] * v
				}
				if at := (k/4*n+token)*4 + k%4; math.Abs(got.Data[at]-want) > 1e-13 {
					t.Errorf("%s of token %d, dimension %d: %v, want %v", kind, token, k, got.Data[at], want)
				}
			}
		}
	}
	if _, kind, err := i.Values(Want{Layer: 1, X: x}); err != nil || kind != kindLogits {
		t.Error(kind, err)
	}
	if _, _, err := i.Values(Want{X: x}); err == nil {
		t.Error("layer 0 has no weights")
	}
	expect.Error(t, i.Set([]array.Array{{Name: "attn.in.weight", Shape: []int{d, d},
		Data: make([]float64, d*d)}}, 0), "want [24 8]")
}

// Under a causal mask alone a query of place i sees i + 1 equal keys: Kazemnejad et al. 2023. ALiBi's bias
// and a temperature act before the softmax.
func TestAttentionWeights(t *testing.T) {
	q, k := random("q", 1, 2, 6, 4), random("k", 2, 2, 6, 4)
	product := products(q, k, 0.5, func(_, _, _ int) float64 { return 0 })
	for _, c := range []struct {
		scheme  string
		options pe.Options
		in      Want
		logit   func(h, i, j int) float64
	}{
		{"c-nope", nil, Want{}, func(_, _, _ int) float64 { return 0 }},
		{"c-nope", pe.Options{"c-nope-temperature": "0.25"}, Want{Kind: kindWeights, Q: q, K: k},
			func(h, i, j int) float64 { return product.Data[(h*6+i)*6+j] / 0.25 }},
		{"alibi", nil, Want{Kind: kindWeights},
			func(h, i, j int) float64 { return -math.Pow(2, -4*float64(h+1)) * float64(i-j) }},
	} {
		size := Setting{Size: pe.Size{Tokens: 6, DModel: 8, Heads: 2, Layers: 1}, Given: c.options}
		got, kind, err := instance(t, c.scheme, size).Values(c.in)
		if err != nil || kind != kindWeights {
			t.Fatal(kind, err)
		}
		for at, weight := range got.Data {
			h, i, j := at/36, at/6%6, at%6
			sum, want := 0.0, 0.0
			for key := range i + 1 {
				sum += math.Exp(c.logit(h, i, key))
			}
			if j <= i {
				want = math.Exp(c.logit(h, i, j)) / sum
			}
			if math.Abs(weight-want) > 1e-14 {
				t.Errorf("%s%v, head %d, query %d, key %d: %v, want %v", c.scheme, c.options, h, i, j, weight, want)
			}
		}
	}
}

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{"grid": "a grid of 3 x 4", "line": "a line of 12",
		"2x6": "a grid of 2 x 6", "3x2x2": "12 points in 3 dimensions"} {
		if p, err := Place(text, 12); err != nil || p.String() != want {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "3x3", "axb", "1x1x1x12", "-3x-4", "3x 4"} {
		if _, err := Place(text, 12); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// Every scheme that has something to draw draws: all but nope, and erpe, which acts on the weights.
func TestPlot(t *testing.T) {
	for _, name := range append(pe.Names(), "rope+learn", "rope+detr") {
		if name == "nope" || name == "erpe" {
			continue
		}
		i := instance(t, name, Setting{Size: pe.Size{Tokens: 6, DModel: 24, Heads: 2, Layers: 2}})
		if _, err := Plot([]*Instance{i}, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect.Error(t, expect.ErrorOf(Plot([]*Instance{instance(t, "nope",
		Setting{Size: pe.Size{Tokens: 6, DModel: 8, Heads: 2, Layers: 2}})}, 0)), "torchpe pe show nope")
	i := instance(t, "conv-pos", Setting{Size: pe.Size{Tokens: 6, DModel: 8, Heads: 2, Layers: 2}})
	i.X = wavy(1, 6, 8)
	if _, err := Plot([]*Instance{i}, 0); err != nil {
		t.Error(err)
	}
	expect.Error(t, expect.ErrorOf(Plot([]*Instance{i}, 1)), "adds nothing in layer 1")
}

// TestDiffer: what is said of implementations names options that the scheme has, and ends as a part
// of a sentence does.
func TestDiffer(t *testing.T) {
	option := regexp.MustCompile(`--([a-z0-9-]+)`)
	said := 0
	for _, s := range pe.Schemes() {
		for _, m := range option.FindAllStringSubmatch(s.About().Differ, -1) {
			if !slices.ContainsFunc(s.Options, func(o pe.Option) bool { return o.Name == m[1] }) {
				t.Errorf("%s has no option --%s", s.Name, m[1])
			}
		}
		if s.About().Differ != "" {
			said++
		}
		if strings.HasSuffix(s.About().Differ, ".") || strings.Contains(s.About().Differ, "  ") ||
			strings.Contains(s.About().Differ, "\n") {
			t.Errorf("%s: %q", s.Name, s.About().Differ)
		}
	}
	if said < 50 {
		t.Errorf("%d schemes say in what implementations differ", said)
	}
}

// Heat maps have round numbers along their edges, from 0.
func TestTicks(t *testing.T) {
	for n, want := range map[int]string{3: "0 1 2", 5: "0 1 2 3 4", 16: "0 5 10 15", 32: "0 10 20 30",
		160: "0 50 100 150", 900: "0 200 400 600 800"} {
		labels := ticks(n)
		if got := strings.Join(strings.Fields(strings.Join(labels, " ")), " "); got != want || len(labels) != n {
			t.Errorf("%d places: %q, want %q", n, got, want)
		}
	}
}
