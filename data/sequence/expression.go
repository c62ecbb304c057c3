package sequence

import "math/rand/v2"

var modularBrackets = Task{
	Name: "modular-arithmetic-brackets", Level: ContextFree, Symbols: digits + "+-*()", Classes: digits,
	About:  "value modulo 5 of an expression of +, - and * in brackets",
	draw:   func(r *rand.Rand, input []int) { drawExpression(r, input, 3) },
	answer: one(func(input []int) int { return evaluate(input).constant }),
}

var solveEquation = Task{
	Name: "solve-equation", Level: ContextFree, Symbols: expressionSymbols, Classes: digits,
	About: "x in an equation modulo 5 of + and - in brackets; below length 3, zeros",
	draw: func(r *rand.Rand, input []int) {
		n := len(input) - 2
		if n < 1 {
			clear(input)
			return
		}
		left := input[:n]
		drawExpression(r, left, 2)
		value := evaluate(left).constant
		at := r.IntN(n)
		for left[at] >= modulus { // the next digit, wrapping around at the end
			at = (at + 1) % n
		}
		left[at], input[n], input[n+1] = unknown, equals, value
	},
	answer: one(func(input []int) int {
		n := len(input) - 2
		if n < 1 {
			return 0
		}
		v := evaluate(input[:n])
		return mod(v.slope * (input[n+1] - v.constant)) // 1 and -1 are their own inverses
	}),
}

// drawExpression fills input with an expression that uses the first operators of +, - and *, as the
// published generator does. Up to four symbols are a digit with a minus or brackets. Longer ones are
// brackets around two expressions, with the length of the first drawn uniformly.
func drawExpression(r *rand.Rand, input []int, operators int) {
	n := len(input)
	if n > 4 {
		left := 1 + r.IntN(n-4)
		input[0], input[n-1] = open, shut
		input[1+left] = plus + r.IntN(operators)
		drawExpression(r, input[1:1+left], operators)
		drawExpression(r, input[2+left:n-1], operators)
		return
	}
	if n > 2 {
		input[0], input[n-1] = open, shut
		input = input[1 : n-1]
	}
	if len(input) == 2 {
		input[0] = minus
	}
	input[len(input)-1] = r.IntN(modulus)
}

// affine is constant + slope x, modulo 5.
type affine struct{ constant, slope int }

// evaluate returns the value of an expression that a task drew.
func evaluate(symbols []int) affine {
	e := expression{symbols}
	return e.terms()
}

// expression holds the symbols that are not evaluated yet.
type expression struct{ symbols []int }

// take removes the next symbol if it is from low to high. It returns -1 if it is not, or after the end.
func (e *expression) take(low, high int) int {
	if len(e.symbols) == 0 || e.symbols[0] < low || e.symbols[0] > high {
		return -1
	}
	symbol := e.symbols[0]
	e.symbols = e.symbols[1:]
	return symbol
}

// terms evaluates terms joined by + and -.
func (e *expression) terms() affine {
	sum := e.term()
	for operator := e.take(plus, minus); operator >= 0; operator = e.take(plus, minus) {
		sum = apply(operator, sum, e.term())
	}
	return sum
}

// term evaluates factors joined by *.
func (e *expression) term() affine {
	product := e.factor()
	for e.take(times, times) >= 0 {
		product = apply(times, product, e.factor())
	}
	return product
}

// factor evaluates a digit or x, optionally preceded by a minus, or terms in brackets.
func (e *expression) factor() affine {
	switch symbol := e.take(0, unknown); symbol {
	case unknown:
		return affine{slope: 1}
	case minus:
		return apply(minus, affine{}, e.factor())
	case open:
		v := e.terms()
		e.take(shut, shut)
		return v
	default:
		return affine{constant: symbol}
	}
}

// apply returns a operator b.
func apply(operator int, a, b affine) affine {
	switch operator {
	case plus:
		return affine{mod(a.constant + b.constant), mod(a.slope + b.slope)}
	case minus:
		return affine{mod(a.constant - b.constant), mod(a.slope - b.slope)}
	}
	return affine{constant: mod(a.constant * b.constant)} // equations have no products
}
