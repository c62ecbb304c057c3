package config

import (
	"fmt"
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

// lengthOf returns a Store for a setting on which the default of --log-every depends.
func lengthOf[T any](at func(*Config) *T) func(*Config, T) error {
	return func(c *Config, v T) error {
		*at(c), c.LogEvery = v, 0
		return nil
	}
}

var (
	epochsOf = func(c *Config) *int { return &c.Epochs }
	stepsOf  = func(c *Config) *int { return &c.Steps }
	untilOf  = func(c *Config) *string { return &c.Until }
)

var optimizerSettings = []Setting{
	{
		Key: "optimizer", Flag: "optimizer", Chosen: true, Untimed: true, Help: "optimizer: adam, adamw, sgd",
		Value: Of[string]{
			At:      func(c *Config) *string { return &c.Optimizer },
			Default: "adam",
			OneOf:   []string{"adam", "adamw", "sgd"},
		},
	},
	{
		Key: "members.lr", Flag: "lr", Usual: true, Help: "learning rate" + EachMember,
		Member: &OfMember{
			At: func(m *Member) *float64 { return &m.LR }, Set: func(m *Member, v float64) { m.LR = v },
			Default: 1e-4,
			By:      map[string]float64{"quick": 3e-4, "sequence": 3e-4, "sequence-quick": 1e-3, ofText: 1e-3},
			Check: func(v float64) string {
				if !(v > 0 && v <= 1e6) {
					return fmt.Sprintf("%g is not in (0, 1e6]", v)
				}
				return ""
			},
		},
	},
	{
		Key: "members.weight_decay", Flag: "weight-decay", Help: "weight decay" + EachMember,
		Member: &OfMember{
			At:    func(m *Member) *float64 { return &m.WeightDecay },
			Set:   func(m *Member, v float64) { m.WeightDecay = v },
			Check: upToMillion,
		},
	},
	{
		Key: "schedule", Flag: "schedule", Untimed: true,
		Help: "learning rate over the steps: constant, linear, cosine (both to 0)",
		Value: Of[string]{
			At:      func(c *Config) *string { return &c.Schedule },
			Default: Constant,
			OneOf:   []string{Constant, Linear, Cosine},
		},
	},
	{
		Key: "warmup_steps", Flag: "warmup-steps", Untimed: true,
		Help:  "steps in which the learning rate rises to its value",
		Value: Of[int]{At: func(c *Config) *int { return &c.WarmupSteps }, Check: atLeast(0)},
	},
	{
		Key: "clip_norm", Flag: "clip-norm", Untimed: true,
		Help: "scale each member's gradient down to this norm; 0 = off",
		Value: Of[float64]{
			At:    func(c *Config) *float64 { return &c.ClipNorm },
			By:    map[string]float64{"sequence": 1, "sequence-quick": 1, ofText: 1},
			Check: in[float64](0, math.MaxFloat64),
		},
	},
	{
		Key: "batch", Flag: "batch", Help: "examples a step",
		Value: Of[int]{At: func(c *Config) *int { return &c.Batch }, Default: 128,
			By: map[string]int{"sequence-quick": 32, ofText: 32}, Check: in[int](1, 1<<24)},
	},
	{
		Key: "epochs", Flag: "epochs", Usual: true, Chosen: true, Tasks: Puzzles, Untimed: true,
		Help: "passes over the training set",
		Value: Of[int]{
			At: epochsOf, Default: 4000, By: map[string]int{"quick": 20},
			Check: in[int](1, maxEpochs), Store: lengthOf(epochsOf),
		},
		Instead: ", whose length is --steps",
	},
	{
		Key: "steps", Flag: "steps", Usual: true, Chosen: true, Tasks: Stepped, Untimed: true, Help: "training steps",
		Value: Of[int]{
			At: stepsOf, Default: 50_000,
			By:    map[string]int{"sequence": 2_000_000, "sequence-quick": 10_000, ofText: 5000},
			Check: in[int](1, maxEpochs), Store: lengthOf(stepsOf),
		},
		Instead: ", whose length is --epochs; --limit-steps ends a run early",
	},
	{
		Key: "limit_steps", Flag: "limit-steps", Chosen: true, Untimed: true,
		Help:  "stop after so many steps; 0 = not before the end",
		Value: Of[int]{At: func(c *Config) *int { return &c.LimitSteps }, Check: atLeast(0)},
	},
	{
		Key: "until", Flag: "until", Chosen: true,
		Help: "stop a member at the first record that reaches NUMBER=BOUND, such as train=0.99 or " +
			"loss=0.01; --epochs or --steps is then the most",
		Value: Of[string]{
			At: untilOf, Store: lengthOf(untilOf),
			Check: func(v string) string {
				if v == "" {
					return ""
				}
				if _, err := runlog.ParseCriterion(v); err != nil {
					return err.Error()
				}
				return ""
			},
		},
	},
}
