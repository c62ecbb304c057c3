package table

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

// drawTable draws a table with a column of each kind, any text and any numbers.
func drawTable(t *rapid.T) Table {
	anyText := rapid.OneOf(rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune("\\&%$#_{}~^<>|[]*`'\"-?!\n\r\t σé中")), 0, 12, -1))
	anyNumber := rapid.Custom(func(
		t *rapid.T) float64 {
		return math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
	})
	table := Table{Title: anyText.Draw(t, "title"), Note: anyText.Draw(t, "note"),
		Columns: []Column{
			{Heading: anyText.Draw(t, "heading"), Name: "text"}, {Name: "number", Decimals: 2},
			{Name: "count"}, {Name: "mean"}, {Name: "p"}, {Name: "none"},
		}}
	for range rapid.IntRange(1, 4).Draw(t, "rows") {
		table.Rows = append(table.Rows, Row{
			Text(anyText.Draw(t, "text")), Number(anyNumber.Draw(t, "number")),
			Count(rapid.Int().Draw(t, "count")),
			MeanSD(anyNumber.Draw(t, "mean"), math.Abs(anyNumber.Draw(t, "SD"))),
			P(rapid.Float64Range(0, 1).Draw(t, "p")), {},
		})
	}
	return table
}

// sameBits reports whether a cell read back as s is the number v: to the bit, or empty for NaN.
func sameBits(s string, v float64) bool {
	if math.IsNaN(v) {
		return s == ""
	}
	got, err := strconv.ParseFloat(s, 64)
	return err == nil && math.Float64bits(got) == math.Float64bits(v)
}

// valueOf returns the number of a cell, NaN for a missing one.
func valueOf(c Cell) float64 {
	if v, ok := c.Float(); ok {
		return v
	}
	return math.NaN()
}

func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		b := expect.Written(table.CSV)
		got := expect.Must(csv.NewReader(strings.NewReader(b)).ReadAll())
		if want := "text number count mean mean_sd p none"; strings.Join(got[0], " ") != want ||
			len(got) != len(table.Rows)+1 {
			t.Fatalf("read %d lines with the header %q, want %d with %q", len(got), got[0],
				len(table.Rows)+1, want)
		}
		for i, row := range table.Rows {
			g := got[i+1]
			// as encoding/csv reads a quoted line break
			text := strings.ReplaceAll(row[0].text, "\r\n", "\n")
			if raw := row[0].text; raw != "" && strings.ContainsRune("=+-@\t\r", rune(raw[0])) { // see TestCSVFormulas
				text = strings.TrimPrefix(text, "'")
				g[0] = strings.TrimPrefix(g[0], "'")
			}
			if g[0] != text || g[2] != strconv.Itoa(row[2].count) || g[6] != "" {
				t.Errorf("read %q for %+v", g, row)
			}
			for at, v := range map[int]float64{1: valueOf(row[1]), 3: row[3].value, 4: row[3].sd,
				5: row[4].value} {
				if !sameBits(g[at], v) {
					t.Errorf("read %q for %g", g[at], v)
				}
			}
		}
	})
}

// One column whose cells are missing keeps its lines.
func TestCSVOneColumn(t *testing.T) {
	table := Table{Columns: []Column{{Name: "a"}}, Rows: []Row{{{}}, {Count(1)}, {{}}}}
	b := expect.Written(table.CSV)
	got, err := csv.NewReader(strings.NewReader(b)).ReadAll()
	if err != nil || len(got) != 4 || got[1][0] != "" || got[2][0] != "1" {
		t.Errorf("read back %q, %v", got, err)
	}
}

