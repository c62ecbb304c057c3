package train

import (
	"errors"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// What libtorch says is told apart: memory that is short, a GPU that failed, and everything else.
func TestFaults(t *testing.T) {
	c := tiny(t, "learn")
	for text, want := range map[string]struct {
		memory, device bool
		help           string
	}{
		// The messages of libtorch 1.13 and 2.11, shortened.
		"CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; " +
			"7.79 GiB total capacity; 6.03 GiB already allocated)": {true, false, "2 members with batch 32"},
		"DefaultCPUAllocator: can't allocate memory: you tried to " +
			"allocate 8589934592 bytes": {true, false, "fewer --members"},
		"CUDA error: unspecified launch failure": {false, true, "--resume"},
		"CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling " +
			"cublasSgemm(x)": {false, true, "Xid"},
		"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling " +
			"`cublasCreate(handle)`": {true, false, "fewer --members"},
		"CUDA error: uncorrectable ECC error encountered (at a " +
			"kernel of torchpe)": {false, true, "--resume"},
		"the size of tensor a (2) must match the size of tensor b (3)": {false, false, ""},
	} {
		err := errors.New(text)
		said := withAdvice(c, err).Error()
		if outOfMemory(err) != want.memory || deviceLost(err) != want.device || !strings.HasPrefix(said,
			text) || !strings.Contains(said, want.help) || want.help == "" && said != text {
			t.Errorf("%s: memory %v, device %v: %s", text, outOfMemory(err), deviceLost(err), said)
		}
	}
}

// Silence is noticed once, and not while steps come.
func TestWatch(t *testing.T) {
	heard := make(chan *StalledError, 10)
	w := newWatchdog(time.Second, "runs/x", func(e *StalledError) { heard <- e })
	for step := range 8 {
		w.notify(step)
		time.Sleep(30 * time.Millisecond)
	}
	if len(heard) > 0 {
		t.Fatal("steps came, and it says they do not")
	}
	e := <-heard
	if e.Step != 7 || !strings.Contains(e.Error(), "runs/x") || !deviceLost(e) {
		t.Errorf("%v", e)
	}
	w.stop()
	quiet := newWatchdog(50*time.Millisecond, "", func(*StalledError) { t.Error("heard after stop") })
	quiet.stop()
	time.Sleep(80 * time.Millisecond)
	(*watchdog)(nil).notify(1)
}

// What fails in an evaluation on the device is its error, in every task: here, the weights are gone.
func TestFailingEvaluation(t *testing.T) {
	for name, c := range map[string]Config{"puzzles": tiny(t, "learn"), "masked": tinyMasked(t, "learn"),
		"language": tinySequence(t, "reverse-string", "learn"), "text": tinyText(t, "learn")} {
		e := started(t, c)
		tables := expect.Must(e.peTables())
		e.model.Close()
		_, measured := e.task.measure(e, tables)
		_, _, probed := e.task.probes(e, 0)
		_, read := e.peTables()
		if measured == nil || probed == nil || read == nil {
			t.Errorf("%s: measures %v, probes %v, tables %v", name, measured, probed, read)
		}
		if _, err := e.task.trainingSums(e); err == nil && name == "puzzles" {
			t.Errorf("%s: no error of the training sums", name)
		}
	}
}
