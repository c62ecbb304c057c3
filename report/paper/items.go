package paper

import (
	"fmt"
	"slices"

	"torchpe/internal/paper"
	"torchpe/report/cohort"
	"torchpe/report/item"
)

// The data of items, in drafts of a study.
type (
	spec  = item.Spec[*Study, *draft]
	row   = item.Row[*draft]
	panel = item.Panel[*draft]
)

// draft is an item in the making.
type draft struct {
	item.Draft
	study *Study
}

// draft makes an item without drawing it.
func (s *Study) draft(it spec) (*draft, error) {
	d := &draft{Draft: item.Draft{Marks: true, Measure: s.value}, study: s}
	return d, it.Fill(s, d, words)
}

// plots, flat and squares make rows of plots, of schematics, and of square panels, four per row.

func plots(panels ...panel) row   { return row{Height: plotHeight, Panels: panels} }
func flat(panels ...panel) row    { return row{Height: flatHeight, Panels: panels} }
func squares(panels ...panel) row { return row{Height: mapHeight, Most: 4, Panels: panels} }

// source returns the groups of an item.
type source func(*Study) []cohort.Group

// selection returns some of an item's groups.
type selection func([]cohort.Group) []cohort.Group

// Heights of rows in inches.
const (
	mapHeight   = 1.5 // square panels, four in a row
	plotHeight  = 2.2 // ordinary panels
	planeHeight = 2.0 // maps of tokens
	flatHeight  = 0.8 // schematics
)

// The sections of a report.
const (
	puzzles  = "Latin-square puzzles"
	variants = "Variants on puzzles"
	masked   = "Masked prediction"
	beyond   = "Beyond the paper"
	claims   = "Claims of the paper"
	findings = "What these runs say"
)

// specs lists all items in order: the results of the runs, the paper's figures and tables, some that it lacks,
// and its claims. A new item is a row here; panels are in panels.go and masked.go.
func specs() []spec {
	var all []spec
	for _, part := range [][]spec{openings(), puzzleItems(), variantItems(), maskedItems(), beyondItems(),
		{{ID: "summary", Section: claims, Title: "What the paper says, and what these runs say",
			Make: (*draft).summary}},
	} {
		all = append(all, part...)
	}
	return all
}

// poolingNote explains how attention was compared.
const poolingNote = "Cosine of each block's map of each validation puzzle with that of the 2d-fixed " +
	"model of the same seed (else of the first), then the mean."

// perSigma describes the points of a correlation over groups by σ.
const perSigma = "levels of σ"

func puzzleItems() []spec {
	return []spec{
		{ID: "fig1", Section: puzzles, Title: "Figure 1: the task and its true positions",
			Of: func(s *Study) []cohort.Group { return s.groups(s.LST) }, Make: (*draft).fig1},
		{ID: "fig2", Section: puzzles, Title: "Figure 2: learning and generalization by initial σ",
			Of: mainLearned, Lacks: []lack{sigmas(main("fig2"))},
			Rows: []row{flat(modelSchematic), plots(accuracyOver("_curves", "", exemplars)),
				plots(validationBySigma("Generalization by initial σ"))},
			Tables: []func(*draft){perModel("Accuracy by σ")},
			Caption: "Accuracy in training and on the validation puzzles, which are " +
				"unlike those of training, after {epochs}, by the SD σ of the initial PE.{fit}{stopped}"},
		fig3(),
		{ID: "table1", Section: puzzles, Title: "Table 1: accuracy of common encodings",
			Of: mainCommon, Lacks: []lack{encodings(main("table1"))},
			Tables:  []func(*draft){accuracyTable("1")},
			Caption: accuracyCaption + "{truth test}"},
		{ID: "table_a2", Section: puzzles, Title: "Table A2: accuracy by σ",
			Of: mainLearned, Lacks: []lack{sigmas(main("fig2"))},
			Tables: []func(*draft){accuracyTable("A2")}, Caption: accuracyCaption + " Published IID values are " +
				publishedIID()},
		{ID: "table_a3", Section: puzzles, Title: "Table A3: attention near the ground truth by σ",
			Of: mainLearned, Lacks: []lack{sigmas(main("fig2")), anyReference}, Only: (*draft).isCompared,
			Tables: []func(*draft){likenessTable}, Caption: poolingNote + " The paper does not say how it pooled."},
		{ID: "fig_a10", Section: puzzles, Title: "Figure A10 (A9 in the first version): common encodings",
			Of: mainCommon, Lacks: []lack{encodings(main("table1")), fittedReference},
			Rows: []row{
				plots(validationOf("Generalization", everything), boxPlot{title: "Attention near the ground truth",
					yLabel: "Cosine with 2d-fixed", measure: "cosine", of: withoutReference}.draw),
				squares(allAttention),
				plots(scatter("Attention and generalization", "Attention cosine with 2d-fixed", "cosine", "encodings",
					withoutReference)),
			},
			Tables: []func(*draft){perModel("Common encodings", likenessColumns...)},
			Caption: "{pooling}{ρ cosine} Maps: attention of the first model of each " +
				"encoding, mean over blocks, heads and validation puzzles.{fit}"},
		{ID: "fig_a9", Section: puzzles,
			Title: "Figure A9 (A8 in the first version): attention by Jensen-Shannon divergence",
			Of:    mainLearned, Lacks: []lack{sigmas(main("fig2")), anyReference}, Only: (*draft).isCompared,
			Rows: []row{plots(boxesBySigma("Attention away from the ground truth", "JSD from 2d-fixed (bits)", "jsd"),
				scatter("Attention and generalization", "Attention JSD from 2d-fixed (bits)", "jsd", perSigma,
					onGrid))},
			Tables: []func(*draft){perModel("Similarity to the ground-truth model", likenessColumns...)},
			Caption: "Jensen-Shannon divergence, base 2, of each row of each map from that of the " +
				"2d-fixed model of the same seed, then the mean.{ρ jsd}{fit}"},
		{ID: "fig_a11", Section: puzzles, Title: "Figure A11 (A10 in the first version): robustness to noise",
			Of: mainGroups, Only: (*draft).hasNoise, None: noNoise,
			Rows: []row{
				flat(drawing("Noise", "16 cells", "embedding", "*+ N(0, amplitude²)",
					"+ PE", "trained model", "symbol")),
				plots(noiseBySigma, noiseLines),
				plots(boxPlot{"Mean over noise, by initial σ", "Validation accuracy", "noise", learned, true, true,
					nil}.draw,
					boxPlot{"Mean over noise", "Validation accuracy", "noise", common, false, true, nil}.draw),
			},
			Tables: []func(*draft){noiseTable},
			Caption: "Validation accuracy when Gaussian noise of a standard deviation (amplitude) is " +
				"added to each token embedding of a trained model; the paper gives neither amplitudes " +
				"nor distribution nor repeats: see docs/paper.md.{fit}"},
	}
}

