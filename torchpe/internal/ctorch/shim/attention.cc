// attention.cc: logits and values of attention over few tokens, numbers selected for each pair of
// tokens, and rotation of queries and keys. libtorch without MKL makes one BLAS call per head and
// puzzle, which for 16 tokens is mostly overhead.
#include "heads.h"
#include "operands.h"
#include "product.h"

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// C = alpha A B^T for every head.
template <typename T>
void product_nt(const at::Tensor& a, const at::Tensor& b, double alpha, const at::Tensor& c) {
  const Heads<T> A(a), B(b), C(c);
  const int64_t R = a.size(3), K = a.size(4), M = b.size(3), heads = a.size(0) * a.size(1) * a.size(2);
  in_parallel(0, heads, 16, [&](int64_t begin, int64_t end) {
    TransposedProduct<T> product(R, K, M);
    for (int64_t i = begin; i < end; i++) product.run(A.at(i), A.row(), B.at(i), B.row(), T(alpha), C.at(i), C.row());
  });
}

// C = alpha A B, or alpha A^T B where transposed, for every head.
template <typename T>
void product_nn(const at::Tensor& a, bool transposed, const at::Tensor& b, double alpha, const at::Tensor& c) {
  const Heads<T> A(a), B(b), C(c);
  const int64_t R = transposed ? a.size(4) : a.size(3), K = transposed ? a.size(3) : a.size(4), N = b.size(4);
  const int64_t heads = a.size(0) * a.size(1) * a.size(2);
  const int64_t ars = transposed ? 1 : A.row(), acs = transposed ? A.row() : 1;
  in_parallel(0, heads, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      kernels<T>().small_product(R, K, N, A.at(i), ars, acs, B.at(i), B.row(), T(alpha), C.at(i), C.row(),
                                 false);
  });
}

bool small(const at::Tensor& a, const at::Tensor& b) {
  return a.size(3) * a.size(4) * (a.size(4) == b.size(4) ? b.size(3) : b.size(4)) <= SMALL_PRODUCT;
}

// The product of every head's matrices with rounded operands.
at::Tensor rounded_heads(const at::Tensor& a, const at::Tensor& b) {
  const int64_t heads = a.size(0) * a.size(1) * a.size(2);
  return rounded_product(a.reshape({heads, a.size(3), a.size(4)}), b.reshape({heads, b.size(3), b.size(4)}))
      .view({a.size(0), a.size(1), a.size(2), a.size(3), b.size(4)});
}

struct LogitsFunction : torch::autograd::Function<LogitsFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in, double scale) {
    auto q = dense_rows(q_in), k = dense_rows(k_in);
    auto out = at::empty({q.size(0), q.size(1), q.size(2), q.size(3), k.size(3)}, q.options());
    TORCHPE_DISPATCH(q, [&] { product_nt<T>(q, k, scale, out); });
    ctx->save_for_backward({q, k});
    ctx->saved_data["scale"] = scale;
    return out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto q = saved[0], k = saved[1], d = grads[0].contiguous();
    const double scale = ctx->saved_data["scale"].toDouble();
    at::Tensor dq, dk;
    TORCHPE_DISPATCH(q, [&] {
      if (ctx->needs_input_grad(0)) {
        dq = empty_tokens_first_like(q);
        product_nn<T>(d, false, k, scale, dq);
      }
      if (ctx->needs_input_grad(1)) {
        dk = empty_tokens_first_like(k);
        product_nn<T>(d, true, q, scale, dk);
      }
    });
    return {dq, dk, at::Tensor()};
  }
};

struct ValuesFunction : torch::autograd::Function<ValuesFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& w_in, const at::Tensor& v_in) {
    auto w = dense_rows(w_in), v = dense_rows(v_in);
    auto out = empty_tokens_first(w.size(0), w.size(1), w.size(2), w.size(3), v.size(4), w.options());
    TORCHPE_DISPATCH(w, [&] { product_nn<T>(w, false, v, 1, out); });
    ctx->save_for_backward({w, v});
    return out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto w = saved[0], v = saved[1], d = dense_rows(grads[0]);
    at::Tensor dw, dv;
    TORCHPE_DISPATCH(w, [&] {
      if (ctx->needs_input_grad(0)) {
        dw = at::empty(w.sizes(), w.options());
        product_nt<T>(d, v, 1, dw);
      }
      if (ctx->needs_input_grad(1)) {
        dv = empty_tokens_first_like(v);
        product_nn<T>(w, true, d, 1, dv);
      }
    });
    return {dw, dv};
  }
};

