package train

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/torchpe"
	"torchpe/train/config"
)

// settingsTask returns a run of a few steps of one of the kinds of tasks.
func settingsTask(t *testing.T, kind string) Config {
	t.Helper()
	if kind == "lst" {
		c := tiny(t, "learn")
		c.Epochs, c.LimitSteps = 2, 12
		return c
	}
	if kind == "sequence" {
		c := tinySequence(t, "bucket-sort", "learn")
		c.Steps, c.LogEvery = 6, 3
		return c
	}
	c := tinyMasked(t, "learn")
	c.Steps, c.LogEvery = 4, 2
	c.Masked.NMAR.Frames, c.Masked.TestFrames = 200, 20
	if kind == "surrogate" {
		c.Task, c.Masked.NMAR = "fmri", nil
		c.Masked.Surrogate = &config.Surrogate{Subjects: 3, Frames: 30}
		c.Masked.Split, c.Batch = config.AutoSplit, 4 // of 360 tokens
	}
	return c
}

// A warm-up that training ends before is noted, one that just ends is not.
func TestLongWarmup(t *testing.T) {
	c := settingsTask(t, "lst")
	c.WarmupSteps, c.PEWarmupSteps = 12, nil
	task := expect.Must(newTask(c))
	before := len(c.notes(task))
	expect.Equal(t, fmt.Sprintf("12 of 12 steps: %q: notes", c.notes(task)), len(task.notes()), before)
	c.WarmupSteps, c.PEWarmupSteps = 24, new(13)
	got := c.notes(task)[before:]
	want := []string{
		"--warmup-steps 24: training ends after 12 steps, when the learning rate has only reached 0.5 of its value",
		"--pe-warmup-steps 13: training ends after 12 steps, when the learning rate has only reached 0.92 of " +
			"its value",
	}
	expect.Equal(t, "notes", got, want)
}

// A note names encodings that hide later tokens, except in tasks that hide them.
func TestCausalNote(t *testing.T) {
	for pe, want := range map[string]bool{"rope+alibi": true, "rope*1,kerple": true, "rope": false,
		"rope*1,alibi(alibi=symmetric)": false} {
		c := tinyMasked(t, pe)
		c.Layers = 2
		expect.Equal(t, pe, strings.Contains(fmt.Sprint(c.seesBack()), pe+" has a causal mask"), want)
	}
	if notes := tinyText(t, "alibi").seesBack(); notes != nil {
		t.Error(notes)
	}
}

// change sets another value of a setting in one kind of task.
type change struct {
	kind string
	set  func(c *Config)
}

