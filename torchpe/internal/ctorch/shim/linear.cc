// linear.cc: the linear map with optional GELU, and the projection to queries, keys and values.
#include "fused.h"
#include "profile.h"

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// The sizes of y = x w^T: E members, `rows` rows of length I to length O.
struct Sizes {
  int64_t E, rows, I, O;
};

Sizes check_linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  TORCH_CHECK(x.dim() >= 2 && w.dim() == 3 && x.size(0) == w.size(0) && x.size(-1) == w.size(2), "linear map of x ", x.sizes(),
              " with weight ", w.sizes(), "; expected x [E,...,I] and weight [E,O,I]");
  check_same("linear map", x, w);
  if (given(b)) {
    TORCH_CHECK(b.dim() == 2 && b.size(0) == w.size(0) && b.size(1) == w.size(1), "linear map with bias ", b.sizes(),
                " and weight ", w.sizes(), "; expected bias [E,O]");
    check_same("linear map's bias", x, b);
  }
  const int64_t E = x.size(0), I = x.size(-1);
  return {E, E * I == 0 ? 0 : x.numel() / (E * I), I, w.size(1)};
}

std::vector<int64_t> with_last(const at::Tensor& x, int64_t last) {
  auto s = x.sizes().vec();
  s.back() = last;
  return s;
}

// Adds the bias [O] to every row of y [rows,O].
template <typename T>
void add_bias(T* y, const T* b, int64_t rows, int64_t O) {
  Timer timer(PROFILE_BIAS_GELU);
  for_row_chunks(rows, [&](int64_t, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++)
      for (int64_t o = 0; o < O; o++) y[r * O + o] += b[o];
  });
}

// out = a b, and out += a b.
void product(at::Tensor out, const at::Tensor& a, const at::Tensor& b) {
  Timer timer(PROFILE_PRODUCT);
  at::mm_out(out, a, b);
}

