// handles.h: tensors by handle, and conversion of exceptions to text.
#pragma once
#include <torch/cuda.h>
#include <torch/version.h>

#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "shim.h"
#include "tensors.h"

namespace torchpe {

// Handles holds every tensor the Go side knows. A handle is slot | generation << 32; a slot's
// generation moves on when it is freed, so that an old handle never names a newer tensor.
class Handles {
 public:
  static Handles& instance();
  void put(at::ArrayRef<at::Tensor> ts, tp_tensor* out);  // all, or none and throws
  at::Tensor get(tp_tensor h);           // throws on a closed or unknown handle
  at::Tensor get_or_none(tp_tensor h);   // 0 gives an undefined tensor
  // keep puts beside an open tensor what operators may read in place of it: the same numbers in
  // another type. beside returns that; an undefined tensor where there is none, or the tensor has
  // changed since.
  void keep(tp_tensor h, const at::Tensor& same);
  at::Tensor beside(tp_tensor h);
  void release(const tp_tensor* hs, int64_t n);  // all, then throws if one was not open
  int64_t live();

 private:
  struct Slot {
    at::Tensor tensor, same;
    int64_t version = 0;  // of tensor when `same` was made
    uint32_t generation = 1;
    uint32_t next = 0;  // of the free slots, in a free one
    bool open = false;
  };
  Slot* find(tp_tensor h);
  std::mutex mutex_;
  std::vector<Slot> slots_;
  uint32_t free_ = 0;  // the first free slot, where there is one
  int64_t live_ = 0;
};

inline at::Tensor get(tp_tensor h) { return Handles::instance().get(h); }
inline at::Tensor get_or_none(tp_tensor h) { return Handles::instance().get_or_none(h); }

char* text(const char* s) noexcept;  // a copy for the caller; never NULL
char* current_exception_text() noexcept;

// Call readies the calling thread for libtorch, as Go moves its goroutines from thread to thread: it gives
// it the number of threads that tp_set_threads asked for, and the nodes of autograd's graph that it makes
// later numbers than any made before. Of these each thread has a counter of its own, and gradients are
// added in their order.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
};

// op runs f in the given grad mode and gives its tensor a handle.
template <class F>
tp_result op(int grad, F&& f) noexcept {
  try {
    const Call call;
    at::AutoGradMode mode(grad != 0);
    const at::Tensor t = f();
    tp_result r = {0, nullptr};
    Handles::instance().put(t, &r.tensor);
    return r;
  } catch (...) {
    return {0, current_exception_text()};
  }
}

// act runs f, which returns nothing, and gives its error as text.
template <class F>
char* act(F&& f) noexcept {
  try {
    const Call call;
    f();
    return nullptr;
  } catch (...) {
    return current_exception_text();
  }
}

// told returns the text that f makes, or its error.
template <class F>
char* told(F&& f) noexcept {
  try {
    return text(std::string(f()).c_str());
  } catch (...) {
    return current_exception_text();
  }
}

inline at::IntArrayRef dims(const int64_t* d, int n) {
  TORCH_CHECK(n >= 0 && n <= TP_MAX_RANK, "rank ", n, " is not in 0..", int(TP_MAX_RANK));
  return at::IntArrayRef(d, size_t(n));
}

at::ScalarType scalar_type(int dtype);
at::Device device(int number);

}  // namespace torchpe
