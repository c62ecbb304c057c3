// Rotations beyond angles of pairs: exponentials of trained matrices, sums of frequencies, phases
// that depend on tokens, and complex numbers.

package pe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/torchpe"
)

// Matrices of two axes do not commute, so logits depend on offsets alone only on a line. The
// dimensions of a head that fill no block stay unchanged. The published code trains both triangles
// of a matrix and uses the upper one.
var _ = Register(Scheme{Name: "liere", Needs: NeedsPoints, MinHeadWidth: 2, Extrapolates: Always,
	New: newLieRE},
	option("liere-block", "8", whole(2, 1<<12),
		"dimensions of a block that liere rotates at once; a narrower head is one block"),
	option("liere-share", "heads", oneOf("heads", "none"),
		"whether heads share the matrices of liere, or have their own (none)"),
	option("liere-steps", "0", stepsOfAxes,
		"steps along an axis over which coordinates of liere run from 0 to 1: a number, or "+
			"one for each axis, comma-separated; 0: the actual number; raw: unscaled coordinates"),
	attentionBias, attentionInit)

// stepsOfAxes checks --liere-steps.
func stepsOfAxes(v string) error {
	if v == "raw" {
		return nil
	}
	for _, part := range strings.Split(v, ",") {
		if err := whole(0, 1<<20)(part); err != nil {
			return fmt.Errorf("%w, nor a comma-separated list of them, nor raw", err)
		}
	}
	return nil
}

func newLieRE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	built := c.Positions.byPlace(0)
	flat, err := liereCoordinates(built, c.text("liere-steps"))
	if err != nil {
		return nil, err
	}
	axes, g, heads := len(built[0]), min(c.int("liere-block"), c.HeadWidth()), 1
	if c.is("liere-share", "none") {
		heads = c.Heads
	}
	blocks := c.HeadWidth() / g
	skew := ps.Add("pe.skew", true, uniformBelow(2*math.Pi), axes, heads, blocks, g*(g-1)/2)
	places := ps.Add("pe.places", false, copied(flat), len(built), axes)
	// An upper bound of the row sums of absolute values of the exponent at the start.
	most := 0.0
	for point := range slices.Chunk(flat, axes) {
		sum := 0.0
		for _, x := range point {
			sum += math.Abs(x)
		}
		most = max(most, sum)
	}
	halvings := max(0, int(math.Ceil(math.Log2(most*2*math.Pi*float64(g)))))
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		x := rowsAt(s, places.In(s), 1, p.placesIn("liere", built)) // [E,N,M]
		exponents := x.MatMul(skew.In(s).Reshape(c.Members, axes, -1)).
			Reshape(c.Members, p.Tokens(), heads, blocks, -1)
		u := triangle(exponents, g) // [E,N,H,Dh/g,g,g]
		turns := expOf(u.Sub(u.Transpose(-1, -2)), halvings)
		return &liereHooks{turns: turns.Permute(0, 2, 3, 1, 4, 5).Unsqueeze(1)}
	}}, nil
}

// liereCoordinates returns the coordinates of --liere-steps, token by token: from 0 to
// steps/expected over each axis, both ends included, for the number of steps along it.
func liereCoordinates(points [][]float64, text string) ([]float64, error) {
	flat, axes := slices.Concat(points...), len(points[0])
	if text == "raw" {
		return flat, nil
	}
	list := strings.Split(text, ",")
	if len(list) != 1 && len(list) != axes {
		return nil, fmt.Errorf("liere: --liere-steps %s has %d numbers, but there are %d "+
			"coordinates per token", text, len(list), axes)
	}
	low, high := bounds(points)
	for a := range axes {
		expected, _ := strconv.ParseFloat(list[min(a, len(list)-1)], 64)
		steps := map[float64]bool{}
		for _, point := range points {
			steps[point[a]] = true
		}
		end := 1.0
		if expected > 0 {
			end = float64(len(steps)) / expected
		}
		for i := a; i < len(flat); i += axes {
			flat[i] = end * (flat[i] - low[a]) / max(high[a]-low[a], math.SmallestNonzeroFloat64)
		}
	}
	return flat, nil
}

