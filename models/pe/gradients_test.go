package pe_test

import (
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
	o.Kernel = metrics.Kernel(c.Text("kernel", string(o.Kernel)))
	o.Alpha, o.Time = c.Float("alpha", o.Alpha), c.Float("diffusion_time", o.Time)
	o.Dims = c.Int("n_components", o.Dims)
	affinity, err := metrics.Affinity(connectivity.Values, n, o)
	if err != nil {
		t.Fatal(err)
	}
	coordinates, eigenvalues, err := metrics.Gradients(connectivity.Values, n, o)
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
