// Package evidence_test makes the generated tables and the figure of this folder's page from its CSV
// files. `make evidence` writes them anew; without -update a stale one fails.
package evidence_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/figure"
)

// The encodings of dropout.csv.
const (
	withoutDropout = "2d-fixed without dropout"
	withDropout    = "learn-0.2 with dropout"
)

// published holds one row a seed of each encoding, in the settings of the published code.
type published map[string]map[string]map[string]string // encoding, such as learn-0.2, and seed

func read(t *testing.T) published {
	t.Helper()
	p := published{}
	for _, name := range []string{"runs.csv", "sigma.csv", "common.csv", "dropout.csv"} {
		for _, r := range records(t, name) {
			pe := r["pe"]
			if pe == "learn" {
				pe += "-" + r["sigma"]
			}
			if name == "dropout.csv" {
				pe = map[string]string{"2d-fixed": withoutDropout, "learn-0.2": withDropout}[pe]
			}
			if p[pe] == nil {
				p[pe] = map[string]map[string]string{}
			}
			if p[pe][r["seed"]] != nil {
				t.Fatalf("%s: %s has seed %s twice", name, pe, r["seed"])
			}
			p[pe][r["seed"]] = r
		}
	}
	return p
}

// column returns a measure of an encoding, seed by seed in one order.
func (p published) column(t *testing.T, pe, name string) (values []float64) {
	t.Helper()
	for _, seed := range slices.Sorted(maps.Keys(p[pe])) {
		v, err := strconv.ParseFloat(p[pe][seed][name], 64)
		if err != nil {
			t.Fatalf("%s, seed %s: %v", pe, seed, err)
		}
		values = append(values, v)
	}
	return values
}

// fitted returns in which range of epochs models reached .99, and how many did not.
func (p published) fitted(t *testing.T, pe string) string {
	t.Helper()
	var epochs []int
	missing := 0
	for _, r := range p[pe] {
		if r["fitted"] == "no" || r["fitted"] == "" { // runs.csv leaves it empty
			missing++
			continue
		}
		n, err := strconv.Atoi(r["fitted"])
		if err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, n)
	}
	switch {
	case len(epochs) == 0:
		return "none"
	case missing > 0:
		return fmt.Sprintf("%d to %d; %d not", slices.Min(epochs), slices.Max(epochs), missing)
	}
	return fmt.Sprintf("%d to %d", slices.Min(epochs), slices.Max(epochs))
}

// corners are the choices of where the PE is added and which token is read: the published code's, the
// two between, and our reading of the text.
var corners = []struct{ placement, readOut, words string }{
	{"block", "last", "every block, last token (code)"}, {"block", "probe", "every block, probe"},
	{"input", "last", "once, last token"}, {"input", "probe", "once, probe (text)"},
}

// readCorner returns a row a seed of each σ of a corner.
func readCorner(t *testing.T, placement, readOut string) published {
	t.Helper()
	if placement == "block" && readOut == "last" {
		return read(t)
	}
	p := published{}
	for _, name := range []string{"ablation.csv", "placement.csv"} {
		for _, r := range records(t, name) {
			if r["placement"] != placement || r["read_out"] != readOut {
				continue
			}
			if r["fitted"] == "" {
				r["fitted"] = r["fitted_epoch"]
			}
			pe := "learn-" + r["sigma"]
			if p[pe] == nil {
				p[pe] = map[string]map[string]string{}
			}
			p[pe][r["seed"]] = r
		}
	}
	return p
}

func placementTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| PE added, answer read from | n | σ = 0.2 | σ = 1 | σ = 2 | 0.2 less 2, 95 % |\n" +
		"|---|---|---|---|---|---|\n")
	for _, c := range corners {
		p := readCorner(t, c.placement, c.readOut)
		n := len(p["learn-2"])
		fmt.Fprintf(&b, "| %s | %d", c.words, n)
		for _, sigma := range []string{"0.2", "1", "2"} {
			pe := "learn-" + sigma
			validation, iid := p.column(t, pe, "validation"), p.column(t, pe, "iid")
			if len(validation) != n {
				t.Fatalf("%s: %d and %d seeds", c.words, len(validation), n)
			}
			fmt.Fprintf(&b, " | %s ± %s (%s; %s)", point(stats.Mean(validation)), point(stats.SD(validation)),
				point(stats.Mean(iid)), p.fitted(t, pe))
		}
		less, of, _ := p.difference(t, "learn-0.2", "learn-2")
		fmt.Fprintf(&b, " | %s, %s to %s |\n", point(less), point(of.Low), point(of.High))
	}
	return b.String()
}

