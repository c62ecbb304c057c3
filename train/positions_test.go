package train

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/data/positions"
	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// gridTable is a CSV of frames of tokens on a grid of 4 x 4, each noise averaged with that of its
// neighbours; column i is token order[i], called t<row><column>.
func gridTable(frames int, order []int) string {
	rng := rand.New(rand.NewPCG(3, 0))
	var b strings.Builder
	for i, token := range order {
		fmt.Fprintf(&b, "t%d%d%s", token/4, token%4, map[bool]string{true: "\n", false: ","}[i == 15])
	}
	for range frames {
		var noise, x [16]float64
		for i := range noise {
			noise[i] = rng.NormFloat64()
		}
		for i := range x {
			for j := range x {
				if r, c := i/4-j/4, i%4-j%4; r*r+c*c <= 1 {
					x[i] += noise[j]
				}
			}
		}
		for i, token := range order {
			fmt.Fprintf(&b, "%.6f%s", x[token], map[bool]string{true: "\n", false: ","}[i == 15])
		}
	}
	return b.String()
}

func inOrder16() []int {
	order := make([]int, 16)
	for i := range order {
		order[i] = i
	}
	return order
}

// shuffled is an order of 16 tokens with no symmetry.
var shuffled = []int{5, 0, 11, 3, 14, 9, 1, 7, 15, 2, 8, 13, 4, 10, 6, 12}

// rows lists a line for each of 16 tokens by name, in an order.
func rows(order []int, header string, line func(row, column int) string) string {
	b := header + "\n"
	for _, token := range order {
		b += fmt.Sprintf("t%d%d,%s\n", token/4, token%4, line(token/4, token%4))
	}
	return b
}

func cellRows(order []int) string {
	return rows(order, "name,row,column", func(r, c int) string { return fmt.Sprintf("%d,%d", r, c) })
}

// edgeRows joins neighbours on the grid by weights that differ, so that no eigenvalue is repeated.
func edgeRows(whole bool) string {
	b := "from,to,weight\n"
	for i := range 16 {
		for _, j := range []int{i + 1, i + 4} {
			if j < 16 && (j == i+4 || j/4 == i/4) {
				weight := 1 + float64((i*7+j*3)%11)/10
				if whole {
					weight = 1
				}
				b += fmt.Sprintf("t%d%d,t%d%d,%g\n", i/4, i%4, j/4, j%4, weight)
			}
		}
	}
	return b
}

// placedRun is a small run of masked prediction on the grid's table with a file of positions; both
// files are made anew.
func placedRun(t *testing.T, scheme string, order []int, where, as string) Config {
	t.Helper()
	c, dir := tinyFiles(t, map[string]string{"x.csv": gridTable(300, order)})
	c.PE, c.DModel, c.Heads, c.Members = scheme, 24, 2, c.Members[:1] // 24: rope-3d and 3d-fixed want six a head
	c.Dropout, c.Masked.Split, c.DType = 0, config.RandomSplit, "float64"
	if where != "" {
		path := filepath.Join(dir, "where.csv")
		expect.NoError(t, os.WriteFile(path, []byte(where), 0o600))
		c.Positions = &config.PositionsConfig{File: path, As: as}
	}
	return c
}

// A file in another order of its rows trains the same model to the same bits.
func TestPositionsGoByName(t *testing.T) {
	for scheme, where := range map[string]func([]int) string{"swin": cellRows, "learn": cellRows,
		"fourier-features": func(order []int) string {
			return rows(order, "name,x,y,z", func(r, c int) string { return fmt.Sprintf("%d,%d.5,%d", r, c, r*c) })
		}} {
		a := trained(t, placedRun(t, scheme, shuffled, where(inOrder16()), ""))
		b := trained(t, placedRun(t, scheme, shuffled, where(shuffled), ""))
		for _, name := range a.Names() {
			if x, ok := a.Tensor(name); ok && strings.HasPrefix(name, "w/") {
				y, _ := b.Tensor(name)
				expect.Equal(t, fmt.Sprintf("%s: %s differs", scheme, name), !bytes.Equal(x.Data, y.Data), false)
			}
		}
	}
}

