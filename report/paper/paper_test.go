package paper

import (
	"os"
	"testing"

	"torchpe/report/internal/synthetic"
)

// write makes synthetic runs and the report of them.
func write(t *testing.T, all []synthetic.Run) (Written, string) {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	if keep := os.Getenv("TORCHPE_REPORT_OUT"); keep != "" {
		out = keep
	}
	if err := synthetic.Write(dir, all...); err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(out)
	if err != nil {
		t.Fatal(err)
	}
	return w, out
}

func TestEverything(t *testing.T) {
	w, _ := write(t, synthetic.Paper(synthetic.Sigmas(), []int{1, 2, 3}))
	t.Log(w)
}
