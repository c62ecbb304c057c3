package sweep

import "slices"

// Evidence: the paper's claims on fitted models that are small enough for a CPU.
//
//	torchpe sweep evidence --lst-train FILE... --lst-validation FILE --out evidence && torchpe report evidence
//
// Models of width 64, each until its training accuracy is .99, 400 epochs at most (of the wide ones
// likewise). results/evidence has the results.
var (
	evidence = Preset{
		Name:  "evidence",
		About: "the paper's claims on small models that have fitted, on a CPU", Runs: 173,
		Spec: Spec{Name: "evidence", Parts: slices.Concat([]Part{
			// Table 1 and figure A10: 8 encodings x 5 seeds = 40 runs.
			narrow("learned", evidenceSeeds, learn, sigmas("0.2")),
			narrow("common", evidenceSeeds, common),
			// Figures 2, 3 and tables A2, A3 on eight σ: 40 runs, 5 of which Table 1 has.
			narrow("sigma", evidenceSeeds, learn, sigmas("0.2", "2", "0.1", "0.5", "1", "1.5", "0.7", "0.01")),
		},
			evidenceVariants(),
			// Figure 4: 8 encodings x 3 seeds of 10,000 steps.
			maskedParts("1,2,3", atInput, set("device", "cpu", "task", "nmar", "steps", "10000", "threads", "1")...),
		)},
	}
	evidenceWide = Preset{
		Name: "evidence-wide", About: "Table 1 of them at the paper's width", Runs: 16,
		Spec: Spec{Name: "evidence-wide", Parts: []Part{
			wide("learned", learn, sigmas("0.2")),
			wide("common", common),
		}},
	}
)

// evidenceSeeds lists the first five seeds of the published runs.
const evidenceSeeds = "2235,6312,6068,9742,8880"

// untilFitted returns the settings that all grids of evidence share.
func untilFitted(preset string) []Axis {
	return set("device", "cpu", "preset", preset, "until", "train=0.99", "epochs", "400",
		"tangent-puzzles", "64", "threads", "1")
}

func narrow(name, seeds string, axes ...Axis) Part {
	return Part{Name: name, Axes: clones(untilFitted("quick"), axes...), Seeds: seeds}
}

func wide(name string, axes ...Axis) Part {
	return Part{Name: name, Axes: clones(untilFitted("lst"), axes...), Seeds: "2235,6312"}
}

// evidenceVariants returns the ablation of placement and read-out, the learning rates, starts of one
// norm, optimizers and heads.
func evidenceVariants() []Part {
	const three, two = "2235,6312,6068", "2235,6312"
	parts := []Part{
		narrow("ablation", three, axis("pe-placement", "block", "input"),
			axis("read-out", "last", "probe"), learn, sigmas("0.2", "1", "2")),
		narrow("learning rate", two, axis("lr", "1e-4", "3e-4", "1e-3"), learn, sigmas("0.1", "0.5", "2")),
		narrow("the PE's own learning rate", two, learn, sigmas("2"), axis("pe-lr", "3e-3")),
		narrow("norm of 2d-fixed", two, learn, axis("pe-init", "matched:2d-fixed")),
		narrow("low rank", two, learn, sigmas("0.2", "2"), axis("pe-init", "low-rank:2")),
	}
	for _, v := range [][]Axis{
		set("optimizer", "sgd", "lr", "3e-2"),
		set("optimizer", "adamw", "weight-decay", "0.1"),
		set("heads", "2"),
	} {
		name := v[0].Flag + " " + v[0].Values[0]
		parts = append(parts, narrow(name, three, clones(v, learn, sigmas("0.2", "2"))...),
			narrow(name+", ground truth", three, clones(v, axis("pe", "2d-fixed"))...))
	}
	return parts
}
