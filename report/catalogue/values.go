package catalogue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// The kinds of values.
const (
	kindTable   = "table"   // added to the input of a block, [N,D]
	kindBias    = "bias"    // output of the Logits hook for logits and inputs of zero, [H,N,N]
	kindInput   = "x"       // output of the Embed hook for given embeddings, [N,D]
	kindQuery   = "q"       // output of the QKV hook for given queries, [H,N,Dh]
	kindKey     = "k"       // output of the QKV hook for given keys, [H,N,Dh]
	kindValue   = "v"       // output of the QKV hook for given values, [H,N,Dh]
	kindLogits  = "logits"  // of given queries and keys, before mask, temperature and softmax, [H,N,N]
	kindWeights = "weights" // attention weights, of zero logits if none are given, [H,N,N]
)

// Kinds lists the kinds of values.
func Kinds() []string {
	return []string{kindTable, kindBias, kindInput, kindQuery, kindKey, kindValue, kindLogits, kindWeights}
}

// Instance is a scheme with its parameters, in float64 on the CPU. Close it.
type Instance struct {
	Scheme    pe.Scheme
	Setting   Setting
	Positions pe.Positions
	X         array.Array // embeddings [N,D] for drawn responses; not given if Data is nil

	encoding pe.Encoding
	options  pe.Options // every option of the scheme
	params   *torchpe.ParamSet
	seed     uint64
	weights  map[string][]float64 // given projections by their names in a checkpoint
}

// Start determines the initial parameters.
type Start struct {
	Sigma float64
	Seed  uint64
}

// Build returns an instance with the initial parameters of a run's member, in float64.
func Build(scheme pe.Scheme, s Setting, at pe.Positions, from Start) (*Instance, error) {
	options, err := s.options(scheme)
	if err == nil {
		err = s.graphFits(scheme)
	}
	if err != nil {
		return nil, err
	}
	i := &Instance{Scheme: scheme, Setting: s, Positions: at, options: options, seed: from.Seed,
		params: torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)}
	i.encoding, err = scheme.Build(pe.Config{
		Members: 1, Layers: s.Layers, Heads: s.Heads, DModel: s.DModel, Positions: at,
		Sigma: []float64{from.Sigma}, Options: options,
	}, i.params)
	if err != nil {
		return nil, err
	}
	if err := i.params.Build([]uint64{from.Seed}); err != nil {
		i.params.Close()
		return nil, err
	}
	return i, nil
}

// Close frees the parameters.
func (i *Instance) Close() { i.params.Close() }

// Model returns a model that consists of the scheme and its parameters only.
func (i *Instance) Model() *models.Model {
	s := i.Setting
	return &models.Model{
		Config: models.Config{
			Transformer: arch.Transformer{Layers: s.Layers, Heads: s.Heads, DModel: s.DModel},
			Positions:   i.Positions, PE: i.Scheme.Name, PEOptions: i.options,
		},
		Params: i.params, Encoding: i.encoding,
	}
}

