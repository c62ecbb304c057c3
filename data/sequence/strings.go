package sequence

import (
	"math/rand/v2"
	"slices"
)

// Symbols of missing-duplicate, after 0 and 1.
const (
	missing = 2 + iota
	padding
)

// Symbols of stack-manipulation, after 0 and 1.
const (
	pop   = 2 + iota
	push0 // the push of 1 follows
)

var stackManipulation = Task{
	Name: "stack-manipulation", Level: ContextFree, Symbols: "01PZO", Classes: "01.",
	About: "what is left, top first, of a stack of 0 and 1, given bottom first, after pops (P) and " +
		"pushes of zero (Z) and one (O)",
	outputs: func(length int) int { return length + 1 }, ends: true,
	draw: func(r *rand.Rand, input []int) {
		stack := 1
		if len(input) > 1 {
			stack = 1 + r.IntN(len(input)-1)
		}
		uniform(2)(r, input[:stack])
		for i := stack; i < len(input); i++ {
			input[i] = pop + r.IntN(3)
		}
	},
	answer: func(input []int) []int {
		var stack []int
		for _, s := range input {
			switch {
			case s < pop:
				stack = append(stack, s)
			case s >= push0:
				stack = append(stack, s-push0)
			case len(stack) > 0:
				stack = stack[:len(stack)-1]
			}
		}
		slices.Reverse(stack)
		return stack
	},
}

var reverseString = Task{
	Name: "reverse-string", Level: ContextFree, Symbols: binary, Classes: binary,
	About:   "the input from its end to its start",
	outputs: itself,
	draw:    uniform(2),
	answer: func(input []int) []int {
		out := slices.Clone(input)
		slices.Reverse(out)
		return out
	},
}

var duplicateString = Task{
	Name: "duplicate-string", Level: ContextSensitive, Symbols: binary, Classes: binary,
	About:   "the input twice",
	outputs: func(length int) int { return 2 * length },
	draw:    uniform(2),
	answer:  func(input []int) []int { return slices.Concat(input, input) },
}

var missingDuplicate = Task{
	Name: "missing-duplicate", Level: ContextSensitive, Symbols: "01?_", Classes: binary,
	About: "the number that ? stands for in a string that occurs twice; _ fills odd lengths",
	draw: func(r *rand.Rand, input []int) {
		half := len(input) / 2
		if half == 0 {
			input[0] = 1
			return
		}
		uniform(2)(r, input[:half])
		copy(input[half:], input[:half])
		input[r.IntN(2*half)] = missing
		if len(input)%2 == 1 {
			input[2*half] = padding
		}
	},
	answer: one(func(input []int) int {
		at := slices.Index(input, missing)
		if at < 0 {
			return 1 // an input of one
		}
		half := len(input) / 2
		return input[(at+half)%(2*half)]
	}),
}

var oddsFirst = Task{
	Name: "odds-first", Level: ContextSensitive, Symbols: binary, Classes: binary,
	About:   "every other number from the second on, then the others",
	outputs: itself,
	draw:    uniform(2),
	answer: func(input []int) (out []int) {
		for _, from := range []int{1, 0} {
			for i := from; i < len(input); i += 2 {
				out = append(out, input[i])
			}
		}
		return out
	},
}

var bucketSort = Task{
	Name: "bucket-sort", Level: ContextSensitive, Symbols: digits, Classes: digits,
	About:   "the input in ascending order",
	outputs: itself,
	draw:    uniform(modulus),
	answer: func(input []int) []int {
		var counts [modulus]int
		for _, s := range input {
			counts[s]++
		}
		var out []int
		for s, n := range counts {
			out = append(out, slices.Repeat([]int{s}, n)...)
		}
		return out
	},
}
