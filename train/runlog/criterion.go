package runlog

import (
	"fmt"
	"math"
	"slices"
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

// The numbers of records that have a name of their own.
var numberNames = []string{
	"train", "iid", "validation", "loss", "train_mse", "modularity", "clustering",
	"pe_norm", "pe_effective_rank",
}

// The prefixes of other numbers: validation_Binary, tokens_25, test_mse_0.50.
var numberGroups = []string{"validation_", "tokens_", "length_", "perplexity_", "test_mse_"}

// ParseCriterion reads NUMBER=BOUND, such as train=0.99 or loss=0.01.
func ParseCriterion(text string) (Criterion, error) {
	name, bound, ok := strings.Cut(text, "=")
	v, err := strconv.ParseFloat(bound, 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Criterion{}, fmt.Errorf("%q is not NUMBER=BOUND, such as %s", text, DefaultCriterion)
	}
	grouped := slices.ContainsFunc(numberGroups, func(prefix string) bool {
		return strings.HasPrefix(name, prefix) && len(name) > len(prefix)
	})
	if !grouped && !slices.Contains(numberNames, name) {
		return Criterion{}, fmt.Errorf("%q is no number of the records; these are %s, and "+
			"validation_CONDITION, tokens_N, length_N, perplexity_N, test_mse_LEVEL%s",
			name, strings.Join(numberNames, ", "), wording.Hint(name, numberNames))
	}
	return Criterion{Number: name, Bound: v}, nil
}

// String returns what ParseCriterion reads.
func (c Criterion) String() string { return fmt.Sprintf("%s=%g", c.Number, c.Bound) }

// met says whether a record reaches the bound. A number that was not measured does not.
func (c Criterion) met(r Record) bool {
	v := r.Number(c.Number)
	falls := c.Number == "loss" || strings.Contains(c.Number, "mse") || strings.HasPrefix(c.Number, "perplexity")
	if falls { // while a model learns
		return v <= c.Bound
	}
	return v >= c.Bound
}

// Number returns the number of that name; NaN where the record has none.
func (r Record) Number(name string) float64 {
	switch name {
	case "train":
		return r.TrainAccuracy
	case "iid":
		return r.IIDAccuracy
	case "validation":
		return r.ValidationAccuracy
	case "loss":
		return r.Loss
	case "pe_norm":
		return valueOrNaN(r.PENorm)
	case "pe_effective_rank":
		return valueOrNaN(r.PEEffectiveRank)
	}
	if condition, ok := strings.CutPrefix(name, "validation_"); ok {
		return entryOrNaN(r.ValidationByCondition, condition)
	}
	if tokens, ok := strings.CutPrefix(name, "tokens_"); ok {
		return entryOrNaN(r.AccuracyByTokens, tokens)
	}
	if length, ok := strings.CutPrefix(name, "length_"); ok {
		return entryOrNaN(r.AccuracyByLength, length)
	}
	if length, ok := strings.CutPrefix(name, "perplexity_"); ok {
		return entryOrNaN(r.PerplexityByLength, length)
	}
	if r.MaskedMeasures == nil {
		return math.NaN()
	}
	switch name {
	case "train_mse":
		return valueOrNaN(r.TrainMSE)
	case "modularity":
		return valueOrNaN(r.Modularity)
	case "clustering":
		return valueOrNaN(r.Clustering)
	}
	if level, ok := strings.CutPrefix(name, "test_mse_"); ok {
		return entryOrNaN(r.TestMSEByMask, level)
	}
	return math.NaN()
}

func valueOrNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// entryOrNaN returns the number under a key, or NaN.
func entryOrNaN(m map[string]float64, key string) float64 {
	if v, ok := m[key]; ok {
		return v
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
