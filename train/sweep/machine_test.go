package sweep

import (
	"os"
	"testing"

	"torchpe/internal/expect"
)

// Workers share the memory of their GPU: two on one have half of it each. The smallest GPU, by what
// is free, decides. A configuration for the CPU uses no GPU.
func TestMachine(t *testing.T) {
	cpu, gpu := []byte(`{"device":"cpu"}`), []byte(`{"device":"auto"}`)
	for _, c := range []struct {
		gpus    []float64
		configs [][]byte
		workers int
		want    Machine
	}{
		{[]float64{80}, [][]byte{gpu}, 0, Machine{Workers: 1, WorkerMB: 80, GPU: true}},
		{[]float64{80}, [][]byte{cpu, gpu}, 2, Machine{Workers: 2, WorkerMB: 40, GPU: true}},
		{[]float64{80, 80}, [][]byte{gpu}, 3, Machine{Workers: 3, WorkerMB: 40, GPU: true}},
		{[]float64{80, 20}, [][]byte{gpu}, 0, Machine{Workers: 2, WorkerMB: 20, GPU: true}},
		{[]float64{40, 80}, [][]byte{gpu}, 1, Machine{Workers: 1, WorkerMB: 40, GPU: true}},
		{[]float64{80}, [][]byte{cpu}, 0, Machine{Workers: 6, WorkerMB: 16.0 / 6}},
		{nil, [][]byte{gpu}, 0, Machine{Workers: 6, WorkerMB: 16.0 / 6}},
		{nil, [][]byte{gpu}, 2, Machine{Workers: 2, WorkerMB: 8}},
	} {
		h := Hardware{CPUs: 6, MemoryMB: 16, GPUsMB: c.gpus}
		if got, err := h.Machine(c.configs, c.workers); got != c.want || err != nil {
			t.Errorf("%d workers on %d GPUs: %+v, want %+v, %v", c.workers, len(c.gpus), got, c.want, err)
		}
	}
}

// Each worker sees one GPU, by the names that CUDA_VISIBLE_DEVICES gave those that are left.
func TestVisibleGPUs(t *testing.T) {
	for _, c := range []struct {
		given   string
		n       int
		workers []string // what workers 0, 1, 2 see
	}{
		{"", 0, nil},
		{"3", 1, []string{"3", "3", "3"}},
		{"2,0", 2, []string{"2", "0", "2"}},
		{"GPU-8a1b,MIG-77", 2, []string{"GPU-8a1b", "MIG-77", "GPU-8a1b"}},
		{"1,-1,0", 1, []string{"1", "1", "1"}}, // what follows -1 is hidden
		{"unset", 2, []string{"0", "1", "0"}},
	} {
		if c.given != "unset" {
			t.Setenv(cudaDevices, c.given)
		} else if err := os.Unsetenv(cudaDevices); err != nil {
			t.Fatal(err)
		}
		gpus := VisibleGPUs(c.n)
		for worker, want := range c.workers {
			cmd := TaskCommand{Program: "torchpe", Dir: "s", GPUs: gpus}.Command(t.Context(), 7, worker)
			expect.Equal(t, c.given, cmd.Env[len(cmd.Env)-1], "CUDA_VISIBLE_DEVICES="+want)
		}
		expect.Equal(t, c.given, len(gpus), c.n)
	}
}

// The command is that of the help of sweep run-task; a folder that begins with a dash is none of its
// flags.
func TestTaskCommand(t *testing.T) {
	for _, c := range []struct {
		command TaskCommand
		want    []string
	}{
		{TaskCommand{Program: "p", Dir: "-s", Threads: 2},
			[]string{"p", "sweep", "run-task", "--index", "7", "--threads", "2", "--", "-s"}},
		{TaskCommand{Program: "p", Dir: "s", Threads: 1, BreakLock: true, GPUs: []string{"0"}},
			[]string{"p", "sweep", "run-task", "--index", "7", "--threads", "1", "--break-lock",
				"--device", "cuda:0", "--", "s"}},
	} {
		expect.Equal(t, "command", c.command.Command(t.Context(), 7, 0).Args, c.want)
	}
}
