package torchpe

import (
	"errors"
	"fmt"
	"os"

	"torchpe/torchpe/internal/ctorch"
)

// Graph holds work for a device that is recorded once and then launched with one call: a training
// step has some hundred kernels, most of which take less time than their launch. On the CPU, which
// records nothing, Replay calls the function.
//
// The recorded work may neither read from the host (see Constants for what never changes) nor wait
// for the device: it uses tensors in fixed memory, which Write fills between replays.
type Graph struct {
	device Device
	id     uint64
	run    func()
}

// Record records what f does on the device; Replay executes it. The calling thread
// must be locked to its goroutine and have a stream of its own (OwnStream). Graphs that never run
// at the same time may share memory: share is nil or another graph of the device. A panic of f with
// an *Error is returned.
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
		_ = g.Close() // the recording's error is the one to return
		return nil, fmt.Errorf("recording a CUDA graph: %w", err)
	}
	return g, nil
}

// Replay executes the recorded work. On a GPU it returns before the work is done.
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

// OwnStream gives the calling thread, which must be locked to its goroutine, its own stream on a GPU, as
// required for recording a graph; back returns to the common stream. On the CPU it does nothing.
func OwnStream(d Device) (back func(), err error) {
	if d == CPU {
		return func() {}, nil
	}
	if err := ctorch.OwnStream(int(d)); err != nil {
		return nil, err
	}
	return func() {
		// An error means that the device failed; the next call reports it too.
		_ = ctorch.Synchronize(int(d))
		_ = ctorch.DefaultStream(int(d))
	}, nil
}

// Synchronize waits until the device has finished all its work.
func Synchronize(d Device) error { return ctorch.Synchronize(int(d)) }

// DeviceMemory holds libtorch's allocator statistics of a GPU, in bytes; zeros for the CPU.
type DeviceMemory struct {
	Allocated, Peak, Reserved int64 // in use; maximum since ResetPeakMemory; reserved, in use or not
}

// MemoryOf returns libtorch's allocator statistics of the device.
func MemoryOf(d Device) (m DeviceMemory, err error) {
	m.Allocated, m.Peak, m.Reserved, err = ctorch.DeviceMemory(int(d))
	return m, err
}

// ResetPeakMemory sets Peak to the memory in use.
func ResetPeakMemory(d Device) error { return ctorch.ResetPeakMemory(int(d)) }

// ReleaseCached returns unused memory of libtorch's allocator to the device.
func ReleaseCached(d Device) error { return ctorch.ReleaseCached(int(d)) }

// SetDeterministic selects operators with bitwise repeatable results on a GPU, if libtorch has
// them. Call it before the first product, when cuBLAS reads its configuration.
func SetDeterministic(on bool) error {
	const workspace = "CUBLAS_WORKSPACE_CONFIG"
	if on && os.Getenv(workspace) == "" {
		if err := os.Setenv(workspace, ":4096:8"); err != nil {
			return err
		}
	}
	return ctorch.SetDeterministic(on)
}
