// Package leaderboard_test makes the tables and the figure of this folder's page from its CSV files. With -update it
// writes them anew; without, a stale one fails.
package leaderboard_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/report/figure"
	"torchpe/report/ranking"
	"torchpe/results/internal/page"
)

// entry holds the models of an encoding as it was trained.
type entry struct {
	label, encoding, family string
	rows                    []page.Row
	fitted                  int
}

// column returns a measure of the models.
func (e entry) column(t *testing.T, name string) (values []float64) {
	for _, r := range e.rows {
		values = append(values, r.Number(t, name))
	}
	return values
}

// entries reads puzzles.csv, in the order of labels. It fails where a label has a seed twice.
func entries(t *testing.T) (all []entry) {
	t.Helper()
	by := map[string]*entry{}
	seen := map[string]bool{}
	for _, r := range page.Records(t, "puzzles.csv") {
		label := r["pe"]
		if r["placement"] == "input" {
			label += ", once"
		}
		if r["lr"] != "0.0003" {
			label += ", lr " + r["lr"]
		}
		if by[label] == nil {
			family, err := catalogue.FamilyOf(r["pe"])
			if err != nil {
				t.Fatal(err)
			}
			by[label] = &entry{label: label, encoding: r["pe"], family: family}
		}
		if key := label + " " + r["seed"]; seen[key] {
			t.Fatalf("puzzles.csv has %s twice", key)
		} else {
			seen[key] = true
		}
		by[label].rows = append(by[label].rows, r)
		if r["fitted"] != "no" {
			by[label].fitted++
		}
	}
	for _, label := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[label])
	}
	return all
}

// scores returns the share that each model solves of each item, which is three rotations of a puzzle.
func scores(e entry, puzzles []page.Row) (scores [][]float64) {
	for _, r := range e.rows {
		var own []float64
		for part := range slices.Chunk(page.Correct(r, puzzles), 3) {
			own = append(own, stats.Mean(part))
		}
		scores = append(scores, own)
	}
	return scores
}

// ranked returns the entries all of whose models have fitted, two or more, in their places, and the others.
func ranked(t *testing.T) (places []ranking.Standing, by map[string]entry, others []entry) {
	t.Helper()
	puzzles := page.Records(t, "../evidence/items.csv")
	by = map[string]entry{}
	var all []ranking.Entry
	for _, e := range entries(t) {
		by[e.label] = e
		if e.fitted < len(e.rows) || len(e.rows) < 2 {
			others = append(others, e)
			continue
		}
		all = append(all, ranking.Entry{Label: e.label, Family: e.family, Scores: scores(e, puzzles)})
	}
	return ranking.Rank(all, false), by, others
}