func fig3() spec {
	return spec{ID: "fig3", Section: puzzles, Title: "Figure 3: attention and encodings near the ground truth",
		Of: mainLearned, Lacks: []lack{sigmas(main("fig2")), anyReference}, Only: (*draft).isCompared,
		Rows: []row{
			squares(attentionBySigma),
			plots(boxesBySigma("Attention near the ground truth", "Cosine with 2d-fixed", "cosine"),
				scatter("Attention and generalization", "Attention cosine with 2d-fixed", "cosine", perSigma, onGrid)),
			flat(drawing("Procrustes distance", "learned PE, E",
				"rotated, reflected: E R", "minus that of 2d-fixed: E R − G", "*min ||E R − G|| over R")),
			plots(boxesBySigma("Encodings near the ground truth", "Procrustes distance", "procrustes"),
				scatter("Encodings and generalization", "Procrustes distance to 2d-fixed", "procrustes", perSigma,
					onGrid)),
			plots(boxesBySigma("Encodings near it, whatever their norms", "Procrustes disparity", "disparity"),
				scatter("Whatever the norms", "Procrustes disparity", "disparity", perSigma, onGrid)),
		},
		Tables: []func(*draft){perModel("Similarity to the ground-truth model", likenessColumns...)},
		Caption: "Maps: attention of the first model of each encoding, mean over blocks, heads " +
			"and validation puzzles. " + poolingNote + " The Procrustes distance min ||E R − G|| over " +
			"orthogonal R grows with σ whatever was learned, because large encodings are far from " +
			"everything; the disparity of centred and scaled encodings does not. Means over " +
			"blocks. The paper prints ρ = .96 for the cosine, and −.98 for the distance{likeness}.{fit}"}
}

