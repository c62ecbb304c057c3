// grape-m: multiplicative GRAPE (Zhang et al. 2025, "Group Representational Position Encoding"):
// queries and keys are turned by G(n) = exp(n w L) of a skew generator L, in three forms.
//
//	commuting    pairs (x_j, x_j+Dh/2) turned by -p theta_j, theta_j trained, from those of rope
//	contextual   by -Phi_p theta_j,  Phi_p = sum of omega_s over the places s < p of the tokens there
//	             are,  omega_s = sigmoid((W x_s + b)/c)
//	rank-2       G(n) = 1 + sin(n w s)/s L + (1 - cos(n w s))/s^2 L^2,  L = a b^T - b a^T,
//	             s = sqrt(|a|^2 |b|^2 - (a b)^2),  a and b trained for each head
//
// What is trained is c log theta_j for c = --grape-scale in the commuting form, log theta_j in the
// contextual one; all is own to each layer, and theta shared by heads unless --grape-heads says
// otherwise. As published the turn goes the other way than that of rope: with the halves of a head
// exchanged it is that of rope.
// contextual:heads has an omega of each head. The published code starts b so that softplus(b) = 0.001,
// with W = 0, though its omega is a sigmoid. rank-2:0.3 has w = 0.3 in place of 1; the published code has no
// such form, the paper has.

package pe

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	grapeKind = Option{Name: "grape-m", Default: "commuting",
		Check: func(v string) error {
			_, err := grapeRotation(v)
			return err
		}, Help: "form of grape-m: commuting, contextual (:heads), or rank-2 (:w)"}
	grapeHeads = Option{Name: "grape-heads", Default: "shared", Check: oneOf("shared", "own"),
		Help: "whether heads of grape-m share their frequencies"}
	grapeScale = Option{Name: "grape-scale", Default: "16", Check: positive,
		Help: "what trained numbers of grape-m are divided by: logarithms of frequencies " +
			"(commuting), or the gate's logit (contextual)"}
)

func init() {
	Register(Scheme{
		Name:         "grape-m",
		MinHeadWidth: 2, Extrapolates: Always,
		Options: []Option{positionsFrom, ropeBase, grapeKind, grapeHeads, grapeScale, attentionBias,
			attentionInit},
		New: newGrapeM,
	})
}

// grape says which form --grape-m names.
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
		w, notNumber := strconv.ParseFloat(part, 64)
		switch {
		case g.kind == "contextual" && part == "heads":
			g.heads = true
		case g.kind == "rank-2" && notNumber == nil && w > 0 && !math.IsInf(w, 1):
			g.w = w
		default:
			err = fmt.Errorf("%q: %q says nothing after %s: contextual takes heads, "+
				"rank-2 a number above 0", text, part, g.kind)
		}
	}
	return g, err
}

type grapeM struct {
	None
	grape
	from, scale float64
	frequencies *torchpe.Param // [E,L,H or 1,Dh/2], their logarithms times the scale; nil for rank-2
	omegaW      *torchpe.Param // [E,L,H or 1,D]; nil unless contextual
	omegaB      *torchpe.Param // [E,L,H or 1]
	a, b        *torchpe.Param // [E,L,H,Dh]; nil unless rank-2
	attention   Attention
}

func newGrapeM(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	form, err := grapeRotation(c.Options.Text(grapeKind.Name))
	if err != nil {
		return nil, err
	}
	dh := c.HeadWidth()
	g := &grapeM{grape: form, from: c.Options.Float(positionsFrom.Name), attention: rotaryAttention(c),
		scale: c.Options.Float(grapeScale.Name)}
	if g.kind == "rank-2" {
		start := torchpe.Normal(0, 1/math.Sqrt(float64(dh)))
		g.a = ps.Add("pe.a", true, start, c.Layers, c.Heads, dh)
		g.b = ps.Add("pe.b", true, start, c.Layers, c.Heads, dh)
		return g, nil
	}
	if dh%2 != 0 {
		return nil, c.oddHead()
	}
	sets, factor := 1, g.scale
	if c.Options.Text(grapeHeads.Name) == "own" {
		sets = c.Heads
	}
	if g.kind == "contextual" {
		gates := 1
		if g.heads {
			gates = c.Heads
		}
		factor = 1
		g.omegaW = ps.Add("pe.omega-weight", true, torchpe.Normal(0, 0), c.Layers, gates, c.DModel)
		g.omegaB = ps.Add("pe.omega-bias", true,
			torchpe.Normal(math.Log(math.Expm1(1e-3)), 0), c.Layers, gates)
	}
	base := math.Log(c.Options.Float(ropeBase.Name))
	g.frequencies = ps.Add("pe.log-frequencies", true, computed(func(i int) float64 {
		return -base * 2 * float64(i%(dh/2)) / float64(dh) * factor
	}), c.Layers, sets, dh/2)
	return g, nil
}

