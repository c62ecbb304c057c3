// gpu_parts.h: the parts of operators and blocks on a GPU: the passes of a linear map, of layer
// norm and of attention over few tokens, without autograd. Each has its own file, *_cuda.cc.
#pragma once
#include "gpu.h"
#include "product.h"

namespace torchpe {

// The numbers of t, stored as S; null where t is undefined or empty.
template <typename S>
S* address(const at::Tensor& t) {
  if (!t.defined() || !given(t)) return nullptr;
  TORCH_INTERNAL_ASSERT(t.element_size() == sizeof(S));
  return static_cast<S*>(t.data_ptr());
}

// The type in which sums of numbers like those of t are kept.
inline at::TensorOptions of_sums(const at::Tensor& t) {
  return t.options().dtype(t.scalar_type() == at::kBFloat16 ? at::kFloat : t.scalar_type());
}

// x [E,...,I] as [E,rows,I], dense.
at::Tensor as_rows(const at::Tensor& x);
// rows as products take them: x16 where there is one, made of the same numbers before.
inline at::Tensor operand_of(const at::Tensor& rows, const at::Tensor& x16) {
  return x16.defined() && x16.scalar_type() == operand_type(rows) ? x16.view(rows.sizes()) : operand(rows);
}
// rows [E,rows,O] as [E,...,O], for a result or a gradient of an operator.
at::Tensor shaped(const at::Tensor& rows, at::IntArrayRef like);

// u + b, then GELU where gelu: u [E,rows,O], b [E,O] or none. y, of u's type, may be u.
void bias_gelu(const at::Tensor& u, const at::Tensor& b, bool gelu, const at::Tensor& y);

// The gradient of u, by that of bias_gelu's result; u is undefined where there was no GELU. Its
// sums over rows go to b, a parameter or none.
struct BiasGeluBackward {
  at::Tensor u, b, dy;
  at::Tensor db;  // what autograd is to have of b's gradient
  // The gradient as products take it; undefined where it is not wanted.
  at::Tensor run(bool wanted, bool bf16);
};

// Adds the gradient of x w^T to dw, if that is anywhere, by du [E,rows,O]; x and du as products take
// them.
inline void add_weight_gradient(const GradTarget& dw, const at::Tensor& du, const at::Tensor& x) {
  if (dw.into.defined()) add_product_(dw.into, du.transpose(1, 2), x, dw.first);
}

// Where the gradient of a parameter goes, or nowhere if it wants none.
inline GradTarget wanted_target(const at::Tensor& w) {
  return given(w) && w.requires_grad() ? write_target(w) : GradTarget{{}, true, false};
}

// Layer norm of x + f(y + y_bias), f GELU or nothing: x, y [E,rows,D], y_bias [E,D]; without GELU y
// and y_bias may be empty or undefined. y may be of bfloat16, with x of float32: then xhat and dy
// are too.
struct NormPass {
  at::Tensor x, y, y_bias;
  bool gelu = false;
  NormOperands norm;  // the table's rows dense; rows are those of its tokens one after the other
  at::Tensor xhat, rstd;  // for the backward pass, which needs y, y_bias and norm besides; after forward(true)
  Normed forward(bool keep);

  at::Tensor ds, dy;  // the gradients of x and y; dy is ds where they are the same
  at::Tensor dgain, dbias, dtable, dy_bias;  // what autograd is to have of them
  void backward(const at::Tensor& dout);

 private:
  GpuNormCut cut() const;
  template <typename T, typename S>
  GpuNorm<T, S> described() const;
};

// Attention over few tokens: q, k, v [E,B,H,N,Dh] with dense rows; the biases of q, k and v
// [E,B,H,1,Dh] or undefined; mask [E,B,H,N,M] or empty. q, k, v and their gradients may be of
// bfloat16. backward fills the gradients, of the same shapes, and their sums over tokens, shaped
// like the biases: those that are defined.
struct AttentionPass {
  at::Tensor q, k, v, q_bias, k_bias, v_bias, mask;
  double scale = 1;
  void forward(const at::Tensor& out) const;

  at::Tensor dq, dk, dv, dq_sum, dk_sum, dv_sum;
  void backward(const at::Tensor& dout) const;

 private:
  template <typename T, typename S>
  GpuAttention<T, S> described() const;
};

// Attention over many tokens, as AttentionBlock's products lie: q, k, v in u [E,B N,3D], or where
// apart q in uq [E,B M,D] and k, v in u [E,B N,2D]. Without a mask.
struct ManyTokens {
  ManyForm form;  // not none
  int64_t batch, heads;
  double scale;
  at::Tensor uq, u;  // forward adds the biases; flash has them in bfloat16 from then on
  bool apart;
  at::Tensor sums = {}, seed = {}, offset = {};  // what forward keeps for backward
  // biases b [E,3D] or none; the heads' results side by side, [E,B M,D].
  at::Tensor forward(const at::Tensor& b, bool keep);

  at::Tensor duq = {}, du = {};  // the gradients of uq and u
  // a is forward's result and da its gradient; sums over tokens go to db [E,3D], if that is
  // anywhere.
  void backward(const at::Tensor& a, const at::Tensor& da, const GradTarget& db);
};

// Part number `part` of y [E,B,N,parts D] as [E,B,H,N,Dh].
inline at::Tensor part_as_heads(const at::Tensor& y, int64_t part, int64_t H, int64_t parts = 3) {
  return y.view({y.size(0), y.size(1), y.size(2), parts, H, y.size(3) / parts / H})
      .select(3, part)
      .permute({0, 1, 3, 2, 4});
}

// Adds the sums over chunks of parts [E,chunks,count,cols] to `into`, `count` of [E,cols].
void add_sums(const at::Tensor& parts, std::initializer_list<GradTarget> into);

}  // namespace torchpe
