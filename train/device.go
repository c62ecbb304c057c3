package train

import (
	"runtime"

	"torchpe/torchpe"
)

// DeviceConfig says how a device computes.
type DeviceConfig struct {
	Precision     string `json:"precision,omitempty"`     // of products: fp32, tf32 or bf16; "" is auto: tf32 on a GPU, fp32 on a CPU
	NoGraph       bool   `json:"no_graph,omitempty"`      // on a GPU: launch each kernel by itself, instead of recording a step once
	Deterministic bool   `json:"deterministic,omitempty"` // on a GPU: the same bits each time, where libtorch can
}

func (d DeviceConfig) validate(bad *problems) {
	if d.Precision != "" {
		bad.oneOf("precision", d.Precision, append([]string{"auto"}, torchpe.Precisions()...)...)
	}
}

// precisionOn returns the precision of products on a device.
func (d DeviceConfig) precisionOn(dev torchpe.Device) string {
	switch {
	case d.Precision != "":
		return d.Precision
	case dev == torchpe.CPU:
		return "fp32"
	}
	return "tf32"
}

// recordsDeterministic says whether a CUDA graph can record what libtorch computes deterministically: before 2.10 some of that read
// sizes from the host.
func recordsDeterministic() bool { return torchpe.LibtorchAtLeast(2, 10) }

// onDevice readies the calling goroutine for the configuration's device: a thread to itself, on a GPU a stream of its own, and the
// precision of products. done undoes it.
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
