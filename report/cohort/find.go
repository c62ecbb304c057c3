package cohort

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// Run is a finished run.
type Run struct {
	Dir    string
	Name   string // its directory relative to the searched folder, with slashes
	Config Config
	Result runlog.Result

	DataSHA256 string // of the data; "" if no checkpoint is left that has it
	// Origin says where the weights come from, unless they come from one training with Config: "imported", or
	// the settings that were changed during training, and when.
	Origin     string
	precisions []string // of the machines that trained it, in turn
}

// Skipped is a run directory that cannot be used, and the reason.
type Skipped struct {
	Dir    string
	Reason string
}

// Place locates a run.
type Place struct {
	Dir  string
	Name string // relative to the searched folder, with slashes; the folder's own name if it is the run
}

// Find returns the finished runs in root and the folders below it, ordered by name; root may be a run itself.
// Runs that are unfinished or unreadable are returned as skipped. It follows no symbolic link except root. It
// ignores the runs that a sweep is training, which join the sweep's runs when they are finished.
func Find(root string) (found []*Run, skipped []Skipped, err error) {
	places, skipped, err := Places(root)
	for _, p := range places {
		run, err := Open(p.Dir)
		if err != nil {
			skipped = append(skipped, Skipped{p.Dir, err.Error()})
			continue
		}
		run.Name = p.Name
		found = append(found, run)
	}
	return found, skipped, err
}

// Places returns the places of runs that Find reads: finished or not, of any version. Unreadable folders, and
// links to runs or folders of runs elsewhere, are returned as skipped.
func Places(root string) (places []Place, skipped []Skipped, err error) {
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, nil, err
	}
	var links []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			skipped = append(skipped, Skipped{path, err.Error()})
			return fs.SkipDir
		}
		if entry.IsDir() && entry.Name() == "tasks" && isFile(filepath.Join(filepath.Dir(path), "sweep.json")) {
			return fs.SkipDir
		}
		if entry.Type() == fs.ModeSymlink {
			links = append(links, path)
		}
		if !entry.IsDir() {
			return nil
		}
		if is, err := looksLikeRun(path); err != nil {
			skipped = append(skipped, Skipped{path, err.Error()})
			return nil
		} else if !is {
			return nil
		}
		p := Place{path, filepath.Base(filepath.Clean(path))}
		if name, err := filepath.Rel(root, path); err == nil && name != "." {
			p.Name = filepath.ToSlash(name)
		}
		places = append(places, p)
		return fs.SkipDir
	})
	for _, link := range links {
		target, err := filepath.EvalSymlinks(link)
		if err == nil && !isWithin(target, root) && hasRuns(target) {
			skipped = append(skipped, Skipped{link, fmt.Sprintf("%s is a link to runs, and links are not followed: "+
				"give %s itself", link, target)})
		}
	}
	return places, skipped, err
}

// isWithin reports whether a path is a folder or below it. One of them may be absolute and the other not.
func isWithin(path, folder string) bool {
	path, err := filepath.Abs(path)
	root, rootErr := filepath.Abs(folder)
	below, relErr := filepath.Rel(root, path)
	return errors.Join(err, rootErr, relErr) == nil && filepath.IsLocal(below)
}

// hasRuns reports whether a folder is a run, or has runs in it or up to three folders down, as a folder of sweeps has.
func hasRuns(dir string) bool {
	for _, below := range []string{"", "*", "*/*", "*/*/*"} {
		files, _ := filepath.Glob(filepath.Join(dir, below, "config.json")) // no error: the pattern is valid
		for _, file := range files {
			if is, err := looksLikeRun(filepath.Dir(file)); is && err == nil {
				return true
			}
		}
	}
	return false
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// looksLikeRun reports whether a directory has a config.json with a schema version. It returns an error if that
// cannot be determined.
func looksLikeRun(dir string) (bool, error) {
	path := filepath.Join(dir, "config.json")
	if !isFile(path) {
		return false, nil
	}
	text, err := atomicfile.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, runlog.Cause(err))
	}
	var head struct {
		Schema json.RawMessage `json:"schema"`
	}
	return json.Unmarshal(text, &head) == nil && head.Schema != nil, nil
}

