package ctorch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// call runs the operation and frees what it made. An error must come with no tensor and have a
// text.
func (o operation) call(t *testing.T, a arguments) error {
	t.Helper()
	made, err := o.made(a)
	made = slices.DeleteFunc(made, func(h Handle) bool { return h == 0 })
	if err != nil && (len(made) != 0 || strings.TrimSpace(err.Error()) == "") {
		t.Errorf("%s: the error %q came with %d tensors", o.name, err, len(made))
	}
	expect.Equal(t, o.name+": freeing its result", Release(made), nil)
	return err
}

// good returns arguments that the operation accepts; free them.
func (o operation) good() arguments {
	a := arguments{list: o.list, f: 0.5, grad: true}
	for _, s := range o.tensors {
		a.t = append(a.t, s.tensor())
	}
	for _, i := range o.ints {
		a.i = append(a.i, i.good)
	}
	return a
}

// free frees the operands that are open.
func (a arguments) free() {
	slices.Sort(a.t)
	for _, h := range slices.Compact(a.t) {
		Release([]Handle{h})
	}
}

// with returns a copy with another operand, or another integer, at place k.
func (a arguments) with(k int, h Handle) arguments {
	a.t = slices.Clone(a.t)
	a.t[k] = h
	return a
}

func (a arguments) withInt(k, v int) arguments {
	a.i = slices.Clone(a.i)
	a.i[k] = v
	return a
}

