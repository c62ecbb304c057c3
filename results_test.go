package torchpe_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/stats"
)

// The tables of results/evidence with all fifteen seeds follow from runs.csv and sigma.csv.
func TestSigmaTables(t *testing.T) {
	page, err := os.ReadFile("results/evidence/README.md")
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]map[string]map[string]string{} // by σ and seed
	for _, name := range []string{"runs.csv", "sigma.csv"} {
		for _, r := range records(t, "results/evidence/"+name) {
			if r["pe"] != "learn" {
				continue
			}
			if runs[r["sigma"]] == nil {
				runs[r["sigma"]] = map[string]map[string]string{}
			}
			runs[r["sigma"]][r["seed"]] = r
		}
	}
	column := func(sigma, name string) (values []float64) {
		for _, seed := range slices.Sorted(maps.Keys(runs[sigma])) {
			v, err := strconv.ParseFloat(runs[sigma][seed][name], 64)
			if err != nil {
				t.Fatalf("σ %s, seed %s: %v", sigma, seed, err)
			}
			values = append(values, v)
		}
		if len(values) != 15 {
			t.Fatalf("σ %s has %d seeds", sigma, len(values))
		}
		return values
	}
	for _, sigma := range strings.Fields("0.01 0.1 0.2 0.5 0.7 1 1.5 2") {
		validation, iid, fitted := column(sigma, "validation"), column(sigma, "iid"), column(sigma, "fitted")
		if slices.Min(column(sigma, "train")) < .99 {
			t.Errorf("σ %s: not all have fitted", sigma)
		}
		of, err := stats.MeanInterval(validation, .95)
		if err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprintf("| %s | %g to %g | %s ± %s | %s ± %s | %s to %s |", sigma, slices.Min(fitted),
			slices.Max(fitted), point(stats.Mean(iid)), point(stats.SD(iid)), point(stats.Mean(validation)),
			point(stats.SD(validation)), point(of.Low), point(of.High))
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("the page has not %q", row)
		}
	}
	contrasts := [][2]string{{"0.2", "2"}, {"0.2", "0.01"}, {"0.2", "1.5"}, {"0.2", "1"}, {"0.5", "1"}, {"0.2", "0.1"},
		{"0.5", "0.1"}, {"0.2", "0.5"}, {"0.1", "1"}, {"0.2", "0.7"}}
	var p []float64
	var rows []string
	for _, c := range contrasts {
		a, b := column(c[0], "validation"), column(c[1], "validation")
		test, err := stats.PairedT(a, b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			a[i] -= b[i]
		}
		of, err := stats.MeanInterval(a, .95)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, test.P)
		rows = append(rows, fmt.Sprintf("| %s less %s | %s, %s to %s | ", c[0], c[1], point(stats.Mean(a)),
			point(of.Low), point(of.High)))
	}
	holm, err := stats.Holm(p)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		row += short(p[i]) + " | " + short(holm[i]) + " |"
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("the page has not %q", row)
		}
	}
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
