package torchpe

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"torchpe/internal/machine"
	"torchpe/torchpe/internal/ctorch"
)

// GPU describes one graphics processor.
type GPU struct {
	Index       int    `json:"index"`
	Name        string `json:"name"`
	TotalMemory int64  `json:"total_memory"` // bytes
	FreeMemory  int64  `json:"free_memory"`  // bytes
}

// System describes the machine as torchpe sees it; `torchpe doctor --json` prints its JSON.
type System struct {
	LibtorchBuilt   string   `json:"libtorch_built"`
	LibtorchRunning string   `json:"libtorch_running"`
	CUDA            bool     `json:"cuda"`
	CUDAReason      string   `json:"cuda_reason,omitempty"` // why CUDA is not available
	CUDAKernels     bool     `json:"cuda_kernels"`          // torchpe's own GPU kernels were compiled
	CUDABF16        bool     `json:"cuda_bf16"`             // products use bf16; else rounded float32
	GPUs            []GPU    `json:"gpus"`
	BLAS            string   `json:"blas"`
	BLASKernel      string   `json:"blas_kernel"`
	BLASRepair      string   `json:"blas_repair,omitempty"` // what was repaired at start
	FusedKernels    string   `json:"fused_kernels"`         // instruction set of torchpe's own CPU loops
	Threads         int      `json:"threads"`
	CPUs            int      `json:"cpus"`
	CPU             string   `json:"cpu"`
	TotalMemory     int64    `json:"total_memory"` // bytes
	FreeMemory      int64    `json:"free_memory"`  // bytes available to the process, within its control groups
	Problems        []string `json:"problems"`     // each with advice
}

// DescribeSystem returns what libtorch and the operating system report.
func DescribeSystem() System {
	c := ctorch.DescribeSystem()
	s := System{
		LibtorchBuilt: versionText(c.BuiltVersion), LibtorchRunning: c.Running,
		CUDA: c.CUDAAvailable, CUDAReason: c.CUDAReason, CUDAKernels: c.CUDAKernels, CUDABF16: c.CUDABF16,
		GPUs: []GPU{},
		BLAS: c.BLAS, BLASKernel: c.BLASKernel, BLASRepair: c.BLASRepair, FusedKernels: c.Kernels,
		Threads: c.Threads, CPUs: runtime.NumCPU(), CPU: cmp.Or(machine.CPU(), runtime.GOARCH), Problems: []string{},
	}
	total, free := machine.Memory("/")
	s.TotalMemory, s.FreeMemory = total, max(0, free)
	for i := range c.GPUs {
		name, total, free, err := ctorch.GPU(i)
		if err != nil {
			name = err.Error()
		}
		s.GPUs = append(s.GPUs, GPU{i, name, total, free})
	}
	s.Problems = append(s.Problems, problems(c)...)
	return s
}

// problems lists problems, each with advice.
func problems(c ctorch.System) (list []string) {
	if c.BuiltVersion != c.RunningVersion {
		list = append(list, fmt.Sprintf("the shim was built against libtorch %s but runs with %s: run `make shim`",
			versionText(c.BuiltVersion), c.Running))
	}
	if c.BLASWanted != "" && slowKernel(c.BLASKernel, c.BLASWanted) {
		list = append(list,
			fmt.Sprintf("OpenBLAS uses its %s kernel although this CPU can run %s: set OPENBLAS_CORETYPE=%s",
				c.BLASKernel, c.BLASWanted, c.BLASWanted))
	}
	if c.CUDAAvailable && !c.CUDABuilt {
		list = append(list,
			"libtorch finds a GPU but the shim was built without CUDA headers, so GPUs cannot be described: "+
				"install the CUDA toolkit and run `make shim`")
	}
	if c.CUDABuilt && c.CUDAAvailable && !c.CUDAKernels {
		list = append(list,
			"the shim was built without nvcc, so a GPU runs libtorch's operators instead of torchpe's kernels: "+
				"put nvcc on the PATH and run `make shim`")
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil && !c.CUDAAvailable {
		list = append(list, "there is an NVIDIA driver but "+c.CUDAReason+
			": build the shim with LIBTORCH=/path/to/a/CUDA/libtorch or LIBTORCH=python")
	}
	return list
}

// LibtorchAtLeast reports whether the loaded libtorch is this release or a later one.
func LibtorchAtLeast(major, minor int) bool {
	return ctorch.DescribeSystem().RunningVersion >= major*10000+minor*100
}

// slowKernel reports whether OpenBLAS uses a pre-AVX kernel although a newer one is wanted.
func slowKernel(have, wanted string) bool {
	return have != wanted && (have == "Prescott" || have == "Core2" || have == "Nehalem" || have == "Sandybridge" ||
		(have == "Haswell" && wanted == "SkylakeX"))
}

func versionText(v int) string { return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100) }

// SetThreads sets the number of threads per operator.
func SetThreads(n int) { ctorch.SetThreads(n) }

// SetFused turns torchpe's own CPU loops off or on, so that they can be compared with libtorch's operators.
func SetFused(on bool) { ctorch.SetFusedForm(oneIf(on)) }

// choose calls set with the place of a name among all.
func choose(what, name string, all []string, set func(int)) error {
	i := slices.Index(all, name)
	if i < 0 {
		return fmt.Errorf("%s %q is unknown; it is %s", what, name, strings.Join(all, ", "))
	}
	set(i)
	return nil
}

// Precisions lists the precisions of products, the most exact first.
func Precisions() []string { return []string{"fp32", "tf32", "bf16"} }

// SetPrecision sets the precision of the operands of float32 products in linear maps, projections
// and attention of many tokens: fp32, tf32 (mantissas of 10 bits) or bf16 (of 7). Sums, results and
// everything else stay float32, and float64 is not affected. This makes a GPU faster; on the CPU it
// only rounds the operands, which shows the effect on results.
func SetPrecision(name string) error {
	return choose("precision", name, Precisions(), ctorch.SetPrecision)
}

// Precision returns the precision that SetPrecision set.
func Precision() string { return Precisions()[ctorch.Precision()] }

// AttentionForms lists how a GPU can compute attention over more than 32 tokens: libtorch's
// memory-efficient kernel, and its flash kernel, which needs operands in bfloat16.
func AttentionForms() []string { return []string{"efficient", "flash"} }

// SetAttentionForm chooses one of these forms. With precision bf16 it has no effect.
func SetAttentionForm(form string) error {
	return choose("attention", form, AttentionForms(), ctorch.SetAttentionForm)
}

// AttentionForm returns the form that SetAttentionForm chose.
func AttentionForm() string { return AttentionForms()[ctorch.AttentionForm()] }
