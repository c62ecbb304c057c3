// optim.cc: optimizer steps over the flat parameter buffer [E,P], one call for all parameters.
#include "operands.h"

using namespace torchpe;

namespace {

// dense_rows reports whether the rows of t are dense: t may be some columns of a buffer.
bool dense_rows(const at::Tensor& t) { return t.size(1) <= 1 || t.stride(1) == 1; }

void check_buffers(const char* what, const at::Tensor& p, const at::Tensor& other) {
  TORCH_CHECK(p.dim() == 2 && p.sizes() == other.sizes() && dense_rows(p) && dense_rows(other), what, ": buffers ",
              p.sizes(), " and ", other.sizes(), "; expected [E,P] with dense rows");
  check_same(what, p, other);
}

// Settings of each member where p is: [E,6], float64.
void check_settings(const char* what, const at::Tensor& p, const at::Tensor& s) {
  TORCH_CHECK(s.dim() == 2 && s.size(0) == p.size(0) && s.size(1) == 6 && s.scalar_type() == at::kDouble &&
                  s.device() == p.device() && dense_rows(s),
              what, ": settings ", s.sizes(), " of ", s.scalar_type(), " on ", s.device(), " for parameters ",
              p.sizes(), " on ", p.device(), "; expected float64 [E,6] there");
}

enum Setting { LR, WEIGHT_DECAY, SCALE, ACTIVE, CORRECTION1, CORRECTION2_ROOT };

// One step of all members by the GPU's kernels; m and v are undefined for SGD.
void step_on_gpu(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
                 const at::Tensor& settings, double beta1, double beta2, double eps, bool decoupled) {
  const OnDevice here(p);
  TORCHPE_DISPATCH(p, [&] {
    const auto& k = gpu_kernels<T>(p);
    GpuAdam<T> a = {p.size(0),
                    p.size(1),
                    p.data_ptr<T>(),
                    g.data_ptr<T>(),
                    nullptr,
                    nullptr,
                    p.stride(0),
                    g.stride(0),
                    0,
                    0,
                    settings.data_ptr<double>(),
                    settings.stride(0),
                    beta1,
                    beta2,
                    eps,
                    decoupled};
    if (!m.defined()) return k.sgd(here, a);
    a.m = m.data_ptr<T>();
    a.v = v.data_ptr<T>();
    a.m_member = m.stride(0);
    a.v_member = v.stride(0);
    k.adam(here, a);
  });
}

// A column of settings [E,6] as [E,1] of p's type.
at::Tensor column(const at::Tensor& settings, const at::Tensor& p, Setting s) {
  return settings.narrow(1, s, 1).to(p.scalar_type());
}

// One step of all members composed of libtorch's operators, which read no setting back to the host.
void adam_composed(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
                   const at::Tensor& settings, double beta1, double beta2, double eps, bool decoupled) {
  const auto lr = settings.narrow(1, LR, 1), decay = settings.narrow(1, WEIGHT_DECAY, 1),
             active = settings.narrow(1, ACTIVE, 1).ne(0);
  const auto type = p.scalar_type();
  const auto w = decoupled ? p * (1 - lr * decay).to(type) : p;
  auto d = g * column(settings, p, SCALE);
  if (!decoupled) d = d + p * decay.to(type);
  const auto m1 = m * beta1 + d * (1 - beta1), v1 = v * beta2 + d * d * (1 - beta2);
  const auto next = w - (lr / settings.narrow(1, CORRECTION1, 1)).to(type) * m1 /
                            (v1.sqrt() / column(settings, p, CORRECTION2_ROOT) + eps);
  p.copy_(at::where(active, next, p));
  m.copy_(at::where(active, m1, m));
  v.copy_(at::where(active, v1, v));
}

void sgd_composed(const at::Tensor& p, const at::Tensor& g, const at::Tensor& settings) {
  const auto d = g * column(settings, p, SCALE) + p * column(settings, p, WEIGHT_DECAY);
  p.copy_(at::where(settings.narrow(1, ACTIVE, 1).ne(0), p - d * column(settings, p, LR), p));
}

// The rows of Account's state.
enum Account { LOSS, CORRECT, STILL_ACTIVE, DIVERGED, LAST };

void account(const at::Tensor& each, const at::Tensor& correct, double examples, const at::Tensor& step,
             const at::Tensor& state) {
  if (use_kernels(each)) {
    const auto losses = each.contiguous(), right = correct.defined() ? correct.contiguous() : correct;
    const OnDevice here(each);
    TORCHPE_DISPATCH(each, [&] {
      gpu_kernels<T>(each).account(
          here, {each.size(0), losses.data_ptr<T>(), right.defined() ? right.data_ptr<double>() : nullptr, examples,
                 step.data_ptr<int64_t>(), state.data_ptr<double>()});
    });
    return;
  }
  const auto loss = each.to(at::kDouble), finite = loss.isfinite().to(at::kDouble);
  auto active = state[STILL_ACTIVE];
  state[LOSS].add_(loss * examples);
  if (correct.defined()) state[CORRECT].add_(correct);
  state[DIVERGED].add_(active * (1 - finite) * (step[0].to(at::kDouble) + 1));
  active.mul_(finite);
  state[LAST].copy_(loss);
}

void adam_member(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
                 const AdamStep& s) {
  TORCHPE_DISPATCH(p, [&] {
    in_parallel(0, p.numel(), 1 << 15, [&](int64_t a, int64_t b) {
      kernels<T>().adam(b - a, p.data_ptr<T>() + a, g.data_ptr<T>() + a, m.data_ptr<T>() + a, v.data_ptr<T>() + a, s);
    });
  });
}

void sgd_member(const at::Tensor& p, const at::Tensor& g, double lr, double weight_decay, double scale) {
  if (weight_decay != 0)
    p.sub_((g * scale).add_(p, weight_decay), lr);
  else
    p.sub_(g, lr * scale);
}

}  // namespace

