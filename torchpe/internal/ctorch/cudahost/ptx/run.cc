// The machine: control flow of warps, barriers of blocks, and the launch of a grid.
#include <cfenv>
#include <cstdlib>
#include <mutex>

#include "machine.h"

namespace ptx {
namespace {

std::string describe(Dim d) { return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")"; }

Dim thread_of(const Warp& w, int lane) {
  const Dim size = w.block->size;
  const uint32_t n = w.index * kLanes + uint32_t(lane);
  return {n % size.x, n / size.x % size.y, n / size.x / size.y};
}

}  // namespace

void fail(const Warp& w, const Instr& in, const std::string& what, int lane) {
  const Kernel& kernel = *w.block->kernel;
  const std::string& text = kernel.module->text;
  if (lane < 0) lane = w.active ? __builtin_ctz(w.active) : 0;
  std::string message = "kernel " + kernel.name + ": " + what + "; block " + describe(w.block->index) + ", thread " +
      describe(thread_of(w, lane));
  if (!in.text.empty()) {
    size_t at = size_t(in.text.data() - text.data()), line = 1;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    message += "; line " + std::to_string(line) + ": " + std::string(in.text);
  }
  throw std::runtime_error(message);
}

void save_pcs(Warp& w, uint32_t pc) {
  for (uint32_t rest = w.active; rest; rest &= rest - 1) w.lane_pc[__builtin_ctz(rest)] = pc;
}

// Takes the lanes with the smallest pc among those that can go on.
void schedule(Warp& w) {
  const uint32_t present = w.live & ~w.at_barrier, runnable = present & ~w.waiting;
  w.active = 0;
  w.pc = w.limit = kAll;
  for (uint32_t rest = runnable; rest; rest &= rest - 1) w.pc = std::min(w.pc, w.lane_pc[__builtin_ctz(rest)]);
  if (!runnable) return;
  for (uint32_t rest = present; rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    if (w.lane_pc[lane] == w.pc) w.active |= 1u << lane;
    else if (runnable >> lane & 1) w.limit = std::min(w.limit, w.lane_pc[lane]);
  }
  w.waiting &= ~w.active;
}

void branch_always(Warp& w, const Instr& in) { w.pc = in.target; }

// mode: the branch is taken where the predicate is false.
void branch_if(Warp& w, const Instr& in) {
  const uint32_t taken = lanes_where(w, w.in(in.a), in.mode);
  if (!taken) return;
  if (taken == w.active) {
    w.pc = in.target;
    return;
  }
  save_pcs(w, w.pc);
  w.active = taken;
  save_pcs(w, in.target);
  schedule(w);
}

void branch_indexed(Warp& w, const Instr& in) {
  const int32_t* targets = &w.block->kernel->pool[in.list];
  const uint64_t* a = w.in(in.a);
  each(w, [&](int lane) {
    const uint32_t index = uint32_t(a[lane]);
    if (index >= in.n) fail(w, in, "branch index " + std::to_string(index) + " outside its table", lane);
    w.lane_pc[lane] = uint32_t(targets[index]);
  });
  schedule(w);
}

// a: the register for return addresses.
void call_function(Warp& w, const Instr& in) {
  uint64_t *back = w.out(in.a), pc = w.pc;
  each(w, [=](int i) { back[i] = pc; });
  w.pc = in.target;
}

namespace {

uint8_t* local_place(const Warp& w, int lane, size_t offset) { return w.local + size_t(lane) * w.block->local_size + offset; }

const Function& function_at(const Warp& w, const Instr& in, uint64_t address, int lane) {
  for (auto& function : w.block->kernel->functions)
    if (uint64_t(function->routine) == address && function->complete) return *function;
  fail(w, in, "call of an address that is not a function's", lane);
}

}  // namespace

// b: the function's address. The pool holds the offset of each argument.
void call_indirect(Warp& w, const Instr& in) {
  const uint64_t* address = w.in(in.b);
  const int32_t* arguments = &w.block->kernel->pool[in.list];
  each(w, [&](int lane) {
    const Function& function = function_at(w, in, address[lane], lane);
    if (function.params.size() != in.n) fail(w, in, "call with a wrong number of arguments", lane);
    for (size_t k = 0; k < in.n; k++)
      std::memcpy(local_place(w, lane, function.params[k].offset), local_place(w, lane, size_t(arguments[k])), function.params[k].size);
    w.out(function.return_to)[lane] = w.pc;
    w.lane_pc[lane] = function.start;
  });
  schedule(w);
}

// After an indirect call: d is the offset of the place for the result, n its size.
void copy_result(Warp& w, const Instr& in) {
  const uint64_t* address = w.in(in.b);
  each(w, [&](int lane) {
    const Function& function = function_at(w, in, address[lane], lane);
    std::memcpy(local_place(w, lane, size_t(in.imm)), local_place(w, lane, function.result.offset), std::min<size_t>(in.n,
        function.result.size));
  });
}

// Copies n bytes of local memory from offset b to offset d.
void copy_param(Warp& w, const Instr& in) {
  each(w, [&](int lane) { std::memcpy(local_place(w, lane, size_t(in.d)), local_place(w, lane, size_t(in.b)), in.n); });
}

void return_from_function(Warp& w, const Instr& in) {
  const uint64_t* back = w.in(in.a);
  each(w, [&](int lane) { w.lane_pc[lane] = uint32_t(back[lane]); });
  schedule(w);
}

void exit_threads(Warp& w, const Instr&) {
  w.live &= ~w.active;
  w.waiting = 0;
  schedule(w);
}

void rounded_inner(Warp& w, const Instr& in) {
  std::fesetround(in.rounding);
  in.inner(w, in);
  std::fesetround(FE_TONEAREST);
}

void unknown_instr(Warp& w, const Instr& in) { fail(w, in, "unknown instruction"); }
void unknown_call(Warp& w, const Instr& in) { fail(w, in, "call of a function that has no body, or that calls itself"); }
void trap(Warp& w, const Instr& in) { fail(w, in, "trap"); }
void nothing(Warp&, const Instr&) {}

// The pool holds the offsets of the arguments: message, file, line, function, size of a character.
void assert_fail(Warp& w, const Instr& in) {
  const int32_t* arguments = &w.block->kernel->pool[in.list];
  const int lane = __builtin_ctz(w.active);
  auto text = [&](int k) {
    const char* string;
    std::memcpy(&string, local_place(w, lane, size_t(arguments[k])), sizeof string);
    return std::string(string ? string : "(null)");
  };
  uint32_t line;
  std::memcpy(&line, local_place(w, lane, size_t(arguments[2])), sizeof line);
  fail(w, in, text(1) + ":" + std::to_string(line) + ": " + text(3) + ": Assertion `" + text(0) + "` failed", lane);
}

void return_zero(Warp& w, const Instr& in) {
  if (in.n) each(w, [&](int lane) { std::memset(local_place(w, lane, size_t(in.imm)), 0, in.n); });
}

namespace {

constexpr uint64_t kSlice = 1 << 20;  // instructions after which another warp has its turn

void run_warp(Warp& w, const Instr* code) {
  schedule(w);
  for (uint64_t left = kSlice; w.active; left--) {
    if (w.pc >= w.limit || left == 0) {
      save_pcs(w, w.pc);
      if (left == 0) return;
      schedule(w);
    }
    const Instr& in = code[w.pc++];
    w.count += w.active == kAll ? kLanes : uint32_t(__builtin_popcount(w.active));
    in.run(w, in);
  }
}

// Memory that is kept from launch to launch.
class Arena {
 public:
  ~Arena() { std::free(memory); }
  uint8_t* get(size_t bytes) {
    if (bytes > size) {
      std::free(memory);
      size = (bytes + bytes / 2 + 4095) / 4096 * 4096;
      memory = static_cast<uint8_t*>(std::aligned_alloc(4096, size));
      if (!memory) size = 0, throw std::bad_alloc();
    }
    return memory;
  }

