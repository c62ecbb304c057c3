package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// The kinds of values.
const (
	Table  = "table"  // what is added to the input of a block, [N,D]
	Bias   = "bias"   // what the scheme makes of logits that are zero, of inputs that are zero, [H,N,N]
	Query  = "q"      // given queries as the scheme leaves them, [H,N,Dh]
	Key    = "k"      // given keys as the scheme leaves them, [H,N,Dh]
	Logits = "logits" // of given queries and keys, before mask, temperature and softmax, [H,N,N]
)

// Kinds lists the kinds of values.
func Kinds() []string { return []string{Table, Bias, Query, Key, Logits} }

// Instance is a scheme with its parameters, in float64 on the CPU. Close it.
type Instance struct {
	Scheme    pe.Scheme
	Setting   Setting
	Positions pe.Positions

	encoding pe.Encoding
	params   *torchpe.ParamSet
	seed     uint64
}

// Build makes an instance with its initial parameters: those with which a member of a run starts that has that sigma and seed, but in
// float64.
func Build(scheme pe.Scheme, s Setting, at pe.Positions, sigma float64, seed uint64) (*Instance, error) {
	options, err := s.Options(scheme)
	if err != nil {
		return nil, err
	}
	i := &Instance{Scheme: scheme, Setting: s, Positions: at, seed: seed, params: torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)}
	i.encoding, err = scheme.Build(pe.Config{
		Members: 1, Layers: s.Layers, Heads: s.Heads, DModel: s.DModel, Positions: at, Sigma: []float64{sigma}, Options: options,
	}, i.params)
	if err != nil {
		return nil, err
	}
	if err := i.params.Build([]uint64{seed}); err != nil {
		i.params.Close()
		return nil, err
	}
	return i, nil
}

// Close frees the parameters.
func (i *Instance) Close() { i.params.Close() }

// Sites says where the scheme acts.
func (i *Instance) Sites() pe.Site { return i.encoding.Sites() }

// Set replaces parameters by arrays of their names, with or without "pe.". They may lie as in a checkpoint, which has an axis of members
// in front, of which member is taken. Every parameter that is trained must be there; names that are no parameter of the scheme are an
// error, but those of other parts of a model.
func (i *Instance) Set(given []array.Array, member int) error {
	left := map[string]bool{}
	for _, p := range i.params.All() {
		if p.Trainable {
			left[p.Name] = true
		}
	}
	for _, a := range given {
		a.Name = strings.TrimPrefix(a.Name, "w/") // in a checkpoint
		p := i.params.Get(a.Name)
		if p == nil {
			p = i.params.Get("pe." + a.Name)
		}
		if p == nil {
			if ours := strings.HasPrefix(a.Name, "pe.") || !strings.ContainsAny(a.Name, "./"); ours {
				return fmt.Errorf("%s is no parameter of %s, which has %s", a.Name, i.Scheme.Name, i.Parameters())
			}
			continue
		}
		want, data := p.Shape[1:], a.Data
		switch {
		case slices.Equal(a.Shape, want):
		case len(a.Shape) == 0 || !slices.Equal(a.Shape[1:], want):
			return fmt.Errorf("%s has shape %v, want %v", p.Name, a.Shape, want)
		case member < 0 || member >= a.Shape[0]:
			return fmt.Errorf("%s has members 0 to %d, and not %d", p.Name, a.Shape[0]-1, member)
		default:
			each := p.PerMember()
			data = data[member*each : (member+1)*each]
		}
		if err := i.params.Set(p.Name, data); err != nil {
			return err
		}
		delete(left, p.Name)
	}
	for _, p := range i.params.All() {
		if left[p.Name] {
			return fmt.Errorf("%s is missing: %s has %s", p.Name, i.Scheme.Name, i.Parameters())
		}
	}
	return nil
}

// Parameters lists the names and shapes of all parameters, in one line.
func (i *Instance) Parameters() string {
	var all []string
	for _, p := range i.params.All() {
		text := fmt.Sprintf("%s %v", p.Name, p.Shape[1:])
		if !p.Trainable {
			text += " (computed)"
		}
		all = append(all, text)
	}
	if all == nil {
		return "no parameters"
	}
	return strings.Join(all, ", ")
}

