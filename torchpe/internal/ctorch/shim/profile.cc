// profile.cc: what `torchpe bench step` says of the fused operators, and what the machine could do.
#include "profile.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "fused.h"

using namespace torchpe;

namespace {

// The rate of `times` calls of f at their fastest: work is what all threads do in a call.
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

struct Moved {
  static Moved& instance() {
    static Moved* m = new Moved();  // as the handles: never destroyed
    return *m;
  }
  std::atomic<bool> on{false};
  std::mutex mutex;
  std::map<std::string, std::pair<int64_t, int64_t>> of;  // calls and bytes
};

}  // namespace

namespace torchpe {

void count_moved(const char* kernel, std::initializer_list<at::Tensor> tensors) {
  auto& moved = Moved::instance();
  if (!moved.on.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(moved.mutex);
  auto& of = moved.of[kernel];
  of.first++;
  for (const auto& t : tensors)
    if (t.defined()) of.second += t.numel() * int64_t(t.element_size());
}

}  // namespace torchpe

extern "C" {

void tp_count_moved(int on) {
  auto& moved = Moved::instance();
  std::lock_guard<std::mutex> lock(moved.mutex);
  if (on) moved.of.clear();
  moved.on = on != 0;
}

char* tp_moved(void) {
  return told([] {
    auto& moved = Moved::instance();
    std::lock_guard<std::mutex> lock(moved.mutex);
    std::string lines;
    for (const auto& [name, n] : moved.of)
      lines += name + " " + std::to_string(n.first) + " " + std::to_string(n.second) + "\n";
    return lines;
  });
}

void tp_profile(int on) {
  auto& p = Profile::instance();
  p.on = on != 0;
  if (!on) return;
  for (auto* all : {&p.ns, &p.operations, &p.bytes})
    for (auto& part : *all) part = 0;
}

char* tp_profile_part(int part, int64_t out[3]) {
  return act([&] {
    TORCH_CHECK(part >= 0 && part < PROFILE_PARTS, "part ", part, " of a profile; 0 to ", PROFILE_PARTS - 1);
    const auto& p = Profile::instance();
    out[0] = p.ns[part];
    out[1] = p.operations[part];
    out[2] = p.bytes[part];
  });
}

char* tp_machine_rates(int float64, double out[2]) {
  return act([&] {
    out[0] = float64 ? product_rate<double>() : product_rate<float>();
    out[1] = copy_rate();
  });
}

}  // extern "C"
