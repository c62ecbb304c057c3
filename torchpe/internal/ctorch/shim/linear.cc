// linear.cc: the linear map with optional GELU, the projection to queries, keys and values, and
// rows shared by tokens.
//
// On the CPU the products are our own loops instead of BLAS: rows are processed in chunks that stay
// in cache while bias, GELU and their derivatives are applied, for which BLAS would need further
// passes over memory.
#include "heads.h"
#include "maps.h"
#include "operands.h"
#include "product.h"

#include <optional>

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// The sizes of y = x w^T: E members, `rows` rows of length I to length O.
struct Sizes {
  int64_t E, rows, I, O;
};

Sizes check_linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  TORCH_CHECK(x.dim() >= 2 && w.dim() == 3 && x.size(0) == w.size(0) && x.size(-1) == w.size(2), "linear map of x ",
              x.sizes(), " with weight ", w.sizes(), "; expected x [E,...,I] and weight [E,O,I]");
  check_same("linear map", x, w);
  if (given(b)) {
    TORCH_CHECK(b.dim() == 2 && b.size(0) == w.size(0) && b.size(1) == w.size(1), "linear map with bias ", b.sizes(),
                " and weight ", w.sizes(), "; expected bias [E,O]");
    check_same("linear map's bias", x, b);
  }
  return {x.size(0), c10::multiply_integers(x.sizes().slice(1, x.dim() - 2)), x.size(-1), w.size(1)};
}

std::vector<int64_t> with_last(const at::Tensor& x, int64_t last) {
  auto s = x.sizes().vec();
  s.back() = last;
  return s;
}

// What is done to a chunk of the product while it is in cache.
enum class Epilogue { nothing, gelu, gelu_keeping_slope };

void round_to(Precision p, float* x, int64_t n) { round_numbers(x, n, p); }
void round_to(Precision, double*, int64_t) {}

// u [rows,O] = x [rows,I] w^T [I,O], w's rows dense, rounded, then bias (may be null) and
// `epilogue`; with gelu_keeping_slope y gets the result and u its slope.
template <typename T>
void forward_member(int64_t rows, int64_t I, int64_t O, const T* x, const T* w, Precision round, const T* bias,
                    Epilogue epilogue, T* u, T* y) {
  const auto& k = kernels<T>();
  const PackedWeight<T> transposed(rows, O, I, w, PackedWeight<T>::transposed);
  for_row_chunks(rows, [&](int64_t, int64_t r0, int64_t r1) {
    T* uc = u + r0 * O;
    k.product(r1 - r0, I, O, x + r0 * I, I, 1, transposed, uc, O, false);
    round_to(round, uc, (r1 - r0) * O);
    if (epilogue == Epilogue::gelu_keeping_slope)
      k.bias_gelu(r1 - r0, O, uc, bias, y + r0 * O);
    else if (epilogue == Epilogue::gelu)
      k.bias_gelu_only(r1 - r0, O, uc, bias);
    else if (bias)
      k.add_bias(r1 - r0, O, uc, bias);
  });
}

// The backward pass of one linear map. Null pointers stand for what is not wanted; dw and dbias are
// added to, and so is dx where add_x.
template <typename T>
struct Backward {
  int64_t rows, I, O;
  const T *dy, *slope, *x, *w;  // [rows,O], [rows,O] or null, [rows,I], [O,I]
  T *du;                        // [rows,O] memory for dy * slope; dy itself where there is no slope
  T *dx, *dw, *dbias;           // [rows,I], [O,I], [O]
  bool add_x, alone;  // alone: on one thread
  Precision round;  // of du as an operand: then in memory of its own
  Precision round_x;  // of dx

