package ctorch

import (
	"testing"

	"torchpe/internal/expect"
)

func init() {
	for _, name := range []string{"tp_own_stream", "tp_default_stream", "tp_graph_begin",
		"tp_graph_end", "tp_graph_replay", "tp_graph_free"} {
		systemCases[name] = testNoGraph // torchpe's tests record graphs where there is a GPU
	}
	for _, name := range []string{"tp_synchronize", "tp_device_memory", "tp_reset_peak_memory",
		"tp_release_cached", "tp_set_deterministic"} {
		systemCases[name] = testDeviceMemory
	}
	systemCases["tp_write_"] = testWrite
}

// testNoGraph: the processor has no streams and no graphs, and a graph that was never made is none;
// each is an error.
func testNoGraph(t *testing.T) {
	for _, device := range []int{CPU, -1, 1 << 20, 1 + DescribeSystem().GPUs} {
		if OwnStream(device) == nil || DefaultStream(device) == nil {
			t.Errorf("device number %d has streams", device)
		}
		if g, err := GraphBegin(device, 0); err == nil || g != 0 {
			t.Errorf("device number %d records graph %d: %v", device, g, err)
		}
	}
	for _, graph := range []uint64{0, 1 << 40, 1<<64 - 1} {
		if GraphEnd(graph) == nil || GraphReplay(graph) == nil || GraphFree(graph) == nil {
			t.Errorf("there is a graph %d", graph)
		}
	}
}

// testDeviceMemory: of the processor nothing is known and there is nothing to wait for; other
// numbers are errors.
func testDeviceMemory(t *testing.T) {
	if a, p, r, err := DeviceMemory(CPU); a != 0 || p != 0 || r != 0 || err != nil {
		t.Errorf("%d, %d, %d, %v", a, p, r, err)
	}
	for _, err := range []error{Synchronize(CPU), ResetPeakMemory(CPU), ReleaseCached(CPU),
		SetDeterministic(true), SetDeterministic(false)} {
		expect.NoError(t, err)
	}
	for _, device := range []int{-1, 1 << 20, 1 + DescribeSystem().GPUs} {
		_, _, _, err := DeviceMemory(device)
		if err == nil || Synchronize(device) == nil || ResetPeakMemory(device) == nil || ReleaseCached(device) == nil {
			t.Errorf("device number %d is taken", device)
		}
	}
}

// testWrite: as many bytes as there are, into dense memory; all else is an error that changes
// nothing.
func testWrite(t *testing.T) {
	x := must(Full([]int{2, 3}, 7, Float64, CPU))
	strided := must(apply("Transpose", x, false, 0, 1))
	none := must(Full([]int{0, 3}, 7, Float64, CPU))
	defer Release([]Handle{x, strided, none})
	if Write(x, []float64{1}) == nil || Write(strided, make([]float64, 6)) == nil ||
		Write(0, make([]float64, 6)) == nil || Write(1<<40, make([]float64, 6)) == nil {
		t.Error("bad input is taken")
	}
	got := make([]float64, 6)
	check(Read(x, got))
	expect.Equal(t, "after refused writes", got, []float64{7, 7, 7, 7, 7, 7})
	check(Write(none, []float64{}))
	check(Write(x, []float64{1, 2, 3, 4, 5, 6}))
	check(Read(x, got))
	expect.Equal(t, "values", got, []float64{1, 2, 3, 4, 5, 6})
}
