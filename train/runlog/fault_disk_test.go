package runlog

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// errCrash stands for the death of the process: every later operation returns it.
var errCrash = errors.New("the process is dead")

// A faultDisk fails at the n-th operation, as SQLite's test harness does ("How SQLite Is Tested",
// sections 3 and 4).
type faultDisk struct {
	disk
	n     int   // operations until the fault, counted from 1; 0 means never
	err   error // of the fault
	crash bool  // nothing is done from the fault on
	done  int
	dead  bool
	model *model
	log   []string
}

// fault counts an operation and returns what is to happen to it.
func (d *faultDisk) fault(op, name string) error {
	if d.dead {
		return errCrash
	}
	d.log = append(d.log, op+" "+name)
	d.done++
	if d.done != d.n {
		return nil
	}
	d.dead = d.crash
	return d.err
}

func (d *faultDisk) Open(name string, flag int) (file, error) {
	if err := d.fault("open", name); err != nil {
		return nil, err
	}
	f, err := d.disk.Open(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultFile{file: f, d: d, name: name, inode: d.model.open(name, flag)}, nil
}

func (d *faultDisk) Rename(from, to string) error {
	err := d.fault("rename", from)
	if err == nil {
		err = d.disk.Rename(from, to)
	}
	if err == nil {
		d.model.do(func(names map[string]*inode) {
			if names[from] != nil {
				names[to] = names[from]
				delete(names, from)
			}
		})
	}
	return err
}

func (d *faultDisk) Remove(name string) error {
	err := d.fault("remove", name)
	if err == nil {
		err = d.disk.Remove(name)
	}
	if err == nil {
		d.model.do(func(names map[string]*inode) { delete(names, name) })
	}
	return err
}

func (d *faultDisk) SyncDir() error {
	if err := d.fault("syncdir", "."); err != nil {
		return err
	}
	d.model.durable, d.model.pending = maps.Clone(d.model.now), nil
	return nil // the model is what survives
}

// lazyDisk is a disk that does not sync: for tests in which the machine itself keeps running.
type lazyDisk struct{ disk }

// lazy is the [Options].wrap of a lazyDisk.
func lazy(d disk) disk { return lazyDisk{d} }

func (d lazyDisk) SyncDir() error { return nil }

func (d lazyDisk) Open(name string, flag int) (file, error) {
	f, err := d.disk.Open(name, flag)
	return lazyFile{f}, err
}

type lazyFile struct{ file }

func (lazyFile) Sync() error { return nil }

// faultFile is a file of a faultDisk.
type faultFile struct {
	file
	d     *faultDisk
	name  string
	inode *inode
}

// Write writes half of the bytes when it fails.
func (f *faultFile) Write(b []byte) (int, error) {
	if f.d.dead {
		return 0, errCrash
	}
	err := f.d.fault("write", f.name)
	if err != nil {
		b = b[:len(b)/2]
	}
	n, writeErr := f.file.Write(b)
	f.inode.now = append(f.inode.now, b[:n]...)
	return n, errors.Join(err, writeErr)
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.d.fault("truncate", f.name); err != nil {
		return err
	}
	f.inode.now = f.inode.now[:size]
	return f.file.Truncate(size)
}

func (f *faultFile) Sync() error {
	if err := f.d.fault("sync", f.name); err != nil {
		return err
	}
	f.inode.durable = slices.Clone(f.inode.now)
	return nil
}

// Close always closes, as the kernel does for a dead process.
func (f *faultFile) Close() error {
	return errors.Join(f.d.fault("close", f.name), f.file.Close())
}

// A model knows what of the directory would survive a power loss, by the letter of POSIX: a file
// has the bytes of its last fsync, and a name leads where it led at the last fsync of the
// directory.
type model struct {
	now, durable map[string]*inode
	pending      []func(map[string]*inode) // changes of names since the last fsync of the directory
}

// inode is a file with its present and its surviving content.
type inode struct{ now, durable []byte }

// newModel returns the model of a directory whose present content has survived.
func newModel(t *testing.T, dir string) *model {
	t.Helper()
	m := &model{now: map[string]*inode{}}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		b := expect.Must(os.ReadFile(filepath.Join(dir, e.Name())))
		m.now[e.Name()] = &inode{b, slices.Clone(b)}
	}
	m.durable = maps.Clone(m.now)
	return m
}

// open returns the inode of a file that was just opened.
func (m *model) open(name string, flag int) *inode {
	i := m.now[name]
	if i == nil {
		i = &inode{}
		m.do(func(names map[string]*inode) { names[name] = i })
	}
	if flag&os.O_TRUNC != 0 {
		i.now = nil
	}
	return i
}

// do changes names.
func (m *model) do(change func(map[string]*inode)) {
	change(m.now)
	m.pending = append(m.pending, change)
}

// The ways in which bytes that were not synced may come back after a power loss.
var afterPowerLoss = map[string]func(*inode) []byte{
	"lost": func(i *inode) []byte { return i.durable },
	"kept": func(i *inode) []byte { return i.now },
	"half": func(i *inode) []byte { return i.now[:len(i.durable)+max(0, len(i.now)-len(i.durable))/2] },
	"zeroed": func(i *inode) []byte {
		return append(slices.Clone(i.durable), make([]byte, max(0, len(i.now)-len(i.durable)))...)
	},
}

// images calls f with every directory that a power loss now could leave: each subset of the pending
// changes of names, with each treatment of the bytes.
func (m *model) images(t *testing.T, f func(dir, description string)) {
	t.Helper()
	if len(m.pending) > 8 {
		t.Fatalf("%d changes of names without a sync of the directory", len(m.pending))
	}
	for subset := range 1 << len(m.pending) {
		names := maps.Clone(m.durable)
		for i, change := range m.pending {
			if subset>>i&1 == 1 {
				change(names)
			}
		}
		for treatment, content := range afterPowerLoss {
			dir := filepath.Join(fastDir(t), "image")
			expect.NoError(t, os.Mkdir(dir, 0o777))
			for name, i := range names {
				b := content(i)
				if treatment == "half" && len(i.now) < len(i.durable) {
					b = i.durable
				}
				expect.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
			}
			f(dir, treatment)
		}
	}
}
