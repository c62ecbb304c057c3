// attention_cuda.cc: attention over few tokens on a GPU, with one kernel for each direction.
#include "gpu_parts.h"
#include "heads.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

template <typename T>
GpuHeads<T> heads(const at::Tensor& t) {
  if (!t.defined() || !given(t)) return {nullptr, 0, 0, 0, 0, 0};
  return {address<std::remove_const_t<T>>(t), t.stride(0), t.stride(1), t.stride(2), t.stride(3), t.stride(4)};
}

}  // namespace

template <typename T, typename S>
GpuAttention<T, S> AttentionPass::described() const {
  GpuAttention<T, S> a = {};
  a.members = q.size(0);
  a.batch = q.size(1);
  a.heads = q.size(2);
  a.N = int(q.size(3));
  a.M = int(k.size(3));
  a.D = int(q.size(4));
  a.Dv = int(v.size(4));
  a.scale = scale;
  a.q = heads<const S>(q);
  a.k = heads<const S>(k);
  a.v = heads<const S>(v);
  a.q_bias = heads<const T>(q_bias);
  a.k_bias = heads<const T>(k_bias);
  a.v_bias = heads<const T>(v_bias);
  a.bias = heads<const T>(mask);
  return a;
}

void AttentionPass::forward(const at::Tensor& out) const {
  const OnDevice here(q);
  TORCHPE_WIDE_DISPATCH(q, [&] {
    auto a = described<T, S>();
    a.out = heads<S>(out);
    wide_kernels<T, S>(q).attention(here, a);
  });
}

void AttentionPass::backward(const at::Tensor& dout) const {
  const OnDevice here(q);
  TORCHPE_WIDE_DISPATCH(q, [&] {
    auto a = described<T, S>();
    a.dout = heads<const S>(dout);
    a.dq = heads<S>(dq);
    a.dk = heads<S>(dk);
    a.dv = heads<S>(dv);
    a.dq_sum = heads<T>(dq_sum);
    a.dk_sum = heads<T>(dk_sum);
    a.dv_sum = heads<T>(dv_sum);
    wide_kernels<T, S>(q).attention_backward(here, a);
  });
}

namespace {

struct AttentionOnGpu : torch::autograd::Function<AttentionOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& mask, double scale) {
    const AttentionPass a = pass(dense_rows(q), dense_rows(k), dense_rows(v), mask, scale);
    auto out = empty_tokens_first(q.size(0), q.size(1), q.size(2), q.size(3), v.size(4), q.options());
    a.forward(out);
    ctx->save_for_backward({a.q, a.k, a.v, mask});
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    auto a = pass(saved[0], saved[1], saved[2], saved[3], ctx->saved_data["scale"].toDouble());
    const bool need[3] = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2)};
    make_room(a, need);
    a.backward(dense_rows(grads[0]));
    return {a.dq, a.dk, a.dv, at::Tensor(), at::Tensor()};
  }

  static AttentionPass pass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                            double scale) {
    AttentionPass a;
    a.q = q;
    a.k = k;
    a.v = v;
    a.mask = mask;
    a.scale = scale;
    return a;
  }

  // Allocates the gradients that are wanted: for self-attention one [E,B,N,3D], as ProjectQKV's
  // backward pass takes it.
  static void make_room(AttentionPass& a, const bool need[3]) {
    const auto& q = a.q;
    if (need[0] && need[1] && need[2] && q.sizes() == a.k.sizes() && q.sizes() == a.v.sizes()) {
      const auto all = at::empty({q.size(0), q.size(1), q.size(3), 3 * q.size(2) * q.size(4)}, q.options());
      a.dq = part_as_heads(all, 0, q.size(2));
      a.dk = part_as_heads(all, 1, q.size(2));
      a.dv = part_as_heads(all, 2, q.size(2));
      return;
    }
    const auto like = [](const at::Tensor& t) {
      return empty_tokens_first(t.size(0), t.size(1), t.size(2), t.size(3), t.size(4), t.options());
    };
    if (need[0]) a.dq = like(a.q);
    if (need[1]) a.dk = like(a.k);
    if (need[2]) a.dv = like(a.v);
  }
};

}  // namespace

at::Tensor attention_on_gpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                            double scale) {
  return AttentionOnGpu::apply(q, k, v, mask, scale);
}

}  // namespace torchpe
