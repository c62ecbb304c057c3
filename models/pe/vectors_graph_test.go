package pe_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// weighted returns the graph of a matrix of weights, which a test knows to be one.
func weighted(rows [][]float64) *pe.Graph {
	g, err := pe.GraphOf(rows)
	if err != nil {
		panic(err)
	}
	return g
}

// graphPositions returns the nodes of a graph as tokens one after the other.
func graphPositions(g *pe.Graph) pe.Positions {
	p := pe.Line(g.Nodes())
	p.Graph = g
	return p
}

// adjacent returns tokens in the graph of a case's adjacency matrix, which its list of edges, with
// their weights if there are any, must agree with.
func adjacent(t testing.TB, c *VectorCase) pe.Positions {
	t.Helper()
	g := expect.Must(pe.LoopedGraphOf(rowsOf(c.Input(t, "adjacency"))))
	index := c.Input(t, "edge_index")
	weights := slices.Repeat([]float64{1}, index.Shape[1])
	if c.Has("edge_weight") {
		weights = c.Input(t, "edge_weight").Values
	}
	for k, from := range index.Row(0) {
		expect.Equal(t, fmt.Sprintf("edge %d weighs", k), g.Weight(int(from), int(index.Row(1)[k])), weights[k])
	}
	return graphPositions(g)
}

// withVirtualNode returns a graph's weights with those of a virtual node before them, which nothing
// joins.
func withVirtualNode(weights [][]float64) pe.Positions {
	all := [][]float64{make([]float64, len(weights)+1)}
	for _, row := range weights {
		all = append(all, append([]float64{0}, row...))
	}
	return graphPositions(weighted(all))
}

// graphormerVector: their rows are ours with one before them, for padding; the last of ours is for
// nodes that no path joins, theirs is 511. An edge's feature is its weight. The indices that the
// other code's module received are held against ours; those of hops are seen in the bias.
func graphormerVector(t testing.TB, c *VectorCase) Outputs {
	if c.Has("atom_features") {
		return centralityVector(t, c)
	}
	features, adjacency := c.Input(t, "edge_feature"), c.Input(t, "adjacency")
	n := features.Shape[0]
	for i, w := range adjacency.Values {
		expect.Equal(t, fmt.Sprintf("nodes %d and %d: adjacency %g, edge feature %g: edge", i/n, i%n, w,
			features.Values[i]), features.Values[i] != 0, w != 0)
	}
	p := withVirtualNode(rowsOf(features))
	sp := perHead(c, "graphormer", p,
		given("graphormer-virtual-node=first graphormer-edges=simple graphormer-centrality=false"))
	sp.Set = params(t, c, "virtual=graph_token_virtual_distance.weight edges=edge_encoder.weight")
	if c.Text("edge_type", "") == "multi_hop" {
		hops := c.Int("multi_hop_max_dist", 5)
		sp.Given["graphormer-edges"] = fmt.Sprint(hops)
		sp.Set["pe.hops"] = c.Param(t, "edge_dis_encoder.weight").Values[:hops*sp.Heads*sp.Heads]
	}
	plain := sp
	plain.Set = nil
	sp.Set["pe.edges"] = sp.Set["pe.edges"][:plain.Model(t).Params.Get("pe.edges").Shape[2]*sp.Heads]
	spatial := make([]float64, 511*sp.Heads)
	copy(spatial, c.Param(t, "spatial_pos_rows").Values[sp.Heads:]) // theirs count from 1
	sp.Set["pe.distances"] = spatial
	spd, shifted, kinds := zeros(n, n), zeros(n, n), zeros(n, n)
	for i := range spd.Values {
		d := p.Graph.Distances()[i/n+1][i%n+1]
		if d < 0 { // no path
			d = 510
		}
		spd.Values[i], shifted.Values[i], kinds.Values[i] = float64(d), float64(d+1), features.Values[i]+1
	}
	petest.Near(t, "shifted distances", shifted, c.Input(t, "spatial_pos_shifted"), 0)
	petest.Near(t, "kinds of edges", kinds, c.Input(t, "attn_edge_type_index").Reshaped(n, n), 0)
	c.Unused("edge_input_shifted")
	return Outputs{"spd": spd, "bias_with_virtual_node": biasOf(t, sp)}
}

// centralityVector: degrees are numbers, which no graph need have.
func centralityVector(t testing.TB, c *VectorCase) Outputs {
	atoms, features := c.Param(t, "atom_encoder.weight"), c.Input(t, "atom_features")
	n, d := features.Shape[0], atoms.Shape[1]
	out := stackRows(c.Param(t, "graph_token.weight").Reshaped(1, d), zeros(n, d))
	for i := range n {
		for _, atom := range features.Row(i) {
			for j, v := range atoms.Row(int(atom)) {
				out.Row(i + 1)[j] += v
			}
		}
	}
	degrees := func(side string) []int { // 0 is padding to them
		all := []int{0}
		for _, shifted := range c.Input(t, side+"_degree_shifted").Values {
			all = append(all, int(shifted)-1)
		}
		return all
	}
	in, outgoing := c.Param(t, "in_degree_encoder.weight"), c.Param(t, "out_degree_encoder.weight")
	p := withVirtualNode(rowsOf(zeros(n, n)))
	m := petest.Spec{Scheme: "graphormer", Layers: 1, DModel: d, Positions: p,
		Given: given("graphormer-virtual-node=first graphormer-degrees=%d", in.Shape[0]-2),
		Set:   map[string][]float64{"pe.in": in.Values[d:], "pe.out": outgoing.Values[d:]}}.Model(t)
	pe.SetDegrees(m.Encoding, degrees("in"), degrees("out"))
	for i, v := range added(m, 0, p).Values {
		out.Values[i] += v
	}
	return Outputs{"node_features_with_graph_token": out}
}

