package train

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"torchpe/data/lst"
	"torchpe/internal/expect"
)

// Accuracy by lines is the share of right predictions among puzzles that need so many, though
// their labels say otherwise: predictions of the probes against puzzles of known lines.
func TestValidationByLines(t *testing.T) {
	c := tiny(t, "learn")
	c.LimitSteps, c.Noise = 20, nil
	// Of a pool; validation sets have no 3-vector puzzle that two lines decide.
	pool, _, err := lst.Generate(lst.Options{Train: 120}, 4)
	expect.NoError(t, err)
	expect.NoError(t, lst.WriteFiles(lst.File{Path: c.LSTValidation, Puzzles: pool}))
	dir, result := runTiny(t, c)
	shape, predicted := probed(t, dir, "prediction/validation")
	if !slices.Equal(shape, []int{2, 120}) {
		t.Fatalf("predictions %v", shape)
	}
	records := recordsOf(t, dir)
	for m, member := range result.Members {
		right, count, relabelled := map[string]float64{}, map[string]float64{}, 0
		for i, p := range pool {
			n := len(lst.Lines(p.Cells))
			if n != int(p.Condition) {
				relabelled++
			}
			key := strconv.Itoa(n)
			count[key]++
			if predicted[m*len(pool)+i] == float64(p.Answer-1) {
				right[key]++
			}
		}
		if relabelled == 0 || len(count) != 3 || len(member.Measures.Of("validation_lines")) != 3 {
			t.Fatalf("%d puzzles of other lines than their label, counts %v", relabelled, count)
		}
		last := records[len(records)-len(result.Members)+m].Measures.Of("validation_lines")
		for key, n := range count {
			want := right[key] / n
			expect.Equal(t, fmt.Sprintf("member %d, %s lines: result and last record", m, key),
				[2]float64{member.Measures.Of("validation_lines")[key], last[key]}, [2]float64{want, want})
		}
		expect.Equal(t, fmt.Sprintf("member %d: validation by lines and by condition", m),
			member.Measures["validation_lines/1"], member.Measures["validation/1-vector"])
	}
}
