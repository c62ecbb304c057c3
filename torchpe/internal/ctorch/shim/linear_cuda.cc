// linear_cuda.cc: the linear map and the projection to queries, keys and values on a GPU: cuBLAS's products, and one kernel
// each way for bias, GELU, its slope and the bias's gradient.
//
// The forward pass keeps what GELU was applied to, which the product wrote anyway, and the backward pass computes the slope
// from it: writing the slope too would be a third of the forward pass's traffic, and the arithmetic is free while memory is
// waited for.
#include "gpu.h"
#include "product.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

at::Tensor dense_members(const at::Tensor& t) { return members_dense(t) ? t : t.contiguous(); }
template <typename T>
const T* address(const at::Tensor& t) {
  return t.defined() && given(t) ? t.data_ptr<T>() : nullptr;
}

// A linear map of x [E,rows,I] with w [E,O,I] and b [E,O], or empty.
struct Linear {
  at::Tensor x, w, b;

  // x w^T, bias and GELU not applied.
  at::Tensor product() const { return operand_product(x, w.transpose(1, 2)); }

  // y = u + b, then GELU; y may be u.
  void finish(const at::Tensor& u, bool gelu, const at::Tensor& y) const {
    if (!given(b) && !gelu) return;
    const OnDevice here(u);
    TORCHPE_DISPATCH(u, [&] {
      gpu_kernels<T>(u).bias_gelu(here, u.size(0), u.size(1), u.size(2), u.data_ptr<T>(), address<T>(b), given(b) ? b.stride(0) : 0, gelu, y.data_ptr<T>());
    });
  }
};

// The gradients of a linear map by dy [E,rows,O]: x and w as the product took them, u before bias and GELU, or undefined;
// w_in and b_in are the parameters. dx is undefined where it is not wanted.
struct LinearBackward {
  at::Tensor x, w, u, w_in, b_in, dy;
  bool need_x;
  at::Tensor dx, dw, db;

  void run() {
    const bool need_w = w_in.requires_grad(), need_b = given(b_in) && b_in.requires_grad();
    const auto du = through_gelu(need_x || need_w, need_b);
    if (need_x) dx = operand_product(du, w);
    if (!need_w) return;
    const auto dut = du.transpose(1, 2);
    if (w_in.is_leaf() && w_in.grad().defined() && members_dense(w_in.grad()))
      add_product_(w_in.grad(), dut, x);
    else
      dw = operand_product(dut, x);
  }

  // The gradient of u as products take it; its sums go to the bias.
  at::Tensor through_gelu(bool need_du, bool need_b) {
    const int64_t E = dy.size(0), rows = dy.size(1), O = dy.size(2);
    const bool bf16 = x.scalar_type() == at::kBFloat16, slope = u.defined();
    at::Tensor du = dy;
    if (need_du && (bf16 || slope)) du = at::empty(dy.sizes(), dy.options().dtype(bf16 ? at::kBFloat16 : dy.scalar_type()));
    const bool writes = !du.is_same(dy);
    if (writes || need_b) {
      const auto bias = slope && given(b_in) ? dense_members(b_in) : at::Tensor();
      const auto parts = need_b ? at::empty({E, sum_chunks(rows), O}, dy.options()) : at::Tensor();
      GradTarget to;
      if (need_b) to = grad_target(b_in);
      const OnDevice here(dy);
      TORCHPE_DISPATCH(dy, [&] {
        const auto& k = gpu_kernels<T>(dy);
        k.dense_backward(here, E, rows, O, slope ? u.data_ptr<T>() : nullptr, address<T>(bias), bias.defined() ? bias.stride(0) : 0, dy.data_ptr<T>(),
                         writes && !bf16 ? du.data_ptr<T>() : nullptr,
                         writes && bf16 ? reinterpret_cast<uint16_t*>(du.data_ptr<at::BFloat16>()) : nullptr, need_b ? parts.data_ptr<T>() : nullptr);
        if (need_b) k.add_sums(here, E, sum_chunks(rows), parts.data_ptr<T>(), O, to.into.data_ptr<T>(), to.into.stride(0), 0, nullptr, 0);
      });
      if (need_b) db = to.result();
    }
    return need_du && !bf16 ? operand(du) : du;
  }
};

// x [E,...,I] as [E,rows,I].
at::Tensor as_rows(const at::Tensor& x) {
  const int64_t E = x.size(0), I = x.size(-1);
  return x.contiguous().view({E, c10::multiply_integers(x.sizes().slice(1, x.dim() - 2)), I});
}

at::Tensor shaped(const at::Tensor& rows, at::IntArrayRef like) {
  auto s = like.vec();
  s.back() = rows.size(-1);
  return at::_unsafe_view(rows, s);  // no view for autograd: the result of an operator
}