  void run() const {
    const auto& k = kernels<T>();
    std::optional<PackedWeight<T>> weight;
    if (dx) weight.emplace(rows, O, I, w, PackedWeight<T>::plain);
    for_row_chunks_summing<T>(rows, dbias ? O : 0, dbias, [&](int64_t r0, int64_t r1, T* sums) {
      if (slope)
        k.gelu_backward(r1 - r0, O, slope + r0 * O, dy + r0 * O, du + r0 * O, dbias ? sums : nullptr);
      else if (dbias)
        k.column_sum(r1 - r0, O, dy + r0 * O, sums);
      if (round != Precision::fp32) round_rows(r0, r1);
      if (dx) k.product(r1 - r0, O, I, du + r0 * O, O, 1, *weight, dx + r0 * I, I, add_x);
      if (dx) round_to(round_x, dx + r0 * I, (r1 - r0) * I);
      if (dw && alone) add_weight_gradient(r1 - r0, O, I, du + r0 * O, x + r0 * I, dw, 0, O);
    });
    if (dw && !alone) add_weight_gradient_in_parallel(rows, O, I, du, x, dw);
  }

  void round_rows(int64_t r0, int64_t r1) const {
    if constexpr (std::is_same<T, float>::value) {
      if (du != dy && !slope) std::copy(dy + r0 * O, dy + r1 * O, du + r0 * O);
      round_numbers(du + r0 * O, (r1 - r0) * O, round);
    }
  }
};

Precision rounding_of(const at::Tensor& x) { return rounds_operands(x) ? precision() : Precision::fp32; }

// Returns bf16 where numbers like x's are `stored` as bfloat16 on a GPU, else fp32: not rounded.
Precision storage_of(const at::Tensor& x, bool stored) {
  return stored && rounding_of(x) == Precision::bf16 ? Precision::bf16 : Precision::fp32;
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in,
                            const at::Tensor& b_in, bool gelu, Stored stored, bool keep) {
    const auto n = check_linear(x_in, w_in, b_in);
    auto x = operand(x_in.contiguous()), w = operand(dense_members(w_in)), b = given(b_in) ? dense_members(b_in) : b_in;
    auto u = at::empty(with_last(x, n.O), x.options());
    const Epilogue epilogue = !gelu ? Epilogue::nothing : keep ? Epilogue::gelu_keeping_slope : Epilogue::gelu;
    auto y = epilogue == Epilogue::gelu_keeping_slope ? at::empty_like(u) : u;
    TORCHPE_DISPATCH(x, [&] {
      for_members(n.E, [&](int64_t e, bool) {
        forward_member<T>(n.rows, n.I, n.O, x.data_ptr<T>() + e * n.rows * n.I, member<T>(w, e),
                          storage_of(x, stored != Stored::nothing), given(b) ? member<T>(b, e) : nullptr, epilogue,
                          u.data_ptr<T>() + e * n.rows * n.O, y.data_ptr<T>() + e * n.rows * n.O);
      });
    });
    if (keep) {
      ctx->save_for_backward(gelu ? variable_list{x, w_in, b_in, u} : variable_list{x, w_in, b_in});
      ctx->saved_data["gelu"] = gelu;
      ctx->saved_data["rounds"] = stored == Stored::gradient;
    }
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto x = saved[0], w_in = saved[1], b = saved[2];
    const bool gelu = ctx->saved_data["gelu"].toBool();
    const auto n = check_linear(x, w_in, b);
    const auto w = operand(dense_members(w_in));
    const auto round = rounding_of(x);
    auto dy = grads[0].contiguous();
    auto du = gelu || round != Precision::fp32 ? at::empty_like(dy) : dy;
    const bool need_x = ctx->needs_input_grad(0), need_w = w_in.requires_grad(), need_b = given(b) && b.requires_grad();
    const at::Tensor dx = need_x ? at::empty_like(x) : at::Tensor();
    GradTarget dw, db;
    if (need_w) dw = grad_target(w_in);
    if (need_b) db = grad_target(b);
    TORCHPE_DISPATCH(x, [&] {
      for_members(n.E, [&](int64_t e, bool alone) {
        const int64_t wide = e * n.rows * n.O, narrow = e * n.rows * n.I;
        Backward<T>{n.rows,
                    n.I,
                    n.O,
                    dy.data_ptr<T>() + wide,
                    gelu ? saved[3].data_ptr<T>() + wide : nullptr,
                    x.data_ptr<T>() + narrow,
                    member<T>(w, e),
                    du.data_ptr<T>() + wide,
                    need_x ? dx.data_ptr<T>() + narrow : nullptr,
                    need_w ? member<T>(dw.into, e) : nullptr,
                    need_b ? member<T>(db.into, e) : nullptr,
                    false,
                    alone,
                    round,
                    storage_of(x, ctx->saved_data["rounds"].toBool())}
            .run();
      });
    });
    return {dx, need_w ? dw.result() : at::Tensor(), need_b ? db.result() : at::Tensor(), {}, {}, {}};
  }
};

