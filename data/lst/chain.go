package lst

import "math/rand/v2"

// chain draws Latin squares of a side by the Markov chain of Jacobson and Matthews ("Generating
// uniformly distributed random Latin squares", J. Combin. Designs 4, 1996). A square is a cube of
// zeros and ones, 1 at (row, column, symbol), whose lines all add up to 1; a move changes the eight
// corners of a box. Squares on the way may be improper: one corner -1. Seen at its proper squares
// alone, the chain is uniform over them, since all have the same number of moves to choose from; so
// its time is counted in proper squares.
type chain struct {
	side     int
	cube     [MaxSide][MaxSide][MaxSide]int8
	rng      *rand.Rand
	at       [3]int // the -1 of an improper square
	improper bool
}

// newChain returns a chain that is far from its start, the cyclic square.
func newChain(side int, rng *rand.Rand) *chain {
	c := &chain{side: side, rng: rng}
	for x := range side {
		for y := range side {
			c.cube[x][y][(x+y)%side] = 1
		}
	}
	c.advance(10 * side * side * side)
	return c
}

// advance goes on by n proper squares.
func (c *chain) advance(n int) {
	for n > 0 {
		c.move()
		if !c.improper {
			n--
		}
	}
}

// move goes to one of the neighbours of the square, each with the same probability.
func (c *chain) move() {
	x, y, z := c.at[0], c.at[1], c.at[2]
	if !c.improper {
		for {
			x, y, z = c.rng.IntN(c.side), c.rng.IntN(c.side), c.rng.IntN(c.side)
			if c.cube[x][y][z] == 0 {
				break
			}
		}
	}
	p := c.findOne(func(k int) int8 { return c.cube[k][y][z] })
	q := c.findOne(func(k int) int8 { return c.cube[x][k][z] })
	r := c.findOne(func(k int) int8 { return c.cube[x][y][k] })
	for i := range 8 {
		u, v, w, sign := x, y, z, int8(1)
		if i&1 != 0 {
			u, sign = p, -sign
		}
		if i&2 != 0 {
			v, sign = q, -sign
		}
		if i&4 != 0 {
			w, sign = r, -sign
		}
		c.cube[u][v][w] += sign
	}
	c.at, c.improper = [3]int{p, q, r}, c.cube[p][q][r] < 0
}

// findOne returns the index of a 1 in a line: the only one, or either of two where the line has a
// -1.
func (c *chain) findOne(line func(k int) int8) int {
	var places [2]int
	n := 0
	for k := range c.side {
		if line(k) == 1 {
			places[n] = k
			n++
		}
	}
	if n == 1 {
		return places[0]
	}
	return places[c.rng.IntN(2)]
}

// square returns the next square: symbols 1 to side, row by row. Rows, columns and symbols are
// permuted too, so that consecutive squares have little in common.
func (c *chain) square() []uint8 {
	n := c.side
	c.advance(n)
	rows, columns, symbols := c.rng.Perm(n), c.rng.Perm(n), c.rng.Perm(n)
	cells := make([]uint8, n*n)
	for x := range n {
		for y := range n {
			for z := range n {
				if c.cube[x][y][z] == 1 {
					cells[rows[x]*n+columns[y]] = uint8(symbols[z]) + 1
				}
			}
		}
	}
	return cells
}
