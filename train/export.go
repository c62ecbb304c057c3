package train

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/models"
	"torchpe/models/export"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// Exported describes what Export has written.
type Exported struct {
	Step           int    `json:"step"`
	PE             string `json:"pe"`
	Parameters     int    `json:"parameters"`                 // trained ones
	DivergedAtStep int    `json:"diverged_at_step,omitempty"` // 0 where the member did not diverge
	Warning        string `json:"warning,omitempty"`
}

// Export writes a member of the run in dir, finished or not, to the folder out as PyTorch has it (see
// package export). Masked prediction needs its data, which say where the tokens lie.
func Export(dir string, member int, out string) (x Exported, err error) {
	c, checkpoint, err := readRun(dir)
	if err != nil {
		return x, err
	}
	if member < 0 || member >= len(c.Members) {
		return x, &ConfigError{fmt.Errorf("member %d: %s has the members 0 to %d", member, dir, len(c.Members)-1)}
	}
	if err := export.Check(c.PE); err != nil {
		return x, &ConfigError{err}
	}
	members := len(c.Members)
	c.Members = c.Members[member : member+1]
	text, err := c.JSON()
	if err != nil {
		return x, err
	}
	c.Device, c.Precision = "cpu", "" // the example is for PyTorch's float32
	done, err := c.onDevice()
	if err != nil {
		return x, err
	}
	defer done()
	m, err := emptyModel(c)
	if err != nil {
		return x, fmt.Errorf("%s: %w", dir, err)
	}
	defer m.Close()
	var diverged []float64
	err = torchpe.Catch(func() {
		setFrom(m, checkpoint, member, members)
		diverged = readNumbers(checkpoint, "state/diverged", members)
	})
	if err != nil {
		return x, fmt.Errorf("%s: %w", dir, err)
	}
	x = Exported{Step: checkpoint.Step, PE: c.PE, Parameters: m.Params.Count(),
		DivergedAtStep: int(diverged[member]), Warning: checkpoint.Warning}
	return x, export.Write(out, m, export.Run{
		Directory: filepath.Base(filepath.Clean(dir)), Member: member, Step: checkpoint.Step,
		DataSHA: checkpoint.Metadata["data_sha256"], Config: text,
	})
}

// emptyModel returns the untrained model of a configuration.
func emptyModel(c Config) (*models.Model, error) {
	var t task
	var err error
	if c.HasPuzzles() { // which are not needed
		t, err = newLSTTask(c, splits{})
	} else {
		t, err = newTask(c)
	}
	if err != nil {
		return nil, err
	}
	e, err := emptyEnsemble(c, t)
	if err != nil {
		return nil, err
	}
	return e.newModel()
}

// setFrom sets the parameters of a model of one member to those of a member of a checkpoint.
func setFrom(m *models.Model, c *runlog.Checkpoint, member, members int) {
	s := torchpe.NewScopeNoGrad()
	defer s.Close()
	for _, p := range m.Params.All() {
		shape := append([]int{members}, p.Shape[1:]...)
		all := readTensor(c, "w/"+p.Name, shape, torchpe.Zeros(s, m.Config.DType, torchpe.CPU, shape...))
		p.In(s).CopyFrom(all.Narrow(0, member, 1))
	}
}

// Import makes a finished run in dir of the exported folder from: the run that it was exported from,
// of one member, with the weights that the folder has now, measured again on the run's data. Of its
// training nothing is known: it has the steps of that run, and of puzzles the loss and accuracy on
// all training examples in evaluation.
func Import(from, dir string, o Options) (runlog.Result, error) {
	was, err := export.ReadRun(from)
	if err != nil {
		return runlog.Result{}, err
	}
	c, err := ParseConfig(was.Config)
	if err == nil {
		c.Device = "cpu"
		err = c.Resolve()
	}
	if err != nil {
		return runlog.Result{}, fmt.Errorf("%s: run.config: %w", filepath.Join(from, export.ConfigFile), err)
	}
	run, err := runlog.Claim(dir, runlog.Options{Force: o.Force, BreakLock: o.BreakLock})
	if err != nil {
		return runlog.Result{}, err
	}
	defer run.Close()
	done, err := c.onDevice()
	if err != nil {
		return runlog.Result{}, err
	}
	defer done()
	torchpe.SetThreads(max(1, c.Threads))
	task, err := newTask(c)
	if err == nil && was.DataSHA != task.fingerprint() {
		err = fmt.Errorf("%s was trained on other data (their SHA-256 begins %.12s, that of these %.12s)", from,
			was.DataSHA, task.fingerprint())
	}
	if err != nil {
		return runlog.Result{}, &DataError{err}
	}
	ens, err := newEnsemble(c, task)
	if err != nil {
		return runlog.Result{}, err
	}
	defer ens.close()
	if o.Observer == nil {
		o.Observer = noopObserver{}
	}
	t := &trainer{ensemble: ens, run: run, observer: o.Observer, environment: environment(c, o.Command)}
	return t.measureImported(from, was.Step)
}

// measureImported reads the weights of an exported folder and writes the run as at the end of training.
func (t *trainer) measureImported(from string, step int) (none runlog.Result, err error) {
	weights, err := atomicfile.ReadFile(filepath.Join(from, export.WeightsFile))
	if err != nil {
		return none, err
	}
	t.environment.Changed = []string{fmt.Sprintf("weights imported from %s, whose SHA-256 is %x",
		filepath.Join(from, export.WeightsFile), sha256.Sum256(weights))}
	var ok bool
	if t.criterion, ok = t.config.criterion(); ok {
		t.fits = runlog.FitsOf(t.criterion, t.members(), nil)
	}
	if t.motion, err = t.newMotionMeter(); err != nil {
		return none, err
	}
	if err := export.Read(from, t.model); err != nil {
		return none, err
	}
	if err := t.start(); err != nil {
		return none, err
	}
	t.last = make([]*runlog.Record, t.members())
	t.state = state{step: step, sums: newTrainSums(t.members()), diverged: make([]int, t.members())}
	t.optimizer.SetSteps(step)
	if puzzles, ok := t.task.(*lstTask); ok { // in the place of what training saw last
		if t.state.sums, err = puzzles.sums(t.ensemble, puzzles.train, step); err != nil {
			return none, err
		}
		if err := t.buffers.reset(t.state.sums, t.settings.Active); err != nil {
			return none, err
		}
	}
	t.logged, t.loggedAt = time.Now(), step
	t.openBoard()
	if err := t.record(); err != nil {
		return none, err
	}
	if err := t.checkpoint(); err != nil {
		return none, err
	}
	if err := t.finishSaving(); err != nil {
		return none, err
	}
	return t.finish(0)
}
