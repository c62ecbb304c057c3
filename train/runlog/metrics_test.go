package runlog

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// resumed returns a run whose metrics.jsonl has this text.
func resumed(t testing.TB, text string) *Run {
	t.Helper()
	dir := filepath.Join(fastDir(t), "run")
	r := expect.Must(createEmpty(dir))
	expect.NoError(t, r.Close())
	expect.NoError(t, os.WriteFile(filepath.Join(dir, metricsFile), []byte(text), 0o666))
	r = expect.Must(resumeIt(dir))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// line returns a line of metrics.jsonl.
func line(step int) string { return fmt.Sprintf("{\"step\":%d,\"x\":1}\n", step) }

// text returns the lines of these steps.
func text(steps ...int) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteString(line(step))
	}
	return b.String()
}

// TestTruncateMetrics checks what is left of a file after a crash.
func TestTruncateMetrics(t *testing.T) {
	tests := []struct {
		name string
		file string
		step int
		want string
		cut  int
	}{
		{"empty", "", 5, "", 0},
		{"nothing to cut", text(1, 2, 3), 3, text(1, 2, 3), 0},
		{"checkpoint behind the metrics", text(1, 2, 3, 4, 5), 3, text(1, 2, 3), 2},
		{"two members a step", text(1, 1, 2, 2, 3, 3), 2, text(1, 1, 2, 2), 2},
		{"no checkpoint", text(0, 1, 2), -1, "", 3},
		{"half a line", text(1, 2) + `{"step":3,"lo`, 2, text(1, 2), 1},
		{"half a number", text(1, 2) + `{"step":`, 2, text(1, 2), 1},
		{"half a line of a kept step", text(1, 2) + `{"step":2,"lo`, 2, text(1, 2), 1},
		{"newline missing", text(1) + `{"step":2}`, 2, text(1) + "{\"step\":2}\n", 0},
		{"newline missing beyond", text(1) + `{"step":2}`, 1, text(1), 1},
		{"zeros at the end", text(1, 2) + "\x00\x00\x00\x00", 2, text(1, 2), 1},
		{"zeros and a newline", text(1, 2) + "\x00\x00\n\x00", 2, text(1, 2), 2},
		{"empty line", text(1, 2) + "\n", 2, text(1, 2), 1},
		{"no step", text(1) + "{\"x\":1}\n", 2, text(1), 1},
		{"step of another type", text(1) + "{\"step\":\"2\"}\n", 2, text(1), 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := resumed(t, test.file)
			expect.Error(t, r.Append(Record{Step: 100}), "TruncateMetrics")
			expect.Equal(t, "cut", expect.Must(r.TruncateMetrics(test.step)), test.cut)
			expect.Equal(t, "left", string(expect.Must(os.ReadFile(r.path(metricsFile)))), test.want)
			expect.NoError(t, r.Append(Record{Step: test.step + 1}))
			expect.Equal(t, "records", len(expect.Must(ReadMetrics[map[string]any](r.Reader))),
				strings.Count(test.want, "\n")+1)
			expect.Equal(t, "truncating again cuts the appended record:",
				expect.Must(r.TruncateMetrics(test.step)), 1)
		})
	}
}

// TestTruncateMetricsRefuses checks that history which ought to be there is not thrown away with
// damage before it.
func TestTruncateMetricsRefuses(t *testing.T) {
	for name, file := range map[string]string{
		"damage in the middle": text(1) + "{\"ste#\n" + text(3),
		"steps out of order":   text(1, 9, 2),
		"empty line":           text(1) + "\n" + text(2),
	} {
		r := resumed(t, file)
		_, err := r.TruncateMetrics(3)
		expect.ErrorIs(t, err, ErrDamaged, "line 3", r.path(metricsFile))
		expect.Equal(t, name, string(expect.Must(os.ReadFile(r.path(metricsFile)))), file)
	}
	r := resumed(t, "")
	expect.NoError(t, os.Remove(r.path(metricsFile)))
	expect.ErrorIs(t, expect.ErrorOf(r.TruncateMetrics(3)), fs.ErrNotExist, "up to step 3 is lost")
	expect.Must(r.TruncateMetrics(-1)) // at the start there is none
}

// TestAppendRefuses checks that records which a resumed run would lose or repeat are refused whole.
func TestAppendRefuses(t *testing.T) {
	s := twoCheckpoints(t)
	r, from, err := s.begin()
	expect.NoError(t, err)
	defer r.Close()
	before := snapshot(t, s.dir)[metricsFile]
	expect.Error(t, r.Append(Record{Step: from}), "checkpoint of step 4")
	expect.Error(t, r.Append(Record{Step: 6}, Record{Step: 5}), "step 5 comes after step 6")
	expect.NoError(t, r.Append())
	expect.Equal(t, "the file became", snapshot(t, s.dir)[metricsFile], before)
}

