package paper

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// fixtures are accuracies and what scipy makes of them: testdata/make.py.
type fixtures struct {
	Pairs map[string]struct {
		High, Low struct {
			Seeds  []uint64
			Values []float64
		}
		Difference, T, P float64
		Interval         [2]float64
	}
	Means map[string]struct {
		Values   []float64
		Interval [2]float64
	}
	Correlations map[string]struct {
		X, Y   []float64
		Rho, P float64
	}
}

func readFixtures(t *testing.T) (f fixtures) {
	t.Helper()
	b := expect.Must(os.ReadFile("testdata/claims.json"))
	if err := json.Unmarshal(b, &f); err != nil || len(f.Pairs) != 5 || len(f.Means) != 3 ||
		len(f.Correlations) != 4 {
		t.Fatalf("%d pairs, %v", len(f.Pairs), err)
	}
	return f
}

// made is a group of fitted models with the given validation accuracies, training accuracy 1 and IID
// accuracy .9. The encoding is the label's.
func made(label string, seeds []uint64, values ...float64) cohort.Group {
	g := cohort.Group{Label: label}
	for i, v := range values {
		m := cohort.Model{Run: &cohort.Run{}, Member: cohort.Member{Seed: uint64(i), LR: 1e-4},
			Result: runlog.MemberResult{Measures: runlog.Numbers{"validation": v, "train": 1, "iid": .9}}}
		if seeds != nil {
			m.Member.Seed = seeds[i]
		}
		setEncoding(m.Run, label)
		if text, isLearned := strings.CutPrefix(label, "learn-"); isLearned {
			setEncoding(m.Run, "learn")
			sigma, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(err)
			}
			m.Member.Sigma = &sigma
		}
		g.Models = append(g.Models, m)
	}
	return g
}

// meanSpread is ".956 ± .039".
func meanSpread(x []float64) string {
	return short(average(x), 3) + " ± " + short(spread(x), 3)
}

// setEncoding gives a run an encoding, as its config.json says it, and the paper's set-up.
func setEncoding(r *cohort.Run, pe string) {
	r.Config.PE, r.Config.JSON = pe, fmt.Appendf(nil, `{"pe":%q}`, pe)
	setPaper(r)
}

// setPaper gives a run the paper's size and published puzzles.
func setPaper(r *cohort.Run) {
	r.Config.DModel, r.Config.Layers, r.Config.Batch = paper.Width, 4, 128
	r.Config.LSTTrain, r.DataSHA256 = []string{"published.csv"}, published
}

// unfit makes a model one that has not fitted, with training accuracy .5.
func unfit(g cohort.Group, i int) cohort.Group {
	g.Models = slices.Clone(g.Models)
	g.Models[i].Result.Measures = maps.Clone(g.Models[i].Result.Measures)
	g.Models[i].Result.Measures["train"] = .5
	return g
}

// Masked prediction has no criterion of having fitted, so that models of other lengths are not compared.
func TestLengthsOfMaskedPrediction(t *testing.T) {
	masked := func(g cohort.Group, steps int) cohort.Group {
		for i, m := range g.Models {
			m.Run.Config.Masked, g.Models[i].Result.Steps = &config.MaskedConfig{NMAR: &config.NMAR{}}, steps
			m.Result.Measures["test_mse/0.50"] = m.Result.Measures["validation"]
		}
		return g
	}
	high, low := masked(made("a", nil, .91, .9, .92, .9, .93), 1200), masked(made("b", nil, .5, .51, .5, .52, .5), 1200)
	c := comparison{high: "a", low: "b", measure: "test_mse/0.50"}
	for steps, want := range map[int]string{1200: reproduced, 5: inconclusive} {
		masked(low, steps)
		s := &Study{}
		d := &draft{Draft: item.Draft{Measure: s.value, Groups: []cohort.Group{high, low}}, study: s}
		f := s.compare(c, d.Groups)
		nmarErrors(d)
		hasF := d.Tables[0].Rows[2][4].String() != ""
		if f.verdict != want || (anovaText(d) != "") != (steps == 1200) || hasF != (steps == 1200) {
			t.Errorf("%d steps: %+v, %q, F in the table: %v", steps, f, anovaText(d), hasF)
		}
	}
}

