package sequence

import "math/rand/v2"

const (
	binary  = "01"
	modulus = 5
	digits  = "01234"
)

// Symbols of expressions, after the digits.
const (
	plus = modulus + iota
	minus
	times
	open
	shut
	unknown
	equals
)

const expressionSymbols = digits + "+-*()x="

var evenPairs = Task{
	Name: "even-pairs", Level: Regular, Symbols: binary, Classes: binary,
	About: "0 if the number of 01 and 10 is even, that is, where the first and the last are equal",
	draw:  uniform(2),
	answer: one(func(input []int) int {
		changes := 0
		for i := range len(input) - 1 {
			changes += input[i] ^ input[i+1]
		}
		return changes % 2
	}),
}

var parityCheck = Task{
	Name: "parity-check", Level: Regular, Symbols: binary, Classes: binary,
	About:  "1 if the number of 1 is odd",
	draw:   uniform(2),
	answer: one(func(input []int) int { return sum(input) % 2 }),
}

var cycleNavigation = Task{
	Name: "cycle-navigation", Level: Regular, Symbols: "-0+", Classes: digits,
	About: "place after steps back, none and forward on a circle of five, from 0",
	draw:  uniform(3),
	answer: one(func(input []int) int {
		return mod(sum(input) - len(input)) // a step is its number less 1
	}),
}

var modularArithmetic = Task{
	Name: "modular-arithmetic", Level: Regular, Symbols: digits + "+-*", Classes: digits,
	About:  "value modulo 5 of digits joined by +, - and *, without brackets; lengths are odd",
	inputs: func(length int) int { return length - (length+1)%2 },
	draw: func(r *rand.Rand, input []int) {
		for i := range input {
			input[i] = r.IntN(modulus)
			if i%2 == 1 {
				input[i] = plus + r.IntN(3)
			}
		}
	},
	answer: one(func(input []int) int { return evaluate(input).constant }),
}

// mod returns n modulo 5, 0 to 4.
func mod(n int) int { return ((n % modulus) + modulus) % modulus }
