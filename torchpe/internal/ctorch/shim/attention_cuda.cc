// attention_cuda.cc: attention on a GPU, for few tokens in one kernel each way.
#include "gpu.h"
#include "heads.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

template <typename T>
GpuHeads<T> heads(const at::Tensor& t) {
  if (!t.defined() || !given(t)) return {nullptr, 0, 0, 0, 0, 0};
  return {t.data_ptr<std::remove_const_t<T>>(), t.stride(0), t.stride(1), t.stride(2), t.stride(3), t.stride(4)};
}

template <typename T>
GpuAttention<T> attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias, double scale) {
  GpuAttention<T> a = {};
  a.members = q.size(0);
  a.batch = q.size(1);
  a.heads = q.size(2);
  a.N = int(q.size(3));
  a.M = int(k.size(3));
  a.D = int(q.size(4));
  a.Dv = int(v.size(4));
  a.scale = scale;
  a.q = heads<const T>(q);
  a.k = heads<const T>(k);
  a.v = heads<const T>(v);
  a.bias = heads<const T>(bias);
  return a;
}

struct AttentionOnGpu : torch::autograd::Function<AttentionOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in, const at::Tensor& v_in, const at::Tensor& bias,
                            double scale) {
    const auto q = dense_rows(q_in), k = dense_rows(k_in), v = dense_rows(v_in);
    auto out = empty_tokens_first(q.size(0), q.size(1), q.size(2), q.size(3), v.size(4), q.options());
    const OnDevice here(q);
    TORCHPE_DISPATCH(q, [&] {
      auto a = attention<T>(q, k, v, bias, scale);
      a.out = heads<T>(out);
      gpu_kernels<T>(q).attention(here, a);
    });
    ctx->save_for_backward({q, k, v, bias});
    ctx->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto q = saved[0], k = saved[1], v = saved[2], bias = saved[3], d = dense_rows(grads[0]);
    const bool need[3] = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2)};
    auto out = gradients(q, k, v, need);
    const OnDevice here(q);
    TORCHPE_DISPATCH(q, [&] {
      auto a = attention<T>(q, k, v, bias, ctx->saved_data["scale"].toDouble());
      a.dout = heads<const T>(d);
      a.dq = heads<T>(out[0]);
      a.dk = heads<T>(out[1]);
      a.dv = heads<T>(out[2]);
      gpu_kernels<T>(q).attention_backward(here, a);
    });
    return {out[0], out[1], out[2], at::Tensor(), at::Tensor()};
  }

  // Room for the gradients that are wanted: for self-attention one [E,B,N,3D], as ProjectQKV's backward pass takes it.
  static variable_list gradients(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const bool need[3]) {
    const int64_t E = q.size(0), B = q.size(1), H = q.size(2), N = q.size(3), Dh = q.size(4);
    variable_list list(3);
    if (need[0] && need[1] && need[2] && q.sizes() == k.sizes() && q.sizes() == v.sizes()) {
      const auto all = at::empty({E, B, N, 3, H, Dh}, q.options());
      for (int64_t part = 0; part < 3; part++) list[size_t(part)] = all.select(3, part).permute({0, 1, 3, 2, 4});
      return list;
    }
    const at::Tensor* like[3] = {&q, &k, &v};
    for (size_t i = 0; i < 3; i++) {
      const auto& t = *like[i];
      if (need[i]) list[i] = empty_tokens_first(t.size(0), t.size(1), t.size(2), t.size(3), t.size(4), t.options());
    }
    return list;
  }
};

}  // namespace

at::Tensor attention_on_gpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias, double scale) {
  return AttentionOnGpu::apply(q, k, v, bias, scale);
}

}  // namespace torchpe
