package sequence

import (
	"math/big"
	"math/rand/v2"
	"slices"
)

// separator is the symbol between the two numbers of a sum or product.
const separator = 2

var binaryAddition = Task{
	Name: "binary-addition", Level: ContextSensitive, Symbols: "01+", Classes: "01.",
	About:   "sum of two binary numbers, lowest digit first; below length 3, the one number",
	outputs: func(length int) int { return length + 1 }, ends: true,
	draw: drawPair,
	answer: func(input []int) []int {
		if len(input) < 3 {
			return bits(number(input), 1)
		}
		a, b := pair(input)
		return bits(a.Add(a, b), 1)
	},
}

var binaryMultiplication = Task{
	Name: "binary-multiplication", Level: ContextSensitive, Symbols: "01*", Classes: "01.",
	About:   "product of two binary numbers, lowest digit first; below length 3, a zero less than the length",
	outputs: itself, ends: true,
	draw: drawPair,
	answer: func(input []int) []int {
		if len(input) < 3 {
			return make([]int, len(input)-1)
		}
		a, b := pair(input)
		return bits(a.Mul(a, b), 1)
	},
}

var computeSqrt = Task{
	Name: "compute-sqrt", Level: ContextSensitive, Symbols: binary, Classes: binary,
	About:   "square root, rounded down, of a binary number above 0, highest digit first",
	outputs: func(length int) int { return (length + 1) / 2 },
	draw:    drawPositive,
	answer: func(input []int) []int {
		low := slices.Clone(input)
		slices.Reverse(low)
		n := number(low)
		out := bits(n.Sqrt(n), (len(input)+1)/2)
		slices.Reverse(out)
		return out
	},
}

// drawPositive fills digits with a number above 0, drawn uniformly.
func drawPositive(r *rand.Rand, digits []int) {
	for sum(digits) == 0 {
		uniform(2)(r, digits)
	}
}

// drawPair fills input with two numbers above 0 and a separator between them, whose place is drawn
// uniformly. With fewer than three symbols it draws a number that is not all ones.
func drawPair(r *rand.Rand, input []int) {
	n := len(input)
	if n < 3 {
		value := r.IntN(1<<n - 1)
		for i := range input {
			input[i] = value >> i & 1
		}
		return
	}
	at := 1 + r.IntN(n-2)
	clear(input)
	drawPositive(r, input[:at])
	drawPositive(r, input[at+1:])
	input[at] = separator
}

// pair returns the two numbers of an input.
func pair(input []int) (a, b *big.Int) {
	at := slices.Index(input, separator)
	return number(input[:at]), number(input[at+1:])
}

// number returns the value of binary digits, lowest first.
func number(digits []int) *big.Int {
	n := new(big.Int)
	for i, d := range digits {
		n.SetBit(n, i, uint(d))
	}
	return n
}

// bits returns at least minLength binary digits of n, lowest first.
func bits(n *big.Int, minLength int) []int {
	out := make([]int, max(minLength, n.BitLen()))
	for i := range out {
		out[i] = int(n.Bit(i))
	}
	return out
}
