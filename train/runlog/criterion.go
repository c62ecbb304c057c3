package runlog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// Criterion bounds a number of the records: a member has fitted at the first record whose number is
// at least the bound, or at most the bound for a loss or an error.
type Criterion struct {
	Number string  // as [Record.Number] takes it
	Bound  float64 // finite
}

// DefaultCriterion is the criterion for puzzles where none is given.
const DefaultCriterion = "train=0.99"

// SequenceCriterion is the criterion for sequences where none is given: held-out ones of the lengths
// of training are answered.
const SequenceCriterion = "iid=0.99"

// recordNumbers are the numbers of records that have a name of their own.
var recordNumbers = []struct {
	name string
	of   func(r Record, m MaskedMeasures) *float64
}{
	{"train", func(r Record, _ MaskedMeasures) *float64 { return &r.TrainAccuracy }},
	{"iid", func(r Record, _ MaskedMeasures) *float64 { return &r.IIDAccuracy }},
	{"validation", func(r Record, _ MaskedMeasures) *float64 { return &r.ValidationAccuracy }},
	{"loss", func(r Record, _ MaskedMeasures) *float64 { return &r.Loss }},
	{"train_mse", func(_ Record, m MaskedMeasures) *float64 { return m.TrainMSE }},
	{"modularity", func(_ Record, m MaskedMeasures) *float64 { return m.Modularity }},
	{"clustering", func(_ Record, m MaskedMeasures) *float64 { return m.Clustering }},
	{"pe_norm", func(r Record, _ MaskedMeasures) *float64 { return r.PENorm }},
	{"pe_effective_rank", func(r Record, _ MaskedMeasures) *float64 { return r.PEEffectiveRank }},
}

// numberGroups are the others, which have a key behind a prefix: validation_Binary, test_mse_0.50.
var numberGroups = []struct {
	prefix, key string
	of          func(r Record, m MaskedMeasures) map[string]float64
}{
	{"validation_", "CONDITION",
		func(r Record, _ MaskedMeasures) map[string]float64 { return r.ValidationByCondition }},
	{"tokens_", "N", func(r Record, _ MaskedMeasures) map[string]float64 { return r.AccuracyByTokens }},
	{"length_", "N", func(r Record, _ MaskedMeasures) map[string]float64 { return r.AccuracyByLength }},
	{"perplexity_", "N", func(r Record, _ MaskedMeasures) map[string]float64 { return r.PerplexityByLength }},
	{"test_mse_", "LEVEL", func(_ Record, m MaskedMeasures) map[string]float64 { return m.TestMSEByMask }},
}

// ParseCriterion reads NUMBER=BOUND, such as train=0.99 or loss=0.01.
func ParseCriterion(text string) (Criterion, error) {
	name, bound, ok := strings.Cut(text, "=")
	v, err := strconv.ParseFloat(bound, 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Criterion{}, fmt.Errorf("%q is not NUMBER=BOUND, such as %s", text, DefaultCriterion)
	}
	var names, groups []string
	for _, n := range recordNumbers {
		if n.name == name {
			return Criterion{Number: name, Bound: v}, nil
		}
		names = append(names, n.name)
	}
	for _, g := range numberGroups {
		if strings.HasPrefix(name, g.prefix) && len(name) > len(g.prefix) {
			return Criterion{Number: name, Bound: v}, nil
		}
		groups = append(groups, g.prefix+g.key)
	}
	return Criterion{}, fmt.Errorf("%q is no number of the records; these are %s, and %s%s", name,
		strings.Join(names, ", "), strings.Join(groups, ", "), wording.Hint(name, names))
}

// String returns what ParseCriterion reads.
func (c Criterion) String() string { return fmt.Sprintf("%s=%g", c.Number, c.Bound) }

// met says whether a record reaches the bound. A number that was not measured does not.
func (c Criterion) met(r Record) bool {
	v := r.Number(c.Number)
	if c.AtLeast() {
		return v >= c.Bound
	}
	return v <= c.Bound
}

// AtLeast says whether the bound is the least that meets it; else it is the most, of a number that falls
// while a model learns.
func (c Criterion) AtLeast() bool {
	return c.Number != "loss" && !strings.Contains(c.Number, "mse") && !strings.HasPrefix(c.Number, "perplexity")
}

// Best returns the largest value that the number can have, or the least of one that falls.
func (c Criterion) Best() float64 {
	switch {
	case strings.HasPrefix(c.Number, "pe_") || c.Number == "clustering":
		return math.Inf(1)
	case strings.HasPrefix(c.Number, "perplexity") || c.AtLeast():
		return 1
	}
	return 0
}

// Number returns the number of that name; NaN where the record has none.
func (r Record) Number(name string) float64 {
	var m MaskedMeasures
	if r.MaskedMeasures != nil {
		m = *r.MaskedMeasures
	}
	for _, n := range recordNumbers {
		if v := n.of(r, m); n.name == name && v != nil {
			return *v
		}
	}
	for _, g := range numberGroups {
		if key, ok := strings.CutPrefix(name, g.prefix); ok {
			if v, ok := g.of(r, m)[key]; ok {
				return v
			}
		}
	}
	return math.NaN()
}

// Fit says whether and when a member reached its criterion.
type Fit struct {
	Criterion string `json:"criterion"` // as ParseCriterion reads it
	Reached   bool   `json:"reached"`
	Epoch     int    `json:"epoch,omitempty"` // of the first record that met it
	Step      int    `json:"step,omitempty"`
}

// FitsOf returns each member's fit after records of a run: at the first that met the criterion.
func FitsOf(c Criterion, members int, records []Record) []Fit {
	fits := make([]Fit, members)
	for m := range fits {
		fits[m].Criterion = c.String()
	}
	for _, r := range records {
		if r.Member >= 0 && r.Member < members {
			fits[r.Member].Update(c, r)
		}
	}
	return fits
}

// Update notes whether the member's next record meets the criterion.
func (f *Fit) Update(c Criterion, r Record) {
	if !f.Reached && c.met(r) {
		f.Reached, f.Epoch, f.Step = true, r.Epoch, r.Step
	}
}