func TestPage(t *testing.T) {
	places, by, others := ranked(t)
	for _, p := range places {
		if want := stats.Mean(by[p.Label].column(t, "validation")); math.Abs(p.Mean-want) > 1e-12 {
			t.Errorf("%s: answers give %v, result.json %v", p.Label, p.Mean, want)
		}
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	for _, part := range []struct{ name, text string }{
		{"lead", lead(places, others)},
		{"ranks", rankTable(t, places, by)},
		{"others", otherTable(t, others)},
		{"families", familyTable(places)},
	} {
		readme = page.Replace(t, readme, part.name, part.text)
	}
	expect.GoldenFile(t, "README.md", []byte(readme))
}

// lead says in a few sentences who is first.
func lead(places []ranking.Standing, others []entry) string {
	var alike []string
	for _, p := range places[1:] {
		if !p.Told {
			alike = append(alike, "`"+p.Label+"`")
		}
	}
	return fmt.Sprintf("Of %d encodings and placements that have fitted with all seeds, `%s` is first (%s); %d cannot be "+
		"told from it: %s. %d have not fitted, or have one seed so far.\n", len(places), places[0].Label,
		point(places[0].Mean), len(alike), cmp.Or(strings.Join(alike, ", "), "none"), len(others))
}

func point(v float64) string { return number.Bare(v, 3) }

// cost says what a step takes beside one of nope, and how many parameters are trained, from results/schemes-cpu.
func cost(t *testing.T) map[string]page.Row {
	t.Helper()
	by := map[string]page.Row{}
	for _, r := range page.Records(t, "../schemes-cpu/schemes.csv") {
		by[r["pe"]] = r
	}
	return by
}

// places names the kind of places that an encoding takes.
func placesOf(t *testing.T, encoding string) string {
	t.Helper()
	scheme, err := pe.Find(encoding)
	if err != nil {
		t.Fatal(err)
	}
	switch scheme.Needs {
	case pe.NeedsNothing, pe.NeedsSame:
		return "none"
	case pe.NeedsOrder:
		return "1-D"
	}
	return "2-D"
}

// cells returns what tables say of an entry whether it has fitted or not.
func cells(t *testing.T, e entry) string {
	validation := e.column(t, "validation")
	text := fmt.Sprintf("%s | %d | %s | %s | %s", placesOf(t, e.encoding), len(e.rows),
		point(stats.Mean(e.column(t, "train"))), point(stats.Mean(e.column(t, "iid"))), point(stats.Mean(validation)))
	if len(validation) > 1 {
		text += " ± " + point(stats.SD(validation))
	}
	return text
}

func rankTable(t *testing.T, places []ranking.Standing, by map[string]entry) string {
	cost := cost(t)
	var rows []string
	for i, p := range places {
		e := by[p.Label]
		told := map[bool]string{true: "yes", false: "no"}[p.Told]
		if i == 0 {
			told = ""
		}
		epochs := e.column(t, "fitted")
		rows = append(rows, fmt.Sprintf("| %d | %d to %d | %s | %s | %.0f to %.0f | %s | %s | %s |", i+1, p.LowRank, p.HighRank,
			p.Label, cells(t, e), slices.Min(epochs), slices.Max(epochs), told, cost[e.encoding]["puzzles_ratio"],
			cost[e.encoding]["parameters"]))
	}
	return page.Table("| rank | 95 % | encoding | places | n | training | IID | validation | epochs | told from the first | "+
		"step / `nope`'s | parameters |", rows)
}

func otherTable(t *testing.T, others []entry) string {
	var rows []string
	for _, e := range others {
		rows = append(rows, fmt.Sprintf("| %s | %s | %d |", e.label, cells(t, e), e.fitted))
	}
	return page.Table("| encoding | places | n | training | IID | validation | fitted |", rows)
}

func familyTable(places []ranking.Standing) string {
	families, p := ranking.Families(places)
	var rows []string
	for _, f := range families {
		rows = append(rows, fmt.Sprintf("| %s | %d | %.1f |", f.Name, f.N, f.Median))
	}
	return page.Table("| family | encodings | median rank |", rows) + "\nRanks dealt to encodings at random differ as " +
		"much between families: " + number.PText(p) + ".\n"
}

// TestFigure draws held-out against IID accuracy, as PDF and as PNG.
func TestFigure(t *testing.T) {
	places, by, _ := ranked(t)
	panel := figure.Scatter{XLabel: "IID test accuracy", YLabel: "Validation accuracy"}
	for _, p := range places {
		panel.Points = append(panel.Points, figure.ScatterPoint{Label: p.Label, ColorOf: "all",
			X: stats.Mean(by[p.Label].column(t, "iid")), Y: p.Mean})
	}
	f, err := figure.Compose(figure.Page{Width: figure.PageWidth, Rows: []figure.Row{{Height: 4.5,
		Cells: []figure.Cell{{Panel: panel}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"puzzles.pdf", "../../docs/images/leaderboard.png"} {
		var b bytes.Buffer
		if err := f.Encode(&b, path[strings.LastIndex(path, ".")+1:]); err != nil {
			t.Fatal(err)
		}
		expect.GoldenFile(t, path, b.Bytes())
	}
}
