package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// numbers returns 0 to n-1.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestSubmit(t *testing.T) {
	f := &fake{t: t}
	id := 100
	a := array(t, append(numbers(2500), 4999, 17000)...)
	a.Dir = filepath.Join(t.TempDir(), "50% it's")
	if err := os.Mkdir(a.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(a.Dir, "logs")
	a.Options = Options{Time: time.Hour, Throttle: 4, Extra: []string{"--comment=a b"}}
	f.hooks = map[string]func([]string) output{"sbatch": func(args []string) output {
		// All that the job needs is on the disk when sbatch is called, the record included.
		file := args[len(args)-1]
		for _, extension := range []string{".sh", ".tasks", ".json"} {
			if _, err := os.Stat(strings.TrimSuffix(file, ".sh") + extension); err != nil {
				t.Error(err)
			}
		}
		id++
		return output{Stdout: fmt.Sprintf("sbatch: some notice of the site\n%d;cluster\n", id)}
	}}
	jobs, err := f.client().Submit(t.Context(), a)
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%v %v", jobs, err)
	}
	// The index of an array ends at MaxArraySize-1 = 1000.
	for k, want := range []int{1001, 1001, 500} {
		args := f.of("sbatch")[k][1:]
		if len(jobs[k].Tasks) != want || jobs[k].ID != 101+k || !slices.Contains(args,
			fmt.Sprintf("--array=0-%d%%4", want-1)) || !slices.Contains(args, "--comment=a b") ||
			args[0] != "--parsable" {
			t.Errorf("chunk %d: %d tasks, job %d, %q", k, len(jobs[k].Tasks), jobs[k].ID, args)
		}
		if !slices.Contains(args, "--output="+strings.ReplaceAll(logs, "%", "%%")+"/%x_%a.out") ||
			!slices.Contains(args, "--chdir="+a.Dir) {
			t.Errorf("%q", args)
		}
	}
	if got := jobs[2].Log(17000); got != filepath.Join(logs, jobs[2].Name+"_499.out") || jobs[0].Log(17000) != "" {
		t.Errorf("log %s", got)
	}
	// A job goes through JSON, and what was stored is the same.
	text, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var again []Job
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	stored, err := recordedJobs(a.Dir, a.Name)
	if err != nil || len(stored) != 3 {
		t.Fatalf("%v %v", stored, err)
	}
	for k := range jobs {
		for _, got := range []Job{again[k], stored[k]} {
			if got.ID != jobs[k].ID || got.Name != jobs[k].Name ||
				!slices.Equal(got.Tasks, jobs[k].Tasks) || !got.Submitted.Equal(jobs[k].Submitted) {
				t.Errorf("%v, want %v", got, jobs[k])
			}
		}
	}
	if other, err := recordedJobs(a.Dir, "puzzle"); err != nil || len(other) != 0 {
		t.Errorf("%v %v", other, err)
	}
	// A second submission is another one.
	if more, err := f.client().Submit(t.Context(), a); err != nil || more[0].Name == jobs[0].Name {
		t.Errorf("%v %v", more, err)
	}
}

