package slurm

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// hostile are words that break scripts that do not quote them.
var hostile = []string{
	"", " ", "a b", "it's", `"`, `\`, `\\`, "$(touch pwned)", "`touch pwned`", "$HOME", "${x}", "*", "?",
	"[a]", "~", "~root", "!", "!!", "#", "#SBATCH --array=0-9", ";", "&&", "|", ">pwned", "<", "(", ")", "{a,b}",
	"%A", "%%", "--index", "-rf", "=", "é", "日本語", "🧠", "e\u0301", "\xff\xfe", "'$(touch pwned)'", `'"'"'`,
	strings.Repeat("x", 2000),
}

// array returns an array of tasks in a new folder.
func array(t *testing.T, tasks ...int) Array {
	return Array{Name: "puzzles", Tasks: tasks, Program: []string{"/bin/true"}, Dir: t.TempDir()}
}

func TestValidateTakes(t *testing.T) {
	a := array(t, 5, 17, 0)
	a.Options = Options{Partition: "gpu,long", Account: "a_1", QOS: "normal", Time: 90 * time.Minute,
		Throttle: 2, TasksPerJob: 3, GPUs: 1, GPUType: "a100", CPUs: 4, Memory: "16G",
		Signal: 5 * time.Minute, Requeue: true, Extra: []string{"--constraint=a100&ib",
			"--mail-type=FAIL", "--comment=it's $(x)", "-x", "--mem-per-cpu=1G", "--time-min=10",
			"--wait-all-nodes=1"}}
	if err := a.Validate(); err != nil {
		t.Error(err)
	}
	for _, word := range hostile {
		a.Program, a.Dir = []string{"/bin/true", word}, "/data"
		if err := a.Validate(); err != nil {
			t.Errorf("program %q: %v", word, err)
		}
		a.Dir = "/data/" + strings.ReplaceAll(word, "/", "_")
		if err := a.Validate(); (err != nil) != strings.Contains(word, `\`) {
			t.Errorf("folder %q: %v", a.Dir, err)
		}
	}
}

// Every fault is named at once, and nothing is written or run.
func TestValidateNamesAllFaults(t *testing.T) {
	dir := t.TempDir()
	a := Array{Name: "../x", Tasks: []int{1, 1, -2}, Program: []string{"./prog", "a\nb", "tab\there"},
		Dir: `relative\x`, Options: Options{
			Partition: "gpu --wrap=x", Account: "$(x)", QOS: "-q", GPUType: "a100", Memory: "lots",
			Time: 90 * time.Second, Signal: 10 * time.Minute, Throttle: -1, TasksPerJob: -3,
			Extra: []string{"--array=0-9", "--arr=0-9", "-a0-9", "constraint=x", "--wrap=rm", "--requeue", "-W",
				"--out=x", "--part=gpu", "--", "-", "--x=\n", "--clusters=all"}}}
	c := client{run: func(context.Context, []string) (output,
		error) {
		t.Error("ran a command")
		return output{}, nil
	}}
	_, err := c.Submit(t.Context(), a)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`name "../x"`, "task 1 is listed twice", "task -2 is negative", `program "./prog"`,
		`"a\nb" has a control character`, `"tab\there" has a control`, `folder "relative\\x"`, "backslash",
		"partition", "account", "QOS", "GPU type a100 without", "memory", "whole minutes",
		"the limit is only 1m30s", "throttle: -1", "tasks per job: -3",
		"--array=0-9: use --throttle", "--arr=0-9: use --throttle", "-a0-9: use --throttle",
		`"constraint=x"`, "--wrap=rm cannot be changed", "--requeue: use --no-requeue", "-W cannot be changed",
		"--out=x cannot be changed", "--part=gpu: use --partition",
		`option "--"`, `option "-"`, `"--x=\n" has a control`, "--clusters=all cannot be changed",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if err := (Array{}).Validate(); err == nil || !strings.Contains(err.Error(), "no tasks") ||
		!strings.Contains(err.Error(), "no program") {
		t.Errorf("an empty array: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error("something was written")
	}
	for _, name := range []string{"", ".", "..", "-rf", "a/b", "/abs", "a b", "é", "a\nb", "a\x00",
		strings.Repeat("x", 101), "a,b", "x%A"} {
		a := array(t, 1)
		a.Name = name
		if a.Validate() == nil {
			t.Errorf("name %q was taken", name)
		}
	}
}