func variantItems() []spec {
	decayedSigmas, decayedNames := sigmas(decayed), encodings(decayed)
	optimizers := []lack{sigmas(sgd, paper.OptimizerSigmas()...),
		sigmas(mainAs("figA7", " trained by Adam"), paper.OptimizerSigmas()...)}
	return []spec{
		{ID: "fig_a7", Section: variants, Title: "Figure A7 (A6 in the first version): optimizer",
			Of: byOptimizer, Lacks: optimizers,
			Rows: []row{plots(from(smallSGD, accuracyOver("_sgd_curves", "SGD: ", everything))),
				plots(from(smallAdam, accuracyOver("_adam_curves", "Adam: ", everything))),
				plots(from(smallSGD, validationBySigma("SGD: after training")),
					from(smallAdam, validationBySigma("Adam: after training")))},
			Tables:  []func(*draft){perModel("Accuracy by optimizer")},
			Caption: "Encodings that start very small, trained by SGD and by Adam ({epochs}).{fit}{stopped}"},
		{ID: "table_a4", Section: variants, Title: "Table A4: Adam and SGD", Of: byOptimizer, Lacks: optimizers,
			Tables: []func(*draft){optimizerTable}, Caption: "Validation accuracy.{fit}"},
		{ID: "fig_a8", Section: variants, Title: "Figure A8 (A7 in the first version): weight decay",
			Of: withDecay, Lacks: []lack{decayedSigmas, decayedNames},
			Rows: []row{plots(accuracyOver("_curves", "", exemplars)),
				plots(validationBySigma("Generalization by initial σ")),
				plots(validationOf("Common encodings", common))},
			Tables:  []func(*draft){perModel("Accuracy with weight decay")},
			Caption: "Like figures 2 and A10, trained {decay} ({epochs}).{fit}{stopped}"},
		{ID: "table_a5", Section: variants, Title: "Table A5: weight decay, by σ",
			Of: decayedLearned, Lacks: []lack{decayedSigmas}, Tables: []func(*draft){accuracyTable("A5")},
			Caption: accuracyCaption + " Trained {decay}."},
		{ID: "table_a6", Section: variants, Title: "Table A6: weight decay, common encodings",
			Of: decayedCommon, Lacks: []lack{decayedNames}, Tables: []func(*draft){accuracyTable("A6")},
			Caption: accuracyCaption + " Trained {decay}."},
		severalHeads(),
	}
}

// severalHeads returns the figure of attention with several heads.
func severalHeads() spec {
	it := spec{ID: "fig_a15", Section: variants, Title: "Figure A15 (A14 in the first version): several heads",
		Of: twoOrFourHeads,
		Tables: []func(*draft){perModel("Accuracy with several heads",
			append([]item.Column{{Measure: "heads", Heading: "heads"}}, accuracyColumns...)...)},
		Caption: "Attention {heads} ({epochs}).{fit}{stopped}"}
	for _, n := range []int{2, 4} {
		of, name := withHeads(n), fmt.Sprintf("%d heads", n)
		it.Lacks = append(it.Lacks, sigmas(headed(n)), encodings(headed(n)))
		it.Rows = append(it.Rows,
			plots(from(of, validationOf(name+", common encodings", common)),
				from(of, validationBySigma(name+", by initial σ"))),
			plots(from(of, accuracyOver(fmt.Sprintf("_%dheads_curves", n), name+": ", common))))
	}
	return it
}

func maskedItems() []spec {
	nmar := encodings(maskedBy("fig4", func(s *Study) []cohort.Model { return s.NMAR }, 0.5),
		paper.MaskedEncodings()...)
	scores := plots(modularityBoxes, clusteringBoxes)
	errors := []row{plots(mseCourses), plots(mseBoxes(paper.TestLevel))}
	all := []spec{
		{ID: "fig4", Section: masked, Title: "Figure 4 (A15 in the first version): simulated network",
			Of: nmarGroups, Lacks: []lack{nmar},
			Rows: []row{
				{Height: 2.1, Panels: []panel{simulation}},
				flat(maskingSchematic),
				scores,
				plots(mseBoxes("0.50")),
				flat(scoringSchematic),
				squares(cosineMatrices),
			},
			Tables: []func(*draft){perModel("Simulated network", maskedColumns...)},
			Caption: "A simulated network of {nodes} nodes in {modules} modules, trained to predict " +
				"masked nodes from the others at the same time ({epochs}; test MSE with half of the nodes " +
				"masked). The models have the nodes {order}.{scores}{matrices}{anova}"},
		{ID: "nmar_error", Section: masked, Title: "Simulated network: test errors beside the printed one",
			Of: nmarGroups, Lacks: []lack{nmar}, Tables: []func(*draft){nmarErrors},
			Caption: "Error on held-out time points of the simulated network, half of the nodes masked, {epochs}: " +
				"mean ± SD over seeds. F: one-way analysis of variance over the encodings. The paper prints one " +
				"error for all of its models, and a test with n = 6 for each encoding but without degrees of " +
				"freedom; eight encodings have F(7, 40).{z-scored}"},
		fmri("fig5", "Figure 5 (4 in the first version): human fMRI", "fig5", 0.5, spec{
			Rows: append([]row{{Height: 1.1, Panels: []panel{networkStrip}},
				flat(regionSchematic)}, errors...),
			Caption: "{strip}"}),
		fmri("fig6", "Figure 6 (5 in the first version): networks in learned encodings", "fig5", 0.5, spec{
			Only: (*draft).hasTables,
			Rows: []row{{Height: 1.1, Panels: []panel{networkStrip}},
				flat(scoringSchematic),
				squares(proximityMatrices), scores},
			Caption: "{matrices}{scores}"}),
	}
	for _, m := range []struct {
		id, title, preset string
		level             float64
	}{
		{"fig_a12", "Figure A12 (A11 in the first version): training masks of 15 %", "figA12", 0.15},
		{"fig_a13", "Figure A13 (A12 in the first version): training masks of 75 %", "figA13", 0.75},
		{"fig_a14", "Figure A14 (A13 in the first version): training masks of 90 %", "figA14", 0.9},
	} {
		all = append(all, fmri(m.id, m.title, m.preset, m.level, spec{Rows: append(slices.Clone(errors), scores),
			Caption: "{scores}"}))
	}
	return all
}

