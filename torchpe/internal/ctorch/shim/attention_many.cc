// attention_many.cc: attention over many tokens between the products of an attention block, on a
// GPU, by libtorch's forms as they lie below autograd: flash for bfloat16, else the memory-efficient
// one. Both take queries, keys and values where the projection left them. The memory-efficient one
// lays their gradients side by side, as the projection's gradients want them; flash's are copied
// together.
#include <torch/version.h>

#include "gpu_parts.h"

// The two functions are as they are here since 2.6.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6)
#define TORCHPE_MANY_TOKENS
#endif

namespace torchpe {

bool has_many_tokens(const at::Tensor& x, int64_t heads) {
#ifdef TORCHPE_MANY_TOKENS
  if (!x.is_cuda() || x.scalar_type() != at::kFloat) return false;
  const int64_t width = x.size(-1) / heads;
  return precision() != Precision::bf16 || (operand_type(x) == at::kBFloat16 && width % 8 == 0 && width <= 256);
#else
  (void)x;
  (void)heads;
  return false;
#endif
}

#ifdef TORCHPE_MANY_TOKENS

namespace {

// Part `part` of y [E,B N,parts D] as [E B,N,H,Dh].
at::Tensor part_of(const at::Tensor& y, int64_t part, int64_t parts, int64_t batch, int64_t heads) {
  return y.view({y.size(0) * batch, y.size(1) / batch, parts, heads, y.size(2) / parts / heads}).select(2, part);
}

struct Operands {
  at::Tensor q, k, v;
};

Operands operands(const ManyTokens& m, const at::Tensor& uq, const at::Tensor& u) {
  const auto part = [&](const at::Tensor& y, int64_t i, int64_t parts) {
    return part_of(y, i, parts, m.batch, m.heads);
  };
  return m.apart ? Operands{part(uq, 0, 1), part(u, 0, 2), part(u, 1, 2)}
                 : Operands{part(u, 0, 3), part(u, 1, 3), part(u, 2, 3)};
}

// Adds the sums over rows of d [E,rows,O] to `into` [E,O].
void add_row_sums(const at::Tensor& d, const GradTarget& into) {
  const int64_t E = d.size(0), rows = d.size(1), O = d.size(2);
  const auto parts = at::empty({E, sum_chunks(rows), 1, O}, of_sums(d));
  count_moved("dense_backward_kernel", {d, parts});
  const OnDevice here(d);
  TORCHPE_WIDE_DISPATCH(d, [&] {
    GpuDense<T, S> a = {};
    a.members = E;
    a.rows = rows;
    a.cols = O;
    a.dy = address<S>(d);
    a.parts = address<T>(parts);
    wide_kernels<T, S>(d).dense_backward(here, a);
  });
  add_sums(parts, {into});
}

constexpr int64_t NO_MASK = 0;

// In deterministic mode flash's backward pass adds in a fixed order only where the mode is strict
// (tp_set_deterministic).
class Strict {
 public:
  Strict() : on_(at::globalContext().deterministicAlgorithms()) { set(false); }
  ~Strict() { set(true); }
  Strict(const Strict&) = delete;

 private:
  void set(bool warn_only) const {
    if (on_) at::globalContext().setDeterministicAlgorithms(true, warn_only);
  }
  const bool on_;
};

std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_backward(const ManyTokens& m, const Operands& o,
                                                              const at::Tensor& a, const at::Tensor& da) {
  const Strict strict;
  return at::_flash_attention_backward(da, o.q, o.k, o.v, a, m.sums, {}, {}, o.q.size(1), o.k.size(1), 0.0, false,
                                       m.seed, m.offset, m.scale);
}

}  // namespace

at::Tensor ManyTokens::forward(const at::Tensor& b, bool keep) {
  const int64_t D = u.size(2) / (apart ? 2 : 3);
  if (given(b) && apart) {
    bias_gelu(uq, b.narrow(1, 0, D), false, uq);
    bias_gelu(u, b.narrow(1, D, 2 * D), false, u);
  } else {
    bias_gelu(u, b, false, u);
  }
  const auto o = operands(*this, uq, u);
  if (u.scalar_type() == at::kBFloat16) {
    const auto all = at::_flash_attention_forward(o.q, o.k, o.v, c10::nullopt, c10::nullopt, o.q.size(1), o.k.size(1),
                                                  0.0, false, false, scale);
    if (keep) sums = std::get<1>(all);
    seed = std::get<2>(all);
    offset = std::get<3>(all);
    return std::get<0>(all).reshape({u.size(0), batch * o.q.size(1), D});
  }
  const auto all = at::_efficient_attention_forward(o.q, o.k, o.v, c10::nullopt, c10::nullopt, c10::nullopt,
                                                    c10::nullopt, c10::nullopt, 0.0, NO_MASK,
                                                    /*compute_log_sumexp=*/keep, scale);
  sums = std::get<1>(all);
  seed = std::get<2>(all);
  offset = std::get<3>(all);
  return std::get<0>(all).view({u.size(0), batch * o.q.size(1), D});
}

void ManyTokens::backward(const at::Tensor& a, const at::Tensor& da, const GradTarget& db) {
  const int64_t D = a.size(2);
  const auto o = operands(*this, uq, u);
  const auto as_heads = [&](const at::Tensor& t) { return part_of(t, 0, 1, batch, heads); };
  // blocks of keys that are split add to a query's gradient in no fixed order
  c10::optional<int64_t> splits;
  if (at::globalContext().deterministicAlgorithms()) splits = 1;
  std::tuple<at::Tensor, at::Tensor, at::Tensor> all;
  if (u.scalar_type() == at::kBFloat16) {
    all = flash_backward(*this, o, as_heads(a), as_heads(da));
  } else {
    const auto more = at::_efficient_attention_backward(
        as_heads(da), o.q, o.k, o.v, c10::nullopt, as_heads(a), c10::nullopt, c10::nullopt, o.q.size(1), o.k.size(1),
        sums, 0.0, seed, offset, NO_MASK, /*bias_requires_grad=*/false, scale, splits, c10::nullopt,
        /*shared_storage_dqdkdv=*/!apart);
    all = {std::get<0>(more), std::get<1>(more), std::get<2>(more)};
  }
  const auto &dq = std::get<0>(all), &dk = std::get<1>(all), &dv = std::get<2>(all);
  if (apart) {
    duq = dq.reshape(uq.sizes());
    du = at::stack({dk, dv}, 2).view(u.sizes());
  } else {
    const int64_t rows = dq.size(1), width[] = {rows * 3 * D, 3 * D, dq.size(3), 1};
    const bool beside = dk.is_alias_of(dq) && dv.is_alias_of(dq) && dq.strides() == at::IntArrayRef(width) &&
                        dk.strides() == dq.strides() && dv.strides() == dq.strides() &&
                        dk.storage_offset() == dq.storage_offset() + D &&
                        dv.storage_offset() == dq.storage_offset() + 2 * D;
    du = beside ? dq.as_strided(u.sizes(), u.strides()) : at::stack({dq, dk, dv}, 2).view(u.sizes());
    duq = du;
  }
  if (!db.into.defined()) return;
  if (apart) add_row_sums(duq, db.columns(0, D));
  add_row_sums(du, apart ? db.columns(D, 2 * D) : db);
}

#else

at::Tensor ManyTokens::forward(const at::Tensor&, bool) {
  TORCH_CHECK(false, "this libtorch has no attention over many tokens below autograd");
}
void ManyTokens::backward(const at::Tensor&, const at::Tensor&, const GradTarget&) {}

#endif

}  // namespace torchpe
