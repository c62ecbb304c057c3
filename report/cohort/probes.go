package cohort

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"torchpe/data/array"
	"torchpe/data/array/safetensors"
	"torchpe/internal/metrics"
	"torchpe/train/runlog"
)

// tensors holds tensors [E,...] of a run's models.
type tensors struct {
	file      *safetensors.File
	members   int
	dir, name string // of the file
}

// Values returns a member's part of a tensor and the shape of the part; ok is false if there is no such tensor.
// It converts only that part.
func (t tensors) Values(name string, member int) (values []float64, shape []int, ok bool, err error) {
	x, ok := t.file.Tensor(name)
	if !ok {
		return nil, nil, false, nil
	}
	part, err := runlog.MemberPart(x, member, t.members)
	if err == nil {
		values, err = part.Float64s()
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("%s: %s: %w", t.dir, t.name, err)
	}
	return values, slices.Clone(x.Shape[1:]), true, nil
}

// Probes reads the intermediates of a run's models at the end of training.
type Probes struct{ tensors }

// Weights are the parameters at the end of training.
type Weights struct {
	tensors
	Warning string // why they are not from the end of training; "" if they are
}

// Weights reads the newest checkpoint. The error matches runlog.ErrNoCheckpoint if none was kept.
func (r *Run) Weights() (*Weights, error) {
	c, err := readPart(r, (*runlog.Reader).LoadCheckpoint)
	if err != nil {
		return nil, err
	}
	return &Weights{tensors{c.File, len(r.Config.Members), r.Dir, "checkpoint"}, c.Warning}, nil
}

// Parameter returns a member's part of a parameter, such as block0.attn.in.weight, like Values.
func (w *Weights) Parameter(name string, member int) (values []float64, shape []int, ok bool, err error) {
	return w.Values(runlog.ParameterTensor(runlog.Weights, name), member)
}

// Blocks returns the blocks, from 0, that add a table to their input. It is empty for an encoding without one.
func (p *Probes) Blocks() (blocks []int) {
	for _, name := range p.file.Names() {
		block, err := strconv.Atoi(strings.TrimPrefix(name, "pe/"))
		if err != nil || name != tableName(block) {
			continue
		}
		if x, _ := p.file.Tensor(name); len(x.Shape) == 3 { // else drawn for each batch: tokens have no fixed place
			blocks = append(blocks, block)
		}
	}
	slices.Sort(blocks)
	return blocks
}

// tableName returns the name of the table that is added to the input of a block.
func tableName(block int) string { return fmt.Sprintf("pe/%d", block) }

// Table returns the table that a member adds to the input of a block. The error matches ErrNoTable if there is
// none.
func (p *Probes) Table(member, block int) (metrics.Table, error) {
	x, ok := p.file.Tensor(tableName(block))
	if !ok || len(x.Shape) != 3 {
		return metrics.Table{}, fmt.Errorf("%s: block %d: the encoding %w", p.dir, block, ErrNoTable)
	}
	values, _, _, err := p.Values(x.Name, member)
	return metrics.Table{Tokens: x.Shape[1], Dim: x.Shape[2], Values: values}, err
}

// FirstTable returns the table that a member adds at the first block that has one, as Table does.
func (p *Probes) FirstTable(member int) (metrics.Table, error) {
	first := 0
	if blocks := p.Blocks(); blocks != nil {
		first = blocks[0]
	}
	return p.Table(member, first)
}

// AttentionLevel returns the share of tokens masked while the model's attention was taken; 0 for tasks without masks.
func (m Model) AttentionLevel() float64 {
	if masked := m.Run.Config.Masked; masked != nil && len(masked.TestLevels) > 0 {
		return masked.TestLevels[0]
	}
	return 0
}