 private:
  uint8_t* memory = nullptr;
  size_t size = 0;
};

class Launch {
 public:
  Launch(const Kernel& k, Dim grid, Dim size, size_t dynamic_shared, const void* const* args) : kernel(k), dynamic(dynamic_shared) {
    static Arena register_arena, shared_arena, local_arena;
    const uint64_t threads = uint64_t{size.x} * size.y * size.z;
    if (threads == 0 || threads > 1024 || !grid.x || !grid.y || !grid.z) throw std::runtime_error("kernel " + k.name +
        ": invalid launch");
    block.kernel = &kernel;
    block.grid = grid;
    block.size = size;
    count = size_t((threads + kLanes - 1) / kLanes);
    params.resize((kernel.param_size + 15) / 8);
    for (size_t i = 0; i < kernel.params.size(); i++)
      std::memcpy(reinterpret_cast<uint8_t*>(params.data()) + kernel.params[i].offset, args[i], kernel.params[i].size);
    block.params = reinterpret_cast<const uint8_t*>(params.data());
    block.shared_size = kernel.shared_size + dynamic_shared;
    block.shared = shared_arena.get(block.shared_size + 16);
    block.local_size = kernel.local_size;
    block.local_total = kernel.local_size * count * kLanes;
    block.local = local_arena.get(block.local_total + 16);
    std::memset(block.local, 0xFF, block.local_total);
    const size_t per_warp = size_t(kernel.registers) * kLanes;
    auto* registers = reinterpret_cast<uint64_t*>(register_arena.get(per_warp * count * 8 + 16));
    warps.resize(count);
    for (size_t i = 0; i < count; i++) {
      Warp& w = warps[i];
      w.registers = registers + per_warp * i;
      w.constants = kernel.constants.data() + kernel.constants.size();
      w.block = &block;
      w.local = block.local + kernel.local_size * kLanes * i;
      w.index = uint32_t(i);
      const uint64_t lanes = std::min<uint64_t>(kLanes, threads - i * kLanes);
      full.push_back(lanes == kLanes ? kAll : (1u << lanes) - 1);
      for (auto [special, slot] : kernel.specials) set_special(w, special, w.out(slot));
    }
  }

