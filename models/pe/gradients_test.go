package pe_test

import (
	"math"
	"slices"
	"testing"

	"torchpe/internal/metrics"
	"torchpe/models/pe/petest"
)

func init() { vectors["gradient_positions"] = gradientVector }

// gradientVector: the coordinates with which --pe-init gradients starts.
func gradientVector(t testing.TB, c *petest.VectorCase) petest.Outputs {
	connectivity := c.Input(t, "connectivity")
	n := connectivity.Shape[0]
	o := metrics.DefaultGradients()
	o.Sparsity = c.Float("sparsity", o.Sparsity)
	o.Alpha, o.Time = c.Float("alpha", o.Alpha), c.Float("diffusion_time", o.Time)
	o.Dims = c.Int("n_components", o.Dims)
	affinity, err := metrics.Affinity(connectivity.Values, n, o.Sparsity)
	if err != nil {
		t.Fatal(err)
	}
	if c.Text("kernel", "") == "cosine" { // the same rows, compared otherwise
		for i, a := range affinity {
			affinity[i] = max(0, math.Cos(math.Pi*(1-a)))
		}
	}
	coordinates, eigenvalues, err := metrics.DiffusionMap(slices.Clone(affinity), n, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Unused("n", "kept_per_row", "random_state") // follow from others, or are of a solver that is not exact
	return petest.Outputs{
		"affinity":  {Shape: []int{n, n}, Values: affinity},
		"lambdas":   {Shape: []int{o.Dims}, Values: eigenvalues},
		"gradients": {Shape: []int{n, o.Dims}, Values: coordinates},
	}
}
