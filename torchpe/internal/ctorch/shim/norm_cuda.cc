// norm_cuda.cc: residual sum with layer norm, and dropout, on a GPU.
#include "gpu_parts.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

template <typename T>
GpuNorm<T> NormPass::described() const {
  const auto& like = x.defined() ? x : xhat;
  GpuNorm<T> a = {};
  a.members = like.size(0);
  a.rows = like.size(1);
  a.cols = like.size(2);
  a.x = address<T>(x);
  a.y = address<T>(y);
  a.y_bias = address<T>(y_bias);
  if (a.y_bias) a.y_bias_member = y_bias.stride(0);
  a.gelu = gelu;
  a.gain = gain.data_ptr<T>();
  a.bias = bias.data_ptr<T>();
  a.gain_member = gain.stride(0);
  a.bias_member = bias.stride(0);
  a.eps = eps;
  if (xhat.defined()) {
    a.xhat = xhat.data_ptr<T>();
    a.rstd = rstd.data_ptr<T>();
  }
  return a;
}

at::Tensor NormPass::forward(bool keep) {
  auto out = at::empty_like(x);
  if (keep) {
    xhat = at::empty_like(x);
    rstd = at::empty({x.size(0), x.size(1)}, x.options());
  }
  const OnDevice here(x);
  TORCHPE_DISPATCH(x, [&] {
    auto a = described<T>();
    a.out = out.data_ptr<T>();
    gpu_kernels<T>(x).add_layer_norm(here, a);
  });
  return out;
}

void NormPass::backward(const at::Tensor& dout, bool bf16) {
  const int64_t E = xhat.size(0), rows = xhat.size(1), D = xhat.size(2);
  const bool sums_y = y_bias.defined() && given(y_bias) && y_bias.requires_grad();
  ds = at::empty_like(xhat);
  dy = bf16 ? at::empty(xhat.sizes(), xhat.options().dtype(at::kBFloat16)) : gelu ? at::empty_like(xhat) : ds;
  const auto parts = at::empty({E, norm_chunks(rows), sums_y ? 3 : 2, D}, xhat.options());
  const OnDevice here(xhat);
  TORCHPE_DISPATCH(xhat, [&] {
    auto a = described<T>();
    a.dout = dout.data_ptr<T>();
    a.ds = ds.data_ptr<T>();
    if (bf16)
      a.dy16 = reinterpret_cast<uint16_t*>(dy.data_ptr<at::BFloat16>());
    else if (gelu)
      a.dy = dy.data_ptr<T>();
    a.sums = int(parts.size(2));
    a.parts = parts.data_ptr<T>();
    gpu_kernels<T>(xhat).layer_norm_backward(here, a);
  });
  const auto g = grad_target(gain), b = grad_target(bias);
  if (sums_y) {
    const auto of_y = grad_target(y_bias);
    add_sums(parts, {g.into, b.into, of_y.into});
    dy_bias = of_y.result();
  } else {
    add_sums(parts, {g.into, b.into});
  }
  dgain = g.result();
  dbias = b.result();
}

namespace {

struct NormOnGpu : torch::autograd::Function<NormOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& y, const at::Tensor& gain,
                            const at::Tensor& bias, double eps, bool keep) {
    NormPass n;
    n.x = as_rows(x);
    if (given(y)) n.y = as_rows(y);
    n.gain = gain;
    n.bias = bias;
    n.eps = eps;
    const auto out = n.forward(keep);
    if (keep) ctx->save_for_backward({n.xhat, n.rstd, gain, bias});
    return shaped(out, x.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    NormPass n;
    n.gain = saved[2];
    n.bias = saved[3];
    n.xhat = saved[0];
    n.rstd = saved[1];
    n.backward(as_rows(grads[0]), false);
    const auto ds = shaped(n.ds, grads[0].sizes());
    return {ds, ctx->needs_input_grad(1) ? ds : at::Tensor(), n.dgain, n.dbias, at::Tensor(), at::Tensor()};
  }
};

// The mask is drawn anew in the backward pass: nothing is kept but the draws.
struct DropoutOnGpu : torch::autograd::Function<DropoutOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, double p, const at::Tensor& draws,
                            int64_t call) {
    ctx->save_for_backward({draws});
    ctx->saved_data["p"] = p;
    ctx->saved_data["call"] = call;
    return masked(x, p, draws, call);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto draws = ctx->get_saved_variables()[0];
    return {masked(grads[0], ctx->saved_data["p"].toDouble(), draws, ctx->saved_data["call"].toInt()), at::Tensor(),
            at::Tensor(), at::Tensor()};
  }
  static at::Tensor masked(const at::Tensor& x_in, double p, const at::Tensor& draws, int64_t call) {
    const auto x = x_in.contiguous();
    auto y = at::empty_like(x);
    const int64_t E = x.size(0), n = x.numel() / std::max<int64_t>(E, 1);
    const OnDevice here(x);
    TORCHPE_DISPATCH(x, [&] {
      gpu_kernels<T>(x).dropout(here, E, n, x.data_ptr<T>(), draws.data_ptr<int64_t>(), uint64_t(call),
                                dropout_threshold(p), 1 / (1 - p), y.data_ptr<T>());
    });
    return y;
  }
};

}  // namespace

bool norm_fits_gpu(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias) {
  const auto dense = [](const at::Tensor& t) { return t.stride(1) == 1 || t.size(1) <= 1; };
  return use_kernels(x) && x.size(-1) <= GPU_NORM_WIDTH && dense(gain) && dense(bias) && !gain.is_same(bias);
}

at::Tensor add_layer_norm_on_gpu(const at::Tensor& x, const at::Tensor& y, const at::Tensor& gain,
                                 const at::Tensor& bias, double eps, bool keep) {
  return NormOnGpu::apply(x, y, gain, bias, eps, keep);
}

at::Tensor dropout_on_gpu(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call) {
  return DropoutOnGpu::apply(x, p, draws, int64_t(call));
}

}  // namespace torchpe