  ~Launch() {
  }

  void run_block(Dim index) {
    block.index = index;
    std::memset(block.shared, 0xFF, block.shared_size);
    for (size_t i = 0; i < count; i++) {
      Warp& w = warps[i];
      w.live = full[i];
      w.waiting = w.at_barrier = w.active = 0;
      for (auto& pc : w.lane_pc) pc = kernel.start;
      for (auto [special, slot] : kernel.specials)
        if (special >= Special::kCtaidX && special <= Special::kCtaidZ) set_special(w, special, w.out(slot));
    }
    std::memset(block.arrived, 0, sizeof block.arrived);
    for (bool forward = true; any_live(); forward = !forward) {
      bool progress = false;
      for (size_t k = 0; k < count; k++) {
        Warp& w = warps[forward ? k : count - 1 - k];
        if (!(w.live & ~w.at_barrier & ~w.waiting)) continue;
        run_warp(w, kernel.code.data());
        progress = true;
      }
      progress |= release_barriers();
      if (!progress && any_live()) report_deadlock();
    }
  }

 private:
  const Kernel& kernel;
  const size_t dynamic;
  size_t count = 0;
  Block block;
  std::vector<uint64_t> params;
  std::vector<Warp> warps;
  std::vector<uint32_t> full;

  bool any_live() const {
    for (auto& w : warps)
      if (w.live) return true;
    return false;
  }

  const Instr& instr_of(const Warp& w, int lane) const { return kernel.code[w.lane_pc[lane]]; }

  void report_deadlock() {
    for (auto& w : warps)
      if (w.live) {
        const int lane = __builtin_ctz(w.live);
        fail(w, instr_of(w, lane), "deadlock: threads wait at different barriers, or for lanes that do not come", lane);
      }
  }

