package listing_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
	"torchpe/report/listing"
	"torchpe/train/runlog"
)

// sample writes runs of several kinds and states to a directory and returns it.
func sample(t *testing.T) string {
	t.Helper()
	dir := synthetic.Dir(t, synthetic.Run{Name: "a/learn", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{5, 10}},
		synthetic.Run{Name: "a/wide", Task: "lst", PE: "learn", Sigma: 1, Seeds: []int{5}, Heads: 4, Decay: .1},
		synthetic.Run{Name: "a/rope", Task: "lst", PE: "rope", Seeds: []int{5}},
		synthetic.Run{Name: "nmar", Task: "nmar", PE: "learn", Sigma: .5, Seeds: []int{5}, MaskLevel: .75},
	)
	half(t, filepath.Join(dir, "stopped"), runlog.Record{Step: 30, Epoch: 3, Measures: runlog.Numbers{}}).Close()
	expect.NoError(t, os.Mkdir(filepath.Join(dir, "newer"), 0o777))
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "newer", "config.json"), []byte(`{"schema":99}`), 0o666))
	return dir
}

// half makes a run that is not finished.
func half(t *testing.T, dir string, records ...runlog.Record) *runlog.Run {
	t.Helper()
	config := `{"task":"lst","pe":"nope","pe_options":{},"members":[{"seed":18446744073709551615,"sigma":null,"lr":0.0001,"weight_decay":0}],"heads":1}`
	r := expect.Must(runlog.Create(dir, []byte(config), runlog.Environment{}, runlog.Options{}))
	for i := range records {
		records[i].Measures["validation"] = .5
		expect.NoError(t, r.Append(records[i]))
	}
	return r
}

func read(dirs ...string) *listing.List {
	return expect.Must(listing.Read(dirs...))
}

// names are the runs and seeds of a list, in its order.
func names(l *listing.List) string {
	var out []string
	for _, r := range l.Rows {
		out = append(out, r.Value("run").String()+"#"+r.Value("seed").String())
	}
	return strings.Join(out, " ")
}

// rows are a list's table as its JSON has it.
func rows(t *testing.T, l *listing.List) (columns []string, rows []map[string]any) {
	t.Helper()
	b := expect.Written(l.Table().JSON)
	var got struct {
		Columns []struct{ Name string }
		Rows    []map[string]any
	}
	expect.NoError(t, json.Unmarshal([]byte(b), &got))
	for _, c := range got.Columns {
		columns = append(columns, c.Name)
	}
	return columns, got.Rows
}

// What config.json omits has its default value.
func TestOmittedSettings(t *testing.T) {
	dir := t.TempDir()
	ensemble(t, filepath.Join(dir, "wide"), `,"window":"3"`, member{.2, 1e-4, 1, .2, ""})
	ensemble(t, filepath.Join(dir, "all"), "", member{.2, 1e-4, 1, .2, ""})
	for where, want := range map[string]int{"window=0": 1, "window<8": 2, "window=3": 1} {
		s := expect.Must(read(dir).Select(listing.Query{Where: []string{where}}))
		expect.Equal(t, where, len(s.Rows), want)
	}
}