// triangle puts numbers [...,g(g-1)/2] above the diagonal of matrices [...,g,g].
func triangle(x torchpe.Tensor, g int) torchpe.Tensor {
	shape := x.Shape()
	zero := shape[len(shape)-1] // the index of a 0 after the numbers
	index := make([]int, g*g)
	for i, next := 0, 0; i < g*g; i++ {
		if index[i] = zero; i/g < i%g {
			index[i] = next
			next++
		}
	}
	at := indexTensor(x.Scope(), x.Device(), index, len(index))
	return x.Pad(-1, 0, 1, 0).IndexSelect(-1, at).Reshape(append(shape[:len(shape)-1], g, g)...)
}

// expOf returns the exponential of square matrices x [...,g,g]: the Taylor series to degree 18 of
// x/2^halvings, squared as often. Its error is below 1e-16 if the row sums of |x| are at most
// 2^halvings, and below 1e-11 if they are twice that.
func expOf(x torchpe.Tensor, halvings int) torchpe.Tensor {
	const degree = 18
	g := x.Size(-1)
	one := make([]float64, g*g)
	for i := range g {
		one[i*g+i] = 1
	}
	identity := numbers(x.Scope(), x, one, g, g)
	x = x.MulScalar(math.Pow(2, -float64(halvings)))
	sum := x.MulScalar(1. / degree).Add(identity)
	for n := degree - 1; n > 0; n-- { // Horner: 1 + x/1 (1 + x/2 (1 + ...))
		sum = x.MulScalar(1 / float64(n)).MatMul(sum).Add(identity)
	}
	for range halvings {
		sum = sum.MatMul(sum)
	}
	return sum
}

type liereHooks struct {
	Identity
	turns torchpe.Tensor // [E,1,H,Dh/g,N,g,g]
}

func (h *liereHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return h.turned(a.Q), h.turned(a.K), a.V
}

// turned returns R(x_i) x_i in each block of x [E,B,H,N,Dh].
func (h *liereHooks) turned(x torchpe.Tensor) torchpe.Tensor {
	shape := x.Shape()
	e, b, heads, n, dh := shape[0], shape[1], shape[2], shape[3], shape[4]
	blocks, g := h.turns.Size(3), h.turns.Size(5)
	parts := x.Narrow(-1, 0, blocks*g).Reshape(e, b, heads, n, blocks, g).Permute(0, 1, 2, 4, 3, 5).
		Unsqueeze(-1) // [E,B,H,Dh/g,N,g,1]
	y := h.turns.MatMul(parts).Squeeze(-1).Permute(0, 1, 2, 4, 3, 5).Reshape(e, b, heads, n, blocks*g)
	if rest := dh - blocks*g; rest > 0 {
		return torchpe.Cat(-1, y, x.Narrow(-1, blocks*g, rest))
	}
	return y
}

// All C_a - C_a^T have the same eigenvectors, so R(r)^T R(r') depends only on r' - r: in the basis
// of cosines and sines of f = 1, 2, .. periods, R rotates each pair by the angle 2 sum_a r_a sum_m
// c_am sin(2 pi f m / Dh), and leaves the constant (and for an even Dh the alternating) vector
// unchanged. The test compares with the formula: no numbers of other code were available.
var _ = Register(Scheme{Name: "string", Needs: NeedsPoints, MinHeadWidth: 3, Extrapolates: Always,
	New: func(c Config, ps *torchpe.ParamSet) (Encoding, error) {
		axes, d := len(c.Positions.coordinates("string", 0)[0]), c.HeadWidth()
		circulant := ps.Add("pe.c", true, torchpe.Normal(0, 0.02), c.Layers, c.Heads, axes, d)
		waves, sines := fourier(d)
		pairs := (d - 1) / 2
		return encoding{AtQK, PlainAttention, func(s *torchpe.Scope, p Positions) Hooks {
			w := circulant.In(s) // [E,L,H,A,Dh]
			at := numbers(s, w, slices.Concat(p.coordinates("string", axes)...), p.Tokens(), axes)
			angles := at.MatMul(w.MatMul(numbers(s, w, sines, d, pairs))) // [E,L,H,N,P]
			basis, cosines, sines := numbers(s, w, waves, d, d), angles.Cos(), angles.Sin()
			return turning(func(layer int) func(x torchpe.Tensor) torchpe.Tensor {
				cos, sin := layerOf(cosines, layer), layerOf(sines, layer)
				return func(x torchpe.Tensor) torchpe.Tensor {
					x = x.MatMul(basis.Transpose(0, 1))
					even, odd := x.Narrow(4, 0, pairs), x.Narrow(4, pairs, pairs)
					x = torchpe.Cat(4, even.Mul(cos).Sub(odd.Mul(sin)), even.Mul(sin).Add(odd.Mul(cos)),
						x.Narrow(4, 2*pairs, d-2*pairs))
					return x.MatMul(basis)
				}
			})
		}}, nil
	}})

