package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// TestStartFromRun: the weights are those of the run: all but the encoding's, and with --keep-pe those,
// too. Such a run resumes to the same bits.
func TestStartFromRun(t *testing.T) {
	source := tiny(t, "learn")
	source.Epochs = 1
	dir, _ := runTiny(t, source)
	given := checkpointOf(t, dir)
	from := func(pe string, keep bool) Config {
		c := source
		c.PE, c.PEOptions, c.From, c.Members = pe, nil, &config.FromConfig{Run: dir, KeepPE: keep}, twoMembers()
		return c
	}
	for _, test := range []struct {
		pe         string
		keep, same bool // the table is that of the run
	}{{"nope", false, false}, {"learn", false, false}, {"learn", true, true}} {
		e := startedFrom(t, from(test.pe, test.keep))
		for _, p := range e.model.Params.All() {
			was, ok := given.Tensor(runlog.ParameterTensor(runlog.Weights, p.Name))
			want := test.same || !strings.HasPrefix(p.Name, "pe.")
			same := ok && slices.Equal(expect.Must(e.model.Params.Values(p.Name)), expect.Must(was.Float64s()))
			if same != want {
				t.Errorf("%s, keep %v: %s is that of the run: %v", test.pe, test.keep, p.Name, same)
			}
		}
	}
	c := from("learn", true)
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
	c.From, c.Members = &config.FromConfig{Run: dir}, []Member{{Seed: 1, LR: 1e-3}, {Seed: 2, LR: 1e-3}}
	e := startedFrom(t, c)
	was, _ := checkpointOf(t, dir).Tensor(runlog.ParameterTensor(runlog.Weights, "head.weight"))
	want := slices.Repeat(expect.Must(was.Float64s()), 2)
	if !slices.Equal(expect.Must(e.model.Params.Values("head.weight")), want) {
		t.Error("the members do not start from the run's one")
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
			[]string{"block0.norm1.weight: its shape is [16] there, and [32] here"}},
		"layers": {func(c *Config) { c.Layers = 1 }, []string{"block1.norm1.weight: this model has none"}},
		"biases": {func(c *Config) { c.PE = "rope" },
			[]string{"block0.attn.in.bias: this model has none", "--attention-bias"}},
		"tables": {func(c *Config) { c.PE, c.From.KeepPE = "learn-2d", true }, []string{"that run has none"}},
		"members": {func(c *Config) {
			c.Members = append(c.Members, Member{Seed: 11, LR: 1e-3, Sigma: new(1.)})
		}, []string{"2 members, and this one 3"}},
		"changed": {func(c *Config) { c.From.SHA256 = strings.Repeat("0", 64) },
			[]string{"has changed", "000000000000..."}},
		"no run": {func(c *Config) { c.From.Run = filepath.Join(dir, "none") }, []string{"no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := source
			c.Members, c.PEOptions, c.From = twoMembers(), nil, &config.FromConfig{Run: dir}
			test.change(&c)
			_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
			expect.Error(t, err, test.says...)
		})
	}
	c := source
	c.From = &config.FromConfig{Run: dir}
	expect.NoError(t, os.Remove(filepath.Join(dir, "result.json")))
	_, err := Run(t.Context(), c, filepath.Join(t.TempDir(), "run"), Options{})
	expect.Error(t, err, "it has not finished")
}
