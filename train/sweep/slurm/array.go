package slurm

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ExitRequeue is the program's exit status to be queued again: EX_TEMPFAIL of sysexits.h.
const ExitRequeue = 75

// maxRestarts limits how often one job starts again.
const maxRestarts = 20

// DefaultSubmissions stands for an [Options].MaxSubmissions of 0.
const DefaultSubmissions = 5

// Array is a set of tasks to run.
type Array struct {
	Name  string // begins the names of its jobs; letters, digits, _ . -
	Tasks []int  // indexes, in the order in which they start
	// Program is run in Dir as Program... --index I. It begins with an absolute path or a command
	// on the node's PATH.
	Program []string
	Dir     string // absolute, shared by the nodes; the package writes below Dir/slurm and Dir/logs
	Options Options
}

// Options are options of sbatch. With the zero value a job runs one task.
type Options struct {
	Partition, Account, QOS string
	Time                    time.Duration // limit of a job, whole minutes; 0 is the partition's default
	Throttle                int           // jobs of an array that run at the same time; 0 is no bound
	TasksPerJob             int           // tasks that a job runs in turn; 0 means 1
	GPUs                    int           // a job
	GPUType                 string        // as the site names it: a100
	CPUs                    int           // cores a job; 0 is the site's default
	Memory                  string        // a node: 4000M, 16G

	// Signal is the time before the limit at which the program gets USR1. Slurm may be a minute early.
	Signal time.Duration
	// Requeue lets Slurm queue a job again: after a node died, after preemption, and when the
	// program exits with ExitRequeue.
	Requeue        bool
	MaxSubmissions int // of one task that is lost each time, by Reconcile; 0 means DefaultSubmissions

	// Extra are other options of sbatch, each one argument: --constraint=a100, --mail-type=FAIL.
	Extra []string
}

