// linear_cuda.cc: the linear map and the projection to queries, keys and values on a GPU: products by
// cuBLAS, and one kernel in each direction for bias, GELU, its slope and the gradient of the bias.
//
// The forward pass keeps the input of GELU, which the product writes anyway, and the backward pass
// computes the slope from it. Writing the slope too would be a third of the forward pass's traffic,
// and the arithmetic is free while the kernel waits for memory.
#include "gpu_parts.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

at::Tensor as_rows(const at::Tensor& x) {
  const int64_t E = x.size(0), I = x.size(-1);
  return x.contiguous().view({E, c10::multiply_integers(x.sizes().slice(1, x.dim() - 2)), I});
}

at::Tensor shaped(const at::Tensor& rows, at::IntArrayRef like) {
  auto s = like.vec();
  s.back() = rows.size(-1);
  return at::_unsafe_view(rows, s);  // no view for autograd: the result of an operator
}

void add_sums(const at::Tensor& parts, std::initializer_list<GradTarget> into) {
  const OnDevice here(parts);
  TORCHPE_DISPATCH(parts, [&] {
    GpuSums<T> a = {};
    a.members = parts.size(0);
    a.chunks = parts.size(1);
    a.cols = parts.size(3);
    a.part_row = parts.stride(1);
    a.parts = parts.data_ptr<T>();
    for (const auto& t : into) {
      a.into[a.count] = t.into.data_ptr<T>();
      a.first[a.count] = t.first;
      a.into_member[a.count++] = t.into.stride(0);
    }
    gpu_kernels<T>(parts).add_sums(here, a);
  });
}

namespace {

// The sizes of u [E,rows,O], and the bias b [E,O] or none.
template <typename T, typename S>
GpuDense<T, S> dense(const at::Tensor& u, const at::Tensor& b) {
  GpuDense<T, S> a = {};
  a.members = u.size(0);
  a.rows = u.size(1);
  a.cols = u.size(2);
  a.bias = address<T>(b);
  a.bias_member = a.bias ? b.stride(0) : 0;
  return a;
}

}  // namespace

void bias_gelu(const at::Tensor& u, const at::Tensor& b, bool gelu, const at::Tensor& y) {
  if (!given(b) && !gelu) return;
  const OnDevice here(u);
  TORCHPE_WIDE_DISPATCH(u, [&] {
    auto a = dense<T, S>(u, b);
    a.u = address<S>(u);
    a.gelu = gelu;
    a.y = address<S>(y);
    wide_kernels<T, S>(u).bias_gelu(here, a);
  });
}

at::Tensor BiasGeluBackward::run(bool wanted, bool bf16) {
  const int64_t E = dy.size(0), rows = dy.size(1), O = dy.size(2);
  const bool slope = u.defined(), sums = given(b) && b.requires_grad(),
             rounds = bf16 && dy.scalar_type() != at::kBFloat16;
  at::Tensor du = dy;
  if (wanted && (rounds || slope))
    du = at::empty(dy.sizes(), rounds ? dy.options().dtype(at::kBFloat16) : dy.options());
  const bool writes = !du.is_same(dy);
  if (writes || sums) {
    const auto bias = slope && given(b) ? dense_members(b) : at::Tensor();
    const auto parts = sums ? at::empty({E, sum_chunks(rows), 1, O}, of_sums(dy)) : at::Tensor();
    const OnDevice here(dy);
    TORCHPE_WIDE_DISPATCH(dy, [&] {
      auto a = dense<T, S>(dy, bias);
      a.u = address<S>(u);
      a.dy = address<S>(dy);
      if (writes && rounds) a.du16 = address<Bf16>(du);
      if (writes && !rounds) a.du = address<S>(du);
      a.parts = address<T>(parts);
      wide_kernels<T, S>(dy).dense_backward(here, a);
    });
    if (sums) {
      const auto to = write_target(b);
      add_sums(parts, {to});
      db = to.result();
    }
  }
  return wanted ? operand(du) : at::Tensor();
}