// Want is what Values returns.
type Want struct {
	Kind  string // one of Kinds; "" for what the scheme has: a table, or a bias, or logits where Q and K are given
	Layer int
	Q, K  array.Array // queries and keys [H,N,Dh], or [N,D] with the heads side by side; none where Data is nil
}

// Values computes what is wanted and says which kind it is.
func (i *Instance) Values(w Want) (out array.Array, kind string, err error) {
	if w.Layer < 0 || w.Layer >= i.Setting.Layers {
		return out, "", fmt.Errorf("layer %d: there are layers 0 to %d", w.Layer, i.Setting.Layers-1)
	}
	if kind, err = i.kind(w); err != nil {
		return out, kind, err
	}
	for _, in := range []*array.Array{&w.Q, &w.K} {
		if in.Data != nil {
			if *in, err = i.byHeads(*in); err != nil {
				return out, kind, err
			}
		}
	}
	caught := torchpe.Catch(func() {
		s := torchpe.NewScopeNoGrad()
		defer s.Close()
		s.Seed([]uint64{i.seed}, 0)
		out, err = i.compute(s, w, kind)
	})
	if caught != nil {
		return out, kind, fmt.Errorf("%s: %w", i.Scheme.Name, caught)
	}
	return out, kind, err
}

// kind returns the kind that is wanted, or an error where the scheme has none such.
func (i *Instance) kind(w Want) (string, error) {
	sites, name := i.Sites(), i.Scheme.Name
	given := w.Q.Data != nil && w.K.Data != nil
	kind := w.Kind
	if kind == "" {
		switch {
		case given:
			kind = Logits
		case sites&pe.AtEmbed != 0:
			kind = Table
		case sites&pe.AtLogits != 0:
			kind = Bias
		case w.Q.Data != nil:
			kind = Query
		case w.K.Data != nil:
			kind = Key
		case sites&pe.AtQK != 0:
			return "", fmt.Errorf("%s acts on %v: give queries and keys", name, sites)
		case sites == 0:
			return "", fmt.Errorf("%s acts nowhere: it has no values", name)
		default:
			return "", fmt.Errorf("%s acts on %v: it has no values of its own", name, sites)
		}
	}
	switch {
	case !slices.Contains(Kinds(), kind):
		return "", fmt.Errorf("kind of values %q is unknown; there are %s", kind, strings.Join(Kinds(), ", "))
	case kind == Table && sites&pe.AtEmbed == 0:
		return "", fmt.Errorf("%s has no table: it acts on %v", name, sites)
	case kind == Bias && sites&pe.AtLogits == 0:
		return "", fmt.Errorf("%s has no bias: it acts on %v", name, sites)
	case kind == Logits && !given:
		return "", fmt.Errorf("logits need queries and keys")
	case kind == Query && w.Q.Data == nil:
		return "", fmt.Errorf("q needs queries")
	case kind == Key && w.K.Data == nil:
		return "", fmt.Errorf("k needs keys")
	}
	return kind, nil
}

// byHeads returns queries or keys as [H,N,Dh].
func (i *Instance) byHeads(a array.Array) (array.Array, error) {
	h, n, dh := i.Setting.Heads, i.Positions.Tokens(), i.Setting.DModel/i.Setting.Heads
	if slices.Equal(a.Shape, []int{h, n, dh}) {
		return a, nil
	}
	if !slices.Equal(a.Shape, []int{n, h * dh}) {
		return a, fmt.Errorf("queries or keys have shape %v, want [H,N,Dh] = [%d,%d,%d] or [N,D] = [%d,%d]", a.Shape, h, n, dh, n, h*dh)
	}
	sorted := array.Array{Shape: []int{h, n, dh}}
	for head := range h {
		for token := range n {
			at := token*h*dh + head*dh
			sorted.Data = append(sorted.Data, a.Data[at:at+dh]...)
		}
	}
	return sorted, nil
}

