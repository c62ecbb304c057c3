package sequence

import "math/rand/v2"

// sign is the + between the two numbers of addition.
const sign = 10

// addition is not a task of the publications. Its two numbers have equally many digits, so that the place
// of a digit depends only on the length of the input. Encodings of digit places need this (McLeish et
// al. 2024, arXiv 2405.17399).
var addition = Task{
	Name: "addition", Level: Extra, Symbols: "0123456789+", Classes: "0123456789",
	About:   "sum of two decimal numbers of as many digits, lowest digit first; lengths are odd, 3 at least",
	inputs:  func(length int) int { return max(3, length-(length+1)%2) },
	outputs: func(length int) int { return (length + 1) / 2 },
	draw: func(r *rand.Rand, input []int) {
		uniform(sign)(r, input)
		input[len(input)/2] = sign
	},
	answer: func(input []int) []int {
		half := len(input) / 2
		output, carry := make([]int, half+1), 0
		for i := range half {
			carry += input[i] + input[half+1+i]
			output[i], carry = carry%10, carry/10
		}
		output[half] = carry
		return output
	},
}

// DigitPlaces returns the place of each digit within its number, from 1, for the tokens of an input of a
// length and of its output. The place of the sign is 0. ok is false for tasks whose numbers vary in
// length.
func (t Task) DigitPlaces(length int) (places []int, ok bool) {
	if t.Name != addition.Name {
		return nil, false
	}
	n := t.InputLen(length)
	for i := range n {
		places = append(places, (i+1)%(n/2+1))
	}
	for i := range t.OutputLen(length) {
		places = append(places, i+1)
	}
	return places, true
}
