// gradients.cc: gradient buffers that need not be filled with zeros before each step.
//
// On a GPU most gradients are written as a whole by one kernel or product, which then need not read
// the buffer nor anybody fill it. tp_zero_gradients only notes which buffers count as empty. The
// first that has a gradient for one writes it (write_target), or fills it with zeros and adds
// (grad_target, and autograd's own accumulation); what nothing reached is filled before it is read.
#include <unordered_set>

#include "gpu.h"

using namespace torchpe;

namespace {

class Empty {
 public:
  static Empty& instance() {
    static Empty* e = new Empty();  // as the handles: never destroyed
    return *e;
  }
  // By address: leaves over the same columns share a buffer.
  void add(const at::Tensor& gradient) {
    std::lock_guard<std::mutex> lock(mutex_);
    all_.insert(gradient.data_ptr());
  }
  bool take(const at::Tensor& gradient) {
    std::lock_guard<std::mutex> lock(mutex_);
    return !all_.empty() && all_.erase(gradient.data_ptr()) > 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const void*> all_;
};

// Calls f with the gradient of each of the leaves, all but those of no numbers.
template <typename F>
void each_gradient(const tp_tensor* leaves, int64_t n, const F& f) {
  for (int64_t i = 0; i < n; i++) {
    const auto leaf = get(leaves[i]);
    TORCH_CHECK(leaf.is_leaf() && leaf.grad().defined(), "a tensor without a gradient buffer");
    if (leaf.numel() > 0) f(leaf.grad());
  }
}

}  // namespace

namespace torchpe {

bool take_empty(const at::Tensor& w) { return Empty::instance().take(w.grad()); }

void fill_before_accumulation(const at::Tensor& leaf) {
  const auto gradient = leaf.grad();
  leaf.register_hook([gradient](const at::Tensor& g) {
    if (g.defined() && Empty::instance().take(gradient)) {
      at::NoGradGuard off;
      gradient.zero_();
    }
    return at::Tensor();  // g as it is
  });
}

}  // namespace torchpe

extern "C" {

char* tp_zero_gradients(tp_tensor buffer, const tp_tensor* leaves, int64_t n) {
  return act([&] {
    at::NoGradGuard off;
    const auto all = get(buffer);
    const bool counts = use_kernels(all);
    each_gradient(leaves, n, [&](const at::Tensor& g) {
      if (counts) Empty::instance().add(g);
    });
    if (!counts) all.zero_();
  });
}

char* tp_settle_gradients(const tp_tensor* leaves, int64_t n) {
  return act([&] {
    each_gradient(leaves, n, [](at::Tensor g) {
      if (Empty::instance().take(g)) g.zero_();
    });
  });
}

}  // extern "C"