var (
	validName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
	validList   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.,-]*$`)
	validMemory = regexp.MustCompile(`^[0-9]+[KMGT]?$`)
)

// ownOptions are options of sbatch that the package sets or that would break it, with the
// equivalent flag of "torchpe sweep", where there is one.
var ownOptions = map[string]string{
	"array": "--throttle and --tasks-per-job", "a": "--throttle and --tasks-per-job",
	"signal": "--signal", "requeue": "--no-requeue or nothing", "no-requeue": "--no-requeue",
	"time": "--time", "t": "--time", "partition": "--partition", "p": "--partition",
	"account": "--account", "A": "--account", "qos": "--qos", "q": "--qos",
	"gres": "--gpus and --gpu-type", "cpus-per-task": "--cpus", "c": "--cpus", "mem": "--memory",
	"job-name": "", "J": "", "chdir": "", "D": "", "output": "", "o": "", "error": "", "e": "",
	"open-mode": "", "parsable": "", "wrap": "", "ntasks": "", "n": "", "nodes": "", "N": "",
	"wait": "", "W": "", "test-only": "", "clusters": "", "M": "", "input": "", "i": "",
	"version": "", "V": "", "help": "", "h": "", "usage": "",
}

// Validate returns every fault of an array at once, before anything is written or submitted.
func (a Array) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !validName.MatchString(a.Name) {
		fault("name %q: give 1 to 100 of letters, digits, _ . - that begin with a letter or digit", a.Name)
	}
	if len(a.Tasks) == 0 {
		fault("no tasks")
	}
	seen := make(map[int]bool, len(a.Tasks))
	for _, t := range a.Tasks {
		if t < 0 {
			fault("task %d is negative", t)
		}
		if seen[t] {
			fault("task %d is listed twice", t)
		}
		seen[t] = true
	}
	if len(a.Program) == 0 || a.Program[0] == "" {
		fault("no program")
	} else if p := a.Program[0]; strings.Contains(p, "/") && !filepath.IsAbs(p) {
		fault("program %q: give an absolute path or the name of a command", p)
	}
	for _, word := range a.Program {
		if control(word) {
			fault("program: %q has a control character, which a job script cannot carry", word)
		}
	}
	a.validateDir(fault)
	return errors.Join(append(faults, a.Options.Validate())...)
}

// validateDir finds the faults of Dir.
func (a Array) validateDir(fault func(string, ...any)) {
	if !filepath.IsAbs(a.Dir) {
		fault("folder %q is not an absolute path", a.Dir)
	}
	if control(a.Dir) {
		fault("folder %q has a control character, which a job script cannot carry", a.Dir)
	}
	if strings.Contains(a.Dir, `\`) {
		fault(`folder %q has a backslash, by which Slurm changes the names of output files`, a.Dir)
	}
}

// Validate returns every fault of options at once.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, f := range []struct{ what, value string }{
		{"partition", o.Partition}, {"account", o.Account}, {"QOS", o.QOS}, {"GPU type", o.GPUType},
	} {
		if f.value != "" && !validList.MatchString(f.value) {
			fault("%s %q: only letters, digits and _ . , - are taken", f.what, f.value)
		}
	}
	for _, f := range []struct {
		what  string
		value int
	}{
		{"throttle", o.Throttle}, {"tasks per job", o.TasksPerJob}, {"GPUs", o.GPUs},
		{"CPUs", o.CPUs}, {"submissions", o.MaxSubmissions},
	} {
		if f.value < 0 {
			fault("%s: %d is negative", f.what, f.value)
		}
	}
	if o.GPUType != "" && o.GPUs == 0 {
		fault("GPU type %s without a number of GPUs: give --gpus", o.GPUType)
	}
	if o.Memory != "" && !validMemory.MatchString(o.Memory) {
		fault("memory %q: give a number with K, M, G or T, as 16G", o.Memory)
	}
	if o.Time < 0 || o.Time%time.Minute != 0 {
		fault("time limit %v: Slurm counts whole minutes", o.Time)
	}
	switch {
	case o.Signal < 0 || o.Signal%time.Second != 0 || o.Signal > 65535*time.Second:
		fault("signal %v before the limit: give whole seconds up to 65535", o.Signal)
	case o.Time > 0 && o.Signal >= o.Time:
		fault("signal %v before the limit: the limit is only %v", o.Signal, o.Time)
	}
	o.validateExtra(fault)
	return errors.Join(faults...)
}

// validateExtra finds among the extra options those that the package sets itself.
func (o Options) validateExtra(fault func(string, ...any)) {
	for _, e := range o.Extra {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, "--"), "=")
		long := strings.HasPrefix(e, "--") && len(name) > 1
		short := !long && len(e) > 1 && e[0] == '-' && e[1] != '-'
		if short {
			name = e[1:2]
		}
		switch flag, taken := ownOptions[ownName(name, long)]; {
		case control(e):
			fault("option %q has a control character", e)
		case !long && !short:
			fault("option %q: give each as one argument that begins with -, as --constraint=a100", e)
		case taken && flag != "":
			fault("option %s: use %s", e, flag)
		case taken:
			fault("option %s cannot be changed", e)
		}
	}
}

// ownName completes an abbreviated long option, where that is one of ownOptions.
func ownName(name string, long bool) string {
	if _, exact := ownOptions[name]; exact || !long {
		return name
	}
	var full []string
	for o := range ownOptions {
		if len(o) > 1 && strings.HasPrefix(o, name) {
			full = append(full, o)
		}
	}
	if len(full) == 0 {
		return name
	}
	return slices.Min(full)
}

// control says whether a string has a control character.
func control(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// logs returns the folder of logs.
func (a Array) logs() string { return filepath.Join(a.Dir, "logs") }

// perJob returns how many tasks a job runs.
func (o Options) perJob() int { return max(o.TasksPerJob, 1) }

// restarts returns how often a job may start again.
func (o Options) restarts() int {
	if o.Requeue {
		return maxRestarts
	}
	return 0
}

// submissions returns how often a task is submitted that is lost each time.
func (o Options) submissions() int {
	if o.MaxSubmissions == 0 {
		return DefaultSubmissions
	}
	return o.MaxSubmissions
}