void product_added(at::Tensor out, const at::Tensor& a, const at::Tensor& b) {
  Timer timer(PROFILE_PRODUCT);
  out.addmm_(a, b);
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w, const at::Tensor& b, bool gelu,
                            bool keep) {
    const auto n = check_linear(x_in, w, b);
    auto x = x_in.contiguous();
    auto u = at::empty(with_last(x, n.O), x.options());
    auto y = gelu && keep ? at::empty_like(u) : u;
    auto x3 = x.view({n.E, n.rows, n.I}), u3 = u.view({n.E, n.rows, n.O}), y3 = y.view({n.E, n.rows, n.O});
    for (int64_t e = 0; e < n.E; e++) {
      auto ue = u3[e];
      product(ue, x3[e], w[e].t());
      TORCHPE_DISPATCH(x, [&] {
        auto& k = kernels<T>();
        T* up = ue.data_ptr<T>();
        T* yp = y3[e].data_ptr<T>();
        const auto be = given(b) ? b[e].contiguous() : at::Tensor();
        const T* bp = given(b) ? be.data_ptr<T>() : nullptr;
        if (!gelu) {
          if (bp) add_bias(up, bp, n.rows, n.O);
          return;
        }
        Timer timer(PROFILE_BIAS_GELU);
        for_row_chunks(n.rows, [&](int64_t, int64_t begin, int64_t end) {
          if (keep)
            k.bias_gelu(end - begin, n.O, up + begin * n.O, bp, yp + begin * n.O);
          else
            k.bias_gelu_only(end - begin, n.O, up + begin * n.O, bp);
        });
      });
    }
    if (keep) {
      ctx->save_for_backward(gelu ? variable_list{x, w, b, u} : variable_list{x, w, b});
      ctx->saved_data["gelu"] = gelu;
    }
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto x = saved[0], w = saved[1], b = saved[2];
    const bool gelu = ctx->saved_data["gelu"].toBool();
    const auto n = check_linear(x, w, b);
    auto dy = grads[0].contiguous();
    auto du = gelu ? at::empty_like(dy) : dy;
    const bool need_x = ctx->needs_input_grad(0), need_w = w.requires_grad();
    at::Tensor dx = need_x ? at::empty_like(x) : at::Tensor();
    GradTarget dw, db;
    if (need_w) dw = grad_target(w);
    const bool need_b = given(b) && b.requires_grad();
    if (need_b) db = grad_target(b);
    for (int64_t e = 0; e < n.E; e++) {
      auto dye = dy.view({n.E, n.rows, n.O})[e], due = du.view({n.E, n.rows, n.O})[e];
      TORCHPE_DISPATCH(x, [&] {
        Timer timer(PROFILE_BIAS_GELU);
        auto& k = kernels<T>();
        const T* dp = dye.data_ptr<T>();
        T* up = due.data_ptr<T>();
        const T* slope = gelu ? saved[3].data_ptr<T>() + e * n.rows * n.O : nullptr;
        if (!need_b) {
          if (gelu)
            for_row_chunks(n.rows, [&](int64_t, int64_t r0, int64_t r1) {
              k.gelu_backward(r1 - r0, n.O, slope + r0 * n.O, dp + r0 * n.O, up + r0 * n.O, nullptr);
            });
          return;
        }
        for_row_chunks_summing<T>(n.rows, n.O, db.into[e].data_ptr<T>(), [&](int64_t r0, int64_t r1, T* sums) {
          if (gelu)
            k.gelu_backward(r1 - r0, n.O, slope + r0 * n.O, dp + r0 * n.O, up + r0 * n.O, sums);
          else
            k.column_sum(r1 - r0, n.O, dp + r0 * n.O, sums);
        });
      });
      if (need_x) product(dx.view({n.E, n.rows, n.I})[e], due, w[e]);
      if (need_w) product_added(dw.into[e], due.t(), x.view({n.E, n.rows, n.I})[e]);
    }
    return {dx, need_w ? dw.result() : at::Tensor(), need_b ? db.result() : at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

at::Tensor linear_composed(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu) {
  const auto n = check_linear(x, w, b);
  auto x3 = x.reshape({n.E, n.rows, n.I});
  auto wt = w.transpose(1, 2);
  auto y = given(b) ? at::baddbmm(b.unsqueeze(1), x3, wt) : at::bmm(x3, wt);
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

struct QKVFunction : torch::autograd::Function<QKVFunction> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& w, const at::Tensor& b,
                               int64_t heads) {
    const auto n = check_linear(x_in, w, b);
    auto x = x_in.contiguous();
    auto x3 = x.view({n.E, n.rows, n.I});
    variable_list out;
    for (int part = 0; part < 3; part++) {
      auto y = at::empty_like(x);
      auto y3 = y.view({n.E, n.rows, n.I});
      for (int64_t e = 0; e < n.E; e++) {
        auto ye = y3[e];
        product(ye, x3[e], w[e].narrow(0, part * n.I, n.I).t());
        if (given(b)) TORCHPE_DISPATCH(x, [&] { add_bias(ye.data_ptr<T>(), b[e].data_ptr<T>() + part * n.I, n.rows, n.I); });
      }
      out.push_back(as_heads(y, heads));
    }
    ctx->save_for_backward({x, w, b});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto x = saved[0], w = saved[1], b = saved[2];
    const auto n = check_linear(x, w, b);
    const bool need_x = ctx->needs_input_grad(0), need_w = w.requires_grad(), need_b = given(b) && b.requires_grad();
    at::Tensor dx = need_x ? at::zeros_like(x) : at::Tensor();
    GradTarget dw, db;
    if (need_w) dw = grad_target(w);
    if (need_b) db = grad_target(b);
    auto x3 = x.view({n.E, n.rows, n.I});
    bool first = true;
    for (int part = 0; part < 3; part++) {
      if (!grads[size_t(part)].defined()) continue;
      auto dy = from_heads(grads[size_t(part)]).view({n.E, n.rows, n.I});
      for (int64_t e = 0; e < n.E; e++) {
        auto we = w[e].narrow(0, part * n.I, n.I);
        auto dye = dy[e];
        if (need_x) {
          auto dxe = dx.view({n.E, n.rows, n.I})[e];
          if (first)
            product(dxe, dye, we);
          else
            product_added(dxe, dye, we);
        }
        if (need_w) product_added(dw.into[e].narrow(0, part * n.I, n.I), dye.t(), x3[e]);
        if (need_b)
          TORCHPE_DISPATCH(x, [&] {
            Timer timer(PROFILE_BIAS_GELU);
            const T* dp = dye.data_ptr<T>();
            for_row_chunks_summing<T>(n.rows, n.I, db.into[e].data_ptr<T>() + part * n.I, [&](int64_t r0, int64_t r1, T* sums) {
              kernels<T>().column_sum(r1 - r0, n.I, dp + r0 * n.I, sums);
            });
          });
      }
      first = false;
    }
    return {dx, need_w ? dw.result() : at::Tensor(), need_b ? db.result() : at::Tensor(), at::Tensor()};
  }
};

void check_qkv(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, int64_t heads) {
  const auto n = check_linear(x, w, b);
  TORCH_CHECK(x.dim() == 4 && n.O == 3 * n.I, "projection of x ", x.sizes(), " with weight ", w.sizes(),
              "; expected x [E,B,N,D] and weight [E,3D,D]");
  TORCH_CHECK(heads > 0 && n.I % heads == 0, "width ", n.I, " is not divisible by ", heads, " heads");
}

}  // namespace

extern "C" {

tp_result tp_linear(tp_tensor hx, tp_tensor hw, tp_tensor hb, int gelu, int grad) {
  return op(grad, [&] {
    auto x = get(hx), w = get(hw), b = get_or_empty(hb, x);
    check_linear(x, w, b);
    if (!use_loops(x)) return linear_composed(x, w, b, gelu != 0);
    return LinearFunction::apply(x, w, b, gelu != 0, grad != 0);
  });
}

char* tp_project_qkv(tp_tensor hx, tp_tensor hw, tp_tensor hb, int64_t heads, int grad, tp_tensor out[3]) {
  return act([&] {
    at::AutoGradMode mode(grad != 0);
    auto x = get(hx), w = get(hw), b = get_or_empty(hb, x);
    check_qkv(x, w, b, heads);
    variable_list parts;
    if (use_loops(x)) {
      parts = QKVFunction::apply(x, w, b, heads);
    } else {
      for (auto& p : linear_composed(x, w, b, false).chunk(3, -1)) parts.push_back(as_heads(p.contiguous(), heads));
    }
    for (size_t i = 0; i < 3; i++) out[i] = Handles::instance().put(parts[i]);
  });
}

}  // extern "C"
