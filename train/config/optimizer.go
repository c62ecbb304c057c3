package config

import (
	"math"

	"torchpe/train/runlog"
)

// OptimizerConfig says how, and how long, a model is trained.
type OptimizerConfig struct {
	Optimizer   string  `json:"optimizer"`
	Schedule    string  `json:"schedule"`
	WarmupSteps int     `json:"warmup_steps"`
	ClipNorm    float64 `json:"clip_norm"` // 0 = off
	Batch       int     `json:"batch"`
	Epochs      int     `json:"epochs"`          // of task lst; 0 elsewhere
	Steps       int     `json:"steps,omitempty"` // of other tasks; 0 of lst
	LimitSteps  int     `json:"limit_steps"`     // stop after so many steps; 0 = not before the end
	Until       string  `json:"until,omitempty"` // a runlog.Criterion that stops a member; "" = none
}

// Schedules of the learning rate over all steps, after warm-up.
const (
	Constant = "constant"
	Linear   = "linear" // to zero
	Cosine   = "cosine" // to zero, half a period
)

const maxEpochs = 100_000_000

// resetLogEvery makes the default of --log-every follow the length of training.
func resetLogEvery(c *Config) { c.LogEvery = 0 }

var optimizerSettings = []Setting{
	{
		Key: "optimizer", Flag: "optimizer", Factor: true, SameStepTime: true, Help: "optimizer: adam, adamw, sgd",
		Value: Field[string]{Default: "adam", OneOf: []string{"adam", "adamw", "sgd"}},
	},
	{
		Key: "members.lr", Flag: "lr", Common: true, Help: "learning rate" + EachMember,
		Member: &MemberField{
			Default:    1e-4,
			DefaultFor: map[string]float64{"quick": 3e-4, "sequence": 3e-4, "sequence-quick": 1e-3, ofText: 1e-3},
			Check:      positive,
		},
	},
	{
		Key: "members.weight_decay", Flag: "weight-decay", Help: "weight decay" + EachMember,
		Member: &MemberField{Check: in[float64](0, 1e6)},
	},
	{
		Key: "schedule", Flag: "schedule", SameStepTime: true,
		Help:  "learning rate over the steps: constant, linear, cosine (both to 0)",
		Value: Field[string]{Default: Constant, OneOf: []string{Constant, Linear, Cosine}},
	},
	{
		Key: "warmup_steps", Flag: "warmup-steps", SameStepTime: true,
		Help:  "steps in which the learning rate rises to its value",
		Value: Field[int]{Check: atLeast(0)},
	},
	{
		Key: "clip_norm", Flag: "clip-norm", SameStepTime: true,
		Help: "scale each member's gradient down to this norm; 0 = off",
		Value: Field[float64]{
			DefaultFor: map[string]float64{"sequence": 1, "sequence-quick": 1, ofText: 1},
			Check:      in[float64](0, math.MaxFloat64),
		},
	},
	{
		Key: "batch", Flag: "batch", Help: "examples a step",
		Value: Field[int]{Default: 128,
			DefaultFor: map[string]int{"sequence-quick": 32, ofText: 32}, Check: in[int](1, 1<<24)},
	},
	{
		Key: "epochs", Flag: "epochs", Common: true, Factor: true, Tasks: Puzzles, SameStepTime: true,
		Help: "passes over the training set",
		Value: Field[int]{
			Default: 4000, DefaultFor: map[string]int{"quick": 20},
			Check: in[int](1, maxEpochs), Stored: resetLogEvery,
		},
		Instead: ", whose length is --steps",
	},
	{
		Key: "steps", Flag: "steps", Common: true, Factor: true, Tasks: AllButPuzzles, SameStepTime: true,
		Help: "training steps",
		Value: Field[int]{
			Default:    50_000,
			DefaultFor: map[string]int{"sequence": 2_000_000, "sequence-quick": 10_000, ofText: 5000},
			Check:      in[int](1, maxEpochs), Stored: resetLogEvery,
		},
		Instead: ", whose length is --epochs; --limit-steps ends a run early",
	},
	{
		Key: "limit_steps", Flag: "limit-steps", Factor: true, SameStepTime: true,
		Help:  "stop after so many steps; 0 = not before the end",
		Value: Field[int]{Check: atLeast(0)},
	},
	{
		Key: "until", Flag: "until", Factor: true,
		Help: "stop a member at the first record that reaches NUMBER=BOUND, such as train=0.99 or " +
			"loss=0.01; --epochs or --steps is then the most",
		Value: Field[string]{
			Stored: resetLogEvery,
			Check: func(v string) error {
				if v == "" {
					return nil
				}
				_, err := runlog.ParseCriterion(v)
				return err
			},
		},
	},
}
