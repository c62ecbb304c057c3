package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/series"
	"torchpe/internal/expect"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// startedFrom returns a model of c after it has taken the weights of a run.
func startedFrom(t *testing.T, c Config) *ensemble {
	t.Helper()
	e := started(t, c)
	expect.NoError(t, e.startFrom())
	return e
}

// TestStartFromRun: the weights that --take names are those of the run, and no others. Such a run resumes
// to the same bits.
func TestStartFromRun(t *testing.T) {
	source := tiny(t, "learn")
	source.Epochs = 1
	dir, _ := runTiny(t, source)
	given := checkpointOf(t, dir)
	from := func(pe, take string) Config {
		c := source
		c.PE, c.PEOptions, c.From, c.Members = pe, nil, &config.FromConfig{Run: dir, Take: take}, twoMembers()
		c.Members[0].Seed++ // other draws than those of the run
		c.Members[1].Seed++
		return c
	}
	for _, test := range []struct {
		pe, take      string
		table, others bool // whether they are those of the run
	}{
		{"nope", config.TakeNoPE, false, true},
		{"learn", config.TakeNoPE, false, true},
		{"learn", config.TakePE, true, false},
		{"learn", config.TakeAll, true, true},
	} {
		e := startedFrom(t, from(test.pe, test.take))
		for _, p := range e.model.Params.All() {
			if strings.HasSuffix(p.Name, "bias") || strings.Contains(p.Name, "norm") {
				continue // constants at the start
			}
			was, ok := given.Tensor(runlog.ParameterTensor(runlog.Weights, p.Name))
			want := test.others
			if strings.HasPrefix(p.Name, "pe.") {
				want = test.table
			}
			same := ok && slices.Equal(expect.Must(e.model.Params.Values(p.Name)), expect.Must(was.Float64s()))
			expect.Equal(t, fmt.Sprintf("%s, take %s: %s is that of the run", test.pe, test.take, p.Name), same, want)
		}
	}
	c := from("learn", config.TakeAll)
	c.Epochs = 3
	whole, _ := runTiny(t, c)
	resumesTo(t, c, whole, 1, 4, 6)
}

// TestStartFromOneMember: all members start from the only one of a run.
func TestStartFromOneMember(t *testing.T) {
	source := tiny(t, "nope")
	source.Epochs, source.Members = 1, []Member{{Seed: 5, LR: 1e-3}}
	dir, _ := runTiny(t, source)
	c := source
	c.From, c.Members = &config.FromConfig{Run: dir, Take: config.TakeNoPE},
		[]Member{{Seed: 1, LR: 1e-3}, {Seed: 2, LR: 1e-3}}
	e := startedFrom(t, c)
	was, _ := checkpointOf(t, dir).Tensor(runlog.ParameterTensor(runlog.Weights, "head.weight"))
	want := slices.Repeat(expect.Must(was.Float64s()), 2)
	expect.Equal(t, "the members do not start from the run's one",
		!slices.Equal(expect.Must(e.model.Params.Values("head.weight")), want), false)
	e.config.From.Take = config.TakePE
	expect.Error(t, e.startFrom(), "neither encoding has parameters to take")
}

// TestStartFromOtherOptions: a note names the options that read a taken table otherwise.
func TestStartFromOtherOptions(t *testing.T) {
	source := tiny(t, "t5")
	source.Epochs = 1
	dir, _ := runTiny(t, source)
	c := source
	c.PEOptions = map[string]string{"t5-max-distance": "64"}
	for take, notes := range map[string]int{config.TakeAll: 1, config.TakePE: 1, config.TakeNoPE: 0} {
		c.From = &config.FromConfig{Run: dir, Take: take}
		got := startedFrom(t, c).config.readsOtherwise()
		expect.Equal(t, take, len(got), notes)
		if notes == 1 {
			expect.Contains(t, got[0], "--t5-max-distance 64: t5 is taken from", "with --t5-max-distance 128")
		}
	}
}

