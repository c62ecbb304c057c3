package train

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"torchpe/data/masked"
	"torchpe/data/positions"
	"torchpe/internal/metrics"
	"torchpe/models/pe"
	"torchpe/train/config"
)

// newMaskedTask makes or reads data, splits them, and measures the baselines.
func newMaskedTask(c Config) (*maskedTask, error) {
	t := &maskedTask{config: *c.Masked, batch: c.Batch}
	t.train = masked.Masking{Level: c.Masked.Level, Exact: c.Masked.Draw == config.ExactMask}
	// Go would keep as much garbage of the readers as the table has numbers, and then for a while.
	before := debug.SetGCPercent(10)
	s, err := readSource(&t.config, c)
	debug.SetGCPercent(before)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	t.table, t.subjects, t.positionsGiven = s.table, s.subjects, c.Positions != nil
	if t.split, err = s.split(&t.config, c.DataSeed); err != nil {
		return nil, err
	}
	tokens := positions.Tokens{Count: t.table.Tokens, Names: t.table.Names}
	var about []string
	if t.positions, about, err = c.place(tokens, pe.Line(t.table.Tokens)); err != nil {
		return nil, err
	}
	s.notes = append(s.notes, about...)
	measured := evenlySpaced(t.split.Test, t.config.TestFrames)
	t.data = s.summary(t.split, len(measured))
	t.split.Test = measured
	if err := t.checkMasks(); err != nil {
		return nil, err
	}
	baselines, err := masked.Fit(t.table, t.split.Train, masked.DefaultRidge)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if t.data.ConnectivityModularity, err = connectivityModularity(baselines, t.table.Modules); err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	var start string
	if t.start, start, err = c.startCoordinates(t.positions, baselines); err != nil {
		return nil, err
	}
	if start != "" {
		t.data.Notes = append(t.data.Notes, start)
	}
	return t, t.prepareTests(c.DataSeed, baselines)
}

// connectivityModularity returns the modularity of the correlations between tokens over training frames,
// negative ones as 0; nil where no modules are known, a token is constant, or no two tokens correlate.
func connectivityModularity(b *masked.Baselines, modules []int) (*float64, error) {
	if modules == nil {
		return nil, nil
	}
	w, err := b.Correlation()
	if err != nil { // a constant token has no correlations
		return nil, nil //nolint:nilerr
	}
	for i, r := range w {
		w[i] = max(0, r)
	}
	score, err := metrics.ScoreNetwork(w, modules)
	if err != nil || math.IsNaN(score.Modularity) {
		return nil, err
	}
	return &score.Modularity, nil
}

// checkMasks returns an error where a level cannot be drawn for the number of tokens.
func (t *maskedTask) checkMasks() error {
	if err := t.train.Check(t.table.Tokens); err != nil {
		return fmt.Errorf("--mask-level: %w", err)
	}
	for _, level := range t.config.TestLevels {
		if err := (masked.Masking{Level: level, Exact: t.train.Exact}).Check(t.table.Tokens); err != nil {
			return fmt.Errorf("--test-levels: %w", err)
		}
	}
	return nil
}

// prepareTests draws the test masks and measures the baselines under them.
func (t *maskedTask) prepareTests(seed uint64, baselines *masked.Baselines) (err error) {
	for _, level := range t.config.TestLevels {
		set := testSet{level: level, masks: make([]bool, len(t.split.Test)*t.table.Tokens)}
		masking := masked.Masking{Level: level, Exact: t.train.Exact}
		masking.Draw(masked.Source{Seed: seed, Stream: masked.StreamTest}, t.table.Tokens, set.masks)
		if set.baselines, err = baselines.MSE(t.table, t.split.Test, set.masks); err != nil {
			return fmt.Errorf("baselines: %w", err)
		}
		t.tests = append(t.tests, set)
	}
	h := sha256.New()
	var encoded []byte
	for piece := range slices.Chunk(t.table.X, 1<<16) { // encoded at once it would need its memory again
		encoded, _ = binary.Append(encoded[:0], binary.LittleEndian, piece) // numbers never fail
		h.Write(encoded)
	}
	for _, part := range [][]int{t.split.Train, t.split.Test, t.table.Modules} {
		binary.Write(h, binary.LittleEndian, toInt64(part))
	}
	t.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

func toInt64(values []int) []int64 {
	wide := make([]int64, len(values))
	for i, v := range values {
		wide[i] = int64(v)
	}
	return wide
}

// evenlySpaced returns n of the frames; all of them for n = 0.
func evenlySpaced(frames []int, n int) []int {
	if n == 0 || n >= len(frames) {
		return frames
	}
	some := make([]int, n)
	for i := range some {
		some[i] = frames[i*len(frames)/n]
	}
	return some
}

// standardise scales each token of a series to mean 0 and SD 1 (divided by the number of frames).
func standardise(t masked.Table) error {
	for token := range t.Tokens {
		sum, squares := 0.0, 0.0
		for f := range t.Frames {
			sum += float64(t.X[f*t.Tokens+token])
		}
		mean := sum / float64(t.Frames)
		for f := range t.Frames {
			d := float64(t.X[f*t.Tokens+token]) - mean
			squares += d * d
		}
		sd := math.Sqrt(squares / float64(t.Frames))
		// Exactly 0 where all are equal: float64 sums up to 2^29 equal numbers of float32 exactly.
		if !(sd > 0) {
			return fmt.Errorf("token %d has SD %g over %d frames: leave it out, or turn --zscore off",
				token, sd, t.Frames)
		}
		for f := range t.Frames {
			x := &t.X[f*t.Tokens+token]
			*x = float32((float64(*x) - mean) / sd)
		}
	}
	return nil
}