// compute runs the hooks.
func (i *Instance) compute(s *torchpe.Scope, w Want, kind string) (array.Array, error) {
	h, n, d := i.Setting.Heads, i.Positions.Tokens(), i.Setting.DModel
	dh := d / h
	zeros := func(shape ...int) torchpe.Tensor { return torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, shape...) }
	hooks := i.encoding.Begin(s, i.drawn(s))
	if kind == Table {
		t, ok := hooks.Table(w.Layer)
		if !ok && w.Layer > 0 {
			return array.Array{}, fmt.Errorf("%s adds no table in layer %d", i.Scheme.Name, w.Layer)
		}
		if !ok {
			return array.Array{}, fmt.Errorf("%s adds no table: what it adds depends on the input", i.Scheme.Name)
		}
		return array.Array{Shape: []int{n, d}, Data: t.Float64s()}, nil
	}
	a := pe.Attn{Layer: w.Layer, X: zeros(1, 1, n, d), Scale: i.encoding.Attention().LogitScale(dh)}
	in := func(x array.Array) torchpe.Tensor {
		if x.Data == nil || kind == Bias {
			return zeros(1, 1, h, n, dh)
		}
		return torchpe.Of(s, torchpe.CPU, x.Data, 1, 1, h, n, dh)
	}
	a.Q, a.K, a.V = in(w.Q), in(w.K), zeros(1, 1, h, n, dh)
	a.Project = func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
		if kind != Bias {
			panic(&torchpe.Error{Op: "project", Msg: "it projects positions by the weights of the layer, which queries and keys do not say"})
		}
		z := zeros(1, y.Size(1), h, y.Size(2), dh)
		return z, z, z
	}
	a.Q, a.K, a.V = hooks.QKV(a)
	switch kind {
	case Query:
		return array.Array{Shape: []int{h, n, dh}, Data: a.Q.Contiguous().Float64s()}, nil
	case Key:
		return array.Array{Shape: []int{h, n, dh}, Data: a.K.Contiguous().Float64s()}, nil
	}
	logits := hooks.Logits(a, torchpe.AttentionLogits(a.Q, a.K, a.Scale))
	return array.Array{Shape: []int{h, n, n}, Data: logits.Expand(1, 1, h, n, n).Contiguous().Float64s()}, nil
}

// drawn returns the positions, with some drawn from the seed where the scheme wants them.
func (i *Instance) drawn(s *torchpe.Scope) pe.Positions {
	p := i.Positions
	if sampler, ok := i.encoding.(pe.Sampler); ok {
		out := make([]float64, p.Tokens())
		pe.DrawPositions(torchpe.Stream(i.seed, "positions"), len(out), sampler.MaxPosition(), out)
		p.Drawn = torchpe.Of(s, torchpe.CPU, out, 1, 1, len(out))
	}
	return p
}

// Place returns the positions that a text names: "grid" (the most square one of n tokens), "line", or sizes as in 4x4 and 2x4x4.
func Place(text string, n int) (pe.Positions, error) {
	switch text {
	case "line":
		return pe.Line(n), nil
	case "grid":
		rows := 1
		for i := 1; i*i <= n; i++ {
			if n%i == 0 {
				rows = i
			}
		}
		return pe.Grid(rows, n/rows), nil
	}
	sizes, product := []int{}, 1
	for _, part := range strings.Split(text, "x") {
		var size int
		if _, err := fmt.Sscanf(part, "%d", &size); err != nil || size < 1 || size > 1<<20 || fmt.Sprint(size) != part {
			return pe.Positions{}, fmt.Errorf("positions %q: want line, grid, sizes as in 4x4 or 2x4x4, or a file", text)
		}
		sizes = append(sizes, size)
		product *= size
	}
	if product != n {
		return pe.Positions{}, fmt.Errorf("positions %q are %d, and there are %d tokens", text, product, n)
	}
	switch len(sizes) {
	case 1:
		return pe.Line(n), nil
	case 2:
		return pe.Grid(sizes[0], sizes[1]), nil
	case 3:
		return pe.Box(sizes[0], sizes[1], sizes[2]), nil
	}
	return pe.Positions{}, fmt.Errorf("positions %q: at most three axes", text)
}