// fourier returns the orthonormal basis [d,d] of cosines, then sines, then the vectors that are not
// rotated, one per row; and 2 sin(2 pi f m / d) for m and f [d,P].
func fourier(d int) (basis, angles []float64) {
	pairs := (d - 1) / 2
	basis = make([]float64, d*d)
	for f := 1; f <= pairs; f++ {
		for m := range d {
			sin, cos := math.Sincos(2 * math.Pi * float64(f*m%d) / float64(d))
			norm := math.Sqrt(2 / float64(d))
			basis[(f-1)*d+m], basis[(pairs+f-1)*d+m] = norm*cos, norm*sin
		}
	}
	norm := 1 / math.Sqrt(float64(d))
	for m := range d {
		basis[2*pairs*d+m] = norm
		if d%2 == 0 {
			basis[(d-1)*d+m] = norm * float64(1-m%2*2)
		}
		for f := 1; f <= pairs; f++ {
			angles = append(angles, 2*math.Sin(2*math.Pi*float64(f*m%d)/float64(d)))
		}
	}
	return basis, angles
}

// Cosine and sine no longer belong to one angle, so the logits depend on more than the offset. C
// and S are drawn for each head, an identity plus numbers of variance 0.09 2/(D+o) for o sums, and
// shared by layers. At least the fastest frequency is summed.
var _ = Register(Scheme{Name: "fope", MinHeadWidth: 4, Extrapolates: Always, New: newFoPE},
	positionsFrom, ropeBase, ropeTrained,
	option("fope-floor", "drop", oneOf("drop", "square", "zero"),
		"frequencies of fope with less than one turn over the trained tokens: dropped, with "+
			"at most Dh/4 sums; dropped, with a sum for each left (square); or zero"),
	option("fope-rest", "turned", oneOf("still", "turned"),
		"pairs of fope without a sum: unchanged, or rotated by 45 degrees and longer").inText("still"),
	option("fope-heads", "own", oneOf("own", "shared"), "whether heads of fope have their own coefficients"),
	option("fope-basis", "two", oneOf("one", "two"),
		"coefficients of fope: one set for sines and cosines, or two"),
	attentionBias, attentionInit)

func newFoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dh := c.HeadWidth()
	if dh%2 != 0 {
		return nil, c.oddHead()
	}
	frequencies := fopeFrequencies(c)
	d, n, from := len(frequencies), c.Positions.Tokens(), c.float("positions-from")
	sums, heads := d, c.Heads
	if c.is("fope-floor", "drop") {
		sums = min(d, dh/4)
	}
	if c.is("fope-heads", "shared") {
		heads = 1
	}
	table := func(name string, of func(float64) float64) *torchpe.Param { // [E,N,D]
		return ps.Add(name, false, computed(func(i int) float64 {
			return of((from + float64(i/d)) * frequencies[i%d])
		}), n, d)
	}
	coefficients := func(name string) *torchpe.Param { // [E,H or 1,D,o]
		spread := torchpe.Normal(0, 0.3*math.Sqrt(2/float64(d+sums)))
		return ps.Add(name, false, func(member int, rng *rand.Rand, out []float64) {
			spread(member, rng, out)
			for i := range out {
				out[i] += oneIf(i/sums%d == i%sums)
			}
		}, heads, d, sums)
	}
	cos, sin := table("pe.cos", math.Cos), table("pe.sin", math.Sin)
	ofCos := coefficients("pe.coefficients")
	ofSin, restSine := ofCos, oneIf(c.is("fope-rest", "turned"))
	if c.is("fope-basis", "two") {
		ofSin = coefficients("pe.sine-coefficients")
	}
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		sums := func(table, coefficients *torchpe.Param, rest float64) torchpe.Tensor {
			waves := rowsAt(s, table.In(s), 1, p.Index).Unsqueeze(1) // [E,1,N,D]
			t := waves.MatMul(coefficients.In(s))                    // [E,H,N,o]
			return t.Pad(-1, 0, dh/2-t.Size(-1), rest).Unsqueeze(1)
		}
		t := rotation{cos: sums(cos, ofCos, 1), sin: sums(sin, ofSin, restSine)}
		return &rotaryHooks{q: t, k: t, width: dh, half: true}
	}}, nil
}

