package analysis

import (
	"fmt"
	"math"

	"torchpe/internal/metrics"
)

// The references in closed form.
const (
	fixed1D = "1d-fixed"
	fixed2D = "2d-fixed"
)

// closedForm returns the table of sinusoids for the places of a model's tokens. 1d-fixed encodes the position p,
// from 0 (Vaswani et al. 2017, section 3.5):
//
//	P[p,2i] = sin(p / 10000^(2i/d)),  P[p,2i+1] = cos(p / 10000^(2i/d))
//
// 2d-fixed encodes the row in one half of the dimensions and the column in the other (the paper's
// appendix A.1). Counting from another position, or swapping the halves (text and code differ), only
// rotates the columns, which a Procrustes transform undoes.
func closedForm(name string, m *Model) (*Model, error) {
	n, d := m.Tables[0].Tokens, m.Tables[0].Dim
	var at [][]float64 // [tokens][axes]
	if name == fixed2D {
		if m.isRun() && m.member.Run.Config.Facts().IsLine {
			return nil, fmt.Errorf("the tokens of task %s are on a line, and 2d-fixed needs a grid: want 1d-fixed",
				m.member.Run.Config.Task)
		}
		cells, _, err := m.grid()
		if err != nil {
			return nil, err
		}
		at = cells
	} else {
		order, err := m.order()
		if err != nil {
			return nil, err
		}
		for _, p := range order {
			at = append(at, []float64{float64(p)})
		}
	}
	axes := len(at[0])
	if d%(2*axes) != 0 {
		return nil, fmt.Errorf("%s: a table of %d dimensions: want a multiple of %d, as sines and cosines of each "+
			"coordinate come in pairs", name, d, 2*axes)
	}
	table := make([]float64, n*d)
	for i := range n {
		for axis, v := range at[m.from+i] {
			sinusoid(v, table[i*d+axis*d/axes:][:d/axes])
		}
	}
	made := Table{Table: metrics.Table{Tokens: n, Dim: d, Values: table}}
	return &Model{Subject: Subject{Source: name}, Tables: []Table{made}}, nil
}

func sinusoid(p float64, out []float64) {
	for i := 0; i+1 < len(out); i += 2 {
		out[i], out[i+1] = math.Sincos(p / math.Pow(10000, float64(i)/float64(len(out))))
	}
}
