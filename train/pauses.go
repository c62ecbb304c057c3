package train

import "torchpe/torchpe"

// pauses says after which steps the host has work to do, so that steps end there which a device is
// given together.
type pauses struct {
	total       int // steps of the run
	recordEvery int
	checkEvery  int // for members that diverged
	stopAfter   int // 0 = at the end
}

// pauses returns the pauses of a run. On the CPU, where waiting costs nothing, divergence is looked for
// after each step.
func (t *trainer) pauses() pauses {
	perEpoch := t.task.stepsPerEpoch()
	p := pauses{total: t.config.TotalSteps(perEpoch), recordEvery: t.config.LogEvery, checkEvery: 256,
		stopAfter: t.stopAfter}
	if t.config.HasPuzzles() { // counted in epochs
		p.recordEvery, p.stopAfter = p.recordEvery*perEpoch, p.stopAfter*perEpoch
	}
	if t.device == torchpe.CPU {
		p.checkEvery = 1
	}
	return p
}

// records says whether a record is due when so many steps were made.
func (p pauses) records(made int) bool { return made == p.total || made%p.recordEvery == 0 }

// checks says whether a look for members that diverged is due.
func (p pauses) checks(made int) bool { return p.records(made) || made%p.checkEvery == 0 }

// stops says whether the run is to stop there.
func (p pauses) stops(made int) bool { return p.stopAfter > 0 && made >= p.stopAfter }

// until returns how many steps come before the next pause when so many were made.
func (p pauses) until(made int) int {
	n := min(p.total-made, p.recordEvery-made%p.recordEvery, p.checkEvery-made%p.checkEvery)
	if p.stopAfter > 0 {
		n = min(n, max(1, p.stopAfter-made))
	}
	return n
}
