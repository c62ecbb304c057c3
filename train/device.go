package train

import (
	"runtime"

	"torchpe/torchpe"
)

// recordsDeterministic says whether a CUDA graph can record what libtorch computes
// deterministically: before 2.10 some of that read sizes from the host.
func recordsDeterministic() bool { return torchpe.LibtorchAtLeast(2, 10) }

// onDevice readies the calling goroutine for the configuration's device: a thread to itself, on a
// GPU a stream of its own, and the precision of products. done undoes it.
func (c Config) onDevice() (done func(), err error) {
	device, err := torchpe.ParseDevice(c.Device)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	before := torchpe.Precision()
	if err = torchpe.SetPrecision(c.precisionOn(device)); err == nil && c.Deterministic {
		err = torchpe.SetDeterministic(true)
	}
	var back func()
	if err == nil {
		back, err = torchpe.OwnStream(device)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() {
		back()
		// What was valid before is valid now, and turning a setting off cannot fail.
		_ = torchpe.SetPrecision(before)
		if c.Deterministic {
			_ = torchpe.SetDeterministic(false)
		}
		runtime.UnlockOSThread()
	}, nil
}
