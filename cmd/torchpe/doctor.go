package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

func newDoctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, and what is missing",
		Long: `Print the libtorch, GPU and BLAS that torchpe runs with, and what to do about each problem. The exit
code is 0 even with problems; with --strict it is 1.`,
	}
	strict := cmd.Flags().Bool("strict", false, "exit code 1 if there is a problem")
	return leaf(cmd, func(*call) (r result, err error) {
		s := torchpe.DescribeSystem()
		r.value = struct {
			Version string `json:"version"`
			torchpe.System
		}{runlog.Version, s}
		r.print = func(w io.Writer) { printSystem(w, s) }
		if *strict && len(s.Problems) > 0 {
			r.err = errors.New(wording.Count(len(s.Problems), "problem"))
		}
		return r, nil
	})
}

func printSystem(w io.Writer, s torchpe.System) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("program", "%s", runlog.HostEnvironment(nil).Build())
	line("libtorch", "%s (the shim was built against %s)", s.LibtorchRunning, s.LibtorchBuilt)
	if s.CUDA {
		line("CUDA", "yes, %d GPUs, %s", len(s.GPUs), map[bool]string{true: "torchpe's own kernels",
			false: "only libtorch's operators"}[s.CUDAKernels])
		if !s.CUDABF16 {
			line("", "--precision bf16 is rounded float32, not faster: the shim was built without cuBLAS's headers")
		}
	} else {
		line("CUDA", "no: %s", s.CUDAReason)
	}
	for _, g := range s.GPUs {
		line("", "cuda:%d %s, %.1f of %.1f GiB free", g.Index, g.Name,
			float64(g.FreeMemory)/(1<<30), float64(g.TotalMemory)/(1<<30))
	}
	line("CPU", "%s, %d CPUs", s.CPU, s.CPUs)
	line("memory", "%.1f GiB free of %.1f", float64(s.FreeMemory)/(1<<30), float64(s.TotalMemory)/(1<<30))
	line("BLAS", "%s", s.BLAS)
	if s.BLASKernel != "" {
		line("", "kernel %s", s.BLASKernel)
	}
	if s.BLASRepair != "" {
		line("", "corrected at start: %s", s.BLASRepair)
	}
	line("kernels", "torchpe's own loops use %s", s.FusedKernels)
	line("threads", "%d by default; `train` measures how many help, --threads overrides", s.Threads)
	if len(s.Problems) == 0 {
		line("problems", "none")
	}
	for _, p := range s.Problems {
		line("problem", "%s", p)
	}
}
