package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"torchpe/internal/wording"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// Run trains a configuration in the run directory dir and returns the final numbers. Resuming a
// finished run returns its numbers. When ctx ends, Run saves and returns *Interrupted.
func Run(ctx context.Context, c Config, dir string, o Options) (runlog.Result, error) {
	if err := c.Resolve(); err != nil {
		return runlog.Result{}, err
	}
	run, resumed, err := claimRunDir(dir, o)
	if err != nil {
		return runlog.Result{}, err
	}
	defer run.Close()
	done, err := c.onDevice()
	if err != nil {
		return runlog.Result{}, err
	}
	defer done()
	task, err := readData(ctx, c)
	if err != nil && resumed {
		err = explainMissing(err, dir)
	}
	if err != nil {
		return runlog.Result{}, err
	}
	if now := task.fingerprint(); o.SameData != "" && o.SameData != now {
		return runlog.Result{}, &DataError{fmt.Errorf("the data have changed since %s was trained (their "+
			"SHA-256 began with %.12s, and now with %.12s): restore them, or start another sweep, with "+
			"another --out", o.SameDataAs, o.SameData, now)}
	}
	if o.Observer == nil {
		o.Observer = noopObserver{}
	}
	for _, note := range c.notes(task) {
		o.Observer.Noticed(note)
	}
	ens, err := newEnsemble(c, task)
	if err != nil {
		return runlog.Result{}, withAdvice(c, err)
	}
	defer ens.close()
	if err := ens.startFrom(); err != nil {
		return runlog.Result{}, err
	}
	if c.Device == "auto" && ens.device != torchpe.CPU {
		o.Observer.Noticed("device: auto chose " + ens.device.String())
	}
	if c.Threads, err = ens.setThreads(c.Threads); err != nil {
		return runlog.Result{}, withAdvice(c, err)
	}
	ens.config = c
	t, err := newTrainer(ens, run, o)
	if err != nil {
		return runlog.Result{}, withAdvice(c, err)
	}
	if o.Stalled != nil && ens.device != torchpe.CPU {
		t.watchdog = newWatchdog(o.StallAfter, dir, o.Stalled)
		defer t.watchdog.stop()
	}
	if !resumed {
		if err := t.checkUntil(); err != nil {
			return runlog.Result{}, withAdvice(c, err)
		}
		if err := t.start(run.Start); err != nil {
			return runlog.Result{}, err
		}
	}
	result, err := t.train(ctx, resumed)
	if err != nil && !errors.As(err, new(*Interrupted)) {
		err = fmt.Errorf("%s: %w", dir, withAdvice(c, err))
	}
	return result, err
}

// readData reads the data of a configuration. If ctx ends during a read it returns without waiting.
func readData(ctx context.Context, c Config) (task, error) {
	var t task
	read := make(chan error, 1)
	go func() {
		made, err := newTask(c)
		t = made
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			return nil, &DataError{err}
		}
		return t, nil
	case <-ctx.Done():
		return nil, &Interrupted{}
	}
}

// trainer is the state of one Run.
type trainer struct {
	*ensemble
	run      *runlog.Run
	board    *runlog.Board // nil if none is wanted, or after a failure
	observer Observer
	watchdog *watchdog // nil if none is wanted

	environment  runlog.Environment
	allowChanged []string // keys, as in Options

	state    state
	saved    time.Time  // when the last checkpoint was taken
	saving   chan error // the result of writing it; nil if none is being written
	logged   time.Time  // when the last record was written
	loggedAt int        // step of the last record

	last      []*runlog.Record // [E] newest record of each member; nil before the first
	criterion runlog.Criterion // when a member has fitted
	fits      []runlog.Fit     // [E]; nil if there is no criterion
	motion    *motionMeter     // nil if no table is trained
}

// newTrainer returns the state before the first step of a run.
func newTrainer(e *ensemble, run *runlog.Run, o Options) (t *trainer, err error) {
	t = &trainer{ensemble: e, run: run, observer: o.Observer, allowChanged: o.AllowChanged,
		environment: environment(e.config, o.Command), last: make([]*runlog.Record, e.members()),
		state: state{sums: newTrainSums(e.members()), diverged: make([]int, e.members())}}
	var ok bool
	if t.criterion, ok = t.config.criterion(); ok {
		t.fits = runlog.FitsOf(t.criterion, t.members(), nil)
	}
	t.motion, err = t.newMotionMeter() // before a checkpoint replaces the tables
	return t, err
}

