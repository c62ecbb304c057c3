#include "handles.h"

#include <c10/util/Logging.h>

#include <array>
#include <cstdlib>

namespace torchpe {

namespace {

// No error shows its backtrace, and naming its functions took 5 ms an error.
__attribute__((constructor)) void no_backtraces() {
  c10::SetStackTraceFetcher([] { return std::string(); });
}

}  // namespace

Handles& Handles::instance() {
  static Handles* h = new Handles();  // never destroyed: tensors may outlive static destructors
  return *h;
}

void Handles::put(at::ArrayRef<at::Tensor> ts, tp_tensor* out) {
  for (const auto& t : ts) {
    TORCH_CHECK(t.defined(), "the result is no tensor");
    TORCH_CHECK(t.dim() <= TP_MAX_RANK, "a result of rank ", t.dim(), "; at most ", int(TP_MAX_RANK),
                " axes are supported");
  }
  std::lock_guard<std::mutex> lock(mutex_);
  while (slots_.size() - size_t(live_) < ts.size()) {  // may throw: before anything is put
    slots_.emplace_back();
    slots_.back().next = free_;
    free_ = uint32_t(slots_.size() - 1);
  }
  for (const auto& t : ts) {
    const uint32_t i = free_;
    Slot& s = slots_[i];
    free_ = s.next;
    s.tensor = t;
    s.open = true;
    live_++;
    *out++ = (uint64_t(s.generation) << 32) | i;
  }
}

Handles::Slot* Handles::find(tp_tensor h) {
  const uint32_t i = uint32_t(h), generation = uint32_t(h >> 32);
  if (i >= slots_.size() || !slots_[i].open || slots_[i].generation != generation) return nullptr;
  return &slots_[i];
}

at::Tensor Handles::get(tp_tensor h) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Slot* s = find(h)) return s->tensor;
  }
  TORCH_CHECK(false, h == 0 ? "the tensor is the zero Tensor" : "the tensor is closed (its scope has ended)");
}

void Handles::keep(tp_tensor h, const at::Tensor& same) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* s = find(h);
  TORCH_INTERNAL_ASSERT(s);
  s->same = same;
  s->version = s->tensor._version();
}

at::Tensor Handles::beside(tp_tensor h) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* s = find(h);
  return s && s->same.defined() && s->version == s->tensor._version() ? s->same : at::Tensor();
}

at::Tensor Handles::get_or_none(tp_tensor h) { return h == 0 ? at::Tensor() : get(h); }

void Handles::release(const tp_tensor* hs, int64_t n) {
  int64_t bad = 0;
  for (int64_t i = 0; i < n;) {
    // destroyed after the lock is given back; asks for no memory
    std::array<std::pair<at::Tensor, at::Tensor>, 64> dead;
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto d = dead.begin(); d != dead.end() && i < n; i++) {
      Slot* s = find(hs[i]);
      if (!s) {
        bad++;
        continue;
      }
      *d++ = {std::move(s->tensor), std::move(s->same)};
      s->tensor = s->same = at::Tensor();
      s->open = false;
      s->generation++;
      s->next = free_;
      free_ = uint32_t(hs[i]);
      live_--;
    }
  }
  TORCH_CHECK(bad == 0, bad, " of ", n, " tensors were already closed");
}

int64_t Handles::live() {
  std::lock_guard<std::mutex> lock(mutex_);
  return live_;
}

namespace {
char no_memory[] = "out of memory";  // needs none itself
}

char* text(const char* s) noexcept {
  char* p = strdup(s);
  return p ? p : no_memory;
}

char* current_exception_text() noexcept {
  try {
    throw;
  } catch (const c10::Error& e) {
    return text(e.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::exception& e) {
    return text(e.what());
  } catch (...) {
    return text("an unknown C++ exception");
  }
}

at::ScalarType scalar_type(int dtype) {
  switch (dtype) {
    case TP_FLOAT32: return at::kFloat;
    case TP_FLOAT64: return at::kDouble;
    case TP_INT64: return at::kLong;
    case TP_BOOL: return at::kBool;
  }
  TORCH_CHECK(false, "unknown dtype number ", dtype);
}

at::Device device(int number) {
  if (number == TP_CPU) return at::Device(at::kCPU);
  const int index = number - 1;
  TORCH_CHECK(index >= 0 && index < 128, "unknown device number ", number);
  const int gpus = int(torch::cuda::device_count());
  TORCH_CHECK(index < gpus, "there is no device cuda:", index, "; libtorch finds ", gpus, " GPUs");
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index));
}

}  // namespace torchpe

using namespace torchpe;

extern "C" {

int tp_abi(void) { return TP_ABI; }

int64_t tp_live(void) { return Handles::instance().live(); }

char* tp_release(const tp_tensor* tensors, int64_t n) {
  return act([&] { Handles::instance().release(tensors, n); });
}

void tp_free_text(char* t) {
  if (t != no_memory) std::free(t);
}

}  // extern "C"