// TestStartFromOtherRows: weights whose rows stand for other characters or tokens are refused, where they are
// taken.
func TestStartFromOtherRows(t *testing.T) {
	text, table := tinyText(t, "rope"), tinyMasked(t, "learn")
	text.Steps, table.Steps, table.Task, table.Masked.NMAR = 2, 2, "masked", nil
	rows := strings.Repeat("1,2,4\n2,5,1\n7,3,3\n", 20)
	table.Masked.Files = &series.Source{Data: []string{expect.File(t, "a.csv", "a,b,c\n"+rows)}}
	for _, test := range []struct {
		c            Config
		change       func(c *Config)
		takes, spare string
		says         string
	}{
		{text, func(c *Config) {
			was := string(expect.Must(os.ReadFile(c.Sequence.Text[0])))
			c.Sequence.Text = []string{expect.File(t, "b.txt", strings.ReplaceAll(was, "c", "x"))}
		}, config.TakeNoPE, "", "row 2 of its weights stands for \"c\", but here for \"x\": give texts"},
		{table, func(c *Config) {
			c.Masked.Files = &series.Source{Data: []string{expect.File(t, "b.csv", "a,c,b\n"+rows)}}
		}, config.TakeAll, config.TakeNoPE, "row 1 of its weights stands for \"b\", but here for \"c\": give"},
	} {
		dir, _ := runTiny(t, test.c)
		c := test.c
		c.From = &config.FromConfig{Run: dir, Take: test.takes}
		startedFrom(t, c)
		test.change(&c)
		expect.Error(t, started(t, c).startFrom(), test.says)
		if c.Masked != nil { // data without names
			c.Masked.Files = &series.Source{Data: []string{expect.File(t, "bare.csv", rows)}, Tokens: 3}
			startedFrom(t, c)
		}
		if test.spare != "" {
			c.From = &config.FromConfig{Run: dir, Take: test.spare}
			startedFrom(t, c)
		}
	}
}

// TestStartFromRefuses: a run that does not fit or has changed is refused, and says why.
func TestStartFromRefuses(t *testing.T) {
	source := tiny(t, "learn")
	source.Epochs = 1
	dir, _ := runTiny(t, source)
	for name, test := range map[string]struct {
		change func(c *Config)
		says   []string
	}{
		"width": {func(c *Config) { c.DModel = 32 },
			[]string{"attn.out.bias: its shape is [16] there, but [32] here", "more\ngive the sizes of that run"}},
		"heads": {func(c *Config) { c.Heads = 2 },
			[]string{"--heads: attention is taken from ", "which has 1, but here 2: give --heads 1"}},
		"layers": {func(c *Config) { c.Layers = 1 }, []string{"block1.attn.in.weight: this model lacks it"}},
		"biases": {func(c *Config) { c.PE = "rope" },
			[]string{"block0.attn.in.bias: this model lacks it", "--attention-bias"}},
		"tables": {func(c *Config) { c.PE, c.From.Take = "learn-2d", config.TakeAll },
			[]string{"that run lacks it"}},
		"no tables here": {func(c *Config) { c.PE, c.From.Take = "nope", config.TakePE },
			[]string{"pe.table: this model lacks it"}},
		"fixed tables": {func(c *Config) { c.PE, c.From.Take = "random", config.TakePE },
			[]string{"pe.table: this encoding does not train it"}},
		"another sigma": {func(c *Config) { c.Members[1].Sigma, c.From.Take = new(3.), config.TakePE },
			[]string{"--sigma: the table is taken from ", "where it is 1, but here 3: give its --sigma"}},
		"another start": {func(c *Config) { c.PEInit, c.From.Take = "zeros", config.TakeAll },
			[]string{"--pe-init: the table is taken from ", "where it is normal, but here zeros: give its "}},
		"members": {func(c *Config) {
			c.Members = append(c.Members, Member{Seed: 11, LR: 1e-3, Sigma: new(1.)})
		}, []string{"it has 2 members, but this run has 3: give --members 2"}},
		"changed": {func(c *Config) { c.From.SHA256 = strings.Repeat("0", 64) },
			[]string{"has changed", "000000000000..."}},
		"no run": {func(c *Config) { c.From.Run = filepath.Join(dir, "none") }, []string{"no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := source
			c.Members, c.PEOptions, c.From = twoMembers(), nil, &config.FromConfig{Run: dir, Take: config.TakeNoPE}
			test.change(&c)
			_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
			expect.Error(t, err, test.says...)
		})
	}
	c := source
	c.From = &config.FromConfig{Run: dir, Take: config.TakeNoPE}
	expect.NoError(t, os.Remove(filepath.Join(dir, "result.json")))
	_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
	expect.Error(t, err, "it is not finished")
}