func (g *grapeM) Sites() Site { return AtQK }

func (g *grapeM) Attention() Attention { return g.attention }

// frequency returns theta [E,L,H or 1,1,Dh/2].
func (g *grapeM) frequency(s *torchpe.Scope) torchpe.Tensor {
	logs := g.frequencies.In(s)
	if g.kind == "commuting" {
		logs = logs.MulScalar(1 / g.scale)
	}
	return logs.Exp().Unsqueeze(3)
}

func (g *grapeM) Begin(s *torchpe.Scope, p Positions) Hooks {
	switch g.kind {
	case "commuting":
		f := g.frequency(s)
		angles := places(s, f, p.Index).AddScalar(g.from).Mul(f) // [E,L,H,N,Dh/2]
		return &mixedHooks{cos: angles.Cos(), sin: angles.Sin().Neg(), half: true}
	case "contextual":
		h := &contextualHooks{g: g, w: g.omegaW.In(s), b: g.omegaB.In(s), frequency: g.frequency(s)}
		h.before = pairTensor(s, h.w, p.Index, func(i, j int) float64 { return oneIf(j < i) })
		return h
	}
	wide := func(p *torchpe.Param) torchpe.Tensor { return p.In(s).Unsqueeze(3) } // [E,L,H,1,Dh]
	a, b := wide(g.a), wide(g.b)
	dot := a.Mul(b).SumKeep(-1)
	speed := a.Square().SumKeep(-1).Mul(b.Square().SumKeep(-1)).Sub(dot.Square()).Sqrt() // [E,L,H,1,1]
	angles := places(s, a, p.Index).AddScalar(g.from).MulScalar(g.w).Mul(speed)          // [E,L,H,N,1]
	return &planeHooks{a: a, b: b, first: angles.Sin().Div(speed),
		second: angles.Cos().Neg().AddScalar(1).Div(speed.Square())}
}

// contextualHooks turn pairs by phases that the tokens before have added up to.
type contextualHooks struct {
	Identity
	g         *grapeM
	w, b      torchpe.Tensor // of all layers
	frequency torchpe.Tensor // [E,L,H or 1,1,Dh/2]
	before    torchpe.Tensor // [N,N] 1 where the key's place is before the query's
}

func (h *contextualHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	angles := h.phase(a).Transpose(2, 3).Unsqueeze(-1).Mul(layerOf(h.frequency, a.Layer))
	cos, sin := angles.Cos(), angles.Sin().Neg() // [E,B,H or 1,N,Dh/2]
	return torchpe.RotatePairs(a.Q, cos, sin, true), torchpe.RotatePairs(a.K, cos, sin, true), a.V
}

// phase returns Phi [E,B,N,H or 1].
func (h *contextualHooks) phase(a Attn) torchpe.Tensor {
	omega := torchpe.Linear(a.X, h.w.Select(1, a.Layer), h.b.Select(1, a.Layer))
	return h.before.MatMul(omega.MulScalar(1 / h.g.scale).Sigmoid())
}

// planeHooks turn one plane of a head, that of a and b.
type planeHooks struct {
	Identity
	a, b          torchpe.Tensor // [E,L,H,1,Dh]
	first, second torchpe.Tensor // [E,L,H,N,1] factors of L and L^2
}

func (h *planeHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	return h.turned(a.Q, a.Layer), h.turned(a.K, a.Layer), a.V
}

func (h *planeHooks) turned(x torchpe.Tensor, layer int) torchpe.Tensor {
	a, b := layerOf(h.a, layer), layerOf(h.b, layer)
	generator := func(x torchpe.Tensor) torchpe.Tensor { // L x = a (b x) - b (a x)
		return a.Mul(b.Mul(x).SumKeep(-1)).Sub(b.Mul(a.Mul(x).SumKeep(-1)))
	}
	once := generator(x)
	return x.Add(layerOf(h.first, layer).Mul(once)).
		Add(layerOf(h.second, layer).Mul(generator(once)))
}
