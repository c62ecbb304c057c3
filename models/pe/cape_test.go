package pe_test

import (
	"math"
	"slices"
	"testing"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
	"torchpe/torchpe"
)

// TestCAPE: the passes are those of training, so that the draws show. Noiseless has none, nor the
// factor of the tokens' vectors, which no table tells.
func TestCAPE(t *testing.T) {
	grid, more := pe.Grid(2, 4), pe.Grid(3, 4)
	grid.Training, more.Training = true, true
	petest.Run(t, petest.Case{
		Scheme: "cape", Positions: grid, More: more, Shift: petest.Unmoved,
		Variants: []petest.Variant{
			petest.Code("cape", "2d").Moving(), petest.Code("cape-global", "0"), petest.Code("cape-local", "0"),
			petest.Code("cape-scaling", "1"), petest.Code("cape-centred", "false").Moving(),
			petest.Code("cape-frequency", "30"), petest.Code("cape-content", "false"),
		},
		Noiseless: pe.Options{"cape-global": "0", "cape-local": "0", "cape-scaling": "1", "cape-content": "false"},
		Refuse: []petest.Refusal{
			petest.Refuse("two dimensions of a line",
				petest.Spec{Positions: pe.Line(8), Given: pe.Options{"cape": "2d"}}, "--cape 2d", "tokens on a grid"),
			petest.Refuse("one dimension of space", petest.Spec{Positions: pe.Box(2, 2, 2)}, "one coordinate"),
			petest.Refuse("an odd width", petest.Spec{DModel: 5, Given: pe.Options{"cape": "2d"}}, "d_model 5"),
		},
	})
}

func init() {
	vectors["cape_1d"] = cape1DVector
	vectors["cape_2d"] = cape2DVector
}

// capeGiven returns the options of a case that both forms have.
func capeGiven(c *petest.VectorCase, form string) pe.Options {
	return pe.Options{"cape": form, "cape-global": format(c.Float("max_global_shift", 0)),
		"cape-local": format(c.Float("max_local_shift", 0)), "cape-scaling": format(c.Float("max_global_scaling", 1))}
}

// capeOutputs returns the table and sqrt(D) x + table of one sample x [1,1,N,D]: as the scheme adds it
// at evaluation, or of the draws of a case.
func capeOutputs(m *models.Model, x petest.Array, p pe.Positions,
	draws func(s *torchpe.Scope) (global, local, scale torchpe.Tensor)) (table, out []float64) {
	if draws == nil {
		return petest.Added(m, 0, p).Values, petest.Embedded(m, 0, x, p).Values
	}
	petest.Closed(func(s *torchpe.Scope) {
		global, local, scale := draws(s)
		table = pe.CAPETable(s, m.Encoding, p, global, local, scale).Float64s()
	})
	scaled := petest.Embedded(m, 0, x, p).Values // with the table of evaluation
	for i, v := range petest.Added(m, 0, p).Values {
		out = append(out, scaled[i]-v+table[i])
	}
	return table, out
}

// cape1DVector: each sample alone. One token beyond its length is kept, as in the code; what comes after
// it gets no table and enters no mean. A spacing of the positions is that of their coordinates, in which
// the code draws the shift of a token too.
func cape1DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x := c.Input(t, "x")
	samples, n, d := x.Shape[0], x.Shape[1], x.Shape[2]
	sp := petest.Spec{Scheme: "cape", DModel: d, Layers: 1, Given: capeGiven(c, "1d")}
	sp.Given["cape-centred"] = map[bool]string{true: "true", false: "false"}[c.Bool("normalize")]
	sp.Given["cape-frequency"] = format(c.Float("freq_scale", 1))
	table, output := petest.Array{Shape: x.Shape}, petest.Array{Shape: x.Shape}
	given := func(name string, b int) []float64 {
		if !c.Has(name) {
			return make([]float64, n)
		}
		return c.Input(t, name).Row(b)
	}
	for b := range samples {
		tokens, delta := n, 1.0
		if c.Has("x_lengths") {
			tokens = min(n, int(c.Input(t, "x_lengths").Values[b])+1)
		}
		if c.Has("positions_delta") {
			delta = c.Input(t, "positions_delta").Values[b]
		}
		p := pe.Line(tokens)
		for i := range tokens {
			p.Points = append(p.Points, []float64{delta * float64(i)})
		}
		sp.Positions = p
		var draws func(s *torchpe.Scope) (global, local, scale torchpe.Tensor)
		if c.Bool("training") {
			draws = func(s *torchpe.Scope) (global, local, scale torchpe.Tensor) {
				in := func(name string, n int, factor float64) torchpe.Tensor {
					return torchpe.Of(s, torchpe.CPU, given(name, b)[:n], 1, 1, n, 1).MulScalar(factor)
				}
				return in("global_shift", 1, 1), in("local_shift", tokens, delta), in("log_scale", 1, 1)
			}
		}
		row := petest.Array{Shape: []int{1, 1, tokens, d}, Values: x.Row(b)[:tokens*d]}
		e, out := capeOutputs(sp.Model(t), row, p, draws)
		table.Values = append(append(table.Values, e...), make([]float64, (n-tokens)*d)...)
		output.Values = append(output.Values, out...)
		for _, v := range x.Row(b)[tokens*d:] {
			output.Values = append(output.Values, math.Sqrt(float64(d))*v)
		}
	}
	return petest.Outputs{"embedding": table, "output": output}
}

