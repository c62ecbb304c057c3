// floater: positions as the path of a learned dynamical system, which gives queries, keys and
// values of each block a bias (Liu et al. 2020, "Learning to encode position for transformer with
// continuous dynamical model", equations 5-8).
//
//	p(0) = p_0 in R^{3 x L x D},  dp/dt = h(t, p),  t_i = i dt
//	h(t, p) = W_2 [relu(W_1 [p; t] + b_1); t] + b_2
//	q_i <- q_i + p^q_l(t_i),  k_i <- k_i + p^k_l(t_i),  v_i <- v_i + p^v_l(t_i)
//
// h is shared by blocks and by q, k and v. As in the official code dt = 0.01, and the solver is the
// Runge-Kutta method of order 4 by the 3/8 rule with 5 steps from token to token; gradients go
// through its steps. p_0 ~ N(0, sigma^2); W and b start as in torch.nn.Linear. The projections keep
// their own biases, which the official code leaves out.
//
// The path goes from token to token: a pass takes 20 (N-1) evaluations of h one after the other,
// however wide the model is. --floater-solver euler takes N-1.

package pe

import (
	"fmt"
	"math"
	"slices"

	"torchpe/torchpe"
)

var (
	floaterDt = Option{Name: "floater-dt", Default: "0.01", Check: number(1e-9, 1e3),
		Help: "time from one place to the next in floater"}
	floaterSolver = Option{Name: "floater-solver", Default: "rk4", Check: oneOf("rk4", "euler"),
		Help: "how floater goes from one place to the next: five steps of order 4 as in the " +
			"official code, or one Euler step, which is faster"}
)

// floaterSteps counts the steps of the solver from one place to the next.
const floaterSteps = 5

