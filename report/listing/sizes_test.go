package listing_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/listing"
	"torchpe/train/runlog"
)

// Accuracies at other sizes have a column each, in the order of the sizes; those by condition are
// there for who asks.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	r := half(t, filepath.Join(dir, "sizes"), runlog.Record{Step: 30, Epoch: 3,
		Measures: runlog.Numbers{"tokens/25": .25, "tokens/9": .75}})
	half(t, filepath.Join(dir, "stopped"), runlog.Record{Step: 30, Epoch: 3,
		Measures: runlog.Numbers{"tokens/36": .5}}).Close()
	err := r.SaveResult(runlog.Result{Members: []runlog.MemberResult{{
		PE: "nope", Status: runlog.StatusDone, Measures: runlog.Numbers{"tokens/25": .25, "tokens/9": .75,
			"tokens/25/1-vector": .125},
	}}})
	expect.NoError(t, err)
	r.Close()
	l := read(dir)
	all := expect.Must(l.Select(listing.Query{}))
	columns, _ := rows(t, all)
	if text := strings.Join(columns, " "); !strings.Contains(text,
		"tokens_9 tokens_25 tokens_36") || strings.Contains(text, "tokens_25_") {
		t.Error(text)
	}
	for _, v := range []struct{ where, name, want string }{
		{"run=sizes", "tokens_25", "0.25"}, {"run=sizes", "tokens_9", "0.75"}, {"run=sizes",
			"tokens_25_1_vector", "0.125"}, {"tokens_25_Binary=0.125", "run", "sizes"},
		{"tokens_36>=0.5", "run", "stopped"},
	} {
		s, err := l.Select(listing.Query{Where: []string{v.where}})
		if err != nil || len(s.Rows) != 1 {
			t.Fatalf("%s: %v", v.where, err)
		}
		expect.Equal(t, fmt.Sprintf("%s: %s", v.where, v.name), s.Rows[0].Value(v.name).String(), v.want)
	}
}
