package pe_test

import (
	"fmt"
	"maps"
	"slices"

	"torchpe/models/pe"
)

// A scheme is found by its name; it resolves its options in one of the readings of the paper.
func ExampleFind() {
	scheme, err := pe.Find("rope")
	if err != nil {
		fmt.Println(err)
		return
	}
	options, err := scheme.Resolve("code", pe.Options{"rope-base": "500000"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		fmt.Println(name, options[name])
	}
	// Output:
	// attention-bias false
	// attention-init linear
	// positions-from 0
	// rope-base 500000
	// rope-dims all
	// rope-layout interleaved
	// rope-proportion 1
}
