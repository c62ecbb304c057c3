package paper

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/paper"
	"torchpe/report/figure"
)

// accuracyTable adds the table of that number in the paper: printed accuracies beside ours.
func (d *draft) accuracyTable(printed string, all []group) {
	if len(all) == 0 {
		return
	}
	t := besidePrinted(printed, all, quantity{name: "validation", heading: "validation",
		of: validation}, quantity{name: "train", heading: "training", of: training},
		quantity{name: "iid", heading: "IID test", of: iid})
	t.Title = d.Title
	d.Caption = fmt.Sprintf("Final accuracies, %d,%03d epochs in the paper and %s here.",
		paper.Epochs/1000, paper.Epochs%1000, epochs(modelsOf(all))) + fitNote(modelsOf(all))
	d.table("", t)
}

func (s *Study) table1(d *draft) error {
	s.missingEncodings(d, s.onPuzzles("table1"), "", paper.Encodings())
	d.accuracyTable("1", common(s.mainGroups()))
	of := comparison{high: reference, low: "learn-0.2", of: validation, isPuzzle: true}.find(s.mainGroups())
	if of.test != "" {
		printed := paper.TruthTest()
		d.Caption += fmt.Sprintf(" %s less %s, paired by seed: %s (the paper prints t(%d) = %s, p = %s; "+
			"15 pairs have 14 degrees of freedom).", paper.Truth, paper.Learned, of.test,
			printed.DF, decimals(printed.T, 2), decimals(printed.P, 2))
	}
	return nil
}

func (s *Study) tableA2(d *draft) error {
	s.missingSigmas(d, s.onPuzzles("fig2"), "", paper.Sigmas())
	d.accuracyTable("A2", learned(s.mainGroups()))
	return nil
}

func (s *Study) tableA3(d *draft) error {
	all := learned(s.mainGroups())
	if !s.canCompare(d, all) {
		return nil
	}
	t := besidePrinted("A3", all, quantity{name: "cosine", heading: "attention cosine", of: Model.cosine})
	t.Title = d.Title
	d.Caption = poolingNote + " The paper does not say how it pooled."
	d.table("", t)
	return nil
}

// bySGD returns the models trained by SGD.
func (s *Study) bySGD() []group {
	v := s.mainVariant()
	v.Optimizer = "sgd"
	return groups(s.puzzles(v))
}

// withDecay returns the models with the paper's weight decay: by AdamW, as in the published code,
// else by Adam.
func (s *Study) withDecay() []group {
	v := s.mainVariant()
	v.Decay, v.Optimizer = paper.Decay, "adamw"
	if all := groups(s.puzzles(v)); all != nil {
		return all
	}
	v.Optimizer = "adam"
	return groups(s.puzzles(v))
}

// withHeads returns the models with several heads.
func (s *Study) withHeads(n int) []group {
	v := s.mainVariant()
	v.Heads = n
	return groups(s.puzzles(v))
}

func ofSigmas(all []group, sigmas []float64) []group {
	return slices.DeleteFunc(learned(all), func(g group) bool { return !slices.Contains(sigmas, g.Sigma) })
}

func (s *Study) figA7(d *draft) error {
	sgd, adam := ofSigmas(s.bySGD(), paper.OptimizerSigmas()), ofSigmas(s.mainGroups(), paper.OptimizerSigmas())
	s.missingOptimizers(d)
	if len(sgd)+len(adam) == 0 {
		return nil
	}
	sgdLines, t, err := courses(sgd, byEpoch, "epoch", accuracyCurves())
	if err != nil {
		return err
	}
	adamLines, t2, err := courses(adam, byEpoch, "epoch", accuracyCurves())
	if err != nil {
		return err
	}
	d.row(plotHeight, accuracyCourses("SGD: ", sgdLines)...)
	d.row(plotHeight, accuracyCourses("Adam: ", adamLines)...)
	d.row(plotHeight, besideBySigma(sgd, adam))
	both := append(modelsOf(sgd), modelsOf(adam)...)
	d.Caption = fmt.Sprintf("Encodings that start very small, trained by SGD and by Adam (%s).",
		epochs(both)) + fitNote(both) + stoppedNote(both)
	d.table("", perModel("Accuracy by optimizer", both))
	d.table("_sgd_curves", t)
	d.table("_adam_curves", t2)
	return nil
}

// besideBySigma draws the validation accuracy by SGD beside that by Adam, for each sigma that
// either has. Of groups of one sigma it takes that with the most models.
func besideBySigma(sgd, adam []group) figure.Panel {
	b := figure.Bars{Title: "SGD and Adam, after training", XLabel: "Initial σ",
		YLabel: "Validation accuracy", References: chanceLine}
	for _, sigma := range paper.OptimizerSigmas() {
		pair := figure.BarGroup{Label: strconv.FormatFloat(sigma, 'g', -1, 64),
			Bars: []figure.Bar{{Label: "SGD"}, {Label: "Adam"}}}
		for i, all := range [][]group{sgd, adam} {
			most := group{}
			for _, g := range all {
				if g.Sigma == sigma && len(g.Models) > len(most.Models) {
					most = g
				}
			}
			if most.Models == nil {
				continue
			}
			pair.ColorOf = most.Label
			if len(unfitted(most.Models)) > 0 {
				pair.Label = strings.TrimSuffix(pair.Label, "*") + "*"
			}
			pair.Bars[i].Values = most.values(validation)
		}
		if pair.ColorOf != "" {
			b.Groups = append(b.Groups, pair)
		}
	}
	return b
}

