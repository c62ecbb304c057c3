package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

func TestSinusoid2D(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "2d-fixed",
		Variants: []petest.Variant{
			petest.Code("pe-placement", "input"), petest.Code("positions-from", "1"),
			petest.Text("fixed-pe-dropout", "0.3"),
			petest.Code("grid-order", "rows-first"), petest.Code("grid-exponent", "full"),
			petest.Code("sinusoid-base", "100"),
			petest.Code("grid-normalize", "true"), petest.Text("sinusoid-layout", "concat"),
			petest.Code("sinusoid-layout", "t2t"),
		},
		Noiseless: pe.Options{"fixed-pe-dropout": "0"},
		Refuse: []petest.Refusal{
			petest.Refuse("an odd width", petest.Spec{DModel: 7}, "2d-fixed", "d_model 7", "odd"),
			petest.Refuse("odd halves side by side", petest.Spec{DModel: 6,
				Given: pe.Options{"sinusoid-layout": "concat"}},
				"2d-fixed", "width 3", "concat"),
			petest.Refuse("tokens on no grid", petest.Spec{Positions: pe.Line(8)}, "2d-fixed", "grid"),
		},
	})
}

func init() {
	vectors["sinusoidal_2d"] = sinusoid2DVector
	vectors["sinusoidal_2d_variants"] = sinusoid2DVariant
}

// sinusoid2DVariant: DETR says whether it normalises, MAE and simple ViT by which function ran.
func sinusoid2DVariant(t testing.TB, c *petest.VectorCase) petest.Outputs {
	grid := pe.Grid(c.Int("H", 0), c.Int("W", 0))
	given := pe.Options{
		"fixed-pe-dropout": "0", "positions-from": "0", "grid-order": "columns-first", "sinusoid-layout": "concat",
		"sinusoid-base": fmt.Sprint(c.Float("temperature", 10000)),
	}
	symbol := fmt.Sprint(c.SourceSymbol)
	switch {
	case c.Value("normalize") != nil:
		if scale := c.Text("scale", "2pi"); scale != "2pi" || c.Float("eps", 1e-6) != 1e-6 {
			t.Fatalf("scale %s, eps %v: DETR has 2pi and 1e-6", scale, c.Value("eps"))
		}
		given["positions-from"], given["grid-order"], given["sinusoid-layout"] = "1", "rows-first", "interleaved"
		given["grid-normalize"] = fmt.Sprint(c.Bool("normalize"))
	case strings.Contains(symbol, "posemb_sincos_2d"):
		given["sinusoid-layout"] = "t2t"
	case !strings.Contains(symbol, "get_2d_sincos_pos_embed"):
		t.Fatalf("%s is none of DETR, MAE and simple ViT", symbol)
	}
	m := petest.Spec{Scheme: "2d-fixed", DModel: c.Int("d", 0), Positions: grid, Given: given}.Model(t)
	return petest.Outputs{"table": petest.Added(m, 0, grid)}
}

func sinusoid2DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	start, grid := c.Int("start", 0), pe.Grid(c.Int("H", 0), c.Int("W", 0))
	given := pe.Options{
		"fixed-pe-dropout": "0", "grid-order": "columns-first", "sinusoid-base": fmt.Sprint(c.Float("base", 10000)),
	}
	if c.Text("exponent", "d/2") == "d" {
		given["grid-exponent"] = "full"
	}
	if start > 0 {
		given["positions-from"] = "1"
	}
	for i := range grid.Cells { // cells are any pairs of numbers
		grid.Cells[i][0] += max(0, start-1)
		grid.Cells[i][1] += max(0, start-1)
	}
	m := petest.Spec{Scheme: "2d-fixed", DModel: c.Int("d", 0), Positions: grid, Given: given}.Model(t)
	table := petest.Added(m, 0, grid)
	if c.Value("normalize") != nil {
		petest.Near(t, "the table of detr", detrSees(t, c.Int("d", 0), grid, c.Bool("normalize")), table, 1e-14)
	}
	if c.Bool("cls_token") { // MAE's class token has zeros
		table = petest.StackRows(petest.Array{Shape: []int{1, table.Shape[1]},
			Values: make([]float64, table.Shape[1])}, table)
	}
	return petest.Outputs{"table": table}
}

// fixedTable returns the table of a fixed scheme at the paper's size: 4 x 4 tokens, D = 160.
func fixedTable(t *testing.T, scheme, from, order string) petest.Array {
	t.Helper()
	grid := pe.Grid(4, 4)
	given := pe.Options{"fixed-pe-dropout": "0", "positions-from": from, "grid-order": order}
	return petest.Added(petest.Spec{Scheme: scheme, DModel: 160, Positions: grid, Given: given}.Model(t), 0, grid)
}

// TestPaperBaselines: the cosine of the 1d and the 2d table, and the norm of the 2d table. The
// paper's figures A9/A10 print 0.72, which tells the conventions apart; the numbers are those of
// By numpy.
func TestPaperBaselines(t *testing.T) {
	for _, c := range []struct {
		from, order string
		cosine      float64
	}{
		{"0", "columns-first", 0.7246}, {"0", "rows-first", 0.710}, {"1", "columns-first", 0.678},
		{"1", "rows-first", 0.663},
	} {
		one, two := fixedTable(t, "1d-fixed", c.from, c.order), fixedTable(t, "2d-fixed", c.from, c.order)
		product := 0.0
		for i, v := range one.Values {
			product += v * two.Values[i]
		}
		digits := 5e-4
		if c.cosine == 0.7246 {
			digits = 5e-5
		}
		if cosine := product / norm(one.Values) / norm(two.Values); math.Abs(cosine-c.cosine) > digits {
			t.Errorf("positions from %s, %s: the cosine of the 1d and 2d tables is %.5f, want %g",
				c.from, c.order, cosine, c.cosine)
		}
		// sin^2 + cos^2 = 1 for each of 16 x 80 pairs: sqrt(1280) = 35.78.
		for _, table := range []petest.Array{one, two} {
			if got := norm(table.Values); math.Abs(got-math.Sqrt(1280)) > 1e-10 {
				t.Errorf("positions from %s, %s: the norm of a table is %g, want sqrt(1280)", c.from, c.order, got)
			}
		}
	}
}

// TestSinusoid2DUnknownCell: a token in a cell that the scheme was not built for is an error, not
// some other cell's row.
func TestSinusoid2DUnknownCell(t *testing.T) {
	m := petest.Spec{Scheme: "2d-fixed", Positions: pe.Grid(2, 4)}.Model(t)
	for _, p := range []pe.Positions{pe.Grid(4, 2), pe.Line(8)} {
		err := torchpe.Catch(func() { petest.Added(m, 0, p) })
		if err == nil || !strings.Contains(err.Error(), "2d-fixed") {
			t.Errorf("cells %v in a scheme of 2 x 4: the error is %v", p.Cells, err)
		}
	}
}
