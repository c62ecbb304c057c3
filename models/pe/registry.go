package pe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/internal/layers"
	"torchpe/internal/number"
	"torchpe/torchpe"
)

// Config describes the model that a scheme is built for.
type Config struct {
	Members, Layers, Heads, DModel int
	Positions                      Positions
	// number of tokens in training if built for another number, else 0
	Trained int
	Sigma   []float64 // [E] standard deviation of the initial learned PE
	Init    Init      // how learned tables start
	Options Options   // returned by Resolve
	Dropout float64   // on the tables that the scheme adds, in training only
	Local   []bool    // [L] layers with an attention window; nil for none

	scheme  string       // the scheme being built, for errors
	initial torchpe.Init // of learned tables, instead of Init; nil for none
}

// HeadWidth returns Dh.
func (c Config) HeadWidth() int { return c.DModel / c.Heads }

// Scheme is an entry of the registry. About returns its facts.
type Scheme struct {
	Name  string
	Needs Need
	// MinHeadWidth is the smallest head width Dh that it can use; 0 for any.
	MinHeadWidth int
	// Extrapolates reports whether, with these options, a trained encoding can be evaluated at more tokens
	// than in training, because nothing that is trained or drawn depends on N. nil stands for never.
	Extrapolates func(Options) bool
	// Ahead reports whether, with these options, what a token gets depends on later tokens whatever the mask of
	// attention. nil stands for never.
	Ahead   func(Options) bool
	Learned bool // initialised with sigma
	Options []Option
	New     func(Config, *torchpe.ParamSet) (Encoding, error)

	parts  []part      // of a stack
	layers layers.List // layers of the parts
}

// Always returns true: what holds with all options.
func Always(Options) bool { return true }

var registry []Scheme

// Register adds a scheme with its options, and returns it.
func Register(s Scheme, options ...Option) Scheme {
	if strings.ContainsAny(s.Name, "+@*,()") {
		panic("pe: scheme " + s.Name + ": + stacks schemes, and @*,() assign them to layers")
	}
	if slices.Contains(Names(), s.Name) {
		panic("pe: scheme " + s.Name + " registered twice")
	}
	s.Options = slices.Concat(s.Options, options)
	registry = append(registry, s)
	slices.SortFunc(registry, func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Schemes lists the registry by name.
func Schemes() []Scheme { return slices.Clone(registry) }

// Names lists the names of the schemes.
func Names() []string { return namesOf(registry) }

func namesOf(schemes []Scheme) []string {
	names := make([]string, len(schemes))
	for i, s := range schemes {
		names[i] = s.Name
	}
	return names
}

// Find returns the scheme called name, or a stack: schemes joined by +, or assigned to layers as in
// rope@1-3,nope@4 and rope*3,nope.
func Find(name string) (Scheme, error) {
	if name == "" {
		return findOne(name)
	}
	list, err := layers.Parse(name)
	switch {
	case err != nil:
		return Scheme{}, fmt.Errorf("positional encoding %w", err)
	case layers.Differ(name) || strings.Contains(name, "+"):
		return stackOf(name, list)
	case strings.Contains(name, "("):
		return Scheme{}, fmt.Errorf("positional encoding %q: parentheses are for encodings that differ between "+
			"layers; give the options as flags", name)
	}
	return findOne(name)
}

// findOne returns the scheme of the registry called name.
func findOne(name string) (Scheme, error) {
	for _, s := range registry {
		if s.Name == name {
			return s, nil
		}
	}
	return Scheme{}, fmt.Errorf("positional encoding %q is unknown%s", name, hint(name))
}

// Resolve returns the value of every option of the scheme: the given one, or the default of the
// reading ("text" or "code"). Equal numbers have the same text: 10000 for 1e4. It ignores given options
// of other schemes. A bad value is an error, and so is an option that no scheme has.
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
		resolved[o.Name] = number.Canonical(v)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !isOption(name) {
			bad = append(bad, fmt.Sprintf("--%s: no encoding has this option", name))
		}
	}
	if bad != nil {
		return nil, fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return resolved, nil
}

// Stored returns resolved options for configurations: without [Option.Later] ones at their default.
// Resolve restores these.
func (s Scheme) Stored(fidelity string, resolved Options) Options {
	stored := maps.Clone(resolved)
	for _, o := range s.Options {
		value := o.Code
		if fidelity == "text" {
			value = o.Text
		}
		if o.Later && resolved[o.Name] == value {
			delete(stored, o.Name)
		}
	}
	return stored
}

// isOption reports whether any scheme has an option of this name.
func isOption(name string) bool {
	return slices.ContainsFunc(registry, func(s Scheme) bool {
		return slices.ContainsFunc(s.Options, func(o Option) bool { return o.Name == name })
	})
}

// Build checks the configuration and builds the scheme's encoding. It declares the parameters in ps.
func (s Scheme) Build(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if err := c.Positions.validate(); err != nil {
		return nil, err
	}
	if c.Members < 1 || c.Layers < 1 || c.Heads < 1 || c.DModel < 1 || c.DModel%c.Heads != 0 {
		return nil, fmt.Errorf("%s: members %d, layers %d, heads %d, d_model %d: "+
			"all must be positive and d_model divisible by heads",
			s.Name, c.Members, c.Layers, c.Heads, c.DModel)
	}
	if err := s.Fits(c.Positions); err != nil {
		return nil, err
	}
	if c.HeadWidth() < s.MinHeadWidth {
		return nil, fmt.Errorf("%s: the head width %d = %d/%d is less than %d: use fewer heads "+
			"or a larger d_model",
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
			return nil, fmt.Errorf("%s: --%s: %w (Scheme.Resolve sets defaults)", s.Name, o.Name, err)
		}
	}
	if err := s.CheckDropout(c.Dropout); err != nil {
		return nil, err
	}
	c.scheme = s.Name
	e, err := s.New(c, ps)
	if err == nil && c.Dropout > 0 && sitesIn(e, c.Layers)&AtEmbed == 0 {
		return nil, fmt.Errorf("--pe-dropout: %s adds no learned table", s.Name)
	}
	return e, err
}

// Size holds the sizes on which the number of parameters depends.
type Size struct{ Tokens, DModel, Heads, Layers int }

// Facts describe a scheme with given options at a given size.
type Facts struct {
	Sites        Site      // of all layers
	Attention    Attention // of the first layer
	Causal       bool      // whether attention is causal in a layer
	Parameters   int       // trained parameters per member
	Extrapolates bool
}

// Describe builds the scheme for tokens on the most square grid and returns its facts.
func (s Scheme) Describe(z Size, o Options) (Facts, error) {
	ps := torchpe.NewParamSet(1, torchpe.Float32, torchpe.CPU) // never allocated
	e, err := s.Build(Config{
		Members: 1, Layers: z.Layers, Heads: z.Heads, DModel: z.DModel,
		Positions: SquareGrid(z.Tokens), Sigma: []float64{1}, Options: o,
	}, ps)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Sites: sitesIn(e, z.Layers), Attention: e.Attention(0), Parameters: ps.Count(),
		Extrapolates: s.CanExtrapolate(o)}
	for layer := range z.Layers {
		f.Causal = f.Causal || e.Attention(layer).Causal
	}
	return f, nil
}

