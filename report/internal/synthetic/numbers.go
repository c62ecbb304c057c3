package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// maker makes up the numbers of a run.
type maker struct {
	*Run
	rng *rand.Rand
}

// networks are those of the brain (CAB-NP).
var networks = []string{
	"Visual1", "Visual2", "Somatomotor", "Cingulo-Opercular", "Dorsal-attention", "Language", "Frontoparietal", "Auditory", "Default",
	"Posterior-Multimodal", "Ventral-Multimodal", "Orbito-Affective",
}

// common are mean validation accuracies of the encodings without sigma, as the paper's Table 1 has them.
var common = map[string]float64{"2d-fixed": .977, "relative": .92, "random": .888, "rope": .805, "1d-fixed": .781, "nope": .334, "c-nope": .314}

func (m maker) around(mean, sd, low, high float64) float64 {
	return math.Min(high, math.Max(low, mean+sd*m.rng.NormFloat64()))
}

// member makes up the result and the records of a member.
func (m maker) member(i, seed int) (runlog.MemberResult, []runlog.Record) {
	final := common[m.PE]
	if m.PE == "learn" {
		final = Accuracy(m.Sigma)
	}
	if m.Decay > 0 {
		final = math.Sqrt(final)
	}
	validation := m.around(final, 0.03, 0, 1)
	train := m.around(0.99, 0.01, 0, 1)
	r := runlog.MemberResult{
		PE: m.PE, Sigma: m.sigma(), Seed: int64(seed), Epochs: m.Records, Steps: 100 * m.Records, Status: runlog.StatusDone,
		TrainAccuracy: train, IIDAccuracy: m.around((train+validation)/2, 0.01, 0, 1), ValidationAccuracy: validation,
		ValidationByCondition: map[string]float64{"Binary": validation, "Ternary": validation * .97, "Quaternary": validation * .94},
	}
	var course []runlog.Record
	for k := range m.Records {
		rise := 1 - math.Exp(-float64(k+1)/3)
		rec := runlog.NewRecord(100*(k+1), k+1, i)
		rec.Seed, rec.Sigma, rec.Loss = int64(seed), m.sigma(), 1.4*(1-rise)
		if m.Task == "lst" {
			rec.TrainAccuracy, rec.IIDAccuracy, rec.ValidationAccuracy = .25+(train-.25)*rise, .25+(r.IIDAccuracy-.25)*rise, .25+(validation-.25)*rise
		} else {
			rec.MaskedMeasures = m.masked(rise)
		}
		course = append(course, rec)
	}
	if m.Task != "lst" {
		nan := math.NaN()
		r.TrainAccuracy, r.IIDAccuracy, r.ValidationAccuracy, r.ValidationByCondition = nan, nan, nan, nil
		r.MaskedMeasures = course[m.Records-1].MaskedMeasures
	}
	return r, course
}

// masked makes up the measures of masked prediction.
func (m maker) masked(rise float64) *runlog.MaskedMeasures {
	train := m.around(1-.35*rise, 0.005, 0, 2)
	out := &runlog.MaskedMeasures{TrainMSE: &train, TestMSEByMask: map[string]float64{}}
	for key, base := range map[string]float64{"0.15": .64, "0.50": .65, "0.75": .69, "0.90": .75} {
		out.TestMSEByMask[key] = m.around(1-(1-base)*rise, 0.005, 0, 2)
	}
	if added(m.PE) {
		q, c := m.around(.2*rise*m.structure(), .01, -1, 1), m.around(.4*rise*m.structure(), .02, -1, 1)
		out.Modularity, out.Clustering = &q, &c
	}
	return out
}

// structure is how much of the true arrangement a table has, 0 to 1.
func (m maker) structure() float64 {
	switch m.PE {
	case "learn":
		return 1 / (1 + m.Sigma*m.Sigma)
	case "random":
		return 0
	}
	return .5
}

// nodes returns the tokens and modules of the task.
func (m maker) nodes() (n, modules int) {
	switch m.Task {
	case "nmar":
		return 15, 3
	case "fmri":
		return 60, 12
	}
	return lstTokens, 4
}

// probes makes up tables, attention maps, and for puzzles the accuracy under noise.
func (m maker) probes() ([]safetensors.Tensor, map[string]string, error) {
	n, modules := m.nodes()
	var out []safetensors.Tensor
	var failed error
	add := func(name string, shape []int, values []float32) {
		x, err := safetensors.New(name, shape, values)
		if err != nil {
			failed = err
		}
		out = append(out, x)
	}
	members, about := len(m.Seeds), map[string]string{"step": fmt.Sprint(100 * m.Records)}
	if m.Task == "fmri" {
		about["module_names"] = strings.Join(networks, "\n")
	}
	for layer := range layers {
		if added(m.PE) && (layer == 0 || m.Placement == "block") {
			add(fmt.Sprintf("pe/%d", layer), []int{members, n, dim}, m.tables(members, n, modules))
		}
		if m.Task == "lst" {
			add(fmt.Sprintf("attention/%d", layer), []int{members, puzzles, m.Heads, n, n}, m.attention(members*puzzles*m.Heads*n, n))
		} else {
			add(fmt.Sprintf("attention/%d", layer), []int{members, m.Heads, n, n}, m.attention(members*m.Heads*n, n))
		}
	}
	if m.Task != "lst" {
		labels := make([]int64, n)
		for i := range labels {
			labels[i] = int64(i * modules / n)
		}
		x, err := safetensors.New("modules", []int{n}, labels)
		if err != nil {
			return nil, nil, err
		}
		return append(out, x), about, failed
	}
	amplitudes := []float32{.0625, .25, .5, 1}
	accuracy := make([]float32, members*len(amplitudes)*3)
	for i := range accuracy {
		accuracy[i] = float32(m.around(.9/(1+float64(amplitudes[i/3%len(amplitudes)])), .02, 0, 1))
	}
	add("noise/amplitude", []int{len(amplitudes)}, amplitudes)
	add("noise/accuracy", []int{members, len(amplitudes), 3}, accuracy)
	return out, about, failed
}

// tables are random, with what the modules share on top.
func (m maker) tables(members, n, modules int) []float32 {
	sd := .3
	if m.PE == "learn" {
		sd = m.Sigma
	}
	out := make([]float32, 0, members*n*dim)
	for range members {
		shared := make([]float64, modules*dim)
		for i := range shared {
			shared[i] = m.structure() * m.rng.NormFloat64()
		}
		for i := range n {
			for k := range dim {
				v := sd*m.rng.NormFloat64() + shared[i*modules/n*dim+k]
				if m.PE == "2d-fixed" || m.PE == "1d-fixed" {
					v = math.Sin(float64(i)/math.Pow(50, float64(k)/dim) + math.Pi/2*float64(k%2))
				}
				out = append(out, float32(v))
			}
		}
	}
	return out
}

// attention are rows that sum to 1.
func (m maker) attention(rows, n int) []float32 {
	out := make([]float32, 0, rows*n)
	row := make([]float64, n)
	for r := range rows {
		sum := 0.0
		for i := range row {
			row[i] = math.Exp(m.rng.NormFloat64() * .5)
			if i == r%n {
				row[i] += 3 * m.structure()
			}
			sum += row[i]
		}
		for _, v := range row {
			out = append(out, float32(v/sum))
		}
	}
	return out
}
