// norm.cc: residual sum with layer norm, and dropout with a mask that depends on the step.
#include "operands.h"
#include "philox.h"
#include "product.h"

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

void check_norm(const at::Tensor& x, const at::Tensor& y, const NormOperands& n) {
  const auto &gain = n.gain, &bias = n.bias;
  TORCH_CHECK(x.dim() >= 2 && gain.dim() == 2 && gain.sizes() == bias.sizes() && gain.size(0) == x.size(0) &&
                  gain.size(1) == x.size(-1),
              "layer norm of ", x.sizes(), " with gain ", gain.sizes(), " and bias ", bias.sizes(),
              "; expected x [E,...,D], gain and bias [E,D]");
  check_same("layer norm", x, gain);
  check_same("layer norm", x, bias);
  if (given(y)) {
    TORCH_CHECK(x.sizes() == y.sizes(), "layer norm of the sum of ", x.sizes(), " and ", y.sizes());
    check_same("layer norm", x, y);
  }
  if (given(n.table)) {
    TORCH_CHECK(x.dim() == 4 && n.table.dim() == 3 && n.table.size(0) == x.size(0) &&
                    n.table.sizes().slice(1) == x.sizes().slice(2),
                "layer norm of ", x.sizes(), " with a table ", n.table.sizes(),
                " on it; expected x [E,B,N,D] and [E,N,D]");
    check_same("layer norm", x, n.table);
  }
}

struct NormFunction : torch::autograd::Function<NormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& y_in,
                            const at::Tensor& gain, const at::Tensor& bias, const at::Tensor& table_in, double eps,
                            Stored stored, bool keep) {
    const auto table = members_dense(table_in) ? table_in : table_in.contiguous();
    auto x = x_in.contiguous();
    auto y = given(y_in) ? y_in.contiguous() : y_in;
    const int64_t E = x.size(0), D = x.size(-1), rows = x.numel() == 0 ? 0 : x.numel() / (E * D);
    auto out = at::empty_like(x);
    auto xhat = keep ? at::empty_like(x) : at::Tensor();
    auto rstd = keep ? at::empty({E, rows}, x.options()) : at::Tensor();
    TORCHPE_DISPATCH(x, [&] {
      for_members(E, [&](int64_t e, bool) {
        const int64_t o = e * rows * D;
        const T *g = member<T>(gain, e), *b = member<T>(bias, e);
        const Table<T> t = {given(table) ? member<T>(table, e) : nullptr, given(table) ? table.size(1) : 1, 0};
        for_row_chunks(rows, [&](int64_t, int64_t r0, int64_t r1) {
          const int64_t i = o + r0 * D;
          kernels<T>().add_layer_norm(r1 - r0, D, x.data_ptr<T>() + i, given(y) ? y.data_ptr<T>() + i : nullptr, g, b,
                                      T(eps), t.from(r0), keep ? xhat.data_ptr<T>() + i : nullptr,
                                      keep ? rstd.data_ptr<T>() + e * rows + r0 : nullptr, out.data_ptr<T>() + i);
        });
      });
    });
    const bool rounds = stored != Stored::nothing && rounds_operands(x) && precision() == Precision::bf16;
    if (keep) ctx->save_for_backward({rounds ? rounded(xhat, Precision::bf16) : xhat, rstd, gain, bias});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto saved = ctx->get_saved_variables();
    const auto xhat = saved[0], rstd = saved[1], gain = saved[2], bias = saved[3];
    auto d = grads[0].contiguous();
    const int64_t E = xhat.size(0), D = xhat.size(-1), rows = rstd.size(1);
    auto ds = at::empty_like(xhat);
    auto dgain = grad_target(gain), dbias = grad_target(bias);
    TORCHPE_DISPATCH(xhat, [&] {
      for_members(E, [&](int64_t e, bool) {
        const T* g = member<T>(gain, e);
        std::vector<T> sums(size_t(2 * D), T(0));
        for_row_chunks_summing<T>(rows, 2 * D, sums.data(), [&](int64_t r0, int64_t r1, T* part) {
          const int64_t i = (e * rows + r0) * D;
          kernels<T>().layer_norm_backward(r1 - r0, D, xhat.data_ptr<T>() + i, rstd.data_ptr<T>() + e * rows + r0, g,
                                           d.data_ptr<T>() + i, ds.data_ptr<T>() + i, part, part + D);
        });
        T *dg = member<T>(dgain.into, e), *db = member<T>(dbias.into, e);
        for (int64_t c = 0; c < D; c++) {
          dg[c] += sums[size_t(c)];
          db[c] += sums[size_t(D + c)];
        }
      });
    });
    const auto dtable = ctx->needs_input_grad(4) ? d.sum(1) : at::Tensor();
    return {ds, ctx->needs_input_grad(1) ? ds : at::Tensor(), dgain.result(), dbias.result(), dtable, {}, {}, {}};
  }
};

at::Tensor norm_composed(const at::Tensor& x, const at::Tensor& y, const NormOperands& n) {
  auto s = given(y) ? x + y : x;
  std::vector<int64_t> shape(size_t(x.dim()), 1);
  shape.front() = x.size(0);
  shape.back() = x.size(-1);
  auto h = at::layer_norm(s, {x.size(-1)}, {}, {}, n.eps, false);
  h = h * n.gain.reshape(shape) + n.bias.reshape(shape);
  return given(n.table) ? h + n.table.unsqueeze(1) : h;
}

