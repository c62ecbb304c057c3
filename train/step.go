package train

import (
	"fmt"
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
	epoch, at := step/e.stepsPerEpoch(), step%e.stepsPerEpoch()*e.config.Batch
	err = torchpe.Catch(func() {
		order := e.order(epoch)
		s := order.Scope().Child()
		defer s.Close()
		s.Seed(e.seeds, step)

		n := min(e.config.Batch, e.train.n-at)
		b := e.gather(s, e.train, order.In(s).Narrow(1, at, n))
		e.draw(s, &b, fmt.Sprintf("positions %d", step))
		b.Training = true

		logits := e.model.Forward(s, b.Input, nil)
		each := torchpe.CrossEntropy(logits, b.target)
		if err = e.optimizer.ZeroGrad(); err != nil {
			return
		}
		each.Sum().Backward() // members share nothing, so the sum's gradient is each member's own

		loss = each.Float64s()
		correct := logits.Argmax(-1).Eq(b.target).To(torchpe.Float64, e.device).Sum(1).Float64s()
		for m := range loss {
			sums.loss[m] += loss[m] * float64(n)
			sums.correct[m] += correct[m]
		}
		sums.seen += float64(n)
	})
	return loss, err
}

// update changes the parameters by the gradients of the step just made.
func (e *ensemble) update(step, total int) error {
	factor := rate(e.config.Schedule, step, e.config.WarmupSteps, total)
	for m, member := range e.config.Members {
		e.settings.LR[m] = member.LR * factor
	}
	return e.optimizer.Step(e.settings)
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
