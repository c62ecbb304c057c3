package train

import (
	"runtime"

	"torchpe/torchpe"
	"torchpe/train/sweep"
)

// Hardware describes this computer to the planner of sweeps.
func Hardware() sweep.Hardware {
	const mb = 1 << 20
	sys := torchpe.DescribeSystem()
	h := sweep.Hardware{CPUs: runtime.NumCPU(), MemoryMB: float64(sys.FreeMemory) / mb}
	for _, g := range sys.GPUs {
		memory := g.TotalMemory
		if g.FreeMemory > 0 {
			memory = g.FreeMemory
		}
		h.GPUsMB = append(h.GPUsMB, float64(memory)/mb)
	}
	return h
}
