package masked

import (
	"fmt"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// TestEpochsArePermutations checks that the samples, end to end, are the epochs' orders, with
// batches that divide an epoch, that do not, and that are larger than one.
func TestEpochsArePermutations(t *testing.T) {
	for _, shape := range [][2]int{{10, 50}, {7, 50}, {128, 50}, {50, 50}, {1, 3}, {5, 1}} {
		batch, n := shape[0], shape[1]
		s := expect.Must(NewSampler(4, batch, n))
		var all []int
		for step := 0; len(all) < 6*n; step++ {
			frames := s.Frames(step)
			if len(frames) != batch {
				t.Fatalf("a batch of %d, want %d", len(frames), batch)
			}
			all = append(all, frames...)
		}
		for epoch := range 6 {
			got := all[epoch*n : (epoch+1)*n]
			if !slices.Equal(got, EpochOrder(4, epoch, n)) {
				t.Fatalf("batch %d of %d, epoch %d: not its order", batch, n, epoch)
			}
			sorted := slices.Sorted(slices.Values(got))
			for i, v := range sorted {
				if i != v {
					t.Fatalf("batch %d of %d, epoch %d: no permutation: %v", batch, n, epoch, got)
				}
			}
		}
	}
}

// TestFramesDependOnTheStepAlone asks for steps in another order and of a fresh sampler, as a
// resumed run does.
func TestFramesDependOnTheStepAlone(t *testing.T) {
	s := expect.Must(NewSampler(8, 16, 37))
	var want [][]int
	for step := range 20 {
		want = append(want, s.Frames(step))
	}
	for _, step := range []int{19, 3, 3, 0, 12, 7, 8} {
		expect.Equal(t, fmt.Sprintf("step %d again", step), s.Frames(step), want[step])
		expect.Equal(t, fmt.Sprintf("step %d of a new sampler", step),
			expect.Must(NewSampler(8, 16, 37)).Frames(step), want[step])
	}
	expect.Equal(t, "another seed gave the same batch",
		slices.Equal(expect.Must(NewSampler(9, 16, 37)).Frames(0), want[0]), false)
}

func TestSamplerRefuses(t *testing.T) {
	for _, shape := range [][2]int{{0, 5}, {5, 0}, {-1, 5}, {5, -1}} {
		expect.Refused(t, fmt.Sprintf("batches of %d out of %d", shape[0], shape[1]),
			expect.ErrorOf(NewSampler(1, shape[0], shape[1])))
	}
}
