package paper

import (
	"fmt"
	"slices"
	"strconv"

	"torchpe/report/figure"
	"torchpe/report/stats"
)

// table1 and its like set printed numbers beside ours.
func (s *Study) accuracyTable(d *draft, printed string, all []Group) error {
	if len(all) == 0 {
		return nil
	}
	t, err := beside(printed, all, quantity{name: "validation", heading: "validation", of: validation}, quantity{name: "train", heading: "training", of: training})
	if err != nil {
		return err
	}
	t.Title = d.Title
	d.Caption = fmt.Sprintf("Final accuracies, %s epochs in the paper and %s here.", "4,000", epochs(modelsOf(all)))
	d.table("", t)
	return nil
}

func (s *Study) table1(d *draft) error {
	s.missingEncodings(d, s.onPuzzles("table1"), "", commonOrder)
	if err := s.accuracyTable(d, "1", common(s.mainGroups())); err != nil {
		return err
	}
	if text := pairedText(s.mainGroups()); text != "" {
		d.Caption += " 2d-fixed against learn-0.2, paired by seed: " + text + " (the paper prints t(13) = .96, p = .35; 15 pairs have 14 degrees of freedom)."
	}
	return nil
}

// pairedText compares learn-0.2 with the ground truth's encoding over the seeds that both have.
func pairedText(all []Group) string {
	fixed, small := only(all, reference), only(all, "learn-0.2")
	if fixed == nil || small == nil {
		return ""
	}
	var a, b []float64
	for _, m := range fixed[0].Models {
		at := slices.IndexFunc(small[0].Models, func(o Model) bool { return o.Member.Seed == m.Member.Seed })
		if at >= 0 {
			a, b = append(a, validation(m)), append(b, validation(small[0].Models[at]))
		}
	}
	test, err := stats.PairedT(a, b)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("t(%g) = %s, %s", test.DF, decimals(test.Statistic, 2), pText(test.P))
}

func (s *Study) tableA2(d *draft) error {
	s.missingSigmas(d, s.onPuzzles("fig2"), "", mainSigmas())
	return s.accuracyTable(d, "A2", learned(s.mainGroups()))
}

func (s *Study) tableA3(d *draft) error {
	all := learned(s.mainGroups())
	if !s.compared(d, all) {
		return nil
	}
	t, err := beside("A3", all, quantity{name: "cosine", heading: "attention cosine", of: Model.cosine})
	if err != nil {
		return err
	}
	t.Title = d.Title
	d.Caption = pooling + " The paper does not say how it pooled."
	d.table("", t)
	return nil
}

// withOptimizer are the models of an optimizer.
func (s *Study) withOptimizer(name string) []Group {
	v := s.Main()
	v.Optimizer = name
	return groups(s.Puzzles(v))
}

// withDecay are the models with weight decay: by AdamW, as in the published code, else by Adam.
func (s *Study) withDecay(decay float64) []Group {
	v := s.Main()
	v.Decay, v.Optimizer = decay, "adamw"
	if all := groups(s.Puzzles(v)); all != nil {
		return all
	}
	v.Optimizer = "adam"
	return groups(s.Puzzles(v))
}

// withHeads are the models with several heads.
func (s *Study) withHeads(n int) []Group {
	v := s.Main()
	v.Heads = n
	return groups(s.Puzzles(v))
}

// optimizerSigmas are the sigmas of the study of optimizers.
var optimizerSigmas = []float64{0.01, 0.05, 0.1, 0.2}

func ofSigmas(all []Group, sigmas []float64) []Group {
	return slices.DeleteFunc(learned(all), func(g Group) bool { return !slices.Contains(sigmas, g.Sigma) })
}

func (s *Study) figA7(d *draft) error {
	sgd, adam := ofSigmas(s.withOptimizer("sgd"), optimizerSigmas), ofSigmas(s.mainGroups(), optimizerSigmas)
	s.missingOptimizers(d)
	if len(sgd)+len(adam) == 0 {
		return nil
	}
	sgdLines, t, err := courses(sgd, byEpoch, "epoch", trainAndValidation())
	if err != nil {
		return err
	}
	adamLines, t2, err := courses(adam, byEpoch, "epoch", trainAndValidation())
	if err != nil {
		return err
	}
	d.row(plotHeight, accuracyLines("SGD", "Validation accuracy", sgdLines["validation"]), accuracyLines("Adam", "Validation accuracy", adamLines["validation"]))
	d.row(plotHeight, besideBySigma(sgd, adam))
	d.Caption = fmt.Sprintf("Encodings that start very small, trained by SGD and by Adam (%s).", epochs(append(modelsOf(sgd), modelsOf(adam)...)))
	d.table("", perModel("Accuracy by optimizer", append(modelsOf(sgd), modelsOf(adam)...), accuracyColumns...))
	d.table("_sgd_curves", t)
	d.table("_adam_curves", t2)
	return nil
}

// besideBySigma draws the validation accuracy by SGD beside that by Adam, for each sigma that either has.
func besideBySigma(sgd, adam []Group) figure.Panel {
	b := figure.Bars{Title: "SGD and Adam, after training", XLabel: "Initial σ", YLabel: "Validation accuracy", References: chanceLine}
	for _, sigma := range optimizerSigmas {
		pair := figure.BarGroup{Label: strconv.FormatFloat(sigma, 'g', -1, 64), Bars: []figure.Bar{{Label: "SGD"}, {Label: "Adam"}}}
		for i, all := range [][]Group{sgd, adam} {
			for _, g := range all {
				if g.Sigma == sigma {
					pair.ColorOf = g.Label
					pair.Bars[i].Values = append(pair.Bars[i].Values, g.values(validation)...)
				}
			}
		}
		if pair.ColorOf != "" {
			b.Groups = append(b.Groups, pair)
		}
	}
	return b
}

