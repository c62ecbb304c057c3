package chromium

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "torchpe/report/internal/golden" // takes the flag of `go test ./report/... -update`
)

func open(t *testing.T, html string) *Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a page #1.html")
	if err := os.WriteFile(file, []byte("<!doctype html><meta charset=utf-8>"+html), 0o666); err != nil {
		t.Fatal(err)
	}
	return Open(t, file)
}

func TestQuietPage(t *testing.T) {
	p := open(t, `<title>σ</title><script>console.log("only said")</script>`)
	var title string
	p.Evaluate("document.title", &title)
	if title != "σ" {
		t.Errorf("title %q", title)
	}
	var sum int
	p.Evaluate("Promise.resolve(1 + 1)", &sum)
	if sum != 2 {
		t.Errorf("1 + 1 = %d", sum)
	}
	if got := p.Problems(); len(got) != 0 {
		t.Errorf("problems %q", got)
	}
	if got := p.Requests(); len(got) != 1 || !strings.HasPrefix(got[0], "file://") {
		t.Errorf("requests %q", got)
	}
	if png := p.Screenshot(); !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the screenshot starts with %q", png[:8])
	}
}

// Each way for a page to go wrong is seen; or the tests that use this package would pass for nothing.
func TestLoudPage(t *testing.T) {
	p := open(t, `<script>console.error("called"); setTimeout(() => { throw new Error("thrown") }, 0)</script><img src="missing.png">`)
	p.Evaluate("new Promise(r => setTimeout(r, 100))", nil)
	got := strings.Join(p.Problems(), "\n")
	for _, want := range []string{"called", "thrown", "missing.png"} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem with %q in %q", want, got)
		}
	}
}

func TestMedia(t *testing.T) {
	p := open(t, "")
	p.Resize(400, 800)
	p.Media("print", "dark")
	var got []bool
	p.Evaluate(`[innerWidth === 400, matchMedia("print").matches, matchMedia("(prefers-color-scheme: dark)").matches]`, &got)
	if len(got) != 3 || !got[0] || !got[1] || !got[2] {
		t.Errorf("width, print, dark: %v", got)
	}
}
