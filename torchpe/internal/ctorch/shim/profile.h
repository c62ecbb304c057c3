// profile.h: where the time of the fused operators goes, and what they compute and move, for `torchpe
// bench step`. Off, each costs one load.
#pragma once
#include "tensors.h"
#include <ATen/Parallel.h>

#include <atomic>
#include <chrono>

namespace torchpe {

enum ProfilePart {
  PROFILE_PRODUCT,
  PROFILE_BIAS_GELU,
  PROFILE_ATTENTION,
  PROFILE_NORM,
  PROFILE_OPTIMIZER,
  PROFILE_PARTS
};

struct Profile {
  std::atomic<bool> on{false};
  std::atomic<int64_t> ns[PROFILE_PARTS] = {}, operations[PROFILE_PARTS] = {}, bytes[PROFILE_PARTS] = {};
  static Profile& instance() {
    static Profile p;
    return p;
  }
};

// count_work adds the operations of products, two a multiplication, and `numbers` of type T that are read
// from memory or written to it rather than found in a cache.
template <typename T>
void count_work(ProfilePart part, int64_t operations, int64_t numbers) {
  auto& p = Profile::instance();
  if (!p.on.load(std::memory_order_relaxed)) return;
  p.operations[part] += operations;
  p.bytes[part] += numbers * int64_t(sizeof(T));
}

// count_moved notes, after tp_count_moved(1), a run of a GPU's kernel of that name, or of a product,
// that reads or writes each of these tensors once. Undefined ones are none.
void count_moved(const char* kernel, std::initializer_list<at::Tensor> tensors);

// Timer adds the time of its scope to a part; inside a parallel loop a thread's share of it.
class Timer {
 public:
  explicit Timer(ProfilePart part) : part_(part), on_(Profile::instance().on.load(std::memory_order_relaxed)) {
    if (on_) start_ = std::chrono::steady_clock::now();
  }
  ~Timer() {
    if (!on_) return;
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_);
    Profile::instance().ns[part_] += took.count() / (at::in_parallel_region() ? at::get_num_threads() : 1);
  }

 private:
  ProfilePart part_;
  bool on_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace torchpe
