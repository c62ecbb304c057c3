package train

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"torchpe/internal/atomicfile"
	"torchpe/models"
	"torchpe/models/export"
	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Exported describes what Export has written.
type Exported struct {
	Step           int    `json:"step"` // last step of the member's training so far
	PE             string `json:"pe"`
	Parameters     int    `json:"parameters"`                 // trained parameters
	DivergedAtStep int    `json:"diverged_at_step,omitempty"` // 0 if the member did not diverge
	Warning        string `json:"warning,omitempty"`
}

// Export writes a member of the run in dir, finished or not, for PyTorch to the folder out (see
// package export). Masked prediction needs its data, which determine the positions of the tokens.
func Export(dir string, member int, out string) (x Exported, err error) {
	c, checkpoint, err := readRun(dir)
	if err != nil {
		return x, err
	}
	if member < 0 || member >= len(c.Members) {
		return x, &ConfigError{fmt.Errorf("member %d: %s has members 0 to %d", member, dir, len(c.Members)-1)}
	}
	checkpoint.Tensors, err = runlog.MemberParts(checkpoint.Tensors, member, len(c.Members))
	if err != nil {
		return x, fmt.Errorf("%s: %s: %w", dir, checkpoint.Name, err)
	}
	stopped, err := stoppedAfter(dir, c, member)
	if err != nil {
		return x, err
	}
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
	m, about, err := emptyModel(c, checkpoint.Metadata[runlog.DataKey])
	if err != nil {
		return x, fmt.Errorf("%s: %w", dir, explainMissing(err, dir))
	}
	defer m.Close()
	var diverged int
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		for _, p := range m.Params.All() {
			into := p.In(s)
			name := runlog.ParameterTensor(runlog.Weights, p.Name)
			into.CopyFrom(readTensor(checkpoint, name, p.Shape, into))
		}
		diverged = int(readNumbers(checkpoint, runlog.DivergedTensor, 1)[0])
	})
	if err != nil {
		return x, fmt.Errorf("%s: %w", dir, err)
	}
	x = Exported{Step: min(checkpoint.Step, stopped), PE: c.PE, Parameters: m.Params.Count(),
		DivergedAtStep: diverged, Warning: checkpoint.Warning}
	if x.DivergedAtStep > 0 {
		x.Step = x.DivergedAtStep - 1
	}
	about.Directory, about.Member, about.Step = filepath.Base(filepath.Clean(dir)), member, x.Step
	about.DataSHA, about.Config, about.DivergedAtStep = checkpoint.Metadata[runlog.DataKey], text, x.DivergedAtStep
	return x, export.Write(out, m, about)
}

// readRun returns the resolved configuration of a run and its newest checkpoint, which must match. If this
// version does not compute its form of attention, the configuration gets one that it computes.
func readRun(dir string) (Config, *runlog.Checkpoint, error) {
	r, err := runlog.Open(dir)
	if err != nil {
		return Config{}, nil, err
	}
	defer r.Close()
	c, err := parseStored(r.Config().JSON)
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w", dir, err)
	}
	if _, err = r.Result(); err != nil && !errors.Is(err, runlog.ErrNoResult) {
		return c, nil, err
	}
	unfinished := err != nil
	checkpoint, err := r.LoadCheckpoint()
	if err == nil && unfinished {
		if _, _, err = changedSettings(checkpoint, c, nil); err != nil {
			err = fmt.Errorf("%s: %w", dir, err)
		}
	}
	c.replaceGoneForm()
	return c, checkpoint, err
}

// explainMissing adds to the error of a missing file that the run in dir has its relative path, if it has.
func explainMissing(err error, dir string) error {
	path := filepath.Join(dir, "config.json")
	c, unread := config.Read(path)
	var missing *fs.PathError
	if unread != nil || !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &missing) ||
		!config.HasRelative(&c, missing.Path) {
		return err
	}
	return fmt.Errorf("%w: %s has this path, relative to the folder in which the run was trained: run the "+
		"command there", err, path)
}

