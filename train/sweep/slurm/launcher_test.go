package slurm

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"
)

// A job that is shorter than Signal saves after half of it, in whole seconds, and is then valid.
func TestFitSignal(t *testing.T) {
	for _, c := range []struct{ limit, signal, want time.Duration }{
		{time.Hour, 2 * time.Minute, 2 * time.Minute}, {0, time.Minute, time.Minute},
		{time.Minute, 2 * time.Minute, 30 * time.Second}, {time.Minute, time.Minute, 30 * time.Second},
	} {
		o := Options{Time: c.limit, Signal: c.signal}.FitSignal()
		if err := o.Validate(); o.Signal != c.want || err != nil {
			t.Errorf("%v of %v: %v, want %v, %v", c.signal, c.limit, o.Signal, c.want, err)
		}
	}
}

// Flags come back as they were stored; those that cannot be read are an error that says what to do.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	if got, _, err := ReadFlags(dir); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	want := Flags{"time": {"2h0m0s"}, "sbatch": {"--a=1,2", "--b"}, "partition": {""}}
	if err := want.write(dir); err != nil {
		t.Fatal(err)
	}
	got, path, err := ReadFlags(dir)
	if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFlags(dir); err == nil {
		t.Error("a damaged file was read")
	}
}
