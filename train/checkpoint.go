package train

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// state is a checkpoint without the tensors of parameters and optimizer.
type state struct {
	step     int // steps done
	sums     trainSums
	diverged []int   // [E] step (from 1) at which the loss was not finite; 0 = none
	seconds  float64 // of training, over all resumptions
}

// flatState returns the buffers [E,P] of the trained parameters and of the optimizer's state, by name.
func (e *ensemble) flatState(s *torchpe.Scope) map[string]torchpe.Tensor {
	all := map[string]torchpe.Tensor{runlog.Weights: e.model.Params.Flat(s)}
	maps.Copy(all, e.optimizer.State(s))
	return all
}

// snapshot is a copy of the flat state, kept for members that diverge later.
type snapshot struct {
	scope  *torchpe.Scope
	copies map[string]torchpe.Tensor
}

// takeSnapshot replaces the snapshot by a new one.
func (e *ensemble) takeSnapshot() error {
	if e.snapshot != nil {
		e.snapshot.scope.Close()
	}
	e.snapshot = &snapshot{scope: torchpe.NewScopeNoGrad(), copies: map[string]torchpe.Tensor{}}
	return torchpe.Catch(func() {
		for name, t := range e.flatState(e.snapshot.scope) {
			e.snapshot.copies[name] = t.Clone()
		}
	})
}

func (e *ensemble) restoreMember(member int) error {
	return torchpe.Catch(func() {
		s := e.snapshot.scope.Child()
		defer s.Close()
		for name, t := range e.flatState(s) {
			t.Select(0, member).CopyFrom(e.snapshot.copies[name].In(s).Select(0, member))
		}
	})
}

// save starts a checkpoint: parameters and the optimizer's state in their own precision, the state,
// and the metadata. It returns when everything is copied to the host. write puts it on disk, and
// may run during later steps.
func (t *trainer) save() (write func() error, err error) {
	metadata, err := t.metadata()
	if err != nil {
		return nil, err
	}
	var out tensorList
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		t.eachParameter(s, func(name string, shape []int, x torchpe.Tensor) {
			if x.DType() == torchpe.Float32 {
				addTensor(&out, name, shape, torchpe.Values[float32](x))
			} else {
				addTensor(&out, name, shape, x.Float64s())
			}
		})
	})
	if err != nil {
		return nil, err
	}
	members, st := t.members(), t.state
	diverged := make([]float64, members)
	for m, at := range st.diverged {
		diverged[m] = float64(at)
	}
	addTensor(&out, runlog.LossTensor, []int{members}, st.sums.loss)
	addTensor(&out, runlog.CorrectTensor, []int{members}, st.sums.correct)
	addTensor(&out, runlog.SeenTensor, []int{1}, []float64{st.sums.examples})
	addTensor(&out, runlog.DivergedTensor, []int{members}, diverged)
	if out.err != nil {
		return nil, out.err
	}
	return t.run.BeginCheckpoint(st.step, out.all, metadata)
}

// eachParameter calls f with each tensor of a checkpoint in s: parameters and optimizer state.
func (e *ensemble) eachParameter(
	s *torchpe.Scope, f func(name string, shape []int, t torchpe.Tensor)) {
	for buffer, flat := range e.flatState(s) {
		for _, p := range e.model.Params.All() {
			if p.Trainable {
				f(runlog.ParameterTensor(buffer, p.Name), p.Shape, flat.Narrow(1, p.Offset(), p.PerMember()))
			}
		}
	}
	for _, p := range e.model.Params.All() {
		if !p.Trainable {
			f(runlog.ParameterTensor(runlog.Weights, p.Name), p.Shape, p.In(s))
		}
	}
}

// load copies a checkpoint's parameters into the model and returns its state.
func (e *ensemble) load(c *runlog.Checkpoint) (state, error) {
	st := state{step: c.Step}
	if have, now := c.Metadata[runlog.DataKey], e.task.fingerprint(); have != now {
		return st, &DataError{fmt.Errorf("%s was trained on other data (their SHA-256 begins with %.12s, "+
			"that of these with %.12s): give the same data files", c.Name, have, now)}
	}
	var err error
	if st.seconds, err = strconv.ParseFloat(c.Metadata[runlog.SecondsKey], 64); err != nil {
		return st, fmt.Errorf("%s: seconds %q in the metadata: %w", c.Name, c.Metadata[runlog.SecondsKey], err)
	}
	err = torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		e.eachParameter(s, func(name string, shape []int, into torchpe.Tensor) {
			into.CopyFrom(readTensor(c, name, shape, into))
		})
		n := e.members()
		st.sums = trainSums{
			loss: readNumbers(c, runlog.LossTensor, n), correct: readNumbers(c, runlog.CorrectTensor, n),
			examples: readNumbers(c, runlog.SeenTensor, 1)[0],
		}
		for _, at := range readNumbers(c, runlog.DivergedTensor, n) {
			st.diverged = append(st.diverged, int(at))
		}
	})
	e.optimizer.SetSteps(st.step)
	for m, at := range st.diverged {
		e.active[m] = at == 0
	}
	return st, err
}

