package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"torchpe/train/config"
)

// Packing says how many runs train together as one ensemble.
type Packing struct {
	Members int     // largest number per task; 0 = by the machine
	Machine Machine // used if Members is 0
}

// Limits of packing if no number of members was given.
const (
	// mostOnCPU is the largest ensemble on a CPU: more members save no time per member, and lose
	// more steps when they are stopped.
	mostOnCPU = 16
	mostOnGPU = 1024
	// tasksPerWorker is the number of tasks per worker that keeps all workers busy to the end of a
	// sweep on a CPU.
	tasksPerWorker = 4
	// usable is the share of the free memory that packing uses.
	usable = 0.7
)

// most returns the largest number of members of a task of a configuration; runs is the number of
// runs in all.
func (p Packing) most(text json.RawMessage, runs int) (int, error) {
	if p.Members > 0 {
		return p.Members, nil
	}
	c, err := readConfig(text)
	if err != nil {
		return 0, err
	}
	m := p.Machine
	if c.Until != "" && !m.GPU { // stopped members still take their share of a step
		return 1, nil
	}
	workers := max(1, m.Workers)
	most, share := mostOnCPU, runs/(tasksPerWorker*workers)
	if m.GPU {
		most, share = mostOnGPU, (runs+workers-1)/workers
	}
	if m.WorkerMB > 0 {
		most = min(most, int(usable*m.WorkerMB/sizeOf(c).MemberMB))
	}
	return max(1, min(most, share)), nil
}

// memberSize holds the estimated resources of one member of a configuration.
type memberSize struct {
	Parameters float64
	MemberMB   float64 // during training
	DiskMB     float64 // of its finished run
}

// sizeOf estimates the size of one member of a configuration.
func sizeOf(c config.Config) memberSize {
	tokens, _ := c.Tokens()
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
	// Gradients and the copy for the last checkpoint are in device memory, too.
	s.MemberMB = math.Max(0.01, bytes*((2*states+1)*s.Parameters+activations)/mb)
	s.DiskMB = (bytes*states*s.Parameters + 4*(float64(c.Facts().KeptExamples)*attention+layers*n*d)) / mb
	return s
}

// Machine describes the machine on which tasks run.
type Machine struct {
	Workers  int     // concurrent processes
	WorkerMB float64 // memory for each, on its GPU or the computer; 0 = unknown
	GPU      bool
}

// Hardware lists the processors and the memory of a computer.
type Hardware struct {
	CPUs     int
	MemoryMB float64   // free
	GPUsMB   []float64 // memory of each GPU: the free part if known, else all
}

// Machine returns the machine that trains configurations with this number of workers. 0 means one
// worker per GPU, or one per CPU if no configuration runs on a GPU. Workers share the memory of a
// GPU; the smallest GPU counts.
func (h Hardware) Machine(configs [][]byte, workers int) (Machine, error) {
	for _, text := range configs {
		c, err := readConfig(text)
		if err != nil {
			return Machine{}, err
		}
		if n := len(h.GPUsMB); n > 0 && c.Device != "cpu" {
			workers = cmp.Or(workers, n)
			perGPU := (workers + n - 1) / n
			return Machine{Workers: workers, WorkerMB: slices.Min(h.GPUsMB) / float64(perGPU), GPU: true}, nil
		}
	}
	workers = cmp.Or(workers, h.CPUs)
	return Machine{Workers: workers, WorkerMB: h.MemoryMB / float64(max(1, workers))}, nil
}

// readConfig reads a configuration of a plan, which may lack members.
func readConfig(text []byte) (c config.Config, err error) {
	if err = json.Unmarshal(text, &c); err != nil {
		err = fmt.Errorf("configuration: %w", err)
	}
	return c, err
}

// cudaDevices is the environment variable that lists the GPUs visible to a process.
const cudaDevices = "CUDA_VISIBLE_DEVICES"

// VisibleGPUs returns the names with which CUDA_VISIBLE_DEVICES selects each of n GPUs.
func VisibleGPUs(n int) []string {
	if text, given := os.LookupEnv(cudaDevices); given {
		if names := strings.Split(text, ","); len(names) >= n {
			return names[:n]
		}
	}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}
