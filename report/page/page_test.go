package page

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/table"
)

const hostile = `<script>alert("1")</script> & 'q' "q" --> {{.}} σ≥0.5`

const square = `<?xml version="1.0"?>` +
	`<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt" viewBox="0 0 72 36">
<style>path{fill:red}</style><path id="a" d="M0 0h72v36z"/></svg>`

func drawing(name string) []byte {
	return expect.Must(os.ReadFile(filepath.Join("..", "figure", "testdata", name)))
}

// accuracies is a table of some columns and rows.
func accuracies(title string, columns int) table.Table {
	t := table.Table{Title: title,
		Note:    "Mean ± SD over 15 seeds; accuracy as a fraction, chance is 0.25.",
		Columns: []table.Column{{Heading: "Encoding"}, {Heading: "n"}}}
	for j := range columns {
		t.Columns = append(t.Columns,
			table.Column{Heading: fmt.Sprintf("%d-vector", j+1), Decimals: 3})
	}
	for i, name := range []string{"2d-fixed", "learn σ=0.2", "learn σ=1.0", "learn σ=2.0", "nope"} {
		row := table.Row{table.Text(name), table.Count(15)}
		for j := range columns {
			row = append(row, table.MeanSD(0.99-0.1*float64(i)-0.01*float64(j), 0.012))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// samplePage looks as the report does.
func samplePage(t *testing.T) Page {
	files := func(stem string, extensions ...string) (links []Link) {
		for _, e := range extensions {
			links = append(links, Link{strings.ToUpper(e), stem + "." + e})
		}
		return links
	}
	return Page{
		Title:    "Learning interpretable positional encodings in transformers depends on initialization",
		Subtitle: "Figures and tables of the study, made again by torchpe from 360 runs",
		Sections: []Section{
			{ID: "latin-square", Title: "The Latin square task", Items: []Item{
				Figure{Title: "Figure 2. Validation accuracy over training",
					Caption: "Mean over 15 seeds; the bands span the lowest and highest seed." +
						" Encodings that start small reach the accuracy of the true positions.",
					SVG:   drawing("boxes.svg"),
					Links: files("figures/figure 2", "pdf", "svg", "png", "csv")},
				TableItem{Title: "Table 1. Accuracy by encoding",
					Table: accuracies("Table 1. Accuracy by encoding", 3),
					Links: files("tables/table1", "csv", "tex", "json")},
				Figure{Title: "Figure 3. One column", Caption: "A smaller figure.",
					SVG: drawing("lines.svg"), Width: 238, Height: 136, Links: files("figures/figure3", "pdf")},
				TableItem{Title: "Table 2. Accuracy by condition",
					Table: accuracies("Every condition, in the order of the paper", 14)},
			}},
			{ID: "masked", Title: "Masked prediction of brain networks", Items: []Item{
				Missing{Title: "Two figures that these runs cannot make", Results: []Result{
					{What: "Figure 5. Test error by mask level",
						Command: "torchpe train --task nmar --pe learn --seeds paper --out runs/nmar-learn"},
					{What: "Figure 6. Networks", Command: "torchpe sweep fig5"}}},
				Text{Paragraphs: []string{"Three runs stopped early. They are left out of the means.",
					"Nothing else was left out."}},
			}},
			{ID: "checks", Title: "How this was checked", Items: []Item{
				List{Title: "Against the paper",
					Entries: []string{"28 of 30 accuracies lie within one SD of the published mean.",
						"The order of the encodings is that of Figure 2."}},
				Text{Title: "Software",
					Paragraphs: []string{"torchpe 0.1, libtorch 1.13.0, Debian 12."}},
			}},
		},
	}
}

// hostilePage has text that is something else to HTML in every place.
func hostilePage() Page {
	tab := table.Table{Title: hostile, Note: hostile, Columns: []table.Column{{Heading: hostile}},
		Rows: []table.Row{{table.Text(hostile)}, {table.Count(1)}}}
	links := []Link{{hostile, `a "b" <c> #1?x=%20&y 'σ'.pdf`}}
	return Page{Title: hostile, Subtitle: hostile, Sections: []Section{
		{ID: "a", Title: hostile, Items: []Item{
			Figure{Title: hostile, Caption: hostile, SVG: []byte(square), Width: 72, Height: 36, Links: links},
			Figure{Title: "the same ids again", SVG: []byte(square), Width: 72, Height: 36},
			TableItem{Title: hostile, Table: tab, Links: links},
			Text{Title: hostile, Paragraphs: []string{hostile}},
			List{Title: hostile, Entries: []string{hostile}},
			Missing{Title: hostile, Results: []Result{{hostile, hostile}}},
		}},
		{ID: "b", Title: "empty"},
	}}
}

func rendered(p Page) []byte { return []byte(expect.Written(p.write)) }

func TestGolden(t *testing.T) {
	expect.Golden(t, "hostile.html", rendered(hostilePage()))
}

func TestFigureIsInline(t *testing.T) {
	page := html.UnescapeString(string(rendered(hostilePage())))
	// 72 pt by 36 pt are 96 by 48 pixels, shown 1.3 times as large
	want := `src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString([]byte(square)) +
		`"`
	expect.Contains(t, page, want, `width="125" height="62"`)
}

// A link leads to a file beside the page, whatever the name of the file.
func TestLinks(t *testing.T) {
	for path, want := range map[string]string{
		"figures/a.pdf":         "figures/a.pdf",
		"../runs/a b.csv":       "../runs/a%20b.csv",
		"100% σ #1?.svg":        "100%25%20%CF%83%20%231%3F.svg",
		"a/b:c.pdf":             "a/b:c.pdf",
		"javascript:alert(1)":   "./javascript:alert%281%29",
		"JavaScript:alert(1)//": "./JavaScript:alert%281%29//",
		"file:///tmp/x":         "./file:///tmp/x",
		`\\host\x.pdf`:          "%5C%5Chost%5Cx.pdf",
		"java\nscript":          "java%0Ascript",
	} {
		expect.Equal(t, fmt.Sprintf("the URL of %q", path), href(path), want)
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	expect.ErrorIs(t, samplePage(t).write(fullDisk{}), errFull)
}

func TestSave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index.html")
	expect.NoError(t, hostilePage().Save(file))
	got, _ := os.ReadFile(file)
	expect.Equal(t, "Save and Write differ", !bytes.Equal(got, rendered(hostilePage())), false)
}