// fopeFrequencies returns the frequencies that are summed.
func fopeFrequencies(c Config) (kept []float64) {
	floor, kind := 2*math.Pi/c.trainedTokens(), c.text("fope-floor")
	for m := range c.HeadWidth() / 2 {
		w := math.Pow(c.float("rope-base"), -2*float64(m)/float64(c.HeadWidth()))
		switch {
		case m == 0 || w > floor || w == floor && kind != "square":
			kept = append(kept, w)
		case kind == "zero":
			kept = append(kept, 0)
		}
	}
	return kept
}

// As published, the rotation has the opposite direction of rope's: with the halves of a head exchanged it is
// rope's. The published code starts b so that softplus(b) = 0.001, with W = 0, though its omega is a
// sigmoid. The rank-2 form is not in that code but in the paper: G(n) = 1 + sin(n w s)/s L + (1 - cos(n w
// s))/s^2 L^2 for L = a b^T - b a^T and s = sqrt(|a|^2 |b|^2 - (a b)^2).
var _ = Register(Scheme{Name: "grape-m", MinHeadWidth: 2, Extrapolates: Always, New: newGrapeM},
	positionsFrom, ropeBase,
	option("grape-m", "commuting", parsed(grapeRotation),
		"form of grape-m: commuting, contextual (:heads), or rank-2 (:w)"),
	option("grape-heads", "shared", oneOf("shared", "own"), "whether heads of grape-m share their frequencies"),
	option("grape-scale", "16", positive,
		"divisor of trained numbers of grape-m: logarithms of frequencies "+
			"(commuting), or the gate's logit (contextual)"),
	attentionBias, attentionInit)

// grape is a form of --grape-m.
type grape struct {
	kind  string
	heads bool
	w     float64
}

// grapeRotation parses --grape-m.
func grapeRotation(text string) (grape, error) {
	parts := strings.Split(text, ":")
	g := grape{kind: parts[0], w: 1}
	err := oneOf("commuting", "contextual", "rank-2")(g.kind)
	for _, part := range parts[1:] {
		w, notNumber := number.Parse(part)
		switch {
		case g.kind == "contextual" && part == "heads":
			g.heads = true
		case g.kind == "rank-2" && notNumber == nil && w > 0 && !math.IsInf(w, 1):
			g.w = w
		default:
			err = fmt.Errorf("%q: %q is unknown after %s: contextual takes heads, "+
				"rank-2 a number above 0", text, part, g.kind)
		}
	}
	return g, err
}

func newGrapeM(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	form, err := grapeRotation(c.text("grape-m"))
	if err != nil {
		return nil, err
	}
	if form.kind == "rank-2" {
		return newGrapePlane(c, ps, form.w), nil
	}
	if c.HeadWidth()%2 != 0 {
		return nil, c.oddHead()
	}
	scale, from := c.float("grape-scale"), c.float("positions-from")
	if form.kind == "contextual" {
		gates := 1
		if form.heads {
			gates = c.Heads
		}
		w := ps.Add("pe.omega-weight", true, torchpe.Normal(0, 0), c.Layers, gates, c.DModel)
		b := ps.Add("pe.omega-bias", true, torchpe.Normal(math.Log(math.Expm1(1e-3)), 0), c.Layers, gates)
		logs := c.addGrapeFrequencies(ps, 1)
		return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
			h := &contextualHooks{w: w.In(s), b: b.In(s), scale: scale, frequency: grapeFrequency(logs.In(s), 1)}
			h.before = pairTensor(s, h.w, p.Index, func(i, j int) float64 { return oneIf(j < i) })
			return h
		}}, nil
	}
	logs := c.addGrapeFrequencies(ps, scale)
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		f := grapeFrequency(logs.In(s), scale)
		angles := places(s, f, p.Index).AddScalar(from).Mul(f) // [E,L,H,N,Dh/2]
		return turningBy(angles.Cos(), angles.Sin().Neg(), true)
	}}, nil
}

