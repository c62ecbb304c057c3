package runlog

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"torchpe/internal/atomicfile"
)

// noStep is the step of a run without a checkpoint: TruncateMetrics(-1) drops all records.
const noStep = -1

// metricsWriter appends to metrics.jsonl.
type metricsWriter struct {
	f        *atomicfile.Opened // nil until the file is known to end with a complete record
	size     int64              // of the complete records
	torn     bool               // a partial record may follow them
	unsynced bool
	step     int // of the last record
}

// sync writes the records to disk, so that they survive a power loss.
func (m *metricsWriter) sync() error {
	if m.f == nil || !m.unsynced {
		return nil
	}
	if err := m.f.Sync(); err != nil {
		return err
	}
	m.unsynced = false
	return nil
}

func (r *Run) closeMetrics() error {
	f := r.metrics.f
	if f == nil {
		return nil
	}
	r.metrics.f = nil
	if err := f.Close(); err != nil {
		return r.fileError("close", metricsFile, err)
	}
	return nil
}

// repair cuts off what a failed write left after the complete records.
func (m *metricsWriter) repair() error {
	if !m.torn {
		return nil
	}
	if err := m.f.Truncate(m.size); err != nil {
		return err
	}
	m.torn = false
	return nil
}

// write appends lines in one write: either all of them are then in the file, or none.
func (m *metricsWriter) write(lines []byte) error {
	if err := m.repair(); err != nil {
		return err
	}
	m.torn, m.unsynced = true, true
	if _, err := m.f.Write(lines); err != nil {
		_ = m.repair() // tried again before the next write; readers skip partial lines
		return err
	}
	m.torn = false
	m.size += int64(len(lines))
	return nil
}

// openMetrics opens metrics.jsonl, whose last record has the given step, for appending.
func (r *Run) openMetrics(step, flag int) error {
	f, err := r.root.OpenFile(metricsFile, os.O_WRONLY|os.O_APPEND|flag, 0o666)
	if err != nil {
		return r.fileError("open", metricsFile, err)
	}
	r.metrics = metricsWriter{f: f, step: step}
	return nil
}

// Append adds records to metrics.jsonl, all of them or none. Their steps must not decrease, and
// must be greater than the step of the last checkpoint, because a run that resumes from it would
// drop them. After Resume, call TruncateMetrics first.
func (r *Run) Append(records ...Record) error {
	if r.metrics.f == nil {
		return fmt.Errorf("append to %s: the end of the file is unknown: call "+
			"TruncateMetrics first", r.path(metricsFile))
	}
	var lines []byte
	step, saved := r.metrics.step, r.head.Load().step
	for _, rec := range records {
		switch {
		case rec.Step < step:
			return fmt.Errorf("append to %s: step %d comes after step %d", r.path(metricsFile),
				rec.Step, step)
		case rec.Step <= saved:
			return fmt.Errorf("append to %s: step %d is part of the checkpoint of step %d: append the "+
				"records of a step before its checkpoint",
				r.path(metricsFile), rec.Step, saved)
		}
		line, err := json.Marshal(rec)
		if err != nil {
			return r.fileError("append to", metricsFile, err)
		}
		lines = append(append(lines, line...), '\n')
		step = rec.Step
	}
	if len(lines) == 0 {
		return nil
	}
	if err := r.metrics.write(lines); err != nil {
		return r.writeError(metricsFile, int64(len(lines)), err)
	}
	r.metrics.step = step
	return nil
}

// TruncateMetrics prepares metrics.jsonl for continuing after the given step, that of the
// checkpoint, or -1 if there is none. It cuts off the records of later steps and a partial record
// left by a crash, and returns their number. The bytes of earlier records do not change. If one of
// these is damaged it fails with ErrDamaged and changes nothing.
func (r *Run) TruncateMetrics(step int) (cut int, err error) {
	scan, err := r.scanMetrics(step)
	flag := 0
	if errors.Is(err, fs.ErrNotExist) && step < 0 {
		flag, err = os.O_CREATE, nil // nothing lost: a crash came before the first record
	}
	if err != nil {
		return 0, err
	}
	if err := errors.Join(r.closeMetrics(), r.openMetrics(scan.step, flag)); err != nil {
		return 0, err
	}
	m := &r.metrics
	m.size, m.torn, m.unsynced = scan.size, true, true
	err = m.repair()
	if err == nil && scan.unended {
		err = m.write([]byte("\n"))
	}
	if err == nil {
		err = m.sync()
	}
	if err == nil && flag != 0 {
		err = r.root.SyncDir(".")
	}
	if err != nil {
		return 0, errors.Join(r.writeError(metricsFile, 0, err), r.closeMetrics())
	}
	return scan.cut, nil
}

