package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"torchpe/train/config"
)

// Machine describes where tasks run.
type Machine struct {
	Workers  int     // processes at a time
	WorkerMB float64 // memory of each, of its GPU or of the computer; 0 = not known
	GPU      bool
}

// Hardware lists the processors and the memory of a computer.
type Hardware struct {
	CPUs     int
	MemoryMB float64   // free
	GPUsMB   []float64 // memory of each GPU: the free part where that is known, or all of it
}

// Machine returns the machine that trains configurations with a number of workers; with 0 there is
// one a GPU, or one a CPU where no configuration runs on a GPU. Workers share the memory of a GPU,
// which counts as the smallest one.
func (h Hardware) Machine(configs [][]byte, workers int) (Machine, error) {
	for _, text := range configs {
		c, err := readConfig(text)
		if err != nil {
			return Machine{}, err
		}
		if n := len(h.GPUsMB); n > 0 && c.Device != "cpu" {
			if workers == 0 {
				workers = n
			}
			perGPU := (workers + n - 1) / n
			return Machine{Workers: workers, WorkerMB: slices.Min(h.GPUsMB) / float64(perGPU), GPU: true}, nil
		}
	}
	if workers == 0 {
		workers = h.CPUs
	}
	return Machine{Workers: workers, WorkerMB: h.MemoryMB / float64(max(1, workers))}, nil
}

// readConfig reads a configuration of a plan, which may have no members.
func readConfig(text []byte) (c config.Config, err error) {
	if err = json.Unmarshal(text, &c); err != nil {
		err = fmt.Errorf("configuration: %w", err)
	}
	return c, err
}

// cudaDevices is the environment variable that lists the GPUs that a process sees.
const cudaDevices = "CUDA_VISIBLE_DEVICES"

// VisibleGPUs returns the names by which CUDA_VISIBLE_DEVICES chooses each of n GPUs.
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
