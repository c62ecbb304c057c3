// block_loops.cc: the end of both halves of a transformer block on the CPU: the last linear map,
// the residual sum and its layer norm, and in the second half the map and the GELU before them. A
// chunk of rows passes through all of it while it is in cache, forward and backward.
#include "gpu.h"
#include "maps.h"
#include "product.h"

#include <optional>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

// Memory of the calling thread for n numbers, the same at every call.
template <typename T>
T* thread_memory(int64_t n) {
  constexpr size_t line = 64;
  thread_local std::vector<T> memory;
  if (memory.size() * sizeof(T) < size_t(n) * sizeof(T) + line) memory.resize(size_t(n) + line / sizeof(T));
  const size_t past = reinterpret_cast<uintptr_t>(memory.data()) % line;
  return memory.data() + (past ? line - past : 0) / sizeof(T);
}

// One member's: out = norm(x + f(inner out_w^T + out_b)), for x and out [rows,D] and inner [rows,I].
// Where in_w is given f is GELU, and inner = GELU(x in_w^T + in_b); else f is nothing. in_b and out_b
// may be null.
template <typename T>
struct Ending {
  int64_t rows, D, I;
  const T *x, *in_w, *in_b, *out_w, *out_b, *gain, *bias;
  // For the backward pass: slopes of both GELUs, and what layer norm keeps. Null where only out is
  // wanted; then inner is null too where it is computed here.
  T *inner, *in_slope, *out_slope, *xhat, *rstd;

  void forward(Table<T> table, T eps, T* out) const {
    const auto& k = kernels<T>();
    std::optional<PackedWeight<T>> first;
    if (in_w) first.emplace(rows, I, D, in_w, PackedWeight<T>::transposed);
    const PackedWeight<T> last(rows, D, I, out_w, PackedWeight<T>::transposed);
    for_row_chunks(rows, [&](int64_t, int64_t r0, int64_t r1) {
      const int64_t n = r1 - r0;
      T *const memory = thread_memory<T>(ROW_CHUNK * (2 * D + I)), *const y = memory + ROW_CHUNK * (D + I);
      T* const h = inner ? inner + r0 * I : memory;
      if (in_w) {
        T* const u = in_slope ? in_slope + r0 * I : h;
        product(n, D, I, x + r0 * D, *first, u);
        bias_gelu(n, I, u, in_b, in_slope ? h : nullptr);
      }
      T* const v = out_slope ? out_slope + r0 * D : y;
      product(n, I, D, h, last, v);
      if (in_w) {
        bias_gelu(n, D, v, out_b, out_slope ? y : nullptr);
      } else if (out_b) {
        k.add_bias(n, D, v, out_b);
      }
      k.add_layer_norm(n, D, x + r0 * D, y, gain, bias, eps, table.from(r0), xhat ? xhat + r0 * D : nullptr,
                       rstd ? rstd + r0 : nullptr, out + r0 * D);
    });
  }

  // Gradients; those of parameters are added to. All but x may be null: not wanted.
  struct Gradients {
    T *x, *inner;  // of inner where it was given
    T *in_w, *in_b, *out_w, *out_b, *gain, *bias;
    T* table;
    int64_t tokens;  // of the table
    // Where threads share the rows, memory [rows,I] and [rows,D] for the gradients of what the GELUs take;
    // null where a thread is alone, and without GELU.
    T *du, *dy;
    bool alone;
  };

