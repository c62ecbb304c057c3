package cohort

import (
	"maps"
	"math"
	"slices"

	"torchpe/train/runlog"
)

// StoppedNote is the sentence for the caption of curves in which a model has stopped.
const StoppedNote = "A model that has stopped at its criterion keeps its last value."

// HasStopped reports whether the model reached the criterion that stops its run.
func (m Model) HasStopped() bool {
	return m.Run.Config.Until != "" && m.Result.Fit != nil && m.Result.Fit.Reached
}

// Course returns a measure [model][x] over the x of the models' records, such as their steps. It keeps only x
// at which each measured model has a value, so that means are over the same models everywhere. A model that
// stopped at its criterion keeps its last value. A model that was not measured, or with other settings of the
// measure than most, has NaN.
func Course(models []Model, records []map[int]runlog.Record, measure string, of func(runlog.Record) float64) (
	at []float64, values [][]float64) {
	records = slices.Clone(records)
	for _, other := range MeasuredOtherwise(models, measure) {
		records[slices.IndexFunc(models, func(m Model) bool { return m.Key() == other.Key() })] = nil
	}
	own, ends := make([]map[int]float64, len(models)), make([]int, len(models))
	all := map[int]bool{}
	for i := range models {
		own[i] = map[int]float64{}
		for x, r := range records[i] {
			if v := of(r); !math.IsNaN(v) {
				own[i][x], all[x], ends[i] = v, true, max(ends[i], x)
			}
		}
	}
	valueAt := func(i, x int) (v float64, ok bool) {
		if len(own[i]) == 0 {
			return math.NaN(), true
		}
		if x > ends[i] && models[i].HasStopped() {
			x = ends[i]
		}
		v, ok = own[i][x]
		return v, ok
	}
	values = make([][]float64, len(models))
	for _, x := range slices.Sorted(maps.Keys(all)) {
		row := make([]float64, len(models))
		isShared := true
		for i := range models {
			var ok bool
			row[i], ok = valueAt(i, x)
			isShared = isShared && ok
		}
		if !isShared {
			continue
		}
		at = append(at, float64(x))
		for i, v := range row {
			values[i] = append(values[i], v)
		}
	}
	return at, values
}

// RecordsBy returns the records of each model by x, such as their step.
func RecordsBy(models []Model, x func(runlog.Record) int) (read []map[int]runlog.Record, err error) {
	byRun := map[*Run][]runlog.Record{}
	for _, m := range models {
		if byRun[m.Run] == nil {
			if byRun[m.Run], err = m.Run.Records(); err != nil {
				return nil, err
			}
		}
		own := map[int]runlog.Record{}
		for _, r := range m.Records(byRun[m.Run]) {
			own[x(r)] = r
		}
		read = append(read, own)
	}
	return read, nil
}
