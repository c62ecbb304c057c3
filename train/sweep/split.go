package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"torchpe/data/array/safetensors"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Complete splits the finished ensemble of the task into one run directory per member, marks the
// task as done, and releases it. If the worker dies meanwhile, the task is not done and the next
// worker continues from there.
func (c *Claim) Complete() error {
	e, err := c.readEnsemble()
	if err != nil {
		return err
	}
	if err := c.MakeDir(runsDir); err != nil {
		return err
	}
	if err := c.remove(taskFile(c.Index, splitDir)); err != nil { // of a worker that died
		return err
	}
	for m, name := range c.Plan.Tasks[c.Index].Runs {
		if err := c.split(e, m, name); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	if err := c.root.SyncDir(runsDir); err != nil {
		return c.fileError("sync", runsDir, err)
	}
	steps := 0
	for _, r := range e.result.Members {
		steps = max(steps, r.Steps)
	}
	if err := c.commit(Done{Seconds: e.result.WallSeconds, Steps: steps,
		Results: e.result.Members}); err != nil {
		return err
	}
	c.cleanUp()
	return c.Release()
}

// cleanUp removes what a done task does not need. Errors are ignored.
func (c *Claim) cleanUp() {
	for _, name := range []string{splitDir, ensembleDir} {
		_ = c.remove(taskFile(c.Index, name))
	}
}

// ensemble is a finished run directory with all its members.
type ensemble struct {
	runs         []run
	environments []runlog.Environment
	records      []runlog.Record
	checkpoint   *runlog.Checkpoint
	probes       *safetensors.File // nil if there are none
	result       runlog.Result
}

func (c *Claim) readEnsemble() (*ensemble, error) {
	r, err := runlog.Open(c.EnsembleDir(c.Index))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	e := &ensemble{}
	if e.result, err = r.Result(); err != nil {
		return nil, err
	}
	if e.runs, err = runsOf(r.Config().JSON); err != nil {
		return nil, err
	}
	want, err := c.Plan.runs(c.Index)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(e.runs, want, run.equal) {
		return nil, fmt.Errorf("%s: %w", r.Dir(), errOtherRuns)
	}
	if n := len(c.Plan.Tasks[c.Index].Runs); len(e.result.Members) != n {
		return nil, fmt.Errorf("%s: %d results for %d members", r.Dir(), len(e.result.Members), n)
	}
	if e.environments, err = r.Environments(); err != nil {
		return nil, err
	}
	if e.records, err = runlog.ReadMetrics[runlog.Record](r); err != nil {
		return nil, err
	}
	if e.checkpoint, err = r.LoadCheckpoint(); err != nil {
		return nil, err
	}
	if w := e.checkpoint.Warning; w != "" { // the runs would hold older weights than their numbers belong to
		return nil, fmt.Errorf("%s; remove result.json in %s to train again from there", w, r.Dir())
	}
	if e.probes, err = r.LoadProbes(); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return e, err
}

// errOtherRuns says that an existing run directory has another configuration than the plan.
var errOtherRuns = errors.New("has another configuration than the plan")

// split creates runs/NAME for member m, unless it exists.
func (c *Claim) split(e *ensemble, m int, name string) error {
	if err := runlog.ValidateName(name); err != nil {
		return err
	}
	final := filepath.Join(runsDir, name)
	if c.exists(final) {
		return c.checkFinished(name, e.runs[m])
	}
	temp := filepath.Join(taskDir(c.Index), splitDir, name)
	if err := c.MakeDir(filepath.Dir(temp)); err != nil {
		return err
	}
	if err := e.write(filepath.Join(c.Dir, temp), m, e.runs[m].config()); err != nil {
		return err
	}
	// with all resumptions
	text, err := c.root.ReadFile(taskFile(c.Index, filepath.Join(ensembleDir, "environment.json")))
	if err == nil {
		err = c.Write(filepath.Join(temp, "environment.json"), text, true)
	}
	if err != nil {
		return err
	}
	if err := c.root.Rename(temp, final); err != nil {
		return c.fileError("make", final, err)
	}
	return nil
}

// checkFinished checks that an existing run directory is the finished run that would be written.
func (c *Claim) checkFinished(name string, want run) error {
	r, err := runlog.Open(c.RunDir(name))
	if err == nil {
		defer r.Close()
		_, err = r.Result()
	}
	var there []run
	if err == nil {
		there, err = runsOf(r.Config().JSON)
	}
	if err == nil && (len(there) != 1 || !there[0].equal(want)) {
		err = errOtherRuns
	}
	if err != nil {
		return fmt.Errorf("in the way of the run: %w; remove %s, and the run is written again", err, c.RunDir(name))
	}
	return nil
}

// memberMetadata converts the metadata of an ensemble's checkpoint to those of a member's run, with
// the member's own configuration.
func memberMetadata(of map[string]string, config []byte) (map[string]string, error) {
	own := maps.Clone(of)
	if _, has := own[runlog.ConfigKey]; !has {
		return own, nil
	}
	var text bytes.Buffer
	err := json.Compact(&text, config)
	own[runlog.ConfigKey] = text.String()
	return own, err
}

func (e *ensemble) write(dir string, m int, config []byte) (err error) {
	all := len(e.result.Members)
	run, err := runlog.Create(dir, config, e.environments[0], runlog.Options{Force: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	own := e.result.Members[m]
	var records []runlog.Record
	for _, r := range e.records {
		// Trained alone, a diverged member would have no further steps.
		if r.Member == m && (own.DivergedAtStep == 0 || r.Step <= own.DivergedAtStep) {
			r.Member = 0
			records = append(records, r)
		}
	}
	if err := run.Append(records...); err != nil {
		return err
	}
	if err := openBoard(run, config); err != nil {
		return err
	}
	tensors, err := runlog.MemberParts(e.checkpoint.Tensors, m, all)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	metadata, err := memberMetadata(e.checkpoint.Metadata, config)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := run.SaveCheckpoint(e.checkpoint.Step, tensors, metadata); err != nil {
		return err
	}
	if e.probes != nil {
		tensors, err := runlog.MemberParts(e.probes.Tensors, m, all)
		if err != nil {
			return fmt.Errorf("probes: %w", err)
		}
		if err := run.SaveProbes(tensors, e.probes.Metadata); err != nil {
			return err
		}
	}
	result := e.result
	result.Members = []runlog.MemberResult{own}
	if all > 1 {
		result.TrainedTogether = all
	}
	return run.SaveResult(result)
}

// openBoard creates the event files for TensorBoard of a run with one member, unless its
// configuration turns them off.
func openBoard(run *runlog.Run, text []byte) error {
	var c config.Config
	c.TensorBoard = true // if the text lacks it
	if err := json.Unmarshal(text, &c); err != nil || len(c.Members) != 1 {
		return errors.Join(err, fmt.Errorf("configuration of %d members: want one", len(c.Members)))
	}
	if !c.TensorBoard {
		return nil
	}
	_, err := run.OpenBoard([]string{runlog.CurveName(c.PE, c.Members[0].Sigma, c.Members[0].Seed)})
	return err
}
