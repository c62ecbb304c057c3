package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/viewer"
	"torchpe/report/table"
)

// evaluate saves p and evaluates script in it, in a window of the given width.
func evaluate(t *testing.T, p Page, width int, script string, result any) (problems []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "index.html")
	expect.NoError(t, p.Save(file))
	return viewer.Browser{Width: width}.Evaluate(t, file, script, result)
}

// checkDocument checks the document that a browser makes of p: its IDs, links, images, headings and
// scripts.
func checkDocument(t *testing.T, p Page) {
	t.Helper()
	var got struct {
		IDs, Targets, Undrawn, NoAlt, Hrefs, Requests []string
		Headings                                      []int
		Scripts, Landmarks                            int
	}
	problems := evaluate(t, p, 1280, `
		const all = (s, f) => [...document.querySelectorAll(s)].map(f);
		return {
		IDs: all("[id]", e => e.id),
		Targets: all("a[href^='#']", e => decodeURIComponent(e.hash.slice(1))),
		Hrefs: all("a:not([href^='#'])", e => e.getAttribute("href")),
		Undrawn: all("img", e => e).filter(e => !(e.complete && e.naturalWidth > 0)).map(e => e.alt),
		NoAlt: all("img", e => e).filter(e => !e.alt).map(e => e.src),
		Headings: all("h1,h2,h3,h4,h5,h6", e => +e.tagName[1]),
		Scripts: document.scripts.length,
		Landmarks: document.querySelectorAll("nav[aria-label], main").length,
		Requests: performance.getEntriesByType("resource").map(e => e.name),
	};`, &got)
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
	if len(got.Undrawn)+len(got.NoAlt) > 0 || got.Scripts != 1 || got.Landmarks != 2 ||
		len(got.Targets) < 3 {
		t.Errorf("images not drawn %q, without text %q; %d scripts, %d landmarks, %d links within",
			got.Undrawn, got.NoAlt, got.Scripts,
			got.Landmarks, len(got.Targets))
	}
	for _, problem := range problems {
		t.Error("the page logs", problem)
	}
	for _, r := range got.Requests {
		if !strings.HasPrefix(r, "data:") {
			t.Error("the page asks for", r)
		}
	}
}

func TestInBrowser(t *testing.T) {
	checkDocument(t, samplePage(t))
	for _, width := range []int{1280, 400} {
		var got struct {
			Width, Window int
			Open          bool
		}
		evaluate(t, samplePage(t), width, `
			const root = document.documentElement, contents = document.querySelector("nav details");
			return {Width: root.scrollWidth, Window: innerWidth, Open: contents.open};`, &got)
		if got.Width > got.Window {
			t.Errorf("the page is %d wide in a window of %d: only tables may scroll", got.Width,
				got.Window)
		}
		expect.Equal(t, fmt.Sprintf("at %d: contents open", width), got.Open, width > 960)
	}
}

// On a desk a table of claims and one of ten columns of numbers are in sight; on a phone tables scroll
// beside their first column and say so, and figures keep two thirds of their size or more.
func TestWideItemsInBrowser(t *testing.T) {
	claims := table.Table{Title: "Claims", Columns: []table.Column{{Heading: "claim"}, {Heading: "printed"},
		{Heading: "here"}, {Heading: "verdict"}}}
	for range 3 {
		claims.Rows = append(claims.Rows, table.Row{table.Text(strings.Repeat("what the paper says of σ ", 10)),
			table.Text(strings.Repeat("learn-0.2: .956 ± .039; ", 3)), table.Text("no runs"),
			table.Text("inconclusive")})
	}
	wide := []byte(strings.Replace(square, `width="72pt" height="36pt"`, `width="504pt" height="252pt"`, 1))
	p := Page{Title: "Wide", Sections: []Section{{ID: "a", Title: "A", Items: []Item{
		TableItem{Title: "Claims", Table: claims},
		TableItem{Title: "Numbers", Table: accuracies("Numbers", 8)},
		Figure{Title: "Figure", SVG: wide, Width: 504, Height: 252}}}}}
	for width, wantWhole := range map[int]bool{1280: true, 390: false} {
		var got struct {
			Beyond []int // how far tables reach beyond what is in sight
			First  []bool
			Scale  float64
			Page   int // how far the page is wider than the window
			Untold int // tables and figures that reach beyond their place without a word, or have one in vain
		}
		evaluate(t, p, width, `
			const scrolls = [...document.querySelectorAll(".scroll")], image = document.images[0];
			const Beyond = scrolls.map(e => e.scrollWidth - e.clientWidth);
			scrolls.forEach(e => { e.scrollLeft = 1e4; });
			const First = scrolls.map(e => e.querySelector("tbody th").getBoundingClientRect().left >=
				e.getBoundingClientRect().left - 1);
			const told = e => getComputedStyle(e, "::before").content.includes("Scroll");
			const parts = [...document.querySelectorAll(".scroll, .plate")];
			return {Untold: parts.filter(e => told(e) !== e.scrollWidth > e.clientWidth).length,
				Beyond, First, Scale: image.getBoundingClientRect().width / image.getAttribute("width"),
				Page: document.documentElement.scrollWidth - innerWidth};`, &got)
		for i, beyond := range got.Beyond {
			if wantWhole && beyond > 0 {
				t.Errorf("at %d table %d reaches %d pixels beyond its place", width, i+1, beyond)
			}
			if !got.First[i] {
				t.Errorf("at %d table %d scrolls its first column out of sight", width, i+1)
			}
		}
		if got.Untold > 0 {
			t.Errorf("at %d: %d parts do not say that they scroll", width, got.Untold)
		}
		if got.Scale < 0.66 || got.Page > 0 {
			t.Errorf("at %d the figure has %.2f of its size; the page is %d too wide", width, got.Scale, got.Page)
		}
	}
}

