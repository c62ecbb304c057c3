package paper

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// printedNumber is a mean and its SD of the paper.
type printedNumber struct{ mean, sd float64 }

// readPrinted returns the numbers of printed.csv by table, encoding and quantity, and the encodings
// of a table in its order. TestPrintedAgainstPaper holds the file against the paper.
func readPrinted(t *testing.T, table string) (of map[[2]string]printedNumber, labels []string) {
	t.Helper()
	of = map[[2]string]printedNumber{}
	for _, row := range readCSV(filepath.Join("..", "..", "internal", "paper", "printed.csv"))[1:] {
		if row[0] != table {
			continue
		}
		mean, errMean := strconv.ParseFloat(row[3], 64)
		sd, errSD := strconv.ParseFloat(row[4], 64)
		if errMean != nil || errSD != nil {
			t.Fatal(row)
		}
		of[[2]string{row[1], row[2]}] = printedNumber{mean, sd}
		if !slices.Contains(labels, row[1]) {
			labels = append(labels, row[1])
		}
	}
	return of, labels
}

// besidePaper is a quantity of a table beside the paper, of models by encoding.
type besidePaper struct {
	name string
	all  []bunch
	of   func(seen) float64
}

// besideSheet is the CSV of a table beside the paper's: the mean, SD and n here, and of printed
// numbers the difference, here minus paper, Welch's interval with 15 models there, and of five
// models or more p, corrected by Holm over the rows. fitted are the models that the last column
// counts; nil stands for those of each quantity, after its columns.
func besideSheet(t *testing.T, table string, fitted []bunch, quantities ...besidePaper) sheet {
	t.Helper()
	printed, labels := readPrinted(t, table)
	for _, b := range fitted {
		if !slices.Contains(labels, b.label) {
			labels = append(labels, b.label)
		}
	}
	labels = slices.DeleteFunc(labels, func(label string) bool {
		return !slices.ContainsFunc(quantities, func(q besidePaper) bool { return named(q.all, label) != nil })
	})
	out := columns("pe")
	for _, label := range labels {
		out = append(out, []any{label})
	}
	for _, q := range quantities {
		_, isPrinted := printed[[2]string{labels[0], q.name}]
		head := []any{q.name, q.name + "_sd", q.name + "_n"}
		if isPrinted {
			head = slices.Concat([]any{q.name + "_paper", q.name + "_paper_sd"}, head,
				[]any{q.name + "_difference", q.name + "_interval_low",
					q.name + "_interval_high", q.name + "_p"})
		}
		out[0] = append(out[0], head...)
		cells, ps := make([][]any, len(labels)), make([]float64, len(labels))
		for i, label := range labels {
			cells[i], ps[i] = q.cells(printed, label, isPrinted)
		}
		for i := range labels {
			if isPrinted {
				cells[i] = append(cells[i], stepped(ps, i))
			}
			out[i+1] = append(out[i+1], cells[i]...)
		}
		if fitted == nil {
			out = withFitted(out, q.name+"_fitted", q.all)
		}
	}
	if fitted != nil {
		out = withFitted(out, "fitted", fitted)
	}
	return withoutEmpty(out)
}

// withoutEmpty leaves out the columns that have a heading alone.
func withoutEmpty(all sheet) (out sheet) {
	out = make(sheet, len(all))
	for j := range all[0] {
		if slices.ContainsFunc(all[1:], func(row []any) bool { return row[j] != nil }) {
			for i, row := range all {
				out[i] = append(out[i], row[j])
			}
		}
	}
	return out
}

// withFitted returns a sheet with a column that counts the models of each encoding that have
// fitted.
func withFitted(out sheet, name string, all []bunch) sheet {
	out[0] = append(out[0], name)
	for i, row := range out[1:] {
		var cell any
		for _, b := range named(all, row[0].(string)) {
			cell = fmt.Sprintf("%d of %d", len(those(b.models,
				func(m seen) bool { return !m.unfitted() })), len(b.models))
		}
		out[i+1] = append(out[i+1], cell)
	}
	return out
}

