package evidence_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/train/sweep"
)

// models holds the rows of puzzles.csv, of wide.csv and of the leaderboard's puzzles.csv, by the name of their
// setting, such as "learn-0.2", and by seed. Rows of one name differ only in the seed.
type models map[string]seeds

// seeds holds the rows of one setting by seed.
type seeds map[string]row

// row is a row of a CSV file by its headings.
type row map[string]string

// add takes a row. It panics if the setting has a row of its seed.
func (m models) add(name string, r row) {
	if m[name] == nil {
		m[name] = seeds{}
	}
	if m[name][r["seed"]] != nil {
		panic(fmt.Sprintf("%s has seed %s twice", name, r["seed"]))
	}
	m[name][r["seed"]] = r
}

// nameOf names the setting of a row: the encoding, and what differs from the published code's.
func nameOf(r row) string {
	name := r["pe"]
	if r["sigma"] != "" {
		name += "-" + r["sigma"]
	}
	if r["placement"] == "input" {
		name += ", once"
	}
	if r["read_out"] == "probe" {
		name += ", probe"
	}
	if r["pe_lr"] == "0" {
		name += ", frozen"
	}
	if r["take"] == "pe" {
		name += ", from another model"
	}
	if r["pe_tables"] == "shared" {
		name += ", shared"
	}
	if scale := r["embed_init_scale"]; scale != "" {
		name += ", tokens x " + scale
	}
	if lr := r["lr"]; lr != "" && lr != "0.0003" {
		name += ", lr " + lr
	}
	switch r["optimizer"] {
	case "adamw":
		name += ", decay"
	case "sgd":
		name += ", SGD"
	}
	if r["heads"] == "2" {
		name += ", 2 heads"
	}
	if r["d_model"] == "160" {
		name += ", width 160"
	}
	if until, ok := r["until"]; ok && until == "" {
		name += ", 400 epochs"
	}
	switch {
	case r["fixed_pe_dropout"] == "0":
		name += " without dropout"
	case r["dropout"] != "0":
		name += " with dropout"
	}
	return name
}

// readModels reads the three files. It fails where two rows have one setting and seed, where rows of one name
// differ in a setting, and where kept answers do not give the accuracy of their row.
func readModels(t *testing.T) models {
	t.Helper()
	items := records("items.csv")
	m := models{}
	settings := map[string]string{}
	for _, r := range slices.Concat(records("puzzles.csv"), records("wide.csv"),
		records("../leaderboard/puzzles.csv")) {
		var own []string
		for _, name := range strings.Fields("pe sigma placement pe_tables embed_init_scale read_out dropout " +
			"fixed_pe_dropout pe_lr take optimizer lr weight_decay heads d_model precision until") {
			own = append(own, r[name])
		}
		name, setting := nameOf(r), strings.Join(own, ",")
		if m[name] == nil {
			settings[name] = setting
		}
		if settings[name] != setting {
			t.Fatalf("%s has two settings", name)
		}
		m.add(name, r)
		if right := correct(r, items); right != nil && math.Abs(stats.Mean(right)-r.number("validation")) > 1e-12 {
			t.Fatalf("answers of %s, seed %s, are right in %v", name, r["seed"], stats.Mean(right))
		}
	}
	return m
}

