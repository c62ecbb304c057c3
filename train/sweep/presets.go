package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
	"torchpe/internal/wording"
)

// Preset is a sweep behind figures and tables of the paper, in their present numbering. All follow
// the published code, which produced the printed numbers; --fidelity text follows the text.
type Preset struct {
	Name  string
	About string
	Runs  int // that Spec expands to
	Spec  Spec
}

// Presets lists the presets, the small ones after those of the paper.
func Presets() []Preset {
	return []Preset{table1, fig2, fig3, fig4, fig5, figA7, figA8, figA11, figA12, figA13, figA14,
		figA15, ablation, wholePaper, quick, evidence, evidenceWide,
		lengths, lengthsQuick}
}

// FindPreset returns the preset of that name.
func FindPreset(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name || p.Name == ablation.Name && name == "corners" { // its name once
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("%q is neither a file nor a preset; the presets are %s%s", name,
		strings.Join(names, ", "), wording.Hint(name, names))
}

// The values that grids of the paper share.
var (
	// common are the encodings of Table 1 without learn-0.2, in its order.
	common          = axis("pe", paper.WithoutSigma()...)
	mainSigmas      = sigmaGrid(paper.Sigmas())
	optimizerSigmas = sigmaGrid(paper.OptimizerSigmas())
	maskedSigmas    = sigmaGrid(paper.MaskedSigmas())
	learn           = axis("pe", "learn")
)

const paperSeeds = "paper" // the 15 of the published runs

func axis(flag string, values ...string) Axis { return Axis{flag, values} }

func sigmas(values ...string) Axis { return axis("sigma", values...) }

// sigmaGrid is the axis of σ with these values.
func sigmaGrid(values []float64) Axis {
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return sigmas(texts...)
}

// set returns axes of one value from flags and their values in turn.
func set(pairs ...string) (out []Axis) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, axis(pairs[i], pairs[i+1]))
	}
	return out
}

// lst returns a grid on puzzles at the paper's size, over its 15 seeds.
func lst(name string, axes ...Axis) Part {
	return Part{Name: name, Axes: append([]Axis{axis("task", "lst")}, axes...), Seeds: paperSeeds}
}

// union joins presets to one sweep; runs that two have are trained once.
func union(name string, presets ...Preset) Spec {
	s := Spec{Name: name}
	for _, p := range presets {
		s.Parts = append(s.Parts, p.Spec.Parts...)
	}
	return s
}

// Table 1 and Figure A10: learned at σ = 0.2 and the common encodings.
//
//	torchpe sweep table1 --out table1 && torchpe report table1
//
// 8 encodings x 15 seeds = 120 runs of 4,000 epochs. Expected validation accuracy (SD): 2d-fixed
// .977 (.073), learn-0.2 .956 (.039), relative .920 (.042), random .888 (.046), rope .805 (.115),
// 1d-fixed .781 (.185), nope .334 (.020), c-nope .314 (.042).
var table1 = Preset{
	Name: "table1", About: "Table 1, Figure A10: learn-0.2 and the common encodings", Runs: 120,
	Spec: Spec{Name: "table1", Parts: []Part{
		lst("learned", learn, sigmas("0.2")),
		lst("common", common),
	}},
}

// Figure 2 and Table A2: accuracy by the σ that a learned encoding starts with.
//
//	torchpe sweep fig2 --out fig2 && torchpe report fig2
//
// 20 σ x 15 seeds = 300 runs of 4,000 epochs. Expected: training accuracy 1 everywhere; validation
// accuracy falls from .956 at σ = 0.2 over .894 at 1 to .377 at 2.
var fig2 = Preset{
	Name: "fig2", About: "Figure 2, Table A2: accuracy by initial sigma", Runs: 300,
	Spec: Spec{Name: "fig2", Parts: []Part{lst("sigma", learn, mainSigmas)}},
}

// Figures 3 and A9 and Table A3: attention maps and encodings beside those of 2d-fixed.
//
//	torchpe sweep fig3 --out fig3 && torchpe report fig3
//
// Figure 2's 300 runs and 15 of 2d-fixed = 315. Expected: cosine of attention maps from .836 at σ =
// 0.1 to .577 at 2; its Spearman correlation with validation accuracy over σ is .96, that of the
// Procrustes distance -.98.
var fig3 = Preset{
	Name: "fig3", About: "Figures 3 and A9, Table A3: attention and encodings near the ground truth", Runs: 315,
	Spec: Spec{Name: "fig3", Parts: []Part{lst("sigma", learn, mainSigmas),
		lst("truth", axis("pe", "2d-fixed"))}},
}

