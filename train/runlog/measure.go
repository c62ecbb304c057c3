package runlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/stats"
	"torchpe/internal/wording"
)

// Measure describes a number of records and results, or a family of such numbers.
type Measure struct {
	// Key names the number in files and on the command line. In the key of a family, capitals stand
	// for the part that varies: "test_mse/LEVEL" describes "test_mse/0.50".
	Key     string
	Heading string // of columns, without the unit; %s is the part that varies within a family
	Scale   Scale
	Tasks   Task // that measure it
	AtEnd   bool // in results only
}

// Scale says how numbers of one kind are formatted and which are good.
type Scale struct {
	Name   string // after a heading that does not name it; may be ""
	Digits int    // after the point
	Falls  bool   // while a model learns
	Best   float64
}

// The scales of the measures.
var (
	accuracy   = Scale{Name: "accuracy", Digits: 3, Best: 1}
	mse        = Scale{Digits: 4, Falls: true}
	perplexity = Scale{Digits: 3, Falls: true, Best: 1}
	score      = Scale{Digits: 3, Best: 1} // at most 1, for example a cosine
	amount     = Scale{Digits: 3, Best: math.Inf(1)}
	distance   = Scale{Digits: 3, Falls: true}
)

// Task is a set of kinds of tasks.
type Task int

// The kinds of tasks.
const (
	Puzzles Task = 1 << iota
	Sequences
	Masked  // prediction of masked tokens
	AnyTask = Puzzles | Sequences | Masked
)

// measures lists all measures. Families whose key has two parts follow those with one.
var measures = []Measure{
	{Key: "loss", Heading: "loss", Scale: mse, Tasks: AnyTask},
	{Key: "train", Heading: "train", Scale: accuracy, Tasks: Puzzles | Sequences},
	{Key: "iid", Heading: "IID test", Scale: accuracy, Tasks: Puzzles | Sequences},
	{Key: "validation", Heading: "validation", Scale: accuracy, Tasks: Puzzles},
	{Key: "validation", Heading: "longer", Scale: accuracy, Tasks: Sequences},
	{Key: "validation/CONDITION", Heading: "%s", Scale: accuracy, Tasks: Puzzles},
	// By the number of rows and columns that a puzzle needs (see lst.Lines); for side 4 alone.
	{Key: "validation_lines/N", Heading: "lines: %s", Scale: accuracy, Tasks: Puzzles},
	{Key: "tokens/N", Heading: "at %s tokens", Scale: accuracy, Tasks: Puzzles},
	{Key: "tokens/N/CONDITION", Heading: "at %s tokens, %s", Scale: accuracy, Tasks: Puzzles, AtEnd: true},
	{Key: "length/N", Heading: "length %s", Scale: accuracy, Tasks: Sequences},
	{Key: "perplexity/N", Heading: "perplexity at %s", Scale: perplexity, Tasks: Sequences},
	// Mean loss, in nats, at positions of the longest windows: ranges of positions of one length,
	// each named by its last position, counted from 1.
	{Key: "position_loss/N", Heading: "loss, positions ending at %s", Scale: mse, Tasks: Sequences},
	{Key: "train_mse", Heading: "train MSE", Scale: mse, Tasks: Masked}, // since the last record
	{Key: "test_mse/LEVEL", Heading: "test MSE, %s masked", Scale: mse, Tasks: Masked},
	// Network scores of the table with the known modules: the mean over blocks, and each block.
	{Key: "modularity", Heading: "modularity", Scale: score, Tasks: Masked},
	{Key: "modularity/BLOCK", Heading: "modularity, block %s", Scale: score, Tasks: Masked},
	{Key: "clustering", Heading: "clustering", Scale: amount, Tasks: Masked},
	{Key: "clustering/BLOCK", Heading: "clustering, block %s", Scale: amount, Tasks: Masked},
	// Frobenius norm and effective rank (see metrics.EffectiveRank) of the table [N,D], means over
	// the blocks that have one.
	{Key: "pe_norm", Heading: "norm of the PE", Scale: amount, Tasks: AnyTask},
	{Key: "pe_effective_rank", Heading: "effective rank of the PE", Scale: amount, Tasks: AnyTask},
	// For trained tables: norm of the change over the norm at the start; norm of the PE's gradient
	// over that of all parameters, at the last step.
	{Key: "pe_moved/BLOCK", Heading: "||E − E₀|| / ||E₀||", Scale: amount, Tasks: AnyTask},
	{Key: "pe_gradient_share", Heading: "PE's share of the gradient", Scale: score, Tasks: AnyTask},
	// For trained tables of tokens on a grid, compared with 2d-fixed of the published code: the
	// Procrustes disparity (see metrics.Procrustes), and the cosine of the two tables, also before
	// training. 1d-fixed has a cosine of 0.72 at the paper's size.
	{Key: "pe_disparity/BLOCK", Heading: "disparity from 2d-fixed", Scale: distance, Tasks: AnyTask},
	{Key: "pe_cosine/BLOCK", Heading: "cosine with 2d-fixed", Scale: score, Tasks: AnyTask},
	{Key: "pe_start_cosine/BLOCK", Heading: "cosine with 2d-fixed before training", Scale: score,
		Tasks: AnyTask, AtEnd: true},
	// Validation accuracy with Gaussian noise on the embeddings, by its standard deviation.
	{Key: "noise/SD", Heading: "with noise of SD %s", Scale: accuracy, Tasks: Puzzles, AtEnd: true},
	// Alignment of the tangent kernels at the end and at the start, -1 to 1.
	{Key: "tangent_alignment", Heading: "tangent kernel's alignment", Scale: score, Tasks: Puzzles, AtEnd: true},
}