// Attention returns a member's attention maps on the validation puzzles. Masked prediction has one example, the
// mean over test frames.
func (p *Probes) Attention(member int) (a metrics.Attention, err error) {
	for layer := 0; ; layer++ {
		x, ok := p.file.Tensor(fmt.Sprintf("attention/%d", layer))
		if !ok {
			break
		}
		shape := x.Shape
		if len(shape) == 4 { // [E,H,N,N]
			shape = []int{shape[0], 1, shape[1], shape[2], shape[3]}
		}
		if len(shape) != 5 || shape[3] != shape[4] {
			return a, fmt.Errorf("%s: probes.safetensors: attention/%d has shape %v", p.dir, layer, x.Shape)
		}
		if layer > 0 && (a.Examples != shape[1] || a.Heads != shape[2] || a.Tokens != shape[3]) {
			return a, fmt.Errorf("%s: probes.safetensors: attention/%d has shape %v, unlike "+
				"those before it", p.dir, layer, x.Shape)
		}
		a.Examples, a.Heads, a.Tokens = shape[1], shape[2], shape[3]
		values, _, _, err := p.Values(x.Name, member)
		if err != nil {
			return a, err
		}
		a.Layers = append(a.Layers, values)
	}
	if a.Layers == nil {
		return a, fmt.Errorf("%s: probes.safetensors has no attention maps", p.dir)
	}
	return a, nil
}

// Modules returns the module of each token; ok is false if the run keeps none. A module that is not a whole
// number is an error.
func (p *Probes) Modules() (modules []int, ok bool, err error) {
	values, ok, err := p.shared(runlog.ModulesProbe)
	for i, v := range values {
		if v != math.Trunc(v) || math.Abs(v) > 1e9 {
			return nil, false, fmt.Errorf("probes.safetensors: the module of token %d is %v", i, v)
		}
		modules = append(modules, int(v))
	}
	return modules, ok, err
}

// NoiseAmplitudes returns the amplitudes of noise in the tests on puzzles; ok is false if there were none.
func (p *Probes) NoiseAmplitudes() (values []float64, ok bool, err error) {
	return p.shared(runlog.AmplitudesProbe)
}

// shared returns a probe that all members share.
func (p *Probes) shared(name string) (values []float64, ok bool, err error) {
	x, ok := p.file.Tensor(name)
	if !ok {
		return nil, false, nil
	}
	values, err = x.Float64s()
	return values, true, err
}

// TokenNames returns the names of n tokens, or nil if the run does not know them.
func (p *Probes) TokenNames(n int) []string {
	if names := p.Text("token_names"); len(names) == n {
		return names
	}
	return nil
}

// TokenPoints returns the places of n tokens according to a file, each on the same axes, the slowest first; nil
// if there is no file.
func (p *Probes) TokenPoints(n int) [][]float64 {
	var points [][]float64
	err := json.Unmarshal([]byte(p.file.Metadata["token_points"]), &points)
	if err != nil || len(points) != n ||
		slices.ContainsFunc(points, func(at []float64) bool { return len(at) != len(points[0]) }) {
		return nil
	}
	return points
}

// TokenOrder returns the positions, from 0, of n tokens in the order in which a file places them. It returns nil
// if no file does, and for a run of an earlier version.
func (p *Probes) TokenOrder(n int) []int {
	var order []int
	err := json.Unmarshal([]byte(p.file.Metadata["token_order"]), &order)
	if err != nil || len(order) != n {
		return nil
	}
	for i, at := range slices.Sorted(slices.Values(order)) {
		if at != i {
			return nil
		}
	}
	return order
}

// SubjectErrors returns the test error of a member on each test subject at a share of tokens masked, such as
// "0.50". It returns nil for fewer than two subjects, or for a run of an earlier version.
func (p *Probes) SubjectErrors(level string, member int) (subjects []string, mse []float64, err error) {
	values, shape, ok, err := p.Values("subjects/"+level, member)
	if subjects = p.Text("test_subjects"); err != nil || !ok || len(shape) != 1 || shape[0] != len(subjects) {
		return nil, nil, err
	}
	return subjects, values, nil
}

// Text returns the lines of a text that was kept with the probes, such as the names of modules, or none.
// Characters that are not allowed in XML are escaped.
func (p *Probes) Text(key string) []string {
	text := p.file.Metadata[key]
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) || r&0xfffe == 0xfffe }) {
			lines[i] = array.Printable(line)
		}
	}
	return lines
}
