package train

import (
	"fmt"
	"slices"

	"torchpe/train/config"
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

// curveNames names each member by its PE and seed, learn-0.2_seed1, and by the settings and the number
// that tell it from the others.
func curveNames(c Config) []string {
	names := make([]string, len(c.Members))
	var differing []config.Setting
	for _, s := range config.MemberSettings() {
		own := func(m Member) float64 { return orElse(s.Own(m), -1) }
		differs := func(m Member) bool { return own(m) != own(c.Members[0]) }
		if s.CurveName != "" && slices.ContainsFunc(c.Members, differs) {
			differing = append(differing, s)
		}
	}
	seen := map[string]bool{}
	for i, m := range c.Members {
		name := runlog.CurveName(c.PE, m.Sigma, m.Seed)
		for _, s := range differing {
			if of := s.Of(m); of != nil {
				name += fmt.Sprintf("_%s%g", s.CurveName, *of)
			}
		}
		if seen[name] {
			name += fmt.Sprintf("_member%d", i)
		}
		seen[name], names[i] = true, name
	}
	return names
}
