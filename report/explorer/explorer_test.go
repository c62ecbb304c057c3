package explorer

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/report/internal/chromium"
)

const hostile = `</script><img src=x onerror="alert(1)"> "quoted" & 'σ'`

// ring returns a page of n tokens on a circle, whose similarity is the cosine of their angle and
// whose attention goes to the next token.
func ring(n, models int) Page {
	p := Page{Title: "Ring " + hostile, Back: "index.html"}
	for k := range 2 {
		p.Groups = append(p.Groups, Group{Name: fmt.Sprint("half ", k), Color: color.NRGBA{R: uint8(100 * k), A: 255}})
	}
	angle := func(i int) float64 { return 2 * math.Pi * float64(i) / float64(n) }
	m := Model{Axes: [2]string{"Axis 1", "Axis 2"}}
	alike, next := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		p.Tokens = append(p.Tokens, Token{Name: fmt.Sprintf("token %d", i), Group: 2 * i / n})
		m.Map = append(m.Map, [2]float64{math.Cos(angle(i)), math.Sin(angle(i))})
		for j := range n {
			alike[i*n+j] = math.Cos(angle(i - j))
		}
		next[i*n+(i+1)%n] = 0.5
	}
	p.Tokens[n-1].Name = hostile
	m.Matrices = []Matrix{{Label: "similarity", From: "is like", Values: alike}}
	for block := range 4 {
		m.Matrices = append(m.Matrices, Matrix{Label: fmt.Sprintf("attention, block %d", block+1), From: "attends to",
			To: "is attended by", Values: next})
	}
	for k := range models {
		m.Label = fmt.Sprint("model ", k)
		p.Models = append(p.Models, m)
	}
	return p
}

// choose runs a script in a page in a browser of the given width.
func choose(t *testing.T, p Page, width int, script string, result any) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "explorer.html")
	left, err := p.Save(file)
	if err != nil || left != "" {
		t.Fatalf("%v, left out: %s", err, left)
	}
	for _, problem := range chromium.Evaluate(t, file, width, script, result) {
		t.Error("the page logs", problem)
	}
}

// Tokens are chosen by pointing, tapping, arrow keys and name; neighbours and attention are those of
// the matrices.
func TestInBrowser(t *testing.T) {
	var got struct {
		First, Pointed, Right, Typed, Part, Clicked, Last, Title string
		Nearest, Attends, Attended                               []string
		Value                                                    float64
		Fills, Requests, Images                                  int
		Rings                                                    int
	}
	choose(t, ring(12, 2), 1280, `
		const chosen = () => document.getElementById("chosen").textContent;
		const names = (k) => [...document.querySelectorAll("#lists > div")[k].querySelectorAll("button")]
			.slice(0, 2).map(b => b.firstChild.textContent);
		const dot = (name) => [...document.querySelectorAll("circle")].find(c => c.textContent === name);
		const map = document.getElementById("map"), token = document.getElementById("token");
		const type = (text) => { token.value = text; token.dispatchEvent(new Event("change")); return chosen(); };
		const out = {First: chosen(), Title: document.title, Nearest: names(0), Attends: names(1), Attended: names(2)};
		out.Value = +document.querySelector("#lists button span").textContent;
		out.Rings = document.querySelectorAll("circle.near").length;
		dot("token 3").dispatchEvent(new PointerEvent("pointerenter", {pointerType: "mouse"}));
		out.Pointed = chosen(); // on top of the circle
		map.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
		out.Right = chosen();
		out.Typed = type("TOKEN 7");
		out.Part = type("ken 8");
		dot("token 4").dispatchEvent(new MouseEvent("click"));
		out.Clicked = chosen();
		const matrix = document.getElementById("matrix");
		matrix.value = 1;
		matrix.dispatchEvent(new Event("change"));
		out.Fills = new Set([...document.querySelectorAll("circle")].map(c => c.style.fill)).size;
		out.Last = type("onerror");
		out.Requests = performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).length;
		out.Images = document.images.length;
		return out;`, &got)
	for what, pair := range map[string][2]string{
		"first": {got.First, "token 0, half 0"}, "pointed at": {got.Pointed, "token 3, half 0"},
		"right of it": {got.Right, "token 2, half 0"}, "typed": {got.Typed, "token 7, half 1"},
		"part of a name": {got.Part, "token 8, half 1"}, "clicked": {got.Clicked, "token 4, half 0"},
		"hostile": {got.Last, hostile + ", half 1"}, "title": {got.Title, "Ring " + hostile},
		"nearest":   {strings.Join(got.Nearest, "|"), "token 1|" + hostile},
		"attends":   {got.Attends[0], "token 1"},
		"attended":  {got.Attended[0], hostile},
		"questions": {fmt.Sprint(got.Requests, got.Images), "0 0"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	// The chosen dot, the one that it attends to, and the rest.
	if got.Fills != 3 || got.Rings != 10 {
		t.Errorf("%d colours, %d ringed", got.Fills, got.Rings)
	}
	if want := math.Cos(math.Pi / 6); math.Abs(got.Value-want) > 2.0/255+0.005 {
		t.Errorf("nearest at %g, want %g", got.Value, want)
	}
}

// 360 tokens of five models with four blocks stay below 5 MB, fit a phone and are drawn at once.
func TestSize(t *testing.T) {
	p := ring(360, 5)
	file := filepath.Join(t.TempDir(), "explorer.html")
	left, err := p.Save(file)
	if err != nil || left != "" {
		t.Fatalf("%v, left out: %s", err, left)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > largest {
		t.Errorf("%v bytes, %v", info.Size(), err)
	}
	p.Models = append(p.Models, p.Models...)
	left, err = p.Save(file)
	if err != nil || !strings.HasPrefix(left, "21 of 50 matrices") {
		t.Errorf("%v, left out: %q", err, left)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > largest {
		t.Errorf("with ten models: %v bytes, %v", info.Size(), err)
	}
	var got struct{ Width, Window, Dots, Least int }
	choose(t, ring(360, 1), 390, `return {
		Width: document.documentElement.scrollWidth, Window: innerWidth,
		Dots: document.querySelectorAll("circle").length,
		Least: Math.min(...[...document.querySelectorAll("select,input,ol button")].map(e => Math.round(e.offsetHeight))),
	};`, &got)
	if got.Width > got.Window || got.Dots != 360 || got.Least < 36 {
		t.Errorf("%+v: too wide, dots missing, or too small for a finger", got)
	}
}

func TestRefuses(t *testing.T) {
	p := ring(3, 1)
	p.Models[0].Map = p.Models[0].Map[:2]
	file := filepath.Join(t.TempDir(), "a.html")
	if _, err := p.Save(file); err == nil || !strings.Contains(err.Error(), "2 points") {
		t.Error(err)
	}
	p = ring(3, 1)
	p.Models[0].Matrices[0].Values = []float64{1}
	if _, err := p.Save(file); err == nil || !strings.Contains(err.Error(), "1 value") {
		t.Error(err)
	}
}