// Measures returns all measures in the order of tables.
func Measures() []Measure { return slices.Clone(measures) }

// IsFamily reports whether the measure is a family of numbers.
func (m Measure) IsFamily() bool { return strings.Contains(m.Key, "/") }

// Family returns the common prefix of a family's keys: "test_mse" for "test_mse/LEVEL".
func (m Measure) Family() string {
	family, _, _ := strings.Cut(m.Key, "/")
	return family
}

// has reports whether key names the measure, or a number of its family.
func (m Measure) has(key string) bool {
	family, part, isOne := strings.Cut(key, "/")
	return family == m.Family() && isOne == m.IsFamily() && strings.Count(key, "/") == strings.Count(m.Key, "/") &&
		!slices.Contains(strings.Split(part, "/"), "") == isOne
}

// FindMeasure returns the measure of a key; ok is false if there is none.
func FindMeasure(key string) (m Measure, ok bool) {
	i := slices.IndexFunc(measures, func(m Measure) bool { return m.has(key) })
	if i < 0 {
		return Measure{}, false
	}
	return measures[i], true
}

// Heading returns the heading of the number with a key, or the key itself if no measure has it.
func Heading(key string) string { return HeadingIn(AnyTask, key) }

// HeadingIn returns the heading of the number with a key in a kind of task.
func HeadingIn(task Task, key string) string {
	i := slices.IndexFunc(measures, func(m Measure) bool { return m.has(key) && m.Tasks&task != 0 })
	if i < 0 {
		return key
	}
	heading := measures[i].Heading
	for _, part := range strings.Split(key, "/")[1:] {
		heading = strings.Replace(heading, "%s", part, 1)
	}
	return heading
}

// AxisTitle returns the heading of a number as the title of an axis or figure: "Validation accuracy".
func AxisTitle(key string) string {
	title := Heading(key)
	if m, _ := FindMeasure(key); m.Scale.Name != "" {
		title += " " + m.Scale.Name
	}
	return wording.Capital(title)
}

// DecimalsOf returns the number of decimals with which a measure is shown; ok is false if no
// measure has the key.
func DecimalsOf(key string) (decimals int, ok bool) {
	m, ok := FindMeasure(key)
	return m.Scale.Digits, ok
}

// FormatMeasure writes a number with the decimals of its measure.
func FormatMeasure(key string, v float64) string {
	decimals, _ := DecimalsOf(key)
	return number.Fixed(v, decimals)
}

// Share returns the part of a key that names a masked share: "0.50" for 0.5.
func Share(v float64) string { return fmt.Sprintf("%.2f", v) }

// ParseMeasure returns the key for a name: a key itself, one whose masked share has other digits, such as
// test_mse/0.5, or a name of torchpe 0.1.0.
func ParseMeasure(name string) (key string, err error) {
	if share, ok := strings.CutPrefix(name, "test_mse/"); ok {
		v, err := number.Parse(share)
		if rounded, _ := strconv.ParseFloat(Share(v), 64); err == nil && v == rounded {
			return "test_mse/" + Share(v), nil
		}
	}
	if _, ok := FindMeasure(name); ok {
		return name, nil
	}
	if key := currentName(name); key != "" {
		return key, nil
	}
	var keys []string
	for _, m := range measures {
		if !m.AtEnd && !slices.Contains(keys, m.Key) { // several tasks may have a row with this key
			keys = append(keys, m.Key)
		}
	}
	return "", fmt.Errorf("%q is not a number of the records; these are %s%s", name, strings.Join(keys, ", "),
		wording.Hint(name, keys))
}

