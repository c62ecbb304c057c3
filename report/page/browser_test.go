package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/report/internal/chromium"
)

func open(t *testing.T, p Page) *chromium.Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "index.html")
	if err := p.Save(file); err != nil {
		t.Fatal(err)
	}
	return chromium.Open(t, file)
}

// checkDocument looks at what a browser makes of a page.
func checkDocument(t *testing.T, b *chromium.Page) {
	t.Helper()
	var got struct {
		IDs, Targets, Undrawn, NoAlt, Hrefs []string
		Headings                            []int
		Scripts, Landmarks                  int
	}
	b.Evaluate(`(() => { const all = (s, f) => [...document.querySelectorAll(s)].map(f); return {
		IDs: all("[id]", e => e.id),
		Targets: all("a[href^='#']", e => decodeURIComponent(e.hash.slice(1))),
		Hrefs: all("a:not([href^='#'])", e => e.getAttribute("href")),
		Undrawn: all("img", e => e).filter(e => !(e.complete && e.naturalWidth > 0)).map(e => e.alt),
		NoAlt: all("img", e => e).filter(e => !e.alt).map(e => e.src),
		Headings: all("h1,h2,h3,h4,h5,h6", e => +e.tagName[1]),
		Scripts: document.scripts.length,
		Landmarks: document.querySelectorAll("nav[aria-label], main").length,
	}})()`, &got)
	ids := map[string]bool{}
	for _, id := range got.IDs {
		if ids[id] {
			t.Errorf("two elements have the id %q", id)
		}
		ids[id] = true
	}
	for _, target := range got.Targets {
		if !ids[target] {
			t.Errorf("a link leads to #%s, which is not there", target)
		}
	}
	for _, href := range got.Hrefs {
		if strings.HasPrefix(href, "/") || strings.Contains(href, "://") {
			t.Errorf("a link leads to %s", href)
		}
	}
	last := 0
	for _, h := range got.Headings {
		if h > last+1 {
			t.Errorf("a heading of level %d after one of level %d", h, last)
		}
		last = h
	}
	if len(got.Undrawn)+len(got.NoAlt) > 0 || got.Scripts != 1 || got.Landmarks != 2 || len(got.Targets) < 3 {
		t.Errorf("images not drawn %q, without text %q; %d scripts, %d landmarks, %d links within", got.Undrawn, got.NoAlt, got.Scripts,
			got.Landmarks, len(got.Targets))
	}
	for _, problem := range b.Problems() {
		t.Error("the page logs", problem)
	}
	for _, r := range b.Requests()[1:] {
		if !strings.HasPrefix(r, "data:") {
			t.Error("the page asks for", r)
		}
	}
}

func TestInBrowser(t *testing.T) {
	b := open(t, samplePage(t))
	checkDocument(t, b)
	for _, size := range [][2]int{{1280, 900}, {400, 800}} {
		b.Resize(size[0], size[1])
		for _, scheme := range []string{"light", "dark"} {
			b.Media("screen", scheme)
			for i, at := range []string{"#content", "#latin-square-2", "#latin-square-4", "#masked-1"} {
				chromium.Save(t, fmt.Sprintf("page-%d-%s-%d.png", size[0], scheme, i), func() []byte {
					b.Evaluate(fmt.Sprintf("document.querySelector(%q).scrollIntoView(); new Promise(r => setTimeout(r, 150))", at), nil)
					return b.Screenshot()
				})
			}
		}
		var got struct {
			Width, Window int
			Open          bool
		}
		want := size[0] > 960 // the page hears of its new width a moment later
		b.Evaluate(fmt.Sprintf(`(async () => {
			const contents = document.querySelector("nav details");
			for (let i = 0; i < 250 && contents.open !== %v; i++) await new Promise(r => setTimeout(r, 20));
			return {Width: document.documentElement.scrollWidth, Window: innerWidth, Open: contents.open};
		})()`, want), &got)
		if got.Width > got.Window {
			t.Errorf("the page is %d wide in a window of %d: only tables may scroll", got.Width, got.Window)
		}
		if got.Open != want {
			t.Errorf("at %d: contents open: %v, want %v", size[0], got.Open, want)
		}
	}
	b.Resize(1280, 900)
	b.Media("", "light")
	chromium.Save(t, "page.pdf", b.PDF)
}

// No hostile text runs or changes the page, and each is there to be read.
func TestHostileInBrowser(t *testing.T) {
	b := open(t, hostilePage(t))
	checkDocument(t, b)
	var got struct {
		Title, H1, H2, Caption, Cell, Alt, Command, Entry string
		Figures                                           int
		Href                                              string
	}
	b.Evaluate(`(() => { const s = (q) => document.querySelector(q).textContent; return {
		Title: document.title, H1: s("h1"), H2: s("h2"), Caption: s("figcaption p"), Cell: s("tbody th"), Alt: document.images[0].alt,
		Command: s("code"), Entry: s("main li"), Figures: document.images.length,
		Href: decodeURIComponent(document.querySelector(".links a").href).replace(/.*\//, ""),
	}})()`, &got)
	for place, text := range map[string]string{"title": got.Title, "h1": got.H1, "h2": got.H2, "caption": got.Caption, "cell": got.Cell, "alt": got.Alt, "command": got.Command, "entry": got.Entry} {
		if text != hostile {
			t.Errorf("%s reads %q", place, text)
		}
	}
	if want := `a "b" <c> #1?x=%20&y 'σ'.pdf`; got.Href != want || got.Figures != 2 {
		t.Errorf("the link leads to %q, want %q; %d figures", got.Href, want, got.Figures)
	}
}

// The button copies the command, whether or not the browser grants the page its clipboard, and says so.
func TestCopy(t *testing.T) {
	b := open(t, samplePage(t))
	var command string
	b.Evaluate(`document.querySelector("code").textContent`, &command)
	press := func(prepare string) (copied, label string) {
		var got []string
		b.Evaluate(`(async () => {
			const button = document.querySelector("button.copy");
			let copied = "";
			const clipboard = (f) => Object.defineProperty(navigator, "clipboard", {configurable: true, value: f && {writeText: f}});
			document.execCommand = () => { const a = document.activeElement; copied = a.value.slice(a.selectionStart, a.selectionEnd); return true };
			`+prepare+`
			button.click();
			await new Promise(r => setTimeout(r, 50));
			return [copied, button.textContent];
		})()`, &got)
		return got[0], got[1]
	}
	for name, prepare := range map[string]string{
		"granted": `clipboard(async (s) => { copied = s });`,
		"refused": `clipboard(async () => { throw new Error("not allowed") });`,
		"absent":  `clipboard(undefined);`,
	} {
		if copied, label := press(prepare); copied != command || label != "Copied" {
			t.Errorf("clipboard %s: copied %q with the label %q, want %q", name, copied, label, command)
		}
	}
	if _, label := press(`clipboard(undefined); document.execCommand = () => false;`); label != "Select and copy" {
		t.Errorf("where nothing copies the button says %q", label)
	}
	var selected string
	b.Evaluate(`getSelection().toString()`, &selected)
	if selected != command {
		t.Errorf("where nothing copies %q is selected", selected)
	}
	if problems := b.Problems(); len(problems) > 0 {
		t.Errorf("the page logs %q", problems)
	}
}