// train is the training loop: a step, then checks for divergence, a record and a checkpoint when
// due. It is one function of more than 60 lines, so that it reads in order.
func (t *trainer) train(ctx context.Context, resumed bool) (result runlog.Result, err error) {
	// Finish writing a started checkpoint even after another error, so that the run can continue from it.
	defer func() {
		if saving := t.finishSaving(); saving != nil {
			err = errors.Join(err, saving)
		}
	}()
	if err := t.begin(resumed); err != nil {
		return runlog.Result{}, err
	}
	t.openBoard()
	intervals := t.intervals()
	total, whole := intervals.total, t.config.WholeSteps(t.task.stepsPerEpoch())
	if err := t.buffers.reset(t.state.sums, t.active); err != nil {
		return runlog.Result{}, err
	}
	t.observer.Started(t.state.step, total)
	before, start := t.state.seconds, time.Now()
	t.logged, t.loggedAt, t.saved = start, t.state.step, start

	for t.state.step < total && t.anyActive() {
		if err := t.step(t.state.step, whole); err != nil {
			return runlog.Result{}, fmt.Errorf("step %d: %w", t.state.step+1, err)
		}
		t.state.step++
		t.watchdog.notify(t.state.step)
		if intervals.checksAt(t.state.step) {
			if err := t.checkDivergence(); err != nil {
				return runlog.Result{}, err
			}
		}
		t.state.seconds = before + time.Since(start).Seconds()
		t.observer.Stepped(t.state.step)

		if intervals.recordsAt(t.state.step) {
			if err := t.record(); err != nil {
				return runlog.Result{}, err
			}
		}
		ended := t.state.step == total || !t.anyActive()
		stop := ctx.Err() != nil && !ended
		if stop || ended || time.Since(t.saved) >= time.Duration(t.config.CheckpointEvery) {
			if err := t.checkDivergence(); err != nil {
				return runlog.Result{}, err
			}
			if err := t.checkpoint(); err != nil {
				return runlog.Result{}, err
			}
		}
		// The last checkpoint is waited for; earlier ones report their error once written.
		if stop || ended || len(t.saving) > 0 {
			if err := t.finishSaving(); err != nil {
				return runlog.Result{}, err
			}
		}
		if stop {
			return runlog.Result{}, &Interrupted{Step: t.state.step, Total: total,
				next: "--resume --out " + wording.Quote(t.run.Dir())}
		}
	}
	return t.finish()
}

// begin loads the newest checkpoint, or writes the first one.
func (t *trainer) begin(resumed bool) error {
	c, err := t.run.LoadCheckpoint()
	if errors.Is(err, runlog.ErrNoCheckpoint) {
		if resumed { // stopped before its first checkpoint
			if err := t.recordResume(); err != nil {
				return err
			}
		}
		if _, err := t.run.TruncateMetrics(-1); err != nil {
			return err
		}
		if err := t.checkpoint(); err != nil {
			return err
		}
		return t.finishSaving()
	}
	if err != nil {
		return err
	}
	if c.Warning != "" {
		t.observer.Noticed(c.Warning)
	}
	records, err := t.run.RecordsUntil(c.Step)
	if err != nil {
		return err
	}
	if err := t.checkResumed(c, records); err != nil {
		return err
	}
	if t.state, err = t.load(c); err != nil {
		return err
	}
	if err := t.recordResume(); err != nil {
		return err
	}
	if err := t.takeSnapshot(); err != nil {
		return err
	}
	if _, err = t.run.TruncateMetrics(t.state.step); err != nil {
		return err
	}
	for i := range records {
		t.updateFit(&records[i])
	}
	return nil
}

// updateFit keeps a member's newest record and notes whether the member has fitted, which ends its
// training if Config.Until is set.
func (t *trainer) updateFit(r *runlog.Record) {
	t.last[r.Member] = r
	if t.fits == nil {
		return
	}
	t.fits[r.Member].Update(t.criterion, *r)
	if t.hasStopped(r.Member) {
		t.active[r.Member] = false
	}
}

// hasStopped reports whether a member's training ended because it has fitted.
func (t *trainer) hasStopped(member int) bool {
	return t.config.Until != "" && t.fits[member].Reached
}

func (t *trainer) anyActive() bool { return slices.Contains(t.active, true) }

