// Event files of TensorBoard: a sequence of TFRecords, each with its length and two masked
// CRC-32Cs, which hold Event messages of protocol buffers. The first names the version of the
// format. The layout is that of TensorFlow's record_writer.h, event.proto and summary.proto. The
// same events always give the same bytes: testdata/events.py makes them with Google's protocol
// buffers, and testdata/decode.py reads them with Python alone.

package runlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The names of the event files: tensorboard/<curve>/events.out.tfevents.<start in seconds>.torchpe.
const (
	boardDir    = "tensorboard"
	eventPrefix = "events.out.tfevents."
	eventSuffix = ".torchpe"
)

// Board writes the records of a run as event files for TensorBoard, one folder, and so one curve,
// per member. Their bytes depend only on metrics.jsonl and the start time in environment.json. So
// they are rewritten whenever training starts or resumes, and never synced: a failure loses no
// number. The time of an event is the start plus the seconds of training, without pauses.
type Board struct {
	run    *Run
	start  float64  // of the run, in seconds since 1970
	files  []string // by member
	buffer []byte
}

// CurveName names a member's curve: learn-0.2_seed1. sigma is nil for encodings without it.
func CurveName(pe string, sigma *float64, seed uint64) string {
	if sigma != nil {
		pe = fmt.Sprintf("%s-%g", pe, *sigma)
	}
	return strings.ReplaceAll(fmt.Sprintf("%s_seed%d", pe, seed), "/", "-")
}

// OpenBoard writes the event files of the records in metrics.jsonl, one curve per member, and
// returns a Board that appends to them. Curves are distinct names of folders. After [Resume], call
// [Run.TruncateMetrics] first. Files are overwritten in place, so that a running TensorBoard can
// continue to read them.
func (r *Run) OpenBoard(curves []string) (*Board, error) {
	if r.metrics.f == nil {
		return nil, fmt.Errorf("open %s: the end of %s is unknown: call TruncateMetrics first",
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
		b.files = append(b.files,
			path.Join(boardDir, curve, eventPrefix+strconv.FormatInt(start, 10)+eventSuffix))
	}
	if err := b.fill(); err != nil {
		return nil, err
	}
	return b, r.removeBoard(b.files)
}

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
		if err := b.checkMember(rec); err != nil {
			return err
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
	for i, name := range b.files {
		if err := b.run.root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return b.run.fileError("make", path.Dir(name), err)
		}
		if info, err := b.run.root.Lstat(name); err == nil && !info.Mode().IsRegular() { // such as a link
			if err := b.run.remove(name); err != nil {
				return err
			}
		}
		if err := b.write(name, os.O_CREATE|os.O_TRUNC, wants[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *Board) checkMember(r Record) error {
	if r.Member < 0 || r.Member >= len(b.files) {
		return fmt.Errorf("%s: record of member %d: there are %d curves",
			b.run.path(boardDir), r.Member, len(b.files))
	}
	return nil
}

// Append adds records that are already in metrics.jsonl. After an error a file may end with a partial event,
// where TensorBoard stops reading: drop the Board; the next OpenBoard repairs the file.
func (b *Board) Append(records ...Record) error {
	for _, rec := range records {
		if err := b.checkMember(rec); err != nil {
			return err
		}
		b.buffer = appendEvent(b.buffer[:0], b.event(rec))
		if err := b.write(b.files[rec.Member], os.O_APPEND, b.buffer); err != nil {
			return err
		}
	}
	return nil
}

// write writes to an event file in one write. Files are not kept open: an ensemble has many.
func (b *Board) write(name string, flag int, events []byte) error {
	f, err := b.run.root.OpenFile(name, os.O_WRONLY|flag, 0o666)
	if err == nil {
		_, err = f.Write(events)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return b.run.writeError(name, int64(len(events)), err)
	}
	return nil
}

// removeBoard removes the event files of this package that are not in keep, and folders that are
// then empty. Other files stay.
func (r *Run) removeBoard(keep []string) error {
	// The last star matches partly written files of earlier versions.
	ours, failed := fs.Glob(r.root.FS(), path.Join(boardDir, "*", eventPrefix+"*"+eventSuffix+"*"))
	for _, name := range ours {
		if slices.Contains(keep, name) {
			continue
		}
		failed = errors.Join(failed, r.remove(name))
		_ = r.root.Remove(path.Dir(name)) // fails if the folder is not empty
	}
	_ = r.root.Remove(boardDir)
	return failed
}

// event converts a record; the tag of a number is its key. It omits numbers that were not measured
// or are not finite.
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

// boardEvent holds the measurements of one step.
type boardEvent struct {
	wallTime float64 // seconds since 1970, UTC
	step     int64
	scalars  []boardScalar
}

// boardScalar is a number with its tag. A tag starts with its group in TensorBoard and a slash.
type boardScalar struct {
	tag   string
	value float32
}

const fileVersion = "brain.Event:2"

// eventHeader returns the first event of a file created at wallTime, in seconds since 1970. It
// names the version of the format.
func eventHeader(wallTime float64) []byte {
	event := appendWallTime(nil, wallTime)
	return appendRecord(nil, appendBytes(event, eventFileVersion, []byte(fileVersion)))
}

// appendEvent appends an event to the bytes of a file.
func appendEvent(file []byte, e boardEvent) []byte {
	event := appendWallTime(nil, e.wallTime)
	if e.step != 0 {
		event = binary.AppendUvarint(appendKey(event, eventStep, wireVarint), uint64(e.step))
	}
	var summary []byte
	for _, s := range e.scalars {
		value := appendBytes(nil, valueTag, []byte(strings.ToValidUTF8(s.tag, "\uFFFD")))
		// A member of a oneof is also written if it is zero.
		value = binary.LittleEndian.AppendUint32(appendKey(value, valueSimple, wireFixed32),
			math.Float32bits(s.value))
		summary = appendBytes(summary, summaryValue, value)
	}
	return appendRecord(file, appendBytes(event, eventSummary, summary))
}

// Field numbers of event.proto and summary.proto.
const (
	eventWallTime    = 1 // double
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

// Wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendKey(b []byte, field, wire uint64) []byte { return binary.AppendUvarint(b, field<<3|wire) }

func appendBytes(b []byte, field uint64, value []byte) []byte {
	return append(binary.AppendUvarint(appendKey(b, field, wireBytes), uint64(len(value))), value...)
}

func appendWallTime(b []byte, t float64) []byte {
	if t == 0 { // proto3 omits zeros
		return b
	}
	return binary.LittleEndian.AppendUint64(appendKey(b, eventWallTime, wireFixed64), math.Float64bits(t))
}

// appendRecord appends a TFRecord: length, its checksum, data, its checksum.
func appendRecord(file, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	file = binary.LittleEndian.AppendUint32(append(file, length...), maskedCRC(length))
	return binary.LittleEndian.AppendUint32(append(file, data...), maskedCRC(data))
}

// maskedCRC returns the CRC-32C of b, rotated and shifted as in TFRecords.
func maskedCRC(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}