// A difference is reproduced where its interval lies above 0, not reproduced where it lies below,
// and inconclusive otherwise, nor of models that have not fitted; models are paired by seed, in any
// order.
func TestComparison(t *testing.T) {
	for name, want := range map[string]struct{ n, verdict string }{
		"clear": {"6 pairs", reproduced}, "opposite": {"5 pairs", notReproduced},
		"unclear": {"7 pairs", inconclusive},
		"four":    {"4 pairs", reproduced}, "some seeds": {"6 pairs", reproduced},
	} {
		p := readFixtures(t).Pairs[name]
		high, low := made("a", p.High.Seeds, p.High.Values...), made("b", p.Low.Seeds,
			p.Low.Values...)
		c := comparison{high: "a", low: "b", measure: "validation", isPuzzle: true}
		f := (&Study{}).compare(c, []cohort.Group{made("c", nil, .1), low, high})
		n := float64(len(p.Low.Values))
		test := fmt.Sprintf("difference %s, 95 %% %s to %s", short(p.Difference, 3),
			short(p.Interval[0], 3), short(p.Interval[1], 3))
		if n >= 5 { // of fewer there is no p
			test += fmt.Sprintf(", paired t(%g) = %s, %s", n-1, short(p.T, 2), chanceOf(p.P))
		}
		here := fmt.Sprintf("a: validation %s (training 1.000, IID .900); b: validation %s "+
			"(training 1.000, IID .900)",
			meanSpread(p.High.Values), meanSpread(p.Low.Values))
		if f.here != here || f.test != test || f.n != want.n || f.verdict != want.verdict {
			t.Errorf("%s:\n%+v, want\n%q, %q, %v", name, f, here, test, want)
		}
		turned := map[string]string{reproduced: notReproduced, notReproduced: notReproduced,
			inconclusive: reproduced}
		expect.Equal(t, fmt.Sprintf("%s: that they are alike", name), claimNoDifference(f).verdict,
			turned[want.verdict])
		for side, all := range map[string][]cohort.Group{"high": {unfit(high, 1), low},
			"low": {high, unfit(low, 2)}} {
			f := (&Study{}).compare(c, all)
			if f.verdict != inconclusive || f.test != test || claimNoDifference(f).verdict != inconclusive ||
				!strings.Contains(f.here, "*: validation") {
				t.Errorf("%s, the %s not fitted: %+v, alike %s", name, side, f, claimNoDifference(f).verdict)
			}
		}
		c.isPuzzle = false // masked prediction has no criterion
		f = (&Study{}).compare(c, []cohort.Group{unfit(high, 1), low})
		if f.verdict != want.verdict || strings.Contains(f.here, "training") {
			t.Errorf("%s, not of puzzles: %+v", name, f)
		}
	}
}

