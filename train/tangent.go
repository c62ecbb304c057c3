package train

import (
	"math"

	"torchpe/models"
	"torchpe/torchpe"
)

// outputs are those of a model for some examples: of gives f(x_i) [E,classes] of all members in s.
type outputs struct {
	examples, classes int
	of                func(s *torchpe.Scope, i int) torchpe.Tensor
}

// tangentKernels returns for each member the kernel
//
//	K[i,j] = sum over outputs c of <df_c(x_i)/dw, df_c(x_j)/dw>
//
// of n examples, [E][n*n], from the model's outputs, computed in children of within. The gradients of
// ps are 0 afterwards.
//
// Source: Jacot et al. 2018, "Neural tangent kernel", equation of section 4, traced over outputs.
// It takes n*C backward passes and the memory of n gradients.
func tangentKernels(within *torchpe.Scope, ps *torchpe.ParamSet, f outputs) (kernels [][]float64, err error) {
	n := f.examples
	kernels = make([][]float64, ps.Members)
	for m := range kernels {
		kernels[m] = make([]float64, n*n)
	}
	err = torchpe.Catch(func() {
		for k := range f.classes {
			all := torchpe.NewScopeNoGrad()
			func() {
				defer all.Close()
				gradients := torchpe.Zeros(all, ps.DType, ps.Device, ps.Members, n, ps.Columns())
				for i := range n {
					ps.Grads(all).Fill(0)
					s := within.Child()
					func() {
						defer s.Close()
						f.of(s, i).Select(1, k).Sum().Backward() // members share nothing
					}()
					gradients.Select(1, i).CopyFrom(ps.Grads(all))
				}
				ps.Grads(all).Fill(0)
				products := gradients.MatMul(gradients.Transpose(1, 2)).Float64s()
				for m := range kernels {
					for at, v := range products[m*n*n : (m+1)*n*n] {
						kernels[m][at] += v
					}
				}
			}()
		}
	})
	return kernels, err
}

// alignment returns the cosine <a, b> / (||a|| ||b||) of two kernels. Lazy training leaves it at 1.
func alignment(a, b []float64) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// tangentAlignments returns [E] the alignment of each member's tangent kernel on training puzzles,
// evenly spaced, with that of the model before its first step.
func (t *lstTask) tangentAlignments(e *ensemble) ([]float64, error) {
	start, err := e.newModel()
	if err != nil {
		return nil, err
	}
	defer start.Close()
	n := min(t.config.TangentPuzzles, t.train.n)
	var kernels [2][][]float64
	for k, m := range []*models.Model{start, e.model} {
		classes := m.Config.Classes
		of := func(s *torchpe.Scope, i int) torchpe.Tensor {
			b := t.evaluationBatch(e, s, t.train, piece{step: 0, from: i * t.train.n / n, n: 1})
			return m.Forward(s, b.Input, nil).Reshape(e.members(), classes)
		}
		kernels[k], err = tangentKernels(e.resident, m.Params, outputs{n, classes, of})
		if err != nil {
			return nil, err
		}
	}
	out := make([]float64, e.members())
	for m := range out {
		out[m] = alignment(kernels[0][m], kernels[1][m])
	}
	return out, nil
}
