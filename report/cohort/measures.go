package cohort

import (
	"maps"
	"math"
	"slices"

	"torchpe/train/runlog"
)

// StoppedNote is the sentence for the caption of curves in which a model has stopped.
const StoppedNote = "A model that has stopped at its criterion keeps its last value."

// HasStopped reports whether the model reached the criterion at which its run stops.
func (m Model) HasStopped() bool {
	return m.Run.Config.Until != "" && m.Result.Fit != nil && m.Result.Fit.Reached
}

// Curve returns a model's values at each x of at, from own, its values by x. An x without a value is
// NaN; past the last of a model that has stopped, it has the last value.
func Curve(at []float64, own map[int]float64, stopped bool) []float64 {
	values := make([]float64, len(at))
	end := math.MinInt
	for x := range own {
		end = max(end, x)
	}
	for i, x := range at {
		v, ok := own[int(x)]
		switch {
		case ok:
			values[i] = v
		case stopped && int(x) > end && i > 0:
			values[i] = values[i-1]
		default:
			values[i] = math.NaN()
		}
	}
	return values
}

// Measured returns a measure of a model's records by x.
func Measured(own map[int]runlog.Record, of func(runlog.Record) float64) map[int]float64 {
	values := make(map[int]float64, len(own))
	for x, r := range own {
		values[x] = of(r)
	}
	return values
}

// RecordsBy returns the records of each model by x, such as their step, and all x in order.
func RecordsBy(models []Model, x func(runlog.Record) int) (read []map[int]runlog.Record,
	at []float64, err error) {
	byRun := map[*Run][]runlog.Record{}
	all := map[int]bool{}
	for _, m := range models {
		if byRun[m.Run] == nil {
			if byRun[m.Run], err = m.Run.Records(); err != nil {
				return nil, nil, err
			}
		}
		own := map[int]runlog.Record{}
		for _, r := range m.Records(byRun[m.Run]) {
			own[x(r)], all[x(r)] = r, true
		}
		read = append(read, own)
	}
	for _, x := range slices.Sorted(maps.Keys(all)) {
		at = append(at, float64(x))
	}
	return read, at, nil
}
