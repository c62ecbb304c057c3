package train

import (
	"fmt"
	"slices"

	"torchpe/train/runlog"
)

// openBoard opens the event files for TensorBoard. A failure is reported and stops nothing.
func (t *trainer) openBoard() {
	if !t.config.TensorBoard {
		return
	}
	var err error
	if t.board, err = t.run.OpenBoard(curveNames(t.config)); err != nil {
		t.dropBoard(err)
	}
}

func (t *trainer) appendToBoard(records []runlog.Record) {
	if t.board == nil {
		return
	}
	if err := t.board.Append(records...); err != nil {
		t.dropBoard(err)
	}
}

func (t *trainer) dropBoard(err error) {
	t.board = nil
	t.observer.Noticed(fmt.Sprintf(
		"training goes on without event files for TensorBoard: %v; metrics.jsonl has all records", err))
}

// curveNames names each member by its PE and seed, learn-0.2_seed1, and by those of learning rate,
// weight decay, the PE's own ones and number that tell it from the others.
func curveNames(c Config) []string {
	names := make([]string, len(c.Members))
	differ := func(of func(Member) float64) bool {
		return slices.ContainsFunc(c.Members, func(m Member) bool { return of(m) != of(c.Members[0]) })
	}
	lr := differ(func(m Member) float64 { return m.LR })
	decay := differ(func(m Member) float64 { return m.WeightDecay })
	own := func(of func(Member) *float64) bool {
		return differ(func(m Member) float64 { return orElse(of(m), -1) })
	}
	peLR := own(func(m Member) *float64 { return m.PELR })
	peDecay := own(func(m Member) *float64 { return m.PEWeightDecay })
	seen := map[string]bool{}
	for i, m := range c.Members {
		name := runlog.CurveName(c.PE, m.Sigma, m.Seed)
		if lr {
			name += fmt.Sprintf("_lr%g", m.LR)
		}
		if decay {
			name += fmt.Sprintf("_wd%g", m.WeightDecay)
		}
		if peLR {
			name += fmt.Sprintf("_pelr%g", orElse(m.PELR, m.LR))
		}
		if peDecay {
			name += fmt.Sprintf("_pewd%g", orElse(m.PEWeightDecay, m.WeightDecay))
		}
		if seen[name] {
			name += fmt.Sprintf("_member%d", i)
		}
		seen[name], names[i] = true, name
	}
	return names
}