// cells returns the cells of a quantity of an encoding but its p, and p before correction, NaN for
// none.
func (q besidePaper) cells(printed map[[2]string]printedNumber, label string,
	isPrinted bool) (cells []any, p float64) {
	var x []float64
	for _, b := range named(q.all, label) {
		x = present(b.of(q.of))
	}
	own := []any{nil, nil, nil}
	if len(x) > 0 {
		own = []any{average(x), spread(x), len(x)}
	}
	if !isPrinted {
		return own, math.NaN()
	}
	paper, known := printed[[2]string{label, q.name}]
	if !known {
		return slices.Concat([]any{nil, nil}, own, []any{nil, nil, nil}), math.NaN()
	}
	cells = slices.Concat([]any{paper.mean, paper.sd}, own)
	if len(x) == 0 {
		return append(cells, nil, nil, nil), math.NaN()
	}
	d := average(x) - paper.mean
	if len(x) == 1 {
		return append(cells, d, nil, nil), math.NaN()
	}
	a, b := spread(x)*spread(x)/float64(len(x)), math.Pow(max(paper.sd, .0005), 2)/15
	df := (a + b) * (a + b) / (a*a/float64(len(x)-1) + b*b/14)
	half := quantile95(df) * math.Sqrt(a+b)
	cells = append(cells, d, d-half, d+half)
	if len(x) < 5 {
		return cells, math.NaN()
	}
	return cells, twoSided(d/math.Sqrt(a+b), df)
}

// stepped returns p-value i corrected by Holm: the largest, up to it, of each p times the number of
// those that are not smaller. nil where there is none.
func stepped(ps []float64, i int) any {
	if math.IsNaN(ps[i]) {
		return nil
	}
	sorted := present(ps)
	slices.Sort(sorted)
	largest := 0.0
	for k, p := range sorted {
		if p <= ps[i] {
			largest = max(largest, min(1, p*float64(len(sorted)-k)))
		}
	}
	return proportional(largest)
}

func table1Numbers(t *testing.T, w *world) {
	all := w.main()
	shown := named(all, paperOrder...)
	w.checkCSV(t, "table1", besideSheet(t, "1", shown, besidePaper{"validation", shown, valid},
		besidePaper{"train", shown, trained},
		besidePaper{"iid", shown, heldOut}))
	w.checkPanels(t, "table1")
	difference := pairedTest(named(all, "2d-fixed")[0], named(all, "learn-0.2")[0])
	w.checkCaption(t, "table1", []string{
		" 2d-fixed minus learn-0.2, paired by seed: " + difference +
			" (the paper prints t(13) = .96, p = .35; 15 pairs have 14 degrees of freedom).",
		"4,000 epochs in the paper and 12 epochs here"})
	if note := w.drafts["table1"].Tables[0].Note; !strings.Contains(note, "The paper's n is 15") ||
		!strings.Contains(note, "of 5 models or more") || !strings.Contains(note, "95 % interval") {
		t.Errorf("note %q", note)
	}
}

func tableA3Numbers(t *testing.T, w *world) {
	all := bySigma(w.main())
	w.checkCSV(t, "table_a3", besideSheet(t, "A3", all, besidePaper{"cosine", all, w.cosine}))
	w.checkCaption(t, "table_a3", nil)
}

func tableA4Numbers(t *testing.T, w *world) {
	adam := named(w.main(), small...)
	sgd := named(bunches(w.puzzles(sgdVariant)), small...)
	w.checkCSV(t, "table_a4", besideSheet(t, "A4", nil, besidePaper{"adam", adam, valid},
		besidePaper{"sgd", sgd, valid}))
	w.checkCaption(t, "table_a4", nil)
}

// pairedTest compares the validation accuracy of two groups of fewer than five models over the seeds that both
// have: the mean of differences, and its interval by Student's t.
func pairedTest(a, b bunch) string {
	var d []float64
	for _, m := range a.models {
		for _, o := range b.models {
			if m.seed == o.seed {
				d = append(d, valid(m)-valid(o))
			}
		}
	}
	half := quantile95(float64(len(d)-1)) * spread(d) / math.Sqrt(float64(len(d)))
	return fmt.Sprintf("difference %s, 95 %% %s to %s", short(average(d), 3), short(average(d)-half, 3),
		short(average(d)+half, 3))
}

func readCSV(path string) [][]string {
	return expect.Must(csv.NewReader(bytes.NewReader(expect.Must(os.ReadFile(path)))).ReadAll())
}
