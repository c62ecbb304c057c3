package train

import "math"

// rate returns the factor on the learning rate at a step (from 0) of total: a linear warm-up, then the schedule.
func rate(schedule string, step, warmup, total int) float64 {
	if step < warmup {
		return float64(step+1) / float64(warmup)
	}
	progress := float64(step-warmup) / float64(max(1, total-warmup))
	switch schedule {
	case Linear:
		return math.Max(0, 1-progress)
	case Cosine:
		return (1 + math.Cos(math.Pi*math.Min(1, progress))) / 2
	}
	return 1
}
