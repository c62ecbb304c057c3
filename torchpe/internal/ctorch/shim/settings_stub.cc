// settings_stub.cc: optimizer settings and dropout draws that lie in tensors, for the CPU.
#include "fused.h"
using namespace torchpe;
extern "C" {
char* tp_adam_settings_(tp_tensor p, tp_tensor g, tp_tensor m, tp_tensor v, tp_tensor settings, double beta1, double beta2, double eps, int decoupled) {
  return act([&] {
    at::NoGradGuard off;
    auto s = get(settings).to(at::kCPU);
    auto P = get(p), G = get(g), M = get(m), V = get(v);
    const double* d = s.data_ptr<double>();
    for (int64_t e = 0; e < P.size(0); e++, d += 6) {
      if (d[3] == 0) continue;
      AdamStep a = {d[0], d[1], d[2], beta1, beta2, eps, d[4], d[5], decoupled != 0};
      auto pe = P[e], ge = G[e], me = M[e], ve = V[e];
      TORCHPE_DISPATCH(pe, [&] { at::parallel_for(0, pe.numel(), 1 << 15, [&](int64_t x, int64_t y) {
        kernels<T>().adam(y - x, pe.data_ptr<T>() + x, ge.data_ptr<T>() + x, me.data_ptr<T>() + x, ve.data_ptr<T>() + x, a); }); });
    }
  });
}
char* tp_sgd_settings_(tp_tensor p, tp_tensor g, tp_tensor settings) {
  return act([&] {
    at::NoGradGuard off;
    auto s = get(settings).to(at::kCPU);
    auto P = get(p), G = get(g);
    const double* d = s.data_ptr<double>();
    for (int64_t e = 0; e < P.size(0); e++, d += 6) {
      if (d[3] == 0) continue;
      auto pe = P[e];
      if (d[1] != 0) pe.sub_((G[e] * d[2]).add_(pe, d[1]), d[0]);
      else pe.sub_(G[e], d[0] * d[2]);
    }
  });
}
tp_result tp_dropout_drawn(tp_tensor x, double p, tp_tensor draws, uint64_t call, int grad) {
  auto d = get(draws).to(at::kCPU);
  const int64_t* v = d.data_ptr<int64_t>();
  return tp_dropout(x, p, reinterpret_cast<const uint64_t*>(v + 1), d.numel() - 1, uint64_t(v[0]), call, grad);
}
}
extern "C" {
static int precision_now = 0;
void tp_set_precision(int p) { precision_now = p; }
int tp_precision(void) { return precision_now; }
}
