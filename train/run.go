package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// Options say how Run treats the run directory and whom it tells.
type Options struct {
	Resume    bool // go on with the run in the directory; start one where there is none
	Force     bool // replace the run in the directory
	BreakLock bool // take over the lock of a dead process on another host
	Command   []string
	Observer  Observer // may be nil

	// Stalled is called, from another goroutine, when a GPU has not answered for StallAfter: a driver that hangs cannot be told to stop,
	// so that all a program can do is say so and end. Nil: nobody watches.
	Stalled    func(*StalledError)
	StallAfter time.Duration
}

// Observer is told how a run goes.
type Observer interface {
	Started(done, total int)   // steps made before, and in all
	Stepped(done int)          // after each step
	Logged(rs []runlog.Record) // one record a member
	Noticed(message string)    // something that a person should read
}

// Interrupted says that the context ended before the run did; its state is saved.
type Interrupted struct {
	Dir         string
	Step, Total int
}

func (e *Interrupted) Error() string {
	return fmt.Sprintf("interrupted after step %d of %d; the state is saved, --resume --out %s goes on", e.Step, e.Total, e.Dir)
}

// DataError says that the data cannot be used: it cannot be read, or is not what the checkpoint was trained on.
type DataError struct{ err error }

func (e *DataError) Error() string { return e.err.Error() }

// Unwrap returns what was wrong.
func (e *DataError) Unwrap() error { return e.err }

// Run trains a configuration in the run directory dir and returns the final numbers. A finished run is returned as it is
// when it is resumed. When ctx ends, Run finishes the step, saves and returns *Interrupted.
func Run(ctx context.Context, c Config, dir string, o Options) (runlog.Result, error) {
	if err := c.Resolve(); err != nil {
		return runlog.Result{}, err
	}
	done, err := c.onDevice()
	if err != nil {
		return runlog.Result{}, err
	}
	defer done()
	task, err := newTask(c)
	if err != nil {
		return runlog.Result{}, &DataError{err}
	}
	if o.Observer == nil {
		o.Observer = silent{}
	}
	for _, note := range task.notes() {
		o.Observer.Noticed(note)
	}
	ens, err := newEnsemble(c, task)
	if err != nil {
		return runlog.Result{}, explain(c, err)
	}
	defer ens.close()
	if c.Device == "auto" && ens.device != torchpe.CPU {
		o.Observer.Noticed("device: auto chose " + ens.device.String())
	}
	if c.Threads == 0 {
		if c.Threads, err = ens.calibrate(); err != nil {
			return runlog.Result{}, explain(c, err)
		}
	}
	torchpe.SetThreads(c.Threads)
	ens.config = c
	run, err := open(c, dir, o)
	if err != nil {
		return runlog.Result{}, err
	}
	defer run.Close()
	t := &trainer{ensemble: ens, run: run, observer: o.Observer}
	if o.Stalled != nil && ens.device != torchpe.CPU {
		t.watch = newWatch(o.StallAfter, dir, o.Stalled)
		defer t.watch.stop()
	}
	result, err := t.train(ctx)
	if err != nil {
		var stopped *Interrupted
		if !errors.As(err, &stopped) {
			err = fmt.Errorf("%s: %w", dir, explain(c, err))
		}
	}
	return result, err
}

// open creates the run directory, or locks the one that is there.
func open(c Config, dir string, o Options) (*runlog.Run, error) {
	text, err := c.JSON()
	if err != nil {
		return nil, err
	}
	env := environment(c, o.Command)
	opts := runlog.Options{Force: o.Force, BreakLock: o.BreakLock}
	if o.Resume {
		run, err := runlog.Resume(dir, env, opts)
		if !errors.Is(err, runlog.ErrNoRun) {
			return run, err
		}
	}
	run, err := runlog.Create(dir, text, env, opts)
	if errors.Is(err, runlog.ErrExists) {
		err = fmt.Errorf("%w: --resume goes on with it, --force replaces it", err)
	}
	return run, err
}

func environment(c Config, command []string) runlog.Environment {
	env, sys := runlog.HostEnvironment(command), torchpe.DescribeSystem()
	env.LibtorchBuilt, env.LibtorchRunning = sys.LibtorchBuilt, sys.LibtorchRunning
	env.BLAS, env.BLASKernel, env.Threads = sys.BLAS, sys.BLASKernel, c.Threads
	if device, err := torchpe.ParseDevice(c.Device); err == nil {
		env.Device, env.Precision = device.String(), c.precisionOn(device)
		if i, ok := device.GPU(); ok && i < len(sys.GPUs) {
			env.GPU = sys.GPUs[i].Name
		}
	}
	return env
}