// Numbers are numbers by key. JSON has null for those that are not finite; null is read as NaN.
type Numbers map[string]float64

// MarshalJSON writes no numbers, nil or not, as an empty object.
func (n Numbers) MarshalJSON() ([]byte, error) {
	object := make(map[string]*float64, len(n))
	for key, v := range n {
		object[key] = nil
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			object[key] = &v
		}
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads null instead of an object as nil.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var object map[string]*float64
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return err
	}
	*n = make(Numbers, len(object))
	for key, v := range object {
		(*n)[key] = math.NaN()
		if v != nil {
			(*n)[key] = *v
		}
	}
	return nil
}

// Get returns the number with a key, or NaN.
func (n Numbers) Get(key string) float64 {
	if v, ok := n[key]; ok {
		return v
	}
	return math.NaN()
}

// Of returns the numbers of a family by the rest of their keys, such as 0.50 for test_mse/0.50, or nil.
func (n Numbers) Of(family string) Numbers {
	var of Numbers
	for key, v := range n {
		if part, ok := strings.CutPrefix(key, family+"/"); ok && !strings.Contains(part, "/") {
			if of == nil {
				of = Numbers{}
			}
			of[part] = v
		}
	}
	return of
}

// Mean returns the mean of a family's numbers that are not NaN, added in order, or NaN if there are none.
func (n Numbers) Mean(family string) float64 {
	var all []float64
	of := n.Of(family)
	for _, part := range of.Keys() {
		if v := of[part]; !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return stats.Mean(all)
}

// SetFamily sets the numbers of a family by the rest of their keys.
func SetFamily[Part comparable](n Numbers, family string, of map[Part]float64) {
	for part, v := range of {
		n[fmt.Sprint(family, "/", part)] = v
	}
}

// Keys returns the keys in the order of the registry; within a family, short ones first.
func (n Numbers) Keys() []string {
	place := map[string]int{}
	for key := range n {
		place[key] = slices.IndexFunc(measures, func(m Measure) bool { return m.has(key) })
	}
	return slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(place[a]-place[b], len(a)-len(b), strings.Compare(a, b))
	})
}

// Criterion bounds a number of the records: a member has fitted at the first record whose number is
// at least the bound, or at most the bound for a loss or an error that falls.
type Criterion struct {
	Key   string  // of a [Measure]
	Bound float64 // finite
}

// DefaultCriterion is the default criterion for puzzles.
const DefaultCriterion = "train=0.99"

// SequenceCriterion is the default criterion for sequences: the accuracy on held-out sequences of
// training lengths.
const SequenceCriterion = "iid=0.99"

// ParseCriterion reads NUMBER=BOUND, such as train=0.99 or test_mse/0.50=0.3.
func ParseCriterion(text string) (Criterion, error) {
	name, bound, ok := strings.Cut(text, "=")
	v, err := number.Parse(bound)
	if !ok || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return Criterion{}, fmt.Errorf("%q is not NUMBER=BOUND, such as %s", text, DefaultCriterion)
	}
	key, err := ParseMeasure(name)
	return Criterion{key, v}, err
}

// Check returns an error if no record of a task can meet the criterion: if the task does not measure the
// number, or the bound is out of reach. Only the records show which numbers of a family a run has.
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
		return fmt.Errorf("%s is not a number at which this task can stop; these are %s%s", c.Key,
			strings.Join(keys, ", "), wording.Hint(c.Key, keys))
	case falls && c.Bound < best, !falls && c.Bound > best:
		return fmt.Errorf("%s never passes %g, so training would never stop", c, best)
	case c.IsAccuracy() && c.Bound <= 0:
		return fmt.Errorf("%s holds before training, so training would stop at once", c)
	}
	return nil
}

// String formats the criterion as ParseCriterion reads it.
func (c Criterion) String() string { return fmt.Sprintf("%s=%g", c.Key, c.Bound) }

// Met reports whether a number reaches the bound. NaN does not.
func (c Criterion) Met(v float64) bool {
	if c.Scale().Falls {
		return v <= c.Bound
	}
	return v >= c.Bound
}

// IsAccuracy reports whether the number is an accuracy.
func (c Criterion) IsAccuracy() bool { return c.Scale() == accuracy }

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

// FitsOf returns each member's fit after the records of a run: its first record that met the criterion.
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

// Update checks the member's next record against the criterion.
func (f *Fit) Update(c Criterion, r Record) {
	if !f.Reached && c.Met(r.Measures.Get(c.Key)) {
		f.Reached, f.Epoch, f.Step = true, r.Epoch, r.Step
	}
}