// readTensor returns the checkpoint's tensor called name, which must have this shape, with the
// scope, shape, data type and device of like.
func readTensor(c *runlog.Checkpoint, name string, shape []int, like torchpe.Tensor) torchpe.Tensor {
	t, ok := c.Tensor(name)
	if !ok || !slices.Equal(t.Shape, shape) {
		panic(resumeError("%s: tensor %s has shape %v, but the configuration needs %v", c.Name, name,
			t.Shape, shape))
	}
	values, err := t.Float64s()
	if err != nil {
		panic(resumeError("%v", err))
	}
	return torchpe.Of(like.Scope(), torchpe.CPU, values, like.Shape()...).To(like.DType(), like.Device())
}

// readNumbers returns the n numbers of a tensor of the checkpoint.
func readNumbers(c *runlog.Checkpoint, name string, n int) []float64 {
	t, _ := c.Tensor(name)
	values, err := t.Float64s()
	if err != nil || len(values) != n {
		panic(resumeError("%s: tensor %s has %d numbers, but the configuration needs %d", c.Name, name,
			len(values), n))
	}
	return values
}

func resumeError(format string, args ...any) *torchpe.Error {
	return &torchpe.Error{Op: "resume", Msg: fmt.Sprintf(format, args...)}
}

// provenance is the part of an Environment on which exact results may depend. The name tags are
// used in messages.
type provenance struct {
	Torchpe    string `json:"torchpe" name:"torchpe"`
	Libtorch   string `json:"libtorch" name:"libtorch"`
	BLAS       string `json:"blas" name:"BLAS"`
	BLASKernel string `json:"blas_kernel" name:"BLAS kernel"`
	Device     string `json:"device" name:"device"`
	GPU        string `json:"gpu" name:"GPU"`
	Precision  string `json:"precision" name:"precision"`
	Arch       string `json:"arch" name:"processor"`
}

func provenanceOf(e runlog.Environment) provenance {
	return provenance{Torchpe: e.Torchpe, Libtorch: e.LibtorchRunning, BLAS: e.BLAS, BLASKernel: e.BLASKernel,
		Device: e.Device, GPU: e.GPU, Precision: e.Precision, Arch: e.Arch}
}

// start fills the claimed directory of a new run, with Start or StartHidden of runlog.
func (t *trainer) start(begin func([]byte, runlog.Environment) error) error {
	text, err := t.config.JSON()
	if err != nil {
		return err
	}
	return begin(text, t.environment)
}

// metadata returns the metadata of a checkpoint: the configuration, data, program and machine, and
// the training time.
func (t *trainer) metadata() (map[string]string, error) {
	c, err := json.Marshal(t.config)
	if err != nil {
		return nil, err
	}
	made, err := json.Marshal(provenanceOf(t.environment))
	return map[string]string{
		runlog.ConfigKey: string(c), runlog.EnvironmentKey: string(made),
		runlog.DataKey: t.task.fingerprint(), runlog.OptimizerKey: t.config.Optimizer,
		runlog.SecondsKey: strconv.FormatFloat(t.state.seconds, 'g', -1, 64),
	}, err
}

// checkResumed compares the settings and the machine of a checkpoint with the current ones, and
// lists changes in the environment. A change of a setting that is not allowed to change is an
// error. Checkpoints of earlier versions have neither. records are those up to the checkpoint.
func (t *trainer) checkResumed(c *runlog.Checkpoint, records []runlog.Record) error {
	was, changed, err := changedSettings(c, t.config, t.allowChanged)
	if err == nil {
		err = t.checkEnd(c.Step, records, was.Until)
	}
	if err != nil {
		return err
	}
	moved, err := changedMachine(c, provenanceOf(t.environment))
	if err != nil {
		return err
	}
	if moved != nil {
		t.observer.Noticed(fmt.Sprintf("continues from step %d with another machine or program, so "+
			"results are not identical bit for bit: %s",
			c.Step, strings.Join(moved, "; ")))
	}
	t.environment.Changed = slices.Concat(changed, moved)
	return nil
}

