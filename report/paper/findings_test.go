package paper

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
)

// findingsNumbers holds the table that opens the page: accuracies by encoding, the best first, beside the
// printed ones.
func findingsNumbers(t *testing.T, w *world) {
	want := columns("pe", "n", "validation", "validation_sd", "train", "train_sd", "iid", "iid_sd", "fitted", "paper",
		"paper_sd")
	all := w.main()
	slices.SortStableFunc(all, func(a, b bunch) int { return cmp.Compare(average(b.of(valid)), average(a.of(valid))) })
	one, _ := readPrinted(t, "1")
	two, _ := readPrinted(t, "A2")
	for _, b := range all {
		row := []any{b.label, len(b.models)}
		for _, of := range []func(seen) float64{valid, trained, heldOut} {
			row = append(row, average(b.of(of)), spread(b.of(of)))
		}
		row = append(row, withFitted(sheet{{"pe"}, {b.label}}, "fitted", all)[1][1])
		key := [2]string{b.label, "validation"}
		if n := cmp.Or(one[key], two[key]); n != (printedNumber{}) {
			row = append(row, n.mean, n.sd)
		} else {
			row = append(row, nil, nil)
		}
		want = append(want, row)
	}
	w.checkCSV(t, "findings", want)
}

// maskedFindings holds the order and errors of a table of masked prediction; the baselines are below.
func maskedFindings(t *testing.T, w *world, id, task, level string) {
	all := bunches(w.at(task))
	of := end("test_mse/0" + level)
	slices.SortStableFunc(all, func(a, b bunch) int { return cmp.Compare(average(a.of(of)), average(b.of(of))) })
	rows := w.csvOf(t, id)[1:]
	if len(rows) != len(all)+3 || !strings.HasPrefix(rows[len(all)][0], "no model: ") {
		t.Fatalf("rows %q", rows)
	}
	for i, b := range all {
		if rows[i][0] != b.label || !cellIs(rows[i][2], average(b.of(of))) {
			t.Errorf("row %d is %q, want %s with %v", i, rows[i], b.label, average(b.of(of)))
		}
	}
}

// The page opens with the best and the worst encoding of those that have fitted, and says how sure that is.
func TestOpeningSentence(t *testing.T) {
	whole, turned := claimStudy(false), claimStudy(true)
	few := claimStudy(false)
	few.LST = slices.DeleteFunc(few.LST, func(m cohort.Model) bool {
		return m.Member.Seed > 0 || m.Label() != "learn-0.2" && m.Label() != "learn-2.0"
	})
	alone := claimStudy(false)
	alone.LST = slices.DeleteFunc(alone.LST, func(m cohort.Model) bool { return m.Label() != "learn-0.2" })
	quick := claimStudy(false)
	quick.LST = slices.DeleteFunc(quick.LST, func(m cohort.Model) bool {
		return m.Member.Seed > 0 || m.Label() != "learn-0.2" || m.Run.Config.Optimizer != "adam"
	})
	for _, m := range quick.LST {
		m.Run.Config.DModel, m.Run.Config.LSTTrain = 64, nil
		m.Run.Config.JSON = []byte(`{"pe":"learn","d_model":64}`)
	}
	unfitted := claimStudy(false)
	for _, m := range unfitted.LST {
		m.Result.Measures["train"] = .4
	}
	for _, c := range []struct {
		s    *Study
		id   string
		want []string
	}{
		{whole, "findings", []string{"Of 10 encodings, 2d-fixed has the highest validation accuracy, .951 ± .002, " +
			"and learn-2.0 the lowest, .300", "as in the paper (.977 and .377). The two differ: difference .6"}},
		{turned, "findings", []string{"learn-2.0 has the highest", "learn-0.2 the lowest",
			"in the paper it is the other way around (.377 and .956). The two differ"}},
		{few, "findings", []string{"Of 2 encodings, learn-0.2 has the highest validation accuracy, .9",
			"(.956 and .377). With fewer than 3 seeds in common this is no test: train more."}},
		{alone, "findings", []string{"learn-0.2 has a validation accuracy of .9",
			"; the paper prints .956. This is not the paper's set-up: n = 6 (the paper: 15)."}},
		{quick, "findings", []string{"; the paper prints .956. This is not the paper's set-up: generated puzzles " +
			"(the paper: published ones), d_model 64 (the paper: 160), n = 1 (the paper: 15)."}},
		{unfitted, "findings", []string{"No encoding has fitted its training puzzles", "(training accuracy .40)"}},
		{whole, "findings_fmri", []string{"the test error with 90 % of the regions masked of 6 encodings ranges from " +
			".302 ± .002 (learn-0.1, n = 6) to .901 ± .002 (relative, n = 6). The two differ: difference .600, " +
			".595 to .605 (95 % for all 15 pairs of encodings at once)."}},
	} {
		expect.Contains(t, draftOf(t, c.s, c.id).Lead, c.want...)
	}
}
