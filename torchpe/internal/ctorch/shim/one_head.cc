// one_head.cc: attention with one head, which maps each token twice instead of four times: two
// linear maps with nothing between them are one.
//
// The logits of query W_q x_i + b_q and keys W_k x_j + b_k are (A x_i + c) x_j, where A = W_k^T W_q and c =
// W_k^T b_q, plus a number that all keys share, which softmax drops. The output W_o (sum_j w_ij (W_v x_j +
// b_v)) + b_o is B (sum_j w_ij x_j) + d, where B = W_o W_v and d = W_o b_v + b_o. So the tokens themselves
// are keys and values. The gradient of b_k, otherwise 0 up to rounding, is exactly 0.
#include "gpu.h"
#include "heads.h"
#include "maps.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

// c [D,D] += a b, of matrices whose rows and columns are so far apart.
template <typename T>
void add_square(int64_t D, const T* a, int64_t ars, int64_t acs, const T* b, int64_t brs, int64_t bcs, T* c) {
  const auto& k = kernels<T>();
  Arena<T> arena(packed_size<T>(D, D));
  const auto columns = k.pack(D, D, D, b, brs, bcs, arena.take(packed_size<T>(D, D)));
  in_parallel(0, D, 48, [&](int64_t first, int64_t last) {
    k.product(last - first, D, D, a + first * ars, ars, acs, columns, c + first * D, D, true);
  });
}

// y [D] += a x for a [D,D]; y += a^T x; a += x y^T.
template <typename T>
void add_map(int64_t D, const T* a, const T* x, T* y) {
  std::vector<T> dots(static_cast<size_t>(D));
  kernels<T>().row_dots(D, D, a, D, x, 0, dots.data());
  kernels<T>().add_scaled(D, dots.data(), T(1), y);
}
template <typename T>
void add_transposed_map(int64_t D, const T* a, const T* x, T* y) {
  kernels<T>().small_product(1, D, D, x, D, 1, a, D, T(1), y, D, true);
}
template <typename T>
void add_outer(int64_t D, const T* x, const T* y, T* a) {
  for (int64_t r = 0; r < D; r++) kernels<T>().add_scaled(D, y, x[r], a + r * D);
}

// Returns A [E,D,D], c [E,D], B and d of a projection and an output map. c and d are empty tensors where no
// bias is given.
struct FoldFunction : torch::autograd::Function<FoldFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& qkv_w, const at::Tensor& qkv_b,
                               const at::Tensor& out_w, const at::Tensor& out_b) {
    const int64_t E = out_w.size(0), D = out_w.size(1);
    const auto w = dense_members(qkv_w), b = dense_members(qkv_b), o = dense_members(out_w), ob = dense_members(out_b);
    const auto vectors = [&](bool any) { return at::zeros({any ? E : 0, any ? D : 0}, o.options()); };
    const auto A = at::zeros(o.sizes(), o.options()), B = at::zeros(o.sizes(), o.options());
    const auto c = vectors(given(b)), d = vectors(given(b) || given(ob));
    TORCHPE_DISPATCH(o, [&] {
      for_members(E, [&](int64_t e, bool) {
        const T *const q = member<T>(w, e), *const k = q + D * D, *const v = k + D * D, *const out = member<T>(o, e);
        add_square(D, k, 1, D, q, D, 1, member<T>(A, e));
        add_square(D, out, D, 1, v, D, 1, member<T>(B, e));
        if (const T* const qb = member_or_null<T>(b, e)) {
          add_transposed_map(D, k, qb, member<T>(c, e));
          add_map(D, out, qb + 2 * D, member<T>(d, e));
        }
        if (const T* const bias = member_or_null<T>(ob, e)) kernels<T>().add_scaled(D, bias, T(1), member<T>(d, e));
      });
    });
    ctx->save_for_backward({qkv_w, qkv_b, out_w, out_b});
    ctx->set_materialize_grads(false);
    return {A, c, B, d};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto all = ctx->get_saved_variables();
    GradTarget into[4];
    for (size_t i = 0; i < 4; i++)
      if (given(all[i]) && all[i].requires_grad()) into[i] = grad_target(all[i]);
    for (auto& t : all) t = dense_members(t);
    for (auto& t : grads)
      if (t.defined()) t = dense_members(t);
    const int64_t D = all[2].size(1);
    TORCHPE_DISPATCH(all[2], [&] {
      for_members(all[2].size(0), [&](int64_t e, bool) {
        const T *const q = member<T>(all[0], e), *const k = q + D * D, *const v = k + D * D,
                       *const out = member<T>(all[2], e), *const b = member_or_null<T>(all[1], e);
        const auto of = [&](size_t i) { return member_or_null<T>(grads[i], e); };
        const auto to = [&](size_t i) { return member_or_null<T>(into[i].into, e); };
        const T *const dA = of(0), *const dc = of(1), *const dB = of(2), *const dd = of(3);
        if (T* const dq = to(0)) {
          T *const dk = dq + D * D, *const dv = dk + D * D;
          if (dA) add_square(D, k, D, 1, dA, D, 1, dq);
          if (dA) add_square(D, q, D, 1, dA, 1, D, dk);
          if (b && dc) add_outer(D, b, dc, dk);
          if (dB) add_square(D, out, 1, D, dB, D, 1, dv);
        }
        if (T* const db = to(1)) {
          if (dc) add_map(D, k, dc, db);
          if (dd) add_transposed_map(D, out, dd, db + 2 * D);
        }
        if (T* const dout = to(2)) {
          if (dB) add_square(D, dB, D, 1, v, 1, D, dout);
          if (b && dd) add_outer(D, dd, b + 2 * D, dout);
        }
        if (T* const db = to(3); db && dd) kernels<T>().add_scaled(D, dd, T(1), db);
      });
    });
    return {into[0].result(), into[1].result(), into[2].result(), into[3].result()};
  }
};

}  // namespace

Folded fold(const AttentionBlock& b) {
  const auto all = FoldFunction::apply(b.qkv_w, b.qkv_b, b.out_w, b.out_b);
  return {all[0], all[1], all[2], all[3]};
}

}  // namespace torchpe