// settingChanges have one change for each setting that changes results, by key. Several values that
// must all differ from each other follow one another.
var settingChanges = map[string][]change{
	"fidelity": {{"lst", func(c *Config) { c.Fidelity, c.PEOptions = "text", nil }}},
	"task":     {{"surrogate", func(*Config) {}}, {"nmar", func(*Config) {}}},
	"pe":       {{"lst", func(c *Config) { c.PE, c.PEOptions = "1d-fixed", nil }}},
	"members":  {{"lst", func(c *Config) { c.Members = c.Members[:1] }}},
	"layers":   {{"lst", func(c *Config) { c.Layers = 1 }}},
	"heads":    {{"lst", func(c *Config) { c.Heads = 2 }}},
	"window":   {{"lst", func(c *Config) { c.Window = "3" }}, {"lst", func(c *Config) { c.Window = "3*1,0" }}},
	"d_model":  {{"lst", func(c *Config) { c.DModel = 32 }}},
	"optimizer": {{"lst", func(c *Config) { c.Optimizer = "sgd" }},
		{"lst", func(c *Config) { c.Optimizer = "adamw" }}},
	"schedule":     {{"lst", func(c *Config) { c.Schedule = config.Cosine }}},
	"batch":        {{"lst", func(c *Config) { c.Batch = 16 }}, {"nmar", func(c *Config) { c.Batch = 16 }}},
	"epochs":       {{"lst", func(c *Config) { c.Epochs = 1 }}},
	"steps":        {{"nmar", func(c *Config) { c.Steps = 3 }}},
	"dtype":        {{"lst", func(c *Config) { c.DType = "float64" }}},
	"data_seed":    {{"lst", func(c *Config) { c.DataSeed = 7 }}, {"nmar", func(c *Config) { c.DataSeed = 7 }}},
	"pe_options":   {{"lst", func(c *Config) { c.PEOptions = map[string]string{"pe-placement": "input"} }}},
	"members.seed": {{"lst", func(c *Config) { c.Members[0].Seed = 6 }}},
	"members.sigma": {{"lst", func(c *Config) { c.Members[0].Sigma = new(0.5) }},
		{"nmar", func(c *Config) { c.Members[0].Sigma = new(0.5) }}},
	"members.lr": {{"lst", func(c *Config) { c.Members[0].LR = 2e-3 }},
		{"lst", func(c *Config) { c.Members[0].LR = 3e-3 }}},
	"members.pe_lr": {{"lst", func(c *Config) { c.Members[0].PELR = new(0.01) }},
		{"lst", func(c *Config) { c.Members[0].PELR = new(0.) }}},
	"warmup_steps": {{"lst", func(c *Config) { c.WarmupSteps = 3 }}, {"lst", func(c *Config) { c.WarmupSteps = 5 }}},
	"pe_init": {{"lst", func(c *Config) { c.PEInit = "uniform" }},
		{"lst", func(c *Config) { c.PEInit = "matched:2d-fixed" }}},
	"pe_init_scale": {{"lst", func(c *Config) { c.PEInit = "sinusoidal-1d" }},
		{"lst", func(c *Config) { c.PEInit, c.PEInitScale = "sinusoidal-1d", "sigma" }}},
	"pe_init_sparsity": {{"nmar", func(c *Config) { c.PEInit, c.PEInitSparsity = "gradients:2", new(0.5) }},
		{"nmar", func(c *Config) { c.PEInit, c.PEInitSparsity = "gradients:2", new(0.7) }}},
	"pe_warmup_steps": {{"lst", func(c *Config) { c.PEWarmupSteps = new(3) }},
		{"lst", func(c *Config) { c.PEWarmupSteps = new(6) }}},
	"pe_dropout": {{"lst", func(c *Config) { c.PEDropout = 0.2 }}, {"lst", func(c *Config) { c.PEDropout = 0.5 }}},
	"init_scale": {{"lst", func(c *Config) { c.InitScale = new(0.5) }},
		{"nmar", func(c *Config) { c.InitScale = new(0.5) }}},
	"embed_init_scale": {{"lst", func(c *Config) { c.EmbedInitScale = new(0.5) }},
		{"nmar", func(c *Config) { c.EmbedInitScale = new(0.5) }}},
	"ff_multiple": {{"lst", func(c *Config) { c.FFMultiple = 2 }}},
	"dropout": {{"lst", func(c *Config) { c.Dropout = 0 }}, {"lst", func(c *Config) { c.Dropout = 0.2 }},
		{"nmar", func(c *Config) { c.Dropout = 0 }}, {"nmar", func(c *Config) { c.Dropout = 0.2 }}},
	"token_input": {{"lst", func(c *Config) { c.TokenInput = "embedding" }}},
	"embedding_init": {{"lst", func(c *Config) { c.TokenInput = "embedding" }},
		{"lst", func(c *Config) { c.TokenInput, c.EmbeddingInit = "embedding", "normal" }}},
	"read_out": {{"lst", func(c *Config) { c.ReadOut = "probe" }}},
	"members.weight_decay": {{"lst", func(c *Config) { c.Members[0].WeightDecay = 0.1 }},
		{"lst", func(c *Config) { c.Members[0].WeightDecay = 0.2 }}},
	"members.pe_weight_decay": {{"lst", func(c *Config) { c.Members[1].PEWeightDecay = new(0.) }},
		{"lst", func(c *Config) { c.Members[1].PEWeightDecay = new(0.3) }}},
	"clip_norm": {{"lst", func(c *Config) { c.Optimizer, c.ClipNorm = "sgd", 0.1 }},
		{"lst", func(c *Config) { c.Optimizer, c.ClipNorm = "sgd", 0.2 }},
		{"nmar", func(c *Config) { c.Optimizer, c.ClipNorm = "sgd", 0.01 }},
		{"nmar", func(c *Config) { c.Optimizer, c.ClipNorm = "sgd", 0.02 }}},
	"limit_steps":    {{"lst", func(c *Config) { c.LimitSteps = 5 }}},
	"until":          {{"lst", func(c *Config) { c.Until = "train=0.01" }}},
	"eval_tokens":    {{"lst", func(c *Config) { c.PE, c.PEOptions, c.EvalTokens = "rope", nil, []int{25} }}},
	"rename_symbols": {{"lst", func(c *Config) { c.RenameSymbols = new(true) }}},

	"masked.mask_level": {{"nmar", func(c *Config) { c.Masked.Level = 0.25 }},
		{"nmar", func(c *Config) { c.Masked.Level = 0.75 }}},
	"masked.mask_draw":  {{"nmar", func(c *Config) { c.Masked.Draw = config.BernoulliMask }}},
	"masked.mask_token": {{"nmar", func(c *Config) { c.Masked.Token = "zero" }}},
	"masked.mask_sd": {{"nmar", func(c *Config) { c.Masked.TokenSD = 2 }},
		{"nmar", func(c *Config) { c.Masked.TokenSD = 3 }}},
	"masked.test_levels":  {{"nmar", func(c *Config) { c.Masked.TestLevels = []float64{0.3} }}},
	"masked.split":        {{"surrogate", func(c *Config) { c.Masked.Split = "time" }}},
	"masked.test_share":   {{"nmar", func(c *Config) { c.Masked.TestShare = 0.4 }}},
	"masked.test_frames":  {{"nmar", func(c *Config) { c.Masked.TestFrames = 21 }}},
	"masked.zscore":       {{"nmar", func(c *Config) { c.Masked.ZScore = !c.Masked.ZScore }}},
	"masked.pe_distance":  {{"nmar", func(c *Config) { c.Masked.Distance = "cosine" }}},
	"masked.nmar.nodes":   {{"nmar", func(c *Config) { c.Masked.NMAR.Nodes *= 2 }}},
	"masked.nmar.modules": {{"nmar", func(c *Config) { c.Masked.NMAR.Modules = 2 }}},
	"masked.nmar.frames":  {{"nmar", func(c *Config) { c.Masked.NMAR.Frames = 210 }}},
	"masked.nmar.scale":   {{"nmar", func(c *Config) { c.Masked.NMAR.Scale = 0.25 }}},
	"masked.surrogate":    {{"surrogate", func(c *Config) { c.Masked.Surrogate.Frames = 31 }}},

	"sequence.language":     {{"sequence", func(c *Config) { c.Sequence.Name = "odds-first" }}},
	"sequence.train_length": {{"sequence", func(c *Config) { c.Sequence.TrainLength = 5 }}},
	"sequence.test_length": {{"sequence", func(c *Config) { c.PE, c.Sequence.TestLength = "rope", 8 }},
		{"sequence", func(c *Config) { c.PE, c.Sequence.TestLength = "rope", 10 }}},
	"sequence.test_lengths": {{"sequence", func(c *Config) { c.PE, c.Sequence.TestLengths = "rope", 1 }},
		{"sequence", func(c *Config) { c.PE, c.Sequence.TestLengths = "rope", 3 }}},
	"sequence.test_sequences": {{"sequence", func(c *Config) { c.Sequence.Tests = 7 }}},
	"sequence.form":           {{"sequence", func(c *Config) { c.Sequence.Form = config.Decoder }}},
	"sequence.places":         {{"sequence", func(c *Config) { c.Sequence.Places = 6 }}},
}