// Without a group, a pair, or a number, nothing is compared.
func TestComparisonOfNothing(t *testing.T) {
	c := comparison{high: "a", low: "b", measure: "validation", isPuzzle: true}
	a, nan := made("a", nil, .9, .8, .7), math.NaN()
	for name, all := range map[string][]cohort.Group{"none": nil, "no low": {a},
		"no high": {made("b", nil, .5)}} {
		if f := (&Study{}).compare(c, all); f != absent || claimNoDifference(f).verdict != inconclusive ||
			f.here != "no runs" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for n, b := range map[string]cohort.Group{
		"0 pairs": made("b", []uint64{7, 8}, .5, .6), "1 pair": made("b", []uint64{1, 8}, .5, .6),
		"2 pairs": made("b", nil, .5, nan, .6), // a seed without a number is no pair
	} {
		f := (&Study{}).compare(c, []cohort.Group{a, b})
		if f.n != n || f.test != "" || f.verdict != inconclusive || claimNoDifference(f).verdict == reproduced {
			t.Errorf("%s: %+v", n, f)
		}
	}
	// Differences .4, .2 and .1: mean .2333, SD .152753, t(.975, 2) = 4.302653.
	f := (&Study{}).compare(c, []cohort.Group{a, made("b", nil, .5, .6, .6)})
	expect.Equal(t, "test of three pairs", f.test, "difference .233, 95 % −.146 to .613")
	f = (&Study{}).compare(c, []cohort.Group{made("a", nil, .9), made("b", nil, .5)})
	expect.Equal(t, "one model has an SD", f.here,
		"a: validation .900 (training 1.000, IID .900); b: validation .500 (training 1.000, IID .900)")
}

// A correlation is reproduced where it has the claimed sign and p < .05, and not reproduced where
// it has the other.
func TestCorrelates(t *testing.T) {
	for name, verdicts := range map[string][2]string{ // of a claimed rise and of a claimed fall
		"rising": {reproduced, notReproduced}, "falling": {notReproduced, reproduced},
		"neither": {inconclusive, inconclusive}, "four": {inconclusive, inconclusive},
	} {
		c := readFixtures(t).Correlations[name]
		var all []cohort.Group
		for i := range c.X { // means of two models each
			g := made(fmt.Sprint(i), nil, c.X[i]-.1, c.X[i]+.1)
			g.Models[0].Result.Measures["iid"], g.Models[1].Result.Measures["iid"] = c.Y[i]+.05, c.Y[i]-.05
			all = append(all, g)
		}
		want := fmt.Sprintf("Spearman ρ = %s, %s, n = %d groups", short(c.Rho, 2), chanceOf(c.P),
			len(c.X))
		for k, sign := range []float64{1, -1} {
			f := (&Study{}).correlate(trend{sign, "groups", "validation", "iid"}, all)
			if f.verdict != verdicts[k] || f.test != want || f.here != "ρ = "+short(c.Rho, 2) ||
				f.n != fmt.Sprint(len(c.X), " groups") {
				t.Errorf("%s, sign %g: %+v, want %q, %s", name, sign, f, want, verdicts[k])
			}
			bad := append(slices.Clone(all[1:]), unfit(all[0], 0))
			expect.Equal(t, fmt.Sprintf("%s, one not fitted", name),
				(&Study{}).correlate(trend{sign, "groups", "validation", "iid"}, bad).verdict, inconclusive)
		}
		expect.Equal(t, "two groups correlate",
			(&Study{}).correlate(trend{1, "groups", "validation", "iid"}, all[:2]), absent)
	}
}

// Groups that differ in more than the encoding tell nothing about it, but where that is the question; of several
// groups of a σ the largest counts in a correlation.
func TestUnlikeGroups(t *testing.T) {
	with := func(g cohort.Group, rate float64) cohort.Group {
		for i := range g.Models {
			g.Models[i].Member.LR = rate
		}
		return g
	}
	high, low := with(made("a", nil, .9, .91, .92, .93, .94), .1), with(made("b", nil, .5, .51, .53, .54, .52), .2)
	c := comparison{high: "a", low: "b", measure: "validation"}
	if f := (&Study{}).compare(c, []cohort.Group{high, low}); f.verdict != inconclusive || f.test == "" ||
		claimNoDifference(f).verdict != inconclusive {
		t.Errorf("of other rates: %+v", f)
	}
	c.isOfKinds = true
	expect.Equal(t, "of two kinds", (&Study{}).compare(c, []cohort.Group{high, low}).verdict, reproduced)
	all := []cohort.Group{made("learn-0.2", nil, .9, .9), made("learn-0.4", nil, .8, .8), made("learn-0.6", nil, .7),
		made("learn-0.6", nil, .7, .7), made("learn-0.8", nil, .6, .6), made("learn-1", nil, .5, .5)}
	falling := trend{-1, perSigma, "sigma", "validation"}
	if f := (&Study{}).correlate(falling, all); f.n != "5 levels of σ" || f.verdict != reproduced {
		t.Errorf("five levels: %+v", f)
	}
	with(all[0], .1)
	expect.Equal(t, "of other rates", (&Study{}).correlate(falling, all).verdict, inconclusive)
}

// A number is reproduced where it lies in the interval of five models or more.
func TestNumber(t *testing.T) {
	for name, want := range map[string]struct{ n, verdict string }{
		"about 0": {"6 models", reproduced}, "away": {"5 models", notReproduced},
		"four": {"4 models", inconclusive},
	} {
		c := readFixtures(t).Means[name]
		f := (&Study{}).meanAgainst([]cohort.Group{made("a", nil, append(c.Values, math.NaN())...)}, 0,
			"validation", "here")
		test := "95 % " + short(c.Interval[0], 3) + " to " + short(c.Interval[1], 3)
		if f.here != "here" || f.test != test || f.n != want.n || f.verdict != want.verdict {
			t.Errorf("%s: %+v, want %q, %v", name, f, test, want)
		}
	}
	f := (&Study{}).meanAgainst([]cohort.Group{made("a", nil, .3)}, .3, "validation", "x")
	if f.test != "" || f.n != "1 model" || f.verdict != inconclusive {
		t.Errorf("one model: %+v", f)
	}
	for name, g := range map[string][]cohort.Group{"no group": nil,
		"no number": {made("a", nil, math.NaN())}} {
		expect.Equal(t, name, (&Study{}).meanAgainst(g, 0, "validation", "x"), absent)
	}
}

// The best are those claimed where the worst of them beats the best of the others, pair by pair.
func TestBest(t *testing.T) {
	x, y, z := made("x", nil, .9, .8, .85), made("y", nil, .7, .62, .66),
		made("z", nil, .5, .41, .45)
	// Differences .2, .18, .19: mean .19, SD .01, t(.975, 2) = 4.3027, half .0248; y minus z: .2,
	// .21, .21.
	const xy, yz = "difference .190, 95 % .165 to .215", "difference .207, 95 % .192 to .221"
	names := "x .850 ± .050, y .660 ± .040, z .453 ± .045"
	for name, c := range map[string]struct {
		isRising            bool
		first               []string
		here, test, verdict string
	}{
		"the first":  {false, []string{"x"}, names, "x minus y: " + xy, reproduced},
		"first two":  {false, []string{"y", "x"}, names, "y minus z: " + yz, reproduced},
		"the second": {false, []string{"y"}, names, "y minus x: " + negative(xy), notReproduced},
		"the lowest": {true, []string{"z"}, "z .453 ± .045, y .660 ± .040, x .850 ± .050",
			"y minus z: " + yz, reproduced},
		"not lowest": {true, []string{"x"}, "z .453 ± .045, y .660 ± .040, x .850 ± .050",
			"z minus x: difference −.397, 95 % −.411 to −.382", notReproduced},
		"nobody's":    {false, []string{"w"}, names, "", inconclusive},
		"all of them": {false, []string{"x", "y", "z"}, names, "", inconclusive},
	} {
		f := (&Study{}).ranksFirst([]cohort.Group{z, x, made("without", nil, math.NaN()), y}, "validation", c.isRising,
			c.first...)
		if f.here != c.here || f.test != c.test || f.verdict != c.verdict || c.test != "" &&
			f.n != "3 each" {
			t.Errorf("%s: %+v, want %+v", name, f, c)
		}
	}
	expect.Equal(t, "of nothing", (&Study{}).ranksFirst(nil, "validation", false, "x"), absent)
	// Differences of .06, −.02 and .02: their interval, .02 ± 4.302653 * .04 / sqrt 3, holds 0.
	near := []cohort.Group{made("x", nil, .7, .6, .65), made("y", []uint64{1, 0, 2}, .62, .64, .63)}
	f := (&Study{}).ranksFirst(near, "validation", false, "x")
	if f.verdict != inconclusive || f.test != "x minus y: difference .020, 95 % −.079 to .119" {
		t.Errorf("near: %+v", f)
	}
}

// negative turns a difference and its interval around.
func negative(text string) string {
	var mean, low, high float64
	fmt.Sscanf(strings.ReplaceAll(text, "difference .", "difference 0."),
		"difference %f, 95 %% %f to %f", &mean, &low, &high)
	return fmt.Sprintf("difference %s, 95 %% %s to %s", short(-mean, 3), short(-high, 3),
		short(-low, 3))
}

// That all encodings but nope and c-nope converge takes models of each.
func TestConverged(t *testing.T) {
	var all []cohort.Group
	for _, label := range paper.Encodings() {
		all = append(all, made(label, nil, .9, .8))
	}
	nope, cnope := unfit(unfit(all[6], 0), 1), unfit(all[7], 1)
	rest := all[:6:6]
	for name, c := range map[string]struct {
		all     []cohort.Group
		verdict string
	}{
		"as printed":       {append(rest, nope, cnope), reproduced},
		"nope fits":        {append(rest, all[6], cnope), inconclusive},
		"another does not": {append(all[1:6:6], unfit(all[0], 0), nope, cnope), inconclusive},
		"no c-nope":        {append(rest, nope), inconclusive}, "no nope": {append(rest, cnope),
			inconclusive},
		"those two alone": {[]cohort.Group{nope, cnope}, inconclusive},
		"no rope": {append(slices.Delete(slices.Clone(rest), 4, 5), nope, cnope),
			inconclusive},
	} {
		expect.Equal(t, name, (&Study{}).converged(c.all).verdict, c.verdict)
	}
	f := (&Study{}).converged([]cohort.Group{all[0], cnope})
	expect.Equal(t, "fitted", f.here, "fitted: 2d-fixed 2 of 2 (training 1.000), c-nope 1 of 2 (training .750)")
	expect.Equal(t, "of nothing", (&Study{}).converged(nil), absent)
}

// The cosine of the fixed tables is the paper's at the paper's width alone; that of a learned table
// at its start is a mean over models, each a mean over blocks.
func TestCosines(t *testing.T) {
	for _, c := range []struct {
		width         int
		cosines       []float64
		here, verdict string
	}{
		{160, []float64{.7246, .7154}, ".72 at width 160", reproduced},
		{160, []float64{.7}, ".70 at width 160", notReproduced},
		{160, []float64{.727}, ".73 at width 160", notReproduced}, {32, []float64{.72},
			".72 at width 32", inconclusive},
	} {
		g, study := made("1d-fixed", nil, .9, .9), &Study{probed: map[cohort.ModelKey]*probed{}}
		for _, m := range g.Models {
			m.Run.Config.DModel = c.width
			study.probed[m.Key()] = &probed{values: map[string]float64{"table_cosine": stats.Mean(c.cosines)}}
		}
		if f := study.fixedCosine([]cohort.Group{g}); f.here != c.here || f.verdict != c.verdict {
			t.Errorf("%+v: %+v", c, f)
		}
	}
	expect.Equal(t, "not measured", (&Study{}).fixedCosine([]cohort.Group{made("1d-fixed", nil, .9)}), absent)
	g := made("learn-0.2", nil, 1, 1, 1, 1, 1, 1)
	for i, v := range []float64{-.0142, -.0013, .0041, .0255, .0283,
		-.035} { // as "about 0" of the fixtures
		g.Models[i].Result.Measures = runlog.Numbers{"pe_start_cosine/0": v - .3, "pe_start_cosine/1": v + .3}
	}
	if f := (&Study{}).startCosine([]cohort.Group{g}); f.here != ".001 ± .024" || f.test != "95 % −.024 to .026" ||
		f.verdict != reproduced {
		t.Errorf("%+v", f)
	}
	if f := (&Study{}).startCosine([]cohort.Group{made("learn-0.2", nil, 1)}); f != absent ||
		(&Study{}).startCosine(nil) != absent {
		t.Errorf("not measured: %+v", f)
	}
}
