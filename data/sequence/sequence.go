// Package sequence generates the fifteen formal-language tasks of Delétang et al. 2023 ("Neural networks
// and the Chomsky hierarchy", arXiv 2207.02098). Ruoss et al. 2023 ("Randomized positional encodings
// boost length generalization of transformers", arXiv 2305.16843) use them to test length
// generalization. It also reads texts for language modelling.
package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// Levels of the Chomsky hierarchy, and Extra for tasks that are not published.
const (
	Regular          = "regular"
	ContextFree      = "deterministic context-free"
	ContextSensitive = "context-sensitive"
	Extra            = "not published"
)

// Task maps inputs to outputs. Both are lists of symbols, given as small integers.
type Task struct {
	Name    string
	Level   string // in the Chomsky hierarchy, or Extra
	About   string
	Symbols string // characters of the input symbols
	Classes string // characters of the output symbols

	inputs  func(length int) int // length of an input for a requested length; nil for equal
	outputs func(length int) int // length of an output for an input length; nil for 1
	draw    func(r *rand.Rand, input []int)
	answer  func(input []int) (output []int)
	ends    bool // outputs end with the class ending; zeros that follow are padding
}

// ending is the class that ends an output.
const ending = 2

// Example is an input with its output.
type Example struct {
	Input, Output []int
	Scored        int // number of leading outputs that are scored
}

// All returns the published tasks by level, then the others.
func All() []Task { return append(Published(), addition) }

// Published returns the fifteen tasks of the publications, by level.
func Published() []Task {
	return []Task{
		evenPairs, modularArithmetic, parityCheck, cycleNavigation,
		stackManipulation, reverseString, modularBrackets, solveEquation,
		duplicateString, missingDuplicate, oddsFirst, binaryAddition, binaryMultiplication, computeSqrt,
		bucketSort,
	}
}

// Names returns the names of tasks.
func Names(tasks []Task) (names []string) {
	for _, t := range tasks {
		names = append(names, t.Name)
	}
	return names
}

// Find returns the task of a name.
func Find(name string) (Task, error) {
	for _, t := range All() {
		if t.Name == name {
			return t, nil
		}
	}
	names := Names(All())
	return Task{}, fmt.Errorf("task %q is unknown; there are %s%s", name, strings.Join(names, ", "),
		wording.Hint(name, names))
}

// InputLen returns the length of an input for a requested length of at least 1. It differs from the
// request for tasks whose inputs have odd lengths.
func (t Task) InputLen(length int) int {
	if t.inputs == nil {
		return length
	}
	return t.inputs(length)
}

// OutputLen returns the length of the output for a requested input length.
func (t Task) OutputLen(length int) int {
	if t.outputs == nil {
		return 1
	}
	return t.outputs(t.InputLen(length))
}

// Draw returns a random example of a length of at least 1.
func (t Task) Draw(r *rand.Rand, length int) Example {
	input := make([]int, t.InputLen(length))
	t.draw(r, input)
	return t.Answer(input)
}

// DrawMany returns examples whose inputs have a length. The same seed draws the same examples.
func (t Task) DrawMany(count, length int, seed uint64) (all []Example) {
	r := rand.New(rand.NewPCG(seed, uint64(length)))
	for range count {
		all = append(all, t.Draw(r, length))
	}
	return all
}

// Answer returns the example of an input that the task can draw.
func (t Task) Answer(input []int) Example {
	output := t.answer(input)
	e := Example{Input: input, Output: output, Scored: len(output)}
	if t.ends {
		e.Output, e.Scored = slices.Concat(output, []int{ending}), len(output)+1
		for len(e.Output) < t.OutputLen(len(input)) {
			e.Output = append(e.Output, 0)
		}
	}
	return e
}

// Text returns an input as characters.
func (t Task) Text(input []int) string { return characters(t.Symbols, input) }

// OutputText returns an output as characters.
func (t Task) OutputText(output []int) string { return characters(t.Classes, output) }

func characters(alphabet string, numbers []int) string {
	var b strings.Builder
	for _, n := range numbers {
		b.WriteByte(alphabet[n])
	}
	return b.String()
}

// uniform draws each symbol of an input from the first n symbols.
func uniform(n int) func(*rand.Rand, []int) {
	return func(r *rand.Rand, input []int) {
		for i := range input {
			input[i] = r.IntN(n)
		}
	}
}

// one returns an answer function with a single output.
func one(f func(input []int) int) func([]int) []int {
	return func(input []int) []int { return []int{f(input)} }
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func itself(length int) int { return length }
