// Package synthetic writes finished run directories with made-up numbers, in a moment and without
// training. Only tests of packages that read runs import it. The numbers have the shapes and ranges of
// real ones, and a known effect of sigma: see accuracy.
package synthetic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/train/runlog"
)

// Run describes a made-up run.
type Run struct {
	Name      string // its directory; derived from the rest if empty
	Task      string // lst, nmar, fmri, or masked: a file of one's own with named tokens
	Fidelity  string // code if empty
	PE        string
	Sigma     float64 // of PE learn
	Seeds     []int
	Optimizer string // adam if empty
	Decay     float64
	LR        float64 // 1e-4 if 0
	Heads     int     // 1 if 0
	Placement string  // of PEs that are added; that of the fidelity if empty
	ReadOut   string
	MaskLevel float64 // of masked prediction; 0.5 if 0
	Records   int     // epochs, or hundreds of steps, each with a record; 12 if 0

	Until    string  // the criterion at which the run stops; none if empty
	PELR     float64 // the PE's own learning rate; none if 0
	DataSeed int
	Distance string   // between encodings, of masked prediction; euclidean if empty
	Modules  []int    // of the tokens of masked prediction; one after the other if nil, none if empty
	Subjects []string // held out, for task masked: subject i has the error 0.1 (i+1) in all members

	Amplitudes []float32 // of the noise in tests on puzzles; four if nil

	Data string // SHA-256 of the data in the checkpoint; no checkpoint if empty
	// Checkpoint is the configuration in the checkpoint; none if empty.
	Checkpoint string
	Changed    []string // in environment.json: what changed during training

	Places string // token_points of task masked; none if empty
	Order  string // its token_order; none if empty

	// Edit changes the made-up member before it is written; nil changes nothing.
	Edit func(*Member)
}

// Member holds the made-up numbers of one member of a run. A test that sets one knows what a report must say.
type Member struct {
	Index, Seed int
	Result      *runlog.MemberResult
	Records     []runlog.Record // of metrics.jsonl
	Tables      [][]float32     // [blocks][tokens*dim]; none if the encoding has none
	Attention   [][]float32     // [layers][examples*heads*tokens*tokens]
	Noise       []float32       // accuracy on puzzles [amplitudes*repeats]
}

// The sizes of the made-up models.
const (
	lstTokens = 16
	puzzles   = 24
	layers    = 4
	dim       = 32

	noiseRepeats = 3
)

// accuracy returns the mean validation accuracy of made-up models with a learned PE of a sigma: it falls from
// about 1 to 0.25.
func accuracy(sigma float64) float64 { return 0.25 + 0.72/(1+math.Exp(4*(sigma-1.4))) }

// added reports whether an encoding is added to the tokens, and so has a table and a placement.
func added(pe string) bool {
	return pe == "learn" || pe == "1d-fixed" || pe == "2d-fixed" || pe == "random"
}

func (r *Run) fill() {
	placement, readOut := "block", "last"
	if r.Fidelity = cmp.Or(r.Fidelity, "code"); r.Fidelity == "text" {
		placement, readOut = "input", "probe"
	}
	if r.Placement = cmp.Or(r.Placement, placement); !added(r.PE) {
		r.Placement = ""
	}
	if r.Task == "lst" {
		r.ReadOut = cmp.Or(r.ReadOut, readOut)
	}
	if r.Amplitudes == nil {
		r.Amplitudes = []float32{.0625, .25, .5, 1}
	}
	r.Optimizer, r.LR, r.Heads = cmp.Or(r.Optimizer, "adam"), cmp.Or(r.LR, 1e-4), cmp.Or(r.Heads, 1)
	r.MaskLevel, r.Records = cmp.Or(r.MaskLevel, 0.5), cmp.Or(r.Records, 12)
	r.Distance = cmp.Or(r.Distance, "euclidean")
	r.Name = cmp.Or(r.Name, fmt.Sprintf("%s-%s-%s-%s-wd%g-h%d-%s-%s-m%g", r.Task, r.Fidelity,
		cohort.Label(r.PE, r.sigma()), r.Optimizer, r.Decay, r.Heads, r.Placement, r.ReadOut, r.MaskLevel))
}

func (r *Run) sigma() *float64 {
	if r.PE != "learn" {
		return nil
	}
	return &r.Sigma
}

// Dir makes up the runs in a new directory of the test.
func Dir(t testing.TB, all ...Run) string {
	dir := t.TempDir()
	Write(t, dir, all...)
	return dir
}

// Write makes up the runs in folders of dir.
func Write(t testing.TB, dir string, all ...Run) {
	t.Helper()
	for _, r := range all {
		r.fill()
		r.write(t, filepath.Join(dir, filepath.FromSlash(r.Name)))
	}
}

