package array_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

func TestBudget(t *testing.T) {
	b := array.NewBudget()
	most := array.Limit()
	expect.NoError(t, b.Take(most, "all"))
	var large *array.TooLargeError
	if err := b.Take(1, "a byte more"); !errors.As(err, &large) || large.Need != most+1 ||
		large.Limit != most || !strings.HasPrefix(err.Error(), "a byte more: ") {
		t.Errorf("%v", err)
	}
	b.Give(1)
	if err := b.Fits(1, "a byte"); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{-1, math.MaxInt64} {
		expect.Refused(t, n, b.Take(n, "overflow"))
	}
	if _, err := array.Make[[2]float64](b, math.MaxInt, "overflow"); err == nil {
		t.Error("a slice beyond int64 is granted")
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"8G": 8e9, "500M": 500e6, "1.5 GB": 1.5e9, "2tb": 2e12,
		"1000000": 1e6, "64 mb": 64e6, "3000k": 3e6} {
		expect.Equal(t, text, expect.Must(array.ParseBytes(text)), want)
	}
	for _, text := range []string{"", "G", "8X", "-8G", "0", "NaN", "Inf", "nanG", "1", "1e30", "8GG",
		"99999999T"} {
		expect.Refused(t, text, expect.ErrorOf(array.ParseBytes(text)))
	}
	for n, want := range map[int64]string{999: "999 bytes", 1500: "1.5 kB", 4e9: "4 GB",
		math.MaxInt64: "9.22 EB"} {
		expect.Equal(t, fmt.Sprintf("%d is shown as", n), array.Bytes(n), want)
	}
}

// The memory at hand is the least of the machine's and of what each control group above the process
// leaves (kernel.org: admin-guide/cgroup-v2, cgroup-v1/memory).
func TestAtHand(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"machine": {map[string]string{"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:   1000 kB\n"},
			1024000},
		"group": {map[string]string{"proc/meminfo": "MemAvailable: 1000 kB\n",
			"proc/self/cgroup":               "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":   "max\n",
			"sys/fs/cgroup/a/memory.max":     "500000\n",
			"sys/fs/cgroup/a/memory.current": "100000\n"}, 400000},
		"version 1": {map[string]string{"proc/meminfo": "MemAvailable: 1000 kB\n",
			"proc/self/cgroup": "7:cpu:/x\n4:memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "300000\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "100\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "100\n"}, 299900},
		"nothing told": {nil, 8e9},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(root, file)
			expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		}
		expect.Equal(t, name, array.AtHand(root), c.want)
	}
}
