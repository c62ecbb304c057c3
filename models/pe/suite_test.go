package pe_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// The conformance suite of positional encodings: what every scheme promises, checked on the scheme
// alone and inside a small model. Inputs are drawn for each member from its seed
// alone, so that a member can be compared with the same model alone.

// Case describes a scheme to the suite, beside its entry in the registry.
type Case struct {
	Scheme string
	// Variants are run beside the two readings. Each option of the scheme must be the only one that
	// some variant changes.
	Variants []Variant
	// Noiseless holds options that turn off what is drawn anew for each element, for checks that
	// move tokens about.
	Noiseless pe.Options
	// Unmoved says that a shift of all positions changes nothing: the scheme is relative, or knows no
	// positions, or only their order.
	Unmoved bool
	// Drawn names the parameters that are not trained but drawn from the seed; all others that are
	// not trained are computed.
	Drawn []string
	// Constant names the trained parameters that start at the same values for every seed.
	Constant []string
	// Unfelt names the trained parameters whose gradient may be zero in some variant: they add the
	// same to all logits of a query, which the softmax does not see.
	Unfelt []string
	// Kinks says that the scheme has a network with so many kinks that difference quotients would cross
	// some: gradients are compared with smaller steps, to fewer digits.
	Kinks bool
	// Positions are for schemes that cannot use a grid of 2 x 4: 8 tokens, or as many as an option needs
	// to have an effect. More are positions of more tokens, in place of a grid of 3 x 4.
	Positions, More pe.Positions
	// Apart names two sets of tokens that a shift brings on each other; places 0..4 and 3..7 where
	// it is left out.
	Apart [2][]int
	// DModel is for schemes that need wider heads than 8 and 4.
	DModel int
	// Refuse lists configurations that the scheme cannot serve, beside those that none can.
	Refuse []Refusal
}

// Variant names a reading, and options that differ from it.
type Variant struct {
	Fidelity string // "code" or "text"
	Given    pe.Options

	shift string // "moved" or "unmoved", in place of the case's; "" for the case's
	heads int    // the only number of heads; 0 for one and two
}

// variants reads a variant from each text: what petest.Read reads, where "heads=1" is the only number of
// heads, and at the end "moved" or "unmoved" for the effect of a shift in place of the case's.
func variants(texts ...string) (all []Variant) {
	for _, text := range texts {
		v := Variant{}
		for _, word := range []string{"moved", "unmoved"} {
			if rest, ok := strings.CutSuffix(text, " "+word); ok {
				text, v.shift = rest, word
			}
		}
		sp := petest.Read(text)
		v.Fidelity, v.Given, v.heads = sp.Fidelity, sp.Given, sp.Heads
		all = append(all, v)
	}
	return all
}

func (v Variant) String() string {
	name := v.Fidelity
	for _, option := range slices.Sorted(maps.Keys(v.Given)) {
		name += "," + option + "=" + v.Given[option]
	}
	return name
}

// Refusal holds a configuration that Build must answer with an error.
type Refusal struct {
	Name   string
	Spec   petest.Spec // its Scheme is set by the suite
	Expect []string    // what the error's text must contain
}

// refuse returns the refusal of a configuration that petest.Read reads.
func refuse(text string, expect ...string) Refusal { return Refusal{text, petest.Read(text), expect} }

// check tests one promise of every scheme.
type check struct {
	name string
	run  func(trial) error
}

// checks are run on every variant at every size, schemeChecks once a scheme.
var (
	checks = []check{
		{"hooks", checkHooks},
		{"sites", on(trial.spec, checkSites)},
		{"tables", on(trial.quiet, checkTables)},
		{"permutation", on(trial.quiet, checkPermutation)},
		{"shift", on(trial.quiet, checkShift)},
		{"gradients", on(trial.spec, checkGradients)},
		{"seeds", checkSeeds},
		{"members", checkMembers},
		{"tokens", on(trial.spec, checkTokens)},
		{"extrapolation", on(trial.spec, checkExtrapolation)},
		{"devices", checkDevices},
	}
	schemeChecks = []check{
		{"options", checkOptions},
		{"differ", checkDiffer},
		{"refusals", checkRefusals},
	}
)

