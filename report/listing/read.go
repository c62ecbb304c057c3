package listing

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// The states of a model. Those of a finished run are in runlog.
const (
	statusRunning = "running" // a process writes to its run, or may still on another host
	statusStopped = "stopped" // it is unfinished, and no process continues it
)

// Row is one model.
type Row struct {
	Dir    string // of its run
	root   string // the directory in which its run was found, as given
	values map[string]table.Cell
	model  cohort.Model // the first of an averaged row; of an unfinished run, its result has only the last record
	// settings are those of the run, by key; rows of one run share them.
	settings map[string]string
	identity map[string]string // cohort.Model.Identity
	measures runlog.Numbers
	models   []Row // behind an averaged row
}

// List is a table of models.
type List struct {
	Rows    []Row
	Skipped []cohort.Skipped // runs and folders that could not be read
	note    string           // below the table
	columns []column
	keys    map[string]column // of all possible columns, by name
}

// Read lists the models of the runs in directories and the folders below them. A run found twice is listed
// once.
func Read(roots ...string) (*List, error) {
	l := &List{}
	var places []rootedPlace
	seen := map[string]bool{}
	for _, root := range roots {
		found, skipped, err := cohort.Places(root)
		if err != nil {
			return nil, err
		}
		l.Skipped = append(l.Skipped, skipped...)
		for _, p := range found {
			whole, err := filepath.Abs(p.Dir)
			if err != nil {
				return nil, err
			}
			if seen[whole] {
				continue
			}
			seen[whole] = true
			if trimmed := strings.TrimSuffix(filepath.ToSlash(root), "/"); len(roots) > 1 &&
				filepath.Base(trimmed) != p.Name {
				p.Name = trimmed + "/" + p.Name
			} else if len(roots) > 1 {
				p.Name = trimmed
			}
			places = append(places, rootedPlace{p, root})
		}
	}
	l.read(places)
	l.keys = allColumns(l.Rows)
	return l, nil
}

// rootedPlace is the place of a run, and the directory in which it was found.
type rootedPlace struct {
	cohort.Place
	root string
}

// read reads the runs in parallel, one per processor, and keeps their order.
func (l *List) read(places []rootedPlace) {
	rows := make([][]Row, len(places))
	failed := make([]error, len(places))
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range places {
		workers.Go(func() error {
			rows[i], failed[i] = readRun(p)
			return nil
		})
	}
	_ = workers.Wait() // errors are by run
	for i, err := range failed {
		if err != nil {
			l.Skipped = append(l.Skipped, cohort.Skipped{Dir: places[i].Dir, Reason: err.Error()})
		}
		l.Rows = append(l.Rows, rows[i]...)
	}
}

// hashDigits is the number of digits that distinguish the hashes of files.
const hashDigits = 12

