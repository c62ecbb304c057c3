package models_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func draw(m *models.Model, name string) petest.Batch {
	return petest.NewBatch(m, m.Config.Positions, 6, name)
}

// seeded puts the examples into s, and seeds s for the step.
func seeded(s *torchpe.Scope, m *models.Model, x petest.Batch, step int) models.Input {
	s.Seed(m.Config.Seeds, step)
	return x.Input(s, m)
}

// TestParameterCount: the learned scheme at the paper's size has 1,248,964 parameters.
// The others differ from it by what they have and have not.
func TestParameterCount(t *testing.T) {
	const learn, tables, projections = 1_248_964, 4 * 16 * 160, 4 * (160*160 + 160)
	for name, want := range map[string]int{
		"learn": learn, "1d-fixed": learn - tables, "nope": learn - tables, "random": learn - tables,
		"rope":     learn - tables - 4*(3*160+160), // no biases in attention
		"relative": learn - projections,            // a table of 16 x 160 a block, no output projection
	} {
		m := petest.Spec{Scheme: name, Layers: 4, DModel: 160, Positions: pe.Grid(4, 4),
			Change: func(c *models.Config) {
				c.Symbols, c.Classes, c.FFMultiple, c.DType = 6, 4, 4, torchpe.Float32
			}}.Model(t)
		expect.Equal(t, name, m.Params.Count(), want)
	}
}

// train makes 20 steps of Adam on the model and returns its parameters by name, [E,...].
func train(t *testing.T, m *models.Model, method torchpe.Method, set torchpe.StepSettings) map[string][]float64 {
	t.Helper()
	optimizer := expect.Must(torchpe.NewOptimizer(method, m.Params))
	defer optimizer.Close()
	x := draw(m, "train")
	for step := range 20 {
		s := torchpe.NewScope()
		in := seeded(s, m, x, step)
		in.Training = true
		expect.NoError(t, optimizer.ZeroGrad())
		torchpe.CrossEntropy(m.Forward(s, in, nil), torchpe.Of(s, torchpe.CPU, x.Target, x.Members,
			x.Size)).Sum().Backward()
		expect.NoError(t, optimizer.Step(set))
		s.Close()
	}
	return values(t, m)
}

func values(t *testing.T, m *models.Model) map[string][]float64 {
	t.Helper()
	found := map[string][]float64{}
	for _, p := range m.Params.All() {
		v := expect.Must(m.Params.Values(p.Name))
		found[p.Name] = v
	}
	return found
}

// TestMembersTrainAsAlone: three members that differ in seed, sigma, learning rate and weight decay
// end 20 steps of Adam, with dropout, where the same three end alone: for every scheme, in both
// readings.
func TestMembersTrainAsAlone(t *testing.T) {
	for _, method := range []torchpe.Method{torchpe.Adam, torchpe.AdamW, torchpe.SGD} {
		for _, scheme := range pe.Names() {
			for _, fidelity := range []string{"code", "text"} {
				if method == torchpe.Adam || scheme == "learn" {
					t.Run(fmt.Sprintf("%s/%s/%s", method, scheme, fidelity), func(t *testing.T) {
						checkMembersTrainAsAlone(t, method, petest.Spec{Scheme: scheme, Fidelity: fidelity, Heads: 2})
					})
				}
			}
		}
	}
}

func checkMembersTrainAsAlone(t *testing.T, method torchpe.Method, sp petest.Spec) {
	seeds, sigma := []uint64{7, 8, 9}, []float64{0.1, 1, 2}
	set := torchpe.StepSettings{LR: []float64{1e-3, 3e-3, 1e-2},
		WeightDecay: []float64{0, 0.1, 0.01}, Active: []bool{true, true, true}}
	sp.Change = func(c *models.Config) { c.Dropout = 0.1 }
	sp.Seeds, sp.Sigma = seeds, sigma
	together := sp.Model(t)
	start := values(t, together)
	end := train(t, together, method, set)
	for e := range seeds {
		sp.Seeds, sp.Sigma = seeds[e:e+1], sigma[e:e+1]
		alone := train(t, sp.Model(t), method, torchpe.StepSettings{
			LR: set.LR[e : e+1], WeightDecay: set.WeightDecay[e : e+1], Active: set.Active[e : e+1],
		})
		for name, want := range alone {
			n := len(want)
			got := end[name][e*n : (e+1)*n]
			for i := range want {
				if d := math.Abs(got[i] - want[i]); !(d <= 1e-9) {
					t.Errorf("member %d: %s[%d] is %g, alone %g (off by %.1e)", e, name, i, got[i], want[i], d)
					break
				}
			}
			if together.Params.Get(name).Trainable == slices.Equal(got, start[name][e*n:(e+1)*n]) {
				t.Errorf("member %d: %s moved or stayed where it should not", e, name)
			}
		}
	}
}

