package lst

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"torchpe/internal/expect"
)

// latin reports whether each symbol is once in each row and column.
func latin(side int, cells []uint8) bool {
	for _, line := range linesOf(side) {
		seen := 0
		for k := range side {
			seen |= 1 << cells[lineCell(side, line, k)]
		}
		if seen != 1<<(side+1)-2 {
			return false
		}
	}
	return len(cells) == side*side
}

// Squares of side 4 are as likely as each other: 576 of them (OEIS A002860). Of side 3 there are
// 12.
func TestSquaresAreUniform(t *testing.T) {
	for _, c := range []struct {
		side, squares int
		// The chi-square quantile of 1 - 1e-6: 576-1 and 12-1 degrees of freedom, Wilson and
		// Hilferty.
		limit float64
	}{{3, 12, 47.9}, {4, 576, 755}} {
		rng := rand.New(rand.NewPCG(1, 2))
		squares, counts := newChain(c.side, rng), map[string]int{}
		n := 50 * c.squares
		for range n {
			s := squares.square()
			if !latin(c.side, s) {
				t.Fatalf("%v is no Latin square of side %d", s, c.side)
			}
			counts[string(gridOf(s))]++
		}
		expect.Equal(t, fmt.Sprintf("side %d", c.side), len(counts), c.squares)
		sum, expected := 0.0, float64(n)/float64(c.squares)
		for _, count := range counts {
			sum += (float64(count) - expected) * (float64(count) - expected) / expected
		}
		if sum > c.limit {
			t.Errorf("side %d: chi-square %.1f over %d squares, want less than %.1f", c.side, sum,
				c.squares, c.limit)
		}
	}
}

// The permutations of rows, columns and symbols alone would not leave the class of the cyclic
// square. The chain itself does: the 576 fall into two such classes of 144 and 432 squares (McKay,
// Meynert and Myrvold 2007, table 1: 2 isotopy classes).
func TestChainMovesBetweenClasses(t *testing.T) {
	squares := newChain(4, rand.New(rand.NewPCG(3, 4)))
	klein := 0
	const n = 4000
	for range n {
		if s := squares.square(); intercalates(s) == 12 {
			klein++
		}
	}
	// 144 of 576 are those of the Klein group, with 12 intercalates; SD sqrt(n 3/16) = 27.
	if klein < n/4-135 || klein > n/4+135 {
		t.Errorf("%d of %d squares are of the Klein group's class, want about a quarter", klein, n)
	}
}

// intercalates counts the 2 x 2 subsquares of a square of side 4.
func intercalates(s []uint8) (count int) {
	for a := range 4 {
		for b := a + 1; b < 4; b++ {
			for c := range 4 {
				for d := c + 1; d < 4; d++ {
					if s[4*a+c] == s[4*b+d] && s[4*a+d] == s[4*b+c] {
						count++
					}
				}
			}
		}
	}
	return count
}

func TestSquaresOfAllSides(t *testing.T) {
	for side := MinSide; side <= MaxSide; side++ {
		squares := newChain(side, rand.New(rand.NewPCG(5, 6)))
		for range 50 {
			if s := squares.square(); !latin(side, s) {
				t.Fatalf("%v is no Latin square of side %d", s, side)
			}
		}
	}
}
