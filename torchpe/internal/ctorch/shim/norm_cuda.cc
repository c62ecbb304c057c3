// norm_cuda.cc: residual sum with layer norm, and dropout, on a GPU.
#include "gpu_parts.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

GpuNormCut NormPass::cut() const {
  return norm_cut((x.defined() ? x : xhat).size(1), given(norm.table) ? norm.table.size(1) : 1);
}

template <typename T, typename S>
GpuNorm<T, S> NormPass::described() const {
  const auto& like = x.defined() ? x : xhat;
  GpuNorm<T, S> a = {};
  a.members = like.size(0);
  a.rows = like.size(1);
  a.cols = like.size(2);
  a.x = address<T>(x);
  a.y = address<S>(y);
  a.y_bias = address<T>(y_bias);
  if (a.y_bias) a.y_bias_member = y_bias.stride(0);
  a.gelu = gelu;
  a.gain = address<T>(norm.gain);
  a.bias = address<T>(norm.bias);
  a.gain_member = norm.gain.stride(0);
  a.bias_member = norm.bias.stride(0);
  a.eps = norm.eps;
  a.table = address<T>(norm.table);
  a.table_member = a.table ? norm.table.stride(0) : 0;
  a.cut = cut();
  a.xhat = address<S>(xhat);
  a.rstd = address<T>(rstd);
  return a;
}

Normed NormPass::forward(bool keep) {
  const auto type = operand_type(x);
  Normed n{at::empty_like(x), {}};
  if (type != x.scalar_type()) n.out16 = at::empty(x.sizes(), x.options().dtype(type));
  const auto& wide = y.defined() && given(y) ? y : x;
  if (keep) {
    xhat = at::empty(x.sizes(), wide.options());
    rstd = at::empty({x.size(0), x.size(1)}, x.options());
  }
  const OnDevice here(x);
  TORCHPE_WIDE_DISPATCH(wide, [&] {
    auto a = described<T, S>();
    a.out = address<T>(n.out);
    a.out16 = address<Bf16>(n.out16);
    wide_kernels<T, S>(x).add_layer_norm(here, a);
  });
  return n;
}

void NormPass::backward(const at::Tensor& dout) {
  const int64_t E = xhat.size(0), D = xhat.size(2);
  const bool of_table = given(norm.table) && norm.table.requires_grad();
  const auto cut = this->cut();
  const bool sums_y = y_bias.defined() && given(y_bias) && y_bias.requires_grad();
  ds = at::empty_like(dout);
  dy = gelu || xhat.scalar_type() != dout.scalar_type() ? at::empty_like(xhat) : ds;
  const auto parts = at::empty({E, cut.chunks(), sums_y ? 3 : 2, D}, dout.options());
  const OnDevice here(xhat);
  TORCHPE_WIDE_DISPATCH(xhat, [&] {
    auto a = described<T, S>();
    a.dout = address<T>(dout);
    a.ds = address<T>(ds);
    if (!dy.is_same(ds)) a.dy = address<S>(dy);
    a.sums = int(parts.size(2));
    a.parts = address<T>(parts);
    wide_kernels<T, S>(xhat).layer_norm_backward(here, a);
  });
  const auto g = write_target(norm.gain), b = write_target(norm.bias);
  if (sums_y) {
    const auto of_y = write_target(y_bias);
    add_sums(parts, {g, b, of_y});
    dy_bias = of_y.result();
  } else {
    add_sums(parts, {g, b});
  }
  dgain = g.result();
  dbias = b.result();
  if (!of_table) return;
  // The gradient of the bias before its sum over tokens, which are in place of members here.
  dtable = at::empty(norm.table.sizes(), dout.options());
  add_sums(parts.view({E * cut.tokens, cut.of_token, parts.size(2), D}).narrow(2, 1, 1),
           {{dtable.view({E * cut.tokens, D}), false, true}});
}

namespace {

struct NormOnGpu : torch::autograd::Function<NormOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& y, const at::Tensor& gain,
                            const at::Tensor& bias, const at::Tensor& table, at::Tensor* out16, double eps, bool keep) {
    NormPass n;
    n.x = as_rows(x);
    if (given(y)) n.y = as_rows(y);
    n.norm = {gain, bias, table, eps};
    const auto normed = n.forward(keep);
    *out16 = normed.out16;
    if (keep) ctx->save_for_backward({n.xhat, n.rstd, gain, bias, table});
    return shaped(normed.out, x.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    NormPass n;
    n.norm = {saved[2], saved[3], saved[4], 0};
    n.xhat = saved[0];
    n.rstd = saved[1];
    n.backward(as_rows(grads[0]));
    const auto ds = shaped(n.ds, grads[0].sizes());
    return {ds, ctx->needs_input_grad(1) ? ds : at::Tensor(), n.dgain, n.dbias, n.dtable, {}, {}, {}};
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

bool norm_fits_gpu(const at::Tensor& x, const NormOperands& n) {
  const auto dense = [](const at::Tensor& t) { return t.stride(1) == 1 || t.size(1) <= 1; };
  return use_kernels(x) && x.size(-1) <= GPU_NORM_WIDTH && dense(n.gain) && dense(n.bias) && !n.gain.is_same(n.bias) &&
         members_dense(n.table);
}

Normed add_layer_norm_on_gpu(const at::Tensor& x, const at::Tensor& y, const NormOperands& n, bool keep) {
  at::Tensor out16;
  const auto out = NormOnGpu::apply(x, y, n.gain, n.bias, n.table, &out16, n.eps, keep);
  return {out, out16};
}

at::Tensor dropout_on_gpu(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call) {
  return DropoutOnGpu::apply(x, p, draws, int64_t(call));
}

}  // namespace torchpe
