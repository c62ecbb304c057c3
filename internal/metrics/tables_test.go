package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

type tables struct {
	Procrustes []struct {
		Name        string
		N, D        int
		A, B        []float64
		Raw         float64
		NormMatched float64 `json:"norm_matched"`
		Disparity   float64
	}
	Embeddings []struct {
		N, D              int
		X, PCA, Explained []float64
		Gram              []float64
		Rank, Toeplitz    float64
	}
	Attention struct {
		Layers, Examples, Rows, N int
		A, B                      [][]float64
		Cosine, JSD               map[string]float64
		ByLayer                   []float64 `json:"by_layer"`
	}
}

func readTables(t *testing.T) tables {
	t.Helper()
	b := expect.Must(os.ReadFile("testdata/tables.json"))
	var x tables
	if err := json.Unmarshal(b, &x); err != nil || len(x.Procrustes) != 4 || len(x.Embeddings) != 3 {
		t.Fatal(err)
	}
	return x
}

func close10(a, b float64) bool { return math.Abs(a-b) <= 1e-10*(1+math.Abs(b)) }

func TestProcrustesAgainstScipy(t *testing.T) {
	for _, c := range readTables(t).Procrustes {
		got, err := Procrustes(Table{c.N, c.D, c.A}, Table{c.N, c.D, c.B})
		if err != nil || !close10(got.Raw, c.Raw) || !close10(got.NormMatched, c.NormMatched) ||
			!close10(got.Disparity, c.Disparity) {
			t.Errorf("%s: %+v (%v), scipy has %v, %v, %v", c.Name, got, err, c.Raw, c.NormMatched, c.Disparity)
		}
	}
	pair := func(n, d int, a, b []float64) error {
		return expect.ErrorOf(Procrustes(Table{n, d, a}, Table{n, d, b}))
	}
	zeros, some, tenths := make([]float64, 6), []float64{1, 2, 3, 4, 5, 6}, slices.Repeat([]float64{0.1}, 6)
	for i, c := range []struct {
		a, b []float64
		want ProcrustesDistances
	}{
		{zeros, some, ProcrustesDistances{math.Sqrt(91), math.NaN(), math.NaN()}},
		{some, zeros, ProcrustesDistances{math.Sqrt(91), math.NaN(), math.NaN()}},
		// Equal rows have no shape, though a length.
		{tenths, tenths, ProcrustesDistances{0, 0, math.NaN()}},
	} {
		for _, shape := range [][2]int{{3, 2}, {2, 3}, {1, 6}} {
			got, err := Procrustes(Table{shape[0], shape[1], c.a}, Table{shape[0], shape[1], c.b})
			for k, v := range [3]float64{got.Raw, got.NormMatched, got.Disparity} {
				want := [3]float64{c.want.Raw, c.want.NormMatched, c.want.Disparity}[k]
				if err == nil || math.IsNaN(v) != math.IsNaN(want) || math.Abs(v-want) > 1e-14 {
					t.Errorf("case %d of %v: %v, %v; want %v", i, shape, got, err, c.want)
				}
			}
		}
	}
	for name, err := range map[string]error{
		"zeros":    pair(3, 2, make([]float64, 6), []float64{1, 2, 3, 4, 5, 6}),
		"one row":  pair(2, 2, []float64{1, 2, 1, 2}, []float64{1, 2, 3, 4}),
		"NaN":      pair(2, 1, []float64{1, math.NaN()}, []float64{1, 2}),
		"the size": pair(2, 1, []float64{1}, []float64{1, 2}),
	} {
		expect.Refused(t, name, err)
	}
}