// Whatever sbatch does, what was submitted is reported, and a job that was not reported never runs.
func TestSubmitFails(t *testing.T) {
	for name, bad := range map[string]output{
		"refused": {
			Stderr: "sbatch: error: Batch job submission failed: " +
				"Job violates accounting/QOS policy (job submit limit)\n", Status: 1},
		"controller down": {
			Stderr: "sbatch: error: Batch job submission failed: " +
				"Unable to contact slurm controller (connect failure)\n", Status: 1},
		"timed out": {
			Stderr: "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", Status: 1},
		"no id":             {Stdout: "Submitted batch job\n"},
		"empty":             {},
		"two ids":           {Stdout: "12\n13\n"},
		"an id of 0":        {Stdout: "0\n"},
		"id with an error":  {Stdout: "12\n", Status: 1},
		"id and more on it": {Stdout: "job 12 was submitted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			f := &fake{t: t, answers: map[string]output{"scancel": {Stderr: down, Status: 1}}}
			f.hooks = map[string]func([]string) output{"sbatch": func([]string) output {
				if n++; n == 2 {
					return bad
				}
				return output{Stdout: fmt.Sprintln(n)}
			}}
			a := array(t, numbers(2500)...)
			jobs, err := f.client().Submit(t.Context(), a)
			var partial *submitError
			if !errors.As(err, &partial) || len(jobs) != 1 || len(partial.Submitted) != 1 ||
				len(partial.Left) != 1499 || partial.Left[0] != 1001 || n != 2 {
				t.Fatalf("%d calls, jobs %d, %v", n, len(jobs), err)
			}
			if !strings.Contains(err.Error(), "1001 tasks submitted (job 1), 1499 not") {
				t.Error(err)
			}
			if want := strings.Contains(bad.Stderr, "contact") ||
				strings.Contains(bad.Stderr, "Socket"); isUnreachable(err) != want {
				t.Errorf("unreachable: %v", err)
			}
			stored, err := recordedJobs(a.Dir, a.Name)
			if err != nil || len(stored) != 2 || stored[0].Withdrawn || !stored[1].Withdrawn {
				t.Fatalf("%v %v", stored, err)
			}
			if _, err := os.Stat(a.path(stored[1].Name, ".tasks")); !errors.Is(err, os.ErrNotExist) {
				t.Error("the list of the chunk that failed is still there")
			}
			if c := f.of("scancel"); len(c) != 1 || !slices.Contains(c[0], "--name="+stored[1].Name) {
				t.Errorf("%v", c)
			}
		})
	}
	f := &fake{t: t, config: strings.Replace(config, "1001", "0", 1)}
	if _, err := f.client().Submit(t.Context(), array(t, 1)); err == nil ||
		!strings.Contains(err.Error(), "no job arrays") {
		t.Error(err)
	}
	f = &fake{t: t, hooks: map[string]func([]string) output{
		"scontrol": func([]string) output { return output{Stderr: down, Status: 1} }}}
	if _, err := f.client().Submit(t.Context(), array(t, 1)); !isUnreachable(err) ||
		!strings.Contains(err.Error(), "nothing submitted") {
		t.Error(err)
	}
	a := array(t, 1)
	a.Dir = filepath.Join(a.Dir, "missing")
	if _, err := (&fake{t: t}).client().Submit(t.Context(), a); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A link planted in the place of the folder or of a file leads nothing out of it.
func TestSubmitStaysInside(t *testing.T) {
	f := &fake{t: t, answers: map[string]output{"sbatch": {Stdout: "1\n"}, "scancel": {}}}
	outside := t.TempDir()
	a := array(t, 1)
	if err := os.Symlink(outside, filepath.Join(a.Dir, folder)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client().Submit(t.Context(), a); err == nil {
		t.Error("wrote through a link")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 || len(f.of("sbatch")) > 0 {
		t.Errorf("%v was written outside", left)
	}
}

func TestRecordedRefuses(t *testing.T) {
	a := array(t, 1)
	if jobs, err := recordedJobs(a.Dir, a.Name); err != nil || jobs != nil {
		t.Errorf("%v %v", jobs, err)
	}
	if err := os.MkdirAll(filepath.Join(a.Dir, folder), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"name": "puzzles.ffffffff.0"}`, "null"} {
		put(t, a.path("puzzles.0123abcd.0", ".json"), text)
		if _, err := recordedJobs(a.Dir, a.Name); err == nil || !strings.Contains(err.Error(), "0123abcd.0.json") {
			t.Errorf("%q: %v", text, err)
		}
	}
	// Of an array whose name begins like this one, and what is no record at all.
	if err := os.Rename(a.path("puzzles.0123abcd.0", ".json"), a.path("puzzles.0123abcd.0.0123abcd.0",
		".json")); err != nil {
		t.Fatal(err)
	}
	if jobs, err := recordedJobs(a.Dir, a.Name); err != nil || len(jobs) != 0 {
		t.Errorf("%v %v", jobs, err)
	}
}
