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

	"github.com/spf13/pflag"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// run measures what a command line of "torchpe analyze" says, with its words apart by spaces.
func run(line string) (*Report, *Input, error) {
	words := strings.Fields(line)
	at := slices.IndexFunc(Measures(), func(m Measure) bool { return strings.Fields(m.Use)[0] == words[0] })
	m, in := Measures()[at], &Input{}
	fl := pflag.NewFlagSet(words[0], pflag.ContinueOnError)
	m.Flags(fl, in)
	fl.StringVar(&in.Out, "out", "", "")
	fl.BoolVar(&in.JSON, "json", false, "")
	fl.Func("header", "", func(s string) (err error) {
		in.Header, err = text.ParseChoice(s)
		return err
	})
	if err := fl.Parse(words[1:]); err != nil {
		return nil, in, err
	}
	in.Args = fl.Args()
	r, err := m.Run(in)
	return r, in, err
}

// result returns the JSON of a command line, and its notes.
func result(t *testing.T, line string) (object map[string]any, notes []string) {
	t.Helper()
	r, in, err := run(line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	body, err := json.Marshal(r.JSON)
	if err == nil {
		err = json.Unmarshal(body, &object)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", line, body, err)
	}
	return object, in.Notes
}

// value returns what a path, such as models/0/blocks/0/r2, leads to.
func value(v any, path string) any {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// number returns the number that a path leads to, NaN where it is null.
func jsonNumber(v any, path string) float64 {
	if x, ok := value(v, path).(float64); ok {
		return x
	}
	return math.NaN()
}

// near compares all that want holds, numbers to 1e-9.
func near(t *testing.T, what string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case float64:
		if g, ok := got.(float64); !ok || math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
			t.Errorf("%s: %v, want %v", what, got, w)
		}
	case []any:
		for i := range w {
			near(t, fmt.Sprintf("%s/%d", what, i), value(got, fmt.Sprint(i)), w[i])
		}
		if g, _ := got.([]any); len(g) != len(w) {
			t.Errorf("%s: %d values, want %d", what, len(g), len(w))
		}
	case map[string]any:
		for key := range w {
			near(t, what+"/"+key, value(got, key), w[key])
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

// files writes texts to a folder, and returns their paths.
func files(t *testing.T, texts map[string]string) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range texts {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o666))
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// arrayFile writes numbers to a .npy file, and returns its path.
func arrayFile(t *testing.T, data []float64, shape ...int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npy")
	f := expect.Must(os.Create(path))
	defer f.Close()
	expect.NoError(t, npy.Write(f, array.Array{Shape: shape, Data: data}, npy.Float64))
	return path
}

// Numbers of arrays in all formats are those of numpy and scipy (testdata/make.py).
func TestNumbersOfArrays(t *testing.T) {
	body := expect.Must(os.ReadFile("testdata/expected.json"))
	var expected map[string]any
	expect.NoError(t, json.Unmarshal(body, &expected))
	t.Chdir("testdata")
	const maps, position = "attention.npz:maps --reference attention.safetensors:maps",
		"toeplitz --table model.safetensors:embeddings.position_embeddings.weight"
	const heads = position + " --heads 2 --query model.safetensors:attention.query.weight " +
		"--key model.safetensors:attention.key.weight"
	for _, c := range []struct{ line, got, want string }{
		{"network --table table.npy --modules labels.txt", "", "network/euclidean"},
		{"network --table named.csv --modules modules.csv --distance cosine", "", "network/cosine"},
		// by names, in another order
		{"network --weights weights.csv --modules modules.csv", "", "network/weights"},
		{"procrustes --table table.mat --reference arrays.npz:reference", "", "procrustes/reference"},
		{"procrustes --table table.mat --reference 1d-fixed", "", "procrustes/1d-fixed"},
		{"procrustes --table table.mat --reference 2d-fixed", "", "procrustes/2d-fixed"},
		{"procrustes --table model.safetensors:stack --reference arrays.npz:reference", "blocks/0",
			"procrustes/reference"},
		{"distances --table named.csv", "distances", "distances/euclidean"},
		{"distances --table named.csv --distance cosine", "distances", "distances/cosine"},
		{heads, "blocks/0/r2", "toeplitz/r2"},
		{heads, "blocks/0/r2_centred", "toeplitz/r2_centred"},
		{heads, "blocks/0/attention", "toeplitz/attention"},
		{heads + " --words model.safetensors:embeddings.word_embeddings.weight", "blocks/0/attention",
			"toeplitz/with_words"},
		{position + " --positions :5", "r2", "toeplitz/first_five"},
		{"map --table arrays.npz:table", "coordinates", "map/pca"},
		{"map --table arrays.npz:table", "explained", "map/explained"},
		{"map --table arrays.npz:table --method mds", "stress", "map/stress"},
		{"map --table arrays.npz:table --method mds", "coordinates", "map/pca"}, // of Euclidean distances
		{"rank --table table.npy", "", "rank"},
		{"attention " + maps, "", "attention/each"},
		{"attention " + maps + " --pooling layers", "", "attention/layers"},
		{"attention " + maps + " --pooling puzzles", "", "attention/puzzles"},
		{"attention " + maps + " --pooling all", "", "attention/all"},
		{"attention attention.npz:one_head --reference attention.safetensors:one_head --pooling puzzles", "",
			"attention/one_head"},
		{"attention attention.npz:one_layer --reference attention.safetensors:one_layer --pooling layers", "",
			"attention/one_layer"},
		{"attention map.csv --reference attention.safetensors:map", "", "attention/map"},
	} {
		want := value(expected, c.want)
		if want == nil {
			t.Fatalf("expected.json has no %s", c.want)
		}
		got, notes := result(t, c.line)
		near(t, c.line, value(got, "models/0/"+c.got), want)
		if models, _ := got["models"].([]any); len(models) != 1 || notes != nil {
			t.Errorf("%s: %d models, notes %q", c.line, len(models), notes)
		}
	}
	got, _ := result(t, "procrustes --table model.safetensors:stack --reference arrays.npz:reference")
	near(t, "the reference itself", value(got, "models/0/blocks/1"),
		map[string]any{"block": 1.0, "raw": 0.0, "norm_matched": 0.0, "disparity": 0.0})
	got, _ = result(t, "attention "+maps)
	near(t, "maps", value(got, "models/0"), map[string]any{"examples": 4.0, "heads": 2.0, "same_seed": nil})
}

// Numbers that follow by hand.
func TestClosedForms(t *testing.T) {
	var sinusoids, random strings.Builder
	state := uint64(1)
	for i := range 48 {
		for k := range 16 {
			angle := float64(i) / math.Pow(10000, float64(k/2*2)/16)
			v := math.Sin(angle)
			if k%2 == 1 {
				v = math.Cos(angle)
			}
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
			separator := ","
			if k == 15 {
				separator = "\n"
			}
			fmt.Fprintf(&sinusoids, "%.17g%s", v, separator)
			fmt.Fprintf(&random, "%.17g%s", float64(state>>11)/(1<<53)-0.5, separator)
		}
	}
	at := files(t, map[string]string{
		"large.csv": "3e200,4e200\n0,0\n", "small.csv": "3e-200,0\n-3e-200,0\n0,1e-200\n0,-1e-200\n",
		"sinusoids.csv": sinusoids.String(), "random.csv": random.String(),
		"groups.csv": "0,0.1\n0.1,0\n0,0\n5,5.1\n5.1,5\n5,5\n", "labels.txt": "1\n1\n1\n2\n2\n2\n",
		"two.txt": "1\n1\n2\n2\n", "negative.csv": "-9,-1,.5,.5\n-1,0,.5,.5\n.5,.5,0,2\n.5,.5,2,0\n",
		"diagonal.csv": "1,.5,.25,0\n.5,1,0,.25\n.25,0,1,.5\n0,.25,.5,1\n", "id.csv": "id,d1,d2\n10,3,4\n30,0,12\n",
	})
	toeplitz, weights := "toeplitz --table "+at("random.csv"), "network --modules "+at("two.txt")+" --weights "
	for _, c := range []struct {
		line, path   string
		want, within float64
	}{
		// Rows (3, 4) and 0 times 1e200: norms 5e200 and mean 2.5e200, one dimension used.
		{"rank --table " + at("large.csv"), "frobenius", 5e200, 1e185},
		{"rank --table " + at("large.csv"), "mean_row_norm", 2.5e200, 1e185},
		{"rank --table " + at("large.csv"), "effective_rank", 1, 1e-12},
		{"map --dims 1 --table " + at("large.csv"), "explained/0", 1, 1e-12},
		{"map --dims 1 --table " + at("small.csv"), "explained/0", 0.9, 1e-12}, // 9 + 9 of 20
		// A column of IDs is no dimension: the norm is that of 3, 4 and 12, not of 10, 3...
		{"rank --table " + at("id.csv"), "frobenius", 13, 1e-12},
		// Sinusoids have P_i P_j = sum_k cos((i-j) theta_k), which is Toeplitz.
		{"toeplitz --table " + at("sinusoids.csv"), "r2", 1, 1e-9},
		{"toeplitz --table " + at("sinusoids.csv"), "blocks/0/p", 1. / 101, 1e-12},
		{"toeplitz --table " + at("sinusoids.csv"), "r2_shuffled", 0.3, 0.3},
		// Of a random table of 48 tokens and 16 dimensions the diagonal alone explains d/(d+n).
		{toeplitz, "r2", 0.25, 0.08},
		{toeplitz, "r2_shuffled", 0.25, 0.08},
		// Two tight groups: of 6!/(3! 3! 2) = 10 ways to part six tokens one is theirs.
		{"network --table " + at("groups.csv") + " --modules " + at("labels.txt") + " --permutations 5000",
			"blocks/0/p", 0.1, 0.02},
		// With modules {0,1} and {2,3}: within -1 and 2, between 1/2 each, so C is the mean of
		// (-1-1/2)/-1 = 3/2 and (2-1/2)/2 = 3/4.
		{weights + at("negative.csv"), "clustering", 1.125, 1e-15},
		// By numpy: k = w.sum(0), (w - outer(k, k)/k.sum()) summed within modules over k.sum(), with the
		// diagonal set to 0. As it is, bctpy's, it is .357.
		{weights + at("diagonal.csv"), "modularity", 1. / 6, 1e-15},
	} {
		got, _ := result(t, c.line)
		if v := jsonNumber(got, "models/0/"+c.path); !(math.Abs(v-c.want) <= c.within) {
			t.Errorf("%s: %s is %v, want %v", c.line, c.path, v, c.want)
		}
	}
}

// Notes say why a number has no value, and what was left out or taken otherwise; no others are made.
func TestNotes(t *testing.T) {
	at := files(t, map[string]string{
		"two.txt": "1\n1\n2\n2\n", "four.txt": "1\n2\n3\n4\n", "zero.csv": "1.0,2\n0,0\n3,1\n2,2.5\n",
		"zeros.csv": "1.0,2\n0,0\n3,1\n0,0\n", "tenth.csv": "1.0,2,4\n.1,.1,.1\n3,1,2\n2,2.5,1\n",
		"same.csv": "1,2\n1,2\n1,2\n1,2\n", "same13.csv": ".1,.3\n.1,.3\n.1,.3\n.1,.3\n",
		"parallel.csv": ".1,.3\n.2,.6\n.7,2.1\n.3,.9\n", "far.csv": "0,0\n9,9\n4,4\n5,5\n",
		"apart.csv": "0,0\n1,9\n4,4\n5,5\n", "huge.csv": "1e200,0\n0,1e200\n4,4\n5,5\n",
		"tiny.csv":     "1e-200,0\n0,1e-200\n4e-200,0\n5e-200,5e-200\n",
		"negative.csv": "-9,-1,.5,.5\n-1,0,.5,.5\n.5,.5,0,2\n.5,.5,2,0\n",
		"nil.csv":      "0,1,-1,0\n1,0,0,-1\n-1,0,0,1\n0,-1,1,0\n",
		"one.csv":      "0,1,1,-1\n1,0,-1,1\n1,-1,0,1\n-1,1,1,0\n",
		"rounded.csv":  "0,1,2,0.3\n1,0,0.5,1\n2,0.5,0,1\n0.30000000000000004,1,1,0\n",
		"quoted.csv":   "\"1.5\",2,3\n\"2.5\",3,4\n", "pandas.csv": ",a,b\n0,2,3\n1,3,4\n",
		"counted.csv": ",a,b\n1,2,3\n2,3,4\n", "named.csv": "x,2,3\ny,3,4\n", "plain.csv": "1.5,2,3\n2.5,3,4\n",
	})
	for _, c := range []struct {
		line string
		q, c bool // whether modularity and clustering have values
		want []string
	}{
		{"two.txt --table zero.csv --distance cosine", false, false,
			[]string{"table 0: no scores: row 1 is all zeros"}},
		{"two.txt --table zeros.csv --distance cosine", false, false, []string{"row 1 and 1 more are all zeros"}},
		{"two.txt --table zero.csv", true, true, nil},
		{"two.txt --table tenth.csv --distance corr2", false, false, []string{"row 1 is one number throughout"}},
		{"two.txt --table same.csv", false, false, []string{"all rows are the same: every distance is 0"}},
		{"two.txt --table same13.csv --distance cosine", false, false, []string{"all rows are the same by cosine"}},
		{"two.txt --table parallel.csv --distance cosine", false, false, []string{"all rows are the same by cosine"}},
		{"two.txt --table far.csv", true, false, []string{"the mean weight within module 1 is 0"}},
		{"four.txt --table apart.csv", true, false, []string{"no module has two tokens"}},
		{"two.txt --table huge.csv", false, false, []string{"+Inf"}},
		{"two.txt --table tiny.csv", false, false, []string{"no scores: the numbers are too small for their sq"}},
		{"two.txt --weights negative.csv", true, true, []string{"2 weights below 0, to -1:",
			"the diagonal, -9 to 0, is taken as 0"}},
		{"two.txt --weights nil.csv", false, true, []string{"4 weights below 0", "the weights add up to 0"}},
		{"two.txt --weights rounded.csv", true, true, nil},
		{"two.txt --weights one.csv", true, true, []string{"4 weights below 0"}},
	} {
		line := "network --permutations 9 --modules "
		for _, word := range strings.Fields(c.line) {
			if strings.Contains(word, ".") {
				word = at(word)
			}
			line += word + " "
		}
		got, notes := result(t, line)
		m := value(got, "models/0")
		for key, known := range map[string]bool{"modularity": c.q, "clustering": c.c, "blocks/0/p": c.q} {
			if math.IsNaN(jsonNumber(m, key)) == known {
				t.Errorf("%s: %s is %v", c.line, key, value(m, key))
			}
		}
		checkNotes(t, c.line, notes, c.want)
		if in, _ := got["notes"].([]any); len(in) != len(notes) {
			t.Errorf("%s: notes in JSON are %q", c.line, in)
		}
	}
	for line, want := range map[string]string{
		"distances --distance cosine --table " + at("zero.csv"): "zero.csv: row 1 is all zeros",
		"distances --distance corr2 --table " + at("tenth.csv"): "row 1 is one number throughout",
		"distances --table " + at("huge.csv"):                   "the distance between rows 0 and 1 is +Inf",
		"distances --table " + at("tiny.csv"):                   "too small for their squares: scale the table",
		"distances --table " + at("apart.csv"):                  "",
		"rank --table " + at("quoted.csv"):                      "(1.5...) is taken as names",
		"rank --table " + at("pandas.csv"):                      "", // counted rows need no word
		"rank --table " + at("counted.csv"):                     "",
		"rank --table " + at("named.csv"):                       "",
		"rank --table " + at("plain.csv"):                       "",
	} {
		_, notes := result(t, line)
		var wants []string
		if want != "" {
			wants = []string{want}
		}
		checkNotes(t, line, notes, wants)
	}
	if got, _ := result(t, "distances --distance cosine --table "+at("zero.csv")); value(got,
		"models/0/distances/0/1") != nil ||
		math.IsNaN(jsonNumber(got, "models/0/distances/0/2")) {
		t.Errorf("%v", got)
	}
}

// Tables of zeros and of equal rows keep what has a value, as other tables of their stack do.
func TestNotesOnTablesOfAStack(t *testing.T) {
	data := append(make([]float64, 16), 1, 0, 2, 5, 3, 1, 0, 2, 0, 4, 1, 1, 2, 2, 7, 3)
	stack := arrayFile(t, append(data, slices.Repeat([]float64{0.1}, 16)...), 3, 4, 4)
	at := files(t, map[string]string{"plane.csv": "0,0\n0,2\n2,0\n2,2\n", "tenth.csv": "0.1,0.2,0.3,0.4\n0.1,0.2,0.3," +
		"0.4\n0.1,0.2,0.3,0.4\n0.1,0.2,0.3,0.4\n", "q.csv": "1.5,0,0,0\n0,1,0,2\n0,0,0,0\n0,0,0,0\n",
		"names.csv": "1,2,3,4\n4,2,5,5\n2,2,1,0\n3,1,1,9\n4,4,1,1\n"})
	some, none := math.Inf(1), math.NaN() // any number, and null
	for _, c := range []struct {
		line  string
		want  map[string]float64 // of a block and key; NaN = null
		notes []string
	}{
		{"rank", map[string]float64{"0/frobenius": 0, "0/mean_row_norm": 0, "0/effective_rank": none,
			"1/effective_rank": some, "2/effective_rank": 1}, []string{"a.npy: table 0: a table of zeros has no eff"}},
		{"rank --block 0", map[string]float64{"0/frobenius": 0, "0/effective_rank": none}, []string{"no eff"}},
		{"toeplitz", map[string]float64{"0/r2": none, "0/p": none, "0/r2_centred": none, "1/r2": some,
			"1/r2_centred": some, "2/r2": none, "2/r2_shuffled": none, "2/r2_centred": none},
			[]string{"table 0: no R², R² centred: all elements are equal", "table 2: no R², R² centred: all"}},
		{"toeplitz --block 1 --heads 2 --query " + at("q.csv") + " --key " + at("q.csv"), map[string]float64{
			"0/r2": some, "0/attention/0": some, "0/attention/1": none, "0/attention_shuffled": none},
			[]string{"table 1: no R² of head 1: all elements are equal"}},
		{"procrustes", map[string]float64{"0/raw": math.Sqrt(8), "0/norm_matched": none, "0/disparity": none,
			"1/disparity": some, "2/raw": some, "2/norm_matched": some, "2/disparity": none},
			[]string{"table 0: all rows of the table are equal", "table 2: all rows of the table are equal"}},
		{"procrustes --reference " + at("tenth.csv"), map[string]float64{"0/raw": math.Sqrt(1.2), "1/raw": some,
			"1/norm_matched": some, "1/disparity": none}, []string{"table 0: all rows of the table",
			"table 1: all rows of the reference are equal", "table 2: all rows of the table"}},
		{"procrustes --reference " + at("plane.csv"), map[string]float64{"0/raw": math.Sqrt(8), "0/disparity": none,
			"1/disparity": some, "2/raw": math.Sqrt(8), "2/norm_matched": none}, []string{"compared in 2 dimensions",
			"table 0: all rows of the table are equal", "table 2: all rows of the table are equal"}},
		// Of a file and its reference the first line is a header.
		{"procrustes --header yes --block 1 --reference " + at("names.csv"), map[string]float64{"0/raw": some}, nil},
	} {
		got, notes := result(t, c.line+" --table "+stack)
		for path, want := range c.want {
			v := jsonNumber(got, "models/0/blocks/"+path)
			if math.IsNaN(v) != math.IsNaN(want) || want < some && math.Abs(v-want) > 1e-12 {
				t.Errorf("%s: %s is %v, want %v", c.line, path, v, want)
			}
		}
		slices.Sort(notes)
		checkNotes(t, c.line, notes, c.notes)
	}
	_, notes := result(t, "toeplitz --table "+at("tenth.csv"))
	checkNotes(t, "tenth.csv", notes, []string{"no R², R² centred: all elements are equal"})
}

func checkNotes(t *testing.T, line string, notes, want []string) {
	t.Helper()
	if len(notes) != len(want) {
		t.Errorf("%s: notes %q, want %q", line, notes, want)
		return
	}
	for i, w := range want {
		expect.Contains(t, notes[i], w)
	}
}

func TestNumbersThatHaveNoValue(t *testing.T) {
	body, err := json.Marshal([]Number{1.5, None, Number(math.Inf(1))})
	if err != nil || string(body) != "[1.5,null,null]" {
		t.Errorf("%s, %v", body, err)
	}
	if None.known() || None.String() != "–" {
		t.Errorf("None is %v", None)
	}
	if meanOf([]Number{1, None}).known() {
		t.Error("a mean of what has no value")
	}
}