// CanExtrapolate reports whether, with these options, a trained encoding can be evaluated at more
// tokens than in training.
func (s Scheme) CanExtrapolate(o Options) bool { return s.Extrapolates != nil && s.Extrapolates(o) }

// LooksAhead reports Ahead.
func (s Scheme) LooksAhead(o Options) bool { return s.Ahead != nil && s.Ahead(o) }

// CheckTokens returns an error if an encoding that was trained on some number of tokens cannot be
// evaluated at another number. The error names the scheme, and the parts of a stack that cannot.
func (s Scheme) CheckTokens(trained, now int, o Options) error {
	if now <= trained || s.CanExtrapolate(o) {
		return nil
	}
	tied := s.Name + "'s"
	if s.IsStack() {
		var names []string
		for _, part := range s.parts {
			if !part.CanExtrapolate(part.options(o)) {
				names = append(names, part.Name+"'s")
			}
		}
		tied = strings.Join(names, " and ")
	}
	hint := "`torchpe pe list --where extrapolates=yes` lists the encodings that can, " +
		"rope, alibi and t5 among them"
	if s.Extrapolates != nil && !s.IsStack() {
		hint = "with other options it can (`torchpe pe show " + s.Name + "`), and " + hint
	}
	return fmt.Errorf("%s cannot be evaluated at %d tokens: it was trained on %d, "+
		"and %s table is tied to their number; %s", s.Name, now, trained, tied, hint)
}

// Fits returns an error if the scheme cannot use such positions.
func (s Scheme) Fits(p Positions) error {
	if err := p.provide(s.Needs); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// checkSigma checks that each member of a scheme that starts with sigma has a standard deviation.
func (s Scheme) checkSigma(c Config) error {
	if !s.Learned || c.Sigma == nil && !c.Init.UsesSigma() {
		return nil
	}
	if len(c.Sigma) != c.Members {
		return fmt.Errorf("%s: %d values of sigma for %d members", s.Name, len(c.Sigma), c.Members)
	}
	for e, sigma := range c.Sigma {
		if !(sigma >= 0) || math.IsInf(sigma, 1) {
			return fmt.Errorf("%s: sigma %g of member %d: a standard deviation must be finite and not negative",
				s.Name, sigma, e)
		}
	}
	return nil
}

// CheckDropout returns an error if the elements of a learned table cannot be dropped with
// probability p.
func (s Scheme) CheckDropout(p float64) error {
	switch {
	case !(p >= 0 && p < 1):
		return fmt.Errorf("--pe-dropout: %g is not in [0, 1)", p)
	case p > 0 && !s.Learned:
		return fmt.Errorf("--pe-dropout: %s has no learned table that starts with sigma", s.Name)
	}
	return nil
}

// CheckInit returns an error if an Init is chosen but the scheme has no learned table.
func (s Scheme) CheckInit(i Init) error {
	if i.Kind != "" && !s.Learned {
		return fmt.Errorf("%s: --pe-init %s: it has no learned table that starts with sigma", s.Name, i)
	}
	return nil
}
