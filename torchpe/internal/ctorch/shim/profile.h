// profile.h: where the time of the fused operators goes, for `torchpe bench step --profile`. Off, a
// timer costs one load.
#pragma once
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
  std::atomic<int64_t> ns[PROFILE_PARTS] = {};
  static Profile& instance() {
    static Profile p;
    return p;
  }
};

// Timer adds the time of its scope to a part.
class Timer {
 public:
  explicit Timer(ProfilePart part) : part_(part), on_(Profile::instance().on.load(std::memory_order_relaxed)) {
    if (on_) start_ = std::chrono::steady_clock::now();
  }
  ~Timer() {
    if (on_)
      Profile::instance().ns[part_] +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  ProfilePart part_;
  bool on_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace torchpe
