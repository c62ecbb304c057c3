package torchpe_test

import (
	"fmt"

	"torchpe/torchpe"
)

// A scope owns every tensor that is made in it: one Close frees them all.
func ExampleScope() {
	s := torchpe.NewScope()
	defer s.Close()
	x := torchpe.Of(s, torchpe.CPU, []float64{1, 2, 3, 4}, 2, 2).RequireGrad()
	y := s.Do(func(c *torchpe.Scope) torchpe.Tensor {
		square := x.In(c).Square() // freed when Do returns
		return square.Sum()        // kept: it becomes a tensor of s
	})
	y.Backward()
	fmt.Println(y.Item(), x.Grad().Float64s())
	// Output: 30 [2 4 6 8]
}
