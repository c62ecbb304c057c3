package synthetic

// Sigmas is the paper's grid.
func Sigmas() []float64 {
	var all []float64
	for i := 1; i <= 20; i++ {
		all = append(all, float64(i)/10)
	}
	return all
}

// Paper returns runs for every table and figure of the paper, with the given seeds.
func Paper(sigmas []float64, seeds []int) []Run {
	var all []Run
	pes := []string{"2d-fixed", "relative", "random", "rope", "1d-fixed", "nope", "c-nope"}
	lst := func(base Run) {
		base.Task, base.Seeds = "lst", seeds
		for _, pe := range pes {
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
	lst(Run{})
	lst(Run{Decay: .1, Optimizer: "adamw"})
	lst(Run{Heads: 2})
	lst(Run{Heads: 4})
	for _, sigma := range []float64{.01, .05, .1, .2} {
		all = append(all, Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds, Optimizer: "sgd"})
		if sigma < .1 {
			all = append(all, Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds})
		}
	}
	for _, corner := range [][2]string{{"block", "probe"}, {"input", "last"}, {"input", "probe"}} {
		for _, sigma := range []float64{.2, 1, 2} {
			all = append(all, Run{Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds, Placement: corner[0], ReadOut: corner[1]})
		}
	}
	for _, task := range []string{"nmar", "fmri"} {
		for _, level := range []float64{.5, .15, .75, .9} {
			if task == "nmar" && level != .5 {
				continue
			}
			for _, pe := range []string{"1d-fixed", "relative", "rope", "random"} {
				all = append(all, Run{Task: task, PE: pe, Seeds: seeds, MaskLevel: level})
			}
			for _, sigma := range []float64{.1, .2, 1, 2} {
				all = append(all, Run{Task: task, PE: "learn", Sigma: sigma, Seeds: seeds, MaskLevel: level})
			}
		}
	}
	return all
}
