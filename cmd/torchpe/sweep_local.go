package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"torchpe/torchpe"
	"torchpe/train/sweep"
)

// machine says what the tasks of configurations run on here.
func (f launchFlags) machine(configs [][]byte) (sweep.Machine, error) {
	if f.launcher == "slurm" {
		return f.slurm.machine(), nil
	}
	sys := torchpe.DescribeSystem()
	onGPU := false
	if len(sys.GPUs) > 0 {
		for _, text := range configs {
			var c struct {
				Device string `json:"device"`
			}
			if err := json.Unmarshal(text, &c); err != nil {
				return sweep.Machine{}, err
			}
			onGPU = onGPU || c.Device != "cpu"
		}
	}
	const mb = 1 << 20
	if onGPU {
		return gpuMachine(sys.GPUs, f.workers), nil
	}
	m := sweep.Machine{Workers: f.workers, MemoryMB: float64(sys.FreeMemory) / mb}
	if m.Workers == 0 {
		m.Workers = runtime.NumCPU()
	}
	return m, nil
}

// gpuMachine is what GPUs make of a machine: the memory is that of the one with the least, of what is free where that is known.
func gpuMachine(gpus []torchpe.GPU, workers int) sweep.Machine {
	const mb = 1 << 20
	m := sweep.Machine{Workers: workers, GPU: true}
	if workers == 0 {
		m.Workers = len(gpus)
	}
	m.PerGPU = (m.Workers + len(gpus) - 1) / len(gpus)
	for i, g := range gpus {
		has := float64(g.TotalMemory) / mb
		if g.FreeMemory > 0 {
			has = float64(g.FreeMemory) / mb
		}
		if i == 0 || has < m.MemoryMB {
			m.MemoryMB = has
		}
	}
	return m
}

// local returns the launcher of this machine.
func (f launchFlags) local(s *sweep.Sweep, progress io.Writer) (sweep.Launcher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	configs := make([][]byte, len(s.Plan.Configurations))
	for i, c := range s.Plan.Configurations {
		configs[i] = c
	}
	m, err := f.machine(configs)
	if err != nil {
		return nil, err
	}
	var gpus []string
	if m.GPU {
		gpus = visibleGPUs(len(torchpe.DescribeSystem().GPUs))
	}
	threads := max(1, runtime.NumCPU()/m.Workers)
	command := func(index, worker int) *exec.Cmd {
		cmd := exec.Command(self, "sweep", "run-task", "--index", fmt.Sprint(index), "--threads", fmt.Sprint(threads))
		if f.takeLost {
			cmd.Args = append(cmd.Args, "--break-lock")
		}
		if gpus != nil {
			cmd.Args = append(cmd.Args, "--device", "cuda:0") // the only one that it sees
			cmd.Env = append(os.Environ(), seesOnly(gpus, worker))
		}
		cmd.Args = append(cmd.Args, "--", s.Dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it through us alone, once
		return cmd
	}
	watch, err := newSweepProgress(progress, s, f.quiet)
	if err != nil {
		return nil, err
	}
	return sweep.Local{Workers: min(m.Workers, len(s.Plan.Tasks)), Command: command, TakeLost: f.takeLost, Event: watch.event}, nil
}

// seesOnly is the variable by which a worker sees one GPU alone; workers take them in turn.
func seesOnly(gpus []string, worker int) string {
	return "CUDA_VISIBLE_DEVICES=" + gpus[worker%len(gpus)]
}

// visibleGPUs are the names by which CUDA_VISIBLE_DEVICES chooses each of n GPUs.
func visibleGPUs(n int) []string {
	if text, given := os.LookupEnv("CUDA_VISIBLE_DEVICES"); given {
		if names := strings.Split(text, ","); len(names) >= n {
			return names[:n]
		}
	}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

// sweepProgress prints a line for each task that ends.
type sweepProgress struct {
	w           io.Writer
	quiet       bool
	start       time.Time
	ended, runs int // runs of tasks that have ended, and all
	here        int // of these, ended since the start
}

func newSweepProgress(w io.Writer, s *sweep.Sweep, quiet bool) (*sweepProgress, error) {
	st, err := s.Status(nil)
	if err != nil {
		return nil, err
	}
	p := &sweepProgress{w: w, quiet: quiet, start: time.Now(), runs: st.Runs, ended: st.DoneRuns}
	for _, t := range st.Tasks {
		if t.State == sweep.StateFailed {
			p.ended += len(t.Runs)
		}
	}
	return p, nil
}

func (p *sweepProgress) event(e sweep.Event) {
	t := e.Task
	name := t.Runs[0]
	if n := len(t.Runs); n > 1 {
		name += fmt.Sprintf(" and %d more", n-1)
	}
	text := ""
	switch t.State {
	case sweep.StateRunning:
		return
	case sweep.StateDone:
		text = "done"
		if n := t.Done.Diverged(); n > 0 {
			text += fmt.Sprintf(", %d diverged", n)
		}
	case sweep.StateFailed:
		text = fmt.Sprintf("failed (%s): %s; log: %s", t.Failure.Reason, firstLine(t.Failure.Message), t.Log)
	case sweep.StatePending:
		text = "stopped, saved"
	case sweep.StateLost:
		text = "ended before it could save; torchpe sweep resume goes on"
		if t.Elsewhere() {
			text = "left alone: its worker on " + t.Heartbeat.Host + " fell silent; torchpe sweep retry --lost takes it"
		}
	case sweep.StateUnknown:
		text = "left alone: " + t.Note
	}
	left := ""
	if t.State == sweep.StateDone || t.State == sweep.StateFailed {
		p.ended, p.here = p.ended+len(t.Runs), p.here+len(t.Runs)
		if p.ended < p.runs {
			left = fmt.Sprintf(", %s left", leftText(time.Since(p.start).Seconds()/float64(p.here)*float64(p.runs-p.ended)))
		}
	}
	if !p.quiet {
		fmt.Fprintf(p.w, "[%d/%d%s] %s: %s\n", p.ended, p.runs, left, name, text)
	}
}