// Figure A7 and Table A4: optimizers.
//
//	torchpe sweep figA7 --out figA7 && torchpe report figA7
//
// 2 optimizers x 4 σ x 15 seeds = 120 runs. Expected validation accuracy at σ = .01, .05, .1, .2:
// Adam .588, .836, .925, .956; SGD .885, .941, .947, .930.
var figA7 = Preset{
	Name: "figA7", About: "Figure A7, Table A4: Adam and SGD", Runs: 120,
	Spec: Spec{Name: "figA7", Parts: []Part{{
		Name: "optimizers", Seeds: paperSeeds,
		Axes: []Axis{axis("task", "lst"), learn, optimizerSigmas,
			axis("optimizer", "adam", "sgd"), axis("lr", "1e-4", "1e-3")},
		Zip: [][]string{{"optimizer", "lr"}},
	}}},
}

// Figure A8 and Tables A5 and A6: AdamW with weight decay 0.1.
//
//	torchpe sweep figA8 --out figA8 && torchpe report figA8
//
// 20 σ and 7 common encodings, x 15 seeds = 405 runs. Expected validation accuracy: .996 at σ =
// 0.1, .993 at 1, .586 at 2; 2d-fixed .997, random .987, relative .965, rope .959, 1d-fixed .872,
// c-nope .352, nope .322.
var figA8 = Preset{
	Name: "figA8", About: "Figure A8, Tables A5 and A6: AdamW with weight decay 0.1", Runs: 405,
	Spec: Spec{Name: "figA8", Parts: []Part{
		lst("sigma", axis("optimizer", "adamw"), axis("weight-decay", "0.1"), learn, mainSigmas),
		lst("common", axis("optimizer", "adamw"), axis("weight-decay", "0.1"), common),
	}},
}

// Figure A11: robustness to noise on the embeddings, which runs on puzzles measure at their end.
//
//	torchpe sweep figA11 --out figA11 && torchpe report figA11
//
// It needs no runs of its own: Figure 2's 300 and Table 1's 105 of common encodings = 405.
// Expected: accuracy falls with the amplitude, and small σ stay ahead (no numbers printed).
var figA11 = Preset{
	Name: "figA11", Runs: 405,
	About: "Figure A11: noise on the token embeddings (Figure 2's runs and the common encodings)",
	Spec:  Spec{Name: "figA11", Parts: []Part{lst("sigma", learn, mainSigmas), lst("common", common)}},
}

// Figure A15: attention with 2 and with 4 heads.
//
//	torchpe sweep figA15 --out figA15 && torchpe report figA15
//
// 2 numbers of heads x (20 σ and 7 common encodings) x 15 seeds = 810 runs. Expected: the order of
// one head (no numbers printed).
var figA15 = Preset{
	Name: "figA15", About: "Figure A15: 2 and 4 heads", Runs: 810,
	Spec: Spec{Name: "figA15", Parts: []Part{
		lst("sigma", axis("heads", "2", "4"), learn, mainSigmas),
		lst("common", axis("heads", "2", "4"), common),
	}},
}

// Beyond the paper: which of two undocumented choices carries its effect, where the PE is added or
// from which token the answer is read.
//
//	torchpe sweep ablation --out ablation && torchpe report ablation
//
// 2 placements x 2 read-outs x 20 σ x 15 seeds = 1,200 runs; those in the reading of the published
// code are Figure 2's. Expected: at σ = 2 only the runs that add the PE in every block fail to generalise
// (validation accuracy after 24 epochs, one seed: .204 and .250 in every block, .815 and .944 at
// the input).
var ablation = Preset{
	Name: "ablation", About: "beyond the paper: placement of the PE x read-out, by sigma", Runs: 1200,
	Spec: Spec{Name: "ablation", Parts: []Part{
		lst("ablation", axis("pe-placement", "block", "input"), axis("read-out", "last", "probe"),
			learn, mainSigmas),
	}},
}

// The whole paper, and the ablation.
//
//	torchpe sweep paper --out paper && torchpe report paper
//
// The presets above without repetition: 105 (Table 1 without learn-0.2, which is Figure 2's) +
// 1,200 (ablation, Figure 2 among them) + 90 (A7: SGD, and Adam at two σ that Figure 2 lacks) + 405
// (A8) + 810 (A15) + 120 (4) + 4 x 120 (5, A12 to A14) = 3,210 runs.
var wholePaper = Preset{
	Name: "paper", About: "all of the above", Runs: 3210,
	Spec: union("paper", table1, fig2, fig3, fig4, fig5, figA7, figA8, figA11, figA12, figA13,
		figA14, figA15, ablation),
}

// clones returns axes followed by more, in a slice of its own.
func clones(axes []Axis, more ...Axis) []Axis { return slices.Concat(axes, more) }