// laplacianVector: with the identity for C, z itself is added. Tab-PET's eigenvectors are z
// without its z-score.
func laplacianVector(t testing.TB, c *VectorCase) Outputs {
	g := weighted(rowsOf(c.Input(t, "adjacency")))
	pairs, _ := c.Value("edges").([]any)
	for k, pair := range pairs { // the same, named one by one
		if ends := pair.([]any); g.Weight(int(ends[0].(float64)), int(ends[1].(float64))) == 0 {
			t.Errorf("edge %d %v is not in the adjacency matrix", k, ends)
		}
	}
	first, last := c.Int("k_first", c.Int("k", 0)), c.Int("k_last", 0)
	columns := func(scale string) petest.Array {
		k := first + last
		return tableOf(t, petest.Spec{Scheme: "laplacian", DModel: k, Positions: graphPositions(g),
			Set:   map[string][]float64{"pe.weight": identity(k), "pe.bias": make([]float64, k)},
			Given: given("laplacian-first=%d laplacian-last=%d laplacian-scale=%s", first, last, scale)})
	}
	c.UpToSign("pe")
	if !strings.Contains(fmt.Sprint(c.SourceSymbol), "apply_simple_pe_normalization") {
		return Outputs{"pe": columns("none")}
	}
	c.UpToSign("eigenvectors_selected")
	values, _ := g.Laplacian()
	return Outputs{
		"pe": columns("z-score"), "eigenvectors_selected": columns("none"),
		"eigenvalues": {Shape: []int{len(values)}, Values: values},
	}
}

// rrwpVector: with the identity for C and for w, of as many heads as steps, what is added are M_ii and
// M_ij. The code files M_ij under the edge from j to i. Its degrees do not enter the scheme: they are
// sums of the weights here.
func rrwpVector(t testing.TB, c *VectorCase) Outputs {
	p, k, spd := adjacent(t, c), c.Int("walk_length", 0), c.Bool("spd")
	sp := petest.Spec{Scheme: "rrwp", Heads: k, DModel: k, Layers: 1, Positions: p,
		Set:   map[string][]float64{"pe.pair-weight": identity(k)},
		Given: given("rrwp-steps=%d rrwp-distance=%v rrwp-identity=%v", k, spd, c.Bool("add_identity"))}
	if !spd {
		sp.Set["pe.weight"], sp.Set["pe.bias"] = identity(k), make([]float64, k)
	}
	n := p.Tokens()
	dense := transposed(biasOf(t, sp).Reshaped(k, n*n)).Reshaped(n, n, k)
	var rows, columns, values []float64
	degrees := zeros(n)
	for i := range n {
		for j := range n {
			degrees.Values[i] += p.Graph.Weight(i, j)
			if steps := dense.Row(i)[j*k : (j+1)*k]; norm(steps) != 0 {
				rows, columns = append(rows, float64(i)), append(columns, float64(j))
				values = append(values, steps...)
			}
		}
		degrees.Values[i] = math.Log1p(degrees.Values[i])
	}
	return Outputs{"node_pe": tableOf(t, sp), "pair_dense": dense, "log_deg": degrees,
		"pair_index": {Shape: []int{2, len(rows)}, Values: append(columns, rows...)},
		"pair_value": {Shape: []int{len(rows), k}, Values: values}}
}

// rwseVector: with the identity for C, z itself is added.
func rwseVector(t testing.TB, c *VectorCase) Outputs {
	p, steps := adjacent(t, c), c.Floats("steps")
	if c.Has("edge_weight") {
		t.Fatal("weights in the degrees alone: ours are ignored")
	}
	k := len(steps)
	return Outputs{"pe": tableOf(t, petest.Spec{Scheme: "rwse", DModel: k, Positions: p,
		Set:   map[string][]float64{"pe.weight": identity(k), "pe.bias": make([]float64, k)},
		Given: given("rwse-steps=%s rwse-dimensions=%s", commas(steps), format(c.Float("space_dim", 0)))})}
}

// signNetVector also turns the signs of the eigenvectors, which changes nothing.
func signNetVector(t testing.TB, c *VectorCase) Outputs {
	sp := signNetSpec(t, c)
	added := tableOf(t, sp)
	for i := range sp.Positions.Tokens() {
		sp.Set["pe.vectors"][i] *= -1
	}
	petest.Near(t, "with the sign of an eigenvector turned", tableOf(t, sp), added, 1e-13)
	return Outputs{"pe": added}
}

