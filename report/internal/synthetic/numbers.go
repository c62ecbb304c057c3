package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/train/runlog"
)

// maker makes up the numbers of a run.
type maker struct {
	*Run
	rng *rand.Rand
}

// networks holds the names of the brain's networks (CAB-NP).
var networks = []string{
	"Visual1", "Visual2", "Somatomotor", "Cingulo-Opercular", "Dorsal-attention", "Language",
	"Frontoparietal", "Auditory", "Default",
	"Posterior-Multimodal", "Ventral-Multimodal", "Orbito-Affective",
}

// table1 holds the accuracies in the paper's Table 1, by encoding and quantity.
var table1, _ = paper.Table("1")

func (m maker) around(mean, sd, low, high float64) float64 {
	return math.Min(high, math.Max(low, mean+sd*m.rng.NormFloat64()))
}

// member makes up the result and the records of a member.
func (m maker) member(i, seed int) (runlog.MemberResult, []runlog.Record) {
	final := table1[[2]string{m.PE, "validation"}].Mean
	if m.PE == "learn" {
		final = accuracy(m.Sigma)
	}
	if m.Decay > 0 {
		final = math.Sqrt(final)
	}
	validation := m.around(final, 0.03, 0, 1)
	train := m.around(0.997, 0.002, 0.99, 1) // all have fitted except those that do not in the paper
	if m.PE == "nope" || m.PE == "c-nope" {
		train = m.around(table1[[2]string{m.PE, "train"}].Mean, 0.01, 0, .98)
	}
	iid := m.around((train+validation)/2, 0.01, 0, 1)
	r := runlog.MemberResult{
		PE: m.PE, Sigma: m.sigma(), Seed: int64(seed), Epochs: m.Records, Steps: 100 * m.Records,
		Status: runlog.StatusDone,
	}
	var course []runlog.Record
	for k := range m.Records {
		rise := 1 - math.Exp(-float64(k+1)/3)
		rec := runlog.Record{Step: 100 * (k + 1), Epoch: k + 1, Member: i, Seed: int64(seed), Sigma: m.sigma()}
		if m.Task == "lst" {
			rec.Measures = m.motion(rise)
			rec.Measures["train"], rec.Measures["iid"] = .25+(train-.25)*rise, .25+(iid-.25)*rise
			rec.Measures["validation"] = .25 + (validation-.25)*rise
			rec.Fit = &runlog.Fit{Criterion: runlog.DefaultCriterion}
		} else {
			rec.Measures = m.masked(rise)
		}
		rec.Measures["loss"] = 1.4 * (1 - rise)
		course = append(course, rec)
	}
	if m.Task != "lst" {
		r.Measures = course[m.Records-1].Measures
		return r, course
	}
	r.Fit = &runlog.Fit{Criterion: runlog.DefaultCriterion}
	if train >= 0.99 {
		r.Fit.Reached, r.Fit.Epoch, r.Fit.Step = true, r.Epochs, r.Steps
	}
	r.Measures = m.motion(1)
	r.Measures["train"], r.Measures["iid"], r.Measures["validation"] = train, iid, validation
	for vectors, share := range map[int]float64{1: 1, 2: .97, 3: .94} {
		r.Measures[fmt.Sprintf("validation/%d-vector", vectors)] = validation * share
		r.Measures[fmt.Sprintf("validation_lines/%d", vectors)] = validation * share
	}
	if m.PE == "learn" {
		r.Measures["tangent_alignment"] = 1 - .5/(1+m.Sigma)
		r.Measures["pe_start_cosine/0"] = m.around(0, .02, -1, 1)
	}
	return r, course
}

// motion makes up how far a learned table has moved: further if it started small.
func (m maker) motion(rise float64) runlog.Numbers {
	if m.PE != "learn" {
		return runlog.Numbers{}
	}
	return runlog.Numbers{"pe_moved/0": rise / (1 + m.Sigma), "pe_gradient_share": .3 * rise,
		"pe_disparity/0": 1 - .5*rise*m.structure(), "pe_cosine/0": .1 * rise}
}

// masked makes up the measures of masked prediction.
func (m maker) masked(rise float64) runlog.Numbers {
	out := runlog.Numbers{"train_mse": m.around(1-.35*rise, 0.005, 0, 2)}
	for _, level := range []struct { // in order: each draws a number
		key  string
		base float64
	}{{"0.15", .64}, {"0.50", .65}, {"0.75", .69}, {"0.90", .75}} {
		out["test_mse/"+level.key] = m.around(1-(1-level.base)*rise, 0.005, 0, 2)
	}
	if added(m.PE) {
		out["modularity"] = m.around(.2*rise*m.structure(), .01, -1, 1)
		out["clustering"] = m.around(.4*rise*m.structure(), .02, -1, 1)
	}
	return out
}

