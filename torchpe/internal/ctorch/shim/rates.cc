// rates.cc: what the machine can do, for `torchpe bench step`.
#include <chrono>
#include <cstring>

#include "fused.h"

using namespace torchpe;

namespace {

// Returns work per second of the fastest of `times` calls of f; all threads together do `work` in a call.
template <typename F>
double best_rate(int times, double work, const F& f) {
  double best = 0;
  for (int i = 0; i < times; i++) {
    const auto start = std::chrono::steady_clock::now();
    in_parallel(0, at::get_num_threads(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; thread++) f(thread);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, work * at::get_num_threads() / took.count());
  }
  return best;
}

// Operations a second of products of the size of a chunk in the model of the paper.
template <typename T>
double product_rate() {
  constexpr int64_t R = ROW_CHUNK, K = 160, C = 640, CALLS = 50;
  const auto& k = kernels<T>();
  const std::vector<T> a(size_t(R * K), T(1)), b(size_t(K * C), T(1));
  std::vector<T> memory(size_t(packed_size<T>(K, C)));
  const auto panels = k.pack(1 << 20, K, C, b.data(), C, 1, memory.data());
  std::vector<std::vector<T>> c(size_t(at::get_num_threads()), std::vector<T>(size_t(R * C)));
  return best_rate(20, double(2 * R * K * C * CALLS), [&](int64_t thread) {
    for (int64_t i = 0; i < CALLS; i++)
      k.product(R, K, C, a.data(), K, 1, panels, c[size_t(thread)].data(), C, false);
  });
}

// Bytes a second, read and written, of copies that are larger than a cache.
double copy_rate() {
  constexpr size_t BYTES = 32 << 20;
  std::vector<std::vector<char>> from(size_t(at::get_num_threads()), std::vector<char>(BYTES, 1)), to = from;
  return best_rate(8, 2.0 * BYTES,
                   [&](int64_t thread) { std::memcpy(to[size_t(thread)].data(), from[size_t(thread)].data(), BYTES); });
}

}  // namespace

extern "C" {

char* tp_machine_rates(int float64, double out[2]) {
  return act([&] {
    out[0] = float64 ? product_rate<double>() : product_rate<float>();
    out[1] = copy_rate();
  });
}

}  // extern "C"
