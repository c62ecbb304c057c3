package runlog_test

import (
	"fmt"

	"torchpe/train/runlog"
)

// A run directory is read while it is written, and long after.
func ExampleOpen() {
	r, err := runlog.Open("../../cmd/torchpe/testdata/released/done")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	records, err := runlog.ReadMetrics[runlog.Record](r)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range records[:4] {
		fmt.Printf("seed %d step %d training %.3f validation %.3f\n", m.Seed, m.Step,
			m.Measures.Get("train"), m.Measures.Get("validation"))
	}
	// Output:
	// seed 5 step 400 training 0.289 validation 0.167
	// seed 6 step 400 training 0.283 validation 0.250
	// seed 5 step 800 training 0.361 validation 0.167
	// seed 6 step 800 training 0.353 validation 0.250
}