// settingElsewhere says where settings are tested that this test cannot change.
var settingElsewhere = map[string]string{
	"lst_train": "TestRefusedResumeChangesNothing", "lst_validation": "the same", "lst_side": "sizes_test.go",
	"masked.nmar.order": "no flag: drawn from the data seed",
	"from.run":          "from_test.go", "from.take": "from_test.go", "from.sha256": "derived",
	"precision": "gpu_test.go", "no_graph": "gpu_test.go", "deterministic": "gpu_test.go",
	"attention":      "gpu_test.go",
	"positions.file": "positions_test.go", "positions.as": "positions_test.go", "positions.sha256": "derived",
	"header": "header_test.go of cmd/torchpe",
}

// outcome returns a digest of all numbers that a run ends with; an error names what was changed.
func outcome(t *testing.T, what string, c Config) [32]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), c, dir, Options{}); err != nil {
		t.Errorf("%s: %v", what, err)
		return [32]byte{}
	}
	f := readFinal(t, dir)
	var all bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(f.weights)) {
		all.Write(f.weights[name])
	}
	fmt.Fprint(&all, f.metrics)
	all.Write(f.probes)
	return sha256.Sum256(all.Bytes())
}

// Each setting that changes results reaches the computation: values that must differ give other
// numbers.
func TestEverySettingReachesTheComputation(t *testing.T) {
	base := map[string][32]byte{}
	for _, kind := range []string{"lst", "nmar", "surrogate", "sequence"} {
		base[kind] = outcome(t, kind, settingsTask(t, kind))
	}
	for _, s := range config.Settings() {
		if s.Effect != config.Results || settingElsewhere[s.Key] != "" || s.Tasks == config.FromSeries ||
			s.Tasks == config.FromData || s.Tasks == config.Texts {
			continue // those of files are in masked_source_test.go and sequence_test.go
		}
		t.Run(s.Key, func(t *testing.T) {
			t.Parallel()
			changes := settingChanges[s.Key]
			if changes == nil {
				t.Error("no test changes it")
			}
			seen := map[[32]byte]bool{base["lst"]: true, base["nmar"]: true, base["surrogate"]: s.Key != "task",
				base["sequence"]: true}
			if s.Key == "task" {
				seen = map[[32]byte]bool{base["lst"]: true}
			}
			for i, change := range changes {
				c := settingsTask(t, change.kind)
				change.set(&c)
				got := outcome(t, s.Key, c)
				if seen[got] {
					t.Errorf("change %d on task %s changes no number", i+1, change.kind)
				}
				seen[got] = true
			}
		})
	}
}

