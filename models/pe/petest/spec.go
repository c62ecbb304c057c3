package petest

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Spec describes an instance of a scheme in a small model. Zero fields stand for the suite's values.
type Spec struct {
	Scheme    string
	Fidelity  string // "" is "code"
	Given     pe.Options
	Positions pe.Positions // 2 rows of 4 tokens
	Layers    int          // 2
	Heads     int          // 1
	DModel    int          // 8, or what the scheme's MinHeadWidth requires
	Seeds     []uint64     // one member
	Sigma     []float64    // a different value for each member
	// Change, if not nil, is applied to the configuration last, which by then is float64 on the CPU.
	Change func(*models.Config)
	// Set holds values that replace initial values of parameters in Model.
	Set map[string][]float64
}

// Read returns the spec that a text describes: options as name=value, and the words "text" for the
// text's reading, "d_model=8", "heads=2", "layers=1", and "line=8", "grid=2x4" or "box=2x2x2" for
// the positions. It panics on other words.
func Read(text string) Spec {
	sp := Spec{Fidelity: "code", Given: pe.Options{}}
	for _, word := range strings.Fields(text) {
		name, value, ok := strings.Cut(word, "=")
		var n [3]int
		_, _ = fmt.Sscanf(value, "%dx%dx%d", &n[0], &n[1], &n[2])
		switch {
		case word == "text":
			sp.Fidelity = word
		case !ok:
			panic(fmt.Sprintf("the spec %q has the unknown word %q", text, word))
		case name == "d_model":
			sp.DModel = n[0]
		case name == "heads":
			sp.Heads = n[0]
		case name == "layers":
			sp.Layers = n[0]
		case name == "line":
			sp.Positions = pe.Line(n[0])
		case name == "grid":
			sp.Positions = pe.Grid(n[0], n[1])
		case name == "box":
			sp.Positions = pe.Box(n[0], n[1], n[2])
		default:
			sp.Given[name] = value
		}
	}
	return sp
}

// Given returns options from a text with words name=value.
func Given(format string, args ...any) pe.Options { return Read(fmt.Sprintf(format, args...)).Given }

// The suite's seeds and sigmas, for up to three members.
var (
	Seeds = []uint64{11, 22, 33}
	Sigma = []float64{0.5, 1.1, 0.2}
)

// Config returns the model's configuration. A bad value of an option is an error.
func (sp Spec) Config() (models.Config, error) {
	scheme, err := pe.Find(sp.Scheme)
	if err != nil {
		return models.Config{}, err
	}
	if sp.Fidelity == "" {
		sp.Fidelity = "code"
	}
	options, err := scheme.Resolve(sp.Fidelity, sp.Given)
	if err != nil {
		return models.Config{}, err
	}
	if sp.Seeds == nil {
		sp.Seeds = Seeds[:1]
	}
	if sp.Sigma == nil {
		sp.Sigma = Sigma[:len(sp.Seeds)]
	}
	if sp.Positions.Index == nil {
		sp.Positions = pe.Grid(2, 4)
	}
	if sp.DModel == 0 {
		sp.DModel = max(8, cmp.Or(sp.Heads, 1)*scheme.MinHeadWidth)
	}
	c := models.Config{
		Transformer: arch.Transformer{
			Layers: cmp.Or(sp.Layers, 2), Heads: cmp.Or(sp.Heads, 1), DModel: sp.DModel, FFMultiple: 2,
			TokenInput: arch.OneHot, EmbeddingInit: arch.LikeLinear, ReadOut: arch.ProbeToken,
		},
		Positions: sp.Positions, Symbols: 5, Classes: 3,
		PE: sp.Scheme, PEOptions: options, Sigma: sp.Sigma, Seeds: sp.Seeds, DType: torchpe.Float64,
		Device: torchpe.CPU,
	}
	if sp.Change != nil {
		sp.Change(&c)
	}
	return c, nil
}

// New builds the model. Call Close when done.
func (sp Spec) New() (*models.Model, error) {
	c, err := sp.Config()
	if err != nil {
		return nil, err
	}
	return models.New(c)
}

// Model builds the model for a test, which closes it at its end.
func (sp Spec) Model(t testing.TB) *models.Model {
	t.Helper()
	m, err := sp.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	for name, values := range sp.Set {
		if err := m.Params.Set(name, values); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Batch is an input of a model [E,B,N], on the host. Each member's part is drawn from its seed.
type Batch struct {
	Members, Size, Tokens  int
	Symbols, Probe, Target []int64 // [E,B,N], [E,B] and [E,B]
	Positions              pe.Positions
	drawn                  []float64 // [E,B,places], if the encoding needs drawn positions
}

// NewBatch draws samples of tokens at positions p for each member, from the stream called name of its
// seed.
func NewBatch(m *models.Model, p pe.Positions, samples int, name string) Batch {
	b := Batch{Members: len(m.Config.Seeds), Size: samples, Tokens: p.Tokens(), Positions: p}
	for _, seed := range m.Config.Seeds {
		rng, targets := torchpe.Stream(seed, name), torchpe.Stream(seed, name+" targets")
		for range b.Size {
			for range b.Tokens {
				b.Symbols = append(b.Symbols, rng.Int64N(int64(m.Config.Symbols)))
			}
			b.Probe = append(b.Probe, rng.Int64N(int64(b.Tokens)))
			b.Target = append(b.Target, targets.Int64N(int64(m.Config.Classes)))
		}
		if draw := m.Encoding.Draw(); draw.Range > 0 {
			places := m.Config.Positions.Tokens()
			drawn := make([]float64, b.Size*places)
			draw.Fill(torchpe.Stream(seed, "drawn"), places, drawn)
			b.drawn = append(b.drawn, drawn...)
		}
	}
	return b
}

// Input copies the batch to the model's device.
func (b Batch) Input(s *torchpe.Scope, m *models.Model) models.Input {
	c := m.Config
	in := models.Input{
		Symbols:   torchpe.Of(s, c.Device, b.Symbols, b.Members, b.Size, b.Tokens),
		Probe:     torchpe.Of(s, c.Device, b.Probe, b.Members, b.Size),
		Positions: b.Positions,
	}
	if b.drawn != nil {
		in.Positions.Drawn = torchpe.Of(s, torchpe.CPU, b.drawn, b.Members, b.Size,
			len(b.drawn)/(b.Members*b.Size)).To(c.DType, c.Device)
	}
	return in
}
