package pe_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// noEncodings are the files of what is no encoding and starts none: null models.
var noEncodings = []string{"moran_randomization", "spin_test"}

// vectors holds what runs each file of reference vectors.
var vectors = map[string]Adapter{
	"rope_interleaved": ropeVector, "rope_half_split": halfSplitVector, "rope_proportional": proportionalVector,
	"rope_position_interpolation": interpolationVector, "rope_dynamic_ntk": dynamicNTKVector,
	"rope_ntk_aware": ntkVector, "rope_yarn": yarnVector, "rope_llama3": llama3Vector,
	"rope_longrope": longRoPEVector, "rope_longrope_hf": longRoPEHFVector, "xpos": xposVector, "hope": hopeVector,
	"fope": fopeVector, "pope": popeVector, "grape_m": grapeMVector, "rope_2d": rope2DVector,
	"rope_mixed_2d": mixedVector, "rope_3d": rope3DVector, "rope_dinov3": dinov3Vector, "liere": liereVector,
	"floater": floaterVector, "nope": nopeVector, "logn": lognVector,
	"mrope": mropeVector, "golden_gate": goldenGateVector, "repo": repoVector,
	"selective_rope": selectiveVector, "tape": tapeVector, "erpe": erpeVector,

	"alibi": alibiVector, "alibi_bidirectional": alibiBidirectionalVector, "alibi_2d": alibi2DVector,
	"beit_bias_2d": beitVector, "da_transformer": daVector, "dynamic_bias": dynamicBiasVector,
	"fire": fireVector, "kerple": kerpleVector, "learned_relative_bias": relativeBiasVector,
	"rope_plus_learned_bias": ropeAndBiasVector, "sandwich": sandwichVector, "swin_bias_2d": swinVector,
	"swin_v2_cpb": swinV2Vector, "t5_bias": t5Vector, "tisa": tisaVector, "tupe": tupeVector,

	"cope": copeVector, "dape": dapeVector, "deberta": debertaVector,
	"forgetting_transformer": forgettingVector, "data_dependent_alibi": dataDependentALiBiVector,
	"grape_a": grapeAVector, "huang_m1": huangVector("1"), "huang_m2": huangVector("2"),
	"huang_m3": huangVector("3"), "huang_m4": huangVector("4"), "path": pathVector,
	"inkling": inklingVector, "shaw": shawVector,
	"music_transformer": musicTransformerVector, "synthesizer": synthesizerVector, "tener": tenerVector,
	"transformer_xl": transformerXLVector,

	"abacus": abacusVector, "axial": axialVector, "bipe": bipeVector, "cape_1d": cape1DVector,
	"cape_2d": cape2DVector, "conv_pos": convVector, "fourier_features": fourierFeaturesVector,
	"gradient_positions": gradientVector, "learned_absolute": learnVector, "learned_2d": learned2DVector,
	"learnable_fourier": learnFourierVector, "learned_wavelengths": learnWavesVector,
	"learned_absolute_interpolated": resampledVector, "randomized_pe": randomisedVector,
	"sinusoidal_1d": sinusoid1DVector("interleaved"), "sinusoidal_1d_tutorial": sinusoid1DVector("tutorial"),
	"sinusoidal_1d_concat": sinusoid1DVector("concat"), "sinusoidal_1d_t2t": sinusoid1DVector("t2t"),
	"sinusoidal_2d": sinusoid2DVector, "sinusoidal_2d_variants": sinusoid2DVariant,
	"sinusoidal_3d": sinusoid3DVector, "space_time_learned": spaceTimeVector,

	"graphormer": graphormerVector, "laplacian_pe": laplacianVector,
	"rrwp": rrwpVector, "rwse": rwseVector,
	"signnet": signNetVector,
}

var given, zeros = petest.Given, petest.Zeros

// perHead returns a scheme in a model of one layer with the case's heads, of width 2 each.
func perHead(c *VectorCase, scheme string, p pe.Positions, options pe.Options) petest.Spec {
	heads := c.Int("heads", 1)
	return petest.Spec{Scheme: scheme, Layers: 1, Heads: heads, DModel: 2 * heads, Positions: p, Given: options}
}

// over returns a scheme in a model of one layer for tokens x [N,D] in a row, with the case's heads.
func over(c *VectorCase, scheme string, x petest.Array, options pe.Options) petest.Spec {
	return petest.Spec{Scheme: scheme, Layers: 1, Heads: c.Int("heads", 1), DModel: x.Shape[1],
		Positions: pe.Line(x.Shape[0]), Given: options}
}

// params reads weights of the case for parameters of the scheme, named ours=theirs without "pe.".
func params(t testing.TB, c *VectorCase, names string) map[string][]float64 {
	t.Helper()
	set := map[string][]float64{}
	for _, pair := range strings.Fields(names) {
		ours, theirs, _ := strings.Cut(pair, "=")
		set["pe."+ours] = c.Param(t, theirs).Values
	}
	return set
}