  void backward(const T* dout, const Gradients& g) const {
    const auto& k = kernels<T>();
    const bool to_inner = g.inner || in_w;
    std::optional<PackedWeight<T>> first, last;
    if (in_w) first.emplace(rows, I, D, in_w, PackedWeight<T>::plain);
    if (to_inner) last.emplace(rows, D, I, out_w, PackedWeight<T>::plain);
    std::vector<T> sums(size_t(3 * D + I), T(0));
    for_row_chunks_summing<T>(rows, 3 * D + I, sums.data(), [&](int64_t r0, int64_t r1, T* part) {
      const int64_t n = r1 - r0;
      T *const memory = thread_memory<T>(ROW_CHUNK * (D + 2 * I)), *const dx = g.x + r0 * D;
      k.layer_norm_backward(n, D, xhat + r0 * D, rstd + r0, gain, dout + r0 * D, dx, part, part + D);
      if (g.alone && g.table) add_to_table(r0, r1, dout, g);
      T* const dy = !in_w ? dx : g.alone ? memory : g.dy + r0 * D;
      if (in_w)
        k.gelu_backward(n, D, out_slope + r0 * D, dx, dy, part + 2 * D);
      else if (g.out_b)
        k.column_sum(n, D, dy, part + 2 * D);
      if (g.alone && g.out_w) weight_gradient(n, D, I, dy, inner + r0 * I, g.out_w);
      if (!to_inner) return;
      T* const dh = in_w ? memory + ROW_CHUNK * D : g.inner + r0 * I;
      product(n, D, I, dy, *last, dh);
      if (!in_w) return;
      T* const du = g.alone ? dh + ROW_CHUNK * I : g.du + r0 * I;
      k.gelu_backward(n, I, in_slope + r0 * I, dh, du, part + 3 * D);
      if (g.alone && g.in_w) weight_gradient(n, I, D, du, x + r0 * D, g.in_w);
      product(n, I, D, du, *first, dx, true);
    });
    if (!g.alone && g.out_w) add_weight_gradient_in_parallel(rows, D, I, in_w ? g.dy : g.x, inner, g.out_w);
    if (!g.alone && g.in_w) add_weight_gradient_in_parallel(rows, I, D, g.du, x, g.in_w);
    if (!g.alone && g.table)
      in_parallel(0, g.tokens, 4, [&](int64_t first, int64_t last) {
        for (int64_t r = 0; r < rows; r += g.tokens) add_to_table(r + first, r + last, dout, g);
      });
    add(sums.data(), D, g.gain);
    add(sums.data() + D, D, g.bias);
    add(sums.data() + 2 * D, D, g.out_b);
    add(sums.data() + 3 * D, I, g.in_b);
  }

 private:
  static void product(int64_t n, int64_t K, int64_t C, const T* a, Panels<T> b, T* c, bool add = false) {
    kernels<T>().product(n, K, C, a, K, 1, b, c, C, add);
  }

  // GELU of u + b: in the place of u, or in y with its slope in the place of u.
  static void bias_gelu(int64_t n, int64_t cols, T* u, const T* b, T* y) {
    if (y)
      kernels<T>().bias_gelu(n, cols, u, b, y);
    else
      kernels<T>().bias_gelu_only(n, cols, u, b);
  }

  static void weight_gradient(int64_t n, int64_t O, int64_t I, const T* du, const T* x, T* dw) {
    add_weight_gradient(n, O, I, du, x, dw, 0, O);
  }

  // Adds the rows first to last-1 of dout to those of their tokens.
  void add_to_table(int64_t first, int64_t last, const T* dout, const Gradients& g) const {
    for (int64_t r = first, n; r < last; r += n) {
      const int64_t token = r % g.tokens;
      n = std::min(last - r, g.tokens - token);
      kernels<T>().add_scaled(n * D, dout + r * D, T(1), g.table + token * D);
    }
  }

  static void add(const T* sums, int64_t n, T* into) {
    for (int64_t c = 0; into && c < n; c++) into[c] += sums[c];
  }
};

