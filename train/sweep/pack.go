package sweep

import (
	"encoding/json"
	"fmt"
	"math"

	"torchpe/train/config"
)

// Packing says how many configurations train together as one ensemble.
type Packing struct {
	Members int     // a task at most; 0 = by the machine
	Machine Machine // where Members is 0
}

// Limits of packing where no number of members was asked for.
const (
	// mostOnCPU bounds an ensemble on a CPU: more members take no less time each, and lose more
	// steps when they are stopped.
	mostOnCPU = 16
	mostOnGPU = 1024
	// tasksPerWorker keeps all workers busy to the end of a sweep on a CPU.
	tasksPerWorker = 4
	// usable is the share of the free memory that packing counts on.
	usable = 0.7
)

// most returns how many members a task of a configuration has at most, of a number of runs in all.
func (p Packing) most(text json.RawMessage, runs int) (int, error) {
	if p.Members > 0 {
		return p.Members, nil
	}
	m := p.Machine
	var c config.Config
	if err := json.Unmarshal(text, &c); err != nil {
		return 0, fmt.Errorf("configuration: %w", err)
	}
	if c.Until != "" && !m.GPU { // members that have stopped still take their share of a step
		return 1, nil
	}
	workers := max(1, m.Workers)
	most, each := mostOnCPU, m.MemoryMB/float64(workers)
	share := runs / (tasksPerWorker * workers)
	if m.GPU {
		most, each, share = mostOnGPU, m.MemoryMB/float64(max(1, m.PerGPU)), (runs+workers-1)/workers
	}
	if m.MemoryMB > 0 {
		size, err := sizeOf(text)
		if err != nil {
			return 0, err
		}
		most = min(most, int(usable*each/size.MemberMB))
	}
	return max(1, min(most, share)), nil
}

// memberSize holds the estimated resources of one member of a configuration.
type memberSize struct {
	Parameters float64
	MemberMB   float64 // in training
	DiskMB     float64 // of its finished run
}

// sizeOf estimates the size of a member from a configuration.
func sizeOf(text json.RawMessage) (memberSize, error) {
	var c config.Config
	if err := json.Unmarshal(text, &c); err != nil {
		return memberSize{}, fmt.Errorf("configuration: %w", err)
	}
	side := c.Side()
	tokens, examples := side*side, 108 // of Latin squares, and the puzzles whose attention is kept
	if c.Sequence != nil {
		tokens, examples = 2*c.Sequence.TrainLength, 1 // an output may be as long as the input, or twice
	}
	if c.Masked != nil {
		tokens, examples = 360, 1 // of human fMRI; a mean over frames is kept
		if c.Masked.NMAR != nil {
			tokens = c.Masked.NMAR.Nodes
		} else if c.Masked.Files != nil && c.Masked.Files.Tokens > 0 {
			tokens = c.Masked.Files.Tokens
		}
	}
	bytes := 4.0
	if c.DType == "float64" {
		bytes = 8
	}
	states := 3.0 // weights and two moments
	if c.Optimizer == "sgd" {
		states = 1
	}
	n, d, layers, ff := float64(tokens), float64(c.DModel), float64(c.Layers), float64(c.FFMultiple)
	s := memberSize{Parameters: layers * (d*d*(4+2*ff) + d*(10+n))}
	attention := layers * float64(c.Heads) * n * n
	activations := float64(c.Batch) * (layers*n*d*(12+4*ff) + 2*attention)
	const mb = 1 << 20
	// Gradients and the last checkpoint's copy are in device memory, too.
	s.MemberMB = math.Max(0.01, bytes*((2*states+1)*s.Parameters+activations)/mb)
	s.DiskMB = (bytes*states*s.Parameters + 4*(float64(examples)*attention+layers*n*d)) / mb
	return s, nil
}