at::Tensor linear_composed(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu) {
  const auto n = check_linear(x, w, b);
  auto x3 = x.reshape({n.E, n.rows, n.I});
  auto wt = w.transpose(1, 2);
  at::Tensor y;
  if (rounds_operands(x)) {
    y = rounded_product(x3, wt);
    if (given(b)) y = y + b.unsqueeze(1);
  } else {
    y = given(b) ? at::baddbmm(b.unsqueeze(1), x3, wt) : at::bmm(x3, wt);
  }
  y = y.view(with_last(x, n.O));
  return gelu ? at::gelu(y) : y;
}

// [E,B,N,D] seen as [E,B,H,N,Dh].
at::Tensor as_heads(const at::Tensor& x, int64_t H) {
  return x.view({x.size(0), x.size(1), x.size(2), H, x.size(3) / H}).permute({0, 1, 3, 2, 4});
}

// The same back; copies only where the memory is not laid out as [E,B,N,D].
at::Tensor from_heads(const at::Tensor& x) {
  auto y = x.permute({0, 1, 3, 2, 4}).contiguous();
  return y.view({y.size(0), y.size(1), y.size(2), y.size(3) * y.size(4)});
}

// Returns those of queries, keys and values that it is asked for, and x for the residual sum: the
// gradient that comes back through that is added to here, not by autograd.
struct QKVFunction : torch::autograd::Function<QKVFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w_in,
                               const at::Tensor& b_in, Parts parts, int64_t heads, Stored stored) {
    const auto n = check_linear(x_in, w_in, b_in);
    auto x = operand(x_in.contiguous()), w = operand(dense_members(w_in)), b = given(b_in) ? dense_members(b_in) : b_in;
    variable_list out;
    for (int64_t part = parts.first; part < parts.first + parts.count; part++) {
      auto y = at::empty_like(x);
      TORCHPE_DISPATCH(x, [&] {
        for_members(n.E, [&](int64_t e, bool) {
          T* u = y.data_ptr<T>() + e * n.rows * n.I;
          forward_member<T>(n.rows, n.I, n.I, x.data_ptr<T>() + e * n.rows * n.I, member<T>(w, e) + part * n.I * n.I,
                            storage_of(x, stored != Stored::nothing), given(b) ? member<T>(b, e) + part * n.I : nullptr,
                            Epilogue::nothing, u, u);
        });
      });
      out.push_back(as_heads(y, heads));
    }
    ctx->save_for_backward({x, w_in, b_in});
    ctx->saved_data["first"] = parts.first;
    ctx->set_materialize_grads(false);
    out.push_back(x_in);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto x = saved[0], w_in = saved[1], b = saved[2];
    const auto n = check_linear(x, w_in, b);
    const auto w = operand(dense_members(w_in));
    const auto round = rounding_of(x);
    const bool need_x = ctx->needs_input_grad(0), need_w = w_in.requires_grad(), need_b = given(b) && b.requires_grad();
    at::Tensor dx = grads.back();
    GradTarget dw, db;
    if (need_w) dw = grad_target(w_in);
    if (need_b) db = grad_target(b);
    for (size_t part = 0; part + 1 < grads.size(); part++) {
      if (!grads[part].defined()) continue;
      const bool first = !dx.defined();
      if (need_x) dx = first ? at::empty_like(x) : dx.contiguous();
      const auto dy = from_heads(grads[part]), du = round != Precision::fp32 ? at::empty_like(dy) : dy;
      const int64_t row = (ctx->saved_data["first"].toInt() + int64_t(part)) * n.I;
      TORCHPE_DISPATCH(x, [&] {
        for_members(n.E, [&](int64_t e, bool alone) {
          const int64_t at = e * n.rows * n.I;
          Backward<T>{n.rows,
                      n.I,
                      n.I,
                      dy.data_ptr<T>() + at,
                      nullptr,
                      x.data_ptr<T>() + at,
                      member<T>(w, e) + row * n.I,
                      du.data_ptr<T>() + at,
                      need_x ? dx.data_ptr<T>() + at : nullptr,
                      need_w ? member<T>(dw.into, e) + row * n.I : nullptr,
                      need_b ? member<T>(db.into, e) + row : nullptr,
                      !first,
                      alone,
                      round,
                      Precision::fp32}
              .run();
        });
      });
    }
    return {dx, need_w ? dw.result() : at::Tensor(), need_b ? db.result() : at::Tensor(), {}, {}, {}};
  }
};

