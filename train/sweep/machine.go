package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"torchpe/train/config"
)

// Machine describes where tasks run.
type Machine struct {
	Workers  int     // processes at a time
	MemoryMB float64 // of all workers together on a CPU, of each GPU on GPUs; 0 = not known
	GPU      bool
	PerGPU   int // workers that share a GPU; 0 means 1
}

// Hardware lists the processors and the memory of a computer.
type Hardware struct {
	CPUs     int
	MemoryMB float64   // free
	GPUsMB   []float64 // memory of each GPU: the free part where that is known, or all of it
}

// Machine returns the machine that trains configurations with a number of workers; with 0 there is
// one a GPU, or one a CPU where no configuration runs on a GPU.
func (h Hardware) Machine(configs [][]byte, workers int) (Machine, error) {
	if len(h.GPUsMB) > 0 {
		for _, text := range configs {
			var c config.Config
			if err := json.Unmarshal(text, &c); err != nil {
				return Machine{}, fmt.Errorf("configuration: %w", err)
			}
			if c.Device != "cpu" {
				return h.onGPUs(workers), nil
			}
		}
	}
	m := Machine{Workers: workers, MemoryMB: h.MemoryMB}
	if workers == 0 {
		m.Workers = h.CPUs
	}
	return m, nil
}

// onGPUs returns the machine of all GPUs, whose memory is that of the smallest.
func (h Hardware) onGPUs(workers int) Machine {
	m := Machine{Workers: workers, GPU: true, MemoryMB: h.GPUsMB[0]}
	if workers == 0 {
		m.Workers = len(h.GPUsMB)
	}
	m.PerGPU = (m.Workers + len(h.GPUsMB) - 1) / len(h.GPUsMB)
	for _, mb := range h.GPUsMB {
		m.MemoryMB = min(m.MemoryMB, mb)
	}
	return m
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