// on returns a check of the model that spec describes.
func on(spec func(trial) petest.Spec, f func(trial, *models.Model) error) func(trial) error {
	return func(tr trial) error {
		m, err := spec(tr).New()
		if err != nil {
			return err
		}
		defer m.Close()
		return f(tr, m)
	}
}

// trial is a variant at one size, the argument of a check.
type trial struct {
	Case
	variant        Variant
	heads, members int
}

// conforms holds a scheme against the suite: both readings and all variants, alone with one head, and as
// three members with two.
func conforms(t *testing.T, c Case) {
	t.Helper()
	run := func(t *testing.T, name string, check check, tr trial) {
		t.Run(name, func(t *testing.T) {
			expect.NoError(t, perform(check, tr))
		})
	}
	for _, check := range schemeChecks {
		run(t, check.name, check, trial{Case: c, variant: Variant{Fidelity: "code"}, heads: 1, members: 1})
	}
	for _, v := range append(variants("", "text"), c.Variants...) {
		for _, size := range []struct{ heads, members int }{{1, 1}, {2, 3}} {
			if v.heads != 0 {
				size.heads = v.heads
			}
			for _, check := range checks {
				run(t, fmt.Sprintf("%v/H%d/E%d/%s", v, size.heads, size.members, check.name), check,
					trial{Case: c, variant: v, heads: size.heads, members: size.members})
			}
		}
	}
}

// perform runs a check and turns the panic of an operator into its error. A check that passes must leave
// no tensor, for it closes its models and scopes.
func perform(c check, tr trial) (err error) {
	before := torchpe.Live()
	if caught := torchpe.Catch(func() { err = c.run(tr) }); caught != nil {
		return caught
	}
	if left := torchpe.Live() - before; err == nil && left != 0 {
		return fmt.Errorf("%d tensors are left of models that were closed", left)
	}
	return err
}

// spec returns the trial's instance.
func (tr trial) spec() petest.Spec {
	return petest.Spec{
		Scheme: tr.Scheme, Fidelity: tr.variant.Fidelity, Given: tr.variant.Given, Heads: tr.heads,
		Seeds: petest.Seeds[:tr.members], Sigma: petest.Sigma[:tr.members], Positions: tr.Positions,
		DModel: tr.DModel,
	}
}

// wider returns the trial's instance at more tokens.
func (tr trial) wider() petest.Spec {
	sp := tr.spec()
	if sp.Positions = tr.More; sp.Positions.Index == nil {
		sp.Positions = pe.Grid(3, 4)
	}
	return sp
}

// typed returns the instance with elements of a type, on a device.
func typed(sp petest.Spec, dtype torchpe.DType, device torchpe.Device) petest.Spec {
	sp.Change = func(c *models.Config) { c.DType, c.Device = dtype, device }
	return sp
}

// quiet returns the trial's instance without dropout.
func (tr trial) quiet() petest.Spec {
	sp := tr.spec()
	sp.Given = pe.Options{}
	maps.Copy(sp.Given, tr.variant.Given)
	maps.Copy(sp.Given, tr.Noiseless)
	return sp
}

// newBatch draws the suite's two samples for each member.
func newBatch(m *models.Model, p pe.Positions) petest.Batch { return petest.NewBatch(m, p, 2, "batch") }

// permuted returns the batch with its tokens in another order, at their positions.
func permuted(b petest.Batch, order []int) petest.Batch {
	q := b
	q.Positions = b.Positions.Permuted(order)
	q.Symbols, q.Probe = make([]int64, len(b.Symbols)), make([]int64, len(b.Probe))
	for sample := range b.Probe {
		for i, from := range order {
			q.Symbols[sample*b.Tokens+i] = b.Symbols[sample*b.Tokens+from]
			if int64(from) == b.Probe[sample] {
				q.Probe[sample] = int64(i)
			}
		}
	}
	return q
}

// noiseStep is the step in the seed of random operators in the suite.
const noiseStep = 3

// forward runs the model and returns all intermediates by name.
func forward(b petest.Batch, m *models.Model) map[string]petest.Array {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	s.Seed(m.Config.Seeds, noiseStep)
	trace := models.NewTrace("embedding", "pe/*", "attention/*", "hidden/*", "logits")
	m.Forward(s, b.Input(s, m), trace)
	found := map[string]petest.Array{}
	for _, name := range trace.Names() {
		x, _ := trace.Get(name)
		found[name] = petest.ArrayOf(x)
	}
	return found
}