func init() {
	Register(Scheme{
		Name: "floater", Learned: true,
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
		return nil, fmt.Errorf("floater: --pe-init %s: it has no learned table, and its first "+
			"vectors start as N(0, sigma^2)", c.Init)
	}
	f := &floater{
		start: ps.Add("pe.start", true, ofSigma(c), 3, c.Layers, c.DModel),
		dt:    c.Options.Float(floaterDt.Name),
		euler: c.Options.Text(floaterSolver.Name) == "euler", layers: c.Layers, heads: c.Heads,
		d: c.DModel,
	}
	for i, name := range []string{"pe.in.", "pe.out."} {
		f.w[i], f.b[i] = addLinear(ps, name, c.DModel+1, c.DModel)
	}
	return f, nil
}

func (f *floater) Sites() Site { return AtQK | AtValues }

func (f *floater) Begin(s *torchpe.Scope, p Positions) Hooks {
	members, rows, n := f.start.Shape[0], 3*f.layers, p.Tokens()
	start := f.start.In(s).Reshape(members, rows, f.d)
	path := f.flow(s, start, slices.Max(p.Index)) // [E,places,3 L,D]
	at := path.IndexSelect(1, indexTensor(s, path.Device(), p.Index, n))
	biases := at.Reshape(members, n, 3, f.layers, f.heads, f.d/f.heads).Permute(0, 2, 3, 4, 1, 5)
	return &floaterHooks{biases: biases}
}

// flow returns p at the times 0, dt, .. last dt: [E,last+1,3 L,D].
//
// h is W_2 relu(z) + b_2 + t u_2 for z = W_1 p + b_1 + t u_1, with u the columns of t. So the
// solver steps z instead of p,
//
//	dz/dt = M relu(z) + c_0 + t c_1,  M = W_1 W_2,  c_0 = W_1 b_2 + u_1,  c_1 = W_1 u_2
//
// which takes one product a stage instead of two, and p follows from the sums R of relu(z) over the
// stages as p(t) = p_0 + W_2 R + b_2 t + u_2 t^2/2. Runge-Kutta methods commute with linear maps,
// and integrate times exactly: the numbers are those of steps on p but for rounding.
func (f *floater) flow(s *torchpe.Scope, start torchpe.Tensor, last int) torchpe.Tensor {
	members := f.start.Shape[0]
	w1, u1 := f.parts(s, 0)
	w2, u2 := f.parts(s, 1)
	b2 := f.b[1].In(s)
	m := w1.MatMul(w2)
	c0 := w1.MatMul(b2.Unsqueeze(-1)).Squeeze(-1).Add(u1)
	c1 := w1.MatMul(u2.Unsqueeze(-1)).Squeeze(-1)
	// at 1/2: the mean over a step
	step, stages := f.dt/floaterSteps, []float64{0, 1.0 / 3, 2.0 / 3, 0.5}
	if f.euler {
		step, stages = f.dt, []float64{0}
	}
	steps := last * int(math.Round(f.dt/step))
	column := func(values []float64, shape ...int) torchpe.Tensor {
		return numbers(s, m, values, shape...)
	}
	z := torchpe.Linear(start, w1, f.b[0].In(s))
	sums := []torchpe.Tensor{z.MulScalar(0)}
	if steps > 0 {
		var times []float64
		for i := range steps {
			for _, c := range stages {
				times = append(times, (float64(i)+c)*step)
			}
		}
		// [E,stages,D]
		forces := column(times, 1, len(times), 1).Mul(c1.Unsqueeze(1)).Add(c0.Unsqueeze(1)).
			MulScalar(step)
		solver := &floaterSolve{m: m.MulScalar(step), eighth: m.MulScalar(step / 8), forces: forces}
		sum := sums[0]
		for i := 1; i <= steps; i++ {
			var r torchpe.Tensor
			if f.euler {
				r, z = solver.euler(z)
			} else {
				r, z = solver.threeEighths(z)
			}
			if sum = sum.Add(r); i%(steps/last) == 0 {
				sums = append(sums, sum)
			}
		}
	}
	// squares: 2 times the sum of time over steps
	t, squares := make([]float64, last+1), make([]float64, last+1)
	weight := step / 8
	for i := range t {
		t[i] = float64(i) * f.dt
		if squares[i] = t[i] * t[i]; f.euler {
			weight, squares[i] = step, t[i]*(t[i]-f.dt)
		}
	}
	n := last + 1
	// [E,n,3 L,D]
	moved := torchpe.Linear(torchpe.Stack(1, sums...).MulScalar(weight), w2, torchpe.Tensor{})
	forced := column(t, 1, n, 1).Mul(b2.Unsqueeze(1)).
		Add(column(squares, 1, n, 1).Mul(u2.Unsqueeze(1)).MulScalar(0.5))
	return moved.Add(start.Unsqueeze(1)).Add(forced.Reshape(members, n, 1, f.d))
}

// parts returns the weights of p [E,D,D] and of t [E,D] of a layer of h.
func (f *floater) parts(s *torchpe.Scope, layer int) (w, u torchpe.Tensor) {
	all := f.w[layer].In(s)
	return all.Narrow(2, 0, f.d).Contiguous(), all.Select(2, f.d)
}

// floaterSolve makes the steps of z one after the other.
type floaterSolve struct {
	m, eighth torchpe.Tensor // M times a step, and an eighth of it
	forces    torchpe.Tensor // [E,stages,D], times a step
	at        int            // the next of them
}

func (f *floaterSolve) force() torchpe.Tensor {
	f.at++
	return f.forces.Select(1, f.at-1)
}

// threeEighths makes a step of the Runge-Kutta method of order 4 by the 3/8 rule (Kutta 1901),
// which torchdiffeq calls rk4. r is the sum of relu(z) with the weights 1, 3, 3, 1.
func (f *floaterSolve) threeEighths(z torchpe.Tensor) (r, next torchpe.Tensor) {
	r1 := z.ReLU()
	k1 := torchpe.Linear(r1, f.m, f.force())
	third := k1.MulScalar(1.0 / 3)
	r2 := z.Add(third).ReLU()
	k2 := torchpe.Linear(r2, f.m, f.force())
	r3 := z.Add(k2).Sub(third).ReLU()
	k3 := torchpe.Linear(r3, f.m, f.force())
	r4 := z.Add(k1).Sub(k2).Add(k3).ReLU()
	r = r2.Add(r3).MulScalar(3).Add(r1).Add(r4)
	return r, z.Add(torchpe.Linear(r, f.eighth, f.force()))
}

// euler makes one Euler step; r is relu(z).
func (f *floaterSolve) euler(z torchpe.Tensor) (r, next torchpe.Tensor) {
	r = z.ReLU()
	return r, z.Add(torchpe.Linear(r, f.m, f.force()))
}

type floaterHooks struct {
	Identity
	biases torchpe.Tensor // [E,3,L,H,N,Dh]
}

func (h *floaterHooks) QKV(a Attn) (q, k, v torchpe.Tensor) {
	of := func(x torchpe.Tensor, i int) torchpe.Tensor {
		// [E,1,H,N,Dh] over the batch
		return x.Add(h.biases.Select(1, i).Select(1, a.Layer).Unsqueeze(1))
	}
	return of(a.Q, 0), of(a.K, 1), of(a.V, 2)
}