// ratioTable lists the ratio of the root mean squares of PE table and tokens at the first and the last
// block to which a table is added, after training.
func ratioTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| PE added, answer read from | σ | n | ratio at block 1 | at block 4 | IID test | validation |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, c := range corners {
		p := readCorner(t, c.placement, c.readOut)
		for _, sigma := range sigmas {
			of := published{"": {}} // the models whose ratios are known
			for seed, r := range p["learn-"+sigma] {
				if r["ratio_block_1"] != "" {
					of[""][seed] = r
				}
			}
			if len(of[""]) == 0 {
				continue
			}
			last := "none"
			if c.placement == "block" {
				last = fmt.Sprintf("%.2f", stats.Mean(of.column(t, "", "ratio_block_4")))
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %.2f | %s | %s | %s |\n", c.words, sigma, len(of[""]),
				stats.Mean(of.column(t, "", "ratio_block_1")), last, point(stats.Mean(of.column(t, "", "iid"))),
				point(stats.Mean(of.column(t, "", "validation"))))
		}
	}
	return b.String()
}

// difference returns the mean difference of validation accuracies over pairs of one seed.
func (p published) difference(t *testing.T, first, second string) (float64, stats.Interval, stats.Test) {
	t.Helper()
	a, b := p.column(t, first, "validation"), p.column(t, second, "validation")
	test, err := stats.PairedT(a, b)
	if err != nil {
		t.Fatalf("%s, %s: %v", first, second, err)
	}
	for i := range a {
		a[i] -= b[i]
	}
	of, err := stats.MeanInterval(a, .95)
	if err != nil {
		t.Fatal(err)
	}
	return stats.Mean(a), of, test
}

var sigmas = strings.Fields("0.01 0.1 0.2 0.5 0.7 1 1.5 2")

// contrasts are all differences that the page tests: Holm's correction counts all of them.
var contrasts = [][2]string{
	{"learn-0.2", "learn-2"}, {"learn-0.2", "learn-0.01"}, {"learn-0.2", "learn-1.5"}, {"learn-0.2", "learn-1"},
	{"learn-0.5", "learn-1"}, {"learn-0.2", "learn-0.1"}, {"learn-0.5", "learn-0.1"}, {"learn-0.2", "learn-0.5"},
	{"learn-0.1", "learn-1"}, {"learn-0.2", "learn-0.7"},
	{"2d-fixed", "learn-0.2"}, {"learn-0.2", "relative"}, {"learn-0.2", "random"}, {"learn-1", "random"},
	{"learn-0.2", "rope"}, {"relative", "rope"},
	{"2d-fixed", withoutDropout}, {"learn-0.2", withoutDropout}, {withDropout, "learn-0.2"}, {withDropout, "2d-fixed"},
}

func TestPage(t *testing.T) {
	p := read(t)
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	text = replace(t, text, "sigma", sigmaTable(t, p))
	text = replace(t, text, "table 1", encodingTable(t, p))
	text = replace(t, text, "contrasts", contrastTable(t, p))
	text = replace(t, text, "placement", placementTable(t))
	text = replace(t, text, "dropout", dropoutTable(t, p))
	text = replace(t, text, "frozen", frozenTable(t))
	text = replace(t, text, "ratio", ratioTable(t))
	expect.GoldenFile(t, "README.md", []byte(text))
}

// TestFigure draws validation accuracy by σ, with chance and the floor of symbol counts.
func TestFigure(t *testing.T) {
	p := read(t)
	f := sigmaFigure(t, p)
	for path, format := range map[string]string{"sigma.pdf": "pdf", "../../docs/images/evidence.png": "png"} {
		var b bytes.Buffer
		if err := f.Encode(&b, format); err != nil {
			t.Fatal(err)
		}
		expect.GoldenFile(t, path, b.Bytes())
	}
}

func sigmaTable(t *testing.T, p published) string {
	var b strings.Builder
	b.WriteString("| σ | n | epochs until .99 | training | IID test | validation | 95 % |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, sigma := range sigmas {
		fmt.Fprintf(&b, "| %s | %s\n", sigma, measured(t, p, "learn-"+sigma))
	}
	return b.String()
}

// dropoutTable sets the true places with and without dropout beside learned ones.
func dropoutTable(t *testing.T, p published) string {
	var b strings.Builder
	b.WriteString("| encoding | dropout | n | epochs until .99 | training | IID test | validation | 95 % |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	rows := [][2]string{{"2d-fixed", ".1 on PE and tokens, always (code)"}, {withoutDropout, "none"},
		{"learn-0.2", "none"}, {withDropout, ".1 on PE, tokens and attention, in training"}}
	for _, row := range rows {
		pe := strings.TrimSuffix(strings.TrimSuffix(row[0], " without dropout"), " with dropout")
		fmt.Fprintf(&b, "| %s | %s | %s\n", pe, row[1], measured(t, p, row[0]))
	}
	return b.String()
}

