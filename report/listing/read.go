package listing

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// The states of a model. Those of a finished run are runlog's.
const (
	StatusRunning = "running" // a process writes to its run, or did on another host and may still
	StatusStopped = "stopped" // it is not finished, and nobody goes on with it
)

// Row is one model.
type Row struct {
	Dir    string // of its run
	values map[string]Value
	// settings are those of the run, by key; rows of one run share them.
	settings map[string]string
}

// Value is what a row has in the column of that name.
func (r Row) Value(name string) Value { return r.values[name] }

// List is a table of models.
type List struct {
	Rows    []Row
	Skipped []runs.Skipped // runs and folders that could not be read
	columns []Column
	keys    map[string]Column // of all columns that there may be, by name
}

// Read lists the models of the runs in directories and the folders below them. A run that is in two of them is listed once.
func Read(roots ...string) (*List, error) {
	l := &List{}
	var places []runs.Place
	seen := map[string]bool{}
	for _, root := range roots {
		found, skipped, err := runs.Places(root)
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
			if trimmed := strings.TrimSuffix(filepath.ToSlash(root), "/"); len(roots) > 1 && filepath.Base(trimmed) != p.Name {
				p.Name = trimmed + "/" + p.Name
			} else if len(roots) > 1 {
				p.Name = trimmed
			}
			places = append(places, p)
		}
	}
	l.read(places)
	l.keys = allColumns(l.Rows)
	return l, nil
}

// read reads the runs, as many at a time as there are processors, and keeps their order.
func (l *List) read(places []runs.Place) {
	rows := make([][]Row, len(places))
	failed := make([]error, len(places))
	var next sync.Mutex
	at := 0
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(places) {
					return
				}
				rows[i], failed[i] = readRun(places[i])
			}
		})
	}
	workers.Wait()
	for i, err := range failed {
		if err != nil {
			l.Skipped = append(l.Skipped, runs.Skipped{Dir: places[i].Dir, Reason: err.Error()})
		}
		l.Rows = append(l.Rows, rows[i]...)
	}
}

// readRun returns the rows of a run.
func readRun(p runs.Place) ([]Row, error) {
	run, finished, err := runs.OpenAny(p.Dir)
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
	rows := make([]Row, len(run.Config.Members))
	for i, m := range run.Config.Members {
		v := map[string]Value{}
		for key, s := range settings {
			v[columnName(key)] = parse(s)
		}
		v["run"], v["dir"], v["member"] = Text(p.Name), Text(p.Dir), Integer(int64(i))
		v["task"], v["pe"], v["label"] = Text(run.Config.Task), Text(run.Config.PE), Text(runs.Label(run.Config.PE, m.Sigma))
		v["seed"], v["lr"], v["weight_decay"] = seed(m.Seed), Number(m.LR), Number(m.WeightDecay)
		for name, own := range map[string]*float64{"pe_lr": m.PELR, "pe_weight_decay": m.PEWeightDecay} {
			if own != nil {
				v[name] = Number(*own)
			}
		}
		if m.Sigma != nil {
			v["sigma"] = Number(*m.Sigma)
		}
		rows[i] = Row{Dir: p.Dir, values: v, settings: settings}
	}
	if !finished {
		return rows, unfinished(p.Dir, rows)
	}
	for i, m := range run.Result.Members {
		v := rows[i].values
		v["status"], v["steps"], v["epochs"] = Text(m.Status), Integer(int64(m.Steps)), Integer(int64(m.Epochs))
		v["seconds"], v["steps_per_second"] = Number(run.Result.WallSeconds), Number(run.Result.StepsPerSecond)
		if m.DivergedAtStep > 0 {
			v["diverged_at"] = Integer(int64(m.DivergedAtStep))
		}
		accuracies(v, m.ValidationAccuracy, m.IIDAccuracy, m.TrainAccuracy)
		for condition, a := range m.ValidationByCondition {
			v["validation_"+normal(condition)] = Number(a)
		}
		byTokens(v, m.AccuracyByTokens)
		for tokens, conditions := range m.AccuracyByTokensAndCondition {
			for condition, a := range conditions {
				v["tokens_"+normal(tokens)+"_"+normal(condition)] = Number(a)
			}
		}
		masked(v, m.MaskedMeasures)
	}
	return rows, nil
}

// unfinished fills in what is known of a run without a result: its state, and the numbers of its last records.
func unfinished(dir string, rows []Row) error {
	r, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	records, err := runlog.LastRecords(r)
	if err != nil {
		return err
	}
	status := Text(StatusStopped)
	h, running := r.Writer()
	if running {
		status = Text(StatusRunning)
	}
	for _, row := range rows {
		row.values["status"], row.values["steps"] = status, Integer(0)
		if running {
			row.values["process"] = Text(fmt.Sprintf("%d on %s", h.PID, h.Host))
		}
	}
	for _, rec := range records {
		if rec.Member < 0 || rec.Member >= len(rows) {
			return fmt.Errorf("%s: metrics.jsonl has a record of member %d: config.json has %d", dir, rec.Member, len(rows))
		}
		v := rows[rec.Member].values
		v["steps"], v["epochs"], v["seconds"] = Integer(int64(rec.Step)), Integer(int64(rec.Epoch)), Number(rec.WallSeconds)
		accuracies(v, rec.ValidationAccuracy, rec.IIDAccuracy, rec.TrainAccuracy)
		for condition, a := range rec.ValidationByCondition {
			v["validation_"+normal(condition)] = Number(a)
		}
		byTokens(v, rec.AccuracyByTokens)
		masked(v, rec.MaskedMeasures)
		if rec.StepMS > 0 {
			v["steps_per_second"] = Number(1000 / rec.StepMS)
		}
	}
	return nil
}

func accuracies(v map[string]Value, validation, iid, train float64) {
	v["validation"], v["iid"], v["train"] = Number(validation), Number(iid), Number(train)
}

// byTokens adds the accuracies on puzzles of other sizes: tokens_25 for 25 tokens.
func byTokens(v map[string]Value, all map[string]float64) {
	for tokens, a := range all {
		v["tokens_"+normal(tokens)] = Number(a)
	}
}

func masked(v map[string]Value, m *runlog.MaskedMeasures) {
	if m == nil {
		return
	}
	for level, mse := range m.TestMSEByMask {
		v["test_mse_"+normal(strings.TrimPrefix(level, "0."))] = Number(mse)
	}
	for name, x := range map[string]*float64{"train_mse": m.TrainMSE, "modularity": m.Modularity, "clustering": m.Clustering} {
		if x != nil {
			v[name] = Number(*x)
		}
	}
}

// seed is a seed with every digit: those beyond the integers of tables are text.
func seed(s uint64) Value {
	if s > math.MaxInt64 {
		return Text(fmt.Sprint(s))
	}
	return Integer(int64(s))
}

// Runs returns the directories of the runs of which all models are in the list, and of those of which some are, where all is the
// list that it was chosen from.
func (l *List) Runs(all *List) (whole, part []string) {
	count := func(l *List) (n map[string]int) {
		n = map[string]int{}
		for _, r := range l.Rows {
			n[r.Dir]++
		}
		return n
	}
	chosen, every := count(l), count(all)
	for _, dir := range slices.Sorted(maps.Keys(chosen)) {
		if chosen[dir] == every[dir] {
			whole = append(whole, dir)
		} else {
			part = append(part, dir)
		}
	}
	return whole, part
}
