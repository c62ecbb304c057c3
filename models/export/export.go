// Package export writes a model of one member for PyTorch, and reads it back: model.safetensors, a
// plain state dict; config.json; and model.py, which contains the model and its positional encoding
// and needs only PyTorch.
//
// model.py is assembled from the classes in python/, one for each scheme (see source.go). They compute what
// depends on positions from config.json; fixed tables that the registry's encodings compute are buffers of
// the state dict. NewModule writes an encoding without a model, with the same classes.
package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/internal/atomicfile"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// The files of an export.
const (
	WeightsFile = "model.safetensors"
	ConfigFile  = "config.json"
	SourceFile  = "model.py"
)

// Run describes the run of an exported model; import creates a run from it.
type Run struct {
	Directory string          `json:"directory"`
	Member    int             `json:"member"` // of the ensemble in that directory
	Step      int             `json:"step"`   // last step of its training so far
	DataSHA   string          `json:"data_sha256"`
	Config    json.RawMessage `json:"config"` // of a run with only this member
	// Characters are the characters of a text: the k-th is symbol and class k.
	Characters string `json:"characters,omitempty"`
	// TokenNames are the names of the tokens of masked prediction, [N] in the order of the model's inputs.
	TokenNames []string `json:"token_names,omitempty"`

	DivergedAtStep int `json:"diverged_at_step,omitempty"` // 0 if it did not
}

// Write writes the model of m's only member to dir, which it creates.
func Write(dir string, m *models.Model, r Run) error {
	if m.Params.Members != 1 {
		return fmt.Errorf("export: the model has %d members, want one", m.Params.Members)
	}
	parts, err := partsOf(m)
	if err != nil {
		return err
	}
	about, err := about(m, r)
	if err != nil {
		return err
	}
	config, err := configText(m, r, parts)
	if err != nil {
		return err
	}
	tensors, err := tensorsOf(m, m.Config.DType, func(name string) string { return plainName(name, parts) })
	if err != nil {
		return err
	}
	source := program(about, "", parts, "transformer", taskOf(m.Config), "load")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return atomicfile.WriteAll(
		atomicfile.File{Path: filepath.Join(dir, WeightsFile), Body: func(w io.Writer) error {
			return safetensors.Encode(w, tensors, map[string]string{"format": "pt"})
		}},
		atomicfile.File{Path: filepath.Join(dir, ConfigFile), Body: atomicfile.Text([]byte(config))},
		atomicfile.File{Path: filepath.Join(dir, SourceFile), Body: atomicfile.Text([]byte(source))})
}

// tensorsOf returns the parameters and fixed tables of m under the names that nameOf returns,
// except those for which it returns none.
func tensorsOf(m *models.Model, dtype torchpe.DType, nameOf func(parameter string) string) (
	tensors []safetensors.Tensor, err error) {
	from := map[string]string{}
	for _, p := range m.Params.All() {
		name := nameOf(p.Name)
		if name == "" {
			continue
		}
		values, err := m.Params.Values(p.Name)
		if err != nil {
			return nil, err
		}
		if from[name] != "" {
			return nil, fmt.Errorf("export: %s and %s would both be %s", from[name], p.Name, name)
		}
		from[name] = p.Name
		t, err := tensor(name, p.Shape[1:], values, dtype)
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, t)
	}
	return tensors, nil
}

func tensor(name string, shape []int, values []float64, dtype torchpe.DType) (safetensors.Tensor, error) {
	if dtype == torchpe.Float64 {
		return safetensors.New(name, shape, values)
	}
	single := make([]float32, len(values))
	for i, v := range values {
		single[i] = float32(v)
	}
	return safetensors.New(name, shape, single)
}

// part describes an encoding in config.json.
type part struct {
	Scheme     string           `json:"scheme"`
	Label      string           `json:"label,omitempty"`  // in a stack
	Layers     []int            `json:"layers,omitempty"` // in a stack
	Options    pe.Options       `json:"options"`
	Parameters map[string][]int `json:"parameters"` // shapes of trained parameters
	Buffers    map[string][]int `json:"buffers"`    // shapes of fixed tables
}

func partsOf(m *models.Model) (all []part, err error) {
	own, err := m.Config.Parts()
	if err != nil {
		return nil, err
	}
	scheme, err := pe.Find(m.Config.PE)
	if err != nil {
		return nil, err
	}
	for _, o := range own {
		p := part{Scheme: o.Scheme.Name, Options: o.Options, Parameters: map[string][]int{},
			Buffers: map[string][]int{}}
		if scheme.IsStack() {
			p.Label, p.Layers = o.Label, o.Layers
		}
		all = append(all, p)
	}
	for _, p := range m.Params.All() {
		i, attribute, ok := ofEncoding(p.Name, all)
		switch {
		case ok && p.Trainable:
			all[i].Parameters[attribute] = p.Shape[1:]
		case ok:
			all[i].Buffers[attribute] = p.Shape[1:]
		}
	}
	return all, nil
}