// flat returns the trained parameters, [member][parameter].
func flat(t *testing.T, e *ensemble) [][]float64 {
	t.Helper()
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	all := e.model.Params.Flat(s)
	values, per := all.Float64s(), all.Size(1)
	return slices.Collect(slices.Chunk(values, per))
}

// The numbers that are used are those that were set: masks drawn, the step of SGD, clipped norms,
// decay.
func TestSettingsAreUsedAsGiven(t *testing.T) {
	for _, level := range []float64{0.25, 0.5, 0.75} {
		c := settingsTask(t, "nmar")
		c.Masked.Level = level
		e := started(t, c)
		for _, a := range e.task.inputs(e, 0).arrays {
			if a.name != "masks" {
				continue
			}
			tokens, masked := a.shape[2], 0
			for _, m := range a.flags {
				if m {
					masked++
				}
			}
			expect.Equal(t, fmt.Sprint("tokens masked at level ", level), masked,
				int(math.Round(level*float64(tokens)))*len(a.flags)/tokens)
		}
	}
	// One step of SGD without decay from the same start: its length is lr times the gradient's norm.
	move := func(set func(c *Config)) (length, start []float64) {
		c := settingsTask(t, "lst")
		c.Optimizer, c.DType, c.Members[1].WeightDecay = "sgd", "float64", 0
		c.Members[0].LR, c.Members[1].LR = 1, 1
		set(&c)
		e := started(t, c)
		before := flat(t, e)
		expect.NoError(t, e.step(0, 1000))
		for m, after := range flat(t, e) {
			sum, norm := 0.0, 0.0
			for i, v := range after {
				sum += (v - before[m][i]) * (v - before[m][i])
				norm += before[m][i] * before[m][i]
			}
			length, start = append(length, math.Sqrt(sum)), append(start, math.Sqrt(norm))
		}
		return length, start
	}
	near := func(what string, got, want float64) {
		t.Helper()
		expect.Near(t, what, got, want, 1e-6*want)
	}
	free, _ := move(func(*Config) {})
	for m := range free {
		half, _ := move(func(c *Config) { c.Members[m].LR = 0.5 })
		near("half the learning rate", half[m], free[m]/2)
		near("of the other member", half[1-m], free[1-m])
		clipped, _ := move(func(c *Config) { c.ClipNorm = free[m] / 3 })
		near("clipped norm", clipped[m], free[m]/3)
	}
	warm, _ := move(func(c *Config) { c.WarmupSteps = 4 })
	near("the first of four steps of warm-up", warm[0], free[0]/4)
	// With a gradient clipped to nothing, only decay moves: by lr x decay x the parameters.
	decayed, start := move(func(c *Config) {
		c.Members[0].WeightDecay, c.Optimizer,
			c.Members[0].LR = 0.25, "adamw", 1e-3
	})
	plain, _ := move(func(c *Config) { c.Optimizer, c.Members[0].LR = "adamw", 1e-3 })
	if difference := decayed[0] - plain[0]; math.Abs(difference) > 1e-3*0.25*start[0] || difference == 0 {
		t.Errorf("decay changes a step by %v, parameters of norm %v", difference, start[0])
	}
}
