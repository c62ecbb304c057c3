package train

import (
	"fmt"
	"runtime"

	"torchpe/torchpe"
)

// recordsDeterministic reports whether a CUDA graph can record libtorch's deterministic operators. Before
// 2.10 some of them read sizes on the host.
func recordsDeterministic() bool { return torchpe.LibtorchAtLeast(2, 10) }

// onDevice readies the calling goroutine for the configuration's device: a thread to itself, on a
// GPU a stream of its own, the precision of products and the form of attention. done undoes it.
func (c Config) onDevice() (done func(), err error) {
	device, err := torchpe.ParseDevice(c.Device)
	if err != nil {
		return nil, err
	}
	if c.Attention == "flash" && device != torchpe.CPU && !torchpe.LibtorchAtLeast(2, 6) {
		return nil, fmt.Errorf("--attention flash needs libtorch 2.6, and this is %s: efficient does not",
			torchpe.DescribeSystem().LibtorchRunning)
	}
	runtime.LockOSThread()
	before, attention := torchpe.Precision(), torchpe.AttentionForm()
	err = torchpe.SetPrecision(c.precisionOn(device))
	if err == nil && c.Attention != "" {
		err = torchpe.SetAttentionForm(c.Attention)
	}
	if err == nil && c.Deterministic {
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
		_ = torchpe.SetAttentionForm(attention)
		if c.Deterministic {
			_ = torchpe.SetDeterministic(false)
		}
		runtime.UnlockOSThread()
	}, nil
}