// addGrapeFrequencies declares the logarithms of frequencies times a factor, [L,H or 1,Dh/2].
func (c Config) addGrapeFrequencies(ps *torchpe.ParamSet, factor float64) *torchpe.Param {
	sets, dh, base := 1, c.HeadWidth(), math.Log(c.float("rope-base"))
	if c.is("grape-heads", "own") {
		sets = c.Heads
	}
	return ps.Add("pe.log-frequencies", true, computed(func(i int) float64 {
		return -base * 2 * float64(i%(dh/2)) / float64(dh) * factor
	}), c.Layers, sets, dh/2)
}

// grapeFrequency returns theta [E,L,H or 1,1,Dh/2] from its logarithms times a factor.
func grapeFrequency(logs torchpe.Tensor, factor float64) torchpe.Tensor {
	if factor != 1 {
		logs = logs.MulScalar(1 / factor)
	}
	return logs.Exp().Unsqueeze(3)
}

// contextualHooks rotate pairs by phases that accumulate over the preceding tokens.
type contextualHooks struct {
	Identity
	w, b      torchpe.Tensor // [E,L,H or 1,D], [E,L,H or 1]
	scale     float64
	frequency torchpe.Tensor // [E,L,H or 1,1,Dh/2]
	before    torchpe.Tensor // [N,N] 1 if the key's place is before the query's
}

func (h *contextualHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	angles := h.phase(a).Transpose(2, 3).Unsqueeze(-1).Mul(layerOf(h.frequency, a.Layer))
	cos, sin := angles.Cos(), angles.Sin().Neg() // [E,B,H or 1,N,Dh/2]
	return torchpe.RotatePairs(a.Q, cos, sin, true), torchpe.RotatePairs(a.K, cos, sin, true), a.V
}

// phase returns Phi [E,B,N,H or 1].
func (h *contextualHooks) phase(a Attn) torchpe.Tensor {
	omega := torchpe.Linear(a.X, h.w.Select(1, a.Layer), h.b.Select(1, a.Layer))
	return h.before.MatMul(omega.MulScalar(1 / h.scale).Sigmoid())
}

// newGrapePlane returns the rank-2 form, which rotates one plane of a head, spanned by a and b.
func newGrapePlane(c Config, ps *torchpe.ParamSet, w float64) Encoding {
	start, from := torchpe.Normal(0, 1/math.Sqrt(float64(c.HeadWidth()))), c.float("positions-from")
	ofA := ps.Add("pe.a", true, start, c.Layers, c.Heads, c.HeadWidth())
	ofB := ps.Add("pe.b", true, start, c.Layers, c.Heads, c.HeadWidth())
	return encoding{AtQK, rotaryAttention(c), func(s *torchpe.Scope, p Positions) Hooks {
		allA, allB := ofA.In(s).Unsqueeze(3), ofB.In(s).Unsqueeze(3) // [E,L,H,1,Dh]
		dot := allA.Mul(allB).SumKeep(-1)
		speed := allA.Square().SumKeep(-1).Mul(allB.Square().SumKeep(-1)).Sub(dot.Square()).Sqrt()
		angles := places(s, allA, p.Index).AddScalar(from).MulScalar(w).Mul(speed) // [E,L,H,N,1]
		first := angles.Sin().Div(speed)
		second := angles.Cos().Neg().AddScalar(1).Div(speed.Square())
		turned := func(layer int, x torchpe.Tensor) torchpe.Tensor {
			a, b := layerOf(allA, layer), layerOf(allB, layer)
			generator := func(x torchpe.Tensor) torchpe.Tensor { // L x = a (b x) - b (a x)
				return a.Mul(b.Mul(x).SumKeep(-1)).Sub(b.Mul(a.Mul(x).SumKeep(-1)))
			}
			once := generator(x)
			return x.Add(layerOf(first, layer).Mul(once)).Add(layerOf(second, layer).Mul(generator(once)))
		}
		return turning(func(layer int) func(x torchpe.Tensor) torchpe.Tensor {
			return func(x torchpe.Tensor) torchpe.Tensor { return turned(layer, x) }
		})
	}}
}