// answers returns what an untrained model predicts of each token by its name, for values that go by
// name and with some masked.
func answers(t *testing.T, c Config) map[string]float64 {
	t.Helper()
	c.PEOptions = map[string]string{"fixed-pe-dropout": "0"} // it acts at evaluation, too
	expect.NoError(t, c.Resolve())
	task := expect.Must(newMaskedTask(c))
	names := slices.Clone(task.table.Names)
	e := expect.Must(newEnsemble(c, task))
	defer e.close()
	values, masked := make([]float64, 16), make([]float64, 16)
	for i, name := range names {
		token := float64(4*int(name[1]-'0') + int(name[2]-'0'))
		values[i] = math.Sin(token * token)
		if int(token)%3 == 0 {
			masked[i] = 1
		}
	}
	out := map[string]float64{}
	expect.NoError(t, torchpe.Catch(func() {
		s := e.resident.ChildNoGrad()
		defer s.Close()
		in := models.Input{
			Values: torchpe.Of(s, e.device, values, 1, 1, 16), Masked: torchpe.Of(s, e.device, masked, 1, 1, 16),
			Positions: e.model.Config.Positions,
		}
		for i, v := range e.model.Forward(s, in, nil).Float64s() {
			out[names[i]] = v
		}
	}))
	return out
}

// Tokens in another order, with their positions, get the same answers.
func TestPermutedTokensGetTheSameAnswers(t *testing.T) {
	space := rows(inOrder16(), "name,x,y,z",
		func(r, c int) string { return fmt.Sprintf("%g,%d.5,%d", math.Sqrt(float64(r+1)), c, r*c) })
	plane := rows(inOrder16(), "name,x,y", func(r, c int) string { return fmt.Sprintf("%d.5,%d.25", r+c, c) })
	for _, x := range []struct{ scheme, where string }{
		{"swin", cellRows(inOrder16())}, {"2d-fixed", cellRows(inOrder16())}, {"learn-2d",
			cellRows(inOrder16())}, {"learn", cellRows(inOrder16())},
		{"rope", cellRows(inOrder16())}, {"graphormer", cellRows(inOrder16())}, {"rope-2d",
			plane}, {"fourier-features", plane}, {"edge-geometry", plane},
		{"rope-3d", space}, {"3d-fixed", space}, {"learn-fourier", space}, {"graphormer",
			edgeRows(true)}, {"laplacian", edgeRows(false)},
		{"learn", rows(inOrder16(), "name,place", func(r, c int) string { return fmt.Sprint((5*(4*r+c) + 3) % 16) })},
	} {
		a := answers(t, placedRun(t, x.scheme, inOrder16(), x.where, ""))
		b := answers(t, placedRun(t, x.scheme, shuffled, x.where, ""))
		apart := map[bool]int{}
		for name, v := range a {
			expect.Near(t, x.scheme+", token "+name+", and in another order", v, b[name], 1e-10)
			apart[math.Abs(v-a["t00"]) > 1e-6]++
		}
		if apart[true] < 12 {
			t.Errorf("%s: tokens hardly differ: %v", x.scheme, a)
		}
	}
}

// Values on a grid can be told from their neighbours: schemes that know the grid learn to, nope
// does not.
func TestKnownPositionsAreLearned(t *testing.T) {
	mse := map[string]float64{}
	for _, x := range []struct{ scheme, where string }{{"nope", ""}, {"swin", cellRows(inOrder16())},
		{"graphormer", edgeRows(true)}} {
		c := placedRun(t, x.scheme, shuffled, x.where, "")
		expect.NoError(t, os.WriteFile(c.Masked.Files.Data[0], []byte(gridTable(2000, shuffled)), 0o600))
		c.DType, c.DModel, c.Steps, c.LogEvery, c.Members[0].LR, c.Masked.TestLevels,
			c.Masked.TestFrames = "float32", 32, 300, 300, 2e-3, []float64{0.5}, 400
		_, r := runTiny(t, c)
		mse[x.scheme] = r.Members[0].Measures["test_mse/0.50"]
		expect.Equal(t, fmt.Sprintf("%s: positions in %q", x.scheme, r.Data.Notes),
			strings.Contains(strings.Join(r.Data.Notes, "\n"), "positions: "), x.where != "")
	}
	for _, scheme := range []string{"swin", "graphormer"} {
		if !(mse[scheme] < 0.85*mse["nope"]) {
			t.Errorf("%s has an error of %.3f, nope %.3f", scheme, mse[scheme], mse["nope"])
		}
	}
}

// placesOf returns where the probes of a run say that its tokens lie.
func placesOf(t *testing.T, dir string) string {
	about := expect.Must(safetensors.Read(filepath.Join(dir, "probes.safetensors"))).Metadata
	return about["token_order"] + about["token_points"]
}

