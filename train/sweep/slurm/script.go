package slurm

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/internal/wording"
)

// Chunk is the part of an array that one call of sbatch submits.
type Chunk struct {
	Name  string  // of the job
	Lines [][]int // task indexes that array index 0, 1, ... runs in turn

	// SiteRequeues: the site queues a job again that exits with ExitRequeue, not the job script.
	SiteRequeues bool
}

// chunks splits an array into parts of at most size jobs each. The token makes their names new.
func (a Array) chunks(token string, size int, siteRequeues bool) []Chunk {
	var chunks []Chunk
	jobs := slices.Collect(slices.Chunk(a.Tasks, a.Options.perJob()))
	for lines := range slices.Chunk(jobs, size) {
		name := fmt.Sprintf("%s.%s.%d", a.Name, token, len(chunks))
		chunks = append(chunks, Chunk{Name: name, Lines: lines, SiteRequeues: siteRequeues})
	}
	return chunks
}

// tasks returns the task indexes of a chunk, in order.
func (c Chunk) tasks() []int { return slices.Concat(c.Lines...) }

// list returns the content of the list of tasks, a line an array index.
func (c Chunk) list() string {
	var b strings.Builder
	for _, line := range c.Lines {
		for i, task := range line {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(strconv.Itoa(task))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// path returns the path of a file of the chunk: .sh, .tasks or .json.
func (a Array) path(chunk, extension string) string {
	return filepath.Join(a.Dir, folder, chunk+extension)
}

// arguments returns the options with which sbatch submits a chunk. They go on its command line,
// where nothing is interpreted and which beats SBATCH_* variables of the user.
func (a Array) arguments(c Chunk) []string {
	o := a.Options
	indexes := fmt.Sprintf("0-%d", len(c.Lines)-1)
	if o.Throttle > 0 {
		indexes += "%" + strconv.Itoa(o.Throttle)
	}
	args := []string{"--job-name=" + c.Name, "--array=" + indexes, "--nodes=1", "--ntasks=1",
		"--open-mode=append"}
	add := func(set bool, format string, value any) {
		if set {
			args = append(args, fmt.Sprintf(format, value))
		}
	}
	add(o.Requeue, "--%s", "requeue")
	add(!o.Requeue, "--%s", "no-requeue")
	// B: to the job script, which passes it on; else only job steps get it, and there are none.
	add(o.Signal > 0, "--signal=B:USR1@%d", int(o.Signal/time.Second))
	add(o.Time > 0, "--time=%d", int(o.Time/time.Minute))
	add(o.Partition != "", "--partition=%s", o.Partition)
	add(o.Account != "", "--account=%s", o.Account)
	add(o.QOS != "", "--qos=%s", o.QOS)
	gpu := "gpu:"
	if o.GPUType != "" {
		gpu += o.GPUType + ":"
	}
	add(o.GPUs > 0, "--gres="+gpu+"%d", o.GPUs)
	add(o.CPUs > 0, "--cpus-per-task=%d", o.CPUs)
	add(o.Memory != "", "--mem=%s", o.Memory)
	args = append(args, o.Extra...)
	// In the name of an output file Slurm expands %A and the like.
	return append(args, "--chdir="+a.Dir, "--output="+strings.ReplaceAll(a.logs(), "%", "%%")+"/%x_%a.out")
}

// jobScript returns the job script of a chunk. It runs the tasks in turn and passes USR1 on to the
// program. It does not exec the program even for one task: it records how a killed program ended.
func jobScript(a Array, c Chunk) (string, error) {
	if err := a.Validate(); err != nil {
		return "", err
	}
	if len(c.Lines) == 0 || slices.ContainsFunc(c.Lines, func(l []int) bool { return len(l) == 0 }) {
		return "", errors.New("a chunk without tasks")
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/usr/bin/env bash")
	line("# %d jobs, %d tasks of %s. Written by torchpe; "+
		"array index i runs the tasks of line i+1 of the list below.",
		len(c.Lines), len(c.tasks()), a.Name)
	for _, arg := range a.arguments(c) {
		if wording.IsPlain(arg) {
			line("#SBATCH %s", arg)
		} else {
			line("# on sbatch's command line: %s", wording.Quote(arg))
		}
	}
	line("dir=%s", wording.Quote(a.Dir))
	line("list=%s", wording.Quote(a.path(c.Name, ".tasks")))
	words := make([]string, len(a.Program))
	for i, w := range a.Program {
		words[i] = wording.Quote(w)
	}
	line("program=(%s)", strings.Join(words, " "))
	line("max_restarts=%d", a.Options.restarts())
	b.WriteString(prologue)
	switch {
	case !a.Options.Requeue:
		b.WriteString(neverRequeue)
	case c.SiteRequeues:
		b.WriteString(siteRequeues)
	default:
		b.WriteString(selfRequeue)
	}
	b.WriteString(supervise)
	return b.String(), nil
}

// prologue finds the tasks of this job. It uses no command but bash's own.
const prologue = `
index=${SLURM_ARRAY_TASK_ID:?this script runs as a job array of Slurm}
restarts=${SLURM_RESTART_COUNT:-0}
say() { printf '== %(%F %T)T %s: %s\n' -1 "job ${SLURM_ARRAY_JOB_ID:-?}_$index on ${HOSTNAME:-?}" "$*"; }
cd -- "$dir" || { say "the folder cannot be reached from this node"; exit 1; }
if [ ! -e "$list" ]; then say "submission withdrawn, nothing to do"; exit 0; fi
mapfile -t -s "$index" -n 1 line <"$list"
read -r -a tasks <<<"${line[0]-}"
if [ ${#tasks[@]} -eq 0 ]; then say "no line $((index + 1)) in $list"; exit 1; fi
if [ "$restarts" -gt "$max_restarts" ]; then say "start $((restarts + 1)) is one too many, given up"; exit 1; fi
say "tasks ${tasks[*]}, start $((restarts + 1))"
`

// neverRequeue, siteRequeues and selfRequeue define what happens after exit status 75.
const (
	neverRequeue = `
requeue() { exit 1; } # not 75: the site may queue again whatever exits so
`
	siteRequeues = `
requeue() { exit 75; } # RequeueExit of this site queues the job again
`
	selfRequeue = `
requeue() {
  if [ -n "$term" ]; then exit 143; fi # cancelled or preempted: Slurm decides
  if [ "$restarts" -ge "$max_restarts" ]; then say "start $((restarts + 1)) was the last, given up"; exit 1; fi
  say "asks to be queued again"
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$index" || say "could not be queued again"
  exit 75
}
`
)

// supervise runs the tasks of a job in turn.
const supervise = `
usr1='' term='' child='' passed='' interrupted=''
pass() { # hands USR1 on to the program, once
  if [ -n "$usr1" ] && [ -n "$child" ] && [ "$passed" != "$child" ]; then passed=$child; kill -USR1 "$child" 2>/dev/null; fi
}
trap 'usr1=1 interrupted=1; pass' USR1
# Slurm sends TERM to all processes of a job. Handed on, it would reach the program twice.
trap 'term=1 interrupted=1' TERM

run() { # run TASK: sets code to the exit status of the program, however many signals end a wait
  local status
  "${program[@]}" --index "$1" &
  child=$!
  pass
  while interrupted=''; wait "$child"; status=$?; [ "$status" = 127 ] && [ -n "$code" ] || code=$status; [ -n "$interrupted" ]; do :; done
  child=''
}

failed=0
for task in "${tasks[@]}"; do
  if [ -n "$term" ]; then exit 143; fi
  if [ -n "$usr1" ]; then requeue; fi
  code=''
  run "$task"
  # After USR1, 138: it came before the program listened. -1: the program ended as the signal
  # came, and bash lost its exit status.
  if [ -n "$usr1" ] && { [ "$code" = 138 ] || [ "$code" = -1 ]; }; then code=75; fi
  if [ "$code" = 75 ]; then requeue; fi
  # Stopped by INT or TERM, its state is saved. When Slurm ends the job, the program may end
  # before this script has its TERM.
  if [ "$code" = 130 ] || [ "$code" = 143 ]; then term=1; fi
  if [ "$code" != 0 ]; then failed=$code; say "task $task ended with exit status $code"; fi
  # By a signal, which let it record nothing. When the job itself is ended, the task is to go on later.
  if [ "$code" -gt 128 ] && [ -z "$term" ]; then "${program[@]}" --index "$task" --ended "$code"; fi
done
exit "$failed"
`