// fmri completes an item on models that a preset trains with a share of the regions masked.
func fmri(id, title, preset string, level float64, it spec) spec {
	it.ID, it.Section, it.Title, it.Of = id, masked, title, fmriAt(level)
	it.Lacks = []lack{encodings(maskedBy(preset, func(s *Study) []cohort.Model { return s.FMRI }, level),
		paper.MaskedEncodings()...)}
	it.Tables = []func(*draft){perModel("fMRI", maskedColumns...)}
	it.Caption = fmt.Sprintf("Masked prediction of brain activity from {source}; %.0f %% of the regions "+
		"masked in training, {epochs}.{stopped}", 100*level) + it.Caption
	return it
}

// puzzlesLacking notes models that are missing from the runs.
func puzzlesLacking(what string, flags ...string) lack {
	return func(d *draft) { d.Lacks(d.study.command(main("fig2")(d.study), flags...), "%s", what) }
}

func beyondItems() []spec {
	onPuzzles := puzzlesLacking("models on puzzles")
	return []spec{
		{ID: "equal_training", Section: beyond, Title: "Generalization at equal training accuracy",
			Of: mainGroups, None: noTraining, Make: (*draft).equalTraining,
			Caption: "Accuracy on validation puzzles, and on held-out puzzles of the training kind, when training " +
				"accuracy (the mean since the last record) first reached each level, interpolated between records. " +
				"How long an encoding took does not matter here. Means are over the models that got this " +
				"far, whose number is in the table: lines may have fewer models at the right end.{fit}"},
		lazy(),
		{ID: "ablation", Section: beyond, Title: "Which undocumented choice causes the effect",
			Of: byReading, Lacks: readingsLacking(), Only: (*draft).hasReadings,
			Rows:   []row{{Height: 2.4, Panels: []panel{readingLines}}},
			Tables: []func(*draft){readingTable},
			Caption: "The published code adds a separate PE at the input of every " +
				"block, and reads the answer at the last token. The text leaves both open; in our reading one PE is " +
				"added at the input and the answer is read at the probe's token. The paper does not say " +
				"that either matters. Validation accuracy by σ in all four readings ({epochs}), all else as in the " +
				"code.{fit}"},
		{ID: "conditions", Section: beyond, Title: "Accuracy by kind of puzzle",
			Of: mainGroups, None: onPuzzles,
			Rows:   []row{plots(byKind(besideCommon(exemplars))), plots(byKind(common))},
			Tables: []func(*draft){perModel("Accuracy by kind of puzzle", conditionColumns()...)},
			Caption: "Validation accuracy by the number of rows and columns that must be combined. " +
				"People (n = 40) reach .967, .870 and .663, and the published models of learn-0.2 .983, " +
				".935 and .948.{fit}{labels}"},
		{ID: "maps", Section: beyond, Title: "Maps of the learned positions",
			None: puzzlesLacking("models with learned encodings"), Make: (*draft).maps,
			Caption: "The first two principal axes of an encoding (first block with a table, first seed), with the " +
				"share of variance explained by each.{cells}{nodes by module}{regions}"},
	}
}

// lazy returns the figure of how far learned encodings have moved from their start.
func lazy() spec {
	const moved, aligned = "pe_moved", "tangent_alignment"
	return spec{ID: "lazy", Section: beyond, Title: "How far learned encodings move: lazy and rich training",
		Of: mainLearned, None: puzzlesLacking("runs with records of how far their encodings move",
			"--pe learn --sigma 0.2,1,2 --tangent-puzzles 64"),
		Rows: []row{
			{Height: plotHeight, Most: 2, Panels: []panel{motionCourses}},
			plots(boxesBySigma("Motion by initial σ", motionHeading, moved),
				boxesBySigma("Tangent kernel by initial σ", "Alignment with the initial one", aligned)),
			plots(scatter("Motion and generalization", motionHeading, moved, perSigma, everything),
				scatter("Kernel and generalization", "Tangent kernel's alignment", aligned, perSigma, everything)),
		},
		Tables: []func(*draft){perModel("Motion of learned encodings", motionColumns()...)},
		Caption: "A model is lazy if it fits its training data while its weights hardly leave " +
			"their start: its tangent kernel does not change.{motion}{gradient}{table}{kernel}{fit}{stopped}"}
}
