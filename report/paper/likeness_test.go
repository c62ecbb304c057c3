package paper

import (
	"math"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
)

// attend makes every row of maps the given weights, of the first tokens.
func attend(maps [][]float32, weights ...float32) {
	for _, layer := range maps {
		for i := range layer {
			layer[i] = 0
			if k := i % 16; k < len(weights) {
				layer[i] = weights[k]
			}
		}
	}
}

// place makes every row of tables zero but for one number in the row's column.
func place(tables [][]float32, number float32, column func(row int) int) {
	for _, table := range tables {
		clear(table)
		for row := range 16 {
			table[row*32+column(row)] = number
		}
	}
}

// The likeness to the ground truth of maps and tables of which it is known in closed form: each
// model is compared with that of its own seed, layer by layer and block by block.
func TestLikenessInClosedForm(t *testing.T) {
	// Every row of the ground truth of seed s attends to token s alone; every table is s times rows
	// of a unit vector each, so that its norm is 4 s.
	truth := synthetic.Run{Name: "truth", Task: "lst", PE: "2d-fixed", Seeds: []int{1, 2},
		Edit: func(m *synthetic.Member) {
			attend(m.Attention, [][]float32{{0, 1}, {0, 0, 1}}[m.Index]...)
			place(m.Tables, float32(m.Seed), func(row int) int { return row })
		}}
	learned := synthetic.Run{Name: "learned", Task: "lst", PE: "learn", Sigma: 1,
		Seeds: []int{2, 1, 9}, Edit: func(m *synthetic.Member) {
			switch m.Seed {
			case 1: // the same, and turned: the vectors are others, at right angles, too
				attend(m.Attention, 0, 1)
				place(m.Tables, 1, func(row int) int { return 31 - row })
			case 2: // half of two layers elsewhere, all of two; the tables three times as large
				attend(m.Attention[:2], 0, .5, .5)
				attend(m.Attention[2:], 0, 1)
				place(m.Tables, 6, func(row int) int { return row })
			case 9: // no seed of the ground truth: compared with its first
				attend(m.Attention, .5, .5)
				place(m.Tables, 1, func(int) int { return 3 })
			}
		}}
	s := study(t, truth, learned)
	half := 2 - .75*math.Log2(3) - .5 // the divergence of a token and of two, in bits
	for _, c := range []struct {
		seed                                       uint64
		cosine, jsd, distance, disparity, ofTables float64
	}{
		{1, 1, 0, 0, 0, 0},
		{2, math.Sqrt(.5) / 2, (half + 1) / 2, 16, 0, 1},
		{9, math.Sqrt(.5), half, math.NaN(), math.NaN(), math.NaN()}, // equal rows have no shape
	} {
		for _, m := range s.LST {
			if m.Member.Seed != c.seed || m.Label() != "learn-1.0" {
				continue
			}
			var got []float64
			for _, measure := range []string{"cosine", "jsd", "procrustes", "disparity", "table_cosine"} {
				got = append(got, s.value(m, measure))
			}
			want := []float64{c.cosine, c.jsd, c.distance, c.disparity, c.ofTables}
			if !floatsNear(got, want) {
				t.Errorf("seed %d: %v, want %v", c.seed, got, want)
			}
		}
	}
	expect.Equal(t, "models", len(s.LST), 5)
}
