package figure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"pgregory.net/rapid"

	"torchpe/internal/expect"
)

// atlas returns names of the kind of Schaefer's parcels, three a network and hemisphere, with their
// networks.
func atlas() (names []string, groups []int, networks []string) {
	networks = []string{"Vis", "SomMot", "DorsAttn_Post", "SalVentAttn_FrOperIns", "Limbic_OFC",
		"Cont_PFCl", "Default_pCunPCC"}
	for k, network := range networks {
		for _, side := range []string{"LH", "RH"} {
			for i := range 3 {
				names = append(names, fmt.Sprintf("7Networks_%s_%s_%d", side, network, i+1))
				groups = append(groups, k)
			}
		}
	}
	return names, groups, networks
}

// Short forms are as wide as they may be and tell apart the names that differ, and those alone.
func TestShorten(t *testing.T) {
	w := newWriter(sans(smallSize), ink)
	part := rapid.SampledFrom([]string{"7Networks", "LH", "RH", "Vis", "SalVentAttn", "a", "注意", "1", "22", ""})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"),
			rapid.SampledFrom([]string{"_", " ", "."}).Draw(t, "sign"))
	})
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name, 0, 40).Draw(t, "names")
		width := vg.Length(rapid.Float64Range(25, 200).Draw(t, "width"))
		short, changed := w.shorten(names, width)
		wide := slices.ContainsFunc(names, func(s string) bool { return w.width(s) > width })
		if changed != wide || len(short) != len(names) || !wide && !slices.Equal(short, names) {
			t.Fatalf("%q at %v: %q, %v", names, width, short, changed)
		}
		for i, s := range short {
			if w.width(s) > width {
				t.Errorf("%q is %v wide, want at most %v", s, w.width(s), width)
			}
			for k := range i {
				if (s == short[k]) != (names[i] == names[k]) {
					t.Errorf("%q and %q became %q and %q", names[i], names[k], s, short[k])
				}
			}
		}
	})
	names, _, _ := atlas()
	short, _ := w.shorten(names, 62)
	expect.Equal(t, "shortened", short[0]+" "+short[20], "LH_Vis_1 LH_SalVe…erIns_3")
}

// A map and a matrix of an atlas fit panels of any usual width, leave labels and legend a bounded
// share, and say what they shortened.
func TestLongNames(t *testing.T) {
	names, groups, networks := atlas()
	n := len(names)
	where := Map{Labels: names, Groups: groups, GroupNames: networks, XLabel: "Axis 1", YLabel: "Axis 2"}
	for i := range n {
		where.XY = append(where.XY, [2]float64{jitter(i), jitter(7 * i)})
	}
	cells := Matrix{Rows: n, Columns: n, Values: make([]float64, n*n), RowLabels: names, ColumnLabels: names,
		Groups: groups, GroupNames: networks, BarLabel: "Cosine"}
	for _, width := range []float64{2.2, ColumnWidth, PageWidth} {
		for _, p := range []Panel{where, cells} {
			if svg := svgOf(alone(p, width, 2.6)); width < PageWidth && !strings.Contains(svg, "shortened") {
				t.Errorf("%T %g in wide does not say that names are shortened", p, width)
			}
		}
	}
	c := draw.NewCanvas(newMeasure(), 240, 187)
	l, err := cells.layout(c)
	if err != nil || l.area.Size().X < 100 {
		t.Errorf("cells of %v in a panel of %v: %v", l.area.Size(), c.Size(), err)
	}
}

// A legend without room counts the names that it leaves out; that of a page has a few rows.
func TestLongLegends(t *testing.T) {
	strip := Strip{Groups: upTo(200), GroupNames: numbered(200)}
	svg := svgOf(alone(strip.asMap(), ColumnWidth, 2))
	if shown := strings.Count(svg, ">name "); shown < 10 ||
		!strings.Contains(svg, fmt.Sprintf(">and %d more<", 200-shown)) {
		t.Errorf("%d of 200 names shown, others not counted", shown)
	}
	page := alone(examplePuzzle, ColumnWidth, 2)
	bare := page.height(240)
	page.GroupNames = numbered(200)
	if high := page.height(240) - bare; high < 5*legendLead || high > 7*legendLead+2*margin {
		t.Errorf("the page's legend is %v high", high)
	}
	svg = svgOf(page)
	expect.Contains(t, svg, ">name 0<", " more<") // the page's legend
}

// Tokens of a strip are counted from 0, with few enough numbers to read.
func TestStripCounts(t *testing.T) {
	for n, want := range map[int]string{8: "0 1 2 3 4 5 6 7", 16: "0 2 4 6 8 10 12 14",
		360: "0 50 100 150 200 250 300 350"} {
		m := newMeasure()
		expect.NoError(t, expect.ErrorOf((Strip{Groups: make([]int, n)}).draw(draw.NewCanvas(m, 200, 40))))
		var got []string
		for _, text := range m.texts {
			got = append(got, text.text)
		}
		expect.Equal(t, fmt.Sprintf("%d tokens", n), strings.Join(got, " "), want)
	}
}

// The time of shortening grows with a name's length, not its square: here a tenth of a second, not hours.
func TestShortenALongName(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	if short, _ := newWriter(sans(smallSize), ink).shorten([]string{long, "a"}, 62); len(short[0]) > 40 {
		t.Errorf("%q", short[0])
	}
}
