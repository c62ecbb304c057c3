package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Sphere holds tokens on a sphere around the origin, for spin tests (Alexander-Bloch et al. 2018). The
// two hemispheres of the brain are two spheres, whose rotations mirror each other.
type Sphere struct {
	sides  [2][]int     // tokens of the left hemisphere (or the only sphere) and of the right
	points [][3]float64 // [n]
}

// radiusTolerance is the largest accepted deviation of a token's radius from the mean radius, as a
// share of the mean.
const radiusTolerance = 0.01

// NewSphere returns a Sphere of points [n][3]. right marks the points of the right hemisphere; nil
// means one sphere. It returns an error if the points do not lie on a sphere around the origin.
func NewSphere(points [][]float64, right []bool) (*Sphere, error) {
	s := &Sphere{}
	mean := 0.0
	for i, at := range points {
		if len(at) != 3 {
			return nil, fmt.Errorf("token %d has %d coordinates: want 3", i, len(at))
		}
		p := [3]float64(at)
		s.points = append(s.points, p)
		mean += length(p) / float64(len(points))
		side := 0
		if right != nil && right[i] {
			side = 1
		}
		s.sides[side] = append(s.sides[side], i)
	}
	for i, p := range s.points {
		if r := length(p); !(math.Abs(r-mean) <= radiusTolerance*mean) {
			return nil, fmt.Errorf("token %d lies %.4g from the origin, but the mean is %.4g: spins need "+
				"points on one sphere around the origin", i, r, mean)
		}
	}
	return s, nil
}

func length(p [3]float64) float64 { return math.Sqrt(p[0]*p[0] + p[1]*p[1] + p[2]*p[2]) }

// rotation returns a uniformly distributed rotation made from nine standard normal numbers. It is
// the orthogonal factor of their QR decomposition with a positive diagonal. Its first column is
// negated if the determinant is -1.
func rotation(normals []float64) [3][3]float64 {
	var qr mat.QR
	qr.Factorize(mat.NewDense(3, 3, normals))
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	var out [3][3]float64
	sign := math.Copysign(1, mat.Det(&q)*r.At(0, 0)*r.At(1, 1)*r.At(2, 2))
	for i := range 3 {
		for j := range 3 {
			out[i][j] = q.At(i, j) * math.Copysign(1, r.At(j, j))
		}
		out[i][0] *= sign
	}
	return out
}

// rotate returns point p times the rotation r. For the right hemisphere r is mirrored at the plane
// x = 0.
func rotate(p [3]float64, r [3][3]float64, right bool) (out [3]float64) {
	for i := range 3 {
		for j := range 3 {
			v := p[i] * r[i][j]
			if right && (i == 0) != (j == 0) {
				v = -v
			}
			out[j] += v
		}
	}
	return out
}

// spin rotates the tokens by r and matches the rotated tokens of each hemisphere one to one with its
// tokens, so that the sum of their distances is minimal. It returns the rotated token that each token
// is matched with.
func (s *Sphere) spin(r [3][3]float64) []int {
	from := make([]int, len(s.points))
	for side, tokens := range s.sides {
		cost := make([][]float64, len(tokens))
		for _, token := range tokens {
			at := rotate(s.points[token], r, side == 1)
			for i, other := range tokens {
				p := s.points[other]
				cost[i] = append(cost[i], length([3]float64{at[0] - p[0], at[1] - p[1], at[2] - p[2]}))
			}
		}
		for i, j := range assign(cost) {
			from[tokens[i]] = tokens[j]
		}
	}
	return from
}

// Surrogate returns a Surrogate that rotates the sphere at random and gives each token the module of
// the rotated token matched with it. Modules keep their sizes.
func (s *Sphere) Surrogate(w []float64, modules []int) Surrogate {
	dealt := make([]int, len(modules))
	return func(rng *rand.Rand) ([]float64, []int) {
		normals := make([]float64, 9)
		for i := range normals {
			normals[i] = rng.NormFloat64()
		}
		for i, from := range s.spin(rotation(normals)) {
			dealt[i] = modules[from]
		}
		return w, dealt
	}
}

// assign returns the column assigned to each row of a square cost matrix. Each column is assigned once
// and the sum of the costs is minimal (Kuhn 1955; by shortest augmenting paths, Jonker and Volgenant
// 1987).
func assign(cost [][]float64) []int {
	n := len(cost)
	u, v := make([]float64, n+1), make([]float64, n+1) // potentials of rows and columns, counted from 1
	row, way := make([]int, n+1), make([]int, n+1)     // row and predecessor of each column
	for i := 1; i <= n; i++ {
		least, done := make([]float64, n+1), make([]bool, n+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		at := 0
		for row[0] = i; row[at] != 0; {
			done[at] = true
			next, step := 0, math.Inf(1)
			for j := 1; j <= n; j++ {
				if done[j] {
					continue
				}
				if c := cost[row[at]-1][j-1] - u[row[at]] - v[j]; c < least[j] {
					least[j], way[j] = c, at
				}
				if least[j] < step {
					next, step = j, least[j]
				}
			}
			for j := range n + 1 {
				if done[j] {
					u[row[j]] += step
					v[j] -= step
				} else {
					least[j] -= step
				}
			}
			at = next
		}
		for at != 0 {
			row[at] = row[way[at]]
			at = way[at]
		}
	}
	columns := make([]int, n)
	for j := 1; j <= n; j++ {
		columns[row[j]-1] = j - 1
	}
	return columns
}