func attentions(m *models.Model) (all []map[string]any, err error) {
	c := m.Config
	windows, err := c.Windows()
	for layer, window := range windows {
		a := m.Encoding.Attention(layer)
		all = append(all, map[string]any{
			"causal": a.Causal || c.Causal, "window": window, "temperature": a.Temperature, "bias": a.Bias,
			"output_projection": a.OutputProjection, "scale": a.LogitScale(c.DModel / c.Heads),
		})
	}
	return all, err
}

// configText returns config.json.
func configText(m *models.Model, r Run, parts []part) (string, error) {
	c := m.Config
	settings, err := settingsOf(m, parts)
	if err != nil {
		return "", err
	}
	var shown *example // nil if evaluation draws random numbers
	if c.PEOptions.Float("fixed-pe-dropout") == 0 {
		if shown, err = exampleOf(m); err != nil {
			return "", err
		}
	}
	text, err := settingsText(append(settings, setting{"example", shown}, setting{"run", r}))
	return text + "\n", err
}

// settingsOf returns the settings of config.json by which model.py makes the model. Those of run.config make the
// same one.
func settingsOf(m *models.Model, parts []part) ([]setting, error) {
	c := m.Config
	task := taskOf(c)
	if task == "puzzles" {
		task = "lst"
	}
	attention, err := attentions(m)
	return []setting{
		{"task", task},
		{"tokens", c.Positions.Tokens()}, {"symbols", c.Symbols}, {"classes", c.Classes}, {"layers", c.Layers},
		{"heads", c.Heads}, {"d_model", c.DModel}, {"d_ff", c.FFMultiple * c.DModel}, {"token_input", c.TokenInput},
		{"read_out", c.ReadOut},
		{"dropout", c.Dropout}, {"pe_dropout", c.PEDropout}, {"mask_token", c.MaskToken}, {"attention", attention},
		{"encodings", parts}, {"positions", positionsOf(c.Positions, parts)},
	}, err
}

// setting is a key of config.json.
type setting struct {
	key   string
	value any
}

// settingsText returns a JSON object with one setting per line.
func settingsText(settings []setting) (string, error) {
	var lines []string
	for _, s := range settings {
		text, err := json.Marshal(s.value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.key, err)
		}
		lines = append(lines, fmt.Sprintf("  %q: %s", s.key, text))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}", nil
}

// positionsOf returns the positions of tokens for config.json, with their graph if a part of the
// encoding needs it.
func positionsOf(p pe.Positions, parts []part) map[string]any {
	at := map[string]any{"index": p.Index}
	if p.Cells != nil {
		at["cells"] = p.Cells
	}
	if p.Points != nil {
		at["points"] = p.Points
	}
	for _, part := range parts {
		if scheme, err := pe.Find(part.Scheme); err != nil || scheme.Needs != pe.NeedsGraph {
			continue
		}
		g := p.Neighbours()
		weights := make([][]float64, g.Nodes())
		for i := range weights {
			for j := range weights {
				weights[i] = append(weights[i], g.Weight(i, j))
			}
		}
		at["graph"] = weights
	}
	return at
}

// example is an input with the output of this model.
type example struct {
	Inputs map[string]any `json:"inputs"`
	Output [][]float64    `json:"output"`
}

// exampleOf returns the output of m for one sample. Dropout of an encoding draws from seed 0.
func exampleOf(m *models.Model) (*example, error) {
	c := m.Config
	n := c.Positions.Tokens()
	e := &example{Inputs: map[string]any{}}
	err := torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		s.Seed([]uint64{0}, 0)
		in := models.Input{Positions: c.Positions}
		numbers := func(name string, f func(i int) float64) torchpe.Tensor {
			values := make([]float64, n)
			for i := range values {
				values[i] = f(i)
			}
			e.Inputs[name] = [][]float64{values}
			return torchpe.Of(s, torchpe.CPU, values, 1, 1, n).To(c.DType, c.Device)
		}
		if c.TokenInput == arch.Scalar {
			in.Values = numbers("values", func(i int) float64 { return float64((i*5)%7-3) / 2 })
			in.Masked = numbers("masked", func(i int) float64 { return float64((i % 3) / 2) })
		} else {
			symbols := make([]int64, n)
			for i := range symbols {
				symbols[i] = int64(i * 7 % (c.Symbols - 1))
			}
			probe := n / 2
			symbols[probe] = int64(c.Symbols - 1)
			e.Inputs["symbols"] = [][]int64{symbols}
			in.Symbols = torchpe.Of(s, c.Device, symbols, 1, 1, n)
			if c.ReadOut != arch.ReadTokens {
				in.Probe = torchpe.Of(s, c.Device, []int64{int64(probe)}, 1, 1)
			}
		}
		if most := m.Encoding.Draw().Range; most > 0 {
			drawn := numbers("drawn", func(i int) float64 { return math.Floor(float64(i*most) / float64(n)) })
			in.Positions.Drawn = drawn
		}
		e.Output = [][]float64{m.Forward(s, in, nil).Float64s()}
	})
	return e, err
}
