package train

import (
	"math"

	"torchpe/torchpe"
)

// running sums up what training saw since the last record, for each member.
type running struct {
	loss    []float64 // sum over examples
	correct []float64
	seen    float64
}

func newRunning(members int) running {
	return running{loss: make([]float64, members), correct: make([]float64, members)}
}

// step computes the gradients of training step number `step` (from 0) and adds what it saw to sums. It returns each
// member's loss; update then makes the step.
func (e *ensemble) step(step int, sums *running) (loss []float64, err error) {
	err = torchpe.Catch(func() {
		s := e.resident.Child()
		defer s.Close()
		s.Seed(e.seeds, step)
		saw := e.task.loss(e, s, step)
		if err = e.optimizer.ZeroGrad(); err != nil {
			return
		}
		saw.each.Sum().Backward() // members share nothing, so the sum's gradient is each member's own

		loss = saw.each.Float64s()
		n := float64(saw.examples)
		for m := range loss {
			sums.loss[m] += loss[m] * n
		}
		if saw.correct.Defined() {
			for m, c := range saw.correct.Float64s() {
				sums.correct[m] += c
			}
		}
		sums.seen += n
	})
	return loss, err
}

// update changes the parameters by the gradients of the step just made.
func (e *ensemble) update(step, total int) error {
	factor := rate(e.config.Schedule, step, e.config.WarmupSteps, total)
	for m, member := range e.config.Members {
		e.settings.LR[m] = member.LR * factor
	}
	for _, g := range e.settings.Groups { // the PE's, if it has settings of its own
		if e.config.PEWarmupSteps != nil {
			factor = rate(e.config.Schedule, step, *e.config.PEWarmupSteps, total)
		}
		for m, member := range e.config.Members {
			g.LR[m] = orElse(member.PELR, member.LR) * factor
		}
	}
	return e.optimizer.Step(e.settings)
}

// orElse returns what own points at, or fallback where there is none.
func orElse(own *float64, fallback float64) float64 {
	if own == nil {
		return fallback
	}
	return *own
}

// notFinite lists the active members whose loss is NaN or infinite.
func (e *ensemble) notFinite(loss []float64) (members []int) {
	for m, v := range loss {
		if e.settings.Active[m] && (math.IsNaN(v) || math.IsInf(v, 0)) {
			members = append(members, m)
		}
	}
	return members
}
