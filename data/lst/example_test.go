package lst_test

import (
	"fmt"

	"torchpe/data/lst"
)

// A training pool and a validation set, and the first puzzle of the pool.
func ExampleGenerate() {
	train, validation, err := lst.Generate(lst.Options{Train: 300, Validation: 12}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(train), len(validation))
	p := train[0]
	fmt.Println(p.Cells, p.Condition, p.Answer)
	// Output:
	// 300 12
	// 0241145301322010 1-vector 2
}