// Open reads the finished run in dir. The error for an unfinished run says how far it got and which command
// continues it.
func Open(dir string) (*Run, error) {
	run, finished, err := OpenAny(dir)
	if err == nil && !finished {
		err = run.unfinished()
	}
	if err != nil {
		return nil, err
	}
	return run, nil
}

// unfinished returns the error for a run without a result.
func (r *Run) unfinished() error {
	reader, err := runlog.Open(r.Dir)
	if err != nil {
		return err
	}
	defer reader.Close()
	records, err := runlog.LastRecords(reader, len(r.Config.Members))
	if err != nil {
		return err
	}
	done, length := 0, Length{n: r.Config.Steps, unit: "step"}
	if r.Config.HasPuzzles() {
		length = Length{n: r.Config.Epochs, unit: "epoch"}
	}
	for _, rec := range records {
		done = max(done, map[string]int{"step": rec.Step, "epoch": rec.Epoch}[length.unit])
	}
	if _, running := reader.Writer(); running {
		return fmt.Errorf("%s: is being trained: %d of %s", r.Dir, done, length)
	}
	after := fmt.Sprintf("%d of %s", done, length)
	if step := reader.CheckpointStep(); done == 0 && step > 0 {
		after = fmt.Sprintf("%s, before its first record", wording.Count(step, "step"))
	}
	return fmt.Errorf("%s: stopped after %s; torchpe train --resume --out %s", r.Dir, after, wording.Quote(r.Dir))
}

// OpenAny reads the run in dir, which may have no result.
func OpenAny(dir string) (run *Run, finished bool, err error) {
	r, err := runlog.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	run = &Run{Dir: dir, Name: filepath.Base(filepath.Clean(dir))}
	if err := json.Unmarshal(r.Config().JSON, &run.Config); err != nil {
		return nil, false, fmt.Errorf("%s: config.json: %w", dir, err)
	}
	run.Config.JSON = slices.Clone(r.Config().JSON)
	if err := run.readOrigin(r); err != nil {
		return nil, false, err
	}
	if run.Result, err = r.Result(); errors.Is(err, runlog.ErrNoResult) {
		return run, false, nil
	} else if err != nil {
		return nil, false, err
	}
	if len(run.Result.Members) != len(run.Config.Members) {
		return nil, false, fmt.Errorf("%s: result.json has %s and config.json %d", dir,
			wording.Count(len(run.Result.Members), "member"), len(run.Config.Members))
	}
	return run, true, nil
}

// Records returns the records of training, of all members.
func (r *Run) Records() ([]runlog.Record, error) {
	return readPart(r, runlog.ReadMetrics[runlog.Record])
}

// readPart reads a part of a run's directory.
func readPart[Part any](r *Run, read func(*runlog.Reader) (Part, error)) (part Part, err error) {
	reader, err := runlog.Open(r.Dir)
	if err != nil {
		return part, err
	}
	defer reader.Close()
	return read(reader)
}

// Probes reads the intermediates of the models. The error matches fs.ErrNotExist if none were kept.
func (r *Run) Probes() (*Probes, error) {
	file, err := readPart(r, (*runlog.Reader).LoadProbes)
	if err != nil {
		return nil, err
	}
	return &Probes{tensors{file, len(r.Config.Members), r.Dir, "probes.safetensors"}}, nil
}

// checkWhole returns an error if the records or probes of a run are damaged.
func (r *Run) checkWhole() error {
	reader, err := runlog.Open(r.Dir)
	if err != nil {
		return err
	}
	defer reader.Close()
	if _, err := runlog.ReadMetrics[struct{}](reader); err != nil {
		return err
	}
	if _, err := reader.LoadProbes(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ErrNoTable is the error for an encoding without a table of learned or fixed positions.
var ErrNoTable = errors.New("has no table of positions")