// scan is the result of scanMetrics.
type scan struct {
	records []Record // to keep
	size    int64    // their bytes
	step    int      // of the last of them
	cut     int      // lines after them
	unended bool     // the last of them lacks its newline
}

// scanMetrics finds the end of the records up to a step.
func (r *Reader) scanMetrics(step int) (scan, error) {
	s := scan{step: noStep}
	_, err := r.eachLine(func(number int, line []byte) error {
		var rec struct {
			Step *int `json:"step"`
		}
		whole := json.Unmarshal(line, &rec) == nil && rec.Step != nil
		keep := whole && *rec.Step <= step
		switch {
		case keep && s.cut > 0:
			return fmt.Errorf("read %s: %w: line %d has step %d, but an earlier line is "+
				"unreadable or beyond step %d: repair the file by hand",
				r.path(metricsFile), ErrDamaged, number, *rec.Step, step)
		case keep:
			var kept Record
			if err := json.Unmarshal(line, &kept); err != nil {
				return fmt.Errorf("read %s: line %d: %w: %w", r.path(metricsFile), number, ErrDamaged, err)
			}
			s.records = append(s.records, kept)
			s.size += int64(len(line))
			s.step = *rec.Step
			s.unended = !bytes.HasSuffix(line, []byte("\n"))
		default:
			s.cut++
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) && step >= 0 {
		return s, fmt.Errorf("%w: the history up to step %d is lost; create an empty file to "+
			"continue without it", err, step)
	}
	return s, err
}

// RecordsUntil returns the records up to a step of at least 0, which are those that TruncateMetrics keeps. It has the
// same errors.
func (r *Reader) RecordsUntil(step int) ([]Record, error) {
	s, err := r.scanMetrics(step)
	return s.records, err
}

// ReadMetrics returns the records of metrics.jsonl as values of the caller's type: [Record], a
// struct with some of its keys, or a map. It skips a partial record at the end, which a crash or a
// running training leaves. If the records of a finished run are not those of its result, the error
// is ErrDamaged.
func ReadMetrics[T any](r *Reader) ([]T, error) {
	result, err := r.readResult() // read before the records: the run may finish meanwhile
	if err != nil && !errors.Is(err, ErrNoResult) {
		return nil, err
	}
	var records []T
	sum, err := r.eachLine(func(number int, line []byte) error {
		var rec T
		err := json.Unmarshal(line, &rec)
		switch {
		case err == nil:
			records = append(records, rec)
		case bytes.HasSuffix(line, []byte("\n")):
			return fmt.Errorf("read %s: line %d: %w: %w", r.path(metricsFile), number, ErrDamaged, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if want := result.MetricsCRC32C; want != "" && sum != want {
		return nil, fmt.Errorf("read %s: %w: it has CRC-32C %s, but %s says %s: a line was changed or lost "+
			"after the run was finished: put the file back, or train again",
			r.path(metricsFile), ErrDamaged, sum, resultFile, want)
	}
	return records, nil
}

// LastRecords returns the last record of each of so many members in metrics.jsonl, by member: one that has stopped
// has none of the last step. A missing file has no records.
func LastRecords(r *Reader, members int) (records []Record, err error) {
	text, err := r.root.ReadFile(metricsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.fileError("read", metricsFile, err)
	}
	has := map[int]bool{}
	for _, line := range slices.Backward(bytes.Split(text, []byte("\n"))) {
		var rec Record
		if len(line) == 0 || json.Unmarshal(line, &rec) != nil || has[rec.Member] {
			continue // a partial record, or an earlier one
		}
		has[rec.Member] = true
		if records = append(records, rec); len(records) == members {
			break
		}
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Member, b.Member) })
	return records, nil
}

// eachLine calls f with each line of metrics.jsonl, numbered from 1, with its newline if it has
// one. It returns the file's CRC-32C.
func (r *Reader) eachLine(f func(number int, line []byte) error) (sum string, err error) {
	metrics, err := r.root.Open(metricsFile)
	if err != nil {
		return "", r.fileError("read", metricsFile, err)
	}
	defer metrics.Close()
	crc := uint32(0)
	lines := bufio.NewReaderSize(metrics, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			crc = crc32.Update(crc, castagnoli, line)
			if err := f(number, line); err != nil {
				return "", err
			}
		}
		if errors.Is(err, io.EOF) {
			return fmt.Sprintf("%08x", crc), nil
		}
		if err != nil {
			return "", r.fileError("read", metricsFile, err)
		}
	}
}