// structure returns the share of the true arrangement in a table, 0 to 1.
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
	case "masked":
		return len(TokenNames), 2
	}
	return lstTokens, 4
}

// TokenNames are the names of the tokens of task masked.
var TokenNames = []string{"Fp1", "Fp2", "C3", "C4", "O1", "O2", "T3", "T4"}

// ModuleNames are the names of their two modules.
var ModuleNames = []string{"left", "right"}

// ConnectivityModularity is the modularity of the made-up data of task masked.
const ConnectivityModularity = 0.125

// probe is a tensor of probes.safetensors.
type probe struct {
	name   string
	shape  []int
	values []float32
}

// showTo passes a member its part of a probe [E,...], which it may change.
func (p probe) showTo(m *Member, members int) {
	size := len(p.values) / members
	own := p.values[m.Index*size : (m.Index+1)*size]
	switch kind, _, _ := strings.Cut(p.name, "/"); {
	case kind == "pe":
		m.Tables = append(m.Tables, own)
	case kind == "attention":
		m.Attention = append(m.Attention, own)
	case p.name == "noise/accuracy":
		m.Noise = own
	}
}

// probes makes up tables, attention maps, and for puzzles the accuracy under noise.
func (m maker) probes() []probe {
	n, modules := m.nodes()
	var out []probe
	members := len(m.Seeds)
	for layer := range layers {
		if added(m.PE) && (layer == 0 || m.Placement == "block") {
			shape := []int{members, n, dim}
			out = append(out, probe{fmt.Sprintf("pe/%d", layer), shape, m.tables(members, n, modules)})
		}
		shape, rows := []int{members, m.Heads, n, n}, members*m.Heads*n
		if m.Task == "lst" {
			shape, rows = []int{members, puzzles, m.Heads, n, n}, puzzles*rows
		}
		out = append(out, probe{fmt.Sprintf("attention/%d", layer), shape, m.attention(rows, n)})
	}
	if m.Subjects != nil {
		var mse []float32
		for i := range members * len(m.Subjects) {
			mse = append(mse, .1*float32(i%len(m.Subjects)+1))
		}
		out = append(out, probe{"subjects/0.50", []int{members, len(m.Subjects)}, mse})
	}
	if m.Task != "lst" {
		return out
	}
	amplitudes := m.Amplitudes
	accuracy := make([]float32, members*len(amplitudes)*noiseRepeats)
	for i := range accuracy {
		accuracy[i] = float32(m.around(.9/(1+float64(amplitudes[i/noiseRepeats%len(amplitudes)])), .02, 0, 1))
	}
	return append(out, probe{"noise/amplitude", []int{len(amplitudes)}, amplitudes},
		probe{"noise/accuracy", []int{members, len(amplitudes), noiseRepeats}, accuracy})
}

// tensors returns the probes with the modules of the tokens, as a file has them.
func (m maker) tensors(all []probe) (out []safetensors.Tensor, about map[string]string) {
	about = map[string]string{"step": fmt.Sprint(100 * m.Records)}
	for _, p := range all {
		out = append(out, expect.Must(safetensors.New(p.name, p.shape, p.values)))
	}
	switch m.Task {
	case "lst":
		return out, about
	case "masked":
		about["token_names"], about["module_names"] = strings.Join(TokenNames, "\n"), strings.Join(ModuleNames, "\n")
		about["test_subjects"], about["token_points"] = strings.Join(m.Subjects, "\n"), m.Places
		about["token_order"] = m.Order
	case "fmri":
		about["module_names"] = strings.Join(networks, "\n")
	}
	if m.Modules != nil && len(m.Modules) == 0 {
		return out, about
	}
	n, modules := m.nodes()
	labels := make([]int64, n)
	for i := range labels {
		labels[i] = int64(i * modules / n)
		if m.Modules != nil {
			labels[i] = int64(m.Modules[i])
		}
	}
	return append(out, expect.Must(safetensors.New("modules", []int{n}, labels))), about
}

// tables makes up random tables with a part that tokens of one module share.
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

// attention makes up rows that sum to 1.
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