// TestValidateListsAll: all mistakes of a configuration are in one error, each with its value.
func TestValidateListsAll(t *testing.T) {
	good := expect.Must(petest.Spec{Scheme: "learn"}.Config())
	expect.NoError(t, good.Validate())
	bad := models.Config{
		Transformer: arch.Transformer{
			Layers: 0, Heads: 3, DModel: 8, FFMultiple: 0, Dropout: 1,
			TokenInput: "braille", EmbeddingInit: "zero", ReadOut: "first",
		},
		Symbols: 1, Classes: -2, PE: "leran",
	}
	err := bad.Validate()
	expect.Error(t, err, "no seeds", "no tokens", "symbols 1", "classes -2", "layers 0",
		"d_model 8 is not divisible by 3 heads", "d_ff multiple 0", "dropout 1",
		`"braille"`, `"zero"`, `"first"`, `"leran"`)
	bad.Heads, bad.DModel, bad.Dropout = 0, -1, math.NaN()
	expect.Error(t, bad.Validate(), "heads 0", "d_model -1", "dropout NaN")
	if m, err := models.New(bad); err == nil || m != nil {
		t.Errorf("New makes a model of it: %v", err)
	}
}

// trace runs the model on fixed examples with the given intermediates asked for.
func trace(m *models.Model, training bool, step int, names ...string) map[string]petest.Array {
	found := map[string]petest.Array{}
	petest.Closed(func(s *torchpe.Scope) {
		in := seeded(s, m, draw(m, "trace"), step)
		in.Training = training
		want := models.NewTrace(names...)
		found["returned"] = petest.ArrayOf(m.Forward(s, in, want))
		for _, name := range want.Names() {
			x, ok := want.Get(name)
			if !ok {
				panic(name + " is listed but not there")
			}
			found[name] = petest.ArrayOf(x)
		}
		if _, ok := want.Get("nothing"); ok {
			panic("a trace has what nobody asked for")
		}
	})
	return found
}

// TestTraceByName: intermediates have the names and shapes that Trace documents, and only those
// asked for are kept.
func TestTraceByName(t *testing.T) {
	m := petest.Spec{Scheme: "learn", Heads: 2, Layers: 3, Seeds: []uint64{1, 2}}.Model(t)
	const e, b, n, d, h, c = 2, 6, 8, 8, 2, 3
	shapes := map[string][]int{"embedding": {e, b, n, d}, "logits": {e, b, c}, "returned": {e, b, c}}
	for layer := range 3 {
		shapes[fmt.Sprintf("pe/%d", layer)] = []int{e, n, d}
		shapes[fmt.Sprintf("attention/%d", layer)] = []int{e, b, h, n, n}
		shapes[fmt.Sprintf("hidden/%d", layer)] = []int{e, b, n, d}
	}
	all := trace(m, false, 0, "embedding", "pe/*", "attention/*", "hidden/*", "logits")
	for name, shape := range shapes {
		expect.Equal(t, fmt.Sprintf("%s has the shape", name), all[name].Shape, shape)
	}
	expect.Equal(t, "number", len(all), len(shapes))
	petest.Near(t, "the logits of the trace", all["logits"], all["returned"], 0)
	table := expect.Must(m.Params.Values("pe.table")) // [E,L,N,D]
	expect.Equal(t, "pe/1 of member 1 is not its table of block 1",
		!slices.Equal(all["pe/1"].Row(1), table[(3+1)*n*d:(3+2)*n*d]), false)
	for i := 0; i < len(all["attention/2"].Values); i += n {
		sum := 0.0
		for _, w := range all["attention/2"].Values[i : i+n] {
			sum += w
		}
		expect.Near(t, "attention weights add up to", sum, 1, 1e-12)
	}
	for name := range shapes {
		if name == "returned" {
			continue
		}
		one := trace(m, false, 0, name, "no such thing")
		expect.Equal(t, "the logits and intermediates, asked for "+name, len(one), 2)
		petest.Near(t, name+" asked for alone", one[name], all[name], 1e-14)
	}
	nope := petest.Spec{Scheme: "nope"}.Model(t)
	expect.Equal(t, "the logits and tables of nope", len(trace(nope, false, 0, "pe/*")), 1)
}

// TestReadOut: the logits are the head's linear map of the read-out's token of the last hidden states, also
// where the last block computes that token alone and what an encoding adds to the logits exists as no
// tensor; and its gradients are those of the full computation.
func TestReadOut(t *testing.T) {
	for _, scheme := range pe.Names() {
		for _, fidelity := range []string{"code", "text"} {
			for _, readOut := range []string{arch.LastToken, arch.ProbeToken} {
				t.Run(fmt.Sprintf("%s/%s/%s", scheme, fidelity, readOut), func(t *testing.T) {
					m := petest.Spec{
						Scheme: scheme, Fidelity: fidelity, Heads: 2, Seeds: []uint64{1, 2},
						Change: func(c *models.Config) { c.ReadOut = readOut },
					}.Model(t)
					checkReadOut(t, m)
				})
			}
		}
	}
}