// stacked reads weights of the case, one below the other.
func stacked(t testing.TB, c *VectorCase, names ...string) petest.Array {
	t.Helper()
	parts := make([]petest.Array, len(names))
	for i, name := range names {
		parts[i] = c.Param(t, name)
	}
	return stackRows(parts...)
}

// plainWeights reads the projections of a case whose code names them as the tutorial's does.
func plainWeights(t testing.TB, c *VectorCase) Projections {
	t.Helper()
	return Projections{QKV: stacked(t, c, "W_query.weight", "W_key.weight", "W_value.weight"),
		Out: c.Param(t, "out_proj.weight"), OutB: c.Param(t, "out_proj.bias")}
}

// namedWeights reads projections of three linear maps whose names end so.
func namedWeights(t testing.TB, c *VectorCase, ending string) Projections {
	t.Helper()
	q, k, v := "query"+ending, "key"+ending, "value"+ending
	return Projections{QKV: stacked(t, c, q+".weight", k+".weight", v+".weight"),
		QKVB: stacked(t, c, q+".bias", k+".bias", v+".bias")}
}

// biasOf returns what a scheme adds to logits of zero, [H,N,N].
func biasOf(t testing.TB, sp petest.Spec) petest.Array {
	t.Helper()
	return addedToLogits(sp.Model(t), sp.Positions)
}

// tableOf returns what a scheme adds to tokens, [N,D].
func tableOf(t testing.TB, sp petest.Spec) petest.Array {
	t.Helper()
	return added(sp.Model(t), 0, sp.Positions)
}

// outputs are logits, weights and output of an attention, which some cases call context.
func outputs(got Attended) Outputs {
	return Outputs{"logits": got.Logits, "weights": got.Weights, "output": got.Output, "context": got.Output}
}

// valuesOf returns the values of a parameter.
func valuesOf(m *models.Model, name string) []float64 {
	return expect.Must(m.Params.Values(name))
}

// points returns tokens at the given coordinates, one after the other.
func points(rows ...[]float64) pe.Positions {
	p := pe.Line(len(rows))
	p.Points = rows
	return p
}

// rowsOf returns the rows of an array.
func rowsOf(a petest.Array) (rows [][]float64) {
	for i := range a.Shape[0] {
		rows = append(rows, a.Row(i))
	}
	return rows
}

// places lists n places from the given one on.
func places(from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// count returns 0..n-1 for one head and zeros for the others, as rows [n,H] of a table that shows
// which row was taken.
func count(n, heads int) []float64 {
	values := make([]float64, n*heads)
	for i := range n {
		values[i*heads] = float64(i)
	}
	return values
}

func identity(n int) []float64 {
	values := make([]float64, n*n)
	for i := range n {
		values[i*n+i] = 1
	}
	return values
}

func whole(values []float64) []int {
	list := make([]int, len(values))
	for i, v := range values {
		list[i] = int(v)
	}
	return list
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// commas writes numbers with commas between.
func commas(values []float64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values)), ","), "[]")
}

func norm(x []float64) float64 {
	var squares float64
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// reordered returns an array of the given shape whose value i is value from(i) of a.
func reordered(a petest.Array, from func(i int) int, shape ...int) petest.Array {
	out := zeros(shape...)
	for i := range out.Values {
		out.Values[i] = a.Values[from(i)]
	}
	return out
}

// tokensFirst returns x [A,B,D] as [B,A,D].
func tokensFirst(x petest.Array) petest.Array {
	a, b, d := x.Shape[0], x.Shape[1], x.Shape[2]
	return reordered(x, func(i int) int { return (i/d%a*b+i/d/a)*d + i%d }, b, a, d)
}

// transposed returns x [R,C] as [C,R].
func transposed(x petest.Array) petest.Array {
	r, c := x.Shape[0], x.Shape[1]
	return reordered(x, func(i int) int { return i%r*c + i/r }, c, r)
}

// lastRows returns the last n of the rows [H,N,M] of each head.
func lastRows(a petest.Array, n int) petest.Array {
	heads, rows, m := a.Shape[0], a.Shape[1], a.Shape[2]
	return reordered(a, func(i int) int { return i + (i/(n*m)+1)*(rows-n)*m }, heads, n, m)
}

// forQueries repeats each head of keys or values [N,H',Dh] for the query heads that share it.
func forQueries(a petest.Array, heads int) petest.Array {
	n, shared := a.Shape[0], a.Shape[1]
	d := len(a.Values) / n / shared
	return reordered(a, func(i int) int { return (i/(heads*d)*shared+i/d%heads/(heads/shared))*d + i%d },
		append([]int{n, heads}, a.Shape[2:]...)...)
}

// widened returns rows [R,C] with zeros up to the given number of columns.
func widened(a petest.Array, columns int) petest.Array {
	out := zeros(a.Shape[0], columns)
	for i := range a.Shape[0] {
		copy(out.Row(i), a.Row(i))
	}
	return out
}