// trainer is one Run at work.
type trainer struct {
	*ensemble
	run      *runlog.Run
	board    *runlog.Board // nil where none is asked for, or it failed
	observer Observer
	watch    *watch // nil where nobody watches
	state    state
	saved    time.Time // when that was
	logged   time.Time // when the last record was written
	loggedAt int       // its step
	last     []runlog.Record
}

// train is the training loop.
func (t *trainer) train(ctx context.Context) (runlog.Result, error) {
	if err := t.begin(); err != nil {
		return runlog.Result{}, err
	}
	t.openBoard()
	perEpoch := t.task.stepsPerEpoch()
	total, logEvery := t.config.TotalSteps(perEpoch), t.config.LogEvery
	if t.config.Masked == nil { // counted in epochs
		logEvery *= perEpoch
	}
	if err := t.stage.begin(t.state.sums, t.settings.Active); err != nil {
		return runlog.Result{}, err
	}
	firstStep := t.state.step
	t.observer.Started(firstStep, total)
	before, start := t.state.seconds, time.Now()
	t.logged, t.loggedAt, t.saved = start, firstStep, start
	clock := func() { t.state.seconds = before + time.Since(start).Seconds() }

	for t.state.step < total && t.anyActive() {
		if err := t.step(t.state.step, total); err != nil {
			return runlog.Result{}, fmt.Errorf("step %d: %w", t.state.step+1, err)
		}
		t.state.step++
		t.alive()
		logs := t.state.step == total || t.state.step%logEvery == 0
		if logs || t.state.step%t.lookEvery() == 0 {
			if err := t.look(); err != nil {
				return runlog.Result{}, err
			}
		}
		clock()
		t.observer.Stepped(t.state.step)

		if logs {
			if err := t.record(); err != nil {
				return runlog.Result{}, err
			}
		}
		stop := ctx.Err() != nil && t.state.step < total
		if stop || t.state.step == total || time.Since(t.saved) >= time.Duration(t.config.CheckpointEvery) {
			if err := t.look(); err != nil {
				return runlog.Result{}, err
			}
			if err := t.checkpoint(); err != nil {
				return runlog.Result{}, err
			}
		}
		if stop {
			return runlog.Result{}, &Interrupted{Dir: t.run.Dir(), Step: t.state.step, Total: total}
		}
	}
	return t.finish(float64(t.state.step-firstStep) / math.Max(time.Since(start).Seconds(), 1e-9))
}

// begin loads the newest checkpoint, or makes the first one: a run has a finite state to fall back to from its start.
func (t *trainer) begin() error {
	c, err := t.run.LoadCheckpoint()
	if errors.Is(err, runlog.ErrNoCheckpoint) {
		t.state = state{sums: newRunning(t.members()), diverged: make([]int, t.members())}
		if _, err := t.run.TruncateMetrics(-1); err != nil {
			return err
		}
		return t.checkpoint()
	}
	if err != nil {
		return err
	}
	if c.Warning != "" {
		t.observer.Noticed(c.Warning)
	}
	if t.state, err = t.load(c); err != nil {
		return err
	}
	if err := t.remember(); err != nil {
		return err
	}
	_, err = t.run.TruncateMetrics(t.state.step)
	return err
}

func (t *trainer) checkpoint() (err error) {
	t.alive()
	if t.state.sums, err = t.stage.sums(); err != nil {
		return err
	}
	if err := t.save(t.run, t.state); err != nil {
		return err
	}
	t.saved = time.Now()
	return t.remember()
}

// alive tells whoever watches that work goes on.
func (t *trainer) alive() { t.watch.alive(t.state.step) }

func (t *trainer) anyActive() bool {
	for _, on := range t.settings.Active {
		if on {
			return true
		}
	}
	return false
}

// lookEvery is after how many steps the host looks at the device: after each on the CPU, where that costs nothing.
func (t *trainer) lookEvery() int {
	if t.device == torchpe.CPU {
		return 1
	}
	return 256
}

