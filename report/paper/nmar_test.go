package paper

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/internal/synthetic"
	"torchpe/report/item"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// errorRows returns the table of errors of groups as rows by their first cell, less that cell.
func errorRows(t *testing.T, all []cohort.Group, zscored bool) map[string][]string {
	t.Helper()
	var text strings.Builder
	all[0].Models[0].Run.Config.Masked = &config.MaskedConfig{ZScore: zscored}
	d := &draft{Draft: item.Draft{Groups: all}, study: &Study{}}
	nmarErrors(d)
	expect.NoError(t, d.Tables[0].CSV(&text))
	rows := expect.Must(csv.NewReader(strings.NewReader(text.String())).ReadAll())
	if want := "pe,n,test_mse_50,test_mse_50_sd,difference,f,df,p"; strings.Join(rows[0], ",") != want {
		t.Fatalf("columns %v, want %s", rows[0], want)
	}
	out := map[string][]string{}
	for _, row := range rows[1:] {
		out[row[0]] = row[1:]
	}
	return out
}

// isNear says whether a cell is a number within 1e-9 of another.
func isNear(cell string, want float64) bool {
	v, err := strconv.ParseFloat(cell, 64)
	return err == nil && math.Abs(v-want) < 1e-9
}

// The F of errors is scipy's (internal/stats/testdata/make.py, scipy.stats.f_oneway) of eight groups
// of six, the paper's design; a change of scale and offset leaves it. Beside it stand the printed
// numbers of appendix A.4.
func TestNMARErrors(t *testing.T) {
	text := expect.Must(os.ReadFile(filepath.Join("..", "..", "internal", "stats", "testdata", "scipy.json")))
	type test struct {
		Name   string
		Groups [][]float64
		F, P   float64
	}
	var scipy struct{ Groups []test }
	expect.NoError(t, json.Unmarshal(text, &scipy))
	design := scipy.Groups[slices.IndexFunc(scipy.Groups, func(g test) bool { return g.Name == "same" })]
	run := &cohort.Run{Result: runlog.Result{Baselines: map[string]runlog.Numbers{
		"gaussian": {"0.50": .0483}, "mean": {"0.50": .0496}}}}
	run.Config.JSON = []byte("{}")
	var all []cohort.Group
	sum, first := 0.0, 0.0
	for i, values := range design.Groups {
		g := cohort.Group{Label: paper.MaskedEncodings()[i]}
		for _, v := range values {
			mse := .0485 + .0001*v
			sum += mse / 48
			if i == 0 {
				first += mse / 6
			}
			g.Models = append(g.Models, cohort.Model{Run: run, Result: runlog.MemberResult{
				Measures: runlog.Numbers{"test_mse/0.50": mse, "test_mse/0.90": 7}}})
		}
		all = append(all, g)
	}
	rows := errorRows(t, all, false)
	ours, paper := rows["all"], rows["all, in the paper"]
	if len(rows) != 8+1+1+2 || ours[0] != "48" || !isNear(ours[1], sum) ||
		!isNear(ours[3], sum-.049) || ours[5] != "7, 40" {
		t.Errorf("%d rows, all: %v, want a mean of %g", len(rows), ours, sum)
	}
	expect.Near(t, "F", expect.Must(strconv.ParseFloat(ours[4], 64)), design.F, 1e-9*design.F)
	expect.Near(t, "p", expect.Must(strconv.ParseFloat(ours[6], 64)), design.P, 1e-9*design.P)
	expect.Equal(t, "the paper", strings.Join(paper, ","), ",0.049,,,0.24,,0.97")
	if row := rows["1d-fixed"]; row[0] != "6" || !isNear(row[1], first) ||
		!isNear(row[3], first-.049) || row[4] != "" {
		t.Errorf("1d-fixed: %v, want a mean of %g", row, first)
	}
	if row := rows["conditional Gaussian"]; !isNear(row[1], .0483) || !isNear(row[3], -.0007) {
		t.Errorf("conditional Gaussian: %v", row)
	}
	// shares of a variance have no difference from the printed error
	expect.Equal(t, "z-scored", errorRows(t, all, true)["all"][3], "")
	for i := range all { // one model each: no test
		all[i].Models = all[i].Models[:1]
	}
	row := errorRows(t, all, false)["all"]
	expect.Equal(t, "one model each", []string{row[0], row[4], row[6]}, []string{"8", "", ""})
}

// The figure is of nodes by module, whatever order the models had them in, and its caption says
// which; 1d-fixed is modular by itself only in runs of versions before nodes came in a drawn order.
func TestNMAROrder(t *testing.T) {
	s := study(t, synthetic.Run{Name: "a", Task: "nmar", PE: "1d-fixed", Seeds: []int{1}})
	panels := expect.Must(simulation(&draft{Draft: item.Draft{Groups: nmarGroups(s)}, study: s}))
	if m, ok := panels[0].(figure.Matrix); !ok || !slices.IsSorted(m.Groups) || len(m.Groups) != 15 {
		t.Errorf("the true network is drawn in the order %v of modules", m.Groups)
	}
	for order, want := range map[string]string{"drawn": "drawn by data seed 0",
		"": "modular without having learned it"} {
		s.NMAR[0].Run.Config.Masked.NMAR.Order = order
		for _, item := range expect.Must(s.items()) {
			if item.ID == "fig4" && !strings.Contains(item.Caption, want) {
				t.Errorf("order %q: %s", order, item.Caption)
			}
		}
	}
}
