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
	Trained                        int       // tokens that it was trained on, where it is built to be evaluated at others; 0 for those
	Sigma                          []float64 // [E] standard deviation of each member's initial learned PE
	Init                           Init      // how learned tables start
	Options                        Options   // as Resolve returned them
}

// HeadWidth returns Dh.
func (c Config) HeadWidth() int { return c.DModel / c.Heads }

// Option is one setting of a scheme, a flag of its own on the command line. Where the paper's text and the published
// code differ, so do its defaults.
type Option struct {
	Name       string // as a flag, without the dashes
	Default    string // in both readings; "" where Text and Code say it
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
	Name       string
	Summary    string // one line
	Title      string // of the paper that Reference names
	Year       int
	Reference  string
	Formula    string // plain text
	Parameters string // how many are trained, as a formula in N, D, H, L, Dh and the options; "none"
	Criteria   Criteria
	Needs      Need
	// MinHeadWidth is the narrowest head Dh that it can use; 0 for any.
	MinHeadWidth int
	// Extrapolates says whether a trained encoding can be evaluated at more tokens than it was trained on, with these options:
	// nothing that is trained or drawn depends on N. nil stands for never.
	Extrapolates func(Options) bool
	Learned      bool // it is initialised with sigma
	Options      []Option
	New          func(Config, *torchpe.ParamSet) (Encoding, error)

	parts []Scheme // of a stack
}

// Criteria are those of Table 1 of Wennberg and Henter 2021 (TISA, arXiv 2106.01950).
type Criteria struct {
	Inductive, DataDriven, ParameterEfficient, TranslationInvariant, Parallelizable, Interpretable bool

	Printed bool // as that table has them; else judged by the same words
}

// Always is an Extrapolates.
func Always(Options) bool { return true }

var registry []Scheme

// Register adds a scheme; for init functions of this package.
func Register(s Scheme) {
	if strings.Contains(s.Name, "+") {
		panic("pe: scheme " + s.Name + ": + joins schemes")
	}
	if _, err := Find(s.Name); err == nil {
		panic("pe: scheme " + s.Name + " registered twice")
	}
	s.Options = slices.Clone(s.Options)
	for i := range s.Options {
		if o := &s.Options[i]; o.Default != "" {
			o.Text, o.Code = o.Default, o.Default
		}
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

// Find returns the scheme called name, or the stack of those that + joins.
func Find(name string) (Scheme, error) {
	if parts := strings.Split(name, "+"); len(parts) > 1 {
		return stackOf(parts)
	}
	for _, s := range registry {
		if s.Name == name {
			return s, nil
		}
	}
	return Scheme{}, fmt.Errorf("positional encoding %q is unknown; there are %s; + stacks them, as in rope+learn", name, strings.Join(Names(), ", "))
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
	if err := s.Fits(c.Positions); err != nil {
		return nil, err
	}
	if c.HeadWidth() < s.MinHeadWidth {
		return nil, fmt.Errorf("%s: the head width %d = %d/%d is less than %d: take fewer heads or a larger d_model",
			s.Name, c.HeadWidth(), c.DModel, c.Heads, s.MinHeadWidth)
	}
	if err := s.checkSigma(c); err != nil {
		return nil, err
	}
	if err := s.CheckInit(c.Init); err != nil {
		return nil, err
	}
	for _, o := range s.Options {
		if err := o.Check(c.Options[o.Name]); err != nil {
			return nil, fmt.Errorf("%s: --%s: %w (Scheme.Resolve fills in what is not given)", s.Name, o.Name, err)
		}
	}
	return s.New(c, ps)
}

// Size is what the number of parameters depends on.
type Size struct{ Tokens, DModel, Heads, Layers int }

// Facts are what a scheme is with certain options at a certain size.
type Facts struct {
	Sites        Site
	Attention    Attention
	Parameters   int // trained ones of one member
	Extrapolates bool
}

// Describe builds the scheme for tokens on the most square grid of their number, and says what it is.
func (s Scheme) Describe(z Size, o Options) (Facts, error) {
	rows := 1
	for i := 1; i*i <= z.Tokens; i++ {
		if z.Tokens%i == 0 {
			rows = i
		}
	}
	ps := torchpe.NewParamSet(1, torchpe.Float32, torchpe.CPU) // never built: nothing is allocated
	e, err := s.Build(Config{
		Members: 1, Layers: z.Layers, Heads: z.Heads, DModel: z.DModel,
		Positions: Grid(rows, z.Tokens/rows), Sigma: []float64{1}, Options: o,
	}, ps)
	if err != nil {
		return Facts{}, err
	}
	return Facts{Sites: e.Sites(), Attention: e.Attention(), Parameters: ps.Count(), Extrapolates: s.CanExtrapolate(o)}, nil
}

// CanExtrapolate says whether a trained encoding can be evaluated at more tokens than it was trained on, with these options.
func (s Scheme) CanExtrapolate(o Options) bool { return s.Extrapolates != nil && s.Extrapolates(o) }

// CheckTokens returns an error where an encoding that was trained on some number of tokens cannot be evaluated at another: it names the
// scheme, of a stack the parts at fault.
func (s Scheme) CheckTokens(trained, now int, o Options) error {
	if now <= trained || s.CanExtrapolate(o) {
		return nil
	}
	tied := s.Name + "'s"
	if s.parts != nil {
		var names []string
		for _, part := range s.parts {
			if !part.CanExtrapolate(o) {
				names = append(names, part.Name+"'s")
			}
		}
		tied = strings.Join(names, " and ")
	}
	hint := "`torchpe pe list --where extrapolates=yes` lists the encodings that can, rope, alibi and t5 among them"
	if s.Extrapolates != nil && s.parts == nil {
		hint = "with other options it can (`torchpe pe show " + s.Name + "`), and " + hint
	}
	return fmt.Errorf("%s cannot be evaluated at %d tokens: it was trained on %d, and %s table is tied to their number; %s",
		s.Name, now, trained, tied, hint)
}

// Fits returns an error where the scheme cannot use such positions.
func (s Scheme) Fits(p Positions) error {
	if err := p.provide(s.Needs); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
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

// CheckInit returns an error where a start is chosen that the scheme has no learned table for.
func (s Scheme) CheckInit(i Init) error {
	if i.Kind != "" && !s.Learned {
		return fmt.Errorf("%s: --pe-init %s: it has no learned table that starts with sigma", s.Name, i)
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

// yesNo is the Check of an option that is on or off.
var yesNo = oneOf("true", "false")

// Options that several schemes share.
var (
	placement = Option{Name: "pe-placement", Text: "input", Code: "block", Check: oneOf("input", "block"),
		Help: "where an absolute PE is added: once at the input, or at the input of every block (own table each)"}
	positionsFrom = Option{Name: "positions-from", Text: "1", Code: "0", Check: oneOf("0", "1"),
		Help: "number of the first position in sinusoids and rotations"}
	fixedDropout = Option{Name: "fixed-pe-dropout", Text: "0", Code: "0.1", Check: number(0, 1),
		Help: "dropout on the sum of token and fixed PE, also at evaluation (as the published code has it)"}
	attentionBias = Option{Name: "attention-bias", Text: "true", Code: "false", Check: yesNo,
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
