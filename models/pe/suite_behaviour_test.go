package pe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// checkPermutation checks that tokens in another order, at their positions, give the same in that
// order: attention, hidden states and the probe's answer. Without their positions they must do so
// only where the scheme knows none.
func checkPermutation(_ trial, m *models.Model) error {
	order := []int{5, 0, 3, 7, 1, 6, 2, 4}
	if n := m.Config.Positions.Tokens(); n != len(order) {
		order = rand.New(rand.NewPCG(1, 2)).Perm(n)
	}
	b := newBatch(m, m.Config.Positions)
	want := forward(b, m)
	for name, x := range want {
		switch kind, _, _ := strings.Cut(name, "/"); kind {
		case "attention":
			want[name] = along(along(x, 3, order), 4, order)
		case "pe":
			want[name] = along(x, len(x.Shape)-2, order)
		case "hidden", "embedding":
			want[name] = along(x, 2, order)
		}
	}
	moved := permuted(b, order)
	if err := near(forward(moved, m), want, exactly); err != nil {
		return fmt.Errorf("permuted tokens and positions: %w", err)
	}
	moved.Positions = b.Positions
	blind := m.Encoding.Sites(0) == 0 && !m.Encoding.Attention(0).Causal
	switch err := near(forward(moved, m), want, petest.Tolerance{Atol: 1e-9, Rtol: 1e-9}); {
	case blind && err != nil:
		return fmt.Errorf("a scheme that acts nowhere feels the order of tokens: %w", err)
	case !blind && err == nil:
		return fmt.Errorf("permuted tokens without their positions give the same: " +
			"the scheme ignores positions")
	}
	return nil
}

// checkShift checks that the same tokens at places further on give the same if and only if the case
// says so.
func checkShift(tr trial, m *models.Model) error {
	unmoved := tr.Unmoved
	if tr.variant.shift != "" {
		unmoved = tr.variant.shift == "unmoved"
	}
	if tr.Apart[0] == nil {
		tr.Apart = [2][]int{{0, 1, 2, 3, 4}, {3, 4, 5, 6, 7}}
	}
	run := func(places []int) map[string]petest.Array {
		found := forward(newBatch(m, m.Config.Positions.Permuted(places)), m)
		for name := range found {
			if strings.HasPrefix(name, "pe/") { // an absolute scheme's table, which moves of course
				delete(found, name)
			}
		}
		return found
	}
	switch err := near(run(tr.Apart[1]), run(tr.Apart[0]), petest.Tolerance{Atol: 1e-11, Rtol: 1e-11}); {
	case unmoved && err != nil:
		return fmt.Errorf("positions shifted: %w", err)
	case !unmoved && err == nil:
		return fmt.Errorf("positions shifted give the same, which the case does not say")
	}
	return nil
}

// exactly allows rounding of a few products in float64.
var exactly = petest.Tolerance{Atol: 1e-12, Rtol: 1e-12}

// along moves entries of axis dim: entry i of the result is entry order[i] of a.
func along(a petest.Array, dim int, order []int) petest.Array {
	n, inner := a.Shape[dim], 1
	for _, size := range a.Shape[dim+1:] {
		inner *= size
	}
	out := petest.Array{Shape: append([]int(nil), a.Shape...)}
	out.Shape[dim] = len(order)
	for outer := 0; outer < len(a.Values); outer += n * inner {
		for _, from := range order {
			out.Values = append(out.Values, a.Values[outer+from*inner:outer+(from+1)*inner]...)
		}
	}
	return out
}

// same reports whether two arrays have the same shape and bits.
func same(a, b petest.Array) bool {
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) {
		return false
	}
	for i := range a.Values {
		if math.Float64bits(a.Values[i]) != math.Float64bits(b.Values[i]) {
			return false
		}
	}
	return true
}

