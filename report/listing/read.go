package listing

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// The states of a model. Those of a finished run are runlog's.
const (
	statusRunning = "running" // a process writes to its run, or did on another host and may still
	statusStopped = "stopped" // it is not finished, and nobody goes on with it
)

// Row is one model.
type Row struct {
	Dir    string // of its run
	root   string // the directory that its run was found in, as it was given
	values map[string]Value
	// settings are those of the run, by key; rows of one run share them.
	settings map[string]string
	identity map[string]string // runs.Model.Identity
	models   []Row             // that an averaged row is over
}

// List is a table of models.
type List struct {
	Rows    []Row
	Skipped []runs.Skipped // runs and folders that could not be read
	note    string         // below the table
	columns []column
	keys    map[string]column // of all columns that there may be, by name
}

// Read lists the models of the runs in directories and the folders below them. A run that is in two
// of them is listed once.
func Read(roots ...string) (*List, error) {
	l := &List{}
	var places []rootedPlace
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

// rootedPlace is where a run is, and the directory that it was found in.
type rootedPlace struct {
	runs.Place
	root string
}

// read reads the runs, as many at a time as there are processors, and keeps their order.
func (l *List) read(places []rootedPlace) {
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
func readRun(p rootedPlace) ([]Row, error) {
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
			v[columnName(key)] = parseValue(s)
		}
		v["run"], v["dir"], v["member"] = textOf(p.Name), textOf(p.Dir), integerOf(int64(i))
		v["task"], v["pe"], v["label"] = textOf(run.Config.Task), textOf(run.Config.PE), textOf(
			runs.Label(run.Config.PE, m.Sigma))
		v["seed"], v["lr"], v["weight_decay"] = seedValue(m.Seed), numberOf(m.LR), numberOf(m.WeightDecay)
		for name, own := range map[string]*float64{"pe_lr": m.PELR, "pe_weight_decay": m.PEWeightDecay} {
			if own != nil {
				v[name] = numberOf(*own)
			}
		}
		if m.Sigma != nil {
			v["sigma"] = numberOf(*m.Sigma)
		}
		identity, err := runs.Model{Run: run, Index: i, Member: m}.Identity()
		if err != nil {
			return nil, err
		}
		if run.Origin != "" {
			v[runs.WeightsKey] = textOf(run.Origin)
		}
		if run.DataSHA256 != "" {
			v[runs.DataKey] = textOf(run.DataSHA256[:min(12, len(run.DataSHA256))])
		}
		rows[i] = Row{Dir: p.Dir, root: p.root, values: v, settings: settings, identity: identity}
	}
	if !finished {
		return rows, addUnfinished(p.Dir, rows)
	}
	for i, m := range run.Result.Members {
		v := rows[i].values
		v["status"], v["steps"], v["epochs"] = textOf(m.Status), integerOf(int64(m.Steps)), integerOf(int64(m.Epochs))
		v["seconds"], v["steps_per_second"] = numberOf(run.Result.WallSeconds), numberOf(run.Result.StepsPerSecond)
		if m.DivergedAtStep > 0 {
			v["diverged_at"] = integerOf(int64(m.DivergedAtStep))
		}
		addAccuracies(v, m.ValidationAccuracy, m.IIDAccuracy, m.TrainAccuracy)
		for condition, a := range m.ValidationByCondition {
			v["validation_"+normalName(condition)] = numberOf(a)
		}
		addFit(v, m.Fit)
		addBySize(v, "tokens_", m.AccuracyByTokens)
		addBySize(v, "length_", m.AccuracyByLength)
		addBySize(v, "perplexity_", m.PerplexityByLength)
		for tokens, conditions := range m.AccuracyByTokensAndCondition {
			for condition, a := range conditions {
				v["tokens_"+normalName(tokens)+"_"+normalName(condition)] = numberOf(a)
			}
		}
		addMasked(v, m.MaskedMeasures)
	}
	return rows, nil
}

// notFitted is the value of a model that has not reached its criterion.
const notFitted = "no"

// addFit says when a model reached its criterion, or that it has not.
func addFit(v map[string]Value, f *runlog.Fit) {
	switch {
	case f == nil:
	case f.Reached:
		v["fitted"] = textOf(strconv.Itoa(f.Epoch))
	default:
		v["fitted"] = textOf(notFitted)
	}
}

// addUnfinished fills in what is known of a run without a result: its state, and the numbers of its
// last records.
func addUnfinished(dir string, rows []Row) error {
	r, err := runlog.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	records, err := runlog.LastRecords(r)
	if err != nil {
		return err
	}
	status := textOf(statusStopped)
	h, running := r.Writer()
	if running {
		status = textOf(statusRunning)
	}
	for _, row := range rows {
		row.values["status"], row.values["steps"] = status, integerOf(0)
		if running {
			row.values["process"] = textOf(fmt.Sprintf("%d on %s", h.PID, h.Host))
		}
	}
	for _, rec := range records {
		if rec.Member < 0 || rec.Member >= len(rows) {
			return fmt.Errorf("%s: metrics.jsonl has a record of member %d: config.json has %d",
				dir, rec.Member, len(rows))
		}
		maps.Copy(rows[rec.Member].values, recordValues(rec))
	}
	return nil
}

// recordValues returns the values that a record has.
func recordValues(rec runlog.Record) map[string]Value {
	v := map[string]Value{"steps": integerOf(int64(rec.Step)), "epochs": integerOf(int64(rec.Epoch)),
		"seconds": numberOf(rec.WallSeconds)}
	addAccuracies(v, rec.ValidationAccuracy, rec.IIDAccuracy, rec.TrainAccuracy)
	for condition, a := range rec.ValidationByCondition {
		v["validation_"+normalName(condition)] = numberOf(a)
	}
	addFit(v, rec.Fit)
	addBySize(v, "tokens_", rec.AccuracyByTokens)
	addBySize(v, "length_", rec.AccuracyByLength)
	addBySize(v, "perplexity_", rec.PerplexityByLength)
	addMasked(v, rec.MaskedMeasures)
	if rec.StepMS > 0 {
		v["steps_per_second"] = numberOf(1000 / rec.StepMS)
	}
	return v
}

func addAccuracies(v map[string]Value, validation, iid, train float64) {
	v["validation"], v["iid"], v["train"] = numberOf(validation), numberOf(iid), numberOf(train)
}

// addBySize adds accuracies by a size: tokens_25 on puzzles of 25 tokens, length_60 on sequences.
func addBySize(v map[string]Value, prefix string, all map[string]float64) {
	for size, a := range all {
		v[prefix+normalName(size)] = numberOf(a)
	}
}

func addMasked(v map[string]Value, m *runlog.MaskedMeasures) {
	if m == nil {
		return
	}
	for level, mse := range m.TestMSEByMask {
		v["test_mse_"+normalName(strings.TrimPrefix(level, "0."))] = numberOf(mse)
	}
	for name, x := range map[string]*float64{"train_mse": m.TrainMSE, "modularity": m.Modularity,
		"clustering": m.Clustering} {
		if x != nil {
			v[name] = numberOf(*x)
		}
	}
}

// seedValue returns a seed with every digit: those beyond the integers of tables are text.
func seedValue(s uint64) Value {
	if s > math.MaxInt64 {
		return textOf(fmt.Sprint(s))
	}
	return integerOf(int64(s))
}
