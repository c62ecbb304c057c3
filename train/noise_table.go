package train

import (
	"fmt"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Table returns headings and rows: a row a member and a column an amplitude.
func (r NoiseReport) Table() (head []string, rows [][]string) {
	accuracy := func(v float64) string { return runlog.FormatMeasure("noise/SD", v) }
	head = []string{"PE", "sigma", "seed", "without"}
	for _, a := range r.Amplitudes {
		head = append(head, fmt.Sprintf("a = %g", a))
	}
	for _, m := range r.Members {
		seed := fmt.Sprint(m.Seed)
		if m.DivergedAtStep > 0 {
			seed += fmt.Sprintf(" (diverged at step %d)", m.DivergedAtStep)
		}
		row := []string{m.PE, config.NumberText(m.Sigma), seed, accuracy(m.ValidationAccuracy)}
		for _, level := range m.Noise {
			text := accuracy(level.Mean)
			if level.SD != nil {
				text += " ± " + accuracy(*level.SD)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return head, rows
}
