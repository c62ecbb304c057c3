package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/train/runlog"
)

// asWorker in the environment makes the test binary a worker: its value is the sweep's directory
// and a task's index.
const asWorker = "TORCHPE_TEST_SWEEP_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asWorker); dir != "" {
		os.Exit(worker(dir, os.Args[1]))
	}
	if dir := os.Getenv(asHistorian); dir != "" {
		seed, err := strconv.ParseUint(os.Args[2], 10, 64)
		if err != nil {
			os.Exit(2)
		}
		misfortune(seed)
		onHost(os.Getenv(asHost))
		os.Exit(historian(dir, os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

// worker works on a task as its learning rate says: 1 fails, 2 kills itself, 3 exits without a
// word, 4 claims and dies; others take some steps with checkpoints between them.
func worker(dir, index string) int {
	s := expect.Must(Open(dir))
	c, err := s.ClaimTask(expect.Must(strconv.Atoi(index)), false)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Fprintf(expect.Must(c.OpenLog()), "attempt %d\n", c.Attempt())
	switch partsOfMembers(c)[0].settings["lr"] {
	case "1":
		c.Fail(Failure{Reason: ReasonData, ExitCode: 1, Message: "no such file"})
		return 1
	case "2":
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		time.Sleep(time.Minute)
	case "3":
		return 7
	case "4":
		time.Sleep(time.Minute)
	}
	if err := trainFake(c, 6, 2*time.Millisecond); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := c.Complete(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// partsOfMembers returns the parts of the names of a task's members.
func partsOfMembers(c *Claim) (parts []nameParts) {
	for _, member := range expect.Must(runsOf(expect.Must(c.Plan.configText(c.Index)))) {
		parts = append(parts, expect.Must(namePartsOf(member, map[string]string{})))
	}
	return parts
}

// trainFake makes the task's ensemble as training would, resumably: what it holds of a member is a
// function of that alone, and each step is counted in a file of the task.
func trainFake(c *Claim, steps int, pause time.Duration) error {
	config := expect.Must(c.Plan.configText(c.Index))
	dir := c.EnsembleDir(c.Index)
	r, err := runlog.Resume(dir, runlog.Options{})
	switch {
	case err == nil:
		if err = r.AddEnvironment(runlog.Environment{Host: "resumed"}); err != nil {
			return errors.Join(err, r.Close())
		}
	case errors.Is(err, runlog.ErrComplete):
		return nil
	case errors.Is(err, runlog.ErrNoRun):
		r, err = runlog.Create(dir, config, runlog.Environment{Host: "first"}, runlog.Options{})
	}
	if err != nil {
		return err
	}
	defer r.Close()
	first := 0
	saved, err := r.LoadCheckpoint()
	switch {
	case err == nil:
		first = saved.Step
		_, err = r.TruncateMetrics(first)
	case errors.Is(err, runlog.ErrNoCheckpoint):
		_, err = r.TruncateMetrics(-1)
	}
	if err != nil {
		return err
	}
	members := partsOfMembers(c)
	E := len(members)
	values := func(step int) (all []float64) {
		for _, f := range members {
			for k := range 6 {
				all = append(all, float64(f.seed)*1000+float64(len(f.pe))*100+float64(step)*10+float64(k))
			}
		}
		return all
	}
	for step := first + 1; step <= steps; step++ {
		time.Sleep(pause)
		for m, f := range members {
			if err := r.Append(runlog.Record{Step: step, Epoch: step, Member: m, Seed: int64(f.seed),
				Measures: runlog.Numbers{"loss": values(step)[m*6]}}); err != nil {
				return err
			}
		}
		w := expect.Must(safetensors.New("w/x", []int{E, 2, 3}, values(step)))
		seen := expect.Must(safetensors.New("state/seen", []int{1}, []float64{float64(step)}))
		if err := r.SaveCheckpoint(step, []safetensors.Tensor{w, seen},
			map[string]string{"seconds": "1"}); err != nil {
			return err
		}
		if err := c.Beat(first, step, steps); err != nil {
			return err
		}
	}
	probe := expect.Must(safetensors.New("pe/0", []int{E, 6}, values(steps)))
	modules := expect.Must(safetensors.New("modules", []int{4}, []int64{1, 2, 3, 4}))
	if err := r.SaveProbes([]safetensors.Tensor{probe, modules}, map[string]string{"step": "6"}); err != nil {
		return err
	}
	result := runlog.Result{WallSeconds: 1, StepsPerSecond: 2, PeakRSSMB: 3, Fidelity: "code"}
	for _, f := range members {
		result.Members = append(result.Members, runlog.MemberResult{PE: f.pe, Sigma: f.sigma,
			Seed: int64(f.seed), Steps: steps, Status: runlog.StatusDone,
			Measures: runlog.Numbers{"train": float64(f.seed)}})
	}
	return r.SaveResult(result)
}

// finished reads a finished run's bytes, by file; environment.json tells attempts apart and is left
// out.
func finished(t testing.TB, s *Sweep, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range []string{"config.json", "metrics.jsonl", "checkpoint.safetensors",
		"probes.safetensors", "result.json"} {
		out[file] = string(expect.Must(os.ReadFile(filepath.Join(s.RunDir(name), file))))
	}
	return out
}
