// gradients.cc: gradient buffers that need not be filled with zeros before each step.
//
// On a GPU most gradients are written completely by one kernel or product, so that the buffer need
// neither be read nor cleared. ZeroGradients only notes which buffers count as empty. The first
// operator with a gradient for such a buffer writes it (write_target), or fills it with zeros and
// adds (grad_target, and autograd's own accumulation). Buffers without a gradient are cleared
// before they are read.
#include <unordered_set>

#include "operands.h"

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
void each_gradient(at::ArrayRef<at::Tensor> leaves, const F& f) {
  for (const auto& leaf : leaves) {
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

namespace {

// Sets the gradients in the buffer of all these leaves to zero. On a GPU they only count as zero: whoever has
// the first gradient for one writes it.
void zero_gradients(const at::Tensor& buffer, at::ArrayRef<at::Tensor> leaves) {
  const at::NoGradGuard off;
  const bool counts = use_kernels(buffer);
  each_gradient(leaves, [&](const at::Tensor& g) {
    if (counts) Empty::instance().add(g);
  });
  if (!counts) buffer.zero_();
}

// Fills with zeros what no gradient has reached: to be called before the buffer is read, but by Grad.
void settle_gradients(at::ArrayRef<at::Tensor> leaves) {
  const at::NoGradGuard off;
  each_gradient(leaves, [](const at::Tensor& g) {
    if (Empty::instance().take(g)) g.zero_();
  });
}

const Operators gradient_rows{
    OPERATION("ZeroGradients", const auto ts = o.all(); zero_gradients(ts.at(0), at::ArrayRef<at::Tensor>(ts).slice(1))),
    OPERATION("SettleGradients", settle_gradients(o.all())),
};

}  // namespace