// Each token's row of those that its member and place have, and its value times the slope, where
// these are given: out[e,b,n] = rows[e, index[e,b,n], n] + values[e,b,n] slope[e]. rows and out are
// [E,S or B,N,D], or heads of that, slope [E,D].
struct RowsFunction : torch::autograd::Function<RowsFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& rows_in, const at::Tensor& index_in,
                            const at::Tensor& values_in, const at::Tensor& slope_in) {
    const bool heads = rows_in.dim() == 5;
    const auto rows = heads ? from_heads(rows_in) : rows_in.contiguous(), index = index_in.contiguous();
    const auto values = values_in.contiguous(), slope = slope_in.contiguous();
    const auto out = at::empty({index.size(0), index.size(1), index.size(2), rows.size(3)}, rows.options());
    const int64_t* const first = index.data_ptr<int64_t>();
    TORCH_CHECK(std::all_of(first, first + index.numel(), [&](int64_t i) { return i >= 0 && i < rows.size(1); }),
                "a token's row is not in 0..", rows.size(1) - 1);
    TORCHPE_DISPATCH(rows, [&] {
      const int64_t D = rows.size(3);
      const T *const v = given(values) ? values.data_ptr<T>() : nullptr, *const by = slope.data_ptr<T>();
      each_row<T>(rows, index, out, [&](int64_t e, int64_t, T* row, T* token, int64_t i) {
        std::copy(row, row + D, token);
        if (v) kernels<T>().add_scaled(D, by + e * D, v[i], token);
      });
    });
    ctx->save_for_backward({index, values});
    ctx->saved_data["rows"] = rows.sizes().vec();
    return heads ? as_heads(out, rows_in.size(2)) : out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto index = saved[0], values = saved[1];
    const bool heads = grads[0].dim() == 5;
    const auto d = heads ? from_heads(grads[0]) : grads[0].contiguous();
    const auto into = at::zeros(ctx->saved_data["rows"].toIntVector(), d.options());
    const int64_t N = d.size(2), D = d.size(3);
    const auto slopes = given(values) ? at::zeros({d.size(0), N, D}, d.options()) : at::Tensor();  // of each place
    TORCHPE_DISPATCH(d, [&] {
      const T* const v = given(values) ? values.data_ptr<T>() : nullptr;
      T* const by = v ? slopes.data_ptr<T>() : nullptr;
      each_row<T>(into, index, d, [&](int64_t e, int64_t n, T* row, T* token, int64_t i) {
        kernels<T>().column_sum(1, D, token, row);
        if (v) kernels<T>().add_scaled(D, token, v[i], by + (e * N + n) * D);
      });
    });
    return {heads ? as_heads(into, grads[0].size(2)) : into, {}, {}, given(values) ? slopes.sum(1) : at::Tensor()};
  }

  // Calls f(member, place, row, token, the token's number) for each token, those of one place in the
  // order of their samples.
  template <typename T, typename F>
  static void each_row(const at::Tensor& rows, const at::Tensor& index, const at::Tensor& tokens, const F& f) {
    const int64_t S = rows.size(1), B = index.size(1), N = index.size(2), D = rows.size(3);
    for_members(index.size(0), [&](int64_t e, bool) {
      const int64_t* at = index.data_ptr<int64_t>() + e * B * N;
      T *const row = rows.data_ptr<T>() + e * S * N * D, *const token = tokens.data_ptr<T>() + e * B * N * D;
      in_parallel(0, N, 4, [&](int64_t begin, int64_t end) {
        for (int64_t b = 0; b < B; b++)
          for (int64_t n = begin; n < end; n++)
            f(e, n, row + (at[b * N + n] * N + n) * D, token + (b * N + n) * D, (e * B + b) * N + n);
      });
    });
  }
};