// A member that has stopped has no record of the last step: its last one counts.
func TestLastRecords(t *testing.T) {
	const text = `{"step":1,"member":0}
{"step":1,"member":1}
{"step":2,"member":0}
{"step":2,"member":1}
{"step":3,"member":1}
{"step":3,"mem`
	r := resumed(t, text)
	records := expect.Must(LastRecords(r.Reader, 2))
	expect.Equal(t, "records", fmt.Sprint(len(records), records[0].Step, records[0].Member, records[1].Step), "2 2 0 3")
}

// TestReadMetrics reads into the caller's types, with keys that only later records have, while half
// a line is being written.
func TestReadMetrics(t *testing.T) {
	r := resumed(t, "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"loss\":null,\"later\":7}\n{\"step\":3,\"lo")
	records, err := ReadMetrics[Record](r.Reader)
	if err != nil || len(records) != 2 || records[0].Measures.Get("loss") != 0.5 ||
		!math.IsNaN(records[1].Measures.Get("loss")) {
		t.Errorf("records %+v, %v", records, err)
	}
	type own struct{ Step, Later int }
	expect.Equal(t, "own type", expect.Must(ReadMetrics[own](r.Reader)), []own{{1, 0}, {2, 7}})
	if got, err := ReadMetrics[map[string]float64](r.Reader); err != nil || len(got) != 2 || got[1]["later"] != 7 {
		t.Errorf("maps %+v, %v", got, err)
	}
	broken := resumed(t, text(1)+"{\"step\":\n"+text(2))
	_, err = ReadMetrics[Record](broken.Reader)
	expect.ErrorIs(t, err, ErrDamaged, "line 2")
}

// TestReadWhileWriting reads a run that another Run is appending to: every reading is a prefix of
// whole records.
func TestReadWhileWriting(t *testing.T) {
	r := resumed(t, "")
	expect.Must(r.TruncateMetrics(noStep))
	done := make(chan error)
	go func() {
		for step := range 500 {
			if err := r.Append(Record{Step: step},
				Record{Step: step, Member: 1}); err != nil {
				done <- err
				return
			}
		}
		close(done)
	}()
	reader := expect.Must(Open(r.Dir()))
	defer reader.Close()
	for running := true; running; {
		select {
		case err := <-done:
			expect.NoError(t, err)
			running = false
		default:
		}
		records := expect.Must(ReadMetrics[Record](reader))
		for i, rec := range records {
			if rec.Step != i/2 || rec.Member != i%2 {
				t.Fatalf("record %d is step %d, member %d", i, rec.Step, rec.Member)
			}
		}
	}
}

// FuzzTruncateMetrics checks any file: it is refused and left as it was, or what is left is the
// beginning of it, holds only records up to the step, loses none of them, and can be appended to.
func FuzzTruncateMetrics(f *testing.F) {
	for _, seed := range []string{"", text(1, 2, 3), text(1) + `{"step":2}`, text(1, 9, 2),
		text(2) + "\x00\n", "{\"STEP\":1}\n", "null\n", "\n\n"} {
		f.Add(seed, 2)
	}
	f.Fuzz(func(t *testing.T, file string, step int) {
		step = max(min(step, 1<<30), noStep)
		r := resumed(t, file)
		defer r.Close()
		_, err := r.TruncateMetrics(step)
		left := expect.Must(os.ReadFile(r.path(metricsFile)))
		if err != nil {
			expect.Equal(t, fmt.Sprintf("refused (%v), it left", err), string(left), file)
			return
		}
		if !strings.HasPrefix(file+"\n", string(left)) {
			t.Fatalf("%q is not the beginning of %q", left, file)
		}
		if kept := stepsUpTo(t, string(left), step); kept != strings.Count(string(left), "\n") ||
			kept != stepsUpTo(t, file, step) {
			t.Fatalf("kept %q of %q: %d records up to step %d", left, file, kept, step)
		}
		expect.NoError(t, r.Append(Record{Step: step + 1}))
	})
}

// stepsUpTo counts the lines that are records up to a step, with a generic reading of JSON.
func stepsUpTo(t *testing.T, file string, step int) int {
	t.Helper()
	n := 0
	for _, l := range strings.Split(file, "\n") {
		if s, ok := stepOf(l); ok && s <= step {
			n++
		}
	}
	return n
}
