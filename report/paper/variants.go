package paper

import (
	"fmt"
	"slices"

	"torchpe/report/stats"
)

// table1 and its like set printed numbers beside ours.
func (s *Study) accuracyTable(d *draft, printed string, all []Group, flags ...string) error {
	if len(all) == 0 {
		pe := "learn"
		if printed == "1" || printed == "A6" {
			pe = reference
		}
		d.missing(s.trainLST(pe, flags...), "the models of this table")
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
	all := common(s.mainGroups())
	if err := s.accuracyTable(d, "1", all); err != nil || len(all) == 0 {
		return err
	}
	s.missingCommon(d, all)
	if text := pairedText(s.mainGroups()); text != "" {
		d.Caption += " 2d-fixed against learn-0.2, paired by seed: " + text + " (the paper prints .96, p = .35)."
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
	return s.accuracyTable(d, "A2", learned(s.mainGroups()), "--sigma 0.2")
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
	if len(sgd) == 0 {
		d.missing(s.trainLST("learn", "--sigma 0.01", "--optimizer sgd", "--lr 1e-3"), "models trained by SGD, σ of 0.01, 0.05, 0.1 and 0.2")
	}
	if len(adam) < len(optimizerSigmas) {
		d.missing(s.trainLST("learn", "--sigma 0.01"), "models trained by Adam, σ of 0.01, 0.05, 0.1 and 0.2")
	}
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
	d.row(plotHeight, boxes("SGD, after training", "Validation accuracy", sgd, true, validation, chanceLine...), boxes("Adam, after training", "Validation accuracy", adam, true, validation, chanceLine...))
	d.Caption = fmt.Sprintf("Encodings that start very small, trained by SGD and by Adam (%s).", epochs(append(modelsOf(sgd), modelsOf(adam)...)))
	d.table("_sgd_curves", t)
	d.table("_adam_curves", t2)
	return nil
}

func (s *Study) tableA4(d *draft) error {
	sgd, adam := ofSigmas(s.withOptimizer("sgd"), optimizerSigmas), ofSigmas(s.mainGroups(), optimizerSigmas)
	if len(sgd)+len(adam) == 0 {
		d.missing(s.trainLST("learn", "--sigma 0.01", "--optimizer sgd", "--lr 1e-3"), "models trained by SGD and by Adam, σ of 0.01, 0.05, 0.1 and 0.2")
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

func (s *Study) figA8(d *draft) error {
	all := s.withDecay(paperDecay)
	byS, others := learned(all), common(all)
	if len(byS) == 0 {
		d.missing(s.trainLST("learn", "--sigma 0.2", "--optimizer adamw", "--weight-decay 0.1"), "models with weight decay 0.1 and learned encodings of several σ")
	}
	if len(others) == 0 {
		d.missing(s.trainLST(reference, "--optimizer adamw", "--weight-decay 0.1"), "models with weight decay 0.1 and common encodings")
	}
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
	return s.accuracyTable(d, "A5", learned(s.withDecay(paperDecay)), "--sigma 0.2", "--optimizer adamw", "--weight-decay 0.1")
}

func (s *Study) tableA6(d *draft) error {
	return s.accuracyTable(d, "A6", common(s.withDecay(paperDecay)), "--optimizer adamw", "--weight-decay 0.1")
}

func (s *Study) figA15(d *draft) error {
	var shown []Model
	for _, heads := range []int{2, 4} {
		all := s.withHeads(heads)
		flag := fmt.Sprintf("--heads %d", heads)
		if len(learned(all)) == 0 {
			d.missing(s.trainLST("learn", "--sigma 0.2", flag), "models with %d heads and learned encodings", heads)
		}
		if len(common(all)) == 0 {
			d.missing(s.trainLST(reference, flag), "models with %d heads and common encodings", heads)
		}
		if len(all) == 0 {
			continue
		}
		lines, t, err := courses(common(all), byEpoch, "epoch", trainAndValidation())
		if err != nil {
			return err
		}
		d.row(plotHeight, boxes(fmt.Sprintf("%d heads, common encodings", heads), "Validation accuracy", common(all), false, validation, chanceLine...),
			boxes("", "Training accuracy", common(all), false, training, chanceLine...))
		d.row(plotHeight, boxes(fmt.Sprintf("%d heads, by initial σ", heads), "Validation accuracy", learned(all), true, validation, chanceLine...),
			accuracyLines("Generalisation", "Validation accuracy", lines["validation"]))
		d.table(fmt.Sprintf("_%dheads_curves", heads), t)
		shown = append(shown, modelsOf(all)...)
	}
	if shown != nil {
		d.table("", perModel("Accuracy with several heads", shown, append([]measureColumn{{"heads", "heads", func(m Model) float64 { return float64(m.Variant.Heads) }}}, accuracyColumns...)...))
		d.Caption = fmt.Sprintf("Attention with 2 and with 4 heads (%s).", epochs(shown))
	}
	return nil
}
