package ctorch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import "unsafe"

// System describes libtorch and the machine.
type System struct {
	BuiltVersion, RunningVersion int // major*10000 + minor*100 + patch
	Running                      string
	CUDABuilt, CUDAAvailable     bool
	CUDAKernels                  bool   // our own GPU kernels were compiled
	CUDABF16                     bool   // a GPU multiplies in bfloat16; else float32 operands are rounded
	CUDAReason                   string // why CUDA is not available; "" if it is
	GPUs, Threads                int
	BLAS, BLASKernel, BLASWanted string // kernels: "" if the library has no choice of kernels
	BLASRepair                   string // how a slow kernel was replaced on loading; "" = not replaced
	Kernels                      string // instruction set of the fused loops
}

// DescribeSystem returns the shim's description of libtorch and the machine.
func DescribeSystem() System {
	s := C.tp_system()
	return System{
		BuiltVersion: int(s.built_version), RunningVersion: int(s.running_version),
		Running:     taken(C.tp_running_version()),
		CUDAKernels: s.cuda_kernels != 0, CUDABF16: s.cuda_bf16 != 0,
		CUDABuilt: s.cuda_built != 0, CUDAAvailable: s.cuda_available != 0, CUDAReason: taken(C.tp_cuda_reason()),
		GPUs: int(s.gpus), Threads: int(s.threads),
		BLAS: taken(C.tp_blas()), BLASKernel: taken(C.tp_blas_kernel()), BLASWanted: taken(C.tp_blas_wanted()),
		BLASRepair: taken(C.tp_blas_repair()), Kernels: C.GoString(C.tp_kernels()),
	}
}

// GPU returns name and memory in bytes of cuda:index.
func GPU(index int) (name string, total, free int64, err error) {
	var cname *C.char
	var ctotal, cfree C.int64_t
	err = failure(C.tp_gpu(C.int(index), &cname, &ctotal, &cfree))
	return taken(cname), int64(ctotal), int64(cfree), err
}

// SetThreads sets the number of threads per operator.
func SetThreads(n int) { C.tp_set_threads(C.int(n)) }

// Threads returns the number of threads per operator.
func Threads() int { return int(C.tp_threads()) }

// The forms in which the fused operators compute; see functions.h.
const (
	Composed = 0 // composed of libtorch's operators
	Fused    = 1 // our own loops on the CPU, our own kernels on a GPU
	Emulated = 2 // the GPU's kernels, on the CPU too
)

// SetFusedForm chooses one of these forms; Emulated is slow, and for tests.
func SetFusedForm(form int) { C.tp_set_fused(C.int(form)) }

// SetPrecision sets the precision of the operands of float32 products: 0 float32, 1 tf32, 2
// bfloat16.
func SetPrecision(p int) { C.tp_set_precision(C.int(p)) }

// Precision returns the precision that SetPrecision set.
func Precision() int { return int(C.tp_precision()) }

// SetAttentionForm chooses how a GPU computes attention over many tokens: 0 libtorch's
// memory-efficient kernel, 1 flash. AttentionForm returns the choice.
func SetAttentionForm(form int) { C.tp_set_attention(C.int(form)) }
func AttentionForm() int        { return int(C.tp_attention_form()) }

// TraceBegin starts libtorch's profiler for this thread, and with kernels for all kernels of a GPU.
// The goroutine must hold its thread (runtime.LockOSThread) until TraceEnd.
func TraceBegin(kernels bool) error { return failure(C.tp_trace_begin(flag(kernels))) }

// TraceEnd stops the profiler, returns the names of the called operators, one call per line, and
// writes the trace to a file unless path is "".
func TraceEnd(path string) (names string, err error) {
	var cpath, cnames *C.char
	if path != "" {
		cpath = C.CString(path)
		defer C.free(unsafe.Pointer(cpath))
	}
	err = failure(C.tp_trace_end(cpath, &cnames))
	return taken(cnames), err
}
