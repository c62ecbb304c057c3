package paper

import (
	"torchpe/internal/paper"
	"torchpe/report/internal/synthetic"
)

// paperRuns returns runs for every table and figure of the paper, with the given seeds.
func paperRuns(sigmas []float64, seeds []int) []synthetic.Run {
	var all []synthetic.Run
	lst := func(base synthetic.Run) {
		base.Task, base.Seeds = "lst", seeds
		for _, pe := range paper.Encodings() {
			if pe == paper.Learned {
				continue
			}
			r := base
			r.PE = pe
			all = append(all, r)
		}
		for _, sigma := range sigmas {
			r := base
			r.PE, r.Sigma = "learn", sigma
			all = append(all, r)
		}
	}
	lst(synthetic.Run{})
	lst(synthetic.Run{Decay: .1, Optimizer: "adamw"})
	lst(synthetic.Run{Heads: 2})
	lst(synthetic.Run{Heads: 4})
	for _, sigma := range paper.OptimizerSigmas() {
		all = append(all, synthetic.Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds, Optimizer: "sgd"})
		if sigma < .1 {
			all = append(all, synthetic.Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds})
		}
	}
	for _, reading := range [][2]string{{"block", "probe"}, {"input", "last"}, {"input", "probe"}} {
		for _, sigma := range []float64{.2, 1, 2} {
			all = append(all, synthetic.Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds,
				Placement: reading[0], ReadOut: reading[1]})
		}
	}
	for _, task := range []string{"nmar", "fmri"} {
		for _, level := range []float64{.5, .15, .75, .9} {
			if task == "nmar" && level != .5 {
				continue
			}
			for _, pe := range []string{"1d-fixed", "relative", "rope", "random"} {
				all = append(all, synthetic.Run{Task: task, PE: pe, Seeds: seeds, MaskLevel: level})
			}
			for _, sigma := range paper.MaskedSigmas() {
				all = append(all, synthetic.Run{Task: task, PE: "learn", Sigma: sigma, Seeds: seeds, MaskLevel: level})
			}
		}
	}
	return all
}
