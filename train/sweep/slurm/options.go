package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/train/sweep"
)

// ExitRequeue is the program's exit status for being queued again: EX_TEMPFAIL of sysexits.h.
const ExitRequeue = 75

// maxRestarts limits how often one job is queued again.
const maxRestarts = 20

// Options are options of sbatch. The zero value runs one task per job.
type Options struct {
	Partition, Account, QOS string
	Time                    time.Duration // limit of a job, whole minutes; 0 is the partition's default
	Throttle                int           // largest number of concurrent jobs of an array; 0 is no limit
	TasksPerJob             int           // tasks that a job runs in turn; 0 means 1
	GPUs                    int           // per job
	GPUType                 string        // the site's name, such as a100
	CPUs                    int           // cores per job; 0 is the site's default
	Memory                  string        // per node: 4000M, 16G

	// Signal is the time before the limit at which the program gets USR1. Slurm may send it a minute early.
	Signal time.Duration
	// Requeue lets Slurm queue a job again after a node failure, after preemption, and when the
	// program exits with ExitRequeue.
	Requeue bool

	// Extra are other options of sbatch, each one argument: --constraint=a100, --mail-type=FAIL.
	Extra []string
}

// ownOptions are the options of sbatch that the package sets, or that would break its jobs.
var ownOptions = strings.Fields(`--account -A --array -a --chdir -D --clusters -M --cpus-per-task -c
	--error -e --gres --help -h --input -i --job-name -J --mem --nodes -N --no-requeue --ntasks -n
	--open-mode --output -o --parsable --partition -p --qos -q --requeue --signal --test-only --time -t
	--usage --version -V --wait -W --wrap`)

// Validate returns all errors of options that Slurm would not report itself.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if n := min(o.Throttle, o.TasksPerJob, o.GPUs, o.CPUs); n < 0 {
		fault("%d: the numbers of jobs, tasks, GPUs and CPUs are not negative", n)
	}
	if o.GPUType != "" && o.GPUs == 0 {
		fault("GPU type %s without a number of GPUs: give --gpus", o.GPUType)
	}
	if o.Time < 0 || o.Time%time.Minute != 0 {
		fault("--time %v: Slurm takes whole minutes", o.Time)
	}
	if o.Signal < 0 || o.Signal%time.Second != 0 || o.Time > 0 && o.Signal >= o.Time {
		fault("signal %v before the limit: give whole seconds, less than the limit", o.Signal)
	}
	for _, e := range o.Extra {
		name, _, _ := strings.Cut(e, "=")
		if len(e) > 2 && e[0] == '-' && e[1] != '-' {
			name = e[:2] // -a0-9
		}
		switch {
		case !strings.HasPrefix(e, "-"):
			fault("--sbatch=%s: give each option as one argument, such as --sbatch=--constraint=a100", e)
		case slices.ContainsFunc(ownOptions, func(own string) bool {
			// sbatch accepts abbreviated long options.
			return own == name || strings.HasPrefix(name, "--") && strings.HasPrefix(own, name)
		}):
			fault("--sbatch=%s: torchpe sets %s itself; its flags marked [slurm] can change it",
				e, name)
		}
	}
	return errors.Join(faults...)
}

// CheckDir returns an error for a sweep's folder whose absolute path sbatch would change or misread.
func CheckDir(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return fmt.Errorf("folder %q: sbatch cannot use a path with a backslash or a control character", dir)
	}
	return nil
}

// FitSignal returns the options with a Signal that fits into Time: for short jobs, half of it.
func (o Options) FitSignal() Options {
	if o.Time > 0 && o.Signal >= o.Time {
		o.Signal = o.Time / 2 / time.Second * time.Second
	}
	return o
}

// Assumptions of packing about jobs, because their nodes cannot be queried in advance.
const (
	assumedJobs  = 16      // that run at a time if Throttle is 0
	assumedMB    = 4 << 10 // memory of a job without a GPU
	assumedGPUMB = 16 << 10
)

// Machine returns what packing assumes about the nodes.
func (o Options) Machine() sweep.Machine {
	m := sweep.Machine{Workers: cmp.Or(o.Throttle, assumedJobs), WorkerMB: assumedMB, GPU: o.GPUs > 0}
	if m.GPU {
		m.WorkerMB = assumedGPUMB
	}
	return m
}

// arguments returns the options with which sbatch submits an array of n jobs. If an option is
// repeated the last one counts, and the command line overrides SBATCH_* variables.
func (o Options) arguments(name, dir string, n int) []string {
	indexes := fmt.Sprintf("0-%d", n-1)
	if o.Throttle > 0 {
		indexes += "%" + strconv.Itoa(o.Throttle)
	}
	args := append([]string{"--parsable"}, o.Extra...)
	args = append(args, "--job-name="+name, "--array="+indexes, "--nodes=1", "--ntasks=1",
		"--open-mode=append", "--chdir="+dir,
		// Slurm expands %A and the like in the name of an output file.
		"--output="+strings.ReplaceAll(dir, "%", "%%")+"/"+logsFolder+"/%x_%a.out")
	add := func(set bool, format string, values ...any) {
		if set {
			args = append(args, fmt.Sprintf(format, values...))
		}
	}
	add(o.Requeue, "--requeue")
	add(!o.Requeue, "--no-requeue")
	// B: sends the signal to the job script, which passes it on. Without it only job steps get it,
	// and there are none.
	add(o.Signal > 0, "--signal=B:USR1@%d", int(o.Signal/time.Second))
	add(o.Time > 0, "--time=%d", int(o.Time/time.Minute))
	add(o.Partition != "", "--partition=%s", o.Partition)
	add(o.Account != "", "--account=%s", o.Account)
	add(o.QOS != "", "--qos=%s", o.QOS)
	add(o.GPUs > 0 && o.GPUType == "", "--gres=gpu:%d", o.GPUs)
	add(o.GPUs > 0 && o.GPUType != "", "--gres=gpu:%s:%d", o.GPUType, o.GPUs)
	add(o.CPUs > 0, "--cpus-per-task=%d", o.CPUs)
	add(o.Memory != "", "--mem=%s", o.Memory)
	return args
}