// missingOptimizers notes what the study of optimizers lacks.
func (s *Study) missingOptimizers(d *draft) {
	bySGD := modelsOf(s.withOptimizer("sgd"))
	flags := []string{"--optimizer sgd"}
	if len(bySGD) == 0 {
		flags = append(flags, "--lr 1e-3") // the paper's
	}
	s.missingSigmas(d, s.variant("figA7", bySGD, flags...), " trained by SGD", optimizerSigmas)
	s.missingSigmas(d, s.onPuzzles("figA7"), " trained by Adam", optimizerSigmas)
}

func (s *Study) tableA4(d *draft) error {
	sgd, adam := ofSigmas(s.withOptimizer("sgd"), optimizerSigmas), ofSigmas(s.mainGroups(), optimizerSigmas)
	s.missingOptimizers(d)
	if len(sgd)+len(adam) == 0 {
		return nil
	}
	t, err := beside("A4", nil, quantity{name: "adam", heading: "Adam", of: validation, groups: adam}, quantity{name: "sgd", heading: "SGD", of: validation, groups: sgd})
	if err != nil {
		return err
	}
	t.Title = d.Title
	d.Caption = "Validation accuracy."
	d.table("", t)
	return nil
}

// paperDecay is the weight decay of the paper's variant.
const paperDecay = 0.1

const withDecayText = " with weight decay 0.1"

// decayed is the experiment with weight decay.
func (s *Study) decayed() experiment {
	models := modelsOf(s.withDecay(paperDecay))
	optimizer := "adamw"
	if len(models) > 0 {
		optimizer = models[0].Variant.Optimizer
	}
	return s.variant("figA8", models, "--optimizer "+optimizer, fmt.Sprintf("--weight-decay %g", paperDecay))
}

func (s *Study) figA8(d *draft) error {
	all := s.withDecay(paperDecay)
	byS, others := learned(all), common(all)
	s.missingSigmas(d, s.decayed(), withDecayText, mainSigmas())
	s.missingEncodings(d, s.decayed(), withDecayText, commonOrder)
	if len(all) == 0 {
		return nil
	}
	lines, t, err := courses(exemplars(byS), byEpoch, "epoch", trainAndValidation())
	if err != nil {
		return err
	}
	d.row(plotHeight, accuracyLines("Training", "Training accuracy", lines["train"]), accuracyLines("Generalisation", "Validation accuracy", lines["validation"]))
	d.row(plotHeight, boxes("Generalisation by initial σ", "Validation accuracy", byS, true, validation, chanceLine...))
	d.row(plotHeight, boxes("Common encodings", "Validation accuracy", others, false, validation, chanceLine...))
	d.Caption = fmt.Sprintf("As figures 2 and A10, with a weight decay of %g (%s).", paperDecay, epochs(modelsOf(all)))
	d.table("", perModel("Accuracy with weight decay", modelsOf(all), accuracyColumns...))
	d.table("_curves", t)
	return nil
}

func (s *Study) tableA5(d *draft) error {
	s.missingSigmas(d, s.decayed(), withDecayText, mainSigmas())
	return s.accuracyTable(d, "A5", learned(s.withDecay(paperDecay)))
}

func (s *Study) tableA6(d *draft) error {
	s.missingEncodings(d, s.decayed(), withDecayText, commonOrder)
	return s.accuracyTable(d, "A6", common(s.withDecay(paperDecay)))
}

func (s *Study) figA15(d *draft) error {
	var shown []Model
	for _, heads := range []int{2, 4} {
		all := s.withHeads(heads)
		e, with := s.variant("figA15", modelsOf(all), fmt.Sprintf("--heads %d", heads)), fmt.Sprintf(" with %d heads", heads)
		s.missingSigmas(d, e, with, mainSigmas())
		s.missingEncodings(d, e, with, commonOrder)
		if len(all) == 0 {
			continue
		}
		lines, t, err := courses(common(all), byEpoch, "epoch", trainAndValidation())
		if err != nil {
			return err
		}
		d.row(plotHeight, boxes(fmt.Sprintf("%d heads, common encodings", heads), "Validation accuracy", common(all), false, validation, chanceLine...),
			boxes(fmt.Sprintf("%d heads, training", heads), "Training accuracy", common(all), false, training, chanceLine...))
		d.row(plotHeight, boxes(fmt.Sprintf("%d heads, by initial σ", heads), "Validation accuracy", learned(all), true, validation, chanceLine...),
			accuracyLines(fmt.Sprintf("%d heads, over training", heads), "Validation accuracy", lines["validation"]))
		d.table(fmt.Sprintf("_%dheads_curves", heads), t)
		shown = append(shown, modelsOf(all)...)
	}
	if shown != nil {
		d.table("", perModel("Accuracy with several heads", shown, append([]measureColumn{{"heads", "heads", func(m Model) float64 { return float64(m.Variant.Heads) }}}, accuracyColumns...)...))
		d.Caption = fmt.Sprintf("Attention with 2 and with 4 heads (%s).", epochs(shown))
	}
	return nil
}