struct SoftmaxFunction : torch::autograd::Function<SoftmaxFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in) {
    const auto x = x_in.contiguous(), y = at::empty_like(x);
    TORCHPE_DISPATCH(x, [&] {
      each_chunk(x, [&](int64_t rows, int64_t cols, int64_t at) {
        kernels<T>().softmax_rows(rows, cols, x.data_ptr<T>() + at, y.data_ptr<T>() + at);
      });
    });
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto y = ctx->get_saved_variables()[0], dy = grads[0].contiguous(), dx = at::empty_like(y);
    TORCHPE_DISPATCH(y, [&] {
      each_chunk(y, [&](int64_t rows, int64_t cols, int64_t at) {
        kernels<T>().softmax_rows_backward(rows, cols, y.data_ptr<T>() + at, dy.data_ptr<T>() + at,
                                           dx.data_ptr<T>() + at);
      });
    });
    return {dx};
  }
  // Calls f(rows, columns, first number) for chunks of the rows of x.
  template <typename F>
  static void each_chunk(const at::Tensor& x, const F& f) {
    const int64_t cols = x.size(-1);
    for_row_chunks(x.numel() / cols, [&](int64_t, int64_t r0, int64_t r1) { f(r1 - r0, cols, r0 * cols); });
  }
};

// Angles [...,N,D/2] seen against the leading axes of x [...,N,D]: missing axes are repeated.
at::Tensor angles_like(const at::Tensor& angles, const at::Tensor& x) {
  auto s = x.sizes().vec();
  s.back() /= 2;
  return angles.expand(s);
}

template <typename T>
void rotate_all(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool half, double sign,
                const at::Tensor& out) {
  const Heads<T> X(x), C(cos), S(sin), O(out);
  const int64_t N = x.size(3), D = x.size(4);
  in_parallel(0, x.size(0) * x.size(1) * x.size(2), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      for (int64_t n = 0; n < N; n++)
        kernels<T>().rotate(D, X.at(i) + n * X.row(), C.at(i) + n * C.row(), S.at(i) + n * S.row(), half, T(sign),
                            O.at(i) + n * O.row());
  });
}

struct RotateFunction : torch::autograd::Function<RotateFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& cos, const at::Tensor& sin,
                            bool half) {
    auto x = dense_rows(x_in);
    ctx->save_for_backward({cos, sin});
    ctx->saved_data["half"] = half;
    return turned(x, cos, sin, half, 1);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    auto dx = turned(dense_rows(grads[0]), saved[0], saved[1], ctx->saved_data["half"].toBool(), -1);
    return {dx, at::Tensor(), at::Tensor(), at::Tensor()};
  }
  static at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool half, double sign) {
    auto out = empty_tokens_first_like(x);
    TORCHPE_DISPATCH(x, [&] { rotate_all<T>(x, cos, sin, half, sign, out); });
    return out;
  }
};

at::Tensor rotate_composed(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, bool half) {
  const int64_t h = x.size(-1) / 2;
  if (half) {
    auto a = x.narrow(-1, 0, h), b = x.narrow(-1, h, h);
    return at::cat({a * cos - b * sin, b * cos + a * sin}, -1);
  }
  auto s = x.sizes().slice(0, size_t(x.dim() - 1)).vec();
  s.push_back(h);
  s.push_back(2);
  auto pairs = x.reshape(s);
  auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
  return at::stack({a * cos - b * sin, b * cos + a * sin}, -1).reshape(x.sizes());
}