// The grid of the puzzles as a file is the task's own; another one is another model. The probes keep it.
func TestPositionsOfPuzzles(t *testing.T) {
	grid := func(cell func(r, c int) string) *config.PositionsConfig {
		b := ""
		for i := range 16 {
			b += cell(i/4, i%4) + "\n"
		}
		path := filepath.Join(t.TempDir(), "grid.csv")
		expect.NoError(t, os.WriteFile(path, []byte(b), 0o600))
		return &config.PositionsConfig{File: path}
	}
	places := ""
	end := func(p *config.PositionsConfig) []byte {
		c := tiny(t, "2d-fixed")
		c.Positions = p
		dir, _ := runTiny(t, c)
		x, _ := checkpointOf(t, dir).Tensor("w/head.weight")
		places = placesOf(t, dir)
		return x.Data
	}
	own := end(nil)
	expect.Equal(t, "places of no file", places, "")
	expect.Equal(t, "the same grid in a file gives another model",
		!bytes.Equal(own, end(grid(func(r, c int) string { return fmt.Sprintf("%d,%d", r+1, c+1) }))), false)
	expect.Equal(t, "the grid in another order gives the same model",
		bytes.Equal(own, end(grid(func(r, c int) string { return fmt.Sprintf("%d,%d", c, r) }))), false)
	expect.Equal(t, "places of a file", places, "[0,4,8,12,1,5,9,13,2,6,10,14,3,7,11,15][[0,0],[1,0],[2,0],[3,0],"+
		"[0,1],[1,1],[2,1],[3,1],[0,2],[1,2],[2,2],[3,2],[0,3],[1,3],[2,3],[3,3]]")
}

// A run refuses to go on with another file, and says so; the file's digest is in its configuration.
func TestChangedPositionsAreRefused(t *testing.T) {
	c := placedRun(t, "swin", shuffled, cellRows(inOrder16()), "")
	dir := filepath.Join(t.TempDir(), "run")
	stopAfter(t, c, dir, 5)
	stored, err := ReadConfig(filepath.Join(dir, "config.json"))
	if err != nil || stored.Positions == nil || len(stored.Positions.SHA256) != 64 {
		t.Fatalf("%+v, %v", stored.Positions, err)
	}
	was := expect.Must(os.ReadFile(c.Positions.File))
	expect.NoError(t, os.WriteFile(c.Positions.File, []byte(cellRows(shuffled)), 0o600))
	expect.Error(t, expect.ErrorOf(Run(t.Context(), stored, dir, Options{Resume: true})), "where.csv has changed")
	expect.NoError(t, os.Remove(c.Positions.File))
	expect.Error(t, expect.ErrorOf(Run(t.Context(), stored, dir, Options{Resume: true})), "--positions: ")
	expect.NoError(t, os.WriteFile(c.Positions.File, was, 0o600))
	expect.NoError(t, expect.ErrorOf(Run(t.Context(), stored, dir, Options{Resume: true})))
	expect.Contains(t, placesOf(t, dir), "[5,0,11,3,14,9,1,7,15,2,8,13,4,10,6,12][[1,1],[0,0],")
}

// Mistakes are found before anything is trained or written; a configuration without positions has
// no such key.
func TestPositionsMistakes(t *testing.T) {
	for name, x := range map[string]struct{ scheme, where, as, want string }{
		"no file that says it": {"swin", "", "", "--positions FILE"},
		"a graph for a grid": {"swin", edgeRows(true), "",
			"it needs tokens on a grid, but the tokens lie on a graph of 16 nodes"},
		"space for a plane": {"rope-2d", rows(inOrder16(), "name,x,y,z",
			func(r, c int) string { return fmt.Sprintf("%d,%d,0.5", r, c) }), "", "two coordinates"},
		"space for a graph": {"laplacian", rows(inOrder16(), "name,x,y,z", func(r, c int) string {
			return fmt.Sprintf("%d,%d,0.5", r, c)
		}), "", "in a graph, on a grid or on a line"},
		"a missing token": {"swin", cellRows(inOrder16()[:15]), "", `no position of token "t33"`},
		"numbers and places": {"rope", rows(inOrder16(), "name,at",
			func(r, c int) string { return fmt.Sprint(10*r + c) }), "", "--positions-as order"},
		"a form that there is not": {"swin", cellRows(inOrder16()), "gird", "--positions-as"},
		"no such file":             {"swin", "-", "", "--positions: "},
	} {
		c := placedRun(t, x.scheme, shuffled, x.where, x.as)
		if x.where == "-" {
			c.Positions.File += ".gone"
		}
		dir := filepath.Join(t.TempDir(), "run")
		expect.Error(t, expect.ErrorOf(Run(t.Context(), c, dir, Options{})), x.want)
		expect.Refused(t, name+": looking for the run", expect.ErrorOf(os.Stat(dir)))
	}
	c := placedRun(t, "rope", shuffled,
		rows(inOrder16(), "name,at", func(r, c int) string { return fmt.Sprint(10*r + c) }), "order")
	expect.NoError(t, expect.ErrorOf(Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})))
	text, err := tinyMasked(t, "learn").JSON()
	if err != nil || bytes.Contains(text, []byte(`"positions"`)) {
		t.Errorf("%s, %v", text, err)
	}
}