func TestRead(t *testing.T) {
	dir := sample(t)
	l := read(dir)
	if got, want := names(l), "a/learn#5 a/learn#10 a/rope#5 a/wide#5 nmar#5 "+
		"stopped#18446744073709551615"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(l.Skipped) != 1 || !strings.Contains(l.Skipped[0].Reason, "99") {
		t.Errorf("skipped %+v", l.Skipped)
	}
	// The last is half of a run: the numbers of its last record.
	last := l.Rows[5]
	for name, want := range map[string]string{"status": "stopped", "steps": "30",
		"validation": "0.5", "iid": "", "sigma": "", "pe": "nope"} {
		expect.Equal(t, name, last.Value(name).String(), want)
	}
	running := half(t, filepath.Join(dir, "running"))
	defer running.Close()
	if got := read(filepath.Join(dir, "running")).Rows[0]; got.Value(
		"status").String() != "running" ||
		!strings.Contains(got.Value("process").String(), fmt.Sprint(os.Getpid())) ||
		got.Value("steps").String() != "0" {
		t.Errorf("a run with its lock held: %q, process %q", got.Value("status"), got.Value("process"))
	}
	// Two directories: names tell them apart, and nothing is listed twice.
	two := read(filepath.Join(dir, "a"), filepath.Join(dir, "a", "rope"), filepath.Join(dir, "nmar"))
	if got, want := names(two), strings.ReplaceAll(
		"D/a/learn#5 D/a/learn#10 D/a/rope#5 D/a/wide#5 D/nmar#5", "D", dir); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	expect.ErrorIs(t, expect.ErrorOf(listing.Read(filepath.Join(dir, "none"))), os.ErrNotExist)
}

func TestColumns(t *testing.T) {
	l := read(sample(t))
	for _, v := range []struct{ where, want string }{
		{"run~a/*", "run task pe sigma seed heads weight_decay status steps validation iid train fitted seconds"},
		{"task!=x", "run task pe sigma seed heads weight_decay status steps validation iid train " +
			"fitted test_mse_15 test_mse_50 test_mse_75 test_mse_90 train_mse modularity clustering seconds"},
		{"run=a/learn", "run task pe sigma seed status steps validation iid train fitted seconds"},
		{"run=nmar", "run task pe sigma seed status steps test_mse_15 test_mse_50 test_mse_75 " +
			"test_mse_90 train_mse modularity clustering seconds"},
		{"run=stopped", "run task pe seed status steps validation fitted"},
	} {
		s := expect.Must(l.Select(listing.Query{Where: []string{v.where}}))
		columns, _ := rows(t, s)
		expect.Equal(t, v.where, strings.Join(columns, " "), v.want)
	}
	s := expect.Must(l.Select(listing.Query{Columns: []string{"run", "mask_level", "pe-placement", "label",
		"run", "seconds", "test_mse_0.50"}}))
	columns, got := rows(t, s)
	expect.Equal(t, "columns", strings.Join(columns, " "),
		"run masked_mask_level pe_options_pe_placement label seconds test_mse_50")
	if got[4]["masked_mask_level"] != .75 || got[0]["masked_mask_level"] != nil ||
		got[0]["pe_options_pe_placement"] != "block" || got[3]["label"] != "learn-1.0" {
		t.Errorf("%v", got)
	}
}