struct LinearOnGpu : torch::autograd::Function<LinearOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in, const at::Tensor& b_in, bool gelu, bool keep) {
    const Linear f{operand(as_rows(x_in)), operand(dense_members(w_in)), given(b_in) ? dense_members(b_in) : b_in};
    const auto u = f.product();
    const auto y = gelu && keep ? at::empty_like(u) : u;
    f.finish(u, gelu, y);
    if (keep) {
      ctx->save_for_backward(gelu ? variable_list{f.x, f.w, w_in, b_in, u} : variable_list{f.x, f.w, w_in, b_in});
      ctx->saved_data["shape"] = x_in.sizes().vec();
    }
    return shaped(y, x_in.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    LinearBackward back{saved[0], saved[1], saved.size() > 4 ? saved[4] : at::Tensor(), saved[2], saved[3], as_rows(grads[0]), ctx->needs_input_grad(0),
                        {}, {}, {}};
    back.run();
    if (back.dx.defined()) back.dx = shaped(back.dx, shape);
    return {back.dx, back.dw, back.db, at::Tensor(), at::Tensor()};
  }
};

// Part 0, 1 or 2 of y [E,B,N,3D] as [E,B,H,N,Dh].
at::Tensor part_as_heads(const at::Tensor& y, int64_t part, int64_t H) {
  const int64_t D = y.size(3) / 3;
  return y.view({y.size(0), y.size(1), y.size(2), 3, H, D / H}).select(3, part).permute({0, 1, 3, 2, 4});
}

// Whether t is part `part` of a [E,B,N,3D] whose part 0 is `first`, as attention's backward pass gives its gradients.
bool lies_beside(const at::Tensor& t, const at::Tensor& first, int64_t part) {
  if (!t.defined() || !first.defined() || t.sizes() != first.sizes() || !t.is_alias_of(first)) return false;
  const int64_t B = t.size(1), H = t.size(2), N = t.size(3), Dh = t.size(4), D = H * Dh;
  if (t.storage_offset() != first.storage_offset() + part * D) return false;
  const int64_t want[5] = {B * N * 3 * D, N * 3 * D, Dh, 3 * D, 1};
  for (int64_t axis = 0; axis < 5; axis++)
    if (t.size(axis) > 1 && t.stride(axis) != want[axis]) return false;
  return true;
}

// The gradients of q, k, v as one [E,B,N,3D]: as they are where they lie so, else copied together. One that is undefined is
// zero.
at::Tensor together(const variable_list& grads, at::IntArrayRef shape, int64_t H) {
  const int64_t E = shape[0], B = shape[1], N = shape[2], D = shape[3];
  if (lies_beside(grads[0], grads[0], 0) && lies_beside(grads[1], grads[0], 1) && lies_beside(grads[2], grads[0], 2))
    return grads[0].as_strided({E, B, N, 3 * D}, {B * N * 3 * D, N * 3 * D, 3 * D, 1});
  at::Tensor d;
  for (const auto& g : grads)
    if (g.defined() && !d.defined()) d = at::empty({E, B, N, 3 * D}, g.options());
  for (int64_t part = 0; part < 3; part++) {
    auto to = part_as_heads(d, part, H);
    if (grads[size_t(part)].defined())
      to.copy_(grads[size_t(part)]);
    else
      to.zero_();
  }
  return d;
}

struct QKVOnGpu : torch::autograd::Function<QKVOnGpu> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in, const at::Tensor& b_in, int64_t heads) {
    const Linear f{operand(as_rows(x_in)), operand(dense_members(w_in)), given(b_in) ? dense_members(b_in) : b_in};
    const auto u = f.product();
    f.finish(u, false, u);
    ctx->save_for_backward({f.x, f.w, w_in, b_in});
    ctx->saved_data["shape"] = x_in.sizes().vec();
    ctx->saved_data["heads"] = heads;
    const auto y = shaped(u, x_in.sizes());
    return {part_as_heads(y, 0, heads), part_as_heads(y, 1, heads), part_as_heads(y, 2, heads)};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const auto dy = as_rows(together(grads, shape, ctx->saved_data["heads"].toInt()));
    LinearBackward back{saved[0], saved[1], at::Tensor(), saved[2], saved[3], dy, ctx->needs_input_grad(0), {}, {}, {}};
    back.run();
    if (back.dx.defined()) back.dx = shaped(back.dx, shape);
    return {back.dx, back.dw, back.db, at::Tensor()};
  }
};

}  // namespace

at::Tensor linear_on_gpu(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu, bool keep) {
  return LinearOnGpu::apply(x, w, b, gelu, keep);
}

variable_list qkv_on_gpu(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, int64_t heads) { return QKVOnGpu::apply(x, w, b, heads); }

}  // namespace torchpe