func checkReadOut(t *testing.T, m *models.Model) {
	short := trace(m, false, 0)["returned"]
	full := trace(m, false, 0, "hidden/1", "attention/*")
	petest.Near(t, "logits with and without the shortcut", short, full["returned"], 1e-12)
	x, p := draw(m, "trace"), values(t, m)
	const classes = 3
	d := m.Config.DModel
	want := petest.Array{Shape: short.Shape}
	for sample := range x.Members * x.Size {
		e, token := sample/x.Size, x.Tokens-1
		if m.Config.ReadOut == arch.ProbeToken {
			token = int(x.Probe[sample])
		}
		hidden := full["hidden/1"].Values[(sample*x.Tokens+token)*d:][:d]
		for c := range classes {
			z := p["head.bias"][e*classes+c]
			for i, h := range hidden {
				z += h * p["head.weight"][(e*classes+c)*d+i]
			}
			want.Values = append(want.Values, z)
		}
	}
	petest.Near(t, "logits by hand", short, want, 1e-12)
	petest.Near(t, "gradients with and without the shortcut", gradients(m), gradients(m, "hidden/1"), 1e-12)
}

// gradients returns the gradients of the summed cross-entropy, [E,P].
func gradients(m *models.Model, names ...string) petest.Array {
	s := torchpe.NewScope()
	defer s.Close()
	x := draw(m, "trace")
	m.Params.Grads(s).Fill(0)
	logits := m.Forward(s, seeded(s, m, x, 0), models.NewTrace(names...))
	torchpe.CrossEntropy(logits, torchpe.Of(s, torchpe.CPU, x.Target, x.Members, x.Size)).Sum().Backward()
	return petest.ArrayOf(m.Params.Grads(s))
}

// TestDropoutOnlyInTraining: evaluation drops nothing and needs no seed; training drops the same
// whenever a seed's step is repeated, and something else at another step and for another seed.
func TestDropoutOnlyInTraining(t *testing.T) {
	spec := func(dropout float64) *models.Model {
		return petest.Spec{Scheme: "learn", Change: func(c *models.Config) { c.Dropout = dropout }}.Model(t)
	}
	m, plain := spec(0.5), spec(0)
	same := func(a, b map[string]petest.Array) bool {
		return slices.Equal(a["returned"].Values, b["returned"].Values)
	}
	expect.Equal(t, "evaluation with dropout differs from a model without",
		!same(trace(m, false, 0), trace(plain, true, 0)), false)
	first := trace(m, true, 3)
	expect.Equal(t, "training drops nothing", same(first, trace(plain, true, 3)), false)
	expect.Equal(t, "one step drops differently when repeated", !same(first, trace(m, true, 3)), false)
	expect.Equal(t, "two steps drop alike", same(first, trace(m, true, 4)), false)
	other := func(seed uint64) (out petest.Array) {
		petest.Closed(func(s *torchpe.Scope) {
			in := seeded(s, m, draw(m, "trace"), 3)
			in.Training = true
			s.Seed([]uint64{seed}, 3)
			out = petest.ArrayOf(m.Forward(s, in, nil))
		})
		return out
	}
	expect.Equal(t, "two seeds drop alike", slices.Equal(other(1).Values, other(2).Values), false)
	petest.Closed(func(s *torchpe.Scope) {
		in := draw(m, "trace").Input(s, m)
		expect.Equal(t, "evaluation in a scope without a seed", torchpe.Catch(func() { m.Forward(s, in, nil) }),
			nil)
		in.Training = true
		expect.Error(t, torchpe.Catch(func() {
			m.Forward(s, in, nil)
		}), "seed")
	})
}

// TestTokenInput: in the published code's reading a blank has no channel, so that it enters as the
// bias alone, and symbol k as the bias plus column k-1 of the weight; in the text's each symbol has
// a row of its own.
func TestTokenInput(t *testing.T) {
	for _, input := range []string{arch.OneHot, arch.Embedding} {
		m := petest.Spec{Scheme: "nope", Change: func(c *models.Config) { c.TokenInput = input }}.Model(t)
		embedding, x, p := trace(m, false, 0, "embedding")["embedding"], draw(m, "trace"), values(t, m)
		const d, channels = 8, 4
		for i, symbol := range x.Symbols {
			for j := range d {
				want := 0.0
				switch {
				case input == arch.Embedding:
					want = p["embed.weight"][int(symbol)*d+j]
				case symbol == 0:
					want = p["embed.bias"][j]
				default:
					want = p["embed.bias"][j] + p["embed.weight"][j*channels+int(symbol)-1]
				}
				if got := embedding.Values[i*d+j]; math.Abs(got-want) > 1e-14 {
					t.Fatalf("%s: symbol %d enters with %g in dimension %d, want %g", input, symbol, got, j, want)
				}
			}
		}
	}
}
