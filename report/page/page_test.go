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

	"torchpe/internal/golden"
	"torchpe/report/table"
)

const hostile = `<script>alert("1")</script> & 'q' "q" --> {{.}} σ≥0.5`

const square = `<?xml version="1.0"?>` +
	`<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt" viewBox="0 0 72 36">
<style>path{fill:red}</style><path id="a" d="M0 0h72v36z"/></svg>`

func drawing(t *testing.T, name string) []byte {
	t.Helper()
	svg, err := os.ReadFile(filepath.Join("..", "figure", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func fragment(t *testing.T, tab table.Table) string {
	t.Helper()
	var b strings.Builder
	if err := tab.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
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
		Title:    "Learning positional encodings in transformers depends on initialization",
		Subtitle: "Figures and tables of the study, made again by torchpe from 360 runs",
		Sections: []Section{
			{ID: "latin-square", Title: "The Latin square task", Items: []Item{
				Figure{Title: "Figure 2. Validation accuracy over training",
					Caption: "Mean over 15 seeds; the bands span the lowest and highest seed." +
						" Encodings that start small reach the accuracy of the true positions.",
					SVG:   drawing(t, "boxes.svg"),
					Links: files("figures/figure 2", "pdf", "svg", "png", "csv")},
				TableItem{Title: "Table 1. Accuracy by encoding",
					HTML:  fragment(t, accuracies("Table 1. Accuracy by encoding", 3)),
					Links: files("tables/table1", "csv", "tex", "json")},
				Figure{Title: "Figure 3. One column", Caption: "A smaller figure.",
					SVG: drawing(t, "lines.svg"), Links: files("figures/figure3", "pdf")},
				TableItem{Title: "Table 2. Accuracy by condition",
					HTML: fragment(t,
						accuracies("Every condition, in the order of the paper", 14))},
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
func hostilePage(t *testing.T) Page {
	tab := table.Table{Title: hostile, Note: hostile, Columns: []table.Column{{Heading: hostile}},
		Rows: []table.Row{{table.Text(hostile)}, {table.Count(1)}}}
	links := []Link{{hostile, `a "b" <c> #1?x=%20&y 'σ'.pdf`}}
	return Page{Title: hostile, Subtitle: hostile, Sections: []Section{
		{ID: "a", Title: hostile, Items: []Item{
			Figure{Title: hostile, Caption: hostile, SVG: []byte(square), Links: links},
			Figure{Title: "the same ids again", SVG: []byte(square)},
			TableItem{Title: hostile, HTML: fragment(t, tab), Links: links},
			Text{Title: hostile, Paragraphs: []string{hostile}},
			List{Title: hostile, Entries: []string{hostile}},
			Missing{Title: hostile, Results: []Result{{hostile, hostile}}},
		}},
		{ID: "b", Title: "empty"},
	}}
}

func render(t *testing.T, p Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	p := hostilePage(t)
	golden.Check(t, "hostile.html", render(t, p))
	if again := render(t, hostilePage(t)); !bytes.Equal(again, render(t, p)) {
		t.Error("the same page has other bytes")
	}
}

func TestFigureIsInline(t *testing.T) {
	page := html.UnescapeString(string(render(t, hostilePage(t))))
	// 72 pt by 36 pt are 96 by 48 pixels, shown 1.3 times as large
	want := `src="data:image/svg+xml;base64,` + base64.StdEncoding.EncodeToString([]byte(square)) +
		`"`
	if !strings.Contains(page, want) || !strings.Contains(page, `width="125" height="62"`) {
		t.Errorf("no %s with its size in the page", want)
	}
}

func TestSVGSize(t *testing.T) {
	for attributes, want := range map[string][2]int{
		`width="1in" height="25.4mm"`:                      {125, 125},
		`width="100" height="50px"`:                        {130, 65},
		`width="100%" height="100%" viewBox="0 0 200 100"`: {260, 130},
		`viewBox="-5,-5,100 , 10"`:                         {130, 13},
		``:                                                 {0, 0},
		`viewBox="0 0 NaN Inf"`:                            {0, 0},
		`width="1e9" height="999999"`:                      {0, 0},
		`width="0" height="0" viewBox="0 0 0 0"`:           {0, 0},
	} {
		img, err := inline([]byte("<svg " + attributes + "/>"))
		if err != nil || img.Width != want[0] || img.Height != want[1] {
			t.Errorf("<svg %s> is %d by %d (%v), want %v", attributes, img.Width, img.Height, err,
				want)
		}
	}
}

func TestLinks(t *testing.T) {
	for href, want := range map[string]string{
		"figures/a.pdf":         "figures/a.pdf",
		"../runs/a b.csv":       "../runs/a%20b.csv",
		"100% σ #1?.svg":        "100%25%20%CF%83%20%231%3F.svg",
		"a/b:c.pdf":             "a/b:c.pdf",
		"":                      "",
		".":                     "",
		"/etc/passwd":           "",
		"//host/x":              "",
		"https://example.org/":  "",
		"javascript:alert(1)":   "",
		"JavaScript:alert(1)//": "",
		"file:///tmp/x":         "",
		`C:\x.pdf`:              "",
		`\\host\x.pdf`:          "",
		"java\nscript":          "",
	} {
		got, err := escapeHref(href)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("escapeHref(%q) = %q, %v, want %q", href, got, err, want)
		}
	}
}

func TestFaults(t *testing.T) {
	in := func(items ...Item) Page {
		return Page{Title: "P", Sections: []Section{{ID: "s", Title: "S", Items: items}}}
	}
	for want, p := range map[string]Page{
		"no title":         {},
		`ID "A b"`:         {Title: "P", Sections: []Section{{ID: "A b", Title: "S"}}},
		`"s" has no title`: {Title: "P", Sections: []Section{{ID: "s"}}},
		`two parts have the ID "s"`: {Title: "P",
			Sections: []Section{{ID: "s", Title: "S"}, {ID: "s", Title: "S"}}},
		`the ID "s-1"`: {Title: "P",
			Sections: []Section{{ID: "s-1", Title: "S"},
				{ID: "s", Title: "S", Items: []Item{List{Entries: []string{"x"}}}}}},
		"item 1 is nil":              in(nil),
		"a figure has no title":      in(Figure{SVG: []byte(square)}),
		"it has no SVG":              in(Figure{Title: "F"}),
		"first element is not <svg>": in(Figure{Title: "F", SVG: []byte("<html/>")}),
		"SVG is not XML":             in(Figure{Title: "F", SVG: []byte("<svg>")}),
		"has a scheme": in(Figure{Title: "F", SVG: []byte(square),
			Links: []Link{{"PDF", "https://x/y"}}}),
		"has no label": in(Figure{Title: "F", SVG: []byte(square),
			Links: []Link{{"", "y"}}}),
		"a table has no title": in(TableItem{HTML: "<table/>"}),
		"0 tables":             in(TableItem{Title: "T"}),
		"2 tables":             in(TableItem{Title: "T", HTML: "<table/><table/>"}),
		"<script>": in(TableItem{Title: "T",
			HTML: "<table><td><script>x</script></td></table>"}),
		"<td onclick>": in(TableItem{Title: "T",
			HTML: `<table><td onclick="x">1</td></table>`}),
		"<td id>": in(TableItem{Title: "T",
			HTML: `<table><td id="s">1</td></table>`}),
		"comment, declaration": in(TableItem{Title: "T",
			HTML: `<table><td><![CDATA[><script>x</script>]]></td></table>`}),
		"outside the table": in(TableItem{Title: "T", HTML: `x<table/>`}),
		"syntax error":      in(TableItem{Title: "T", HTML: `<table></div>`}),
		"no paragraphs":     in(Text{}),
		"no entries":        in(List{}),
		"give both":         in(Missing{Title: "x", Results: []Result{{What: "x"}}}),
	} {
		var b bytes.Buffer
		if err := p.write(&b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if b.Len() != 0 {
			t.Errorf("%s: wrote %d bytes before the error", want, b.Len())
		}
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	if err := samplePage(t).write(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

func TestSave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "index.html")
	if err := hostilePage(t).Save(file); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	if !bytes.Equal(got, render(t, hostilePage(t))) {
		t.Error("Save and Write differ")
	}
	if err := (Page{}).Save(file); err == nil {
		t.Error("a page without a title was saved")
	}
	if again, _ := os.ReadFile(file); !bytes.Equal(got, again) {
		t.Error("a fault changed the file")
	}
}