// stoppedAfter returns the step after which a member stopped because it reached Until, or math.MaxInt.
func stoppedAfter(dir string, c Config, member int) (int, error) {
	criterion, _ := c.criterion()
	if c.Until == "" {
		return math.MaxInt, nil
	}
	r, err := runlog.Open(dir)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	records, err := runlog.ReadMetrics[runlog.Record](r)
	if fit := runlog.FitsOf(criterion, len(c.Members), records)[member]; err == nil && fit.Reached {
		return fit.Step, nil
	}
	return math.MaxInt, err
}

// emptyModel returns the untrained model of a configuration, with the characters of its texts or the names of its
// tokens. If data are read, which determine the places of tokens or the characters, they must have the SHA-256 sum.
func emptyModel(c Config, sum string) (m *models.Model, about export.Run, err error) {
	newTask := c.maker().read
	empty := c.maker().empty
	if empty != nil {
		newTask = empty
	}
	t, err := newTask(c)
	if err != nil {
		return nil, about, err
	}
	switch t := t.(type) {
	case *sequenceTask:
		about.Characters = t.source.characters()
	case *maskedTask:
		about.TokenNames = t.table.Names
	}
	if empty == nil && t.fingerprint() != sum {
		return nil, about, errors.New("its data have changed since training, or their paths lead to others from this " +
			"folder: restore them, or export from the folder of the training")
	}
	e, err := emptyEnsemble(c, t)
	if err != nil {
		return nil, about, err
	}
	m, err = e.newModel()
	return m, about, err
}

// Import creates a finished run in dir from the exported folder from. The run has the configuration
// of the exported member and the current weights of the folder, measured again on the run's data.
// How these were trained is unknown: the run has the number of steps at its export, and for puzzles
// the loss and accuracy on all training examples, without dropout.
func Import(from, dir string, o Options) (runlog.Result, error) {
	was, err := export.ReadRun(from)
	if err != nil {
		return runlog.Result{}, err
	}
	c, err := ParseConfig(was.Config)
	if err == nil {
		c.Device = "cpu"
		c.replaceGoneForm()
		err = c.Resolve()
	}
	if err != nil {
		return runlog.Result{}, fmt.Errorf("%s: run.config: %w", filepath.Join(from, export.ConfigFile), err)
	}
	if was.DivergedAtStep > 0 || len(c.Members) != 1 {
		err = fmt.Errorf("run.config has %d members, but an import has one", len(c.Members))
		if was.DivergedAtStep > 0 {
			err = fmt.Errorf("the model diverged at step %d of its run, but an import would count it as trained: "+
				"if its weights have been trained again since, remove diverged_at_step there", was.DivergedAtStep)
		}
		return runlog.Result{}, &ConfigError{fmt.Errorf("%s: %w", filepath.Join(from, export.ConfigFile), err)}
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
		err = fmt.Errorf("%s was trained on other data (their SHA-256 begins with %.12s, that of these with %.12s)",
			from, was.DataSHA, task.fingerprint())
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
	lost := ens.startFrom() // motion is from these weights
	t, err := newTrainer(ens, run, o)
	if err != nil {
		return runlog.Result{}, err
	}
	if lost != nil {
		t.motion = nil
		o.Observer.Noticed("how far the positions moved is not measured: " + lost.Error())
	}
	return t.measureImported(from, was.Step)
}

// measureImported reads the weights of an exported folder and writes the run as at the end of training.
func (t *trainer) measureImported(from string, step int) (none runlog.Result, err error) {
	weights, err := atomicfile.ReadFile(filepath.Join(from, export.WeightsFile))
	if err != nil {
		return none, err
	}
	t.environment.Changed = []string{fmt.Sprintf("%s%s, whose SHA-256 is %x", runlog.ImportedFrom,
		filepath.Join(from, export.WeightsFile), sha256.Sum256(weights))}
	if err := export.Read(from, t.model); err != nil {
		return none, err
	}
	if err := t.start(t.run.StartHidden); err != nil {
		return none, err
	}
	t.state.step = step
	t.optimizer.SetSteps(step)
	if t.state.sums, err = t.task.trainingSums(t.ensemble); err != nil {
		return none, err
	}
	if err := t.buffers.reset(t.state.sums, t.active); err != nil {
		return none, err
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
	return t.finish()
}
