package models

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// TestUnseenAttention: a model whose attention weights nobody asks for, which are then never made
// for this many tokens, gives the predictions and gradients of the one whose weights are traced;
// also for the tokens that are read alone, and with dropout, which the weights must exist for.
func TestUnseenAttention(t *testing.T) {
	for _, name := range []string{"learn", "rope", "c-nope", "relative", "relative-bias", "alibi", "kerple", "tener",
		"transformer-xl", "deberta", "forgetting"} {
		for _, fidelity := range []string{"code", "text"} {
			t.Run(name+"/"+fidelity+"/read", func(t *testing.T) { checkUnseen(t, name, fidelity, true, 0) })
			t.Run(name+"/"+fidelity+"/all", func(t *testing.T) { checkUnseen(t, name, fidelity, false, 0) })
			t.Run(name+"/"+fidelity+"/dropout", func(t *testing.T) { checkUnseen(t, name, fidelity, true, 0.1) })
		}
	}
}

func checkUnseen(t *testing.T, name, fidelity string, read bool, dropout float64) {
	const n = 150 // with heads of width 12, more than 64^3 multiplications
	m := scalarModel(t, name, fidelity, n, func(c *Config) {
		c.DModel, c.Seeds, c.Sigma, c.Dropout = 24, []uint64{1, 2}, []float64{0.2, 1}, dropout
	})
	x := drawScalars(rand.New(rand.NewPCG(3, 4)), 2, 2, n, 61)
	trace := NewTrace("attention/*", "hidden/*")
	want, gradients, _ := passScalars(m, x, read, trace)
	if len(trace.Names()) != 4 {
		t.Fatalf("traced: %v", trace.Names())
	}
	have, others, _ := passScalars(m, x, read, nil)
	near(t, "predictions", have, want, 1e-11)
	near(t, "gradients", others, gradients, 1e-11)
}

// TestSharedValues: the projection of the first block, once for each token that is hidden and each that
// is not, with what their values add, gives predictions and gradients of each token's own projection,
// which a traced pass makes.
func TestSharedValues(t *testing.T) {
	for i := range 32 {
		name, fidelity := []string{"learn", "rope", "nope", "relative"}[i%4], []string{"code", "text"}[i/4%2]
		token, read := []MaskToken{LearnedMask, ZeroMask}[i/8%2], i/16 == 0
		m := scalarModel(t, name, fidelity, 9, func(c *Config) {
			c.Seeds, c.Sigma, c.MaskToken, c.MaskSD = []uint64{1, 2}, []float64{0.2, 1}, token, 0.5
		})
		x := drawScalars(rand.New(rand.NewPCG(3, 4)), 2, 5, 9, 4)
		want, gradients, traced := passScalars(m, x, read, NewTrace())
		have, others, taken := passScalars(m, x, read, nil)
		title := fmt.Sprintf("%s, %s, mask token %s, read %v: ", name, fidelity, token, read)
		if taken <= traced {
			t.Errorf("%stokens share no rows", title)
		}
		near(t, title+"predictions", have, want, 1e-12)
		near(t, title+"gradients", others, gradients, 1e-11)
	}
}

// passScalars returns the predictions of a training step, its gradients, and how often tokens took rows
// of others in it. With read, only the hidden tokens are read.
func passScalars(m *Model, x scalars, read bool, trace *Trace) (predicted, gradients []float64, taken int) {
	s := torchpe.NewScope()
	defer s.Close()
	s.Seed(m.Config.Seeds, 0)
	m.Params.Grads(s).Fill(0)
	in := x.input(s, m)
	in.Training = true
	if !read {
		in.Read = torchpe.Tensor{}
	}
	calls := torchpe.Operators(func() {
		y := m.Forward(s, in, trace)
		predicted = y.Float64s()
		y.Mul(y).Sum().Backward()
	})
	for operator, n := range calls {
		if strings.HasSuffix(operator, "::RowsFunction>") {
			taken += n
		}
	}
	return predicted, m.Params.Grads(s).Float64s(), taken
}

// BenchmarkManyTokens is a training step of masked prediction of 360 regions of the cortex, half of
// them masked: batch 32, d_model 64, 4 layers, 1 head, float32.
func BenchmarkManyTokens(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads%d", threads), func(b *testing.B) {
			before := torchpe.Threads()
			torchpe.SetThreads(threads)
			defer torchpe.SetThreads(before)
			benchmarkManyTokens(b)
		})
	}
}

func benchmarkManyTokens(b *testing.B) {
	const batch, n = 32, 360
	m := scalarModel(b, "learn", "code", n, func(c *Config) {
		c.Layers, c.Heads, c.DModel, c.FFMultiple, c.DType = 4, 1, 64, 4, torchpe.Float32
	})
	optimizer, err := torchpe.NewOptimizer(torchpe.Adam, m.Params)
	if err != nil {
		b.Fatal(err)
	}
	defer optimizer.Close()
	x := drawScalars(rand.New(rand.NewPCG(1, 2)), 1, batch, n, n/2)
	set := torchpe.StepSettings{LR: []float64{1e-4}, WeightDecay: []float64{0}, Active: []bool{true}}
	for b.Loop() {
		s := torchpe.NewScope()
		if err := optimizer.ZeroGrad(); err != nil {
			b.Fatal(err)
		}
		in := x.input(s, m)
		in.Training = true
		m.Forward(s, in, nil).Sub(in.Values.Gather(2, in.Read)).Square().Sum().Backward()
		if err := optimizer.Step(set); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// scalarModel builds a model of masked prediction of n tokens, in float64 and small unless change
// says otherwise.
func scalarModel(t testing.TB, name, fidelity string, n int, change func(*Config)) *Model {
	t.Helper()
	scheme, err := pe.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	options, err := scheme.Resolve(fidelity, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Positions: pe.Line(n), Classes: 1, Layers: 2, Heads: 2, DModel: 12, FFMultiple: 2,
		TokenInput: Scalar, MaskToken: LearnedMask, ReadOut: ReadTokens, PE: name, PEOptions: options,
		Sigma: []float64{0.2}, Seeds: []uint64{1}, DType: torchpe.Float64, Device: torchpe.CPU,
	}
	change(&c)
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// scalars are samples [E,B,N] of masked prediction in which the same number of tokens M is masked.
type scalars struct {
	members, batch, n, m int
	values, masked       []float64
	read                 []int64 // [E,B,M]
}

func drawScalars(rng *rand.Rand, members, batch, n, m int) scalars {
	x := scalars{members: members, batch: batch, n: n, m: m, masked: make([]float64, members*batch*n)}
	for sample := range members * batch {
		for range n {
			x.values = append(x.values, rng.NormFloat64())
		}
		for _, token := range rng.Perm(n)[:m] {
			x.masked[sample*n+token] = 1
			x.read = append(x.read, int64(token))
		}
	}
	return x
}

func (x scalars) input(s *torchpe.Scope, m *Model) Input {
	put := func(v []float64) torchpe.Tensor {
		return torchpe.Of(s, torchpe.CPU, v, x.members, x.batch, x.n).To(m.Config.DType, torchpe.CPU)
	}
	return Input{
		Values: put(x.values), Masked: put(x.masked), Read: torchpe.Of(s, torchpe.CPU, x.read, x.members, x.batch, x.m),
		Positions: m.Config.Positions,
	}
}
