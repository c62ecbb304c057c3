// attention_many.cc: attention over many tokens between the products of an attention block, on a
// GPU, in one of two forms (ManyForm): libtorch's memory-efficient one and flash, called below
// autograd. Both read queries, keys and values where the projection wrote them, flash in bfloat16.
// They write the gradients side by side, as the projection's backward pass reads them; those of
// flash are copied there.
#include <torch/version.h>

#include "gpu_parts.h"

// libtorch's two functions have had these arguments since 2.6.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6)
#define TORCHPE_MANY_TOKENS
#endif

namespace torchpe {

namespace {

std::atomic<ManyForm> chosen_form{ManyForm::efficient};

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

#ifdef TORCHPE_MANY_TOKENS

bool flash_takes(int64_t width) { return width % 8 == 0 && width <= 256; }

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

// The result of libtorch's forms, [S,N,H,Dh].
at::Tensor by_libtorch(ManyTokens& m, const Operands& o, bool keep) {
  if (m.form == ManyForm::flash) {
    const auto all = at::_flash_attention_forward(o.q, o.k, o.v, c10::nullopt, c10::nullopt, o.q.size(1), o.k.size(1),
                                                  0.0, false, false, m.scale);
    if (keep) m.sums = std::get<1>(all);
    m.seed = std::get<2>(all);
    m.offset = std::get<3>(all);
    return std::get<0>(all);
  }
  const auto all = at::_efficient_attention_forward(o.q, o.k, o.v, c10::nullopt, c10::nullopt, c10::nullopt,
                                                    c10::nullopt, c10::nullopt, 0.0, NO_MASK,
                                                    /*compute_log_sumexp=*/keep, m.scale);
  m.sums = std::get<1>(all);
  m.seed = std::get<2>(all);
  m.offset = std::get<3>(all);
  return std::get<0>(all);
}

// The gradients of q, k and v, by the result a and its gradient.
Operands gradients_by_libtorch(const ManyTokens& m, const Operands& o, const at::Tensor& a, const at::Tensor& da) {
  if (m.form == ManyForm::flash) {
    const Strict strict;
    const auto all = at::_flash_attention_backward(da, o.q, o.k, o.v, a, m.sums, {}, {}, o.q.size(1), o.k.size(1), 0.0,
                                                   false, m.seed, m.offset, m.scale);
    return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
  }
  // blocks of keys that are split add to a query's gradient in no fixed order
  c10::optional<int64_t> splits;
  if (at::globalContext().deterministicAlgorithms()) splits = 1;
  const auto all = at::_efficient_attention_backward(da, o.q, o.k, o.v, c10::nullopt, a, c10::nullopt, c10::nullopt,
                                                     o.q.size(1), o.k.size(1), m.sums, 0.0, m.seed, m.offset, NO_MASK,
                                                     /*bias_requires_grad=*/false, m.scale, splits, c10::nullopt,
                                                     /*shared_storage_dqdkdv=*/!m.apart);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

#else

at::Tensor by_libtorch(ManyTokens&, const Operands&, bool) {
  TORCH_CHECK(false, "this libtorch has no attention over many tokens below autograd");
}
Operands gradients_by_libtorch(const ManyTokens&, const Operands& o, const at::Tensor&, const at::Tensor&) { return o; }

#endif

}  // namespace

ManyForm many_form(const at::Tensor& x, int64_t width) {
#ifdef TORCHPE_MANY_TOKENS
  if (!x.is_cuda() || x.scalar_type() != at::kFloat) return ManyForm::none;
  if (precision() == Precision::bf16)
    return operand_type(x) == at::kBFloat16 && flash_takes(width) ? ManyForm::flash : ManyForm::none;
  return chosen_form == ManyForm::flash && flash_takes(width) ? ManyForm::flash : ManyForm::efficient;
#else
  return ManyForm::none;
#endif
}

at::Tensor ManyTokens::forward(const at::Tensor& b, bool keep) {
  const int64_t D = u.size(2) / (apart ? 2 : 3);
  if (given(b) && apart) {
    bias_gelu(uq, b.narrow(1, 0, D), false, uq);
    bias_gelu(u, b.narrow(1, D, 2 * D), false, u);
  } else {
    bias_gelu(u, b, false, u);
  }
  const auto type = u.scalar_type();
  if (form == ManyForm::flash) {
    u = u.to(at::kBFloat16);
    uq = apart ? uq.to(at::kBFloat16) : u;
  }
  const auto o = operands(*this, uq, u);
  const int64_t shape[] = {u.size(0), batch * o.q.size(1), D};
  return by_libtorch(*this, o, keep).reshape(shape).to(type);
}

void ManyTokens::backward(const at::Tensor& a, const at::Tensor& da, const GradTarget& db) {
  const int64_t D = a.size(2);
  const auto o = operands(*this, uq, u);
  const auto as_heads = [&](const at::Tensor& t) { return part_of(t.to(u.scalar_type()), 0, 1, batch, heads); };
  const auto d = gradients_by_libtorch(*this, o, as_heads(a), as_heads(da));
  if (apart) {
    duq = d.q.reshape(uq.sizes());
    du = at::stack({d.k, d.v}, 2).view(u.sizes());
  } else {
    const int64_t rows = d.q.size(1), width[] = {rows * 3 * D, 3 * D, d.q.size(3), 1};
    const bool beside = d.k.is_alias_of(d.q) && d.v.is_alias_of(d.q) && d.q.strides() == at::IntArrayRef(width) &&
                        d.k.strides() == d.q.strides() && d.v.strides() == d.q.strides() &&
                        d.k.storage_offset() == d.q.storage_offset() + D &&
                        d.v.storage_offset() == d.q.storage_offset() + 2 * D;
    du = beside ? d.q.as_strided(u.sizes(), u.strides()) : at::stack({d.q, d.k, d.v}, 2).view(u.sizes());
    duq = du;
  }
  if (db.into.defined()) {
    if (apart) add_row_sums(duq, db.columns(0, D));
    add_row_sums(du, apart ? db.columns(D, 2 * D) : db);
  }
  du = du.to(a.scalar_type());
  duq = apart ? duq.to(a.scalar_type()) : du;
}

}  // namespace torchpe

extern "C" {

void tp_set_attention(int form) {
  torchpe::chosen_form = form == 1 ? torchpe::ManyForm::flash : torchpe::ManyForm::efficient;
}
int tp_attention_form(void) { return int(torchpe::chosen_form.load()); }

}  // extern "C"
