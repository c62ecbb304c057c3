package evidence_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/internal/stats"
	"torchpe/report/figure"
)

// TestFigures draws the page's figures, those that it shows as PDF and as PNG.
func TestFigures(t *testing.T) {
	m := readModels(t)
	for name, page := range map[string]figure.Page{
		"evidence": {Width: figure.ColumnWidth, Rows: row1(2.3, sigmaPanel(m))},
		"evidence-placement": {Width: figure.PageWidth, Rows: row1(2.4, placementPanel(m, "0.2"),
			placementPanel(m, "2"))},
		"evidence-ratio": {Width: figure.PageWidth, Rows: row1(3.6, ratioPanel(m, "ratio_block_1", "first"),
			ratioPanel(m, "ratio_block_4", "fourth"))},
	} {
		draw(t, page, name+".pdf", "../../docs/images/"+name+".png")
	}
	draw(t, figure.Page{Width: figure.PageWidth, Rows: slices.Concat(
		row1(2.4, motionPanel("Motion of the table", "log10 of ||E − E₀|| / ||E₀||", "moved", math.Log10),
			motionPanel("Tangent kernel", "Alignment with the start's", "tangent_alignment", nil)),
		row1(2.4, motionPanel("Likeness to the true places", "Procrustes disparity from 2d-fixed", "disparity", nil),
			kernelPanel()))}, "lazy.pdf")
	byLevel := strings.Fields("learn-0.01 learn-0.1 learn-0.2 learn-0.5 learn-0.7 learn-1.0 learn-1.5 learn-2.0")
	common := strings.Fields("2d-fixed learn-0.2 relative random rope 1d-fixed")
	draw(t, figure.Page{Width: figure.PageWidth, Rows: slices.Concat(
		row1(2.6, levelPanel("Learned, by initial σ", "validation", byLevel),
			levelPanel("Learned: puzzles like those of training", "iid", byLevel)),
		row1(2.6, levelPanel("Common encodings", "validation", common),
			levelPanel("Common: puzzles like those of training", "iid", common)))}, "equal_training.pdf")
}

