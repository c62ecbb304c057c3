package ctorch

// #include "shim.h"
import "C"

import "unsafe"

// Streams and graphs of a GPU, and copies for which the host does not wait; see functions.h.

func OwnStream(device int) error { return failure(C.tp_own_stream(C.int(device))) }

func DefaultStream(device int) error { return failure(C.tp_default_stream(C.int(device))) }

func Synchronize(device int) error { return failure(C.tp_synchronize(C.int(device))) }

func GraphBegin(device int, share uint64) (uint64, error) {
	var graph C.uint64_t
	err := failure(C.tp_graph_begin(C.int(device), C.uint64_t(share), &graph))
	return uint64(graph), err
}

func GraphEnd(graph uint64) error { return failure(C.tp_graph_end(C.uint64_t(graph))) }

func GraphReplay(graph uint64) error { return failure(C.tp_graph_replay(C.uint64_t(graph))) }

func GraphFree(graph uint64) error { return failure(C.tp_graph_free(C.uint64_t(graph))) }

// Write copies data into dst's memory, which must be dense and have the same number of bytes.
func Write[T float32 | float64 | int64 | bool](dst Handle, data []T) error {
	var zero T
	return failure(C.tp_write_(c(dst), unsafe.Pointer(unsafe.SliceData(data)),
		C.int64_t(len(data)*int(unsafe.Sizeof(zero)))))
}

// DeviceMemory returns the bytes of libtorch's allocator that are in use, their maximum, and the
// bytes reserved.
func DeviceMemory(device int) (allocated, peak, reserved int64, err error) {
	var a, p, r C.int64_t
	err = failure(C.tp_device_memory(C.int(device), &a, &p, &r))
	return int64(a), int64(p), int64(r), err
}

func ResetPeakMemory(device int) error { return failure(C.tp_reset_peak_memory(C.int(device))) }

func ReleaseCached(device int) error { return failure(C.tp_release_cached(C.int(device))) }

func SetDeterministic(on bool) error { return failure(C.tp_set_deterministic(flag(on))) }