func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		decode := func(text string, into any) {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			if err := d.Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		var got struct {
			Title, Note string
			Columns     []struct{ Name, Heading string }
			Rows        []map[string]any
		}
		decode(expect.Written(table.JSON), &got)
		if got.Title != table.Title || got.Note != table.Note ||
			got.Columns[0].Heading != table.Columns[0].Heading {
			t.Errorf("read the texts %q, %q, %q", got.Title, got.Note, got.Columns[0].Heading)
		}
		var rows []map[string]any
		decode(expect.Written(table.Objects), &rows)
		if len(rows) != len(got.Rows) {
			t.Fatalf("%d rows, want %d", len(rows), len(got.Rows))
		}
		for i, row := range table.Rows {
			g := rows[i]
			if !reflect.DeepEqual(g, got.Rows[i]) {
				t.Errorf("the list has %v, the object %v", g, got.Rows[i])
			}
			if g["text"] != row[0].text || g["none"] != nil ||
				g["count"].(json.Number).String() != strconv.Itoa(row[2].count) {
				t.Errorf("read %v for %+v", g, row)
			}
			for name, v := range map[string]float64{"number": valueOf(row[1]), "mean": row[3].value,
				"mean_sd": row[3].sd, "p": row[4].value} {
				s := ""
				switch x := g[name].(type) {
				case json.Number:
					s = x.String()
				case string:
					s = x
				}
				if !sameBits(s, v) {
					t.Errorf("read %v for %g", g[name], v)
				}
			}
		}
	})
}

// Another reader of HTML's syntax sees the same texts, and no element that the table did not make.
func TestHTMLReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		b := expect.Written(table.HTML)
		cells := []string{}
		elements := map[string]int{}
		d := xml.NewDecoder(strings.NewReader(b))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("not XML: %v", err)
			}
			switch x := token.(type) {
			case xml.StartElement:
				elements[x.Name.Local]++
				if x.Name.Local == "th" || x.Name.Local == "td" {
					cells = append(cells, "")
				}
			case xml.CharData:
				if n := len(cells); n > 0 {
					cells[n-1] += strings.TrimRight(string(x), "\n")
				}
			}
		}
		for name := range elements {
			if !strings.Contains(" table caption thead tbody tfoot tr th td ", " "+name+" ") {
				t.Errorf("an element <%s>", name)
			}
		}
		for i, row := range table.Rows {
			if got, want := cells[(i+1)*6], oneLine(row[0].text); got != want {
				t.Errorf("read %q, want %q", got, want)
			}
		}
	})
}

// A reader of Markdown that takes cells apart at pipes without a backslash, and takes backslashes
// off, sees the texts again.
func TestMarkdownReadsBack(t *testing.T) {
	cell := regexp.MustCompile(`(?:[^|\\]|\\.)*\|`)
	unescape := regexp.MustCompile(`\\(.)`)
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		table.Title, table.Note = "", ""
		b := expect.Written(func(w io.Writer) error { return table.Write(w, "md") })
		lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
		if len(lines) != len(table.Rows)+2 {
			t.Fatalf("%d lines for %d rows", len(lines), len(table.Rows))
		}
		for i, row := range table.Rows {
			cells := cell.FindAllString(lines[i+2], -1)
			if len(cells) != len(table.Columns)+1 {
				t.Fatalf("%d cells in %s", len(cells)-1, lines[i+2])
			}
			got := unescape.ReplaceAllString(strings.Trim(strings.TrimSuffix(cells[1], "|"), " "),
				"$1")
			if want := oneLine(row[0].text); got != want {
				t.Errorf("read %q, want %q", got, want)
			}
		}
	})
}

// A text that a spreadsheet would compute begins with an apostrophe; numbers and dashes stay.
func TestCSVFormulas(t *testing.T) {
	for text, want := range map[string]string{"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)",
		"+1-1": "'+1-1", "-2+3": "'-2+3", "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
		"\t=1": "'\t=1", "-0.5": "-0.5", "+3e4": "+3e4", "-Inf": "-Inf", "-": "-", "a=1": "a=1",
		"": "", "'=1": "'=1", "\u2212": "\u2212"} {
		table := Table{Columns: []Column{{Name: "a"}, {Name: "b"}},
			Rows: []Row{{Text(text), Number(-0.5)}}}
		b := expect.Written(table.CSV)
		rows, err := csv.NewReader(strings.NewReader(b)).ReadAll()
		if err != nil || rows[1][0] != want || rows[1][1] != "-0.5" {
			t.Errorf("%q: %q, %v", text, rows, err)
		}
	}
}
