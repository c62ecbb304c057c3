package machine_test

import (
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/machine"
)

// The free memory is the least of the machine's and of what each control group above the process
// leaves (kernel.org: admin-guide/cgroup-v2, cgroup-v1/memory).
func TestMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"machine": {map[string]string{"proc/meminfo": "MemTotal: 2000 kB\nMemAvailable:   1000 kB\n"},
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
		"nothing told": {nil, -1},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(root, file)
			expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			expect.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		}
		total, free := machine.Memory(root)
		expect.Equal(t, name, free, c.want)
		expect.Equal(t, name+": memory of the machine", total, map[bool]int64{true: 2048000}[name == "machine"])
	}
}