// TestStartFromOtherPlaces: a learned row belongs to a place, so tokens must have the same places, by name, in
// whatever order the data has them.
func TestStartFromOtherPlaces(t *testing.T) {
	c := tinyMasked(t, "learn")
	c.Steps, c.Task, c.Masked.NMAR = 2, "masked", nil
	rows := strings.Repeat("1,2,4\n2,5,1\n7,3,3\n", 20)
	c.Masked.Files = &series.Source{Data: []string{expect.File(t, "a.csv", "a,b,c\n"+rows)}}
	plain, _ := runTiny(t, c)
	path := expect.File(t, "order.csv", "name,order\na,1\nb,0\nc,2\n")
	c.Positions = &config.PositionsConfig{File: path, SHA256: expect.Must(config.SumOf(path))}
	placed, _ := runTiny(t, c)

	c.From = &config.FromConfig{Run: plain, Take: config.TakePE}
	expect.Error(t, started(t, c).startFrom(), `row 0 of its weights stands for "a", but here for "b"`)
	c.From = &config.FromConfig{Run: placed, Take: config.TakePE}
	c.Masked.Files = &series.Source{Data: []string{expect.File(t, "b.csv", "c,b,a\n"+rows)}}
	startedFrom(t, c)

	// Without names, tokens go by their numbers, also if one of the runs has no positions.
	path = expect.File(t, "order.txt", "1\n0\n2\n")
	numbered := &config.PositionsConfig{File: path, As: "order", SHA256: expect.Must(config.SumOf(path))}
	c.Masked.Files = &series.Source{Data: []string{expect.File(t, "c.csv", rows)}, Tokens: 3}
	for _, before := range []*config.PositionsConfig{nil, numbered} {
		c.Positions, c.From = before, nil
		from, _ := runTiny(t, c)
		c.From = &config.FromConfig{Run: from, Take: config.TakePE}
		startedFrom(t, c)
		if c.Positions = numbered; before != nil {
			c.Positions = nil
		}
		expect.Error(t, started(t, c).startFrom(), "row 0 of its weights stands for ")
	}
}

// TestPlacesAreData: a run does not continue if the tokens of its data have other places.
func TestPlacesAreData(t *testing.T) {
	for scheme, positions := range map[string]string{"learn": "name,order\na,1\nb,0\nc,2\n",
		"rope-2d": "name,x,y\na,1.5,2\nb,3,4\nc,9,8\n", "laplacian": "from,to\na,b\na,c\n"} {
		c := tinyMasked(t, scheme)
		c.Steps, c.Task, c.Masked.NMAR = 2, "masked", nil
		path := expect.File(t, "order.csv", positions)
		c.Positions = &config.PositionsConfig{File: path, SHA256: expect.Must(config.SumOf(path))}
		var prints []string
		for _, names := range []string{"a,b,c\n", "b,a,c\n"} {
			data := expect.File(t, "a.csv", names+strings.Repeat("1,2,4\n2,5,1\n7,3,3\n", 20))
			c.Masked.Files = &series.Source{Data: []string{data}}
			prints = append(prints, started(t, c).task.fingerprint())
		}
		expect.Equal(t, scheme+": other names of the columns, the same fingerprint", prints[0] == prints[1], false)
	}
}
