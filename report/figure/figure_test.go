package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/plot"

	"torchpe/internal/expect"
)

// svgOf returns a page as SVG.
func svgOf(p Page) string { return string(encode(expect.Must(Compose(p)), "svg")) }

func encode(f *Figure, format string) []byte {
	return []byte(expect.Written(func(w io.Writer) error { return f.Encode(w, format) }))
}

func TestEveryFigureInEveryFormat(t *testing.T) {
	for name, l := range edgeCases() {
		for _, band := range []Band{BandMinMax, BandSD, ""} {
			l.Band, l.Markers = band, true
			f := expect.Must(Compose(alone(l, ColumnWidth, 2.3)))
			checkSVG(t, name, encode(f, "svg"))
			if band != BandMinMax {
				continue // poppler and PNG are slow
			}
			checkWords(t, name, encode(f, "pdf"), float64(f.width), float64(f.height))
			img, err := png.Decode(bytes.NewReader(encode(f, "png")))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				// 3.3 x 2.3 in and margins of 3 pt at 300 dpi
			} else if size := img.Bounds().Size(); size.X != 990 || size.Y != 715 {
				t.Errorf("%s: the PNG has %v pixels, want 990 x 715", name, size)
			}
		}
	}
}

// checkSVG reads the SVG as XML and looks for numbers gone wrong.
func checkSVG(t *testing.T, name string, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: not XML: %v", name, err)
			return
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Value, "data:image/png;base64,") {
					continue
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s: <%s %s=%q>", name, e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestSameFigureSameBytes(t *testing.T) {
	var first sync.Map
	var all sync.WaitGroup
	for range 4 { // and at the same time
		all.Go(func() {
			for _, format := range []string{"pdf", "png", "svg"} {
				f, err := Compose(smallPage())
				if err != nil {
					t.Error(err)
					return
				}
				var b bytes.Buffer
				expect.NoError(t, f.Encode(&b, format))
				if want, loaded := first.LoadOrStore(format, b.Bytes()); loaded &&
					!bytes.Equal(want.([]byte), b.Bytes()) {
					t.Errorf("two drawings of a page as %s differ in their bytes", format)
				}
			}
		})
	}
	all.Wait()
}

func TestPNGResolution(t *testing.T) {
	data := encode(expect.Must(Compose(alone(trainingLines(1), ColumnWidth, 2.3))), "png")
	// 300 dpi is 11811 pixels a metre (PNG specification 11.3.5.3); the decoder checks the chunk's
	// CRC
	want := append([]byte("pHYs"), 0, 0, 0x2e, 0x23, 0, 0, 0x2e, 0x23, 1)
	if i := bytes.Index(data, want); i < 0 || i > bytes.Index(data, []byte("IDAT")) {
		t.Errorf("no resolution of 300 dpi before the PNG's data")
	}
}

func TestSave(t *testing.T) {
	f := expect.Must(Compose(alone(trainingLines(2), ColumnWidth, 2.3)))
	dir := t.TempDir()
	for name, magic := range map[string]string{"a.pdf": "%PDF-", "b.PNG": "\x89PNG",
		"c.d.svg": "<?xml"} {
		path := filepath.Join(dir, name)
		expect.NoError(t, f.Save(path))
		if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s holds %.8q (%v), want %q", name, b, err, magic)
		}
	}
	for path, want := range map[string]string{
		"noext": `format "": want pdf, png or svg`, "x.jpeg": `"jpeg"`,
		"no/such/dir/x.pdf": "no/such/dir",
	} {
		expect.Error(t, f.Save(path), want)
	}
	entries, _ := os.ReadDir(dir)
	expect.Equal(t, "files in the directory, with the saved", len(entries), 3)
}

func labelsOf(ticks plot.ConstantTicks) string {
	var all []string
	for _, tick := range ticks {
		all = append(all, tick.Label)
	}
	return strings.Join(all, " ")
}

func TestWrap(t *testing.T) {
	w := newWriter(sans(smallSize), ink)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"one", []string{"one"}},
		{"several words in a row", []string{"several words", "in a row"}},
		{"the mean of n = 15", []string{"the mean of", "n = 15"}},
		{"an unbreakablelongword stays", []string{"an", "unbreakablelongword", "stays"}},
	} {
		expect.Equal(t, fmt.Sprintf("%q breaks into", c.text), strings.Join(w.wrap(c.text, 45), "|"),
			strings.Join(c.want, "|"))
	}
}
