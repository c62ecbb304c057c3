package page

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/viewer"
)

const hostileName = `</script><img src=x onerror="alert(1)"> "quoted" & 'σ'`

// ring returns a page of n tokens on a circle, whose similarity is the cosine of their angle and
// whose attention goes to the next token.
func ring(n, models int) Explorer {
	p := Explorer{Title: "Ring " + hostileName, Back: "index.html"}
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
	p.Tokens[n-1].Name = hostileName
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
func choose(t *testing.T, p Explorer, width int, script string, result any) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "explorer.html")
	expect.Equal(t, "left out", expect.Must(p.Save(file)), "")
	for _, problem := range (viewer.Browser{Width: width}).Evaluate(t, file, script, result) {
		t.Error("the page logs", problem)
	}
}

// Tokens are chosen by pointing, tapping, arrow keys and name; neighbours and attention are those of
// the matrices.
func TestExplorerInBrowser(t *testing.T) {
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
		"hostileName": {got.Last, hostileName + ", half 1"}, "title": {got.Title, "Ring " + hostileName},
		"nearest":   {strings.Join(got.Nearest, "|"), "token 1|" + hostileName},
		"attends":   {got.Attends[0], "token 1"},
		"attended":  {got.Attended[0], hostileName},
		"questions": {fmt.Sprint(got.Requests, got.Images), "0 0"},
	} {
		expect.Equal(t, what, pair[0], pair[1])
	}
	// The chosen dot, the one that it attends to, and the rest.
	expect.Equal(t, "colours, and dots with rings", [2]int{got.Fills, got.Rings}, [2]int{3, 10})
	expect.Near(t, "nearest at", got.Value, math.Cos(math.Pi/6), 0.005)
}

// Values that differ little beside the diagonal stay in their order.
func TestMatrixKeepsTheOrder(t *testing.T) {
	x := Matrix{Values: []float64{1, .0022, .0024, .0026, 1, .0028, .002, .003, math.NaN()}}
	var got struct {
		Low, High float64
		Bytes     []byte
	}
	expect.NoError(t, json.Unmarshal(expect.Must(json.Marshal(x)), &got))
	expect.Equal(t, "range", [2]float64{got.Low, got.High}, [2]float64{.002, .003})
	for i, want := range []uint16{65535, 13107, 26214, 39321, 65535, 52428, 0, 65535, 0} { // 65535 (x - .002) / .001
		expect.Equal(t, fmt.Sprint("level of value ", i), binary.LittleEndian.Uint16(got.Bytes[2*i:]), want)
	}
}

// Maps over training are turned towards each other, and the slider moves the tokens from one to the
// next.
func TestTraining(t *testing.T) {
	p := ring(12, 1)
	final := p.Models[0].Map
	for k := range 3 {
		angle, mirror := 2.1*float64(k), []float64{1, -1, 1}[k]
		f := Frame{Step: 10 * (k + 1)}
		for i, at := range final {
			x, y := at[0], mirror*at[1]
			x, y = x*math.Cos(angle)-y*math.Sin(angle), x*math.Sin(angle)+y*math.Cos(angle)
			if k == 0 && i == 0 { // one token lies elsewhere at first
				x, y = x/2, y/2
			}
			f.Map = append(f.Map, [2]float64{x, y})
		}
		p.Models[0].Frames = append(p.Models[0].Frames, f)
	}
	for i, at := range aligned(p.Models[0].Frames[1].Map, final) {
		if math.Hypot(at[0]-final[i][0], at[1]-final[i][1]) > 1e-12 {
			t.Fatalf("token %d is at %v, want %v", i, at, final[i])
		}
	}
	var got struct {
		Hidden bool
		Steps  []string
		First  []float64 // distance of token 0 from the middle
	}
	choose(t, p, 1280, `
		const frame = document.getElementById("frame"), out = {Steps: [], First: []};
		const dot = [...document.querySelectorAll("circle")].find(c => c.textContent === "token 0");
		const note = () => {
			out.Steps.push(document.getElementById("step").textContent);
			out.First.push(Math.round(Math.hypot(dot.getAttribute("cx") - 320, dot.getAttribute("cy") - 280)));
		};
		note();
		for (const k of [0, 1, 3]) {
			frame.value = k;
			frame.dispatchEvent(new Event("input"));
			note();
		}
		out.Hidden = document.getElementById("course").hidden;
		return out;`, &got)
	if want := "at its end|step 10|step 20|at its end"; strings.Join(got.Steps, "|") != want || got.Hidden {
		t.Errorf("steps %q, hidden %v", got.Steps, got.Hidden)
	}
	if f := got.First; len(f) != 4 || f[1] >= f[0]*3/4 || math.Abs(f[2]-f[0]) > 1 || f[3] != f[0] {
		t.Errorf("token 0 is %v from the middle", f)
	}
}

// 360 tokens of five models with four blocks stay below 10 MB, fit a phone and are drawn at once.
func TestSize(t *testing.T) {
	p := ring(360, 5)
	file := filepath.Join(t.TempDir(), "explorer.html")
	expect.Equal(t, "left out", expect.Must(p.Save(file)), "")
	if info, err := os.Stat(file); err != nil || info.Size() > maxExplorerSize {
		t.Errorf("%v bytes, %v", info.Size(), err)
	}
	p.Models = append(p.Models, p.Models...)
	left, err := p.Save(file)
	if err != nil || !strings.HasPrefix(left, "21 of 50 matrices") {
		t.Errorf("%v, left out: %q", err, left)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxExplorerSize {
		t.Errorf("with ten models: %v bytes, %v", info.Size(), err)
	}
	var got struct{ Width, Window, Dots, Least int }
	choose(t, ring(360, 1), 390, `return {
		Width: document.documentElement.scrollWidth, Window: innerWidth,
		Dots: document.querySelectorAll("circle").length,
		Least: Math.min(...[...document.querySelectorAll("select,input,ol button")].map(e => Math.round(e.offsetHeight))
			.filter(h => h > 0)),
	};`, &got)
	if got.Width > got.Window || got.Dots != 360 || got.Least < 36 {
		t.Errorf("%+v: too wide, dots missing, or too small for a finger", got)
	}
}
