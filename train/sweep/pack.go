package sweep

import (
	"encoding/json"
	"fmt"
	"math"
)

// Packing says how many configurations train together as one ensemble.
type Packing struct {
	Members int     // a task at most; 0 = by the machine
	Machine Machine // where Members is 0
}

// Machine is what tasks run on.
type Machine struct {
	Workers  int     // processes at a time
	MemoryMB float64 // of all workers together on a CPU, of each GPU on GPUs; 0 = not known
	GPU      bool
	PerGPU   int // workers that share a GPU; 0 means 1
}

// Limits of what is packed by itself.
const (
	// mostOnCPU is where an ensemble on a CPU stops to gain: its members already share the work that is not theirs, and a larger one
	// loses more when it is stopped.
	mostOnCPU = 16
	mostOnGPU = 1024
	// tasksPerWorker keeps all workers busy to the end of a sweep on a CPU.
	tasksPerWorker = 4
	// usable is the share of the memory that is planned with.
	usable = 0.7
)

// most returns how many members a task of a configuration has at most, of a number of runs in all.
func (p Packing) most(config json.RawMessage, runs int) (int, error) {
	if p.Members > 0 {
		return p.Members, nil
	}
	m := p.Machine
	workers := max(1, m.Workers)
	most, each := mostOnCPU, m.MemoryMB/float64(workers)
	share := runs / (tasksPerWorker * workers)
	if m.GPU {
		most, each, share = mostOnGPU, m.MemoryMB/float64(max(1, m.PerGPU)), (runs+workers-1)/workers
	}
	if m.MemoryMB > 0 {
		size, err := SizeOf(config)
		if err != nil {
			return 0, err
		}
		most = min(most, int(usable*each/size.MemberMB))
	}
	return max(1, min(most, share)), nil
}

// Size is what one member of a configuration takes, roughly.
type Size struct {
	Parameters float64
	MemberMB   float64 // in training
	DiskMB     float64 // of its finished run
}

// SizeOf estimates the size of a member from a configuration.
func SizeOf(config json.RawMessage) (Size, error) {
	var c struct {
		Task       string  `json:"task"`
		Layers     float64 `json:"layers"`
		Heads      float64 `json:"heads"`
		DModel     float64 `json:"d_model"`
		FFMultiple float64 `json:"ff_multiple"`
		Batch      float64 `json:"batch"`
		DType      string  `json:"dtype"`
		Optimizer  string  `json:"optimizer"`
		LSTSide    float64 `json:"lst_side"`
		Masked     *struct {
			NMAR *struct {
				Nodes float64 `json:"nodes"`
			} `json:"nmar"`
			Files *struct {
				Tokens float64 `json:"tokens"`
			} `json:"files"`
		} `json:"masked"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return Size{}, fmt.Errorf("configuration: %w", err)
	}
	tokens, examples := 16.0, 108.0 // Latin squares, and the puzzles whose attention is kept
	if c.LSTSide > 0 {
		tokens = c.LSTSide * c.LSTSide
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
	d := c.DModel
	s := Size{Parameters: c.Layers * (d*d*(4+2*c.FFMultiple) + d*(10+tokens))}
	attention := c.Layers * c.Heads * tokens * tokens
	activations := c.Batch * (c.Layers*tokens*d*(12+4*c.FFMultiple) + 2*attention)
	const mb = 1 << 20
	s.MemberMB = math.Max(0.01, bytes*((2*states+1)*s.Parameters+activations)/mb) // gradients, and the last checkpoint's copy
	s.DiskMB = (bytes*states*s.Parameters + 4*(examples*attention+c.Layers*tokens*d)) / mb
	return s, nil
}

// DiskMB estimates what the finished runs of the tasks take that counts names.
func (p *Plan) DiskMB(counts func(task int) bool) (sum float64, err error) {
	sizes := make([]Size, len(p.Configurations))
	for i, c := range p.Configurations {
		if sizes[i], err = SizeOf(c); err != nil {
			return 0, err
		}
	}
	for i, t := range p.Tasks {
		if counts(i) {
			sum += sizes[t.Configuration].DiskMB * float64(len(t.Runs))
		}
	}
	return sum, nil
}
