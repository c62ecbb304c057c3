// cuda_emulate.h: CUDA's kernel language for a C++ compiler. Blocks run one after another; a block's
// threads are fibers that run one at a time until they wait for each other. It is for tests, so it is
// strict where a GPU is not:
//   * shared memory starts as NaN, has exactly the size that the launch asked for
//     (AddressSanitizer sees what lies beyond), and is at most the 48 KiB that every GPU gives
//     without asking;
//   * a barrier that a thread has left behind, or a shuffle without its whole warp, throws
//     std::runtime_error;
//   * the order of threads changes from pass to pass, so that a missing barrier shows in results.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define __global__ static
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace torchpe {
namespace emulated {

struct dim3 {
  dim3(uint64_t x = 1, uint64_t y = 1, uint64_t z = 1) : x(unsigned(x)), y(unsigned(y)), z(unsigned(z)) {}
  unsigned x, y, z;
};

// Of the thread that runs. One launch runs at a time.
static dim3 threadIdx, blockIdx, blockDim, gridDim;

#if defined(__x86_64__)
// Keeps the registers that a function must keep on the stack, the stack's address in *from, and
// goes on at `to`. The system's swapcontext does a system call each time, which takes a hundred
// times as long.
extern "C" void torchpe_switch_fiber(void** from, void* to);
asm(R"(
.text
.hidden torchpe_switch_fiber
.globl torchpe_switch_fiber
.type torchpe_switch_fiber, @function
torchpe_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size torchpe_switch_fiber, .-torchpe_switch_fiber
)");

struct Context {
  void* stack = nullptr;
  void start(char* top, void (*entry)()) {  // top is a multiple of 16; entry never returns
    auto* s = reinterpret_cast<uint64_t*>(top);
    *--s = 0;  // where a return address would be
    *--s = reinterpret_cast<uint64_t>(entry);
    for (int i = 0; i < 6; i++) *--s = 0;
    stack = s;
  }
  static void change(Context& from, Context& to) { torchpe_switch_fiber(&from.stack, to.stack); }
};
#else
struct Context {
  ucontext_t context;
  void start(char* top, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = top - (64 << 10);
    context.uc_stack.ss_size = 64 << 10;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  static void change(Context& from, Context& to) { swapcontext(&from.context, &to.context); }
};
#endif

class Machine {
 public:
  static Machine& instance() {
    static Machine m;
    return m;
  }

  void launch(dim3 grid, dim3 block, size_t shared, const std::function<void()>& body) {
    static std::mutex one;
    std::lock_guard<std::mutex> lock(one);
    const int n = int(block.x * block.y * block.z);
    if (n < 1 || n > 1024 || grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > 65535 || grid.z > 65535)
      throw std::runtime_error("emulated launch: a block of " + std::to_string(n) +
                               " threads, or a grid, that no GPU takes");
    if (shared > SHARED_MOST)
      throw std::runtime_error("emulated launch: " + std::to_string(shared) + " bytes of shared memory");
    while (fibers_.size() < size_t(n)) fibers_.push_back(std::make_unique<Fiber>());
    threads_ = n;
    body_ = &body;
    blockDim = block;
    gridDim = grid;
    std::unique_ptr<char, void (*)(void*)> memory(static_cast<char*>(std::malloc(shared + 1)), std::free);
    shared_ = memory.get();
    for (unsigned z = 0; z < grid.z; z++)
      for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
          blockIdx = dim3(x, y, z);
          std::memset(shared_, 0xFF, shared);
          run_block();
        }
  }

  void* shared() { return shared_; }
  void sync_threads() { wait(State::at_block); }

  // The value that lane (own lane ^ mask) of the warp has.
  template <typename T>
  T shuffle_xor(T value, int mask) {
    static_assert(sizeof(T) <= 8, "a shuffled value");
    Fiber& f = *fibers_[size_t(current_)];
    f.turn ^= 1;  // two places in turn: a lane may be at the next shuffle before another has read
    const int turn = f.turn, other = current_ / 32 * 32 + ((current_ % 32) ^ mask);
    std::memcpy(&f.value[turn], &value, sizeof(T));
    wait(State::at_warp);
    std::memcpy(&value, &fibers_[size_t(other)]->value[turn], sizeof(T));
    return value;
  }

 private:
  static constexpr size_t SHARED_MOST = 48 << 10, STACK = 64 << 10;
  enum class State { ready, at_warp, at_block, done };
  struct Fiber {
    Fiber() : memory(new char[STACK + 16]) {
      char* top = memory.get() + STACK + 16;
      context.start(top - reinterpret_cast<uintptr_t>(top) % 16, entry);
    }
    std::unique_ptr<char[]> memory;
    Context context;
    State state = State::ready;
    uint64_t value[2] = {};
    int turn = 0;
  };

  // A fiber runs the body of block after block.
  static void entry() {
    Machine& m = instance();
    for (;;) {
      (*m.body_)();
      m.wait(State::done);
    }
  }

  void wait(State s) {
    Fiber& f = *fibers_[size_t(current_)];
    f.state = s;
    Context::change(f.context, main_);
  }

  void resume(int thread) {
    current_ = thread;
    const unsigned t = unsigned(thread);
    threadIdx = dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
    Context::change(main_, fibers_[size_t(thread)]->context);
  }

  bool all(int begin, int end, State s) const {
    for (int t = begin; t < end; t++)
      if (fibers_[size_t(t)]->state != s) return false;
    return true;
  }
  void set(int begin, int end, State s) {
    for (int t = begin; t < end; t++) fibers_[size_t(t)]->state = s;
  }

  // Runs the ready threads of a warp until all wait for other warps or have ended.
  bool run_warp(int begin, int end) {
    bool any = false;
    for (bool ran = true; ran;) {
      ran = false;
      const bool backward = pass_++ % 2 == 1;
      for (int i = begin; i < end; i++) {
        const int t = backward ? begin + end - 1 - i : i;
        if (fibers_[size_t(t)]->state != State::ready) continue;
        resume(t);
        ran = any = true;
      }
      if (all(begin, end, State::at_warp) && end - begin == 32) {
        set(begin, end, State::ready);
        ran = true;
      }
    }
    return any;
  }

  void run_block() {
    set(0, threads_, State::ready);
    while (!all(0, threads_, State::done)) {
      bool any = false;
      const int warps = (threads_ + 31) / 32;
      const bool backward = pass_++ % 2 == 1;
      for (int i = 0; i < warps; i++) {
        const int w = backward ? warps - 1 - i : i;
        any = run_warp(w * 32, std::min(threads_, w * 32 + 32)) || any;
      }
      if (all(0, threads_, State::at_block))
        set(0, threads_, State::ready);
      else if (!any) {
        fibers_.clear();
        throw std::runtime_error("emulated kernel: threads wait for others that do not come");
      }
    }
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  Context main_;
  const std::function<void()>* body_ = nullptr;
  char* shared_ = nullptr;
  int threads_ = 0, current_ = 0;
  uint64_t pass_ = 0;
};

inline void __syncthreads() { Machine::instance().sync_threads(); }
template <typename T>
inline T __shfl_xor_sync(unsigned, T value, int mask) {
  return Machine::instance().shuffle_xor(value, mask);
}

template <typename... P, typename... A>
void launch(GpuStream, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
  Machine::instance().launch(grid, block, shared, [&] { kernel(static_cast<P>(args)...); });
}

}  // namespace emulated
}  // namespace torchpe
