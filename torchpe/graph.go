package torchpe

import (
	"errors"
	"fmt"
	"os"

	"torchpe/torchpe/internal/ctorch"
)

// Graph is work for a device that is recorded once and done by one call each time: where a step of training is some hundred
// kernels, launching each of them costs more than most of them take. On the CPU, which records nothing, Replay runs the function.
//
// What is recorded may read nothing from the host (see Constants for what never changes) and is not allowed to wait for the
// device: it works on tensors at fixed places, which Write fills between replays.
type Graph struct {
	device Device
	id     uint64
	run    func()
}

// Record records what f does on the device, which does not happen before Replay. The calling thread must be locked to its
// goroutine and have a stream of its own (OwnStream). Graphs that never run at the same time may share memory: share is nil or
// another graph of the device. A panic of f with an *Error is returned.
func Record(d Device, share *Graph, f func()) (*Graph, error) {
	g := &Graph{device: d, run: f}
	if d == CPU {
		return g, nil
	}
	var with uint64
	if share != nil {
		with = share.id
	}
	var err error
	if g.id, err = ctorch.GraphBegin(int(d), with); err != nil {
		return nil, fmt.Errorf("recording a CUDA graph: %w", err)
	}
	g.run = nil
	err = Catch(f)
	if ended := ctorch.GraphEnd(g.id); err == nil && ended != nil {
		err = ended
	}
	if err != nil {
		_ = g.Close() // what is wrong with the recording is the error to return
		return nil, fmt.Errorf("recording a CUDA graph: %w", err)
	}
	return g, nil
}

// Replay does what was recorded. On a GPU it returns before that is done.
func (g *Graph) Replay() error {
	if g.run != nil {
		return Catch(g.run)
	}
	if g.id == 0 {
		return errors.New("the graph is closed")
	}
	return ctorch.GraphReplay(g.id)
}

// Close frees the graph. Closing twice does nothing.
func (g *Graph) Close() error {
	g.run = nil
	if g.id == 0 {
		return nil
	}
	id := g.id
	g.id = 0
	return ctorch.GraphFree(id)
}

// OwnStream gives the calling thread, which must be locked to its goroutine, a stream of its own on a GPU, as recording a graph
// needs; back returns to the common one. On the CPU nothing happens.
func OwnStream(d Device) (back func(), err error) {
	if d == CPU {
		return func() {}, nil
	}
	if err := ctorch.OwnStream(int(d)); err != nil {
		return nil, err
	}
	return func() {
		// An error here is one of the device, which whatever comes next meets too.
		_ = ctorch.Synchronize(int(d))
		_ = ctorch.DefaultStream(int(d))
	}, nil
}

// Synchronize waits until the device has done all that it was told.
func Synchronize(d Device) error { return ctorch.Synchronize(int(d)) }

// Write copies values into t, which must be dense, of T's dtype and of as many elements. A GPU gets them in turn with what it is
// told before and after, without the host waiting; values may be used again at once.
func Write[T Element](t Tensor, values []T) {
	const op = "Write"
	info := t.info(op)
	if info.DType != int(dtypeOf[T]()) {
		fail(op, fmt.Sprintf("values of another dtype (%s)", dtypeOf[T]()), t)
	}
	if err := ctorch.Write(t.h, values); err != nil {
		fail(op, err.Error(), t)
	}
}

// DeviceMemory is what libtorch's allocator knows of a GPU's memory, in bytes; zeros for the CPU.
type DeviceMemory struct {
	Allocated, Peak, Reserved int64 // in use; at most since ResetPeakMemory; held, in use or not
}

// MemoryOf returns what libtorch's allocator knows of the device's memory.
func MemoryOf(d Device) (m DeviceMemory, err error) {
	m.Allocated, m.Peak, m.Reserved, err = ctorch.DeviceMemory(int(d))
	return m, err
}

// ResetPeakMemory starts Peak anew.
func ResetPeakMemory(d Device) error { return ctorch.ResetPeakMemory(int(d)) }

// ReleaseCached gives the memory back to the device that libtorch's allocator holds and does not use.
func ReleaseCached(d Device) error { return ctorch.ReleaseCached(int(d)) }

// SetDeterministic makes operators give the same bits each time on a GPU, where libtorch has such a form of them. It comes before
// the first product: cuBLAS reads then what it may do.
func SetDeterministic(on bool) error {
	const workspace = "CUBLAS_WORKSPACE_CONFIG"
	if on && os.Getenv(workspace) == "" {
		if err := os.Setenv(workspace, ":4096:8"); err != nil {
			return err
		}
	}
	return ctorch.SetDeterministic(on)
}