// Each dimension has its own frequency, instead of each pair. Dimensions beyond --pope-dims enter
// the logits unchanged, without the softplus. The phase delta is clamped to [-2 pi, 0].
var _ = Register(Scheme{Name: "pope", Extrapolates: Always, New: newPoPE},
	ropeBase,
	option("pope-dims", "all", orWord(whole(1, 1<<20), "all"),
		"how many dimensions of a head pope makes polar: all, or a number; the rest stay "+
			"unchanged"),
	option("pope-phase", "1", orWord(positiveUpTo(1), "0"),
		"phases of pope start as U(-2 pi a, 0) with this a"),
	attentionBias, attentionInit)

func newPoPE(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	dims := c.HeadWidth()
	if !c.is("pope-dims", "all") {
		if dims = c.int("pope-dims"); dims > c.HeadWidth() {
			return nil, fmt.Errorf("pope: --pope-dims %d is more than the head width %d = %d/%d",
				dims, c.HeadWidth(), c.DModel, c.Heads)
		}
	}
	base := c.float("rope-base")
	table := func(name string, f func(float64) float64) *torchpe.Param { // [E,N,R]
		return ps.Add(name, false, computed(func(i int) float64 {
			return f(float64(i/dims) * math.Pow(base, -float64(i%dims)/float64(dims)))
		}), c.Positions.Tokens(), dims)
	}
	cosines, sines := table("pe.cos", math.Cos), table("pe.sin", math.Sin)
	phases := ps.Add("pe.phase", true, uniformBelow(-2*math.Pi*c.float("pope-phase")), c.Heads, dims)
	attention := rotaryAttention(c)
	attention.Replaces = true
	return encoding{AtLogits, attention, func(s *torchpe.Scope, at Positions) Hooks {
		rows := func(t *torchpe.Param) torchpe.Tensor { // [E,1,1,N,R]
			return rowsAt(s, t.In(s), 1, at.Index).Unsqueeze(1).Unsqueeze(1)
		}
		phase := phases.In(s).Clamp(-2*math.Pi, 0).Unsqueeze(1).Unsqueeze(3) // [E,1,H,1,R]
		cos, sin := rows(cosines), rows(sines)
		ofCos, ofSin := phase.Cos(), phase.Sin()
		return &popeHooks{q: rotation{cos, sin}, k: rotation{
			cos: cos.Mul(ofCos).Sub(sin.Mul(ofSin)), // [E,1,H,N,R]
			sin: sin.Mul(ofCos).Add(cos.Mul(ofSin)),
		}}
	}}, nil
}

type popeHooks struct {
	Identity
	q, k rotation
}

func (h *popeHooks) Logits(a Attn, _ torchpe.Tensor) torchpe.Tensor {
	return torchpe.AttentionLogits(h.q.polar(a.Q), h.k.polar(a.K), a.Scale)
}

// polar returns the real and imaginary parts of the first R dimensions of x, and the rest of x:
// [E,B,H,N,Dh] -> [E,B,H,N,R+Dh].
func (t rotation) polar(x torchpe.Tensor) torchpe.Tensor {
	r := t.cos.Size(-1)
	length := x.Narrow(-1, 0, r).Softplus()
	parts := []torchpe.Tensor{length.Mul(t.cos), length.Mul(t.sin)}
	if rest := x.Size(-1) - r; rest > 0 {
		parts = append(parts, x.Narrow(-1, r, rest))
	}
	return torchpe.Cat(-1, parts...)
}
