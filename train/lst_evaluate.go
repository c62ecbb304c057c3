package train

import (
	"fmt"

	"torchpe/data/lst"
	"torchpe/models"
	"torchpe/torchpe"
)

// evaluationBatch bounds how many examples a forward pass of an evaluation takes.
const evaluationBatch = 256

// accuracy is the share of right answers of each member on one split.
type accuracy struct {
	overall     []float64                   // [E]
	byCondition []map[lst.Condition]float64 // [E]
	predicted   []int64                     // [E,n] classes
}

// evaluate measures a split without changing anything. Random draws depend on the step and the split alone.
func (t *lstTask) evaluate(e *ensemble, r resident, step int) (accuracy, error) {
	a := accuracy{predicted: make([]int64, e.members()*r.n)}
	err := t.forward(e, r, step, nil, func(from, n int, logits torchpe.Tensor, _ *models.Trace) {
		classes := torchpe.Values[int64](logits.Argmax(-1))
		for m := range e.members() {
			copy(a.predicted[m*r.n+from:], classes[m*n:(m+1)*n])
		}
	})
	if err != nil {
		return a, err
	}
	for m := range e.members() {
		right, count := map[lst.Condition]float64{}, map[lst.Condition]float64{}
		total := 0.0
		for i, class := range a.predicted[m*r.n : (m+1)*r.n] {
			count[r.condition[i]]++
			if class == r.target[i] {
				right[r.condition[i]]++
				total++
			}
		}
		for c, n := range count {
			right[c] /= n
		}
		a.overall = append(a.overall, total/float64(r.n))
		a.byCondition = append(a.byCondition, right)
	}
	return a, nil
}

// forward runs all examples of a split through the model, in pieces, with all members on the same examples. use gets the
// logits [E,n,C] of examples from...from+n; what it needs later it must copy.
func (t *lstTask) forward(e *ensemble, r resident, step int, names []string, use func(from, n int, logits torchpe.Tensor, trace *models.Trace)) error {
	return torchpe.Catch(func() {
		for from := 0; from < r.n; from += evaluationBatch {
			n := min(evaluationBatch, r.n-from)
			s := e.resident.ChildNoGrad()
			func() {
				defer s.Close()
				b := t.piece(e, s, r, piece{step, from, n})
				var trace *models.Trace
				if names != nil {
					trace = models.NewTrace(names...)
				}
				use(from, n, r.model(e).Forward(s, b.Input, trace), trace)
			}()
		}
	})
}

// piece says which examples of a split are evaluated, and after which step.
type piece struct{ step, from, n int }

// piece returns examples of a split for all members alike, and makes the random draws in s those of the step and the piece.
func (t *lstTask) piece(e *ensemble, s *torchpe.Scope, r resident, p piece) lstBatch {
	s.Seed(e.seeds, p.step)
	index := make([]int64, 0, e.members()*p.n)
	for range e.members() {
		for i := range p.n {
			index = append(index, int64(p.from+i))
		}
	}
	b := t.gather(e, s, r, torchpe.Of(s, e.device, index, e.members(), p.n))
	e.draw(s, &b.Input, p.n, fmt.Sprintf("positions %s %d %d", r.name, p.step, p.from))
	return b
}
