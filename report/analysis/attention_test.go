package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/metrics"
)

// compared is one entry of "attention" in expected.json, by scipy.
type compared struct {
	Cosine, JSD float64
	Layers      []struct{ Cosine, JSD float64 }
	ByExample   []struct{ Cosine, JSD float64 } `json:"by_example"`
}

// Arrays of two to five axes, in all formats, under every pooling: the whole, each layer and each
// example.
func TestAttentionOfArrays(t *testing.T) {
	body, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Attention map[string]compared }
	if err := json.Unmarshal(body, &want); err != nil || len(want.Attention) != 7 {
		t.Fatalf("%d cases, %v", len(want.Attention), err)
	}
	for _, c := range []struct {
		name, a, b string
		how        metrics.Pooling
	}{
		{"each", "attention.npz:maps", "attention.safetensors:maps", metrics.EachMap},
		{"layers", "attention.npz:maps", "attention.safetensors:maps", metrics.LayersPooled},
		{"puzzles", "attention.npz:maps", "attention.safetensors:maps", metrics.ExamplePooled},
		{"all", "attention.npz:maps", "attention.safetensors:maps", metrics.AllPooled},
		{"one_head", "attention.npz:one_head", "attention.safetensors:one_head", metrics.ExamplePooled},
		{"one_layer", "attention.npz:one_layer", "attention.safetensors:one_layer", metrics.LayersPooled},
		{"map", "map.csv", "attention.safetensors:map", metrics.EachMap},
	} {
		models, notes, err := AttentionModels([]string{"testdata/" + c.a}, All, text.Auto)
		if err != nil || len(notes) > 0 {
			t.Fatalf("%s: %q, %v", c.name, notes, err)
		}
		got, notes, err := Attentions(models, "testdata/"+c.b, c.how, text.Auto)
		if err != nil || len(notes) > 0 || len(got) != 1 {
			t.Fatalf("%s: %q, %v", c.name, notes, err)
		}
		g, w := got[0], want.Attention[c.name]
		file, _, _ := strings.Cut(c.b, ":")
		if g.Subject != models[0].Subject || !strings.Contains(g.Reference.Source, file) {
			t.Errorf("%s: compares %+v with %+v", c.name, g.Subject, g.Reference)
		}
		check := func(what string, cosine, jsd Number, x, y float64) {
			if math.Abs(float64(cosine)-x) > 1e-12 || math.Abs(float64(jsd)-y) > 1e-12 {
				t.Errorf("%s, %s: %v and %v, scipy has %v and %v", c.name, what, cosine, jsd, x, y)
			}
		}
		check("whole", g.Cosine, g.JSD, w.Cosine, w.JSD)
		if len(g.Layers) != len(w.Layers) || len(g.ByExample) != len(w.ByExample) ||
			g.Examples != len(w.ByExample) || g.SameSeed != nil {
			t.Fatalf("%s: %+v", c.name, g)
		}
		for i, l := range g.Layers {
			check(fmt.Sprint("layer ", l.Layer), l.Cosine, l.JSD, w.Layers[i].Cosine, w.Layers[i].JSD)
		}
		for i, e := range g.ByExample {
			check(fmt.Sprint("example ", e.Example), e.Cosine, e.JSD, w.ByExample[i].Cosine, w.ByExample[i].JSD)
		}
	}
}

// A row that is no distribution is named by its layer, example, head and place.
func TestRowsOfAttention(t *testing.T) {
	save := func(shape []int, at int, v float64) string {
		size := 1
		for _, n := range shape {
			size *= n
		}
		data := slices.Repeat([]float64{0.25, 0.75}, size/2)
		data[at] = v
		path := filepath.Join(t.TempDir(), "a.npy")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := npy.Write(f, array.Array{Shape: shape, Data: data}, npy.Float64); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		shape []int
		at    int
		v     float64
		want  string
	}{
		{[]int{2, 2}, 2, 0.5, "a.npy: row 1 sums to 1.25"},
		{[]int{3, 2, 2}, 4 + 1, -0.75, "a.npy: example 1, row 0, column 1 is -0.75"},
		{[]int{2, 3, 2, 2}, 12 + 8 + 2, math.NaN(), "a.npy: layer 1, example 2, row 1, column 0 is NaN"},
		{[]int{2, 3, 4, 2, 2}, 48 + 2*16 + 3*4 + 3, math.Inf(1),
			"a.npy: layer 1, example 2, head 3, row 1, column 1 is +Inf"},
		{[]int{2, 2}, 0, 0.2511, "row 0 sums to 1.0011: want weights of attention after the " +
			"softmax, whose rows (the last axis) sum to 1 within 0.001"},
		{[]int{2, 4}, 0, 0.25, "shape [2 4]: want attention maps [tokens,tokens]"},
		{[]int{1, 1, 1, 1, 2, 2}, 0, 0.25, "[layers,examples,heads,tokens,tokens]"},
	} {
		if _, _, err := AttentionModels([]string{save(c.shape, c.at, c.v)}, All, text.Auto); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.shape, err, c.want)
		}
	}
	almost := save([]int{2, 2}, 0, 0.2509) // what half precision leaves
	models, _, err := AttentionModels([]string{almost}, All, text.Auto)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Attentions(models, save([]int{1, 1, 2, 2, 2}, 0, 0.25), metrics.EachMap, text.Auto); err == nil ||
		!strings.Contains(err.Error(), "1 layer, 1 example, 1 head, 2 tokens, the reference") {
		t.Errorf("other shapes: %v", err)
	}
}