  bool release_barriers() {
    uint32_t waiting_at[16] = {}, live = 0;
    const Warp* example[16] = {};
    for (auto& w : warps) {
      live += uint32_t(__builtin_popcount(w.live));
      for (uint32_t rest = w.at_barrier; rest; rest &= rest - 1) {
        const int id = w.barrier[__builtin_ctz(rest)];
        waiting_at[id]++;
        example[id] = &w;
      }
    }
    bool released = false;
    for (int id = 0; id < 16; id++) {
      if (!waiting_at[id]) continue;
      uint32_t expected = live;
      for (uint32_t rest = example[id]->at_barrier; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const Instr& in = instr_of(*example[id], lane);
        if (example[id]->barrier[lane] == id && in.flags) expected = uint32_t(example[id]->in(in.b)[lane]);
      }
      if (waiting_at[id] + block.arrived[id] < expected) continue;
      release(id);
      block.arrived[id] = 0;
      released = true;
    }
    return released;
  }

  template <class F>
  void at_barrier(int id, F f) {
    for (auto& w : warps)
      for (uint32_t rest = w.at_barrier; rest; rest &= rest - 1)
        if (const int lane = __builtin_ctz(rest); w.barrier[lane] == id) f(w, lane, instr_of(w, lane));
  }

  void release(int id) {
    uint32_t sum = 0, threads = 0;
    at_barrier(id, [&](Warp& w, int lane, const Instr& in) {
      threads++;
      if (in.mode) sum += uint32_t((w.in(in.c)[lane] & 1) ^ uint64_t(in.imm));
    });
    at_barrier(id, [&](Warp& w, int lane, const Instr& in) {
      if (in.mode) w.out(in.d)[lane] = in.mode == 1 ? sum == threads : in.mode == 2 ? sum > 0 : sum;
      w.lane_pc[lane]++;
      w.at_barrier &= ~(1u << lane);
    });
  }

  uint64_t special_value(const Warp& w, Special special, int lane) const {
    const uint32_t bit = 1u << lane;
    switch (special) {
      case Special::kTidX: return thread_of(w, lane).x;
      case Special::kTidY: return thread_of(w, lane).y;
      case Special::kTidZ: return thread_of(w, lane).z;
      case Special::kNtidX: return block.size.x;
      case Special::kNtidY: return block.size.y;
      case Special::kNtidZ: return block.size.z;
      case Special::kCtaidX: return block.index.x;
      case Special::kCtaidY: return block.index.y;
      case Special::kCtaidZ: return block.index.z;
      case Special::kNctaidX: return block.grid.x;
      case Special::kNctaidY: return block.grid.y;
      case Special::kNctaidZ: return block.grid.z;
      case Special::kLaneid: return uint64_t(lane);
      case Special::kWarpid: return w.index;
      case Special::kNwarpid: return 64;
      case Special::kSmid: case Special::kZero: return 0;
      case Special::kNsmid: case Special::kOne: return 1;
      case Special::kMaskEq: return bit;
      case Special::kMaskLt: return bit - 1;
      case Special::kMaskLe: return (bit - 1) | bit;
      case Special::kMaskGt: return ~((bit - 1) | bit);
      case Special::kMaskGe: return ~(bit - 1);
      case Special::kDynamicShared: return dynamic;
      case Special::kTotalShared: return block.shared_size;
    }
    return 0;
  }

  void set_special(const Warp& w, Special special, uint64_t* out) const {
    for (int lane = 0; lane < kLanes; lane++) out[lane] = uint64_t(special_value(w, special, lane));
  }
};

}  // namespace


void run(const Kernel& kernel, Dim grid, Dim block, size_t dynamic_shared, const void* const* args) {
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  struct Nearest {
    int before = std::fegetround();
    Nearest() { std::fesetround(FE_TONEAREST); }
    ~Nearest() { std::fesetround(before); }
  } nearest;
  Launch launch(kernel, grid, block, dynamic_shared, args);
  for (uint32_t z = 0; z < grid.z; z++)
    for (uint32_t y = 0; y < grid.y; y++)
      for (uint32_t x = 0; x < grid.x; x++) launch.run_block({x, y, z});
}

}  // namespace ptx