// checkpoint copies the state to the host, and writes it during later steps. It keeps another copy
// on the device, to restore members that diverge.
func (t *trainer) checkpoint() (err error) {
	t.watchdog.notify(t.state.step)
	if err := t.finishSaving(); err != nil {
		return err
	}
	if t.state.sums, err = t.buffers.sums(); err != nil {
		return err
	}
	write, err := t.save()
	if err != nil {
		return err
	}
	t.saving = make(chan error, 1)
	go func(done chan<- error) { done <- write() }(t.saving)
	t.saved = time.Now()
	return t.takeSnapshot()
}

// finishSaving waits for the checkpoint that is being written, if there is one.
func (t *trainer) finishSaving() error {
	if t.saving == nil {
		return nil
	}
	err := <-t.saving
	t.saving = nil
	return err
}

// checkDivergence waits for the device, stops the members whose loss was not finite in a step since
// the last check, and restores their last checkpoint.
func (t *trainer) checkDivergence() error {
	diverged, loss, err := t.buffers.divergedAt()
	if err != nil {
		return fmt.Errorf("step %d: %w", t.state.step, err)
	}
	for m, at := range diverged {
		if at == 0 || !t.active[m] {
			continue
		}
		t.active[m] = false
		t.state.diverged[m] = at
		value := "not finite"
		if at == t.state.step {
			value = fmt.Sprint(loss[m])
		}
		t.observer.Noticed(fmt.Sprintf(
			"member %d (seed %d) diverged: its loss at step %d is %s; its last checkpoint is kept",
			m, t.seeds[m], at, value))
		if err := t.restoreMember(m); err != nil {
			return err
		}
	}
	return nil
}

func (t *trainer) finish() (runlog.Result, error) {
	t.watchdog.notify(t.state.step)
	err := t.retryAfterOOM(func() error {
		tensors, about, err := t.task.probes(t.ensemble, t.state.step)
		if err != nil {
			return err
		}
		return t.run.SaveProbes(tensors, about)
	})
	if err != nil {
		return runlog.Result{}, err
	}
	result := runlog.Result{
		WallSeconds: t.state.seconds, PeakRSSMB: peakRSSMB(), Fidelity: t.config.Fidelity,
	}
	if t.state.seconds > 0 { // not for imported weights
		result.StepsPerSecond = float64(t.state.step) / t.state.seconds
	}
	t.task.completeResult(&result)
	for m := range t.config.Members {
		result.Members = append(result.Members, t.memberResult(m))
	}
	return result, t.run.SaveResult(result)
}

// memberResult returns the final numbers of a member, which are those of its last record unless it diverged.
func (t *trainer) memberResult(m int) runlog.MemberResult {
	perEpoch, member, last := t.task.stepsPerEpoch(), t.config.Members[m], t.last[m]
	r := runlog.MemberResult{
		PE: t.config.PE, Sigma: member.Sigma, Seed: int64(member.Seed), Steps: t.state.step,
		Epochs: t.state.step / perEpoch, Status: runlog.StatusDone,
		Measures: runlog.Numbers{},
	}
	if t.fits != nil {
		r.Fit = &t.fits[m]
	}
	if t.hasStopped(m) {
		r.Steps, r.Epochs = r.Fit.Step, r.Fit.Step/perEpoch
	}
	if at := t.state.diverged[m]; at > 0 {
		r.Status, r.DivergedAtStep = runlog.StatusDiverged, at
		r.Steps, r.Epochs = at-1, (at-1)/perEpoch
		last = nil
	}
	if last != nil {
		maps.Copy(r.Measures, last.Measures)
		t.motion.addStartCosines(m, r.Measures)
		t.task.addFinal(m, r.Measures)
	}
	return r
}

// intervals says after which steps a run writes records and looks for divergence.
type intervals struct {
	total       int // steps of the run
	recordEvery int
	checkEvery  int
}

// intervals returns the intervals of the run. On the CPU, where the host waits for each step
// anyway, it looks for divergence after each.
func (t *trainer) intervals() intervals {
	perEpoch := t.task.stepsPerEpoch()
	v := intervals{total: t.config.TotalSteps(perEpoch), recordEvery: t.config.LogEvery, checkEvery: 256}
	if t.config.Facts().InEpochs {
		v.recordEvery *= perEpoch
	}
	if t.device == torchpe.CPU {
		v.checkEvery = 1
	}
	return v
}

func (v intervals) recordsAt(step int) bool { return step == v.total || step%v.recordEvery == 0 }

// checksAt reports whether the host looks for diverged members after this step.
func (v intervals) checksAt(step int) bool { return v.recordsAt(step) || step%v.checkEvery == 0 }