// draw writes a figure to files, whose extensions say in which format.
func draw(t *testing.T, page figure.Page, paths ...string) {
	t.Helper()
	f := expect.Must(figure.Compose(page))
	for _, path := range paths {
		var b bytes.Buffer
		expect.NoError(t, f.Encode(&b, path[strings.LastIndex(path, ".")+1:]))
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

// floors are the accuracies on validation puzzles without a model. The look-up of the most similar training
// puzzle is at chance.
func floors() []figure.Reference {
	out := []figure.Reference{{Label: "chance, look-up", Y: .25}}
	for _, r := range records("floors.csv") {
		if r["baseline"] == "counts" {
			out = append(out, figure.Reference{Label: "counts", Y: r.number("validation")})
		}
	}
	return out
}

// sigmaPanel shows validation accuracy by σ, beside that of IID puzzles and the paper's.
func sigmaPanel(m models) figure.Panel {
	printed, _ := paper.Table("A2")
	optimizers, _ := paper.Table("A4")
	boxes := figure.Boxes{
		Title: "Generalization by initial σ", XLabel: "Initial σ", YLabel: "Validation accuracy",
		References: floors(), Beside: []string{"IID test accuracy", "validation accuracy in the paper"}, Dots: "seeds",
	}
	for _, sigma := range sigmas {
		name := "learn-" + sigma
		theirs := stats.Mean(nil) // NaN: the paper has no such σ
		if n, ok := printed[[2]string{paperName(name), "validation"}]; ok {
			theirs = n.Mean
		} else if n, ok := optimizers[[2]string{paperName(name), "adam"}]; ok {
			theirs = n.Mean
		}
		boxes.Groups = append(boxes.Groups, figure.Group{Label: sigma, ColorOf: "learn σ=" + sigma,
			Values: m.column(name, "validation"),
			Beside: []float64{m[name].mean("iid"), theirs}})
	}
	return &boxes
}

// placementPanel shows validation accuracy by where the PE is added and which token is read, beside that of IID
// puzzles.
func placementPanel(m models, sigma string) figure.Panel {
	boxes := figure.Boxes{Title: "σ = " + sigma, YLabel: "Validation accuracy", References: floors(),
		Beside: []string{"IID test accuracy"}, Dots: "seeds", Covers: [2]float64{.2, 1}}
	for _, c := range corners {
		name := "learn-" + sigma + c.suffix
		boxes.Groups = append(boxes.Groups, figure.Group{Label: strings.TrimSuffix(strings.TrimSuffix(c.words,
			" (code)"), " (text)"), ColorOf: "learn σ=" + sigma, Values: m.column(name, "validation"),
			Beside: []float64{m[name].mean("iid")}})
	}
	return &boxes
}

// ratioPanel shows validation accuracy against the ratio of table and tokens at a block's input, which is 0
// where no table is added.
func ratioPanel(m models, column, block string) figure.Panel {
	scatter := figure.Scatter{Title: "At the " + block + " block", XLabel: "RMS of the table / RMS of the tokens",
		YLabel: "Validation accuracy"}
	suffixes := []string{", shared"}
	for _, c := range corners {
		suffixes = append(suffixes, c.suffix)
	}
	if column == "ratio_block_1" { // the only one that a factor of the token embeddings changes
		suffixes = append(suffixes, ", tokens x 5", ", tokens x 20")
	}
	var fewer []string
	few := 0
	for _, suffix := range suffixes {
		for _, sigma := range sigmas {
			known := m["learn-"+sigma+suffix].withRatio()
			if len(known) == 0 {
				continue
			}
			x := []float64{0, 0}
			if column == "ratio_block_1" || !strings.Contains(suffix, "once") {
				x = known.column(column)
			}
			y := known.column("validation")
			if len(y) < manySeeds {
				few, fewer = len(y), append(fewer, sigma+suffix)
			}
			label := sigma + suffix
			switch isFirst := column == "ratio_block_1"; { // where there is no room for each
			case isFirst && sigma == "0.2" && suffix == "":
				label = "0.2, all five"
			case isFirst && sigma == "0.2", !isFirst && strings.Contains(suffix, "once"):
				label = ""
			}
			scatter.Points = append(scatter.Points, figure.ScatterPoint{Label: label, ColorOf: "learn σ=" + sigma,
				X: stats.Mean(x), Y: stats.Mean(y), XErr: stats.SD(x), YErr: stats.SD(y)})
		}
	}
	scatter.Note = fmt.Sprintf("Points: means of %d seeds (%s: %d); bars: ±1 SD", manySeeds,
		strings.Join(fewer, "; "), few)
	if column != "ratio_block_1" {
		scatter.Note = "At 0: tables added once. " + scatter.Note
	}
	return &scatter
}

// bySigma returns the rows of lazy.csv by σ.
func bySigma() map[string][]row {
	by := map[string][]row{}
	for _, r := range records("lazy.csv") {
		by[r["sigma"]] = append(by[r["sigma"]], r)
	}
	return by
}

// values returns a measure of rows.
func values(rows []row, measure string) (of []float64) {
	for _, r := range rows {
		of = append(of, r.number(measure))
	}
	return of
}

// motionPanel shows a measure of lazy.csv by σ, of each seed; scale may be nil.
func motionPanel(title, label, measure string, scale func(float64) float64) figure.Panel {
	boxes := figure.Boxes{Title: title, XLabel: "Initial σ", YLabel: label, Dots: "seeds"}
	by := bySigma()
	for _, sigma := range sigmas {
		of := values(by[sigma], measure)
		for i := range of {
			if scale != nil {
				of[i] = scale(of[i])
			}
		}
		boxes.Groups = append(boxes.Groups, figure.Group{Label: sigma, ColorOf: "learn σ=" + sigma, Values: of})
	}
	return &boxes
}

// kernelPanel shows validation accuracy against the alignment of the tangent kernel with the start's.
func kernelPanel() figure.Panel {
	scatter := figure.Scatter{Title: "Kernel and generalization", XLabel: "Tangent kernel's alignment",
		YLabel: "Validation accuracy", Note: "Points: means of four seeds; bars: ±1 SD"}
	by := bySigma()
	for _, sigma := range sigmas {
		x, y := values(by[sigma], "tangent_alignment"), values(by[sigma], "validation")
		scatter.Points = append(scatter.Points, figure.ScatterPoint{Label: sigma, ColorOf: "learn σ=" + sigma,
			X: stats.Mean(x), Y: stats.Mean(y), XErr: stats.SD(x), YErr: stats.SD(y)})
	}
	return &scatter
}

// levelPanel shows a measure of equal_training.csv when training accuracy was first at each level. The file has
// means and SDs: members are such as have these.
func levelPanel(title, measure string, names []string) figure.Panel {
	lines := figure.Lines{Title: title, XLabel: "Training accuracy",
		YLabel: map[string]string{"validation": "Validation accuracy", "iid": "IID test accuracy"}[measure],
		Band:   figure.BandSD, Markers: true, Covers: [2]float64{0, 1},
		References: []figure.Reference{{Label: "chance", Y: .25}}}
	by := map[string][]row{}
	for _, r := range records("equal_training.csv") {
		by[r["pe"]] = append(by[r["pe"]], r)
	}
	for _, name := range names {
		series := figure.LineSeries{Label: name, ColorOf: strings.Replace(name, "learn-", "learn σ=", 1),
			Values: make([][]float64, 4)}
		for _, r := range by[name] {
			series.X = append(series.X, r.number("train"))
			mean, sd := r.number(measure), r.number(measure+"_sd")
			half := sd * math.Sqrt(3) / 2
			of := []float64{mean - half, mean - half, mean + half, mean + half}
			if r["n"] == "3" {
				of = []float64{mean - sd, mean, mean + sd, math.NaN()}
				series.Label = name + ", 3 seeds at .99"
			}
			for i, v := range of {
				series.Values[i] = append(series.Values[i], v)
			}
		}
		lines.Series = append(lines.Series, series)
	}
	return &lines
}