func TestEmbeddingsAgainstNumpy(t *testing.T) {
	for i, c := range readTables(t).Embeddings {
		x := Table{c.N, c.D, c.X}
		points, explained, err := x.PCA(2)
		expect.NoError(t, err)
		for k, v := range points.Values {
			if !close10(v, c.PCA[k]) {
				t.Fatalf("table %d: coordinate %d is %v, numpy has %v", i, k, v, c.PCA[k])
			}
		}
		if !close10(explained[0], c.Explained[0]) || !close10(explained[1], c.Explained[1]) {
			t.Errorf("table %d: explained %v, numpy has %v", i, explained, c.Explained)
		}
		if rank, err := x.EffectiveRank(); err != nil || math.Abs(rank-c.Rank) > 1e-6 {
			t.Errorf("table %d: effective rank %v (%v), numpy has %v", i, rank, err, c.Rank)
		}
		gram := x.Gram()
		for k, v := range gram {
			if !close10(v, c.Gram[k]) {
				t.Fatalf("table %d: inner product %d is %v, numpy has %v", i, k, v, c.Gram[k])
			}
		}
		if r2, err := ToeplitzR2(gram, c.N); err != nil || !close10(r2, c.Toeplitz) {
			t.Errorf("table %d: Toeplitzness %v (%v), numpy has %v", i, r2, err, c.Toeplitz)
		}
		// The distances of points are kept by MDS where they lie in few enough dimensions.
		distances := points.Distances(Euclidean)
		placed := expect.Must(ClassicalMDS(distances, c.N, 2))
		again := Table{c.N, 2, placed}.Distances(Euclidean)
		for k, v := range again {
			if math.Abs(v-distances[k]) > 1e-8 {
				t.Fatalf("table %d: distance %d is %v after MDS, was %v", i, k, v, distances[k])
			}
		}
	}
}

func TestToeplitz(t *testing.T) {
	expect.Equal(t, "a Toeplitz matrix", expect.Must(ToeplitzR2([]float64{1, 2, 3, 0, 1, 2, -1, 0, 1}, 3)), 1)
	// By hand: diagonals (1,5), 2, 4; mean 3; RSS 8, TSS 10.
	if r2, err := ToeplitzR2([]float64{1, 2, 4, 5}, 2); err != nil || !close10(r2, 0.2) {
		t.Errorf("%v (%v), want .2", r2, err)
	}
	expect.Refused(t, "a constant matrix", expect.ErrorOf(ToeplitzR2([]float64{1, 1, 1, 1}, 2)))
	// Of many equal numbers the mean is off by rounding, so that their variance is not 0.
	tenths := Table{100, 5, slices.Repeat([]float64{0.1}, 500)}
	for name, m := range map[string][]float64{"equal rows": tenths.Gram(), "centred": tenths.Centred().Gram(),
		"differs in its last bit": {0.3, 0.1 + 0.2, 0.3, math.Nextafter(0.3, 0)}} {
		expect.Refused(t, name, expect.ErrorOf(ToeplitzR2(m, int(math.Sqrt(float64(len(m)))))))
	}
}

func TestAttentionAgainstScipy(t *testing.T) {
	c := readTables(t).Attention
	attention := func(layers [][]float64) Attention { return Attention{c.Examples, c.Rows / c.N, c.N, layers} }
	a, b := attention(c.A), attention(c.B)
	for _, how := range poolings() {
		got, err := a.Compare(b, how)
		if err != nil || !close10(got.Cosine, c.Cosine[string(how)]) || !close10(got.JSD, c.JSD[string(how)]) {
			t.Errorf("%s: %+v (%v), scipy has %v, %v", how, got, err, c.Cosine[string(how)], c.JSD[string(how)])
		}
	}
	for k, want := range c.ByLayer {
		got, err := attention(c.A[k:k+1]).Compare(attention(c.B[k:k+1]), EachMap)
		if err != nil || !close10(got.Cosine, want) {
			t.Errorf("layer %d: %v (%v), numpy has %v", k, got.Cosine, err, want)
		}
	}
	if got, err := a.Compare(a, EachMap); err != nil || !close10(got.Cosine, 1) || got.JSD > 1e-12 {
		t.Errorf("maps with themselves: %+v (%v)", got, err)
	}
	more := a
	more.Examples++
	for name, err := range map[string]error{
		"sizes":   expect.ErrorOf(more.Compare(more, EachMap)),
		"layers":  expect.ErrorOf(attention(c.A[:2]).Compare(b, EachMap)),
		"pooling": expect.ErrorOf(a.Compare(b, "some")),
		"no sum":  expect.ErrorOf(jsd([]float64{.5, .4}, []float64{.5, .5})),
		"below 0": expect.ErrorOf(jsd([]float64{1.5, -.5}, []float64{.5, .5})),
	} {
		expect.Refused(t, name, err)
	}
}

