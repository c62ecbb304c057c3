package pe_test

import (
	"fmt"
	"slices"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestAbacus: the passes are those of training, so that the offset shows.
func TestAbacus(t *testing.T) {
	grid := pe.Grid(2, 4)
	grid.Training = true
	petest.Run(t, petest.Case{
		Scheme: "abacus", Positions: grid,
		Variants: []petest.Variant{petest.Code("pe-placement", "input"), petest.Code("abacus-rows", "12"),
			petest.Code("abacus-offset", "50")},
		Refuse: []petest.Refusal{
			petest.Refuse("too few rows", petest.Spec{Given: pe.Options{"abacus-rows": "4"}},
				"abacus", "place 4", "--abacus-rows 4"),
			petest.Refuse("too few rows for the offset",
				petest.Spec{Given: pe.Options{"abacus-rows": "12", "abacus-offset": "9"}}, "place 3", "0 to 2",
				"--abacus-offset 9"),
			petest.Refuse("points in space", petest.Spec{Positions: pe.Box(2, 2, 2)}, "abacus", "3 coordinates"),
			petest.Refuse("half a place",
				petest.Spec{Positions: pe.Positions{Index: []int{0}, Points: [][]float64{{0.5}}}},
				"token 0", "0.5"),
		},
	})
}

// TestAbacusOffset: in training the digits of all runs move by one offset, each of 0..3 as often as
// another (chi-squared of 3 degrees of freedom), of its own for each member and step; signs stay, and so
// does all at evaluation.
func TestAbacusOffset(t *testing.T) {
	const rows, largest, steps = 9, 3, 400
	p := pe.Line(5)
	p.Points = [][]float64{{1}, {2}, {0}, {1}, {2}}
	numbers := make([]float64, 2*rows) // row k holds k twice
	for i := range numbers {
		numbers[i] = float64(i / 2)
	}
	seeds := []uint64{1, 2}
	m := petest.Spec{Scheme: "abacus", Layers: 1, DModel: 2, Heads: 1, Seeds: seeds, Positions: p,
		Given: pe.Options{"abacus-rows": fmt.Sprint(rows), "abacus-offset": fmt.Sprint(largest)},
		Set:   map[string][]float64{"pe.table": slices.Concat(numbers, numbers)}}.Model(t)
	seen, alike := [2][largest + 1]int{}, 0
	for step := range steps {
		var still, moved []float64
		petest.Closed(func(s *torchpe.Scope) {
			s.Seed(seeds, step)
			for _, training := range []bool{false, true} {
				p.Training = training
				table, _ := m.Encoding.Begin(s, p).Table(0)
				still, moved = moved, table.Float64s() // [E,N,D]
			}
		})
		for member := range 2 {
			at := member * 10
			by := int(moved[at]) - 1
			if by < 0 || by > largest {
				t.Fatalf("step %d: offset %d", step, by)
			}
			seen[member][by]++
			for i, point := range p.Points {
				want := point[0]
				if still[at+2*i] != want {
					t.Fatalf("evaluation has row %g for place %g", still[at+2*i], want)
				}
				if want > 0 {
					want += float64(by)
				}
				if moved[at+2*i] != want || moved[at+2*i+1] != want {
					t.Fatalf("step %d: token %d has row %g, want %g", step, i, moved[at+2*i], want)
				}
			}
		}
		if moved[0] == moved[10] {
			alike++
		}
	}
	for member, counts := range seen {
		chi, want := 0.0, float64(steps)/(largest+1)
		for _, n := range counts {
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
		if chi > 16.27 { // p = .001
			t.Errorf("member %d: offsets %v of %d steps", member, counts, steps)
		}
	}
	if alike > steps/2 {
		t.Errorf("members share their offset in %d of %d steps", alike, steps)
	}
}

func init() { vectors["abacus"] = abacusVector }

func abacusVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	ids, table, digits := c.Input(t, "token_ids"), c.Param(t, "table"), c.Floats("digit_ids")
	b, n, d := ids.Shape[0], ids.Shape[1], table.Shape[1]
	places, added := petest.Array{Shape: []int{b, n}}, petest.Array{Shape: []int{b, n, d}}
	for sample := range b {
		p := digitRuns(ids.Row(sample), digits[0], digits[1])
		m := petest.Spec{
			Scheme: "abacus", Layers: 1, DModel: d, Positions: p,
			Given: pe.Options{"abacus-rows": fmt.Sprint(c.Int("n_max", table.Shape[0]))},
			Set:   map[string][]float64{"pe.table": table.Values},
		}.Model(t)
		for _, point := range p.Points {
			places.Values = append(places.Values, point[0])
		}
		added.Values = append(added.Values, petest.Added(m, 0, p).Values...)
	}
	out := petest.Outputs{"pe": added}
	if c.Has("positions") {
		out["positions"] = places
	}
	return out
}

// digitRuns returns the positions of tokens one after the other, with one coordinate: the place of
// each digit, an id from low to high, in its run of digits from 1 on, and 0 for other ids.
func digitRuns(ids []float64, low, high float64) pe.Positions {
	p, k := pe.Line(len(ids)), 0
	for _, id := range ids {
		k++
		if id < low || id > high {
			k = 0
		}
		p.Points = append(p.Points, []float64{float64(k)})
	}
	return p
}