struct EndingFunction : torch::autograd::Function<EndingFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& inner_in,
                            const at::Tensor& in_w, const at::Tensor& in_b, const at::Tensor& out_w,
                            const at::Tensor& out_b, const at::Tensor& gain, const at::Tensor& bias,
                            const at::Tensor& table_in, double eps, bool keep) {
    const bool two = given(in_w);
    const auto x = x_in.contiguous(), table = dense_members(table_in);
    const int64_t E = x.size(0), D = x.size(-1), I = out_w.size(2), rows = x.numel() / (E * D);
    const auto kept = [&](bool wanted, int64_t width) {
      return wanted ? at::empty({E, rows, width}, x.options()) : at::Tensor();
    };
    const auto inner = two ? kept(keep, I) : inner_in.contiguous();
    // In the order that described reads them.
    const variable_list all = {x,
                               inner,
                               dense_members(in_w),
                               dense_members(in_b),
                               dense_members(out_w),
                               dense_members(out_b),
                               gain,
                               bias,
                               kept(keep && two, I),
                               kept(keep && two, D),
                               kept(keep, D),
                               keep ? at::empty({E, rows}, x.options()) : at::Tensor()};
    const auto out = at::empty_like(x);
    TORCHPE_DISPATCH(x, [&] {
      for_members(E, [&](int64_t e, bool) {
        const Table<T> t = {member_or_null<T>(table, e), given(table) ? table.size(1) : 1, 0};
        described<T>(all, e).forward(t, T(eps), member<T>(out, e));
      });
    });
    if (keep)
      ctx->save_for_backward({x, inner, in_w, in_b, out_w, out_b, gain, bias, all[8], all[9], all[10], all[11]});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto all = ctx->get_saved_variables();
    GradTarget into[6];
    for (size_t i = 0; i < 6; i++)
      if (given(all[2 + i]) && all[2 + i].requires_grad()) into[i] = grad_target(all[2 + i]);
    for (size_t i = 2; i < 6; i++) all[i] = dense_members(all[i]);
    const auto dout = grads[0].contiguous(), dx = at::empty_like(dout);
    const bool two = given(all[2]), to_inner = !two && ctx->needs_input_grad(1);
    const at::Tensor dinner = to_inner ? at::empty_like(all[1]) : at::Tensor();
    const bool shared = at::get_num_threads() > 1;
    const at::Tensor du = two && shared ? at::empty_like(all[1]) : at::Tensor(),
                     dy = two && shared ? at::empty_like(dout) : at::Tensor();
    const auto dtable =
        ctx->needs_input_grad(8) ? at::zeros({dout.size(0), dout.size(2), dout.size(3)}, dout.options()) : at::Tensor();
    TORCHPE_DISPATCH(dx, [&] {
      for_members(dx.size(0), [&](int64_t e, bool alone) {
        const auto to = [&](size_t i) { return member_or_null<T>(into[i].into, e); };
        described<T>(all, e).backward(
            member<T>(dout, e),
            {member<T>(dx, e), member_or_null<T>(dinner, e), to(0), to(1), to(2), to(3), to(4), to(5),
             member_or_null<T>(dtable, e), dout.size(-2), member_or_null<T>(du, e), member_or_null<T>(dy, e), alone});
      });
    });
    variable_list out = {dx, dinner};
    for (const auto& target : into) out.push_back(target.result());
    out.insert(out.end(), {dtable, {}, {}});
    return out;
  }

  template <typename T>
  static Ending<T> described(const variable_list& all, int64_t e) {
    const auto at = [&](size_t i) { return member_or_null<T>(all[i], e); };
    const int64_t D = all[0].size(-1);
    return {all[0].numel() / (all[0].size(0) * D),
            D,
            all[4].size(2),
            at(0),
            at(2),
            at(3),
            at(4),
            at(5),
            at(6),
            at(7),
            at(1),
            at(8),
            at(9),
            at(10),
            at(11)};
  }
};

}  // namespace

bool norm_fits_loops(const at::Tensor& x, const NormOperands& n) {
  return use_loops(x) && !rounds_operands(x) && n.gain.stride(1) == 1 && n.bias.stride(1) == 1;
}

Normed mlp_block_in_loops(const MLPBlock& b) {
  const auto none = at::empty({0}, b.x.options().requires_grad(false));
  return {EndingFunction::apply(b.x, none, b.in_w, b.in_b, b.out_w, b.out_b, b.norm.gain, b.norm.bias, b.norm.table,
                                b.norm.eps, at::GradMode::is_enabled()),
          {}};
}

Normed add_linear_norm_in_loops(const at::Tensor& x, const at::Tensor& y, const at::Tensor& w, const at::Tensor& b,
                                const NormOperands& n) {
  const auto none = at::empty({0}, x.options().requires_grad(false));
  return {EndingFunction::apply(x, y, none, none, w, b, n.gain, n.bias, n.table, n.eps, at::GradMode::is_enabled()),
          {}};
}

}  // namespace torchpe
