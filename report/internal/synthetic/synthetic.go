// Package synthetic writes finished run directories with made-up numbers, in a moment and without training, for the tests of what
// reads runs. The numbers have the shapes and ranges of real ones, and an effect of sigma of which the truth is known: see Accuracy.
package synthetic

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// Run is a run to be made up.
type Run struct {
	Name      string // its directory; made of the rest where empty
	Task      string // lst, nmar or fmri
	Fidelity  string // code where empty
	PE        string
	Sigma     float64 // of PE learn
	Seeds     []int
	Optimizer string // adam where empty
	Decay     float64
	LR        float64 // 1e-4 where 0
	Heads     int     // 1 where 0
	Placement string  // of PEs that are added; that of the fidelity where empty
	ReadOut   string
	MaskLevel float64 // of masked prediction; 0.5 where 0
	Records   int     // epochs, or hundreds of steps, each with a record; 12 where 0
}

// The sizes of the made-up models.
const (
	lstTokens = 16
	puzzles   = 24
	layers    = 4
	dim       = 32
)

// Accuracy is the mean validation accuracy that made-up models with a learned PE of a sigma have: it falls from about 1 to 0.25.
func Accuracy(sigma float64) float64 { return 0.25 + 0.72/(1+math.Exp(4*(sigma-1.4))) }

// added says whether an encoding is added to the tokens, and so has a table and a placement.
func added(pe string) bool {
	return pe == "learn" || pe == "1d-fixed" || pe == "2d-fixed" || pe == "random"
}

func (r *Run) fill() {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&r.Fidelity, "code")
	set(&r.Optimizer, "adam")
	if r.LR == 0 {
		r.LR = 1e-4
	}
	if r.Heads == 0 {
		r.Heads = 1
	}
	placement, readOut := "block", "last"
	if r.Fidelity == "text" {
		placement, readOut = "input", "probe"
	}
	set(&r.Placement, placement)
	if !added(r.PE) {
		r.Placement = ""
	}
	if r.Task == "lst" {
		set(&r.ReadOut, readOut)
	}
	if r.MaskLevel == 0 {
		r.MaskLevel = 0.5
	}
	if r.Records == 0 {
		r.Records = 12
	}
	set(&r.Name, fmt.Sprintf("%s-%s-%s-%s-wd%g-h%d-%s-%s-m%g", r.Task, r.Fidelity, runs.Label(r.PE, r.sigma()), r.Optimizer, r.Decay, r.Heads,
		r.Placement, r.ReadOut, r.MaskLevel))
}

func (r *Run) sigma() *float64 {
	if r.PE != "learn" {
		return nil
	}
	return &r.Sigma
}

// Write makes the runs up in folders of dir.
func Write(dir string, all ...Run) error {
	for _, r := range all {
		r.fill()
		if err := r.write(filepath.Join(dir, filepath.FromSlash(r.Name))); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) write(dir string) error {
	config, err := json.Marshal(r.config())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	run, err := runlog.Create(dir, config, runlog.Environment{Torchpe: "synthetic"}, runlog.Options{})
	if err != nil {
		return err
	}
	defer run.Close()
	h := fnv.New64a()
	h.Write([]byte(r.Name))
	m := maker{r, rand.New(rand.NewPCG(h.Sum64(), 1))}
	result := runlog.Result{WallSeconds: 60, StepsPerSecond: 20, PeakRSSMB: 300, Fidelity: r.Fidelity}
	courses := make([][]runlog.Record, len(r.Seeds))
	for i, seed := range r.Seeds {
		var member runlog.MemberResult
		member, courses[i] = m.member(i, seed)
		result.Members = append(result.Members, member)
	}
	for k := range r.Records {
		for _, course := range courses {
			if err := run.Append(course[k]); err != nil {
				return err
			}
		}
	}
	if r.Task != "lst" {
		result.Baselines = map[string]map[string]float64{
			"zero":     {"0.15": 1, "0.50": 1, "0.75": 1, "0.90": 1},
			"mean":     {"0.15": .96, "0.50": .96, "0.75": .965, "0.90": .98},
			"gaussian": {"0.15": .62, "0.50": .63, "0.75": .66, "0.90": .72},
		}
	}
	tensors, about, err := m.probes()
	if err != nil {
		return err
	}
	if err := run.SaveProbes(tensors, about); err != nil {
		return err
	}
	return run.SaveResult(result)
}

// config is the part of a config.json that analyses read.
func (r *Run) config() map[string]any {
	var members []map[string]any
	for _, seed := range r.Seeds {
		members = append(members, map[string]any{"seed": seed, "sigma": r.sigma(), "lr": r.LR, "weight_decay": r.Decay})
	}
	options := map[string]string{}
	if added(r.PE) {
		options["pe-placement"] = r.Placement
	}
	c := map[string]any{
		"task": r.Task, "fidelity": r.Fidelity, "pe": r.PE, "pe_options": options, "members": members, "layers": layers, "heads": r.Heads,
		"d_model": dim, "optimizer": r.Optimizer, "read_out": r.ReadOut, "batch": 128, "data_seed": 0, "lst_train": nil,
		"token_input": map[string]string{"code": "one-hot", "text": "embedding"}[r.Fidelity], "device": "cpu", "threads": 1, "log_every": 1,
	}
	if r.Task == "lst" {
		c["epochs"] = r.Records
		return c
	}
	c["steps"] = 100 * r.Records
	masked := map[string]any{"mask_level": r.MaskLevel, "test_levels": []float64{.15, .5, .75, .9}, "pe_distance": "euclidean"}
	if r.Task == "nmar" {
		masked["nmar"] = map[string]any{"nodes": 15, "modules": 3, "frames": 2000, "scale": 0}
	}
	c["masked"] = masked
	return c
}
