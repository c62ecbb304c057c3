package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/atomicfile"
)

// The names of the event files: tensorboard/<curve>/events.out.tfevents.<start in seconds>.torchpe.
const (
	boardDir    = "tensorboard"
	eventPrefix = "events.out.tfevents."
	eventSuffix = ".torchpe"
)

// Board writes the records of a run as event files for TensorBoard, a folder a member, which is a
// curve there. Their bytes follow from metrics.jsonl and the start time in environment.json alone.
// So they are rewritten whenever training starts or resumes, and never synced: a failure costs no
// number. The time of an event is the start plus the seconds of training, without pauses.
type Board struct {
	run    *Run
	start  float64 // of the run, in seconds since 1970
	files  []boardFile
	buffer []byte
}

type boardFile struct {
	name string
	size int64 // if nobody else writes to it
}

// CurveName names a member's curve: learn-0.2_seed1. sigma is nil where the encoding has none.
func CurveName(pe string, sigma *float64, seed uint64) string {
	if sigma != nil {
		pe = fmt.Sprintf("%s-%g", pe, *sigma)
	}
	return strings.ReplaceAll(fmt.Sprintf("%s_seed%d", pe, seed), "/", "-")
}

// OpenBoard writes the event files of the records in metrics.jsonl, a curve a member, and returns a
// Board that appends to them. Curves are names of folders, all different. After [Resume], call
// [Run.TruncateMetrics] first. A file that begins with the right bytes is truncated and kept, so
// that a TensorBoard that has it open goes on reading.
func (r *Run) OpenBoard(curves []string) (*Board, error) {
	if r.metrics.f == nil {
		return nil, fmt.Errorf("open %s: the end of %s is not known: call TruncateMetrics first",
			r.path(boardDir), metricsFile)
	}
	for i, name := range curves {
		if err := ValidateName(name); err != nil {
			return nil, fmt.Errorf("open %s: %w", r.path(boardDir), err)
		}
		if slices.Contains(curves[:i], name) {
			return nil, fmt.Errorf("open %s: two curves are called %s", r.path(boardDir), name)
		}
	}
	envs, err := r.Environments()
	if err != nil {
		return nil, err
	}
	start := envs[0].StartTime.Unix()
	b := &Board{run: r, start: float64(start)}
	for _, curve := range curves {
		b.files = append(b.files, boardFile{name: path.Join(boardDir, curve,
			eventPrefix+strconv.FormatInt(start, 10)+eventSuffix)})
	}
	if err := b.fill(); err != nil {
		return nil, err
	}
	return b, r.removeBoard(b.files)
}

// fill writes the records of metrics.jsonl to the files.
func (b *Board) fill() error {
	records, err := ReadMetrics[Record](b.run.Reader)
	if err != nil {
		return err
	}
	wants := make([][]byte, len(b.files))
	for i := range wants {
		wants[i] = eventHeader(b.start)
	}
	for _, rec := range records {
		if rec.Member < 0 || rec.Member >= len(wants) {
			return fmt.Errorf("%s: a record of member %d: there are %d curves",
				b.run.path(boardDir), rec.Member, len(wants))
		}
		wants[rec.Member] = appendEvent(wants[rec.Member], b.event(rec))
	}
	need := 0
	for _, want := range wants {
		need += len(want)
	}
	if err := b.run.needSpace(int64(need)); err != nil {
		return b.run.fileError("write", boardDir, err)
	}
	for i := range b.files {
		if err := b.run.root.MkdirAll(path.Dir(b.files[i].name), 0o777); err != nil {
			return b.run.fileError("make", path.Dir(b.files[i].name), err)
		}
		if err := b.run.makeEventFile(b.files[i].name, wants[i]); err != nil {
			return err
		}
		b.files[i].size = int64(len(wants[i]))
	}
	return nil
}

// makeEventFile gives a file these bytes. It truncates a file that begins with them.
func (r *Run) makeEventFile(name string, want []byte) error {
	if r.hasPrefix(name, want) {
		f, err := r.root.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(f.Truncate(int64(len(want))), f.Close())
		}
		if err != nil {
			return r.fileError("cut", name, err)
		}
		return nil
	}
	temp := name + tempSuffix
	if err := r.root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r.fileError("remove", temp, err)
	}
	if err := atomicfile.WriteIn(r.root, name, want, false); err != nil {
		return r.writeError(name, int64(len(want)), err)
	}
	return nil
}

// hasPrefix says whether name is an ordinary file that begins with these bytes.
func (r *Run) hasPrefix(name string, want []byte) bool {
	info, err := r.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() < int64(len(want)) {
		return false
	}
	f, err := r.root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	have := make([]byte, len(want))
	_, err = io.ReadFull(f, have)
	return err == nil && bytes.Equal(have, want)
}

// Append adds records that are in metrics.jsonl already. After an error a file may end in half an
// event, where TensorBoard stops reading: drop the Board; the next OpenBoard repairs the file.
func (b *Board) Append(records ...Record) error {
	for _, rec := range records {
		if rec.Member < 0 || rec.Member >= len(b.files) {
			return fmt.Errorf("%s: a record of member %d: there are %d curves",
				b.run.path(boardDir), rec.Member, len(b.files))
		}
		b.buffer = appendEvent(b.buffer[:0], b.event(rec))
		if err := b.append(&b.files[rec.Member]); err != nil {
			return b.run.writeError(b.files[rec.Member].name, int64(len(b.buffer)), err)
		}
	}
	return nil
}

// append appends the buffer to a file in one write. Files are not kept open: an ensemble has many.
func (b *Board) append(to *boardFile) error {
	f, err := b.run.root.OpenFile(to.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() != to.size) {
		err = fmt.Errorf("somebody else has changed it (%d bytes, %d were written)", info.Size(), to.size)
	}
	if err == nil {
		_, err = f.Write(b.buffer)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		to.size += int64(len(b.buffer))
	}
	return err
}

// removeBoard removes the event files that this package made, except some, and the folders that are
// empty then. Other files stay.
func (r *Run) removeBoard(keep []boardFile) (failed error) {
	for _, suffix := range []string{eventSuffix, eventSuffix + tempSuffix} {
		ours, err := fs.Glob(r.root.FS(), path.Join(boardDir, "*", eventPrefix+"*"+suffix))
		failed = errors.Join(failed, err)
		for _, name := range ours {
			if slices.ContainsFunc(keep, func(k boardFile) bool { return k.name == name }) {
				continue
			}
			if err := r.root.Remove(name); err != nil {
				failed = errors.Join(failed, r.fileError("remove", name, err))
			}
			_ = r.root.Remove(path.Dir(name)) // fails where something is left in it
		}
	}
	_ = r.root.Remove(boardDir)
	return failed
}

// event converts a record; the tag of a number is its key. It leaves out numbers that were not measured or
// are not finite.
func (b *Board) event(r Record) boardEvent {
	e := boardEvent{wallTime: b.start + r.WallSeconds, step: int64(r.Step)}
	add := func(tag string, v float64) {
		value := float32(v)
		if v-v == 0 && value-value == 0 { // finite, also as a float32
			e.scalars = append(e.scalars, boardScalar{tag, value})
		}
	}
	for _, key := range r.Measures.Keys() {
		add(key, r.Measures[key])
	}
	add("time/epoch", float64(r.Epoch))
	add("time/step_ms", r.StepMS)
	return e
}
