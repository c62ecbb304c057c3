package runlog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// Criterion bounds a number of the records: a member has fitted at the first record whose number is
// at least the bound, or at most the bound for a loss or an error that falls.
type Criterion struct {
	Key   string  // of a [Measure]
	Bound float64 // finite
}

// DefaultCriterion is the criterion for puzzles where none is given.
const DefaultCriterion = "train=0.99"

// SequenceCriterion is the criterion for sequences where none is given: held-out sequences of the lengths
// of training are answered.
const SequenceCriterion = "iid=0.99"

// ParseCriterion reads NUMBER=BOUND, such as train=0.99 or test_mse/0.50=0.3.
func ParseCriterion(text string) (Criterion, error) {
	name, bound, ok := strings.Cut(text, "=")
	v, err := strconv.ParseFloat(bound, 64)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Criterion{}, fmt.Errorf("%q is not NUMBER=BOUND, such as %s", text, DefaultCriterion)
	}
	key, err := ParseMeasure(name)
	return Criterion{key, v}, err
}

// Check returns an error where no record of a task can meet the criterion: the task does not measure the
// number, or the bound is out of reach. Which numbers of a family a run has, only its records show.
func (c Criterion) Check(task Task) error {
	var keys []string
	measured := false
	for _, m := range measures {
		if m.Tasks&task != 0 && !m.AtEnd {
			keys = append(keys, m.Key)
			measured = measured || m.has(c.Key)
		}
	}
	switch best, falls := c.Scale().Best, c.Scale().Falls; {
	case !measured:
		return fmt.Errorf("%s is no number at which this task can stop; these are %s%s", c.Key,
			strings.Join(keys, ", "), wording.Hint(c.Key, keys))
	case falls && c.Bound < best, !falls && c.Bound > best:
		return fmt.Errorf("%s is never beyond %g, so training would never stop", c, best)
	}
	return nil
}

// String returns what ParseCriterion reads.
func (c Criterion) String() string { return fmt.Sprintf("%s=%g", c.Key, c.Bound) }

// Met reports whether a number reaches the bound. NaN does not.
func (c Criterion) Met(v float64) bool {
	if c.Scale().Falls {
		return v <= c.Bound
	}
	return v >= c.Bound
}

// Scale returns the scale of the number.
func (c Criterion) Scale() Scale {
	m, _ := FindMeasure(c.Key)
	return m.Scale
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
	if !f.Reached && c.Met(r.Measures.Get(c.Key)) {
		f.Reached, f.Epoch, f.Step = true, r.Epoch, r.Step
	}
}
