// Package petest is the conformance suite of positional encodings: what every scheme promises,
// checked on the scheme alone and inside a small model. A scheme's test calls Run with what the
// registry does not say; the package's TestMain calls Main, which fails where a registered scheme
// was not run.
//
// A check returns an error instead of failing a test, so that petest's own tests can hold broken
// schemes against it. Inputs are drawn for each member from its seed alone, so that a member can be
// compared with the same model alone.
//
// The package is for tests. It may import torchpe, models/pe, models and the standard library.
package petest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Case describes a scheme to the suite, beside its entry in the registry.
type Case struct {
	Scheme string
	// Variants are run beside the two readings. Each option of the scheme must be the only one that
	// some variant changes.
	Variants []Variant
	// Noiseless holds options that turn off what is drawn anew for each element, for checks that
	// move tokens about.
	Noiseless pe.Options
	// Shift says what a shift of all positions does.
	Shift Shift
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

	shift *Shift // in place of the case's
	heads int    // the only number of heads; 0 for one and two
}

// Variants reads a variant from each text: options as name=value, and the words "text" for the text's
// reading, "moved" and "unmoved" for a shift in place of the case's, and "heads=1" for the only
// number of heads.
func Variants(texts ...string) (all []Variant) {
	shifts := map[string]Shift{"moved": Moved, "unmoved": Unmoved}
	for _, text := range texts {
		sp, others := read(text)
		v := Variant{Fidelity: sp.Fidelity, Given: sp.Given, heads: sp.Heads}
		for _, word := range others {
			shift, ok := shifts[word]
			if !ok {
				panic(fmt.Sprintf("the variant %q has the unknown word %q", text, word))
			}
			v.shift = &shift
		}
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

// Shift names the effect on the output of a shift of all positions by the same amount.
type Shift int

// The kinds. A relative scheme is Unmoved; so is one that knows no positions, or only their order.
const (
	Moved Shift = iota
	Unmoved
)

// Refusal holds a configuration that Build must answer with an error.
type Refusal struct {
	Name   string
	Spec   Spec     // its Scheme is set by the suite
	Expect []string // what the error's text must contain
}

// Refuse returns the refusal of a configuration that Read reads.
func Refuse(text string, expect ...string) Refusal { return Refusal{text, Read(text), expect} }

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
func on(spec func(trial) Spec, f func(trial, *models.Model) error) func(trial) error {
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

// ran holds the schemes that Run was called for.
var ran = map[string]bool{}

// Run holds a scheme against the suite: both readings and all variants, alone with one head, and as
// three members with two.
func Run(t *testing.T, c Case) {
	t.Helper()
	ran[c.Scheme] = true
	for _, check := range schemeChecks {
		t.Run(check.name, func(t *testing.T) {
			report(t, check, trial{Case: c, variant: Variant{Fidelity: "code"}, heads: 1, members: 1})
		})
	}
	for _, v := range append(Variants("", "text"), c.Variants...) {
		for _, size := range []struct{ heads, members int }{{1, 1}, {2, 3}} {
			if v.heads != 0 {
				size.heads = v.heads
			}
			for _, check := range checks {
				t.Run(fmt.Sprintf("%v/H%d/E%d/%s", v, size.heads, size.members, check.name), func(t *testing.T) {
					report(t, check, trial{Case: c, variant: v, heads: size.heads, members: size.members})
				})
			}
		}
	}
}

func report(t *testing.T, c check, tr trial) {
	t.Helper()
	if err := perform(c, tr); err != nil {
		t.Error(err)
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

// Main runs a package's tests. The exit status is 1 also where tensors are left alive or, if all
// tests were run, where a registered scheme was not held against the suite.
func Main(m *testing.M) int {
	code := m.Run()
	var problems []string
	if err := torchpe.CheckNoLiveTensors(); err != nil {
		problems = append(problems, err.Error())
	}
	if !filtered() {
		for _, name := range missing(pe.Names(), ran) {
			problems = append(problems, fmt.Sprintf("scheme %s is registered but no test calls "+
				"petest.Run for it", name))
		}
	}
	if problems == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, "FAIL:", strings.Join(problems, "\nFAIL: "))
	return 1
}

// missing lists the names that were not run.
func missing(names []string, ran map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return ran[name] })
}

// filtered reports whether the command line left out tests.
func filtered() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return false
}