namespace {

// What the backward passes of both operators do: x and w as the product took them, u before bias
// and GELU, or undefined.
variable_list linear_backward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& u, const at::Tensor& w_in,
                              const at::Tensor& b_in, const at::Tensor& dy, bool need_x, at::IntArrayRef shape) {
  BiasGeluBackward outer{u, b_in, dy, {}};
  const auto du = outer.run(need_x || w_in.requires_grad(), x.scalar_type() == at::kBFloat16);
  const auto to = wanted_target(w_in);
  add_weight_gradient(to, du, x);
  const auto dx = need_x ? operand_product(du, w) : at::Tensor();
  return {dx.defined() ? shaped(dx, shape) : dx, to.result(), outer.db};
}

struct LinearOnGpu : torch::autograd::Function<LinearOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in,
                            const at::Tensor& b_in, bool gelu, bool keep) {
    const auto x = operand(as_rows(x_in)), w = operand(dense_members(w_in));
    const auto u = operand_product(x, w.transpose(1, 2)), y = gelu && keep ? at::empty_like(u) : u;
    bias_gelu(u, dense_members(b_in), gelu, y);
    if (keep) {
      ctx->save_for_backward(gelu ? variable_list{x, w, w_in, b_in, u} : variable_list{x, w, w_in, b_in});
      ctx->saved_data["shape"] = x_in.sizes().vec();
    }
    return shaped(y, x_in.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    auto d = linear_backward(saved[0], saved[1], saved.size() > 4 ? saved[4] : at::Tensor(), saved[2], saved[3],
                             as_rows(grads[0]), ctx->needs_input_grad(0), ctx->saved_data["shape"].toIntVector());
    return {d[0], d[1], d[2], at::Tensor(), at::Tensor()};
  }
};

// Whether t is part `part` of a [E,B,N,3D] whose part 0 is `first`, as attention's backward pass
// gives its gradients.
bool lies_beside(const at::Tensor& t, const at::Tensor& first, int64_t part) {
  if (!t.defined() || !first.defined() || t.sizes() != first.sizes() || !t.is_alias_of(first)) return false;
  const int64_t B = t.size(1), H = t.size(2), N = t.size(3), Dh = t.size(4), D = H * Dh;
  if (t.storage_offset() != first.storage_offset() + part * D) return false;
  const int64_t want[5] = {B * N * 3 * D, N * 3 * D, Dh, 3 * D, 1};
  for (int64_t axis = 0; axis < 5; axis++)
    if (t.size(axis) > 1 && t.stride(axis) != want[axis]) return false;
  return true;
}

// The gradients of q, k, v as one [E,B,N,3D]: as they are where they lie so, else copied together.
// One that is undefined is zero.
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
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in,
                               const at::Tensor& b_in, const at::Tensor* x16, int64_t heads) {
    const auto x = operand_of(as_rows(x_in), *x16), w = operand(dense_members(w_in));
    const auto u = operand_product(x, w.transpose(1, 2));
    bias_gelu(u, dense_members(b_in), false, u);
    ctx->save_for_backward({x, w, w_in, b_in});
    ctx->saved_data["shape"] = x_in.sizes().vec();
    ctx->saved_data["heads"] = heads;
    const auto y = shaped(u, x_in.sizes());
    return {part_as_heads(y, 0, heads), part_as_heads(y, 1, heads), part_as_heads(y, 2, heads)};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto shape = ctx->saved_data["shape"].toIntVector();
    auto d = linear_backward(saved[0], saved[1], at::Tensor(), saved[2], saved[3],
                             as_rows(together(grads, shape, ctx->saved_data["heads"].toInt())),
                             ctx->needs_input_grad(0), shape);
    return {d[0], d[1], d[2], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor linear_on_gpu(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu, bool keep) {
  return LinearOnGpu::apply(x, w, b, gelu, keep);
}

variable_list qkv_on_gpu(const at::Tensor& x, const at::Tensor& x16, const at::Tensor& w, const at::Tensor& b,
                         int64_t heads) {
  return QKVOnGpu::apply(x, w, b, &x16, heads);
}

}  // namespace torchpe
