package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

// Config is what a scheme is built for.
type Config struct {
	Members, Layers, Heads, DModel int
	Positions                      Positions // of the tokens it will see
	Sigma                          []float64 // [E] standard deviation of each member's initial learned PE
	Options                        Options   // as Resolve returned them
}

// HeadWidth returns Dh.
func (c Config) HeadWidth() int { return c.DModel / c.Heads }

// Option is one setting of a scheme, a flag of its own on the command line. Where the paper's text and the published
// code differ, so do its defaults.
type Option struct {
	Name       string // as a flag, without the dashes
	Text, Code string // defaults in the two readings
	Help       string
	Check      func(value string) error
}

// Options are a scheme's settings by name; every option of the scheme has a valid value once resolved.
type Options map[string]string

// Text returns a setting.
func (o Options) Text(name string) string { return o[name] }

// Float returns a numeric setting.
func (o Options) Float(name string) float64 {
	v, _ := strconv.ParseFloat(o[name], 64)
	return v
}

// Int returns a whole-number setting.
func (o Options) Int(name string) int {
	v, _ := strconv.Atoi(o[name])
	return v
}

// Bool returns a yes/no setting.
func (o Options) Bool(name string) bool { return o[name] == "true" }

// Scheme is an entry of the registry.
type Scheme struct {
	Name      string
	Summary   string // one line
	Reference string
	Learned   bool // it is initialised with sigma
	Options   []Option
	New       func(Config, *torchpe.ParamSet) (Encoding, error)
}

var registry []Scheme

// Register adds a scheme; for init functions of this package.
func Register(s Scheme) {
	if _, err := Find(s.Name); err == nil {
		panic("pe: scheme " + s.Name + " registered twice")
	}
	registry = append(registry, s)
	slices.SortFunc(registry, func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) })
}

// Schemes lists the registry by name.
func Schemes() []Scheme { return slices.Clone(registry) }

// Names lists the names of the schemes.
func Names() []string {
	names := make([]string, len(registry))
	for i, s := range registry {
		names[i] = s.Name
	}
	return names
}

// Find returns the scheme called name.
func Find(name string) (Scheme, error) {
	for _, s := range registry {
		if s.Name == name {
			return s, nil
		}
	}
	return Scheme{}, fmt.Errorf("positional encoding %q is unknown; there are %s", name, strings.Join(Names(), ", "))
}

// Resolve returns the value of every option of the scheme: the given one, or the default of the reading ("text" or
// "code"). Options of other schemes among the given ones are ignored; a bad value is an error.
func (s Scheme) Resolve(fidelity string, given Options) (Options, error) {
	if fidelity != "text" && fidelity != "code" {
		return nil, fmt.Errorf("reading %q is unknown; it is code or text", fidelity)
	}
	resolved := Options{}
	var bad []string
	for _, o := range s.Options {
		v, ok := given[o.Name]
		if !ok {
			v = o.Code
			if fidelity == "text" {
				v = o.Text
			}
		}
		if err := o.Check(v); err != nil {
			bad = append(bad, fmt.Sprintf("--%s: %v", o.Name, err))
		}
		resolved[o.Name] = v
	}
	if bad != nil {
		return nil, fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return resolved, nil
}

// Build checks the configuration and makes the scheme's encoding, declaring its parameters in ps.
func (s Scheme) Build(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if err := c.Positions.validate(); err != nil {
		return nil, err
	}
	if c.Members < 1 || c.Layers < 1 || c.Heads < 1 || c.DModel < 1 || c.DModel%c.Heads != 0 {
		return nil, fmt.Errorf("%s: members %d, layers %d, heads %d, d_model %d: all must be positive and d_model divisible by heads",
			s.Name, c.Members, c.Layers, c.Heads, c.DModel)
	}
	if err := s.checkSigma(c); err != nil {
		return nil, err
	}
	for _, o := range s.Options {
		if err := o.Check(c.Options[o.Name]); err != nil {
			return nil, fmt.Errorf("%s: --%s: %w (Scheme.Resolve fills in what is not given)", s.Name, o.Name, err)
		}
	}
	return s.New(c, ps)
}

// checkSigma checks that each member of a learned scheme has a standard deviation.
func (s Scheme) checkSigma(c Config) error {
	if !s.Learned {
		return nil
	}
	if len(c.Sigma) != c.Members {
		return fmt.Errorf("%s: %d values of sigma for %d members", s.Name, len(c.Sigma), c.Members)
	}
	for e, sigma := range c.Sigma {
		if !(sigma >= 0) || math.IsInf(sigma, 1) {
			return fmt.Errorf("%s: sigma %g of member %d: a standard deviation is finite and not negative", s.Name, sigma, e)
		}
	}
	return nil
}

// oneOf checks that a value is among those listed.
func oneOf(values ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(values, v) {
			return fmt.Errorf("%q is not one of %s", v, strings.Join(values, ", "))
		}
		return nil
	}
}

// number checks that a value is a number in [low, high).
func number(low, high float64) func(string) error {
	return func(v string) error {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(x) || x < low || x >= high {
			return fmt.Errorf("%q is not a number in [%g, %g)", v, low, high)
		}
		return nil
	}
}

// whole checks that a value is a whole number from low to high.
func whole(low, high int) func(string) error {
	return func(v string) error {
		if x, err := strconv.Atoi(v); err != nil || x < low || x > high {
			return fmt.Errorf("%q is not a whole number from %d to %d", v, low, high)
		}
		return nil
	}
}

// Options that several schemes share.
var (
	placement = Option{Name: "pe-placement", Text: "input", Code: "block", Check: oneOf("input", "block"),
		Help: "where an absolute PE is added: once at the input, or at the input of every block (own table each)"}
	positionsFrom = Option{Name: "positions-from", Text: "1", Code: "0", Check: oneOf("0", "1"),
		Help: "number of the first position in sinusoids and rotations"}
	fixedDropout = Option{Name: "fixed-pe-dropout", Text: "0", Code: "0.1", Check: number(0, 1),
		Help: "dropout on the sum of token and fixed PE, also at evaluation (as the published code has it)"}
	attentionBias = Option{Name: "attention-bias", Text: "true", Code: "false", Check: oneOf("true", "false"),
		Help: "biases in the projections of attention"}
	attentionInit = Option{Name: "attention-init", Text: "xavier", Code: "linear", Check: oneOf("xavier", "linear"),
		Help: "initial projections of attention: Xavier (torch.nn.MultiheadAttention) or as a plain linear map"}
)

// tablesFor returns how many tables an absolute PE has in its placement: one, or one a layer.
func tablesFor(c Config) int {
	if c.Options.Text(placement.Name) == "input" {
		return 1
	}
	return c.Layers
}
