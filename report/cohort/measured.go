package cohort

import (
	"fmt"
	"math"
	"slices"
)

// ModelKey tells models apart.
type ModelKey struct {
	run   *Run
	index int
}

// Key returns the key of the model.
func (m Model) Key() ModelKey { return ModelKey{m.Run, m.Index} }

// Values returns a measure of each model of the group.
func (g Group) Values(of func(Model) float64) []float64 {
	out := make([]float64, len(g.Models))
	for i, m := range g.Models {
		out[i] = of(m)
	}
	return out
}

// Finite returns the finite values: what was not measured is in no mean.
func Finite(x []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// Paired returns a measure of the models of two groups that have the same seed, where both have it.
func Paired(a, b Group, of func(Model) float64) (x, y []float64) {
	for _, m := range a.Models {
		at := slices.IndexFunc(b.Models, func(o Model) bool { return o.Member.Seed == m.Member.Seed })
		if at < 0 {
			continue
		}
		if u, v := of(m), of(b.Models[at]); !math.IsNaN(u) && !math.IsNaN(v) {
			x, y = append(x, u), append(y, v)
		}
	}
	return x, y
}

// ModelsOf returns the models of groups.
func ModelsOf(all []Group) (models []Model) {
	for _, g := range all {
		models = append(models, g.Models...)
	}
	return models
}

// IsUnfitted reports whether the model has not fitted its training data. Such a model tells nothing of
// generalisation.
func (m Model) IsUnfitted() bool {
	reached, known := m.Fitted()
	return known && !reached
}

// MeasuredOtherwise returns those of models, which all have a measure, that took it by other settings than most of
// them, such as on more puzzles: a mean is over the others alone. The measure is a key or the name of a family.
func MeasuredOtherwise(models []Model, measure string) (others []Model) {
	count, most := map[string]int{}, ""
	for _, m := range models {
		how := m.Run.Config.HowMeasured(measure)
		if count[how]++; count[how] > count[most] {
			most = how
		}
	}
	if len(count) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(models),
		func(m Model) bool { return m.Run.Config.HowMeasured(measure) == most })
}

// Unfitted returns the models that have not fitted.
func Unfitted(models []Model) []Model {
	return slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return !m.IsUnfitted() })
}

// Fitted returns the group without models that have not fitted.
func (g Group) Fitted() Group {
	g.Models = slices.DeleteFunc(slices.Clone(g.Models), Model.IsUnfitted)
	return g
}

// FittedText returns "5 of 5": the number of models that have fitted, and of all.
func (g Group) FittedText() string {
	return fmt.Sprintf("%d of %d", len(g.Fitted().Models), len(g.Models))
}

// Mark returns a star where a model of the group has not fitted, else "".
func (g Group) Mark() string {
	if slices.ContainsFunc(g.Models, Model.IsUnfitted) {
		return "*"
	}
	return ""
}

// Starred returns the label with the mark.
func (g Group) Starred() string { return g.Label + g.Mark() }
