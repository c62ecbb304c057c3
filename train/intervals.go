package train

import "torchpe/torchpe"

// intervals has the steps after which a run writes records and looks for divergence.
type intervals struct {
	total       int // steps of the run
	recordEvery int
	checkEvery  int
}

// intervals returns those of a run. On the CPU, where the host waits for each step anyway, it looks for
// divergence after each.
func (t *trainer) intervals() intervals {
	perEpoch := t.task.stepsPerEpoch()
	v := intervals{total: t.config.TotalSteps(perEpoch), recordEvery: t.config.LogEvery, checkEvery: 256}
	if t.config.Facts().InEpochs {
		v.recordEvery *= perEpoch
	}
	if t.device == torchpe.CPU {
		v.checkEvery = 1
	}
	return v
}

// recordsAt reports whether a record is written after this step.
func (v intervals) recordsAt(step int) bool { return step == v.total || step%v.recordEvery == 0 }

// checksAt reports whether the host looks for diverged members after this step.
func (v intervals) checksAt(step int) bool { return v.recordsAt(step) || step%v.checkEvery == 0 }
