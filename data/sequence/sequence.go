// Package sequence makes and answers the fifteen formal-language tasks of Delétang et al. 2023
// ("Neural networks and the Chomsky hierarchy", arXiv 2207.02098), on which Ruoss et al. 2023
// ("Randomized positional encodings boost length generalization of transformers", arXiv 2305.16843)
// test whether models that are trained on short inputs answer longer ones.
package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/internal/wording"
)

// Levels of the Chomsky hierarchy, and of tasks that no publication has.
const (
	Regular          = "regular"
	ContextFree      = "deterministic context-free"
	ContextSensitive = "context-sensitive"
	Extra            = "not published"
)

// Task is a mapping from inputs to outputs, both lists of small numbers.
type Task struct {
	Name    string
	Level   string // in the Chomsky hierarchy, or Extra
	About   string
	Symbols string // a character for each number of an input
	Classes string // a character for each number of an output

	inputs  func(length int) int // numbers of an input of a length; nil for length itself
	outputs func(length int) int // numbers of an output; nil for one
	draw    func(r *rand.Rand, input []int)
	answer  func(input []int) (output []int, err error)
	ends    bool // outputs end with the class ending, and zeros after it do not count
}

// ending is the class that ends the outputs of a task that ends.
const ending = 2

// Example is an input with its output.
type Example struct {
	Input, Output []int
	Scored        int // numbers of Output that count, the first ones
}

// All returns the tasks: those of the publications by level, then others.
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

// InputLen returns the numbers of an input of a length, at least 1: length, but for expressions that
// have an odd one.
func (t Task) InputLen(length int) int {
	if t.inputs == nil {
		return length
	}
	return t.inputs(length)
}

// OutputLen returns the numbers of an output to an input of a length.
func (t Task) OutputLen(length int) int {
	if t.outputs == nil {
		return 1
	}
	return t.outputs(t.InputLen(length))
}

// Draw returns an example of a length, at least 1.
func (t Task) Draw(r *rand.Rand, length int) Example {
	input := make([]int, t.InputLen(length))
	t.draw(r, input)
	e, err := t.Answer(input)
	if err != nil {
		panic(fmt.Sprintf("sequence: %s drew %s: %v", t.Name, t.Text(input), err)) // tests draw of all
	}
	return e
}

// Answer returns the example of an input. What the task never draws is an error, but for sums and
// products below length 3 that are all ones.
func (t Task) Answer(input []int) (Example, error) {
	for i, s := range input {
		if s < 0 || s >= len(t.Symbols) {
			return Example{}, fmt.Errorf("number %d is %d: %s has 0 to %d", i+1, s, t.Name, len(t.Symbols)-1)
		}
	}
	if len(input) == 0 || t.InputLen(len(input)) != len(input) {
		return Example{}, fmt.Errorf("%s has no inputs of length %d", t.Name, len(input))
	}
	output, err := t.answer(input)
	if err != nil {
		return Example{}, err
	}
	e := Example{Input: input, Output: output, Scored: len(output)}
	if t.ends {
		e.Output, e.Scored = slices.Concat(output, []int{ending}), len(output)+1
		for len(e.Output) < t.OutputLen(len(input)) {
			e.Output = append(e.Output, 0)
		}
	}
	return e, nil
}

// Text writes an input as characters.
func (t Task) Text(input []int) string { return characters(t.Symbols, input) }

// OutputText writes an output as characters.
func (t Task) OutputText(output []int) string { return characters(t.Classes, output) }

func characters(alphabet string, numbers []int) string {
	var b strings.Builder
	for _, n := range numbers {
		b.WriteByte(alphabet[n])
	}
	return b.String()
}

// Parse reads an input that Text has written, or a person.
func (t Task) Parse(text string) ([]int, error) { return parse(t.Symbols, text, t.Name+"'s inputs") }

func parse(alphabet, text, what string) (numbers []int, err error) {
	for i, c := range text {
		n := strings.IndexRune(alphabet, c)
		if n < 0 {
			return nil, fmt.Errorf("character %d is %q: %s have %s", i+1, c, what, alphabet)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// uniform draws each number of an input from the n first ones.
func uniform(n int) func(*rand.Rand, []int) {
	return func(r *rand.Rand, input []int) {
		for i := range input {
			input[i] = r.IntN(n)
		}
	}
}

// one returns an answer of one number.
func one(f func(input []int) int) func([]int) ([]int, error) {
	return func(input []int) ([]int, error) { return []int{f(input)}, nil }
}

// sum adds numbers.
func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func itself(length int) int { return length }
