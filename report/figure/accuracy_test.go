package figure

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"torchpe/report/internal/golden"
	"torchpe/report/internal/poppler"
)

func encode(t *testing.T, f *Figure, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustDraw(t *testing.T, curves []Curve, o AccuracyOptions) *Figure {
	t.Helper()
	f, err := AccuracyCurves(curves, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var nan = math.NaN()

// twelveCurves is as crowded as a figure gets: twelve lines that end close together, some with one member and some with two.
func twelveCurves() []Curve {
	var curves []Curve
	for i, label := range []string{"learn σ=0.1", "learn σ=0.2", "learn σ=0.5", "learn σ=1.0", "learn σ=2.0",
		"2d-fixed", "1d-fixed", "nope", "c-nope", "rope", "relative", "random"} {
		c := Curve{Label: label, Values: make([][]float64, 1+i%2)}
		curve := rise(0.88+0.01*float64(i), 200*float64(i+1), 150)
		for epoch := 0; epoch <= 4000; epoch += 200 {
			c.Epochs = append(c.Epochs, epoch)
			for m := range c.Values {
				c.Values[m] = append(c.Values[m], max(curve(float64(epoch))-0.05*float64(m), 0))
			}
		}
		curves = append(curves, c)
	}
	return curves
}

func flat(label string, v float64, members int) Curve {
	c := Curve{Label: label, Epochs: []int{1, 2, 3}}
	for range members {
		c.Values = append(c.Values, []float64{v, v, v})
	}
	return c
}

// edgeCases are figures at the limits of what can be drawn.
func edgeCases() map[string][]Curve {
	cases := map[string][]Curve{
		"one-point": {{Label: "learn σ=0.2", Epochs: []int{3}, Values: [][]float64{{0.4}}}},
		"one-line":  {{Label: "rope", Epochs: []int{0, 1, 2, 3}, Values: [][]float64{{0.2, 0.3, 0.5, 0.9}}}},
		"twelve":    twelveCurves(),
		"gaps": {
			{Label: "alibi", Epochs: []int{1, 2, 3, 4, 5, 6, 7, 8}, Values: [][]float64{
				{0.2, 0.3, nan, 0.5, nan, 0.7, 0.72, 0.71}, {0.25, 0.33, nan, 0.45, nan, 0.6, nan, 0.7}}},
			{Label: "t5-bias", Epochs: []int{1, 2, 3, 4}, Values: [][]float64{{0.2, 0.33, 0.4, 0.6}}},
			{Label: "late", Epochs: []int{7, 8}, Values: [][]float64{{nan, 0.1}}},
		},
		"long-run": {{Label: "learn σ=2.0", Epochs: []int{0, 1_000_000, 999_999_999}, Values: [][]float64{{0, 0.5, 1}}}},
		"odd-names": {flat("emoji 😀", 0.3, 1), flat("<b>&amp;", 0.3, 1), flat("注意 α", 0.3, 1),
			flat("(", 0.3, 1)},
	}
	for _, v := range []float64{0, 0.25, 1} {
		for i := range 5 {
			name := fmt.Sprintf("all-%g", v)
			cases[name] = append(cases[name], flat(fmt.Sprintf("scheme-%d", i), v, 3))
		}
	}
	return cases
}

func TestAccuracyGolden(t *testing.T) {
	f := mustDraw(t, exampleCurves(5), DefaultAccuracyOptions())
	golden.Check(t, "accuracy.svg", encode(t, f, "svg"))

	wide := DefaultAccuracyOptions()
	wide.Width, wide.Height, wide.Title = PageWidth, 3.2, "Latin square task"
	wide.Band, wide.Markers, wide.Chance = BandSD, true, 0
	golden.Check(t, "wide.svg", encode(t, mustDraw(t, exampleCurves(5), wide), "svg"))

	for _, name := range []string{"gaps", "twelve"} {
		f := mustDraw(t, edgeCases()[name], DefaultAccuracyOptions())
		golden.Check(t, name+".svg", encode(t, f, "svg"))
	}
}

var word = regexp.MustCompile(`<word xMin="([-0-9.]+)" yMin="([-0-9.]+)" xMax="([-0-9.]+)" yMax="([-0-9.]+)">([^<]*)</word>`)

// Another program reads each figure's PDF: no word leaves the page, and no two words overlap.
func TestNothingOverlapsOrLeavesThePage(t *testing.T) {
	cases := edgeCases()
	cases["example"] = exampleCurves(5)
	for name, curves := range cases {
		o := DefaultAccuracyOptions()
		pdf := encode(t, mustDraw(t, curves, o), "pdf")
		checkWords(t, name, pdf, o.Width*72, o.Height*72)
	}
}

// checkWords has another program read the PDF: its words lie on the page of width x height pt and clear of each other.
func checkWords(t *testing.T, name string, pdf []byte, width, height float64) {
	t.Helper()
	type box struct {
		at   [4]float64
		text string
	}
	var boxes []box
	for _, m := range word.FindAllStringSubmatch(poppler.Run(t, pdf, "pdftotext", "-bbox", poppler.File, "-"), -1) {
		b := box{text: m[5]}
		for i := range b.at {
			b.at[i], _ = strconv.ParseFloat(m[1+i], 64)
		}
		boxes = append(boxes, b)
	}
	if len(boxes) < 8 {
		t.Errorf("%s: only the words %v", name, boxes)
	}
	for i, b := range boxes {
		if b.at[0] < 0 || b.at[1] < 0 || b.at[2] > width || b.at[3] > height {
			t.Errorf("%s: %q is at %v, off the page of %g x %g pt", name, b.text, b.at, width, height)
		}
		for _, c := range boxes[:i] {
			// poppler's boxes are as high as the font's ascent and descent, half a point more than the line pitch
			if b.at[0] < c.at[2] && c.at[0] < b.at[2] && b.at[1] < c.at[3]-1 && c.at[1] < b.at[3]-1 {
				t.Errorf("%s: %q at %v overlaps %q at %v", name, b.text, b.at, c.text, c.at)
			}
		}
	}
}

func TestPDFText(t *testing.T) {
	pdf := encode(t, mustDraw(t, exampleCurves(5), DefaultAccuracyOptions()), "pdf")
	text := poppler.Run(t, pdf, "pdftotext", "-layout", poppler.File, "-")
	last := -1
	for _, want := range []string{"learn σ=0.2", "2d-fixed", "1d-fixed", "learn σ=1.0", "nope", "learn σ=2.0", "chance"} {
		at := strings.Index(text, want)
		if at <= last {
			t.Errorf("%q is missing from the PDF's text, or not in the order of the final accuracies:\n%s", want, text)
		}
		last = at
	}
	for _, want := range []string{"Validation accuracy", "Epoch", "Mean of n = 5 members; band: minimum to maximum."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from the PDF's text:\n%s", want, text)
		}
	}
	fonts := poppler.Run(t, pdf, "pdffonts", poppler.File)
	if !regexp.MustCompile(`(?m)^\S*liberationsans\S*\s+CID TrueType\s+Identity-H\s+yes\s+\S+\s+yes`).MatchString(fonts) {
		t.Errorf("Liberation Sans is not embedded as TrueType with a Unicode map:\n%s", fonts)
	}
	if len(pdf) > 60_000 {
		t.Errorf("the PDF has %d bytes, want at most 60,000", len(pdf))
	}
}

func TestNotes(t *testing.T) {
	one := flat("rope", 0.5, 1)
	two := flat("nope", 0.5, 2)
	gap := flat("t5", 0.5, 2)
	gap.Values[1][2] = nan
	for _, c := range []struct {
		curves []Curve
		band   Band
		want   string
	}{
		{[]Curve{one}, BandMinMax, "One member per line (n = 1)."},
		{[]Curve{two}, BandMinMax, "Mean of n = 2 members; band: minimum to maximum."},
		{[]Curve{two}, BandSD, "Mean of n = 2 members; band: ±1 SD."},
		{[]Curve{two}, BandNone, "Mean of n = 2 members."},
		{[]Curve{one, two}, BandNone, "Mean of n = 1 to 2 members."},
		{[]Curve{gap}, BandNone, "Mean of n = 2 members; 1 of 6 values missing."},
	} {
		o := DefaultAccuracyOptions()
		o.Band = c.band
		svg := string(encode(t, mustDraw(t, c.curves, o), "svg"))
		if !strings.Contains(svg, ">"+c.want+"<") {
			t.Errorf("the figure lacks the note %q", c.want)
		}
		for _, curve := range c.curves {
			n := fmt.Sprintf(">%s (n=%d)<", curve.Label, len(curve.Values))
			if got, want := strings.Contains(svg, n), len(c.curves) > 1; got != want {
				t.Errorf("label with %s: %v, want %v (only where n differs)", n, got, want)
			}
		}
	}
}

func TestAccuracyErrors(t *testing.T) {
	ok := flat("rope", 0.5, 1)
	with := func(change func(*Curve)) []Curve {
		c := flat("rope", 0.5, 2)
		change(&c)
		return []Curve{flat("nope", 0.5, 2), c}
	}
	many := make([]Curve, 30)
	for i := range many {
		many[i] = flat(fmt.Sprint("scheme-", i), 0.5, 1)
	}
	type change = func(*AccuracyOptions)
	keep := func(*AccuracyOptions) {}
	for name, c := range map[string]struct {
		curves []Curve
		change change
		want   string
	}{
		"no curves":      {nil, keep, "no curves"},
		"no label":       {with(func(c *Curve) { c.Label = "" }), keep, "no label"},
		"same label":     {[]Curve{ok, ok}, keep, `two curves are labelled "rope"`},
		"not UTF-8":      {with(func(c *Curve) { c.Label = "cut \xe2\x88" }), keep, `"cut \xe2\x88" is not UTF-8`},
		"two lines":      {with(func(c *Curve) { c.Label = "a\nb" }), keep, "control character"},
		"tab in title":   {[]Curve{ok}, func(o *AccuracyOptions) { o.Title = "a\tb" }, "control character"},
		"no epochs":      {with(func(c *Curve) { c.Epochs = nil }), keep, `"rope" has 0 epochs`},
		"no members":     {with(func(c *Curve) { c.Values = nil }), keep, "0 members"},
		"short member":   {with(func(c *Curve) { c.Values[1] = c.Values[1][:2] }), keep, `"rope", member 1: 2 values for 3 epochs`},
		"all NaN":        {with(func(c *Curve) { c.Values = [][]float64{{nan, nan, nan}} }), keep, `"rope": all its values are NaN`},
		"percent":        {with(func(c *Curve) { c.Values[0][1] = 98.2 }), keep, `"rope", member 0, epoch 2: accuracy 98.2`},
		"negative":       {with(func(c *Curve) { c.Values[0][1] = -0.1 }), keep, "accuracy -0.1"},
		"infinite":       {with(func(c *Curve) { c.Values[0][1] = math.Inf(1) }), keep, "accuracy +Inf"},
		"falling epochs": {with(func(c *Curve) { c.Epochs = []int{1, 3, 3} }), keep, "epoch 3 follows epoch 3"},
		"huge epoch":     {with(func(c *Curve) { c.Epochs = []int{1, 2, math.MaxInt} }), keep, "want 0 to 1000000000"},
		"before 0":       {with(func(c *Curve) { c.Epochs = []int{-1, 2, 3} }), keep, "from epoch -1"},
		"too many":       {many, keep, "31 labels do not fit"},
		"long label":     {[]Curve{flat(strings.Repeat("long ", 20), 0.5, 1)}, keep, "labels of the lines leave too little"},
		"no size":        {[]Curve{ok}, func(o *AccuracyOptions) { o.Width = 0 }, "size of 0 x 2.3 in"},
		"NaN size":       {[]Curve{ok}, func(o *AccuracyOptions) { o.Height = nan }, "NaN"},
		"chance":         {[]Curve{ok}, func(o *AccuracyOptions) { o.Chance = 25 }, "chance level 25"},
		"band":           {[]Curve{ok}, func(o *AccuracyOptions) { o.Band = "" }, `band ""`},
		"title":          {[]Curve{ok}, func(o *AccuracyOptions) { o.Title = strings.Repeat("word ", 20) }, "title"},
		"y label":        {[]Curve{ok}, func(o *AccuracyOptions) { o.YLabel = strings.Repeat("word ", 20) }, "label of the y axis"},
	} {
		o := DefaultAccuracyOptions()
		c.change(&o)
		if _, err := AccuracyCurves(c.curves, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// The height that the error asks for is enough.
func TestTooManyLabelsSaysHowHigh(t *testing.T) {
	var many []Curve
	for i := range 30 {
		many = append(many, flat(fmt.Sprint("scheme-", i), 0.5, 1))
	}
	o := DefaultAccuracyOptions()
	_, err := AccuracyCurves(many, o)
	m := regexp.MustCompile(`make it ([0-9.]+) in`).FindStringSubmatch(fmt.Sprint(err))
	if m == nil {
		t.Fatalf("error %v names no height", err)
	}
	o.Height, _ = strconv.ParseFloat(m[1], 64)
	mustDraw(t, many, o)
}

func TestOrderOfCurvesDoesNotMatter(t *testing.T) {
	curves := append(exampleCurves(3), flat("alibi", 0.5, 3), flat("fire", 0.5, 3), flat("tisa", 0.5, 3))
	for i := range curves { // n must not differ
		curves[i].Values = curves[i].Values[:3]
	}
	want := encode(t, mustDraw(t, curves, DefaultAccuracyOptions()), "svg")
	for i, j := 0, len(curves)-1; i < j; i, j = i+1, j-1 {
		curves[i], curves[j] = curves[j], curves[i]
	}
	if !bytes.Equal(encode(t, mustDraw(t, curves, DefaultAccuracyOptions()), "svg"), want) {
		t.Error("the same curves in another order give another figure")
	}
}
