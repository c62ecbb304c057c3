package runlog

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"torchpe/internal/expect"
)

// A model knows what of a run directory would survive a power loss, by the letter of POSIX: a file has
// the bytes of its last fsync, and a name leads where it led at the last fsync of the directory.
type model struct {
	dir          string
	now, durable map[string]*inode
	pending      []map[string]*inode // changes of names since that fsync; nil removes a name
	synced       string              // by the operation before
}

// inode is a file with its present and its surviving content.
type inode struct {
	number       uint64
	now, durable []byte
}

// before looks at the directory before an operation.
func (m *model) before(operation, name string) {
	m.look()
	if i := m.now[filepath.Base(m.synced)]; i != nil {
		i.durable = i.now
	} else if m.synced == m.dir {
		m.durable, m.pending = maps.Clone(m.now), nil
	}
	m.synced = ""
	if operation == "sync" {
		m.synced = filepath.Clean(name)
	}
}

// look notes the names and the contents in the directory.
func (m *model) look() {
	entries, _ := os.ReadDir(m.dir) // none before it is made
	names, change := map[string]*inode{}, map[string]*inode{}
	for _, e := range entries {
		info := expect.Must(e.Info())
		number := info.Sys().(*syscall.Stat_t).Ino
		i := &inode{number: number}
		for _, old := range m.now {
			if old.number == number {
				i = old
			}
		}
		i.now = expect.Must(os.ReadFile(filepath.Join(m.dir, e.Name())))
		names[e.Name()] = i
		if m.now[e.Name()] != i {
			change[e.Name()] = i
		}
	}
	for name := range m.now {
		if names[name] == nil {
			change[name] = nil
		}
	}
	if m.now = names; len(change) > 0 {
		m.pending = append(m.pending, change)
	}
}

// The ways in which bytes that were not synced may come back after a power loss.
var afterPowerLoss = map[string]func(*inode) []byte{
	"lost": func(i *inode) []byte { return i.durable },
	"kept": func(i *inode) []byte { return i.now },
	"half": func(i *inode) []byte {
		if len(i.now) < len(i.durable) {
			return i.durable
		}
		return i.now[:(len(i.durable)+len(i.now))/2]
	},
	"zeroed": func(i *inode) []byte {
		return append(slices.Clone(i.durable), make([]byte, max(0, len(i.now)-len(i.durable)))...)
	},
}

// images calls f with every directory that a power loss now could leave: each subset of the pending
// changes of names, with each treatment of the bytes.
func (m *model) images(t *testing.T, f func(dir, description string)) {
	t.Helper()
	m.look()
	if len(m.pending) > 8 {
		t.Fatalf("%d changes of names without a sync of the directory", len(m.pending))
	}
	for subset := range 1 << len(m.pending) {
		names := maps.Clone(m.durable)
		for i, change := range m.pending {
			if subset>>i&1 == 1 {
				maps.Copy(names, change)
			}
		}
		for treatment, content := range afterPowerLoss {
			dir := filepath.Join(fastDir(t), "image")
			expect.NoError(t, os.Mkdir(dir, 0o777))
			for name, i := range names {
				if i != nil {
					expect.NoError(t, os.WriteFile(filepath.Join(dir, name), content(i), 0o666))
				}
			}
			f(dir, treatment)
		}
	}
}