// Two clear modules of four nodes: of the 70 ways to deal eight labels, 2 reach their modularity.
func TestPermutation(t *testing.T) {
	w := make([]float64, 64)
	modules := []int{0, 0, 0, 0, 1, 1, 1, 1}
	for i := range 8 {
		for j := range 8 {
			if i != j && modules[i] == modules[j] {
				w[i*8+j] = 1
			}
		}
	}
	null := Null(Permuted(w, modules), 20000, 1)
	score, err := ScoreNetwork(w, modules)
	if p := Reached(null, score.Modularity); err != nil || math.Abs(p-2.0/70) > 0.004 {
		t.Errorf("%v (%v), want 2/70 = %v", p, err, 2.0/70)
	}
	// The network itself counts among the deals (Phipson and Smyth 2010), so that no p is 0.
	for q, want := range map[float64]float64{0.1: 1, 0.3: 0.75, 0.5: 0.5, 0.6: 0.25} {
		expect.Equal(t, fmt.Sprintf("p with which %v is reached", q), Reached([]float64{0.2, 0.5, 0.3}, q), want)
	}
}

// What has no answer is refused with the reason.
func TestTablesRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	compare := func(a, b []float64) error { // maps of one row
		return expect.ErrorOf(Attention{1, 1, 2, [][]float64{append(a, .5, .5)}}.Compare(
			Attention{1, 1, 2, [][]float64{append(b, .5, .5)}}, EachMap))
	}
	_, _, same := Table{2, 2, []float64{1, 2, 1, 2}}.PCA(1)
	_, _, tenths := Table{12, 5, slices.Repeat([]float64{0.1}, 60)}.PCA(2)
	_, _, last := Table{3, 2, []float64{0.3, 0.1, math.Nextafter(0.3, 1), 0.1, 0.3, 0.1}}.PCA(1)
	for i, c := range []struct {
		want string
		err  error
	}{
		{"all rows are equal", same},
		{"all rows are equal", tenths},
		{"all rows are equal", last},
		{"1 distances between 1 tokens", expect.ErrorOf(ClassicalMDS([]float64{0}, 1, 1))},
		{"4 distances between 2 tokens", expect.ErrorOf(ClassicalMDS([]float64{0, 1, 1, 0}, 2, 0))},
		{"1 numbers are not a matrix of 1 x 1", expect.ErrorOf(ToeplitzR2([]float64{1}, 1))},
		{"3 numbers are not a matrix of 2 x 2", expect.ErrorOf(ToeplitzR2([]float64{1, 2, 3}, 2))},
		{"element (1, 0) is NaN", expect.ErrorOf(ToeplitzR2([]float64{1, 2, nan, 4}, 2))},
		{"element (0, 1) is +Inf", expect.ErrorOf(ToeplitzR2([]float64{1, inf, 3, 4}, 2))},
		{"all elements are equal", expect.ErrorOf(ToeplitzR2([]float64{3, 3, 3, 3}, 2))},
		{"3 numbers are not a table of 2 x 2", expect.ErrorOf(Table{2, 2, []float64{1, 2, 3}}.EffectiveRank())},
		{"not a table of 0 x 1", expect.ErrorOf(Table{Dim: 1}.EffectiveRank())},
		{"not a table of 1 x 0", third(Table{Tokens: 1}.PCA(1))},
		{"attention of 0 layers, 1 example, 1 head, 1 token", expect.ErrorOf(Attention{1, 1, 1, nil}.Compare(
			Attention{1, 1, 1, nil}, EachMap))},
		{"1 layer, 0 examples", expect.ErrorOf(Attention{0, 1, 1, [][]float64{{}}}.Compare(
			Attention{0, 1, 1, [][]float64{{}}}, EachMap))},
		{"none below 0", compare([]float64{1.5, -.5}, []float64{.5, .5})},
		{"none below 0", compare([]float64{.5, .5}, []float64{1.5, -.5})},
		{"sum to 1.5 and 1", compare([]float64{1, .5}, []float64{.5, .5})},
		{"sum to 1 and 1.5", compare([]float64{.5, .5}, []float64{1, .5})},
		{"of 1 and 2 weights", expect.ErrorOf(jsd([]float64{1}, []float64{.5, .5}))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("case %d: %v, want %q", i, c.err, c.want)
		}
	}
}
