package evidence_test

import (
	"bytes"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/figure"
)

// TestFigures draws the page's figures, as PDF and as PNG.
func TestFigures(t *testing.T) {
	m := readModels(t)
	for name, page := range map[string]figure.Page{
		"evidence": {Width: figure.ColumnWidth, Rows: row1(2.3, sigmaPanel(t, m))},
		"evidence-placement": {Width: figure.PageWidth, Rows: row1(2.4, placementPanel(t, m, "0.2"),
			placementPanel(t, m, "2"))},
		"evidence-ratio": {Width: figure.PageWidth, Rows: row1(2.6, ratioPanel(t, m, "ratio_block_1", "first"),
			ratioPanel(t, m, "ratio_block_4", "fourth"))},
	} {
		draw(t, page, name+".pdf", "../../docs/images/"+name+".png")
	}
}

// draw writes a figure to files, whose extensions say in which format.
func draw(t *testing.T, page figure.Page, paths ...string) {
	t.Helper()
	f, err := figure.Compose(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var b bytes.Buffer
		if err := f.Encode(&b, path[strings.LastIndex(path, ".")+1:]); err != nil {
			t.Fatal(err)
		}
		expect.GoldenFile(t, path, b.Bytes())
	}
}

func row1(height float64, panels ...figure.Panel) []figure.Row {
	r := figure.Row{Height: height}
	for _, p := range panels {
		r.Cells = append(r.Cells, figure.Cell{Panel: p})
	}
	return []figure.Row{r}
}

// floors are the accuracies on validation puzzles without a model.
func floors(t *testing.T) []figure.Reference {
	out := []figure.Reference{{Label: "chance", Y: .25}}
	for _, r := range records(t, "floors.csv") {
		if r["baseline"] == "counts" {
			out = append(out, figure.Reference{Label: "counts", Y: r.number(t, "validation")})
		}
	}
	return out
}

// sigmaPanel shows validation accuracy by σ, beside that of IID puzzles and the paper's.
func sigmaPanel(t *testing.T, m models) figure.Panel {
	printed, _ := paper.Table("A2")
	boxes := figure.Boxes{
		Title: "Generalization by initial σ", XLabel: "Initial σ", YLabel: "Validation accuracy",
		References: floors(t), Beside: []string{"validation accuracy in the paper", "IID test accuracy"}, Dots: "seeds",
	}
	for _, sigma := range sigmas {
		name := "learn-" + sigma
		theirs := stats.Mean(nil) // NaN: the paper has no such σ
		if n, ok := printed[[2]string{paperName(name), "validation"}]; ok {
			theirs = n.Mean
		}
		boxes.Groups = append(boxes.Groups, figure.Group{Label: sigma, ColorOf: "learn σ=" + sigma,
			Values: m.column(t, name, "validation"),
			Beside: []float64{theirs, stats.Mean(m.column(t, name, "iid"))}})
	}
	return &boxes
}

// placementPanel shows validation accuracy by where the PE is added and which token is read.
func placementPanel(t *testing.T, m models, sigma string) figure.Panel {
	boxes := figure.Boxes{Title: "σ = " + sigma, YLabel: "Validation accuracy", References: floors(t),
		Beside: []string{"training accuracy", "IID test accuracy"}, Dots: "seeds", Covers: [2]float64{.2, 1}}
	for _, c := range corners {
		name := "learn-" + sigma + c.suffix
		boxes.Groups = append(boxes.Groups, figure.Group{Label: strings.TrimSuffix(strings.TrimSuffix(c.words,
			" (code)"), " (text)"), ColorOf: "learn σ=" + sigma, Values: m.column(t, name, "validation"),
			Beside: []float64{stats.Mean(m.column(t, name, "train")), stats.Mean(m.column(t, name, "iid"))}})
	}
	return &boxes
}

// ratioPanel shows validation accuracy against the ratio of table and tokens at a block's input, which is 0
// where no table is added.
func ratioPanel(t *testing.T, m models, column, block string) figure.Panel {
	scatter := figure.Scatter{Title: "At the " + block + " block", XLabel: "RMS of the table / RMS of the tokens",
		YLabel: "Validation accuracy", Note: "Points: means of seeds; bars: ±1 SD"}
	suffixes := []string{", shared"}
	for _, c := range corners {
		suffixes = append(suffixes, c.suffix)
	}
	for _, suffix := range suffixes {
		for _, sigma := range sigmas {
			known := models{"": withRatio(m["learn-"+sigma+suffix])}
			if len(known[""]) == 0 {
				continue
			}
			x := []float64{0, 0}
			if column == "ratio_block_1" || !strings.Contains(suffix, "once") {
				x = known.column(t, "", column)
			}
			y := known.column(t, "", "validation")
			scatter.Points = append(scatter.Points, figure.ScatterPoint{Label: sigma + suffix,
				ColorOf: "learn σ=" + sigma, X: stats.Mean(x), Y: stats.Mean(y), XErr: stats.SD(x), YErr: stats.SD(y)})
		}
	}
	return &scatter
}
