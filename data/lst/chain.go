package lst

import "math/rand/v2"

// chain draws Latin squares by the Markov chain of Jacobson and Matthews ("Generating uniformly
// distributed random Latin squares", J. Combin. Designs 4, 1996). A square is a cube of zeros and
// ones, with a 1 at (row, column, symbol), in which each line sums to 1. A move changes the eight
// corners of a box. Intermediate squares may be improper, with one entry of -1. The chain restricted
// to proper squares is uniform, because each has the same number of moves. Its steps are therefore
// counted in proper squares.
type chain struct {
	side     int
	cube     [MaxSide][MaxSide][MaxSide]int8
	rng      *rand.Rand
	at       [3]int // place of the -1 of an improper square
	improper bool
}

// newChain returns a chain that has left its start, the cyclic square, by 10 side^3 steps.
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

// advance moves on by n proper squares.
func (c *chain) advance(n int) {
	for n > 0 {
		c.move()
		if !c.improper {
			n--
		}
	}
}

// move steps to a neighbour of the square. All neighbours are equally likely.
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

// findOne returns the index of the 1 in a line. A line with a -1 has two, and one of them is drawn.
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

// square returns the next square, symbols 1 to side row by row. It permutes rows, columns and symbols,
// so that consecutive squares have little in common.
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
