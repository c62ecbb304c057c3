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
	Name   string // its directory, relative to where it was looked for, with slashes
	Config Config
	Result runlog.Result

	DataSHA256 string // of the data, "" where no checkpoint is left to say it
	// Origin says where the weights come from, where it is not from one training with Config:
	// "imported", or the settings that were changed on the way and when.
	Origin     string
	precisions []string // of the machines that trained it, in turn
}

// Skipped is a run directory that cannot be used, and why.
type Skipped struct {
	Dir    string
	Reason string
}

// Place locates a run.
type Place struct {
	Dir  string
	Name string // relative to where it was looked for, with slashes; its directory's name where that is a run itself
}

// Find returns the finished runs in root and the folders below it, in the order of their names;
// root may be a run itself. Runs that are not finished, or cannot be read, are returned as skipped.
// It follows no symbolic link but root. It passes over the runs that a sweep is working on, which join the
// sweep's runs when they are finished.
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

// Places returns where Find looks: runs, finished or not, of any version. Folders that cannot be
// read, and links to runs elsewhere, are returned as skipped.
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
		isFound := slices.ContainsFunc(places, func(p Place) bool { return p.Dir == target })
		if is, _ := looksLikeRun(target); err == nil && is && !isFound {
			skipped = append(skipped,
				Skipped{link, link + " is a link to a run, and links are not followed: name it itself"})
		}
	}
	return places, skipped, err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// looksLikeRun says whether a directory has a config.json with a schema version. The error says why
// that cannot be known.
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

// Open reads the finished run in dir. The error of one that is not finished says how far it has come, and
// which command goes on with it.
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

// unfinished returns the error of a run without a result.
func (r *Run) unfinished() error {
	reader, err := runlog.Open(r.Dir)
	if err != nil {
		return err
	}
	defer reader.Close()
	records, err := runlog.LastRecords(reader)
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
	return fmt.Errorf("%s: stopped after %d of %s; torchpe train --resume --out %s", r.Dir, done, length,
		wording.Quote(r.Dir))
}

// OpenAny reads the run in dir, which may lack its result.
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

// Probes reads what the models do inside. The error matches fs.ErrNotExist where nothing was kept.
func (r *Run) Probes() (*Probes, error) {
	file, err := readPart(r, (*runlog.Reader).LoadProbes)
	if err != nil {
		return nil, err
	}
	return &Probes{tensors{file, len(r.Config.Members), r.Dir, "probes.safetensors"}}, nil
}

// checkWhole returns an error where the records or the probes of a run are damaged.
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

// ErrNoTable says that an encoding has no table of learned or fixed positions.
var ErrNoTable = errors.New("has no table of positions")
