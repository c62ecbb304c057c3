// optim.cc: optimizer steps over the flat parameter buffer [E,P], one call for all parameters.
#include "fused.h"
#include "profile.h"

using namespace torchpe;

namespace {

// dense_rows says that each row of t is: t may be some columns of a buffer.
bool dense_rows(const at::Tensor& t) { return t.size(1) <= 1 || t.stride(1) == 1; }

void check_buffers(const char* what, const at::Tensor& p, const at::Tensor& other) {
  TORCH_CHECK(p.dim() == 2 && p.sizes() == other.sizes() && dense_rows(p) && dense_rows(other), what, ": buffers ", p.sizes(), " and ",
              other.sizes(), "; expected [E,P] with dense rows");
  check_same(what, p, other);
}

void check_members(const char* what, const at::Tensor& p, const tp_members& m) {
  TORCH_CHECK(m.members == p.size(0) && m.lr && m.weight_decay && m.active, what, ": settings of ", m.members, " members for ", p.size(0));
}

void adam_member(const at::Tensor& p, const at::Tensor& g, const at::Tensor& m, const at::Tensor& v, const AdamStep& s) {
  Timer timer(PROFILE_OPTIMIZER);
  if (use_loops(p)) {
    TORCHPE_DISPATCH(p, [&] {
      at::parallel_for(0, p.numel(), 1 << 15, [&](int64_t a, int64_t b) {
        kernels<T>().adam(b - a, p.data_ptr<T>() + a, g.data_ptr<T>() + a, m.data_ptr<T>() + a, v.data_ptr<T>() + a, s);
      });
    });
    return;
  }
  if (s.decoupled) p.mul_(1 - s.lr * s.weight_decay);
  auto d = g * s.scale;
  if (!s.decoupled && s.weight_decay != 0) d.add_(p, s.weight_decay);
  m.mul_(s.beta1).add_(d, 1 - s.beta1);
  v.mul_(s.beta2).addcmul_(d, d, 1 - s.beta2);
  p.addcdiv_(m, v.sqrt().div_(s.correction2_root).add_(s.eps), -s.lr / s.correction1);
}

}  // namespace

extern "C" {

char* tp_adam_(tp_tensor hp, tp_tensor hg, tp_tensor hm, tp_tensor hv, tp_members members, double beta1, double beta2, double eps,
               int64_t step, int decoupled) {
  return act([&] {
    at::NoGradGuard off;
    auto p = get(hp), g = get(hg), m = get(hm), v = get(hv);
    for (auto* t : {&g, &m, &v}) check_buffers("Adam", p, *t);
    check_members("Adam", p, members);
    TORCH_CHECK(step >= 1, "Adam at step ", step, "; steps count from 1");
    for (int64_t e = 0; e < members.members; e++) {
      if (!members.active[e]) continue;
      AdamStep s = {members.lr[e], members.weight_decay[e], members.scale ? members.scale[e] : 1.0, beta1, beta2, eps,
                    1 - std::pow(beta1, double(step)), std::sqrt(1 - std::pow(beta2, double(step))), decoupled != 0};
      adam_member(p[e], g[e], m[e], v[e], s);
    }
  });
}

char* tp_sgd_(tp_tensor hp, tp_tensor hg, tp_members members) {
  return act([&] {
    at::NoGradGuard off;
    auto p = get(hp), g = get(hg);
    check_buffers("SGD", p, g);
    check_members("SGD", p, members);
    for (int64_t e = 0; e < members.members; e++) {
      if (!members.active[e]) continue;
      auto pe = p[e];
      const double scale = members.scale ? members.scale[e] : 1.0;
      if (members.weight_decay[e] != 0)
        pe.sub_((g[e] * scale).add_(pe, members.weight_decay[e]), members.lr[e]);
      else
        pe.sub_(g[e], members.lr[e] * scale);
    }
  });
}

tp_result tp_member_norm(tp_tensor hg, int grad) {
  return op(grad, [&] {
    auto g = get(hg);
    TORCH_CHECK(g.dim() == 2, "the norm of each member of ", g.sizes(), "; expected [E,P]");
    return g.to(at::kDouble).square().sum(1).sqrt();
  });
}

}  // extern "C"
