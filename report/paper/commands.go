package paper

import (
	"fmt"
	"strings"
)

// The commands that make what is missing. They are those of the paper's own size in the reading at hand.

// trainLST is the command that trains an encoding on puzzles, with further flags.
func (s *Study) trainLST(pe string, flags ...string) string {
	fidelity := s.Fidelity
	if fidelity == "" {
		fidelity = "code"
	}
	all := append([]string{"torchpe train --task lst --fidelity", fidelity, "--pe", pe, "--seeds paper"}, flags...)
	return strings.Join(all, " ") + " --out runs/lst-" + strings.Trim(pe+strings.ReplaceAll(strings.Join(flags, ""), " ", ""), "-")
}

// trainMasked is the command that trains an encoding on a task of masked prediction.
func trainMasked(task, pe string, level float64) string {
	out := fmt.Sprintf("torchpe train --task %s --pe %s --seeds 1,2,3", task, pe)
	if level != 0.5 {
		out += fmt.Sprintf(" --mask-level %g", level)
	}
	return fmt.Sprintf("%s --out runs/%s-%s-mask%g", out, task, pe, 100*level)
}