// No hostile text runs or changes the page, and each is there to be read.
func TestHostileInBrowser(t *testing.T) {
	p := hostilePage()
	checkDocument(t, p)
	var got struct {
		Title, H1, H2, Caption, Cell, Alt, Command, Entry string
		Figures                                           int
		Href                                              string
	}
	evaluate(t, p, 1280, `const s = (q) => document.querySelector(q).textContent; return {
		Title: document.title, H1: s("h1"), H2: s("h2"), Caption: s("figcaption p"), Cell: s("tbody th"),
		Alt: document.images[0].alt, Command: s("code"), Entry: s("main li"), Figures: document.images.length,
		Href: decodeURIComponent(document.querySelector(".links a").href).replace(/.*\//, ""),
	};`, &got)
	for place, text := range map[string]string{
		"title": got.Title, "h1": got.H1, "h2": got.H2, "caption": got.Caption,
		"cell": got.Cell, "alt": got.Alt, "command": got.Command, "entry": got.Entry,
	} {
		expect.Equal(t, fmt.Sprintf("%s reads", place), text, hostile)
	}
	if want := `a "b" <c> #1?x=%20&y 'σ'.pdf`; got.Href != want || got.Figures != 2 {
		t.Errorf("the link leads to %q, want %q; %d figures", got.Href, want, got.Figures)
	}
}

// The button copies the command, whether or not the browser grants the page its clipboard, and says
// so.
func TestCopy(t *testing.T) {
	var got struct {
		Command, Selected string
		Pressed           map[string][2]string // what is copied, and the button's label then
	}
	problems := evaluate(t, samplePage(t), 1280, `
		document.querySelector(".missing details").open = true;
		const button = document.querySelector("button.copy"), pressed = {};
		let copied;
		const press = async (name, writeText, execCommand) => {
			copied = "";
			const value = writeText && {writeText};
			Object.defineProperty(navigator, "clipboard", {configurable: true, value});
			document.execCommand = execCommand;
			button.click();
			await new Promise(r => setTimeout(r, 50));
			pressed[name] = [copied, button.textContent];
		};
		const selection = () => {
			const a = document.activeElement;
			copied = a.value.slice(a.selectionStart, a.selectionEnd);
			return true;
		};
		await press("granted", async (s) => { copied = s }, selection);
		await press("refused", async () => { throw new Error("not allowed") }, selection);
		await press("absent", undefined, selection);
		await press("impossible", undefined, () => false);
		const Command = document.querySelector("code").textContent;
		return {Command, Selected: getSelection().toString(), Pressed: pressed};`, &got)
	for _, name := range []string{"granted", "refused", "absent"} {
		expect.Equal(t, fmt.Sprintf("clipboard %s: copied text and label", name), got.Pressed[name],
			[2]string{got.Command, "Copied"})
	}
	expect.Equal(t, "where nothing copies the button says", got.Pressed["impossible"][1], "Select and copy")
	if got.Selected != got.Command || got.Command == "" {
		t.Errorf("where nothing copies %q is selected, want %q", got.Selected, got.Command)
	}
	if len(problems) > 0 {
		t.Errorf("the page logs %q", problems)
	}
}
