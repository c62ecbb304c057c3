// floater: positions as the path of a learned dynamical system, which gives queries, keys and values of each block a bias (Liu et al.
// 2020, "Learning to encode position for transformer with continuous dynamical model", equations 5-8).
//
//	p(0) = p_0 in R^{3 x L x D},  dp/dt = h(t, p) = W_2 [relu(W_1 [p; t] + b_1); t] + b_2,  t_i = i dt
//	q_i <- q_i + p^q_l(t_i),  k_i <- k_i + p^k_l(t_i),  v_i <- v_i + p^v_l(t_i)
//
// h is shared by blocks and by q, k and v. As in the official code dt = 0.01, and the solver is the Runge-Kutta method of order 4
// by the 3/8 rule with 5 steps from token to token; gradients go through its steps. p_0 ~ N(0, sigma^2); W and b start as in
// torch.nn.Linear. The projections keep their own biases, which the official code leaves out.
//
// The path goes from token to token: a pass takes 20 (N-1) evaluations of h one after the other, however wide the model is.
// --floater-solver euler takes N-1.

package pe

import (
	"fmt"
	"slices"

	"torchpe/torchpe"
)

var (
	floaterDt = Option{Name: "floater-dt", Default: "0.01", Check: number(1e-9, 1e3),
		Help: "time from one place to the next in floater"}
	floaterSolver = Option{Name: "floater-solver", Default: "rk4", Check: oneOf("rk4", "euler"),
		Help: "how floater goes from one place to the next: five steps of order 4 as in the official code, or one Euler step, which is faster"}
)

func init() {
	Register(Scheme{
		Name: "floater", Learned: true,
		Summary: "biases of q, k and v along the path of a learned differential equation",
		Title:   "Learning to Encode Position for Transformer with Continuous Dynamical Model", Year: 2020,
		Reference: "Liu et al. 2020, arXiv 2003.09229",
		Formula: "p(0) = p_0 in R^{3 x L x D},  dp/dt = h(t, p) = W_2 [relu(W_1 [p; t] + b_1); t] + b_2,  t_i = i dt\n" +
			"q_i <- q_i + p^q_l(t_i),  k_i <- k_i + p^k_l(t_i),  v_i <- v_i + p^v_l(t_i)",
		Parameters:   "3 L D + 2 D (D + 2)",
		Criteria:     Criteria{Inductive: true, DataDriven: true, ParameterEfficient: true, Printed: true},
		Extrapolates: Always,
		Options:      []Option{floaterDt, floaterSolver},
		New:          newFloater,
	})
}

type floater struct {
	None
	start    *torchpe.Param    // [E,3,L,D]
	w, b     [2]*torchpe.Param // [E,D,D+1], [E,D]: the last column is that of t
	dt       float64
	euler    bool
	layers   int
	heads, d int
}

func newFloater(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	if c.Init.Kind != "" {
		return nil, fmt.Errorf("floater: --pe-init %s: it has no learned table, and its first vectors start as N(0, sigma^2)", c.Init)
	}
	f := &floater{
		start: ps.Add("pe.start", true, ofSigma(c), 3, c.Layers, c.DModel),
		dt:    c.Options.Float(floaterDt.Name), euler: c.Options.Text(floaterSolver.Name) == "euler", layers: c.Layers, heads: c.Heads, d: c.DModel,
	}
	for i, name := range []string{"pe.in", "pe.out"} {
		f.w[i] = ps.Add(name+".weight", true, torchpe.FanIn(c.DModel+1), c.DModel, c.DModel+1)
		f.b[i] = ps.Add(name+".bias", true, torchpe.FanIn(c.DModel+1), c.DModel)
	}
	return f, nil
}

func (f *floater) Sites() Site { return AtQK | AtValues }

func (f *floater) Begin(s *torchpe.Scope, p Positions) Hooks {
	members := f.start.Shape[0]
	h := f.flow(s)
	state := f.start.In(s).Reshape(members, 3*f.layers, f.d)
	path := []torchpe.Tensor{state}
	for i := range slices.Max(p.Index) {
		t := float64(i) * f.dt
		if f.euler {
			state = state.Add(h(t, state).MulScalar(f.dt))
		} else {
			const steps = 5
			for k := range steps {
				state = threeEighths(h, t+float64(k)*f.dt/steps, f.dt/steps, state)
			}
		}
		path = append(path, state)
	}
	at := make([]torchpe.Tensor, p.Tokens())
	for i, place := range p.Index {
		at[i] = path[place]
	}
	biases := torchpe.Stack(2, at...) // [E,3 L,N,D]
	n := p.Tokens()
	return &floaterHooks{biases: biases.Reshape(members, 3, f.layers, n, f.heads, f.d/f.heads).Transpose(3, 4)}
}

// flow returns h: [E,M,D] at time t -> the same.
func (f *floater) flow(s *torchpe.Scope) func(t float64, y torchpe.Tensor) torchpe.Tensor {
	var w, b, ofTime [2]torchpe.Tensor
	for i := range w {
		all := f.w[i].In(s)
		w[i], ofTime[i] = all.Narrow(2, 0, f.d).Contiguous(), all.Select(2, f.d)
		b[i] = f.b[i].In(s)
	}
	return func(t float64, y torchpe.Tensor) torchpe.Tensor {
		hidden := torchpe.Linear(y, w[0], b[0].Add(ofTime[0].MulScalar(t))).ReLU()
		return torchpe.Linear(hidden, w[1], b[1].Add(ofTime[1].MulScalar(t)))
	}
}

// threeEighths makes a step of the Runge-Kutta method of order 4 by the 3/8 rule (Kutta 1901), which torchdiffeq calls rk4.
func threeEighths(h func(float64, torchpe.Tensor) torchpe.Tensor, t, step float64, y torchpe.Tensor) torchpe.Tensor {
	k1 := h(t, y)
	k2 := h(t+step/3, y.Add(k1.MulScalar(step/3)))
	k3 := h(t+2*step/3, y.Add(k2.Sub(k1.MulScalar(1.0/3)).MulScalar(step)))
	k4 := h(t+step, y.Add(k1.Sub(k2).Add(k3).MulScalar(step)))
	return y.Add(k1.Add(k2.Add(k3).MulScalar(3)).Add(k4).MulScalar(step / 8))
}

type floaterHooks struct {
	Identity
	biases torchpe.Tensor // [E,3,L,H,N,Dh]
}

func (h *floaterHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	of := func(x torchpe.Tensor, i int) torchpe.Tensor {
		return x.Add(h.biases.Select(1, i).Select(1, a.Layer).Unsqueeze(1)) // [E,1,H,N,Dh] over the batch
	}
	return of(a.Q, 0), of(a.K, 1), of(a.V, 2)
}