at::Tensor rows_composed(const at::Tensor& rows, const at::Tensor& index, const at::Tensor& values,
                         const at::Tensor& slope) {
  if (rows.dim() == 5) return as_heads(rows_composed(from_heads(rows), index, values, slope), rows.size(2));
  const auto taken = rows.gather(1, token_index(index, rows.size(3)));
  return given(values) ? taken + values.unsqueeze(-1) * slope.unsqueeze(1).unsqueeze(1) : taken;
}

void check_rows(const TokenRows& r) {
  const auto &rows = r.all, &index = r.index, &values = r.values, &slope = r.slope;
  TORCH_CHECK((rows.dim() == 4 || rows.dim() == 5) && index.dim() == 3 && index.scalar_type() == at::kLong &&
                  index.size(0) == rows.size(0) && index.size(2) == rows.size(-2) && index.device() == rows.device(),
              "rows of ", rows.sizes(), " by ", index.sizes(), " of ", index.scalar_type(),
              "; expected rows [E,S,N,D] or [E,S,H,N,Dh] and int64 [E,B,N]");
  if (!given(values) && !given(slope)) return;
  const int64_t D = rows.size(-1) * (rows.dim() == 5 ? rows.size(2) : 1);
  TORCH_CHECK(values.sizes() == index.sizes() && slope.dim() == 2 && slope.size(0) == rows.size(0) &&
                  slope.size(1) == D,
              "rows of ", rows.sizes(), " and values ", values.sizes(), " times a slope ", slope.sizes(),
              "; expected values ", index.sizes(), " and slope [", rows.size(0), ", ", D, "]");
  check_same("the values of rows", rows, values);
  check_same("the slope of rows", rows, slope);
}

void check_projection(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, int64_t heads) {
  const auto n = check_linear(x, w, b);
  TORCH_CHECK(x.dim() == 4 && n.O == 3 * n.I, "projection of x ", x.sizes(), " with weight ", w.sizes(),
              "; expected x [E,B,N,D] and weight [E,3D,D]");
  TORCH_CHECK(heads > 0 && n.I % heads == 0, "width ", n.I, " is not divisible by ", heads, " heads");
}

at::Tensor take_rows(const TokenRows& r) {
  return use_loops(r.all) && !(at::GradMode::is_enabled() && r.values.requires_grad())
             ? RowsFunction::apply(r.all, r.index, r.values, r.slope)
             : rows_composed(r.all, r.index, r.values, r.slope);
}

