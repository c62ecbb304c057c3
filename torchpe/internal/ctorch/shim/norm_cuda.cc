// norm_cuda.cc: residual sum with layer norm, and dropout, on a GPU.
#include "gpu.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

struct NormOnGpu : torch::autograd::Function<NormOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& y_in, const at::Tensor& gain, const at::Tensor& bias,
                            double eps, bool keep) {
    const auto x = x_in.contiguous(), y = given(y_in) ? y_in.contiguous() : y_in;
    const int64_t E = x.size(0), D = x.size(-1), rows = x.numel() == 0 ? 0 : x.numel() / (E * D);
    auto out = at::empty_like(x);
    auto xhat = keep ? at::empty_like(x) : at::Tensor(), rstd = keep ? at::empty({E, rows}, x.options()) : at::Tensor();
    const OnDevice here(x);
    TORCHPE_DISPATCH(x, [&] {
      gpu_kernels<T>(x).add_layer_norm(here, E, rows, D, x.data_ptr<T>(), given(y) ? y.data_ptr<T>() : nullptr, gain.data_ptr<T>(), gain.stride(0),
                                       bias.data_ptr<T>(), bias.stride(0), eps, keep ? xhat.data_ptr<T>() : nullptr, keep ? rstd.data_ptr<T>() : nullptr,
                                       out.data_ptr<T>());
    });
    if (keep) ctx->save_for_backward({xhat, rstd, gain, bias});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto xhat = saved[0], rstd = saved[1], gain = saved[2], bias = saved[3], d = grads[0].contiguous();
    const int64_t E = xhat.size(0), D = xhat.size(-1), rows = rstd.size(1), chunks = norm_chunks(rows);
    auto ds = at::empty_like(xhat);
    const auto parts = at::empty({E, chunks, 2, D}, xhat.options());
    const auto dgain = grad_target(gain), dbias = grad_target(bias);
    const OnDevice here(xhat);
    TORCHPE_DISPATCH(xhat, [&] {
      const auto& k = gpu_kernels<T>(xhat);
      k.layer_norm_backward(here, E, rows, D, xhat.data_ptr<T>(), rstd.data_ptr<T>(), gain.data_ptr<T>(), gain.stride(0), d.data_ptr<T>(),
                            ds.data_ptr<T>(), parts.data_ptr<T>());
      k.add_sums(here, E, chunks, parts.data_ptr<T>(), D, dgain.into.data_ptr<T>(), dgain.into.stride(0), D, dbias.into.data_ptr<T>(),
                 dbias.into.stride(0));
    });
    return {ds, ctx->needs_input_grad(1) ? ds : at::Tensor(), dgain.result(), dbias.result(), at::Tensor(), at::Tensor()};
  }
};

// The mask is drawn anew in the backward pass: nothing is kept but the draws.
struct DropoutOnGpu : torch::autograd::Function<DropoutOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, double p, const at::Tensor& draws, int64_t call) {
    ctx->save_for_backward({draws});
    ctx->saved_data["p"] = p;
    ctx->saved_data["call"] = call;
    return masked(x, p, draws, call);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto draws = ctx->get_saved_variables()[0];
    return {masked(grads[0], ctx->saved_data["p"].toDouble(), draws, ctx->saved_data["call"].toInt()), at::Tensor(), at::Tensor(), at::Tensor()};
  }
  static at::Tensor masked(const at::Tensor& x_in, double p, const at::Tensor& draws, int64_t call) {
    const auto x = x_in.contiguous();
    auto y = at::empty_like(x);
    const int64_t E = x.size(0), n = x.numel() / std::max<int64_t>(E, 1);
    const OnDevice here(x);
    TORCHPE_DISPATCH(x, [&] {
      gpu_kernels<T>(x).dropout(here, E, n, x.data_ptr<T>(), draws.data_ptr<int64_t>(), uint64_t(call), dropout_threshold(p), 1 / (1 - p), y.data_ptr<T>());
    });
    return y;
  }
};

}  // namespace

bool norm_fits_gpu(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias) {
  const auto dense = [](const at::Tensor& t) { return t.stride(1) == 1 || t.size(1) <= 1; };
  return use_kernels(x) && x.size(-1) <= GPU_NORM_WIDTH && dense(gain) && dense(bias);
}

at::Tensor add_layer_norm_on_gpu(const at::Tensor& x, const at::Tensor& y, const at::Tensor& gain, const at::Tensor& bias, double eps, bool keep) {
  return NormOnGpu::apply(x, y, gain, bias, eps, keep);
}

at::Tensor dropout_on_gpu(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call) {
  return DropoutOnGpu::apply(x, p, draws, int64_t(call));
}

}  // namespace torchpe
