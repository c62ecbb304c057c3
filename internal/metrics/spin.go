package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Sphere holds tokens on a sphere around the origin, which spin tests turn; or on two, one for each
// hemisphere of the brain, which turn as mirror images of each other (Alexander-Bloch et al. 2018).
type Sphere struct {
	sides  [2][]int     // tokens of the left hemisphere (or of the only sphere), and of the right
	points [][3]float64 // [n]
}

// evenRadius is the largest difference of a token's distance from the origin from the mean of all,
// as a share of it.
const evenRadius = 0.01

// NewSphere takes points [n][3] on a sphere around the origin. right says which are of the right
// hemisphere; nil for one sphere.
func NewSphere(points [][]float64, right []bool) (*Sphere, error) {
	s := &Sphere{}
	mean := 0.0
	for i, at := range points {
		if len(at) != 3 {
			return nil, fmt.Errorf("token %d has %d coordinates: a sphere has 3", i, len(at))
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
		if r := length(p); !(math.Abs(r-mean) <= evenRadius*mean) {
			return nil, fmt.Errorf("token %d lies %.4g from the origin, and all on average %.4g: spins need "+
				"points of one sphere around it", i, r, mean)
		}
	}
	return s, nil
}

func length(p [3]float64) float64 { return math.Sqrt(p[0]*p[0] + p[1]*p[1] + p[2]*p[2]) }

// rotation returns an evenly distributed rotation made of nine standard normal numbers: the
// orthogonal factor of their QR decomposition with a positive diagonal, its first column mirrored
// where its determinant is -1.
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

// turned returns point p times a rotation, or for the right hemisphere times its mirror image at
// the plane x = 0.
func turned(p [3]float64, r [3][3]float64, right bool) (out [3]float64) {
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

// spin returns for each token the one whose turned place is dealt to it: all tokens of a hemisphere
// get one each, so that the sum of their distances is least.
func (s *Sphere) spin(r [3][3]float64) []int {
	from := make([]int, len(s.points))
	for side, tokens := range s.sides {
		cost := make([][]float64, len(tokens))
		for _, token := range tokens {
			at := turned(s.points[token], r, side == 1)
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

// Surrogate turns the sphere at random and deals each token the module of one that comes to lie
// near it. Modules keep their sizes.
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

// assign returns for each row of a square matrix of costs the column that it gets, no two rows the
// same, so that the sum of costs is least (Kuhn 1955; by shortest augmenting paths, Jonker and
// Volgenant 1987).
func assign(cost [][]float64) []int {
	n := len(cost)
	u, v := make([]float64, n+1), make([]float64, n+1) // potentials of rows and columns, which count from 1
	row, way := make([]int, n+1), make([]int, n+1)     // of each column: its row, and the column before it
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