func TestSelect(t *testing.T) {
	l := read(sample(t))
	const a, b, rope, wide, nmar, half = "a/learn#5", "a/learn#10", "a/rope#5", "a/wide#5",
		"nmar#5", "stopped#18446744073709551615"
	for where, want := range map[string][]string{
		"":                             {a, b, rope, wide, nmar, half},
		"pe=learn":                     {a, b, wide, nmar},
		"pe!=learn":                    {rope, half},
		"pe=learn,test_mse/0.50>0":     {nmar},
		"pe=learn,sigma<=0.5,task=lst": {a, b},
		" pe = learn , sigma > 0.2 ":   {wide, nmar},
		"sigma>=.5":                    {wide, nmar},
		"sigma=0.20":                   {a, b}, // a number
		"sigma!=0.2":                   {rope, wide, nmar, half},
		"sigma=":                       {rope, half}, // missing
		"seed>9":                       {b, half},    // not as text
		"seed=18446744073709551615":    {half},
		"run~a/*e*":                    {a, b, rope, wide},
		"run!~a/*":                     {nmar, half},
		"run~?mar":                     {nmar},
		"status==stopped":              {half},
		"mask_level=0.75":              {nmar},
		"masked.test_levels=[0.15,0.5,0.75,0.9],seed=5": {nmar},
		"heads<2,weight_decay=0":                        {a, b, rope, nmar, half},
		"label=learn-0.2":                               {a, b},
		"sigma<0":                                       nil,
		"window=0,init_scale=1":                         {a, b, rope, wide, nmar, half}, // in no config.json
	} {
		var q listing.Query
		if where != "" {
			q.Where = []string{where}
		}
		expect.Equal(t, where, names(expect.Must(l.Select(q))), strings.Join(want, " "))
	}
	s, err := l.Select(listing.Query{Where: []string{"pe=learn", "seed=5"}, Sort: "-sigma", Unfinished: false})
	expect.NoError(t, err)
	expect.Equal(t, "two filters", names(s), strings.Join([]string{wide, nmar, a}, " "))
	expect.Equal(t, "unfinished", names(expect.Must(l.Select(listing.Query{Unfinished: true}))), half)
	for by, want := range map[string][]string{
		"sigma,-seed":   {b, a, nmar, wide, half, rope}, // those without sigma come last
		"-sigma,seed":   {wide, nmar, a, b, rope, half},
		"-task, run":    {nmar, a, b, rope, wide, half},
		"status,-steps": nil,
	} {
		if s, err = l.Select(listing.Query{Sort: by}); err != nil || want != nil &&
			names(s) != strings.Join(want, " ") {
			t.Errorf("sorted by %s: %s, %v, want %s", by, names(s), err, want)
		}
	}
	expect.Equal(t, "a query changed the list", names(l),
		strings.Join([]string{a, b, rope, wide, nmar, half}, " "))
}

func TestSelectRefuses(t *testing.T) {
	l := read(sample(t))
	for _, v := range []struct {
		query listing.Query
		want  string
	}{
		{listing.Query{Where: []string{"sigmma<1"}}, `did you mean "sigma"`},
		{listing.Query{Where: []string{"pe"}}, "KEY OP VALUE"},
		{listing.Query{Where: []string{"pe=learn,sigma"}}, "KEY OP VALUE"},
		{listing.Query{Where: []string{"=3"}}, "KEY OP VALUE"},
		{listing.Query{Where: []string{",pe=learn"}}, "KEY OP VALUE"},
		{listing.Query{Where: []string{"sigma<small"}}, "is not a number"},
		{listing.Query{Where: []string{"sigma=<0.1"}}, "KEY OP VALUE"},
		{listing.Query{Sort: "validaton"}, `did you mean "validation"`},
		{listing.Query{Columns: []string{"sed"}}, `did you mean "seed"`},
		{listing.Query{Columns: []string{""}}, "is not a column"},
	} {
		expect.Error(t, expect.ErrorOf(l.Select(v.query)), v.want)
	}
}

// In a narrow terminal the run and its result stay, and what tells models apart longer than the
// other settings.
func TestNarrowList(t *testing.T) {
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "nmar", Task: "nmar", PE: "learn", Sigma: .5, Seeds: []int{5, 6}, MaskLevel: .5},
		synthetic.Run{Name: "more", Task: "nmar", PE: "learn", Sigma: 1, Seeds: []int{5}, MaskLevel: .5, Heads: 4},
		synthetic.Run{Name: "rope", Task: "nmar", PE: "rope", Seeds: []int{5}, MaskLevel: .5, Heads: 2},
	)
	shown := func(columns string) string {
		t.Setenv("COLUMNS", columns)
		var b strings.Builder
		l := expect.Must(read(dir).Select(listing.Query{}))
		expect.NoError(t, l.Table().Terminal(&b))
		head, _, _ := strings.Cut(b.String(), "├")
		return head
	}
	for columns, want := range map[string][2]string{"24": {"run MSE", "PE"}, "40": {"run PE σ seed MSE", "heads"}} {
		head := shown(columns)
		expect.Contains(t, head, strings.Fields(want[0])...)
		if strings.Contains(head, want[1]) {
			t.Errorf("%s columns: %s in\n%s", columns, want[1], head)
		}
	}
}
