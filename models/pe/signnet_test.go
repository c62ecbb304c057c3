package pe_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

func TestSignNet(t *testing.T) {
	petest.Run(t, petest.Case{
		Scheme: "signnet", Kinks: true,
		Variants: []petest.Variant{
			petest.Code("signnet", "mlp"), petest.Code("signnet-vectors", "3"), petest.Code("signnet-width", "5"),
			petest.Code("signnet-out", "6"), petest.Code("signnet-layers", "1"),
			petest.Code("signnet-post-layers", "1"),
			petest.Code("signnet-vectors", "10", "signnet", "mlp"),
		},
	})
}

func init() { vectors["signnet"] = signNetVector }

// signNetSpec returns the scheme with the eigenvectors and weights of a case. Batch norm by running
// statistics is a linear map, which goes into the weights of the map beside it.
func signNetSpec(t testing.TB, c *petest.VectorCase) petest.Spec {
	t.Helper()
	v, index := c.Input(t, "eigenvectors"), c.Input(t, "edge_index")
	n, k := v.Shape[0], v.Shape[1]
	p, weights := pe.Line(n), make([][]float64, n)
	for i := range weights {
		weights[i] = make([]float64, n)
	}
	for i, from := range index.Row(0) {
		weights[int(from)][int(index.Row(1)[i])] = 1
	}
	var err error
	if p.Graph, err = pe.GraphOf(weights); err != nil {
		t.Fatal(err)
	}
	phi, rho := c.Int("phi_layers", 0), c.Int("rho_layers", 0)
	sp := petest.Spec{
		Scheme: "signnet", DModel: c.Int("dim_pe", 0), Positions: p,
		Given: pe.Options{"signnet": strings.ToLower(c.Text("model", "")), "signnet-vectors": fmt.Sprint(k),
			"signnet-width": fmt.Sprint(c.Int("hidden", 0)), "signnet-out": fmt.Sprint(c.Int("phi_out", 0)),
			"signnet-layers": fmt.Sprint(phi), "signnet-post-layers": fmt.Sprint(rho)},
		Set: map[string][]float64{"pe.vectors": make([]float64, k*n)},
	}
	for i, x := range v.Values {
		if !math.IsNaN(x) {
			sp.Set["pe.vectors"][i%k*n+i/k] = x
		}
	}
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
func foldNorms(t testing.TB, c *petest.VectorCase, w, b petest.Array, after, before string) {
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

// signNetVector also turns the signs of the eigenvectors, which changes nothing.
func signNetVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	sp := signNetSpec(t, c)
	added := petest.Added(sp.Model(t), 0, sp.Positions)
	for i := range sp.Positions.Tokens() {
		sp.Set["pe.vectors"][i] *= -1
	}
	petest.Near(t, "with the sign of an eigenvector turned", petest.Added(sp.Model(t), 0, sp.Positions), added, 1e-13)
	return petest.Outputs{"pe": added}
}