// checkEnd returns an error if training would have ended before the step of the checkpoint: the run would end with
// the numbers of an earlier step. This happens if the length is shorter now, or if the criterion changes and a
// record has met the old or the new one.
func (t *trainer) checkEnd(step int, records []runlog.Record, until string) error {
	isRecorded := slices.ContainsFunc(records, func(r runlog.Record) bool { return r.Step == step })
	if total := t.intervals().total; total < step || total == step && !isRecorded {
		missing := ""
		if total == step {
			missing = ", which metrics.jsonl lacks"
		}
		return &ConfigError{fmt.Errorf("it is at step %d, and would end at step %d%s: give a greater length, or start "+
			"a new run", step, total, missing)}
	}
	for _, text := range []string{until, t.config.Until} {
		if until == t.config.Until || text == "" {
			continue
		}
		criterion, err := runlog.ParseCriterion(text)
		if err != nil {
			return err
		}
		for m, fit := range runlog.FitsOf(criterion, t.members(), records) {
			if fit.Reached {
				return &ConfigError{fmt.Errorf("--until cannot change any more: member %d has met %s at step %d, and "+
					"the run is at step %d: start a new run", m, text, fit.Step, step)}
			}
		}
	}
	return nil
}

// recordResume records that a run continues from its checkpoint: the environment, and the
// configuration if it has changed.
func (t *trainer) recordResume() error {
	if err := t.run.AddEnvironment(t.environment); err != nil {
		return err
	}
	return t.updateConfig()
}

// updateConfig writes the configuration if it differs from the stored one: in settings that were
// allowed to change, in paths of files, or in the version of the run directory. Earlier versions of
// the program then refuse the run, because they would miss the numbers of new records.
func (t *trainer) updateConfig() error {
	was := t.run.Config()
	stored, err := ParseConfig(was.JSON)
	if err != nil {
		return err
	}
	switch all, err := config.Differences(stored.Config, t.config.Config); {
	case err != nil:
		return err
	case all == nil && was.Schema == runlog.SchemaVersion:
		return nil
	case all == nil:
		return t.run.SetConfig(was.JSON)
	}
	text, err := t.config.JSON()
	if err != nil {
		return err
	}
	return t.run.SetConfig(text)
}

// changedSettings returns the configuration of a checkpoint, and describes the allowed differences between it and
// the run's current one. Other differences are an error, except paths of files, whose content is compared
// separately. A checkpoint of an earlier version has no configuration: it returns now.
func changedSettings(c *runlog.Checkpoint, now Config, allow []string) (was Config, allowed []string, err error) {
	text, ok := c.Metadata[runlog.ConfigKey]
	if !ok {
		return now, nil, nil
	}
	if was, err = parseStored([]byte(text)); err != nil {
		return was, nil, fmt.Errorf("%s: the configuration in its metadata: %w", c.Name, err)
	}
	all, err := config.Differences(was.Config, now.Config)
	if err != nil {
		return was, nil, err
	}
	var refused, keys []string
	for _, d := range all {
		switch {
		case slices.Contains(config.PathKeys(), d.Key):
		case slices.Contains(allow, d.Key):
			allowed = append(allowed, fmt.Sprintf("%s after step %d", d, c.Step))
		default:
			refused, keys = append(refused, d.String()), append(keys, "--allow-changed "+d.Key)
		}
	}
	if refused != nil {
		return was, nil, fmt.Errorf("the settings of this run are not those of its first %d steps (%s):\n  "+
			"%s\nrestore them in config.json, or continue with these, which is recorded, with %s", c.Step, c.Name,
			strings.Join(refused, "\n  "), strings.Join(keys, " "))
	}
	return was, allowed, nil
}

// changedMachine describes how the program and the machine differ from those of a checkpoint.
func changedMachine(c *runlog.Checkpoint, now provenance) ([]string, error) {
	text, ok := c.Metadata[runlog.EnvironmentKey]
	if !ok {
		return nil, nil
	}
	var was provenance
	if err := json.Unmarshal([]byte(text), &was); err != nil {
		return nil, fmt.Errorf("%s: the environment in its metadata: %w", c.Name, err)
	}
	var changed []string
	before, after := reflect.ValueOf(was), reflect.ValueOf(now)
	for i := range before.NumField() {
		if a, b := before.Field(i).String(), after.Field(i).String(); a != b {
			name := before.Type().Field(i).Tag.Get("name")
			changed = append(changed, fmt.Sprintf("%s was %q and is %q", name, a, b))
		}
	}
	return changed, nil
}
