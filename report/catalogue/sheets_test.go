package catalogue

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
	"torchpe/report/figure"
)

// sheetColumns limits the pictures side by side on a sheet.
const sheetColumns = 5

// sheetNote explains the pictures.
const sheetNote = "Pictures show 16 tokens on a grid of 4 x 4, queries down and keys across, as a scheme starts with " +
	"seed 1: what is added to the logits, else the logits of queries and keys that are all ones, of a table the " +
	"products of its rows. Dark is low, bright is high, on each picture's own scale; grey is hidden by the causal mask."

// Each scheme has its picture on the one sheet of the page that its family has, or is known to have
// none; go test ./report/catalogue -update draws them. Colours are compared by eye.
func TestSheets(t *testing.T) {
	const folder = "../../docs/images"
	fresh := t.TempDir()
	if flag.Lookup("update").Value.String() == "true" {
		fresh = folder
	}
	files, without, err := drawSheets(fresh)
	expect.NoError(t, err)
	want := []string{"conv-pos", "erpe", "nope", "path", "repo", "selective-rope", "string"}
	expect.Equal(t, "no picture of", without, want)
	there, err := filepath.Glob(filepath.Join(folder, "encodings-*.svg"))
	if err != nil || len(there) != len(files) || len(files) != len(families) {
		t.Errorf("%d sheets in %s, %d are drawn, of %d families", len(there), folder, len(files), len(families))
	}
	drawn := map[string]int{}
	title := regexp.MustCompile(`font-weight:bold[^>]*>([a-z0-9-]+)</text>`)
	for _, path := range there {
		text := expect.Must(os.ReadFile(path))
		for _, m := range title.FindAllSubmatch(text, -1) {
			drawn[string(m[1])]++
		}
	}
	for _, name := range pe.Names() {
		want := 1
		if slices.Contains(without, name) {
			want = 0
		}
		expect.Equal(t, fmt.Sprintf("pictures of %s in %s", name, folder), drawn[name], want)
	}
}

// sheetOf returns the name of the file that holds a family's pictures.
func sheetOf(family string) string {
	return "encodings-" + strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(family)) + ".svg"
}

// drawSheets draws a small picture of each scheme, in one file per family, and returns the paths of the files
// and the schemes without a picture. These act nowhere, or start alike for all tokens, or depend on the
// tokens' contents alone.
func drawSheets(folder string) (files, without []string, err error) {
	byFamily := map[string][]figure.Matrix{}
	for _, scheme := range pe.Schemes() {
		family, m, err := thumbnail(scheme)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", scheme.Name, err)
		}
		if m == nil {
			without = append(without, scheme.Name)
			continue
		}
		byFamily[family] = append(byFamily[family], *m)
	}
	for _, family := range families {
		page := figure.Page{Width: figure.PageWidth}
		pictures := byFamily[family]
		if len(pictures) == 0 {
			continue
		}
		rows := (len(pictures) + sheetColumns - 1) / sheetColumns
		for row := range slices.Chunk(pictures, (len(pictures)+rows-1)/rows) {
			var cells []figure.Cell
			for _, m := range row {
				cells = append(cells, figure.Cell{Panel: m})
			}
			page.Rows = append(page.Rows, figure.Row{Height: 1.3, Cells: cells})
		}
		drawn, err := figure.Compose(page)
		if err != nil {
			return nil, nil, err
		}
		path := filepath.Join(folder, sheetOf(family))
		if err := drawn.Save(path); err != nil {
			return nil, nil, err
		}
		files = append(files, path)
	}
	return files, without, nil
}

// thumbnail returns the family of a scheme and its picture on a sheet: the dot products of a table's rows,
// or else the first matrix of its pictures, or nil if it has none.
func thumbnail(scheme pe.Scheme) (string, *figure.Matrix, error) {
	s := Setting{Size: sizeForAll, Fidelity: "code"}
	e, err := Describe(scheme, s)
	if err != nil {
		return "", nil, err
	}
	i, err := Build(scheme, s, pe.SquareGrid(s.Tokens), Start{0.2, 1})
	if err != nil {
		return "", nil, err
	}
	defer i.Close()
	all, err := i.pictures(0)
	if err != nil { // nothing to draw
		return e.Family, nil, nil //nolint:nilerr // the caller lists the scheme
	}
	m := all[0].matrices[0]
	if several := all[0].matrices; len(several) > 1 && several[1].Title == "dot products" {
		m = several[1]
	}
	seen := slices.DeleteFunc(slices.Clone(m.Values), math.IsNaN)
	low, high := slices.Min(seen), slices.Max(seen)
	if m.Rows != m.Columns || high-low <= 1e-12*max(-low, high) {
		return e.Family, nil, nil
	}
	m.Scale, m.Min, m.Max, m.HideMissing = figure.Sequential, 0, 0, true
	m.Title, m.XLabel, m.YLabel, m.HideBar = scheme.Name, "", "", true
	return e.Family, &m, nil
}