// The mask of all members: 1/(1-p) where kept, 0 where dropped. Drawn on the CPU.
at::Tensor dropout_mask(const at::Tensor& x, double p, const uint64_t* seeds, uint64_t step, uint64_t call) {
  const int64_t E = x.size(0), n = x.numel() / std::max<int64_t>(E, 1);
  auto mask = at::empty(x.sizes(), x.options().device(at::kCPU).requires_grad(false));
  const uint32_t threshold = dropout_threshold(p);
  TORCHPE_DISPATCH(mask, [&] {
    const T keep = T(1 / (1 - p));
    for (int64_t e = 0; e < E; e++) {
      T* m = mask.data_ptr<T>() + e * n;
      at::parallel_for(0, (n + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          uint32_t r[4];
          philox4x32(uint64_t(i), call, step, seeds[e], r);
          for (int64_t l = 0; l < 4 && 4 * i + l < n; l++) m[4 * i + l] = r[l] >= threshold ? keep : T(0);
        }
      });
    }
  });
  return mask.to(x.device());
}

constexpr int64_t LOW = 0xFFFFFFFF;

// The high and low 32 bits of a * b, of 32 bits each, in int64.
std::pair<at::Tensor, at::Tensor> wide_product(const at::Tensor& a, int64_t b) {
  const auto p = a * b;  // modulo 2^64
  return {at::bitwise_and(at::__rshift__(p, 32), LOW), at::bitwise_and(p, LOW)};
}

// The mask composed of libtorch's operators, for a device where draws lie and must not be waited
// for: Philox as in philox.h, each word an int64 below 2^32, broadcast over members [E,1] and
// blocks [1,n/4].
at::Tensor dropout_mask_composed(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call) {
  const int64_t E = x.size(0), n = x.numel() / std::max<int64_t>(E, 1);
  const auto low = [](const at::Tensor& t) { return at::bitwise_and(t, LOW); };
  const auto high = [&](const at::Tensor& t) { return low(at::__rshift__(t, 32)); };
  const auto block = at::arange((n + 3) / 4, draws.options()).unsqueeze(0), seeds = draws.narrow(0, 1, E).unsqueeze(1),
             step = draws.narrow(0, 0, 1).unsqueeze(1);
  at::Tensor c[4] = {low(block), at::bitwise_xor(low(at::__lshift__(high(block), 16)), int64_t(uint32_t(call))),
                     low(step), high(step)};
  at::Tensor k0 = low(seeds), k1 = high(seeds);
  for (int i = 0; i < 10; i++) {
    const auto a = wide_product(c[0], 0xD2511F53), b = wide_product(c[2], 0xCD9E8D57);
    c[0] = at::bitwise_xor(at::bitwise_xor(b.first, c[1]), k0);
    c[2] = at::bitwise_xor(at::bitwise_xor(a.first, c[3]), k1);
    c[1] = b.second;
    c[3] = a.second;
    k0 = low(k0 + int64_t(0x9E3779B9));
    k1 = low(k1 + int64_t(0xBB67AE85));
  }
  for (auto& word : c) word = word.expand({E, (n + 3) / 4});
  const auto kept =
      at::stack({c[0], c[1], c[2], c[3]}, -1).reshape({E, -1}).narrow(1, 0, n).ge(int64_t(dropout_threshold(p)));
  return kept.reshape(x.sizes());
}

}  // namespace

namespace torchpe {

Normed add_layer_norm(const at::Tensor& x, const at::Tensor& y, const NormOperands& n, Stored stored) {
  check_norm(x, y, n);
  const bool keep = at::GradMode::is_enabled();
  if (norm_fits_gpu(x, n)) return add_layer_norm_on_gpu(x, y, n, keep);
  if (use_loops(x) && n.gain.stride(1) == 1 && n.bias.stride(1) == 1)
    return {NormFunction::apply(x, y, n.gain, n.bias, n.table, n.eps, stored, keep), {}};
  return {norm_composed(x, y, n), {}};
}

}  // namespace torchpe

namespace {

at::Tensor dropout(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call) {
  TORCH_CHECK(draws.dim() == 1 && draws.size(0) >= 1 && draws.scalar_type() == at::kLong && draws.is_contiguous() &&
                  draws.device() == x.device(),
              "dropout of ", x.sizes(), " on ", x.device(), " with draws ", draws.sizes(), " of ", draws.scalar_type(),
              " on ", draws.device(), "; expected int64 [1+E] there");
  TORCH_CHECK(p >= 0 && p < 1, "dropout with probability ", p, "; it must be in [0, 1)");
  TORCH_CHECK(x.is_floating_point(), "dropout of dtype ", x.scalar_type());
  TORCH_CHECK(x.dim() >= 1 && x.size(0) == draws.size(0) - 1, "dropout of ", x.sizes(), " with the seeds of ",
              draws.size(0) - 1, " members");
  if (use_kernels(x)) return dropout_on_gpu(x, p, draws, call);
  if (use_loops(x)) {
    const int64_t* d = draws.data_ptr<int64_t>();
    return x * dropout_mask(x, p, reinterpret_cast<const uint64_t*>(d + 1), uint64_t(d[0]), call);
  }
  return at::where(dropout_mask_composed(x, p, draws, call), x * (1 / (1 - p)), at::zeros({}, x.options()));
}

const Operators norm_rows{
    OPERATOR("AddLayerNorm", add_layer_norm(o[0], o.or_empty(1, o[0]), o.norm(2, o.number(0), o[0]))),
    // Drops elements with probability p; the mask of member e is a pure function of (seeds[e], step, call).
    // The backward pass reads the draws again, the step and the bits of each seed: they must not have changed.
    OPERATOR("Dropout", dropout(o[0], o.number(0), o[1], uint64_t(o.integer(0)))),
};

}  // namespace
