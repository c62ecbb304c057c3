package train

import (
	"testing"

	"torchpe/train/config"
)

// A step is timed with the whole ensemble where it runs on a GPU, and with two members on a CPU.
func TestCalibrated(t *testing.T) {
	for _, c := range []struct {
		device        string
		gpus, members int
	}{{"auto", 1, 8}, {"cpu", 1, 2}, {"auto", 0, 2}, {"cuda", 2, 8}} {
		var given config.Config
		given.Device, given.Members = c.device, make([]Member, 8)
		if got := calibrated(given, c.gpus); len(got.Members) != c.members || got.Threads != 1 {
			t.Errorf("%s with %d GPUs: %d members, %d threads; want %d members", c.device, c.gpus,
				len(got.Members), got.Threads, c.members)
		}
	}
}