// finite reports whether no value is NaN or infinite.
func finite(values []float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// near returns an error where any intermediate of the one run differs from that of the other.
func near(got, want map[string]petest.Array, tol petest.Tolerance) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d intermediates, want %d", len(got), len(want))
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok {
			return fmt.Errorf("no %s", name)
		}
		if err := petest.Compare(g, w, tol); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// parameters returns all parameters by name.
func parameters(m *models.Model) (map[string]petest.Array, error) {
	found := map[string]petest.Array{}
	for _, p := range m.Params.All() {
		values, err := m.Params.Values(p.Name)
		if err != nil {
			return nil, err
		}
		found[p.Name] = petest.Array{Shape: p.Shape, Values: values}
	}
	return found, nil
}

// buildAndRun returns the parameters and intermediates of a model that lives no longer.
func buildAndRun(sp petest.Spec) (params, run map[string]petest.Array, err error) {
	m, err := sp.New()
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	if params, err = parameters(m); err != nil {
		return nil, nil, err
	}
	return params, forward(newBatch(m, m.Config.Positions), m), nil
}

// checkSeeds checks that the same seed gives the same bits, and another seed other values.
func checkSeeds(tr trial) error {
	sp := tr.spec()
	params, run, err := buildAndRun(sp)
	if err != nil {
		return err
	}
	again, rerun, err := buildAndRun(sp)
	if err != nil {
		return err
	}
	for _, pair := range []struct{ a, b map[string]petest.Array }{{params, again}, {run, rerun}} {
		for name, x := range pair.a {
			if !same(x, pair.b[name]) {
				return fmt.Errorf("%s differs between two models of one seed", name)
			}
		}
	}
	sp.Seeds = []uint64{44, 55, 66}[:tr.members]
	m, err := sp.New()
	if err != nil {
		return err
	}
	defer m.Close()
	other, err := parameters(m)
	if err != nil {
		return err
	}
	for _, p := range m.Params.All() {
		if !strings.HasPrefix(p.Name, "pe.") {
			continue
		}
		drawn := p.Trainable || slices.Contains(tr.Drawn, p.Name)
		for e := range tr.members {
			equal := slices.Equal(params[p.Name].Row(e), other[p.Name].Row(e))
			if slices.Contains(tr.Constant, p.Name) {
				if !equal {
					return fmt.Errorf("%s of member %d depends on the seed, "+
						"but is in Case.Constant", p.Name, e)
				}
			} else if equal && drawn {
				return fmt.Errorf("%s of member %d is the same for another seed", p.Name, e)
			} else if !equal && !drawn {
				return fmt.Errorf("%s of member %d depends on the seed, but is neither trained "+
					"nor in Case.Drawn", p.Name, e)
			}
		}
	}
	return nil
}

// checkMembers checks that a member of the ensemble, with its own seed and sigma, equals the same
// model alone.
func checkMembers(tr trial) error {
	sp := tr.spec()
	params, run, err := buildAndRun(sp)
	if err != nil {
		return err
	}
	for e := range tr.members {
		alone := sp
		alone.Seeds, alone.Sigma = sp.Seeds[e:e+1], sp.Sigma[e:e+1]
		ownParams, own, err := buildAndRun(alone)
		if err != nil {
			return err
		}
		for _, pair := range []struct{ all, own map[string]petest.Array }{{params, ownParams}, {run, own}} {
			member := map[string]petest.Array{} // with the axis E kept
			for name, x := range pair.all {
				member[name] = petest.Array{Shape: append([]int{1}, x.Shape[1:]...), Values: x.Row(e)}
			}
			if err := near(member, pair.own, exactly); err != nil {
				return fmt.Errorf("member %d and the same model alone: %w", e, err)
			}
		}
	}
	return nil
}

// checkTokens checks that a forward pass works with fewer tokens than the scheme was built for. One
// with more must equal that of a scheme built for them, or be an *Error.
func checkTokens(tr trial, m *models.Model) error {
	for _, tokens := range []int{3, 1} {
		p := m.Config.Positions.Permuted(places(0, tokens))
		var run map[string]petest.Array
		if err := torchpe.Catch(func() { run = forward(newBatch(m, p), m) }); err != nil {
			return fmt.Errorf("%d tokens of %d: %w", p.Tokens(), m.Config.Positions.Tokens(), err)
		}
		if !finite(run["logits"].Values) {
			return fmt.Errorf("%d tokens of %d: logits that are not finite",
				p.Tokens(), m.Config.Positions.Tokens())
		}
	}
	wider := tr.wider()
	var got map[string]petest.Array
	if torchpe.Catch(func() { got = forward(newBatch(m, wider.Positions), m) }) != nil {
		return nil
	}
	_, want, err := buildAndRun(wider)
	if err != nil {
		return err
	}
	if err := near(got, want, exactly); err != nil {
		return fmt.Errorf("12 tokens, built for 8, are no error and differ from what a scheme "+
			"built for 12 gives: %w", err)
	}
	return nil
}

// checkExtrapolation checks the registry's claim about evaluation at more tokens: nothing that is
// trained or drawn depends on their number, and a model with these parameters computes the same as
// one built for as many. Otherwise Model.At must return an error.
func checkExtrapolation(tr trial, m *models.Model) error {
	scheme, err := pe.Find(tr.Scheme)
	if err != nil {
		return err
	}
	options := m.Config.PEOptions
	can := scheme.CanExtrapolate(options)
	if err := scheme.CheckTokens(8, 12, options); (err == nil) != can {
		return fmt.Errorf("the registry says %v to more tokens, CheckTokens %w", can, err)
	}
	if err := scheme.CheckTokens(8, 8, options); err != nil {
		return fmt.Errorf("as many tokens: %w", err)
	}
	wider := tr.wider()
	if !can {
		return refusesMore(m, scheme.Name, wider.Positions)
	}
	w, err := wider.New()
	if err != nil {
		return nil // it says what is in the way: a maximum of its options
	}
	defer w.Close()
	for _, p := range w.Params.All() {
		kept := m.Params.Get(p.Name)
		if !p.Trainable && !slices.Contains(tr.Drawn, p.Name) {
			continue // computed anew
		}
		if kept == nil || fmt.Sprint(kept.Shape) != fmt.Sprint(p.Shape) {
			return fmt.Errorf("it is said to extrapolate, but %s %v is of another shape at "+
				"%d tokens", p.Name, p.Shape, wider.Positions.Tokens())
		}
	}
	return evaluatesAt(m, w)
}

// refusesMore checks that a scheme that cannot be evaluated at more tokens returns an error with
// its name.
func refusesMore(m *models.Model, name string, p pe.Positions) error {
	if p.Tokens() <= m.Config.Positions.Tokens() {
		return nil
	}
	at, err := m.At(p)
	if err == nil {
		at.Close()
		return fmt.Errorf("it cannot be evaluated at more tokens, yet Model.At(%v) is no error", p)
	}
	if !strings.Contains(err.Error(), name) {
		return fmt.Errorf("Model.At(%v) does not name it: %w", p, err)
	}
	return nil
}

// evaluatesAt checks that m at the positions of w computes the same as w, which was built for them
// from the same seeds. Schemes that depend on the number of trained tokens differ, but must be finite.
func evaluatesAt(m, w *models.Model) error {
	at, err := m.At(w.Config.Positions)
	if err != nil {
		return err
	}
	defer at.Close()
	got := forward(newBatch(at, w.Config.Positions), at)
	want := forward(newBatch(w, w.Config.Positions), w)
	if !finite(got["logits"].Values) {
		return fmt.Errorf("at %v: logits that are not finite", w.Config.Positions)
	}
	for _, name := range []string{"rope-trained-tokens", "tape-length"} {
		if remembered, ok := m.Config.PEOptions[name]; ok && remembered == "0" {
			return nil
		}
	}
	if err := near(got, want, exactly); err != nil {
		return fmt.Errorf("at %v it differs from the same scheme built for them: %w", w.Config.Positions, err)
	}
	return nil
}

// checkDevices checks that a GPU, where there is one, computes the same as the CPU.
func checkDevices(tr trial) error {
	_, want, err := buildAndRun(tr.spec())
	if err != nil {
		return err
	}
	for _, device := range devices()[1:] {
		_, got, err := buildAndRun(typed(tr.spec(), torchpe.Float64, device))
		if err != nil {
			return err
		}
		if err := near(got, want, petest.Tolerance{Atol: 1e-9, Rtol: 1e-9}); err != nil {
			return fmt.Errorf("%v: %w", device, err)
		}
	}
	return nil
}
