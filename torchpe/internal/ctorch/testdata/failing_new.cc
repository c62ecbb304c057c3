// failing_new.cc: operator new, and libtorch's allocator of tensors (posix_memalign), which fail at a
// chosen allocation, for a test that preloads them. TORCHPE_FAIL_NEW names a file of three int64, which
// the test maps too: 0 where none is to fail, 1 for one, 2 for that and all that follow, 3 for one of a
// tensor; allocations until it fails; how many have failed.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

struct Control {
  std::atomic<int64_t> mode, left, failed;
};

Control* control() {
  static Control* const mapped = [] {
    const char* path = std::getenv("TORCHPE_FAIL_NEW");
    const int file = path ? open(path, O_RDWR) : -1;
    void* p = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return p == MAP_FAILED ? nullptr : static_cast<Control*>(p);
  }();
  return mapped;
}

bool fails(bool tensor) {
  Control* c = control();
  const int64_t mode = c ? c->mode.load() : 0;
  if (mode == 0 || (mode == 3 && !tensor)) return false;
  const int64_t n = c->left--;
  const bool now = n == 1 || (mode == 2 && n < 1);
  if (now) c->failed++;
  return now;
}

void* allocated(size_t n, size_t alignment) {
  void* p = fails(false) ? nullptr : memalign(alignment, n ? n : 1);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

// The other forms of libstdc++ call these two.
void* operator new(size_t n) { return allocated(n, alignof(std::max_align_t)); }
void* operator new(size_t n, std::align_val_t alignment) { return allocated(n, size_t(alignment)); }

extern "C" int posix_memalign(void** out, size_t alignment, size_t n) {
  void* p = fails(true) ? nullptr : memalign(alignment, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
