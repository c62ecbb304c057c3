package lst_test

import (
	"fmt"
	"strings"

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
	fmt.Println(strings.Join(p.Cells.Rows(), "\n"))
	fmt.Println(p.Condition, p.Answer)
	// Output:
	// 300 12
	// . 2 4 1
	// 1 4 ? 3
	// . 1 3 2
	// 2 . 1 .
	// 1-vector 2
}