func cape2DVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	x := c.Input(t, "patches")
	rows, columns, d := x.Shape[1], x.Shape[2], x.Shape[3]
	n := rows * columns
	sp := petest.Spec{Scheme: "cape", DModel: d, Layers: 1, Given: capeGiven(c, "2d"),
		Positions: pe.Grid(rows, columns)}
	m := sp.Model(t)
	table, output := petest.Array{Shape: x.Shape}, petest.Array{Shape: x.Shape}
	for b := range x.Shape[0] {
		var draws func(s *torchpe.Scope) (global, local, scale torchpe.Tensor)
		if c.Bool("training") {
			draws = func(s *torchpe.Scope) (global, local, scale torchpe.Tensor) {
				in := func(n int, names ...string) torchpe.Tensor { // [1,1,n,names]
					values := make([]float64, n*len(names))
					for a, name := range names {
						for i := 0; c.Has(name) && i < n; i++ {
							values[i*len(names)+a] = c.Input(t, name).Row(b)[i]
						}
					}
					return torchpe.Of(s, torchpe.CPU, values, 1, 1, n, len(names))
				}
				return in(1, "shift_x", "shift_y"), in(n, "local_x", "local_y"), in(1, "log_scale")
			}
		}
		e, out := capeOutputs(m, petest.Array{Shape: []int{1, 1, n, d}, Values: x.Row(b)}, sp.Positions, draws)
		table.Values, output.Values = append(table.Values, e...), append(output.Values, out...)
	}
	return petest.Outputs{"embedding": table, "output": output}
}

// TestCAPEDraws: the draws are uniform: 40 000 of U(-3, 3) have the mean, the variance 3 and the
// largest distance from the distribution function (Kolmogorov) that they should; samples and tokens
// differ.
func TestCAPEDraws(t *testing.T) {
	sp := petest.Spec{Scheme: "cape", Positions: pe.Line(8)}
	m := sp.Model(t)
	var values []float64
	petest.Closed(func(s *torchpe.Scope) {
		s.Seed(m.Config.Seeds, 5)
		values = pe.CAPEUniform(s, m.Encoding, sp.Positions, 5000, 3).Float64s()
	})
	n := float64(len(values))
	var mean, squares float64
	for _, v := range values {
		mean += v / n
		squares += v * v / n
	}
	slices.Sort(values)
	apart := 0.0
	for i, v := range values {
		apart = max(apart, math.Abs((v+3)/6-(float64(i)+0.5)/n))
	}
	if math.Abs(mean) > 4*math.Sqrt(3/n) || math.Abs(squares-3) > 0.08 || apart > 1.95/math.Sqrt(n) ||
		values[0] <= -3 || values[len(values)-1] >= 3 {
		t.Errorf("mean %g, variance %g, distance %g, from %g to %g", mean, squares, apart, values[0],
			values[len(values)-1])
	}
	if distinct := len(slices.Compact(values)); distinct < 39000 {
		t.Errorf("%d different numbers of %g", distinct, n)
	}
}

// TestCAPETrains: positions move in training and not at evaluation; every sample has its own.
func TestCAPETrains(t *testing.T) {
	for _, form := range []string{"1d", "2d"} {
		sp := petest.Spec{Scheme: "cape", Positions: pe.Grid(2, 4), Given: pe.Options{"cape": form}}
		m := sp.Model(t)
		zeros := petest.Array{Shape: []int{1, 2, 8, 8}, Values: make([]float64, 2*64)}
		still := petest.Embedded(m, 0, zeros, sp.Positions).Values
		sp.Positions.Training = true
		moved := petest.Embedded(m, 0, zeros, sp.Positions).Values
		if !slices.Equal(still[:64], still[64:]) || slices.Equal(moved[:64], moved[64:]) || slices.Equal(still, moved) {
			t.Errorf("%s: evaluation moves positions, training does not, or samples share their draws", form)
		}
	}
}