// Set replaces parameters by arrays with their names, with or without "pe.". From arrays of a checkpoint, which
// have a leading axis of members, it takes one member. Every trained parameter must be given. Set ignores names
// of other parts of a model, and returns an error for unknown names.
func (i *Instance) Set(given []array.Array, member int) error {
	left := map[string]bool{}
	for _, p := range i.params.All() {
		if p.Trainable {
			left[p.Name] = true
		}
	}
	for _, a := range given {
		if a.Name == "" && len(given) == 1 {
			return fmt.Errorf("the array has no name: %s has %s; want a .safetensors or .npz "+
				"file whose arrays have these names", i.Scheme.Name, i.Parameters())
		}
		p := i.parameter(a.Name)
		a.Name = runlog.ParameterOf(a.Name)
		if strings.HasSuffix(a.Name, projectionWeight) || strings.HasSuffix(a.Name, projectionBias) {
			if err := i.setProjection(a, member); err != nil {
				return err
			}
			continue
		}
		if p == nil {
			if ours := strings.HasPrefix(a.Name, "pe.") || !strings.ContainsAny(a.Name,
				"./"); ours {
				return fmt.Errorf("%s is not a parameter of %s, which has %s",
					a.Name, i.Scheme.Name, i.Parameters())
			}
			continue
		}
		data, err := ofMember(a, p.Name, p.Shape[1:], member)
		if err != nil {
			return err
		}
		if err := i.checkComputed(p, data); err != nil {
			return err
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

// checkComputed returns an error if the numbers given for a computed parameter differ from those of this
// instance.
func (i *Instance) checkComputed(p *torchpe.Param, given []float64) error {
	own, err := i.params.Values(p.Name)
	isRounding := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*max(1, math.Abs(a)) }
	if err != nil || slices.EqualFunc(own, given, isRounding) {
		return err
	}
	if computed, err := i.isComputed(p); err != nil || !computed {
		return err
	}
	return fmt.Errorf("%s is computed from positions and options, but the file has other numbers: give its "+
		"--positions and options, or leave %s out of the file", p.Name, p.Name)
}

// isComputed reports whether positions and options determine a parameter, so that it does not depend on the
// seed.
func (i *Instance) isComputed(p *torchpe.Param) (bool, error) {
	if p.Trainable {
		return false, nil
	}
	other, err := Build(i.Scheme, i.Setting, i.Positions, Start{Seed: i.seed + 1})
	if err != nil {
		return false, err
	}
	defer other.Close()
	own, err := i.params.Values(p.Name)
	if err != nil {
		return false, err
	}
	again, err := other.params.Values(p.Name)
	return slices.Equal(again, own), err
}

// parameter returns the parameter with the name of an array in a file, or nil.
func (i *Instance) parameter(array string) *torchpe.Param {
	if p := i.params.Get(runlog.ParameterOf(array)); p != nil {
		return p
	}
	return i.params.Get("pe." + runlog.ParameterOf(array))
}

// ofMember returns the finite numbers of an array of the wanted shape, or of one member of an array that has a
// leading axis of members.
func ofMember(a array.Array, name string, want []int, member int) ([]float64, error) {
	data := a.Data
	switch {
	case slices.Equal(a.Shape, want) && member != 0:
		return nil, fmt.Errorf("%s has shape %v, the numbers of one model: there is no member %d", name, a.Shape,
			member)
	case slices.Equal(a.Shape, want):
	case len(a.Shape) == 0 || !slices.Equal(a.Shape[1:], want):
		return nil, fmt.Errorf("%s has shape %v, want %v", name, a.Shape, want)
	case member < 0 || member >= a.Shape[0]:
		return nil, fmt.Errorf("%s has members 0 to %d, not %d", name, a.Shape[0]-1, member)
	default:
		each := len(data) / a.Shape[0]
		data = data[member*each : (member+1)*each]
	}
	if err := finite(data, want); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// Suffixes of the names of the projections to queries, keys and values in a checkpoint.
const (
	projectionWeight = "attn.in.weight" // [3D,D]
	projectionBias   = "attn.in.bias"   // [3D]
)

// projection returns the name of a layer's projections.
func projection(layer int, name string) string { return fmt.Sprintf("block%d.%s", layer, name) }

// setProjection stores the weights or biases of projections. block0.attn.in.weight belongs to layer 0,
// attn.in.weight to all layers.
func (i *Instance) setProjection(a array.Array, member int) error {
	d := i.Setting.DModel
	want := []int{3 * d, d}
	if strings.HasSuffix(a.Name, projectionBias) {
		want = want[:1]
	}
	data, err := ofMember(a, a.Name, want, member)
	if err != nil {
		return err
	}
	if i.weights == nil {
		i.weights = map[string][]float64{}
	}
	for layer := range i.Setting.Layers {
		if a.Name == projectionWeight || a.Name == projectionBias {
			i.weights[projection(layer, a.Name)] = data
		}
	}
	i.weights[a.Name] = data
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

// Want selects the values that Values returns.
type Want struct {
	Kind  string // one of Kinds; "" for the kind that suits the scheme and the given arrays
	Layer int
	// Embeddings [N,D]; queries, keys and values [H,N,Dh], or [N,D] with the heads side by side. They are
	// not given if Data is nil. Queries, keys and values are then projected from the embeddings, if Set
	// was given the weights of the layer.
	X, Q, K, V array.Array

	identity bool // projections are the identity
}

// Values computes the selected values and returns their kind.
func (i *Instance) Values(w Want) (out array.Array, kind string, err error) {
	if w.Layer < 0 || w.Layer >= i.Setting.Layers {
		return out, "", fmt.Errorf("layer %d: there are layers 0 to %d",
			w.Layer, i.Setting.Layers-1)
	}
	if kind, err = i.kind(w); err != nil {
		return out, kind, err
	}
	if slices.Contains([]string{kindBias, kindLogits, kindWeights}, kind) {
		if err = pairsFit(i.Positions.Tokens(), i.Setting.Heads+1); err != nil { // one for all heads
			return out, kind, err
		}
	}
	if n, d := i.Positions.Tokens(), i.Setting.DModel; w.X.Data != nil &&
		!slices.Equal(w.X.Shape, []int{n, d}) {
		return out, kind, fmt.Errorf("embeddings have shape %v, want [N,D] = [%d,%d]",
			w.X.Shape, n, d)
	}
	for _, in := range []*array.Array{&w.Q, &w.K, &w.V} {
		shape, h, n, dh := in.Shape, i.Setting.Heads, i.Positions.Tokens(), i.Setting.headWidth()
		if *in = i.Setting.headed(*in); in.Data != nil && !slices.Equal(in.Shape, []int{h, n, dh}) {
			return out, kind, fmt.Errorf("queries or keys have shape %v, want [H,N,Dh] = [%d,%d,%d] or "+
				"[N,D] = [%d,%d]", shape, h, n, dh, n, h*dh)
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

// Idle returns the name of a given input, a letter of xqkv, that does not affect the values of a kind, or "".
func (i *Instance) Idle(w Want, kind string, values array.Array) string {
	w.Kind = kind
	rng := rand.New(rand.NewPCG(20, 26))
	for k, in := range []*array.Array{&w.X, &w.Q, &w.K, &w.V} {
		if in.Data == nil {
			continue
		}
		was := in.Data
		in.Data = make([]float64, len(was))
		for at := range in.Data {
			in.Data[at] = rng.NormFloat64()
		}
		got, _, err := i.Values(w)
		if in.Data = was; err == nil && slices.Equal(got.Data, values.Data) {
			return "xqkv"[k : k+1]
		}
	}
	return ""
}

// kind returns the wanted kind, or an error if the scheme has no such values.
func (i *Instance) kind(w Want) (string, error) {
	sites, name := i.encoding.Sites(w.Layer), i.Scheme.Name
	projected := w.X.Data != nil && i.weights[projection(w.Layer, projectionWeight)] != nil
	kind := w.Kind
	if kind == "" {
		var err error
		if kind, err = i.defaultKind(w, projected); err != nil {
			return "", err
		}
	}
	missing := func(what string) error {
		return fmt.Errorf("%s; or --x with --params that hold %s, as in a run's checkpoint",
			what, projection(w.Layer, projectionWeight))
	}
	pair := w.Q.Data != nil && w.K.Data != nil || projected ||
		w.X.Data != nil && i.encoding.Attention(w.Layer).Replaces
	switch {
	case !slices.Contains(Kinds(), kind):
		return "", fmt.Errorf("kind of values %q is unknown: want one of %s",
			kind, strings.Join(Kinds(), ", "))
	case kind == kindTable && sites&pe.AtEmbed == 0:
		return "", fmt.Errorf("%s has no table: it acts on %v", name, sites)
	case kind == kindBias && sites&pe.AtLogits == 0:
		return "", fmt.Errorf("%s has no bias: it acts on %v", name, sites)
	case kind == kindInput && sites&pe.AtEmbed == 0:
		return "", fmt.Errorf("%s does not change embeddings: it acts on %v", name, sites)
	case kind == kindInput && w.X.Data == nil:
		return "", fmt.Errorf("x needs embeddings")
	case kind == kindLogits && !pair:
		return "", missing("logits need queries and keys")
	case kind == kindQuery && w.Q.Data == nil && !projected:
		return "", missing("q needs queries")
	case kind == kindKey && w.K.Data == nil && !projected:
		return "", missing("k needs keys")
	case kind == kindValue && w.V.Data == nil && !projected:
		return "", missing("v needs values")
	}
	return kind, nil
}

// defaultKind returns the kind of values suggested by the given arrays or, without arrays, by the scheme.
func (i *Instance) defaultKind(w Want, projected bool) (string, error) {
	sites, name := i.encoding.Sites(w.Layer), i.Scheme.Name
	switch {
	case w.Q.Data != nil && w.K.Data != nil:
		return kindLogits, nil
	case w.X.Data != nil && sites&pe.AtEmbed != 0:
		return kindInput, nil
	case projected || w.X.Data != nil && i.encoding.Attention(w.Layer).Replaces:
		return kindLogits, nil
	case sites&pe.AtEmbed != 0:
		return kindTable, nil
	case sites&pe.AtLogits != 0:
		return kindBias, nil
	case w.Q.Data != nil:
		return kindQuery, nil
	case w.K.Data != nil:
		return kindKey, nil
	case w.V.Data != nil:
		return kindValue, nil
	case sites&pe.AtQK != 0:
		return "", fmt.Errorf("%s acts on %v: give queries and keys, or --x with --params that "+
			"hold %s, as in a run's checkpoint",
			name, sites, projection(w.Layer, projectionWeight))
	case sites == 0 && i.encoding.Attention(w.Layer).Causal:
		return kindWeights, nil
	case sites == 0:
		return "", fmt.Errorf("%s acts nowhere: it has no values", name)
	}
	return "", fmt.Errorf("%s acts on %v: it has no values of its own", name, sites)
}

// headed returns queries or keys [N,D] with heads of equal width as [H,N,Dh], and others unchanged.
func (s Setting) headed(a array.Array) array.Array {
	h := s.Heads
	if len(a.Shape) != 2 || a.Shape[1]%h != 0 {
		return a
	}
	n, width := a.Shape[0], a.Shape[1]/h
	return array.Array{Name: a.Name, Shape: []int{h, n, width}, Data: swapAxes(a.Data, n, h, width)}
}

// merged returns [H,N,C] as [N,HC].
func merged(a array.Array) array.Array {
	h, n, c := a.Shape[0], a.Shape[1], a.Shape[2]
	return array.Array{Shape: []int{n, h * c}, Data: swapAxes(a.Data, h, n, c)}
}

// swapAxes returns the numbers of an array [a,b,c] in the order of [b,a,c].
func swapAxes(data []float64, a, b, c int) []float64 {
	out := make([]float64, 0, len(data))
	for j := range b {
		for i := range a {
			at := (i*b + j) * c
			out = append(out, data[at:at+c]...)
		}
	}
	return out
}

// compute runs the hooks.
func (i *Instance) compute(s *torchpe.Scope, w Want, kind string) (array.Array, error) {
	h, n, d := i.Setting.Heads, i.Positions.Tokens(), i.Setting.DModel
	dh := d / h
	zeros := func(shape ...int) torchpe.Tensor {
		return torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, shape...)
	}
	hooks := i.encoding.Begin(s, i.drawnPositions(s))
	if kind == kindTable {
		t, ok := hooks.Table(w.Layer)
		if !ok && w.Layer > 0 {
			return array.Array{}, fmt.Errorf("%s adds no table in layer %d", i.Scheme.Name, w.Layer)
		}
		if !ok {
			return array.Array{}, fmt.Errorf("%s adds no table: its addition depends on the "+
				"input: give --x", i.Scheme.Name)
		}
		return array.Array{Shape: []int{n, d}, Data: t.Float64s()}, nil
	}
	a := pe.Attn{Layer: w.Layer, X: zeros(1, 1, n, d), Scale: i.encoding.Attention(w.Layer).LogitScale(dh)}
	if w.X.Data != nil && kind != kindBias {
		a.X = hooks.Embed(w.Layer, torchpe.Of(s, torchpe.CPU, w.X.Data, 1, 1, n, d))
	}
	if kind == kindInput {
		return array.Array{Shape: []int{n, d}, Data: a.X.Contiguous().Float64s()}, nil
	}
	a.Project = i.project(s, w, kind)
	a.Q, a.K, a.V = zeros(1, 1, h, n, dh), zeros(1, 1, h, n, dh), zeros(1, 1, h, n, dh)
	if w.X.Data != nil && kind != kindBias && i.weights[projection(w.Layer, projectionWeight)] != nil {
		a.Q, a.K, a.V = a.Project(a.X)
	}
	for in, x := range map[*torchpe.Tensor]array.Array{&a.Q: w.Q, &a.K: w.K, &a.V: w.V} {
		if x.Data != nil && kind != kindBias {
			*in = torchpe.Of(s, torchpe.CPU, x.Data, 1, 1, h, n, dh)
		}
	}
	a.Q, a.K, a.V = hooks.QKV(a)
	if t, ok := map[string]torchpe.Tensor{kindQuery: a.Q, kindKey: a.K, kindValue: a.V}[kind]; ok {
		return array.Array{Shape: []int{h, n, dh}, Data: t.Contiguous().Float64s()}, nil
	}
	logits := hooks.Logits(a, torchpe.AttentionLogits(a.Q, a.K, a.Scale)).Expand(1, 1, h, n, n)
	if kind == kindWeights {
		logits = i.softmax(s, w.Layer, logits)
	}
	return array.Array{Shape: []int{h, n, n}, Data: logits.Contiguous().Float64s()}, nil
}

// project returns the projection of a layer: with the given weights, or the identity, or to zeros.
func (i *Instance) project(s *torchpe.Scope, w Want,
	kind string) func(torchpe.Tensor) (q, k, v torchpe.Tensor) {
	h, d := i.Setting.Heads, i.Setting.DModel
	return func(y torchpe.Tensor) (q, k, v torchpe.Tensor) {
		weight, bias := i.weights[projection(w.Layer, projectionWeight)],
			i.weights[projection(w.Layer, projectionBias)]
		switch {
		case w.identity:
			q = y.Reshape(1, y.Size(1), y.Size(2), h, d/h).Permute(0, 1, 3, 2, 4)
			return q, q, q
		case kind == kindBias:
			q = torchpe.Zeros(s, torchpe.Float64, torchpe.CPU, 1, y.Size(1), h, y.Size(2), d/h)
			return q, q, q
		case weight == nil:
			panic(&torchpe.Error{Op: "project", Msg: fmt.Sprintf("it projects positions by the "+
				"weights of the layer, which queries and keys do not determine: give --params that "+
				"hold %s [3D,D], as in a run's checkpoint",
				projection(w.Layer, projectionWeight))})
		}
		var b torchpe.Tensor
		if bias != nil {
			b = torchpe.Of(s, torchpe.CPU, bias, 1, 3*d)
		}
		return torchpe.ProjectQKV(y, torchpe.Of(s, torchpe.CPU, weight, 1, 3*d, d), b, h)
	}
}

// softmax returns the attention weights of logits [1,1,H,N,N], as the model computes them.
func (i *Instance) softmax(s *torchpe.Scope, layer int, logits torchpe.Tensor) torchpe.Tensor {
	around := i.encoding.Attention(layer)
	logits = logits.MulScalar(1 / around.Temperature)
	if around.Causal {
		logits = logits.Add(pe.Sight{Causal: true}.Mask(s, logits, i.Positions.Index))
	}
	return logits.Softmax(-1)
}

// drawnPositions returns the positions, with random draws if the scheme needs them.
func (i *Instance) drawnPositions(s *torchpe.Scope) pe.Positions {
	p := i.Positions
	if draw := i.encoding.Draw(); draw.Range > 0 {
		out := make([]float64, p.Tokens())
		draw.Fill(torchpe.Stream(i.seed, "positions"), len(out), out)
		p.Drawn = torchpe.Of(s, torchpe.CPU, out, 1, 1, len(out))
	}
	return p
}

// Place parses positions of n tokens: "grid" (as square as n allows), "line", or sizes such as 4x4 or 2x4x4.
func Place(text string, n int) (pe.Positions, error) {
	switch text {
	case "line":
		return pe.Line(n), nil
	case "grid":
		return pe.SquareGrid(n), nil
	}
	sizes, product := []int{}, 1
	for _, part := range strings.Split(text, "x") {
		var size int
		if _, err := fmt.Sscanf(part, "%d", &size); err != nil || size < 1 || size > 1<<20 ||
			fmt.Sprint(size) != part {
			return pe.Positions{}, fmt.Errorf("positions %q: want line, grid, sizes such as 4x4 or "+
				"2x4x4, or a file", text)
		}
		sizes = append(sizes, size)
		product *= size
	}
	if product != n {
		return pe.Positions{}, fmt.Errorf("positions %q are %d, but there are %d tokens",
			text, product, n)
	}
	switch len(sizes) {
	case 1:
		return pe.Line(n), nil
	case 2:
		return pe.Grid(sizes[0], sizes[1]), nil
	case 3:
		return pe.Box(sizes[0], sizes[1], sizes[2]), nil
	}
	return pe.Positions{}, fmt.Errorf("positions %q: want at most three axes", text)
}