// look waits for the device, ends the members whose loss was not finite in a step since the last look, and puts them back to
// their last checkpoint.
func (t *trainer) look() error {
	stopped, loss, err := t.stage.stops()
	if err != nil {
		return fmt.Errorf("step %d: %w", t.state.step, err)
	}
	for m, at := range stopped {
		if at == 0 || !t.settings.Active[m] {
			continue
		}
		t.settings.Active[m] = false
		t.state.diverged[m] = at
		value := "not finite"
		if at == t.state.step {
			value = fmt.Sprint(loss[m])
		}
		t.observer.Noticed(fmt.Sprintf("member %d (seed %d) diverged: its loss at step %d is %s; its last checkpoint is kept", m, t.seeds[m], at, value))
		if err := t.restore(m); err != nil {
			return err
		}
	}
	return nil
}

// record measures all members and appends a record of each.
func (t *trainer) record() error {
	t.alive()
	tables, err := t.peTables()
	if err != nil {
		return err
	}
	var fill func(m int, r *runlog.Record, sums running)
	err = t.makeRoom(func() (err error) {
		fill, err = t.task.record(t.ensemble, t.state.step, tables)
		return err
	})
	if err != nil {
		return err
	}
	sums, err := t.stage.sums()
	if err != nil {
		return err
	}
	now := time.Now()
	stepMS := 1000 * now.Sub(t.logged).Seconds() / float64(max(1, t.state.step-t.loggedAt))
	perEpoch := t.task.stepsPerEpoch()
	epoch := (t.state.step + perEpoch - 1) / perEpoch
	records := make([]runlog.Record, t.members())
	for m := range records {
		r := runlog.NewRecord(t.state.step, epoch, m)
		r.Seed, r.Sigma = int64(t.seeds[m]), t.config.Members[m].Sigma
		r.WallSeconds, r.StepMS = t.state.seconds, stepMS
		if t.settings.Active[m] {
			r.Loss = sums.loss[m] / sums.seen
			r.PENorm, r.PEEffectiveRank = tables.course(m)
			fill(m, &r, sums)
		}
		records[m] = r
	}
	if err := t.run.Append(records...); err != nil {
		return err
	}
	t.appendToBoard(records)
	t.last, t.loggedAt = records, t.state.step
	if err := t.stage.begin(newRunning(t.members()), t.settings.Active); err != nil {
		return err
	}
	t.observer.Logged(records)
	t.logged = time.Now()
	return nil
}

// finish writes the probes and the result.
func (t *trainer) finish(stepsPerSecond float64) (runlog.Result, error) {
	t.alive()
	err := t.makeRoom(func() error {
		tensors, about, err := t.task.probes(t.ensemble, t.state.step)
		if err != nil {
			return err
		}
		return t.run.SaveProbes(tensors, about)
	})
	if err != nil {
		return runlog.Result{}, err
	}
	if t.last == nil { // resumed after its last record, or every member diverged
		records, err := runlog.ReadMetrics[runlog.Record](t.run.Reader)
		if err != nil {
			return runlog.Result{}, err
		}
		t.last = records[max(0, len(records)-t.members()):]
	}
	result := runlog.Result{
		WallSeconds: t.state.seconds, StepsPerSecond: stepsPerSecond, PeakRSSMB: PeakRSSMB(), Fidelity: t.config.Fidelity,
	}
	t.task.finish(&result)
	perEpoch := t.task.stepsPerEpoch()
	for m, member := range t.config.Members {
		r := runlog.MemberResult{
			PE: t.config.PE, Sigma: member.Sigma, Seed: int64(member.Seed), Steps: t.state.step,
			Epochs: t.state.step / perEpoch, Status: runlog.StatusDone,
		}
		var last *runlog.Record
		if at := t.state.diverged[m]; at > 0 {
			r.Status, r.DivergedAtStep, r.Steps, r.Epochs = runlog.StatusDiverged, at, at-1, (at-1)/perEpoch
		} else if m < len(t.last) {
			last = &t.last[m]
		}
		t.task.result(last, &r)
		result.Members = append(result.Members, r)
	}
	return result, t.run.SaveResult(result)
}

// silent is the Observer of nobody.
type silent struct{}

func (silent) Started(int, int)       {}
func (silent) Stepped(int)            {}
func (silent) Logged([]runlog.Record) {}
func (silent) Noticed(string)         {}
