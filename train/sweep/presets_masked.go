package sweep

// maskedParts is a grid of masked prediction over the paper's eight variants: 4 encodings without σ, and learned ones at 4 σ.
// settings are those of the task. Encodings that are added as a table have a placement, the others none.
func maskedParts(seeds string, tabled []Axis, settings ...Axis) []Part {
	return []Part{
		{Name: "learned", Axes: clones(settings, clones(tabled, learn, maskedSigmas)...), Seeds: seeds},
		{Name: "tables", Axes: clones(settings, clones(tabled, axis("pe", "1d-fixed", "random"))...), Seeds: seeds},
		{Name: "attention", Axes: clones(settings, axis("pe", "relative", "rope")), Seeds: seeds},
	}
}

// atInput is where the paper's text adds the PE. Its code for masked prediction is not published.
var atInput = []Axis{axis("pe-placement", "input")}

// Figure 4: masked prediction on a simulated network of 15 nodes in 3 modules.
//
//	torchpe sweep fig4 --out fig4 && torchpe report fig4
//
// 8 variants x 6 seeds (the figure's n) = 48 runs of 50,000 steps. Expected: learned encodings that start at σ = 0.1 have the highest
// modularity, those at 2 none; test errors do not differ (F = .24, p = .97).
var fig4 = Preset{
	Name: "fig4", About: "Figure 4: simulated network", Runs: 48,
	Spec: Spec{Name: "fig4", Parts: maskedParts("1,2,3,4,5,6", atInput, axis("task", "nmar"))},
}

// fmri is masked prediction on human fMRI, a surrogate unless --data names files, with a share of tokens masked in training. The
// paper does not say how many seeds it ran: 8 variants x 3 seeds = 24 runs of 50,000 steps.
func fmri(name, about, level string) Preset {
	return Preset{
		Name: name, About: about, Runs: 24,
		Spec: Spec{Name: name, Parts: maskedParts("1,2,3", atInput, axis("task", "fmri"), axis("mask-level", level))},
	}
}

// Figures 5 and 6: human fMRI, half of the parcels masked in training, 90 % in tests; networks in the learned encodings.
//
//	torchpe sweep fig5 --data rest/ --modules LabelKey.txt --out fig5 && torchpe report fig5
//
// 24 runs. Expected: learn-0.1 has the lowest test error and, with learn-0.2, the highest modularity and clustering.
var fig5 = fmri("fig5", "Figures 5 and 6: human fMRI, 50 % masked", "0.5")

// Figures A12, A13 and A14: the same with 15, 75 and 90 % masked in training.
//
//	torchpe sweep figA12 --data rest/ --modules LabelKey.txt --out figA12 && torchpe report figA12
//
// 24 runs each. Expected: as Figures 5 and 6, with random closer to the learned ones.
var (
	figA12 = fmri("figA12", "Figure A12: human fMRI, 15 % masked", "0.15")
	figA13 = fmri("figA13", "Figure A13: human fMRI, 75 % masked", "0.75")
	figA14 = fmri("figA14", "Figure A14: human fMRI, 90 % masked", "0.9")
)

// A reduced grid of the whole paper: small models, few epochs, one or two seeds, a surrogate of fMRI.
//
//	torchpe sweep quick --out reproduce && torchpe report reproduce
//
// 103 runs, half an hour on two cores. Expected: every figure and table of the report; learned encodings on puzzles generalise at
// small σ and not at 2; modules in the encodings of the simulation and the surrogate at small σ alone.
var quick = Preset{
	Name: "quick", About: "a reduced grid of the paper on a CPU, half an hour", Runs: 103,
	Spec: Spec{Name: "quick", Parts: quickParts()},
}

func quickParts() []Part {
	small := func(epochs, seeds string, axes ...Axis) Part {
		return Part{Axes: clones([]Axis{axis("device", "cpu"), axis("preset", "quick"), axis("epochs", epochs)}, axes...), Seeds: seeds}
	}
	sigmas := func(values ...string) Axis { return axis("sigma", values...) }
	parts := []Part{
		small("20", "1,2", learn, sigmas("0.1", "0.2", "0.5", "1", "1.5", "2")),
		small("20", "1,2", common),
		small("20", "1", learn, sigmas("0.01", "0.05")),
		small("8", "1", learn, sigmas("0.01", "0.05", "0.1", "0.2"), axis("optimizer", "sgd"), axis("lr", "1e-3")),
		small("8", "1", learn, sigmas("0.1", "0.2", "1", "2"), axis("weight-decay", "0.1")),
		small("8", "1", common, axis("weight-decay", "0.1")),
		small("8", "1", axis("heads", "2", "4"), learn, sigmas("0.2", "2")),
		small("8", "1", axis("heads", "2", "4"), axis("pe", "2d-fixed", "relative", "rope", "1d-fixed", "nope")),
	}
	for _, corner := range [][2]string{{"block", "probe"}, {"input", "last"}, {"input", "probe"}} {
		parts = append(parts, small("20", "1", axis("pe-placement", corner[0]), axis("read-out", corner[1]), learn, sigmas("0.2", "2")))
	}
	parts = append(parts, maskedParts("1", atInput, axis("device", "cpu"), axis("task", "nmar"), axis("steps", "3000"), axis("batch", "32"), axis("lr", "1e-3"),
		axis("nmar-frames", "10000"), axis("test-frames", "256"))...)
	for _, level := range [][2]string{{".5", "600"}, {".15", "300"}, {".75", "300"}, {".9", "300"}} {
		parts = append(parts, maskedParts("1", atInput, axis("device", "cpu"), axis("task", "fmri"), axis("surrogate", "subjects=6,frames=400"), axis("batch", "4"),
			axis("lr", "1e-3"), axis("test-frames", "64"), axis("mask-level", level[0]), axis("steps", level[1]))...)
	}
	return parts
}