struct PairsFunction : torch::autograd::Function<PairsFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& index) {
    const auto x = dense_rows(x_in), picked = index.select(0, 0).select(0, 0).select(0, 0).to(at::kInt).contiguous();
    const auto out = at::empty(index.sizes(), x.options());
    const int32_t *const first = picked.data_ptr<int32_t>(), *const last = first + picked.numel();
    const int64_t R = x.size(4);
    TORCH_CHECK(std::all_of(first, last, [&](int32_t i) { return i >= 0 && i < R; }), "an index is not in 0..", R - 1);
    each_row(x, picked, out, [](auto* from, const int32_t* at, auto* to, int64_t n) {
      for (int64_t m = 0; m < n; m++) to[m] = from[at[m]];
    });
    ctx->save_for_backward({picked});
    ctx->saved_data["rows"] = x.sizes().vec();
    return out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto d = dense_rows(grads[0]), dx = at::zeros(ctx->saved_data["rows"].toIntVector(), d.options());
    each_row(dx, ctx->get_saved_variables()[0], d, [](auto* into, const int32_t* at, auto* from, int64_t n) {
      for (int64_t m = 0; m < n; m++) into[at[m]] += from[m];
    });
    return {dx, at::Tensor()};
  }

  // Calls f(row of x, row of the index, row of the result, M) for each row of each head.
  template <typename F>
  static void each_row(const at::Tensor& x, const at::Tensor& picked, const at::Tensor& result, const F& f) {
    const int64_t N = picked.size(0), M = picked.size(1);
    const int32_t* const index = picked.data_ptr<int32_t>();
    TORCHPE_DISPATCH(x, [&] {
      const Heads<T> X(x), Y(result);
      in_parallel(0, x.size(0) * x.size(1) * x.size(2), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++)
          for (int64_t n = 0; n < N; n++) f(X.at(i) + n * X.row(), index + n * M, Y.at(i) + n * Y.row(), M);
      });
    });
  }
};

}  // namespace

namespace torchpe {

bool one_for_all_heads(const at::Tensor& x, const at::Tensor& index) {
  if (!use_loops(x) || x.dim() != 5 || x.numel() == 0 || index.dim() != 5 || index.scalar_type() != at::kLong ||
      index.device() != x.device() || index.sizes().slice(0, 4) != x.sizes().slice(0, 4))
    return false;
  const auto same = [&](int64_t d) { return index.size(d) == 1 || index.stride(d) == 0; };
  return same(0) && same(1) && same(2);
}

at::Tensor gather_pairs(const at::Tensor& x, const at::Tensor& index) { return PairsFunction::apply(x, index); }

at::Tensor attention_logits(const at::Tensor& q, const at::Tensor& k, double scale) {
  check_heads("attention logits", q, k, true);
  if (rounds_operands(q) && !few_tokens(q.size(3), k.size(3), q.size(4), 1))
    return rounded_heads(q, k.transpose(-1, -2)) * scale;
  if (use_loops(q) && small(q, k)) return LogitsFunction::apply(q, k, scale);
  return at::matmul(q, k.transpose(-1, -2)) * scale;
}

at::Tensor softmax(const at::Tensor& x) {
  return use_loops(x) && x.dim() > 0 && x.numel() > 0 ? SoftmaxFunction::apply(x) : at::softmax(x, -1);
}

at::Tensor attention_values(const at::Tensor& w, const at::Tensor& v) {
  check_heads("attention values", w, v, false);
  if (rounds_operands(w) && !few_tokens(w.size(3), w.size(4), 1, v.size(4))) return rounded_heads(w, v);
  if (use_loops(w) && small(w, v)) return ValuesFunction::apply(w, v);
  return at::matmul(w, v);
}

}  // namespace torchpe

namespace {

at::Tensor rotate(const at::Tensor& x, at::Tensor cos, at::Tensor sin, bool half) {
  TORCH_CHECK(x.dim() >= 2 && x.size(-1) % 2 == 0 && cos.sizes() == sin.sizes() && cos.dim() >= 1 &&
                  cos.size(-1) * 2 == x.size(-1),
              "rotation of ", x.sizes(), " by cos ", cos.sizes(), " and sin ", sin.sizes(),
              "; expected an even last axis D and angles [...,N,D/2]");
  check_same("rotation", x, cos);
  check_same("rotation", x, sin);
  cos = angles_like(cos, x);
  sin = angles_like(sin, x);
  const bool constant = !(cos.requires_grad() || sin.requires_grad());
  const bool rows = (cos.stride(-1) == 1 && sin.stride(-1) == 1) || cos.size(-1) == 1;
  if (use_loops(x) && constant && rows && x.dim() == 5) return RotateFunction::apply(x, cos, sin, half);
  return rotate_composed(x, cos, sin, half);
}

at::Tensor softmax_along(const at::Tensor& x, int64_t axis) {
  return axis == -1 || axis == x.dim() - 1 ? softmax(x) : x.softmax(axis);
}

const Operators attention_rows{
    OPERATOR("AttentionLogits", attention_logits(o[0], o[1], o.number(0))),
    OPERATOR("AttentionValues", attention_values(o[0], o[1])),
    OPERATOR("Softmax", softmax_along(o[0], o.integer(0))),
    OPERATOR("RotatePairs", rotate(o[0], o[1], o[2], o.flag(0))),
};

}  // namespace
