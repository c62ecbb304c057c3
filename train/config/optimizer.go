package config

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/train/runlog"
)

// OptimizerConfig says how and how long a model is trained.
type OptimizerConfig struct {
	Optimizer   string  `json:"optimizer"`
	Schedule    string  `json:"schedule"`
	WarmupSteps int     `json:"warmup_steps"`
	ClipNorm    float64 `json:"clip_norm"` // 0 = off
	Batch       int     `json:"batch"`
	Epochs      int     `json:"epochs"`          // of task lst; 0 for others
	Steps       int     `json:"steps,omitempty"` // of other tasks; 0 for lst
	LimitSteps  int     `json:"limit_steps"`     // stop after this many steps; 0 = at the end
	Until       string  `json:"until,omitempty"` // a runlog.Criterion that stops a member; "" = none
}

// Schedules of the learning rate over all steps, after warm-up.
const (
	Constant = "constant"
	Linear   = "linear" // to zero
	Cosine   = "cosine" // to zero, half a period
)

// optimizerSettings come before those of the optimizer's settings that may differ between members.
var optimizerSettings = []Setting{
	{
		Key: "optimizer", Flag: "optimizer", Factor: true, SameStepTime: true,
		Help: "optimizer: adam, adamw, sgd", Default: "adam", OneOf: []string{"adam", "adamw", "sgd"},
	},
}

var trainingSettings = []Setting{
	{
		Key: "schedule", Flag: "schedule", SameStepTime: true,
		Help:    "learning rate over the steps: constant, linear, cosine (both to 0)",
		Default: Constant, OneOf: []string{Constant, Linear, Cosine},
	},
	{
		Key: "warmup_steps", Flag: "warmup-steps", SameStepTime: true, Range: "[0, inf)",
		Help: "steps in which the learning rate rises to its value",
	},
	{
		Key: "clip_norm", Flag: "clip-norm", SameStepTime: true, Range: "[0, inf)",
		Help: "scale each member's gradient down to this norm; 0 = off",
	},
	{
		Key: "batch", Flag: "batch", Help: "examples per step", Range: "[1, 16777216]",
		Default: 128,
	},
	{
		Key: "epochs", Flag: "epochs", Common: true, Factor: true, Tasks: Puzzles, Cleared: true, SameStepTime: true,
		Help: "passes over the training set", Range: "[1, 1e8]", Resets: "log_every",
		Default: 4000, Instead: ", whose length is --steps",
	},
	{
		Key: "steps", Flag: "steps", Common: true, Factor: true, Tasks: stepped, Cleared: true, SameStepTime: true,
		Help: "training steps", Range: "[1, 1e8]", Resets: "log_every", Default: 50_000,
		Instead: ", whose length is --epochs; --limit-steps ends a run early",
	},
	{
		Key: "limit_steps", Flag: "limit-steps", Factor: true, SameStepTime: true, Range: "[0, inf)",
		Help: "end the run after this many steps, with the schedule of all --epochs or --steps; 0 = at " +
			"their end",
	},
	{
		Key: "until", Flag: "until", Common: true, Factor: true, Resets: "log_every",
		Help: "stop a member at the first record that reaches NUMBER=BOUND, such as train=0.99 or " +
			"loss=0.01; --epochs or --steps is then the upper limit",
		Complete: func(c *Config) error {
			if criterion, err := runlog.ParseCriterion(c.Until); err == nil {
				c.Until = criterion.String() // test_mse/0.50=0.1 for test_mse/.5=1e-1
			}
			return nil // Check says what is wrong
		},
		Check: func(c *Config) error {
			if c.Until == "" {
				return nil
			}
			criterion, err := runlog.ParseCriterion(c.Until)
			if err != nil {
				return err
			}
			if err := criterion.Check(c.Facts().Measures); err != nil {
				return err
			}
			share, isError := strings.CutPrefix(criterion.Key, "test_mse/")
			if isError && !slices.Contains(c.Masked.ByMasked(), share) {
				return fmt.Errorf("%s is not measured: add %s to --test-levels, or stop at one of %s",
					criterion.Key, share, strings.Join(c.Masked.ByMasked(), ", "))
			}
			return nil
		},
	},
}