func (r *Run) write(t testing.TB, dir string) {
	t.Helper()
	expect.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	run := expect.Must(runlog.Create(dir, expect.Must(json.Marshal(r.config())),
		runlog.Environment{Torchpe: "synthetic", Changed: r.Changed}, runlog.Options{}))
	defer run.Close()
	h := fnv.New64a()
	h.Write([]byte(r.Name))
	m := maker{r, rand.New(rand.NewPCG(h.Sum64(), 1))}
	result := runlog.Result{WallSeconds: 60, StepsPerSecond: 20, PeakRSSMB: 300, Fidelity: r.Fidelity}
	members := make([]Member, len(r.Seeds))
	for i, seed := range r.Seeds {
		final, course := m.member(i, seed)
		members[i] = Member{Index: i, Seed: seed, Result: &final, Records: course}
	}
	probes := m.probes()
	for i := range members {
		for _, p := range probes {
			p.showTo(&members[i], len(members))
		}
		if r.Edit != nil {
			r.Edit(&members[i])
		}
		result.Members = append(result.Members, *members[i].Result)
	}
	for k := range r.Records { // as training does: records of all members at a step, then the next
		for _, m := range members {
			if k < len(m.Records) {
				expect.NoError(t, run.Append(m.Records[k]))
			}
		}
	}
	if r.Data != "" {
		metadata := map[string]string{runlog.DataKey: r.Data}
		if r.Checkpoint != "" {
			metadata[runlog.ConfigKey] = r.Checkpoint
		}
		expect.NoError(t, run.SaveCheckpoint(1, nil, metadata))
	}
	if r.Task != "lst" {
		result.Baselines = map[string]runlog.Numbers{
			"zero":     {"0.15": 1, "0.50": 1, "0.75": 1, "0.90": 1},
			"mean":     {"0.15": .96, "0.50": .96, "0.75": .965, "0.90": .98},
			"gaussian": {"0.15": .62, "0.50": .63, "0.75": .66, "0.90": .72},
		}
	}
	if r.Task == "masked" {
		n, modules := m.nodes()
		q := float64(ConnectivityModularity)
		result.Data = &runlog.DataSummary{Frames: 900, Tokens: n, Runs: 3, Subjects: 3,
			TrainFrames: 600, TestFrames: 300, MeasuredFrames: 300, Split: "made up", TestSubjects: r.Subjects,
			Modules: modules, ModulesFrom: "by name", ConnectivityModularity: &q}
	}
	expect.NoError(t, run.SaveProbes(m.tensors(probes)))
	expect.NoError(t, run.SaveResult(result))
}

// config returns the part of config.json that analyses read.
func (r *Run) config() map[string]any {
	var members []map[string]any
	for _, seed := range r.Seeds {
		m := map[string]any{"seed": seed, "sigma": r.sigma(), "lr": r.LR, "weight_decay": r.Decay}
		if r.PELR != 0 {
			m["pe_lr"] = r.PELR
		}
		members = append(members, m)
	}
	options := map[string]string{}
	if added(r.PE) {
		options["pe-placement"] = r.Placement
	}
	c := map[string]any{
		"task": r.Task, "fidelity": r.Fidelity, "pe": r.PE, "pe_options": options,
		"members": members, "layers": layers, "heads": r.Heads,
		"d_model": dim, "optimizer": r.Optimizer, "read_out": r.ReadOut, "batch": 128,
		"data_seed": r.DataSeed, "lst_train": nil,
		"token_input": map[string]string{"code": "one-hot",
			"text": "embedding"}[r.Fidelity], "device": "cpu", "threads": 1, "log_every": 1,
	}
	if r.Until != "" {
		c["until"] = r.Until
	}
	if r.Task == "lst" {
		c["epochs"], c["noise"], c["noise_repeats"] = r.Records, r.Amplitudes, noiseRepeats
		return c
	}
	c["steps"] = 100 * r.Records
	masked := map[string]any{"mask_level": r.MaskLevel, "test_levels": []float64{.15, .5, .75, .9},
		"pe_distance": r.Distance}
	if r.Task == "nmar" {
		masked["nmar"] = map[string]any{"nodes": 15, "modules": 3, "frames": 2000, "scale": 0, "order": "drawn"}
	}
	if r.Task == "masked" {
		masked["files"] = map[string]any{"data": []string{"own.csv"}, "sha256": "00"}
		if r.Places+r.Order != "" {
			c["positions"] = map[string]any{"file": "where.csv", "sha256": "00"}
		}
	}
	c["masked"] = masked
	return c
}