// Rows that begin with the numbers that tokens are called go by these.
func TestPositionsGoByNumber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "where.csv")
	expect.NoError(t, os.WriteFile(path, []byte("10,0,.5\n20,1.5,1\n30,7,2.5\n"), 0o600))
	sum := expect.Must(config.SumOf(path))
	var c Config
	c.PE, c.Fidelity = "fourier-features", "code"
	c.Positions = &config.PositionsConfig{File: path, SHA256: sum}
	at, _, err := c.place(positions.Tokens{Count: 3, Names: []string{"30", "10", "20"}}, pe.Line(3))
	if got := fmt.Sprint(at.Points); err != nil || got != "[[7 2.5] [0 0.5] [1.5 1]]" {
		t.Errorf("%s, %v", got, err)
	}
}

// Notes say what of a file an encoding does not use, and nothing else of encodings that use it.
func TestPositionsNotes(t *testing.T) {
	const grid, line = "0,1\n1,0\n0,0\n", "0\n1\n5\n"
	const edges, plain = "from,to,weight\n0,1,2\n1,2,1\n", "from,to\n0,1\n1,2\n"
	for _, x := range []struct{ scheme, start, where, as, want, not string }{
		{"rope", "", grid, "", "rope knows only the order of tokens from ", ""},
		{"rope", "", "2\n0\n1\n", "", "the order of 3 tokens", "knows"},
		{"nope", "", "2\n0\n1\n", "", "the order of 3 tokens", "knows"}, // as all know
		{"abacus", "", grid, "", "abacus knows only the places in the rows of a grid", "only the order"},
		{"cape", "", grid, "", "(with --cape 2d on a grid) from ", "only the order"},
		{"alibi", "", grid, "", "only the order of tokens (distances with --alibi euclidean)", ""},
		{"alibi euclidean", "", grid, "", "on a grid", "knows"},
		{"learn-resampled", "", grid, "", "(a grid with --resample-by bicubic or bilinear)", ""},
		{"rope+abacus", "", grid, "", "rope knows only the order of tokens from", "abacus knows only the order"},
		{"swin", "", grid, "", "on a grid of 2 x 2", "knows"},
		{"rope-3d", "", plain, "", "rope-3d uses coordinates, but a graph has none", "weights"},
		{"graphormer", "", edges, "", "graphormer uses the weights of edges only with --graphormer-edges", "gaps"},
		{"rrwp", "", edges, "", "except with --rrwp-distance", ""},
		{"rwse+laplacian", "", edges, "", "rwse ignores the weights of edges", "laplacian"},
		{"rwse", "", plain, "", "2 edges", "weights"},
		{"rwse", "", line, "coordinates", "rwse connects neighbours on the line, regardless of the gaps", ""},
		{"rwse", "", grid, "", "on a grid", "gaps"},
		{"learn", "mds", edges, "", "mds counts the edges between tokens and ignores their weights", "knows"},
		{"learn", "mds", plain, "", "2 edges", "whatever"},
		{"learn", "mds", line, "", "1 dimension", "knows"},
		{"learn", "", edges, "", "learn knows only the order of tokens", "ignores"},
	} {
		path := expect.File(t, "where.csv", x.where)
		var c Config
		c.PE, c.PEInit, c.Fidelity = x.scheme, x.start, "code"
		if name, form, has := strings.Cut(x.scheme, " "); has {
			c.PE, c.PEOptions = name, pe.Options{"alibi": form}
		}
		c.Positions = &config.PositionsConfig{File: path, As: x.as, SHA256: expect.Must(config.SumOf(path))}
		_, notes, err := c.place(positions.Tokens{Count: 3}, pe.Line(3))
		all := strings.ReplaceAll(strings.Join(notes, "\n"), path, "")
		if err != nil || !strings.Contains(all, x.want) || x.not != "" && strings.Contains(all, x.not) {
			t.Errorf("%s %s: %s, %v, want %q without %q", x.scheme, x.start, all, err, x.want, x.not)
		}
	}
}