// missingOptimizers notes what the study of optimizers lacks.
func (s *Study) missingOptimizers(d *draft) {
	bySGD := modelsOf(s.bySGD())
	flags := []string{"--optimizer sgd"}
	if len(bySGD) == 0 {
		flags = append(flags, "--lr 1e-3") // the paper's
	}
	s.missingSigmas(d, s.variant("figA7", bySGD, flags...), " trained by SGD", paper.OptimizerSigmas())
	s.missingSigmas(d, s.onPuzzles("figA7"), " trained by Adam", paper.OptimizerSigmas())
}

func (s *Study) tableA4(d *draft) error {
	sgd, adam := ofSigmas(s.bySGD(), paper.OptimizerSigmas()), ofSigmas(s.mainGroups(), paper.OptimizerSigmas())
	s.missingOptimizers(d)
	if len(sgd)+len(adam) == 0 {
		return nil
	}
	t := besidePrinted("A4", nil, quantity{name: "adam", heading: "Adam", of: validation,
		groups: adam}, quantity{name: "sgd", heading: "SGD", of: validation, groups: sgd})
	t.Title = d.Title
	d.Caption = "Validation accuracy." + fitNote(append(modelsOf(sgd), modelsOf(adam)...))
	d.table("", t)
	return nil
}

// decayed returns the experiment with weight decay, and how its models are trained: AdamW's decay
// is none of Adam's L2.
func (s *Study) decayed() (e experiment, how string) {
	models := modelsOf(s.withDecay())
	optimizer, how := "adamw", fmt.Sprintf("by AdamW with weight decay %g", paper.Decay)
	if len(models) > 0 && models[0].Variant.Optimizer != optimizer {
		optimizer, how = models[0].Variant.Optimizer, fmt.Sprintf(
			"by Adam with L2 of %g (the paper's: AdamW)", paper.Decay)
	}
	return s.variant("figA8", models, "--optimizer "+optimizer, fmt.Sprintf("--weight-decay %g", paper.Decay)), how
}

func (s *Study) figA8(d *draft) error {
	all := s.withDecay()
	byS, others := learned(all), common(all)
	e, how := s.decayed()
	s.missingSigmas(d, e, " trained "+how, paper.Sigmas())
	s.missingEncodings(d, e, " trained "+how, paper.Encodings())
	if len(all) == 0 {
		return nil
	}
	lines, t, err := courses(exemplars(byS), byEpoch, "epoch", accuracyCurves())
	if err != nil {
		return err
	}
	d.row(plotHeight, accuracyCourses("", lines)...)
	d.row(plotHeight, validationBoxes("Generalisation by initial σ", byS, true))
	d.row(plotHeight, validationBoxes("Common encodings", others, false))
	d.Caption = fmt.Sprintf("As figures 2 and A10, trained %s (%s).", how,
		epochs(modelsOf(all))) + fitNote(modelsOf(all)) + stoppedNote(modelsOf(all))
	d.table("", perModel("Accuracy with weight decay", modelsOf(all)))
	d.table("_curves", t)
	return nil
}

// trained adds to the caption, where there is one, how the models were trained.
func (d *draft) trained(how string) {
	if d.Caption != "" {
		d.Caption += " Trained " + how + "."
	}
}

func (s *Study) tableA5(d *draft) error {
	e, how := s.decayed()
	s.missingSigmas(d, e, " trained "+how, paper.Sigmas())
	d.accuracyTable("A5", learned(s.withDecay()))
	d.trained(how)
	return nil
}

func (s *Study) tableA6(d *draft) error {
	e, how := s.decayed()
	s.missingEncodings(d, e, " trained "+how, paper.Encodings())
	d.accuracyTable("A6", common(s.withDecay()))
	d.trained(how)
	return nil
}

func (s *Study) figA15(d *draft) error {
	var shown []Model
	for _, heads := range []int{2, 4} {
		all := s.withHeads(heads)
		e, with := s.variant("figA15", modelsOf(all),
			fmt.Sprintf("--heads %d", heads)), fmt.Sprintf(" with %d heads", heads)
		s.missingSigmas(d, e, with, paper.Sigmas())
		s.missingEncodings(d, e, with, paper.Encodings())
		if len(all) == 0 {
			continue
		}
		lines, t, err := courses(common(all), byEpoch, "epoch", accuracyCurves())
		if err != nil {
			return err
		}
		d.row(plotHeight, validationBoxes(fmt.Sprintf("%d heads, common encodings", heads), common(all), false),
			validationBoxes(fmt.Sprintf("%d heads, by initial σ", heads), learned(all), true))
		d.row(plotHeight, accuracyCourses(fmt.Sprintf("%d heads: ", heads), lines)...)
		d.table(fmt.Sprintf("_%dheads_curves", heads), t)
		shown = append(shown, modelsOf(all)...)
	}
	if shown != nil {
		d.table("", perModel("Accuracy with several heads", shown,
			append([]measureColumn{{"heads", "heads",
				func(m Model) float64 { return float64(m.Variant.Heads) }}}, accuracyColumns...)...))
		d.Caption = fmt.Sprintf("Attention with 2 and with 4 heads (%s).", epochs(shown)) + fitNote(shown) +
			stoppedNote(shown)
	}
	return nil
}
