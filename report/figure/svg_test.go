package figure

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot/vg/draw"

	"torchpe/internal/expect"
	"torchpe/report/internal/viewer"
)

// A browser without Liberation Sans and fonts of its widths draws each text as wide as the layout
// counts on.
func TestTextWidthsInBrowser(t *testing.T) {
	f := expect.Must(Compose(smallPage()))
	m := newMeasure()
	f.draw(draw.NewCanvas(m, f.width, f.height))
	svg := string(encode(f, "svg"))
	file := filepath.Join(t.TempDir(), "figure.html")
	page := "<!doctype html><title>x</title><style>text { font-family: monospace !important; }</style>" +
		svg[len(`<?xml version="1.0"?>`):]
	expect.NoError(t, os.WriteFile(file, []byte(page), 0o666))
	var got []struct {
		Text  string
		Width float64
	}
	viewer.Browser{Width: 1280}.Evaluate(t, file, `
		return [...document.querySelectorAll("text")].filter(e => e.textContent).map(
			e => ({Text: e.textContent, Width: e.getBBox().width}));`, &got)
	if len(got) != len(m.texts) || len(got) < 50 {
		t.Fatalf("%d texts in the browser, %d in the layout", len(got), len(m.texts))
	}
	for i, text := range m.texts {
		a, b := text.corners[0], text.corners[1]
		if len(text.text) < 2 {
			continue // Chromium gives single letters a box of another width
		}
		want := math.Hypot(a[0]-b[0], a[1]-b[1])
		if diff := got[i].Width - want; diff > 0.02*want+0.2 || diff < -0.02*want-0.2 {
			t.Errorf("%q is %.2f wide in a browser, want %.2f", got[i].Text, got[i].Width, want)
		}
	}
}