// signNetSpec returns the scheme with the eigenvectors and weights of a case. Batch norm by running
// statistics is a linear map, which goes into the weights of the map beside it.
func signNetSpec(t testing.TB, c *VectorCase) petest.Spec {
	t.Helper()
	v, index := transposed(c.Input(t, "eigenvectors")), c.Input(t, "edge_index")
	k, n := v.Shape[0], v.Shape[1]
	weights := zeros(n, n)
	for i, from := range index.Row(0) {
		weights.Row(int(from))[int(index.Row(1)[i])] = 1
	}
	for i, x := range v.Values {
		if math.IsNaN(x) {
			v.Values[i] = 0
		}
	}
	phi, rho := c.Int("phi_layers", 0), c.Int("rho_layers", 0)
	sp := petest.Spec{Scheme: "signnet", DModel: c.Int("dim_pe", 0),
		Positions: graphPositions(weighted(rowsOf(weights))),
		Given: given("signnet=%s signnet-vectors=%d signnet-width=%d signnet-out=%d signnet-layers=%d "+
			"signnet-post-layers=%d", strings.ToLower(c.Text("model", "")), k, c.Int("hidden",
			0), c.Int("phi_out", 0),
			phi, rho),
		Set: map[string][]float64{"pe.vectors": v.Values}}
	// after and before name the batch norms that follow and precede the map, if any
	set := func(to, from, after, before string) {
		w, b := c.Param(t, from+".weight"), c.Param(t, from+".bias")
		if c.Bool("batch_norm") {
			foldNorms(t, c, w, b, after, before)
		}
		sp.Set[to+"weight"], sp.Set[to+"bias"] = w.Values, b.Values
	}
	for i := range phi {
		nn, after := fmt.Sprintf("enc.layers.%d.nn.", i), ""
		if i < phi-1 {
			after = fmt.Sprintf("enc.bns.%d", i)
		}
		set(fmt.Sprintf("pe.phi.%d.in.", i), nn+"lins.0", "", "")
		set(fmt.Sprintf("pe.phi.%d.out.", i), nn+"lins.1", after, nn+"bns.0")
	}
	for i := range rho {
		before := ""
		if i > 0 {
			before = fmt.Sprintf("rho.bns.%d", i-1)
		}
		set(fmt.Sprintf("pe.rho.%d.", i), fmt.Sprintf("rho.lins.%d", i), "", before)
	}
	return sp
}

// foldNorms changes a map w, b into the map with the batch norms after and before it.
func foldNorms(t testing.TB, c *VectorCase, w, b petest.Array, after, before string) {
	t.Helper()
	norm := func(name string) (scale, shift []float64) {
		mean, variance := c.Param(t, name+".running_mean"), c.Param(t, name+".running_var")
		gain, bias := c.Param(t, name+".weight"), c.Param(t, name+".bias")
		for i := range mean.Values {
			s := gain.Values[i] / math.Sqrt(variance.Values[i]+c.Float("bn_eps", 1e-5))
			scale, shift = append(scale, s), append(shift, bias.Values[i]-s*mean.Values[i])
		}
		return scale, shift
	}
	if before != "" {
		scale, shift := norm(before)
		for o := range b.Values {
			for i, row := 0, w.Row(o); i < len(row); i++ {
				b.Values[o] += row[i] * shift[i]
				row[i] *= scale[i]
			}
		}
	}
	if after != "" {
		scale, shift := norm(after)
		for o := range b.Values {
			for i, row := 0, w.Row(o); i < len(row); i++ {
				row[i] *= scale[o]
			}
			b.Values[o] = b.Values[o]*scale[o] + shift[o]
		}
	}
}

// gradientVector: the coordinates with which --pe-init gradients starts.
func gradientVector(t testing.TB, c *VectorCase) Outputs {
	connectivity := c.Input(t, "connectivity")
	n := connectivity.Shape[0]
	o := metrics.DefaultGradients()
	o.Sparsity = c.Float("sparsity", o.Sparsity)
	o.Alpha, o.Time = c.Float("alpha", o.Alpha), c.Float("diffusion_time", o.Time)
	o.Dims = c.Int("n_components", o.Dims)
	affinity := expect.Must(metrics.Affinity(connectivity.Values, n, o.Sparsity))
	if c.Text("kernel", "") == "cosine" { // the same rows, compared otherwise
		for i, a := range affinity {
			affinity[i] = max(0, math.Cos(math.Pi*(1-a)))
		}
	}
	coordinates, eigenvalues, err := metrics.DiffusionMap(slices.Clone(affinity), n, o)
	expect.NoError(t, err)
	c.Unused("n", "kept_per_row", "random_state") // follow from others, or are of a solver that is not exact
	return Outputs{
		"affinity":  {Shape: []int{n, n}, Values: affinity},
		"lambdas":   {Shape: []int{o.Dims}, Values: eigenvalues},
		"gradients": {Shape: []int{n, o.Dims}, Values: coordinates},
	}
}