// missingModels lists the models of the presets evidence-models and evidence-wide that puzzles.csv and wide.csv lack,
// and those without answers.
func missingModels(t *testing.T, m models) string {
	t.Helper()
	var lacking, unanswered []string
	has := map[string]bool{}
	points := slices.Concat(expect.Must(expect.Must(sweep.FindPreset("evidence-models")).Spec.Points()),
		expect.Must(expect.Must(sweep.FindPreset("evidence-wide")).Spec.Points()))
	for _, point := range points {
		r := row{"dropout": "0"}
		for _, s := range point.Settings {
			r[strings.ReplaceAll(s.Flag, "-", "_")] = s.Value
		}
		r["placement"] = r["pe_placement"]
		if lr, err := strconv.ParseFloat(r["lr"], 64); err == nil {
			r["lr"] = fmt.Sprint(lr)
		}
		seeds := strings.Split(strings.Trim(fmt.Sprint(paper.Seeds()), "[]"), " ")
		if r["seeds"] != "paper" {
			seeds = strings.Split(r["seeds"], ",")
		}
		name, absent, silent := nameOf(r), 0, 0
		has[name] = true
		if name == "learn-1, frozen" {
			continue // random, whose rows have the same numbers
		}
		for _, seed := range seeds {
			switch of := m[name][seed]; {
			case of == nil:
				absent++
			case of["answers_validation"] == "":
				silent++
			}
		}
		if absent > 0 {
			lacking = append(lacking, fmt.Sprintf("%s (%d)", name, absent))
		}
		if silent > 0 {
			unanswered = append(unanswered, fmt.Sprintf("%s (%d)", name, silent))
		}
	}
	for _, r := range slices.Concat(records("puzzles.csv"), records("wide.csv")) {
		isWideRate := r["d_model"] == "160" && r["lr"] == "0.0003"
		if r["take"] == "" && !isWideRate && !has[nameOf(r)] {
			t.Errorf("evidence-models and evidence-wide have no %s", nameOf(r))
		}
	}
	return fmt.Sprintf("**Not run yet**, models of `evidence-models` and `evidence-wide` with the number of seeds: "+
		"%s.\n\n"+
		"Run, but their answers were not kept: %s.\n", cmp.Or(strings.Join(lacking, "; "), "none"),
		cmp.Or(strings.Join(unanswered, "; "), "none"))
}

// correct returns 1 for each validation puzzle that the model of a row answered, else 0; nil where its
// answers were not kept.
func correct(r row, items []row) (right []float64) {
	for i, answer := range r["answers_validation"] {
		right = append(right, 0)
		if string(answer) == items[i]["answer"] {
			right[i] = 1
		}
	}
	return right
}

// number returns a cell as a number.
func (r row) number(name string) float64 {
	v, err := strconv.ParseFloat(r[name], 64)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return v
}

// column returns a measure of a setting, seed by seed in one order.
func (m models) column(name, measure string) (values []float64) {
	if len(m[name]) == 0 {
		panic("puzzles.csv has no " + name)
	}
	return m[name].column(measure)
}

// column returns a measure, seed by seed in one order.
func (s seeds) column(measure string) (values []float64) {
	for _, seed := range s.ordered() {
		values = append(values, s[seed].number(measure))
	}
	return values
}

// mean returns the mean of a measure.
func (s seeds) mean(measure string) float64 { return stats.Mean(s.column(measure)) }

// ordered returns the seeds in one order.
func (s seeds) ordered() []string { return slices.Sorted(maps.Keys(s)) }

// in returns the rows whose seeds others have, too.
func (s seeds) in(others seeds) seeds {
	both := maps.Clone(s)
	maps.DeleteFunc(both, func(seed string, _ row) bool { return others[seed] == nil })
	return both
}

// difference is the first setting less the second in validation accuracy, over the seeds of both.
type difference struct {
	n, answered  int // pairs of one seed, and those of which both models' answers were kept
	mean, p      float64
	seeds        stats.Interval // Student's, over seeds
	seedsPuzzles stats.Interval // bootstrap over the answered seeds and items; zero where there are none
}

// less compares two settings of the models.
func (m models) less(first, second string) difference { return less(m[first], m[second]) }