// The maps of tokens that share rows, and x instead of what the maps return last: f(y, biased) are those of y
// [E,B,N,D], heads each.
template <typename F>
variable_list of_rows(const TokenRows& r, const at::Tensor& x, const F& f) {
  check_rows(r);
  const int64_t E = r.all.size(0), D = r.all.size(-1);
  auto out = f(r.all, true);
  variable_list slopes;
  if (given(r.slope)) slopes = f(r.slope.reshape({E, 1, 1, D}), false);
  for (size_t i = 0; i + 1 < out.size(); i++)
    out[i] = take_rows({out[i], r.index, r.values, given(r.slope) ? slopes[i].reshape({E, D}) : r.slope});
  out.back() = x;
  return out;
}

}  // namespace

namespace torchpe {

at::Tensor tokens_of(const at::Tensor& x, const at::Tensor& read) {
  const int64_t E = x.size(0), B = x.size(1), N = x.size(2), D = x.size(3), M = read.size(2);
  if (!use_loops(x)) return x.gather(2, token_index(read, D));
  const auto none = at::empty({0}, x.options().requires_grad(false));
  return RowsFunction::apply(x.reshape({E * B, N, 1, D}), read.reshape({E * B, M, 1}), none, none).view({E, B, M, D});
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu, Stored stored) {
  check_linear(x, w, b);
  const bool keep = at::GradMode::is_enabled();
  if (use_kernels(x)) return linear_on_gpu(x, w, b, gelu, keep);
  if (!use_loops(x)) return linear_composed(x, w, b, gelu);
  return LinearFunction::apply(x, w, b, gelu, stored, keep);
}

variable_list map_in_loops(const at::Tensor& x, const TokenRows& rows, const at::Tensor& w, const at::Tensor& b) {
  const auto none = at::empty({0}, w.options().requires_grad(false));
  const auto map = [&](const at::Tensor& y, bool biased) {
    return QKVFunction::apply(y, w, biased ? b : none, Parts{0, 1}, 1, Stored::nothing);
  };
  return rows.given() ? of_rows(rows, x, map) : map(x, true);
}

variable_list project(const at::Tensor& x, const Projection& p, Parts parts, Stored stored) {
  if (p.rows.given()) {
    const auto none = at::empty({0}, p.w.options().requires_grad(false));
    return of_rows(p.rows, x, [&](const at::Tensor& y, bool biased) {
      return project(y, {{}, p.w, biased ? p.b : none, p.heads, {}}, parts, stored);
    });
  }
  const auto& w = p.w;
  check_projection(x, w, p.b, p.heads);
  if (use_loops(x)) return QKVFunction::apply(x, w, p.b, parts, p.heads, stored);
  variable_list out;
  if (use_kernels(x) && parts.count == 3) {
    out = qkv_on_gpu(x, p.x16, w, p.b, p.heads);
  } else {
    const int64_t D = x.size(3);
    const auto of = [&](const at::Tensor& t) { return given(t) ? t.narrow(1, parts.first * D, parts.count * D) : t; };
    for (auto& y : linear(x, of(w), of(p.b), false, stored).chunk(parts.count, -1))
      out.push_back(as_heads(y.contiguous(), p.heads));
  }
  out.push_back(x);
  return out;
}

}  // namespace torchpe

namespace {

at::Tensor take_rows(const Operands& o) {
  o[0];  // says so where it is left out
  check_rows(o.rows(0));
  return take_rows(o.rows(0));
}

// x may be left out where rows are given.
std::vector<at::Tensor> project_qkv(const Operands& o) {
  const auto w = o[5];
  const auto rows = o.rows(1);
  const auto x = rows.given() ? o.optional(0) : o[0];
  auto parts = project(x, {o.beside(0), w, o.or_empty(6, w), o.integer(0), rows});
  parts.pop_back();
  return parts;
}

const Operators linear_rows{
    OPERATOR("Linear", linear(o[0], o[1], o.or_empty(2, o[0]), false)),
    OPERATOR("LinearGELU", linear(o[0], o[1], o.or_empty(2, o[0]), true)),
    OPERATOR("TakeRows", take_rows(o)),
    OPERATOR("ProjectQKV", project_qkv(o)),
};

}  // namespace