namespace {

// p, g, m, v: [E,P] with dense rows. settings, on p's device: float64 [E,6] with learning rate, weight decay,
// gradient scale, active (0 or 1), 1 - beta1^t and sqrt(1 - beta2^t). Nothing is read back from a GPU, so a
// CUDA graph that holds the step uses what is written there before each replay.
void adam(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v,
          const at::Tensor& settings, double beta1, double beta2, double eps, bool decoupled) {
  const at::NoGradGuard off;
  for (auto* t : {&g, &m, &v}) check_buffers("Adam", p, *t);
  check_settings("Adam", p, settings);
  if (use_kernels(p)) return step_on_gpu(p, g, m, v, settings, beta1, beta2, eps, decoupled);
  if (!use_loops(p)) return adam_composed(p, g, m, v, settings, beta1, beta2, eps, decoupled);
  for (int64_t e = 0; e < p.size(0); e++) {
    const double* row = settings.data_ptr<double>() + e * settings.stride(0);
    if (row[ACTIVE] == 0) continue;
    adam_member(p[e], g[e], m[e], v[e],
                {row[LR], row[WEIGHT_DECAY], row[SCALE], beta1, beta2, eps, row[CORRECTION1], row[CORRECTION2_ROOT],
                 decoupled});
  }
}

// As adam, with the first four settings.
void sgd(const at::Tensor& p, const at::Tensor& g, const at::Tensor& settings) {
  const at::NoGradGuard off;
  check_buffers("SGD", p, g);
  check_settings("SGD", p, settings);
  if (use_kernels(p)) return step_on_gpu(p, g, {}, {}, settings, 0, 0, 0, false);
  if (!use_loops(p)) return sgd_composed(p, g, settings);
  for (int64_t e = 0; e < p.size(0); e++) {
    const double* row = settings.data_ptr<double>() + e * settings.stride(0);
    if (row[ACTIVE] != 0) sgd_member(p[e], g[e], row[LR], row[WEIGHT_DECAY], row[SCALE]);
  }
}

// Adds the results of a training step to state, dense float64 [5,E] on the same device. Its rows: the sum of the
// losses (each mean times examples); the sum of correct predictions (correct, float64, or undefined); whether
// the member is active; the step, from 1, at which it diverged (0 = none); the losses of the last step. step,
// int64, starts with the step's number from 0. A loss that is not finite makes its member inactive.
void check_and_account(const at::Tensor& each, const at::Tensor& correct, double examples, const at::Tensor& step,
                       const at::Tensor& state) {
  const at::NoGradGuard off;
  const int64_t E = each.dim() == 1 ? each.size(0) : -1;
  TORCH_CHECK(each.is_floating_point() && E >= 0 && state.sizes() == at::IntArrayRef({5, E}) &&
                  state.scalar_type() == at::kDouble && state.is_contiguous(),
              "accounting of losses ", each.sizes(), " of ", each.scalar_type(), " in ", state.sizes(), " of ",
              state.scalar_type(), "; expected [E] in dense float64 [5,E]");
  TORCH_CHECK(!correct.defined() || (correct.sizes() == each.sizes() && correct.scalar_type() == at::kDouble),
              "accounting of right answers ", correct.defined() ? correct.sizes() : at::IntArrayRef(),
              "; expected float64 ", each.sizes());
  TORCH_CHECK(step.dim() == 1 && step.size(0) > 0 && step.scalar_type() == at::kLong, "accounting of step ",
              step.sizes(), " of ", step.scalar_type(), "; expected int64, the step first");
  TORCH_CHECK(each.device() == state.device() && step.device() == state.device() &&
                  (!correct.defined() || correct.device() == state.device()),
              "accounting on ", state.device(), " of losses on ", each.device(), " and the step on ", step.device());
  account(each.detach(), correct, examples, step, state);
}

// The Euclidean norm [E] of each member's gradient [E,P].
at::Tensor member_norm(const at::Tensor& g) {
  TORCH_CHECK(g.dim() == 2, "the norm of each member of ", g.sizes(), "; expected [E,P]");
  return g.to(at::kDouble).square().sum(1).sqrt();
}

const Operators optimizer_rows{
    OPERATION("Adam", adam(o[0], o[1], o[2], o[3], o[4], o.number(0), o.number(1), o.number(2), o.flag(0))),
    OPERATION("SGD", sgd(o[0], o[1], o[2])),
    OPERATION("Account", check_and_account(o[0], o.optional(1), o.number(0), o[2], o[3])),
    OPERATOR("MemberNorm", member_norm(o[0])),
};

}  // namespace