// less compares two settings over the seeds that both have.
func less(first, second seeds) difference {
	items := records("items.csv")
	var a, b, each []float64
	var puzzles [][]float64 // [seed][puzzle], differences of 0 and 1
	for _, seed := range first.in(second).ordered() {
		x, y := first[seed], second[seed]
		a, b = append(a, x.number("validation")), append(b, y.number("validation"))
		each = append(each, a[len(a)-1]-b[len(b)-1])
		u, v := correct(x, items), correct(y, items)
		if u == nil || v == nil {
			continue
		}
		for i := range u {
			u[i] -= v[i]
		}
		puzzles = append(puzzles, u)
	}
	d := difference{n: len(a), answered: len(puzzles), mean: stats.Mean(each),
		p: expect.Must(stats.PairedT(a, b)).P, seeds: expect.Must(stats.MeanInterval(each, .95))}
	if len(puzzles) > 0 {
		d.seedsPuzzles = bootstrap(puzzles, items)
	}
	return d
}

// bootstrap returns the 95 % interval of the mean of x [seed][puzzle] when seeds and items are both drawn
// anew, with replacement. An item is the three rotations of one puzzle: they are drawn together.
func bootstrap(x [][]float64, items []row) stats.Interval {
	const draws = 4000
	var first []int // the first puzzle of each item
	for i := range items {
		if i == 0 || items[i]["item"] != items[i-1]["item"] {
			first = append(first, i)
		}
	}
	size := len(items) / len(first)
	source := rand.New(rand.NewPCG(1, 2))
	means := make([]float64, draws)
	for k := range means {
		weight := make([]float64, len(items)) // how often each puzzle was drawn
		for range first {
			at := first[source.IntN(len(first))]
			for i := range size {
				weight[at+i]++
			}
		}
		sum := 0.0
		for range x {
			for i, v := range x[source.IntN(len(x))] {
				sum += weight[i] * v
			}
		}
		means[k] = sum / float64(len(x)*len(items))
	}
	slices.Sort(means)
	return stats.Interval{Low: stats.Quantile(means, .025), High: stats.Quantile(means, .975)}
}

// fitted returns in which range of epochs models reached .99, and how many did not.
func (s seeds) fitted() string {
	var epochs []int
	unfitted := 0
	for _, r := range s {
		if r["fitted"] == "no" {
			unfitted++
			continue
		}
		epochs = append(epochs, int(r.number("fitted")))
	}
	if len(epochs) == 0 {
		return fmt.Sprintf("none of %d", unfitted)
	}
	text := fmt.Sprint(epochs[0])
	if first, last := slices.Min(epochs), slices.Max(epochs); first < last {
		text = fmt.Sprintf("%d to %d", first, last)
	}
	if unfitted > 0 {
		text += fmt.Sprintf("; %d not fitted", unfitted)
	}
	return text
}

// records reads a CSV file with a header.
func records(path string) (out []row) {
	f := expect.Must(os.Open(path))
	defer f.Close()
	rows := expect.Must(csv.NewReader(f).ReadAll())
	for _, cells := range rows[1:] {
		r := row{}
		for i, name := range rows[0] {
			r[name] = cells[i]
		}
		out = append(out, r)
	}
	return out
}

// point writes a number with three decimals and no zero before the point.
func point(v float64) string { return number.Bare(v, 3) }

// span writes an interval.
func span(v stats.Interval) string { return point(v.Low) + " to " + point(v.High) }

// TestBootstrap holds the interval against closed forms: a constant, and equal seeds, where only the items
// vary and the mean is nearly normal.
func TestBootstrap(t *testing.T) {
	items := records("items.csv")
	constant, equal := make([][]float64, 15), make([][]float64, 15)
	for k := range equal {
		for i := range items {
			constant[k] = append(constant[k], .25)
			equal[k] = append(equal[k], float64(i/3%2)) // 18 items of 36
		}
	}
	if got := bootstrap(constant, items); got.Low != .25 || got.High != .25 {
		t.Errorf("of a constant: %v", got)
	}
	half := 1.96 * math.Sqrt(.25/36)
	if got := bootstrap(equal, items); math.Abs(got.Low-.5+half) > .01 || math.Abs(got.High-.5-half) > .01 {
		t.Errorf("of equal seeds: %v, want .5 ± %.3f", got, half)
	}
}
