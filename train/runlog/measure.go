package runlog

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/wording"
)

// Measure describes a number of records and results, or a family of such numbers.
type Measure struct {
	// Key names the number in files and on the command line. In the key of a family, capitals stand for
	// the part that differs: "test_mse/LEVEL" describes "test_mse/0.50".
	Key     string
	Heading string // of columns, without the unit; %s is what differs within a family
	Scale   Scale
	Tasks   Task // that measure it
	AtEnd   bool // only results have it
}

// Scale says how numbers of one kind are written and when they are good.
type Scale struct {
	Name   string // behind a heading where nothing else names it; may be ""
	Digits int    // after the point
	Falls  bool   // while a model learns
	Best   float64
}

// The scales of the measures.
var (
	accuracy   = Scale{Name: "accuracy", Digits: 3, Best: 1}
	mse        = Scale{Digits: 4, Falls: true}
	perplexity = Scale{Digits: 3, Falls: true, Best: 1}
	score      = Scale{Digits: 3, Best: 1} // at most 1, such as a cosine
	amount     = Scale{Digits: 3, Best: math.Inf(1)}
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

// measures has all measures. Families whose key has two parts follow those of one.
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
	// Mean loss, in nats, at positions of the longest windows: runs of positions of one length, by
	// the last of each, counted from 1.
	{Key: "position_loss/N", Heading: "loss up to position %s", Scale: mse, Tasks: Sequences},
	{Key: "train_mse", Heading: "train MSE", Scale: mse, Tasks: Masked}, // since the last record
	{Key: "test_mse/LEVEL", Heading: "test MSE, %s masked", Scale: mse, Tasks: Masked},
	// Network scores of the table against the known modules: the mean over blocks, and each.
	{Key: "modularity", Heading: "modularity", Scale: score, Tasks: Masked},
	{Key: "modularity/BLOCK", Heading: "modularity, block %s", Scale: score, Tasks: Masked},
	{Key: "clustering", Heading: "clustering", Scale: amount, Tasks: Masked},
	{Key: "clustering/BLOCK", Heading: "clustering, block %s", Scale: amount, Tasks: Masked},
	// Frobenius norm and effective rank (see metrics.EffectiveRank) of the table [N,D], means over
	// the blocks that have one.
	{Key: "pe_norm", Heading: "norm of the PE", Scale: amount, Tasks: AnyTask},
	{Key: "pe_effective_rank", Heading: "effective rank of the PE", Scale: amount, Tasks: AnyTask},
	// Of trained tables: norm of the change over the norm at the start; norm of the PE's gradient
	// over that of all, at the last step.
	{Key: "pe_moved/BLOCK", Heading: "||E − E₀|| / ||E₀||", Scale: amount, Tasks: AnyTask},
	{Key: "pe_gradient_share", Heading: "PE's share of the gradient", Scale: score, Tasks: AnyTask},
	// Of trained tables of tokens on a grid, against 2d-fixed in the published code: the Procrustes
	// disparity (see metrics.Procrustes), and the cosine of the two tables, also before training.
	// 1d-fixed has a cosine of 0.72 at the paper's size.
	{Key: "pe_disparity/BLOCK", Heading: "disparity from 2d-fixed", Scale: amount, Tasks: AnyTask},
	{Key: "pe_cosine/BLOCK", Heading: "cosine with 2d-fixed", Scale: score, Tasks: AnyTask},
	{Key: "pe_start_cosine/BLOCK", Heading: "cosine with 2d-fixed before training", Scale: score,
		Tasks: AnyTask, AtEnd: true},
	// Validation accuracy with Gaussian noise on the embeddings, by its standard deviation.
	{Key: "noise/SD", Heading: "with noise of SD %s", Scale: accuracy, Tasks: Puzzles, AtEnd: true},
	// Alignment of the tangent kernel at the end with that at the start, -1 to 1.
	{Key: "tangent_alignment", Heading: "tangent kernel's alignment", Scale: score, Tasks: Puzzles, AtEnd: true},
}

// Measures returns all measures, in the order in which tables have them.
func Measures() []Measure { return slices.Clone(measures) }

// IsFamily reports whether the measure is a family of numbers.
func (m Measure) IsFamily() bool { return strings.Contains(m.Key, "/") }

// Family returns what the keys of a family have in common: "test_mse" of "test_mse/LEVEL".
func (m Measure) Family() string {
	family, _, _ := strings.Cut(m.Key, "/")
	return family
}

// has reports whether a key names the measure, or a number of its family.
func (m Measure) has(key string) bool {
	family, part, isOne := strings.Cut(key, "/")
	return family == m.Family() && isOne == m.IsFamily() && strings.Count(key, "/") == strings.Count(m.Key, "/") &&
		!slices.Contains(strings.Split(part, "/"), "") == isOne
}

// FindMeasure returns the measure that a key is of; ok is false for none.
func FindMeasure(key string) (m Measure, ok bool) {
	i := slices.IndexFunc(measures, func(m Measure) bool { return m.has(key) })
	if i < 0 {
		return Measure{}, false
	}
	return measures[i], true
}

// Heading returns the heading of the number that a key names; the key itself where no measure has it.
func Heading(key string) string { return HeadingIn(AnyTask, key) }

// HeadingIn returns the heading of the number that a key names in a kind of task.
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
	return strings.ToUpper(title[:1]) + title[1:]
}

// DecimalsOf returns the decimals that the numbers of a measure are shown with; not ok where no measure has
// the key.
func DecimalsOf(key string) (decimals int, ok bool) {
	m, ok := FindMeasure(key)
	return m.Scale.Digits, ok
}

// FormatMeasure writes a number with the decimals of its measure.
func FormatMeasure(key string, v float64) string {
	decimals, _ := DecimalsOf(key)
	return number.Fixed(v, decimals)
}

// ParseMeasure returns the key for a name: a key itself, or a name of torchpe 0.1.0.
func ParseMeasure(name string) (key string, err error) {
	if _, ok := FindMeasure(name); ok {
		return name, nil
	}
	if key := currentName(name); key != "" {
		return key, nil
	}
	var keys []string
	for _, m := range measures {
		if !m.AtEnd && !slices.Contains(keys, m.Key) { // tasks have rows of one key
			keys = append(keys, m.Key)
		}
	}
	return "", fmt.Errorf("%q is no number of the records; these are %s%s", name, strings.Join(keys, ", "),
		wording.Hint(name, keys))
}