// TestEveryFunctionHasACase reads functions.h and the table of operators, so that what is new there and
// tested nowhere fails here.
func TestEveryFunctionHasACase(t *testing.T) {
	header := expect.Must(os.ReadFile("shim/functions.h"))
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^FUNCTION\([^,]*, (tp_\w+),`)
	for _, m := range function.FindAllStringSubmatch(string(header), -1) {
		declared[m[1]] = true
	}
	for name := range operators() {
		declared[name] = true
	}
	if len(declared) < 100 {
		t.Fatalf("only %d functions and operators found", len(declared))
	}
	tested := map[string]bool{}
	for name := range systemCases {
		tested[name] = true
	}
	for _, o := range operations {
		tested[o.name] = true
	}
	delete(declared, "tp_op") // runs the operators
	delete(declared, "tp_op_name")
	for name := range tested {
		if !declared[name] {
			t.Errorf("%s is tested but neither a function nor an operator", name)
		}
		delete(declared, name)
	}
	for name := range declared {
		t.Errorf("%s has no case in operations_test.go or system_test.go", name)
	}
}

// TestGoodInput checks the table itself: what the tests below spoil was accepted before.
func TestGoodInput(t *testing.T) {
	for _, o := range operations {
		for _, grad := range []bool{true, false} {
			a := o.good()
			a.grad = grad
			expect.Equal(t, o.name, o.call(t, a), nil)
			for k, s := range o.tensors {
				if s.optional {
					expect.Equal(t, fmt.Sprintf("%s without operand %d", o.name, k), o.call(t, a.with(k, 0)), nil)
				}
			}
			a.free()
		}
	}
}

// TestBadHandles gives every operand of every function handles that name no open tensor.
func TestBadHandles(t *testing.T) {
	closed := must(Full(nil, 0, Float32, CPU))
	check(Release([]Handle{closed}))
	bad := map[string]Handle{
		"closed": closed, "zero": 0, "slot without generation": 1,
		"generation without slot": 1 << 32, "all ones": math.MaxUint64,
		"older generation": closed - 1<<32, "newer generation": closed + 1<<52,
		"slot that was never made": 1<<32 | 1<<31,
	}
	for _, o := range operations {
		a := o.good()
		for k, s := range o.tensors {
			for what, h := range bad {
				if h == 0 && s.optional || s.isLeftOut() {
					continue
				}
				err := o.call(t, a.with(k, h))
				if err == nil {
					t.Errorf("%s takes a handle of kind %q as operand %d", o.name, what, k)
				} else if h != 0 && !strings.Contains(err.Error(), "closed") || h == 0 &&
					!strings.Contains(err.Error(), "zero") {
					t.Errorf("%s with a handle of kind %q as operand %d says %q", o.name, what, k, err)
				}
			}
		}
		a.free()
	}
}

// TestBadIntegers gives every axis, length, offset, dtype and device absurd values.
func TestBadIntegers(t *testing.T) {
	for _, o := range operations {
		a := o.good()
		for k, i := range o.ints {
			for _, v := range i.refused {
				expect.Refused(t, fmt.Sprintf("%s: %d as integer %d", o.name, v, k), o.call(t, a.withInt(k, v)))
			}
			for _, v := range []int{math.MinInt, math.MinInt + 1, math.MinInt32, -1, 0, 2,
				math.MaxInt32, math.MaxInt - 1} {
				if v == math.MaxInt32 && (o.name == "OneHot" || o.name == "Pad") {
					continue // is a lot of memory, not an error
				}
				o.call(t, a.withInt(k, v))
			}
		}
		a.free()
	}
}

// absurdLists are no shape of any tensor, and no list of its axes.
var absurdLists = [][]int{
	{math.MaxInt, math.MaxInt}, {1 << 62, 1 << 62}, {1 << 32, 1 << 32}, {1 << 31, 1 << 31, 4},
	{1 << 59, 3}, {-3, -5}, {math.MinInt}, {-2, 3}, {2, -7},
	{1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 3, 1, 1, 1, 1, 1, 1, 1}, slices.Repeat([]int{1}, 65),
	slices.Repeat([]int{0}, 1000),
}

// TestBadLists gives every shape and list of axes absurd values.
func TestBadLists(t *testing.T) {
	for _, o := range operations {
		if o.list == nil {
			continue
		}
		a := o.good()
		for _, list := range absurdLists {
			a.list = list
			expect.Refused(t, fmt.Sprintf("%s: the list %v", o.name, list), o.call(t, a))
		}
		for _, list := range [][]int{nil, {}, {0}, {-1}, {-1, -1}, {0, 0}, {math.MaxInt},
			{math.MaxInt, 1}, {0, math.MaxInt}, {0, math.MaxInt, math.MaxInt}, {2, 2}} {
			a.list = list // means something to some of them
			o.call(t, a)
		}
		a.free()
	}
}

// oddities returns tensors that few operators expect.
func oddities() []Handle {
	hs := []Handle{
		must(Full(nil, 1, Float32, CPU)), must(Full([]int{0}, 0, Float32, CPU)),
		must(Full([]int{0, 3}, 0, Float64, CPU)),
		must(Full([]int{2, 0, 4}, 0, Float32, CPU)), must(Full([]int{1, 1, 2, 1, 3, 1, 1, 1}, 1, Float32, CPU)),
		must(Full([]int{2, 3}, 2, Float64, CPU)), must(Full([]int{2, 3, 4}, 2, Float32, CPU)),
		must(Full([]int{2, 3}, 1, Bool, CPU)),
		must(FromData([]int64{-1, math.MaxInt64, math.MinInt64}, []int{3}, Int64, CPU)),
		must(Full([]int{2, 3}, 0, Int64, CPU)),
		must(FromData([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))},
			[]int{1, 3}, Float32, CPU)),
		must(RandN([]int{2, 3, 2, 3, 4}, 1, Float32, CPU)), must(Full(nil, 0, Int64, CPU)),
		wanted(), leafWithGradient(),
	}
	turned := must(apply("Transpose", hs[6], true, 0, 2))
	repeated := must(apply("Expand", hs[0], true, 2, 3))
	history := must(apply("Exp", hs[13], true))
	return append(hs, turned, repeated, history)
}

// TestOddOperands puts tensors of other shapes, dtypes, layouts and histories in the place of
// operands: of one at a time, and, for what takes two, of both in every combination. Whatever
// comes, it is a result or an error.
func TestOddOperands(t *testing.T) {
	for _, c := range []struct {
		form, precision int
		fused           bool // the fused operators alone: the others know neither
	}{{Fused, 0, false}, {Fused, 2, true}, {Composed, 1, true}, {Emulated, 0, true}, {Emulated, 2, true}} {
		SetFusedForm(c.form)
		SetPrecision(c.precision)
		tryOddOperands(t, c.fused)
	}
	SetFusedForm(Fused)
	SetPrecision(0)
}

func tryOddOperands(t *testing.T, fused bool) {
	first := slices.IndexFunc(operations, func(o operation) bool { return o.name == "Linear" })
	for i, o := range operations {
		if fused && i < first {
			continue
		}
		odd := oddities()
		a := o.good()
		for k := range o.tensors {
			for _, x := range odd {
				o.call(t, a.with(k, x))
				for j := k + 1; j < len(o.tensors); j++ {
					for _, y := range odd {
						o.call(t, a.with(k, x).with(j, y))
					}
				}
			}
		}
		a.free()
		check(Release(odd))
	}
}

// TestRandomCalls makes sequences of calls with arguments drawn at random from good, odd and bad
// ones, on results of earlier calls: only errors and results come back, and every tensor can be
// freed after.
func TestRandomCalls(t *testing.T) {
	sequences := 12
	if testing.Short() {
		sequences = 2
	}
	before := Live()
	for seed := range sequences {
		calls, failed := randomSequence(rand.New(rand.NewPCG(uint64(seed), 32)), 1500)
		if failed == 0 || failed == calls {
			t.Errorf("sequence %d: %d of %d calls failed; the mixture tests nothing", seed, failed, calls)
		}
		expect.Equal(t, fmt.Sprintf("sequence %d: tensors left", seed), Live()-before, 0)
	}
	SetFusedForm(Fused)
	SetPrecision(0)
}

// randomSequence makes n calls and returns how many there were and how many failed.
func randomSequence(rng *rand.Rand, n int) (calls, failed int) {
	var pool []Handle
	defer func() {
		for _, h := range pool {
			Release([]Handle{h})
		}
	}()
	for range n {
		if len(pool) < 10 {
			pool = append(pool, oddities()...)
		}
		if len(pool) > 60 {
			k := rng.IntN(len(pool))
			Release(pool[k : k+1]) // it stays in the pool at times, as a closed one
			if rng.IntN(4) > 0 {
				pool = slices.Delete(pool, k, k+1)
			}
		}
		SetFusedForm([]int{Fused, Fused, Composed, Emulated}[rng.IntN(4)])
		SetPrecision(rng.IntN(3))
		o := operations[rng.IntN(len(operations))]
		a := o.random(rng, pool)
		made, err := o.made(a)
		calls++
		if err != nil {
			failed++
		}
		for k, h := range a.t { // those made for this call; a closed one is refused
			if !slices.Contains(pool, h) && h != 0 {
				Release(a.t[k : k+1])
			}
		}
		for _, h := range made {
			if h != 0 && moderate(h) {
				pool = append(pool, h)
			} else if h != 0 {
				Release([]Handle{h})
			}
		}
	}
	return calls, failed
}

// random draws arguments: half of them good ones, the others anything.
func (o operation) random(rng *rand.Rand, pool []Handle) arguments {
	a := o.good()
	a.f = []float64{0.5, 0, -1, 3, 1e300, math.NaN(), math.Inf(1)}[rng.IntN(7)]
	a.grad = rng.IntN(2) == 0
	for k := range a.t {
		if rng.IntN(2) == 0 {
			Release(a.t[k : k+1])
			a.t[k] = pool[rng.IntN(len(pool))]
		}
	}
	for k, i := range o.ints {
		switch rng.IntN(4) {
		case 0:
			a.i[k] = rng.IntN(9) - 4
		case 1:
			if len(i.refused) > 0 {
				a.i[k] = i.refused[rng.IntN(len(i.refused))]
			}
		}
	}
	if o.list != nil && rng.IntN(2) == 0 {
		a.list = make([]int, rng.IntN(6))
		for k := range a.list {
			a.list[k] = rng.IntN(6) - 1
		}
		if rng.IntN(8) == 0 {
			a.list = absurdLists[rng.IntN(len(absurdLists))]
		}
	}
	return a
}

// moderate says whether further calls can work on a tensor without much memory or time. A list like
// {MaxInt} makes a tensor of that many elements out of one, by repeating it.
func moderate(h Handle) bool {
	info, err := Describe(h)
	if err != nil {
		return false
	}
	n := 1.0
	for _, d := range info.Shape {
		n *= float64(d)
	}
	return n <= 1e4
}
