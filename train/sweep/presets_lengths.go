package sweep

import "torchpe/data/sequence"

// Length generalization: encodings x formal languages, trained on short inputs, measured on longer.
//
//	torchpe sweep lengths-quick --out lengths && torchpe report lengths
//
// lengths has the size of Ruoss et al. 2023 and their encodings, plain and with drawn positions: 11 x
// 15 languages x 3 learning rates x 10 seeds = 4,950 runs of 2,000,000 steps. lengths-quick is for a
// CPU: t5 in place of drawn rows and drawn alibi, 10 x 5 languages x 3 seeds, each until its IID
// accuracy is .99. results/lengths-cpu has the results.
var (
	lengths = Preset{
		Name: "lengths", About: "longer inputs than in training: 15 languages, published size", Runs: 4950,
		Spec: Spec{Name: "lengths", Parts: lengthsParts("1:10", "500",
			clones(set("preset", "sequence", "dropout", "0.1"),
				axis("sequence", sequence.Names(sequence.Published())...), axis("lr", "1e-4", "3e-4", "1e-3")),
			drawn("alibi"), drawn("learn"))},
	}
	lengthsQuick = Preset{
		Name: "lengths-quick", About: "five of the languages, small models, on a CPU", Runs: 150,
		Spec: Spec{Name: "lengths-quick", Parts: lengthsParts("1,2,3", "100",
			clones(set("preset", "sequence-quick", "until", "iid=0.99", "log-every", "500", "device", "cpu", "threads",
				"1"),
				axis("sequence", "even-pairs", "parity-check", "reverse-string", "missing-duplicate",
					"bucket-sort")),
			set("pe", "t5"))},
	}
)

// lengthsParts returns a grid over the encodings that both presets have, and more. Learned tables
// have places for inputs of the given length.
func lengthsParts(seeds, places string, settings []Axis, more ...[]Axis) (parts []Part) {
	for _, encoding := range append([][]Axis{
		set("pe", "nope"),
		set("pe", "1d-fixed", "pe-placement", "input", "fixed-pe-dropout", "0"),
		set("pe", "learn", "sigma", "0.2", "pe-placement", "input", "places", places),
		set("pe", "transformer-xl", "xl-direction", "bidirectional"),
		set("pe", "alibi", "alibi", "sided"),
		set("pe", "rope"),
		drawn("sinusoid"), drawn("transformer-xl"), drawn("rope"),
	}, more...) {
		name := encoding[0].Values[0]
		if name == "random" {
			name += " " + encoding[len(encoding)-1].Values[0]
		}
		parts = append(parts, Part{Name: name, Axes: clones(settings, encoding...), Seeds: seeds})
	}
	return parts
}

// drawn returns the settings of an encoding with drawn positions, of the given kind.
func drawn(base string) []Axis {
	return set("pe", "random", "random", "ruoss", "pe-placement", "input", "random-base", base)
}
