package sequence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

var modularBrackets = Task{
	Name: "modular-arithmetic-brackets", Level: ContextFree, Symbols: digits + "+-*()", Classes: digits,
	About: "value modulo 5 of an expression of +, - and * in brackets",
	draw:  func(r *rand.Rand, input []int) { drawExpression(r, input, 3) },
	answer: func(input []int) ([]int, error) {
		e := expression{symbols: input}
		v, err := e.whole(e.factor)
		return []int{v.constant}, err
	},
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
		e := expression{symbols: left}
		v, err := e.whole(e.factor)
		if err != nil {
			panic(err)
		}
		at := r.IntN(n)
		for left[at] >= modulus { // the next digit, wrapping around at the end
			at = (at + 1) % n
		}
		left[at], input[n], input[n+1] = unknown, equals, v.constant
	},
	answer: func(input []int) ([]int, error) {
		n := len(input) - 2
		if n < 1 {
			if sum(input) != 0 {
				return nil, errors.New("an equation of fewer than 3 characters is all zeros")
			}
			return []int{0}, nil
		}
		if input[n] != equals || input[n+1] >= modulus {
			return nil, errors.New("an equation ends with = and a digit")
		}
		if slices.Contains(input, times) {
			return nil, errors.New("an equation has no product")
		}
		e := expression{symbols: input[:n]}
		v, err := e.whole(e.factor)
		if err != nil {
			return nil, err
		}
		if count(input, unknown) != 1 {
			return nil, errors.New("an equation has one x")
		}
		return []int{mod(v.slope * (input[n+1] - v.constant))}, nil // 1 and -1 are their own inverses
	},
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

func count(numbers []int, wanted int) (n int) {
	for _, v := range numbers {
		if v == wanted {
			n++
		}
	}
	return n
}

// affine is constant + slope x, modulo 5.
type affine struct{ constant, slope int }

// expression evaluates symbols from left to right.
type expression struct {
	symbols []int
	at      int
}

// next returns the current symbol, or -1 after the last.
func (e *expression) next() int {
	if e.at == len(e.symbols) {
		return -1
	}
	return e.symbols[e.at]
}

func (e *expression) bad(want string) error {
	return fmt.Errorf("symbol %d: want %s", e.at+1, want)
}

// whole evaluates all symbols by a rule.
func (e *expression) whole(rule func() (affine, error)) (affine, error) {
	v, err := rule()
	if err == nil && e.at < len(e.symbols) {
		err = e.bad("the end")
	}
	return v, err
}

// terms evaluates terms joined by + and -.
func (e *expression) terms() (affine, error) {
	sum, err := e.term()
	for err == nil && (e.next() == plus || e.next() == minus) {
		operator := e.next()
		e.at++
		var v affine
		if v, err = e.term(); err == nil {
			sum = apply(operator, sum, v)
		}
	}
	return sum, err
}

// term evaluates factors joined by *.
func (e *expression) term() (affine, error) {
	product, err := e.factor()
	for err == nil && e.next() == times {
		e.at++
		var v affine
		if v, err = e.factor(); err == nil {
			product = apply(times, product, v)
		}
	}
	return product, err
}

// factor evaluates a digit or x, optionally preceded by a minus, or brackets.
func (e *expression) factor() (affine, error) {
	symbol := e.next()
	e.at++
	switch {
	case symbol >= 0 && symbol < modulus:
		return affine{constant: symbol}, nil
	case symbol == unknown:
		return affine{slope: 1}, nil
	case symbol == minus && e.next() != minus && e.next() != open:
		v, err := e.factor()
		return affine{mod(-v.constant), mod(-v.slope)}, err
	case symbol == open:
		return e.brackets()
	}
	e.at--
	return affine{}, e.bad("a digit or x, with a minus or not, or (")
}

// brackets evaluates what follows an opening bracket: two factors with an operator between them, or
// a digit or x.
func (e *expression) brackets() (affine, error) {
	bare := e.next() != open
	v, err := e.factor()
	if err != nil {
		return v, err
	}
	if operator := e.next(); operator >= plus && operator <= times {
		e.at++
		right, err := e.factor()
		if err != nil {
			return v, err
		}
		v = apply(operator, v, right)
	} else if !bare {
		return v, e.bad("an operator")
	}
	if e.next() != shut {
		return v, e.bad("an operator or )")
	}
	e.at++
	return v, nil
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