// frozenTable sets tables that stay at their initial values beside trained ones of the same seeds.
func frozenTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| PE added | σ | n | frozen: IID test | validation | trained: IID test | validation | " +
		"frozen less trained, 95 % |\n|---|---|---|---|---|---|---|---|\n")
	for _, placement := range []string{"block", "input"} {
		trained := readCorner(t, placement, "last")
		for _, sigma := range []string{"0.2", "1", "2"} {
			pair := published{"frozen": {}, "trained": {}}
			for _, r := range records(t, "frozen.csv") {
				if r["placement"] == placement && r["sigma"] == sigma {
					pair["frozen"][r["seed"]], pair["trained"][r["seed"]] = r, trained["learn-"+sigma][r["seed"]]
				}
			}
			less, of, _ := pair.difference(t, "frozen", "trained")
			fmt.Fprintf(&b, "| %s | %s | %d", placements[placement], sigma, len(pair["frozen"]))
			for _, pe := range []string{"frozen", "trained"} {
				iid, validation := pair.column(t, pe, "iid"), pair.column(t, pe, "validation")
				fmt.Fprintf(&b, " | %s | %s ± %s", point(stats.Mean(iid)), point(stats.Mean(validation)),
					point(stats.SD(validation)))
			}
			fmt.Fprintf(&b, " | %s, %s to %s |\n", point(less), point(of.Low), point(of.High))
		}
	}
	return b.String()
}

var placements = map[string]string{"block": "every block", "input": "once"}

// measured returns the cells of an encoding from n to the interval of its mean.
func measured(t *testing.T, p published, pe string) string {
	validation, iid, train := p.column(t, pe, "validation"), p.column(t, pe, "iid"), p.column(t, pe, "train")
	of, err := stats.MeanInterval(validation, .95)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d | %s | %s | %s ± %s | %s ± %s | %s to %s |", len(validation), p.fitted(t, pe),
		point(stats.Mean(train)), point(stats.Mean(iid)), point(stats.SD(iid)), point(stats.Mean(validation)),
		point(stats.SD(validation)), point(of.Low), point(of.High))
}

func encodingTable(t *testing.T, p published) string {
	printed, names := paper.Table("1")
	var b strings.Builder
	b.WriteString("| encoding | paper | n | epochs until .99 | training | IID test | validation | 95 % | " +
		"less the paper, 95 % |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, pe := range names {
		of := printed[[2]string{pe, "validation"}]
		values := p.column(t, pe, "validation")
		ours := stats.Summary{N: len(values), Mean: stats.Mean(values), SD: stats.SD(values)}
		theirs := stats.Summary{N: len(paper.Seeds()), Mean: of.Mean, SD: of.SD}
		less, err := stats.WelchInterval(ours, theirs, .95)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "| %s | %s ± %s | %s %s to %s |\n", pe, point(of.Mean), point(of.SD), measured(t, p, pe),
			point(less.Low), point(less.High))
	}
	return b.String()
}

func contrastTable(t *testing.T, p published) string {
	var all []float64
	var rows []string
	for _, c := range contrasts {
		less, of, test := p.difference(t, c[0], c[1])
		all = append(all, test.P)
		rows = append(rows, fmt.Sprintf("| %s less %s | %s | %s to %s |", c[0], c[1], point(less), point(of.Low),
			point(of.High)))
	}
	holm, err := stats.Holm(all)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| contrast, pairs of one seed | difference | 95 % | p | Holm |\n|---|---|---|---|---|\n")
	for i, row := range rows {
		fmt.Fprintf(&b, "%s %s | %s |\n", row, short(all[i]), short(holm[i]))
	}
	return b.String()
}

func sigmaFigure(t *testing.T, p published) *figure.Figure {
	var counts float64
	for _, r := range records(t, "floors.csv") {
		if r["baseline"] == "counts" {
			var err error
			if counts, err = strconv.ParseFloat(r["validation"], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	boxes := figure.Boxes{
		Title: "Generalization by initial σ", XLabel: "Initial σ", YLabel: "Validation accuracy",
		References: []figure.Reference{{Label: "chance", Y: .25}, {Label: "counts", Y: counts}},
		Beside:     []string{"training accuracy", "IID test accuracy"}, Dots: "seeds",
	}
	for _, sigma := range sigmas {
		pe := "learn-" + sigma
		boxes.Groups = append(boxes.Groups, figure.Group{
			Label: sigma, ColorOf: "learn σ=" + sigma, Values: p.column(t, pe, "validation"),
			Beside: []float64{stats.Mean(p.column(t, pe, "train")), stats.Mean(p.column(t, pe, "iid"))},
		})
	}
	f, err := figure.Compose(figure.Page{Width: figure.ColumnWidth,
		Rows: []figure.Row{{Height: 2.3, Cells: []figure.Cell{{Panel: &boxes}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// replace puts the table between the page's markers of its name.
func replace(t *testing.T, page, name, table string) string {
	t.Helper()
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("README.md has no marker %q with an end", begin)
	}
	return before + begin + table + end + after
}

// records reads a CSV file with a header.
func records(t *testing.T, path string) (out []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		r := map[string]string{}
		for i, name := range rows[0] {
			r[name] = row[i]
		}
		out = append(out, r)
	}
	return out
}

// point writes a number with three decimals and no zero before the point.
func point(v float64) string {
	return strings.Replace(strings.Replace(fmt.Sprintf("%.3f", v), "-", "−", 1), "0.", ".", 1)
}

// short writes p with two digits.
func short(p float64) string {
	if p < 1e-4 {
		text := fmt.Sprintf("%.0e", p)
		return strings.Replace(text, "e-0", "e-", 1)
	}
	return strings.TrimPrefix(strconv.FormatFloat(p, 'g', 2, 64), "0")
}
