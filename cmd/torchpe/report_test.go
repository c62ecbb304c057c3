package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Runs that were trained become a report and a comparison, with the numbers that training gave.
func TestReportOfTrainedRuns(t *testing.T) {
	dir := t.TempDir()
	// Twelve puzzles, which are soon learned by heart: nothing is compared with a 2d-fixed that has not fitted.
	line := "train --epochs 200 --lr 0.01 --quiet --until train=0.99" + smallSet(t, dir)
	few := strings.SplitAfter(readText(t, filepath.Join(dir, "train.csv")), "\n")[:13]
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "train.csv"), []byte(strings.Join(few, "")), 0o644))
	says(t, dir, line+"--pe learn --sigma 0.2,2 --seeds 1,1 --out runs/learn", 0)
	says(t, dir, line+"--pe 2d-fixed --members 2 --out runs/fixed", 0)
	says(t, dir, "report runs/fixed --out one", 0, "from 1 run", "one/index.html")
	report := says(t, dir, "report runs --out made --json", 0)
	rows, err := csv.NewReader(strings.NewReader(readText(t, filepath.Join(dir, "made", "fig3.csv")))).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][4] != "cosine" || rows[1][4] == "" || rows[1][6] == "" {
		t.Errorf("fig3.csv: %v, %v", rows, err)
	}
	keys(t, report, "items", "missing", "notes")
	var made struct {
		Missing []struct{ Item, Command string }
	}
	if err := json.Unmarshal([]byte(report), &made); err != nil || len(made.Missing) < 10 {
		t.Fatalf("%v: %+v", err, made)
	}
	planned := map[string]bool{}
	for _, m := range made.Missing { // each is a sweep that can be planned
		if planned[m.Item] || !slices.Contains([]string{"fig2", "table_a4", "table_a6", "fig_a15",
			"ablation", "fig4"}, m.Item) {
			continue
		}
		planned[m.Item] = true
		says(t, dir, strings.TrimPrefix(m.Command, "torchpe ")+" --launcher none", 0)
	}
	expect.Equal(t, planned, len(planned), 6)

	out := says(t, dir, "runs compare runs/learn runs/fixed", 0, "runs/fixed", "2d-fixed")
	expect.Equal(t, out+"\nruns/learn", strings.Count(out, "runs/learn"), 2) // of each σ
	says(t, dir, "runs compare runs/learn runs/fixed --out both", 0, "both/index.html")
	readText(t, filepath.Join(dir, "both", "validation.pdf"))
	says(t, dir, "report runs --out runs/learn", exitUsage, "run directory")
}

// Runs on a table of one's own become a page of their own, with the names of the table's columns,
// which analyze map prints too.
func TestReportOfOwnData(t *testing.T) {
	table := strings.Replace(ownTable(0), "a,b,c,d", "alpha,beta,gamma,delta", 1)
	dir := put(t, map[string]string{"own.csv": table})
	says(t, dir, "train --task masked --data own.csv --sigma 0.5 --steps 10 --quiet --out runs/own"+tinyModel, 0)
	says(t, dir, "report runs", 0, "from 1 run on own data", "!>missing")
	says(t, dir, "analyze map runs/own", 0, "gamma")

	// Those of the paper's task have its figures, too.
	says(t, dir, "train --task fmri --data own.csv --sigma 0.5 --steps 10 --quiet --out brain/own"+tinyModel, 0)
	says(t, dir, "report brain", 0, "from 1 run on own data: brain/report/index.html", "brain/report/paper/index.html")
	readText(t, filepath.Join(dir, "brain", "report", "paper", "fig5.pdf"))
	keys(t, says(t, dir, "report brain --json", 0), "Index") // one document

	// A run of which no model is left does not stop the reports on others.
	says(t, dir, "train --task masked --data own.csv --steps 50 --optimizer sgd --lr 1e6 --quiet --out mixed/bad"+
		tinyModel, exitFailed, "diverged")
	says(t, dir, "train --task nmar --steps 2 --quiet --out mixed/good"+tinyModel, 0)
	says(t, dir, "report mixed", 0, "2>1 run left out: all models diverged", "mixed/report/index.html")
}
