package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// plainTable has every kind of cell, with missing values of each.
func plainTable() Table {
	nan := math.NaN()
	return Table{
		Title: "Validation accuracy of learned encodings, σ from 0.1 to 2",
		Note:  "Mean ± SD over seeds; p from a permutation test against 2d-fixed; Δ in points.",
		Columns: []Column{
			{Heading: "PE", Name: "pe"},
			{Heading: "n", Name: "members"},
			{Heading: "σ", Name: "sigma", Decimals: 1},
			{Heading: "validation", Name: "validation", Decimals: 3},
			{Heading: "Δ", Name: "delta", Unit: "%", Decimals: 1},
			{Heading: "p", Name: "p"},
			{Heading: "status", Name: "status"},
		},
		Rows: []Row{
			{Text("2d-fixed"), Count(15), Number(nan), MeanSD(0.977, 0.0123), Number(0), P(1),
				Text("ok")},
			{Text("learn"), Count(15), Number(0.2), MeanSD(0.956, 0.1), Number(-2.1), P(0.0432),
				Text("ok")},
			{Text("learn"), Count(15), Number(2), MeanSD(0.377, nan), Number(-60), P(0.00002),
				Text("few seeds")},
			{Text("nope"), Count(-1), Number(math.Inf(1)), MeanSD(nan, nan), Number(-0.04), P(nan),
				Text("")},
			{Text("rope"), {}, {}, {}, Number(math.Inf(-1)), {}, {}},
		},
	}
}

// hostileTable has texts that are something else to each format.
func hostileTable() Table {
	return Table{
		Title: `50% of <b>"A & B"</b> | $x_1^2$ \input{/etc/passwd} #1 ~`,
		Note:  "- a note\r\nof two lines, \x1b[31mred\x1b[0m, \xff, \u202eturned\u202c",
		Columns: []Column{
			{Heading: "[name] | \\", Name: "name"},
			{Heading: "位置 {x}", Name: "position", Decimals: 2},
			{Heading: "<script>alert(1)</script>", Name: "script"},
		},
		Rows: []Row{
			{Text(`a|b\|c`), Number(1), Text("two\nlines")},
			{Text(`=1+1, "quoted"`), Number(-1.005), Text("</td></table><script>")},
			{Text("[0.5ex] \\\\ \\hline"), Number(1e300),
				Text("*a* _b_ `c` ~~d~~ [e](f) $g$ &amp; --- ''")},
			{Text("*"), Number(5e-324), Text("学習された é ß Ł ğ 🙂 x\u0301")},
			{Text("日本語の表"), Number(math.MaxFloat64),
				Text("² ³ ⁻¹ × − – — ≥ ≤ ± σ ρ Σ Δ ∞ “q” ‘q’ ?` !` ``")},
		},
	}
}

func TestGoldens(t *testing.T) {
	for name, table := range map[string]Table{"plain": plainTable(), "hostile": hostileTable()} {
		for _, f := range formats {
			b := expect.Written(func(w io.Writer) error { return table.Write(w, f.extension) })
			expect.Golden(t, name+"."+f.extension, []byte(b))
		}
		b := expect.Written(table.Terminal)
		expect.Golden(t, name+".txt", []byte(b))
	}
}

func TestFaults(t *testing.T) {
	for want, table := range map[string]Table{
		`column 1 (): name "IID t`:  {Columns: []Column{{Name: "IID test"}}},
		`two columns are named "a"`: {Columns: []Column{{Name: "a"}, {Name: "a"}}},
		`named "a_sd"`: {Columns: []Column{{Name: "a"}, {Name: "a_sd"}},
			Rows: []Row{{MeanSD(1, 1), Count(1)}}},
	} {
		table.Title = "T"
		var b bytes.Buffer
		expect.Error(t, table.CSV(&b), want, `"T"`)
		expect.Equal(t, fmt.Sprintf("%s: before the error it wrote", want), b.String(), "")
	}
}

// Columns without a value go. Cells of a column become one kind: numbers if one is not whole, texts if one
// is text.
func TestColumns(t *testing.T) {
	all := Table{Columns: []Column{{Name: "a"}, {Name: "none"}, {Name: "b"}},
		Rows: []Row{{Count(1), {}, Count(2)}, {Number(0.5), Number(math.NaN()), Text("x")}}}
	got := all.WithoutEmptyColumns().Uniform()
	want := []Row{{Number(1), Text("2")}, {Number(0.5), Text("x")}}
	if len(got.Columns) != 2 || got.Columns[1].Name != "b" || !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	expect.Equal(t, "the table itself was changed", all.Rows[0][0], Count(1))
	empty := Table{Columns: all.Columns}
	if all.isLeft(0) || !all.isLeft(2) || !empty.isLeft(0) {
		t.Error("only columns with text, and those without rows, are aligned left")
	}
}

// A table for people alone needs no names.
func TestNamesAreForMachines(t *testing.T) {
	table := Table{Columns: []Column{{Heading: "2 files"}}, Rows: []Row{{Text("x")}}}
	expect.NoError(t, table.Terminal(io.Discard))
	for _, f := range formats {
		err := table.Write(io.Discard, f.extension)
		expect.Equal(t, fmt.Sprintf("%s (%v) is refused", f.name, err), err != nil, f.machine)
	}
	expect.Error(t, plainTable().Write(io.Discard, "doc"), "csv, tex, md")
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFullDisk(t *testing.T) {
	table := plainTable()
	expect.ErrorIs(t, table.Terminal(fullDisk{}), errFull)
	for _, f := range formats {
		if err := table.Write(fullDisk{}, f.extension); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", f.name, err, errFull)
		}
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	expect.NoError(t, plainTable().Save(dir, "accuracy.v2"))
	entries := expect.Must(os.ReadDir(dir))
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
		saved, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		want, _ := os.ReadFile(filepath.Join("testdata", "plain"+filepath.Ext(e.Name())))
		expect.Equal(t, e.Name()+" differs from what its writer writes", !bytes.Equal(saved, want), false)
	}
	want := "accuracy.v2.csv accuracy.v2.html accuracy.v2.json accuracy.v2.md accuracy.v2.tex"
	expect.Equal(t, "wrote", strings.Join(got, " "), want)
	expect.Error(t, plainTable().Save(filepath.Join(dir, "none"), "a"), "create it first")
}
