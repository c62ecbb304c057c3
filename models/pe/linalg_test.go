package pe

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"torchpe/internal/expect"
)

// Orthonormal rows are those of Gram-Schmidt on the drawn vectors, of which the first only changes its length. With
// the signs of another decomposition they would not be uniform.
func TestOrthonormalIsGramSchmidt(t *testing.T) {
	const rows, width = 3, 5
	table, drawn := make([]float64, rows*width), make([]float64, rows*width)
	orthonormal(rand.New(rand.NewPCG(1, 2)), rows, width, table)
	fillNormal(rand.New(rand.NewPCG(1, 2)), drawn)
	for i := range rows {
		got, v := table[i*width:][:width], drawn[i*width:][:width]
		for j := range i {
			u := table[j*width:][:width]
			floats.AddScaled(v, -floats.Dot(u, v), u)
		}
		for k := range v {
			expect.Near(t, fmt.Sprintf("row %d, column %d", i, k), got[k], v[k]/floats.Norm(v, 2), 1e-12)
		}
	}
}
