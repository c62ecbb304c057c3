package train_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"torchpe/train"
)

// A run from a preset: two seeds of a small model for an epoch.
func ExampleRun() {
	c, err := train.Preset("quick", "code")
	if err != nil {
		fmt.Println(err)
		return
	}
	sigma := 0.2
	c.PE, c.Layers, c.DModel, c.Epochs, c.Device, c.Threads = "learn", 1, 16, 1, "cpu", 1
	c.Members = []train.Member{{Seed: 1, Sigma: &sigma, LR: 3e-4}, {Seed: 2, Sigma: &sigma, LR: 3e-4}}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	result, err := train.Run(context.Background(), c, filepath.Join(dir, "run"), train.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range result.Members {
		fmt.Println("seed", m.Seed, m.Status, "after", m.Steps, "steps")
	}
	// Output:
	// seed 1 done after 64 steps
	// seed 2 done after 64 steps
}