// readRun returns the rows of a run.
func readRun(p rootedPlace) ([]Row, error) {
	run, finished, err := cohort.OpenAny(p.Dir)
	if err != nil {
		return nil, err
	}
	if len(run.Config.Members) == 0 {
		return nil, fmt.Errorf("%s: config.json has no members", p.Dir)
	}
	settings, err := run.Config.Settings()
	if err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", p.Dir, err)
	}
	settings[cohort.PrecisionKey] = run.Precision()
	rows := make([]Row, len(run.Config.Members))
	for i, m := range run.Config.Members {
		v := map[string]table.Cell{}
		for key, s := range settings {
			if s != "0" || key != "epochs" && key != "steps" { // training is counted in one of them
				v[columnName(key)] = table.Parse(s)
			}
			if strings.HasSuffix(key, ".sha256") { // may look like a number
				v[columnName(key)] = table.Text(s[:min(hashDigits, len(s))])
			}
		}
		for _, s := range config.Settings() {
			if _, has := settings[s.Key]; !has && s.Flag != "" { // config.json omits some values
				v[columnName(s.Key)] = table.Parse(s.TextIn(&run.Config.Config))
			}
		}
		v["run"], v["dir"], v["member"] = table.Text(p.Name), table.Text(p.Dir), table.Count(i)
		v["task"], v["pe"], v["label"] = table.Text(run.Config.Task), table.Text(run.Config.PE), table.Text(
			cohort.Label(run.Config.PE, m.Sigma))
		v["seed"] = seedValue(m.Seed)
		for _, s := range memberSettings {
			if own := s.Own(m); own != nil {
				v[s.MemberKey()] = table.Number(*own)
			}
		}
		if m.Sigma != nil {
			v["sigma"] = table.Number(*m.Sigma)
		}
		model := cohort.Model{Run: run, Index: i, Member: m}
		identity, err := model.Identity()
		if err != nil {
			return nil, err
		}
		if run.Origin != "" {
			v[cohort.WeightsKey] = table.Text(run.Origin)
		}
		if run.DataSHA256 != "" {
			v[cohort.DataKey] = table.Text(run.DataSHA256[:min(hashDigits, len(run.DataSHA256))])
		}
		rows[i] = Row{Dir: p.Dir, root: p.root, values: v, settings: settings, identity: identity, model: model}
	}
	if !finished {
		return rows, addUnfinished(p.Dir, rows)
	}
	for i, m := range run.Result.Members {
		v := rows[i].values
		v["status"], v["steps"], v["epochs"] = table.Text(m.Status), table.Count(m.Steps), table.Count(m.Epochs)
		v["seconds"] = table.Number(run.Result.WallSeconds / run.TrainedTogether())
		v["steps_per_second"] = table.Number(run.Result.StepsPerSecond * run.TrainedTogether())
		if m.DivergedAtStep > 0 {
			v["diverged_at"] = table.Count(m.DivergedAtStep)
		}
		rows[i].model.Result = m
		rows[i].addFit()
		if run.Origin != "" {
			v[cohort.WeightsKey] = table.Text(rows[i].model.Weights())
		}
		rows[i].addMeasures(m.Measures)
	}
	return rows, nil
}

// notFitted is the value for a model that has not met its task's criterion.
const notFitted = "no"

// addFit adds when a model fitted: "32", an epoch, or a step for a task whose length is a number of steps; "yes" or
// "no".
func (r Row) addFit() {
	of := r.model.Result
	if text := r.model.Run.Config.Facts().FitText(of.Fit, of.Measures); text != "" {
		r.values["fitted"] = table.Text(text[strings.LastIndex(text, " ")+1:])
	}
}

// addUnfinished adds what is known about a run without a result: its state, and the numbers of its last
// records.
func addUnfinished(dir string, rows []Row) error {
	r, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	records, err := runlog.LastRecords(r, len(rows))
	if err != nil {
		return err
	}
	status := table.Text(statusStopped)
	h, running := r.Writer()
	if running {
		status = table.Text(statusRunning)
	}
	for _, row := range rows {
		row.values["status"], row.values["steps"] = status, table.Count(r.CheckpointStep())
		if running {
			row.values["process"] = table.Text(fmt.Sprintf("%d on %s", h.PID, h.Host))
		}
	}
	for _, rec := range records {
		if rec.Member < 0 || rec.Member >= len(rows) {
			return fmt.Errorf("%s: metrics.jsonl has a record of member %d: config.json has %d",
				dir, rec.Member, len(rows))
		}
		maps.Copy(rows[rec.Member].values, recordValues(rec, rows[0].model.Run.TrainedTogether()))
		rows[rec.Member].model.Result.Fit, rows[rec.Member].model.Result.Measures = rec.Fit, rec.Measures
		rows[rec.Member].addFit()
		rows[rec.Member].addMeasures(rec.Measures)
	}
	return nil
}

// recordValues returns the values of a record, and a model's share of the time of those that are trained together.
func recordValues(rec runlog.Record, together float64) map[string]table.Cell {
	v := map[string]table.Cell{"steps": table.Count(rec.Step), "epochs": table.Count(rec.Epoch)}
	if rec.WallSeconds > 0 {
		v["seconds"] = table.Number(rec.WallSeconds / together)
	}
	if rec.StepMS > 0 {
		v["steps_per_second"] = table.Number(1000 / rec.StepMS * together)
	}
	return v
}

func (r *Row) addMeasures(measures runlog.Numbers) {
	r.measures = measures
	for key, x := range measures {
		r.values[item.MeasureName(key)] = table.Number(x)
	}
}

// seedValue returns a seed with every digit: seeds beyond the integers of tables are text.
func seedValue(s uint64) table.Cell {
	if s > math.MaxInt64 {
		return table.Text(fmt.Sprint(s))
	}
	return table.Count(int(s))
}
