// The decoded form of kernels and the state of the machine that executes them.
#pragma once

#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "ptx.h"

namespace ptx {

constexpr int kLanes = 32;
constexpr uint32_t kAll = ~0u;

enum class Type : uint8_t {
  kNone, kPred, kB8, kB16, kB32, kB64, kB128, kU8, kU16, kU32, kU64, kS8, kS16, kS32, kS64, kF16, kBf16, kF16x2, kBf16x2, kTf32, kF32, kF64
};
size_t size_of(Type type);
Type type_named(std::string_view name);  // kNone if it is not the name of a type

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam };

struct Instr;
struct Warp;
using Handler = void (*)(Warp&, const Instr&);

// Operands are numbers of registers where not negative, and of constants otherwise.
struct Instr {
  Handler run = nullptr;    // what the machine calls: inner, or a wrapper that sets the rounding mode
  Handler inner = nullptr;  // the operation
  int32_t d = 0, a = 0, b = 0, c = 0;
  uint32_t list = 0;    // the first of n operands in Kernel::pool
  uint32_t target = 0;  // where a branch or call goes
  uint16_t n = 0;
  uint8_t mode = 0, flags = 0;  // meaning depends on the operation
  bool is_branch = false, narrow_address = false;
  int rounding = 0;
  int64_t imm = 0;  // an address's offset, or another constant
  std::string_view text;
};

struct Variable {
  Space space = Space::kGlobal;
  size_t offset = 0, size = 0, align = 1;
  bool is_extern = false;
};

// A function or entry as it stands in the text.
struct Routine {
  std::string name;
  bool is_entry = false, has_body = false, has_result = false;
  std::string_view result, parameters, body;
};

class Module {
 public:
  std::string text;
  std::vector<std::unique_ptr<Routine>> routines;
  std::unordered_map<std::string_view, Routine*> by_name;
  std::unordered_map<std::string, Variable> variables;
  std::vector<uint64_t> memory;  // of the module's global and constant variables
  uint8_t* base() { return reinterpret_cast<uint8_t*>(memory.data()); }
};

// A routine as part of a kernel. Its parameters lie in each thread's local memory.
struct Function {
  const Routine* routine = nullptr;
  bool complete = false;
  uint32_t start = 0;
  int32_t return_to = 0;  // the register that holds the lanes' return addresses
  std::vector<Param> params;
  Param result{0, 0};
  std::vector<Instr> code;
};

enum class Special : uint8_t {
  kTidX, kTidY, kTidZ, kNtidX, kNtidY, kNtidZ, kCtaidX, kCtaidY, kCtaidZ, kNctaidX, kNctaidY, kNctaidZ, kLaneid, kWarpid, kNwarpid,
  kSmid, kNsmid, kMaskEq, kMaskLe, kMaskLt, kMaskGe, kMaskGt, kDynamicShared, kTotalShared, kZero, kOne
};

class Kernel {
 public:
  std::shared_ptr<Module> module;
  std::string name;
  std::vector<Instr> code;
  std::vector<int32_t> pool;
  std::vector<uint64_t> constants;  // 32 copies of each, the first constant last
  std::vector<std::pair<Special, int32_t>> specials;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Param> params;
  size_t param_size = 0, shared_size = 0, local_size = 0;
  int32_t registers = 0;
  uint32_t start = 0;
};

struct Block {
  const Kernel* kernel = nullptr;
  uint8_t* shared = nullptr;
  size_t shared_size = 0;
  uint8_t* local = nullptr;
  size_t local_size = 0;
  size_t local_total = 0;
  const uint8_t* params = nullptr;
  Dim grid, size, index;
  uint32_t arrived[16] = {};  // threads that passed each barrier with arrive
};

// Lanes that stand at the same pc, the smallest of all, are executed together until they reach another lane's pc.
struct Warp {
  uint64_t* registers = nullptr;
  const uint64_t* constants = nullptr;
  uint32_t active = 0;     // the lanes being executed
  uint32_t pc = 0;         // their next instruction
  uint32_t limit = 0;      // the smallest pc of the other lanes
  uint32_t live = 0;       // lanes that have not exited
  uint32_t waiting = 0;    // lanes that wait for others of their warp
  uint32_t at_barrier = 0;  // lanes that wait for the block
  uint32_t lane_pc[kLanes];
  uint8_t barrier[kLanes];
  Block* block = nullptr;
  uint8_t* local = nullptr;
  uint32_t index = 0;
  uint64_t count = 0;

  const uint64_t* in(int32_t operand) const { return (operand < 0 ? constants : registers) + int64_t{operand} * kLanes; }
  uint64_t* out(int32_t operand) const { return registers + int64_t{operand} * kLanes; }
};

[[noreturn]] void fail(const Warp& warp, const Instr& instr, const std::string& what, int lane = -1);
void schedule(Warp& warp);
void save_pcs(Warp& warp, uint32_t pc);

// Calls f for each active lane.
template <class F>
inline void each(const Warp& warp, F f) {
  if (warp.active == kAll) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; lane++) f(lane);
  } else {
    for (uint32_t rest = warp.active; rest; rest &= rest - 1) f(__builtin_ctz(rest));
  }
}

// Bit i is lane i's predicate, for the active lanes.
inline uint32_t lanes_where(const Warp& warp, const uint64_t* predicate, bool negated) {
  uint32_t mask = 0;
  for (int lane = 0; lane < kLanes; lane++) mask |= uint32_t(predicate[lane] & 1) << lane;
  return (negated ? ~mask : mask) & warp.active;
}

// ---- What the decoder hands to the parts that know the instructions.

struct Operand {
  enum Kind : uint8_t { kValue, kAddress, kVector, kName } kind = kValue;
  bool negated = false, narrow = false;  // narrow: a 32-bit register or a predicate
  bool local = false, kernel_param = false;
  int32_t slot = 0, second = -1;  // second: q of p|q
  int64_t offset = 0;
  std::vector<int32_t> elements;
  std::string_view name;
};

struct Opcode {
  std::string_view full, name;
  std::vector<std::string_view> parts;  // after the name, without types
  std::vector<Type> types;
  bool has(std::string_view part) const {
    for (auto p : parts)
      if (p == part) return true;
    return false;
  }
  Type type(size_t i = 0) const { return i < types.size() ? types[i] : Type::kNone; }
};

struct Selection {
  Opcode op;
  std::vector<Operand> operands;
  Instr instr;
  Kernel* kernel = nullptr;
  int32_t carry = 0;  // the register of the carry flags
  int32_t append(const std::vector<int32_t>& list) {
    int32_t first = int32_t(kernel->pool.size());
    kernel->pool.insert(kernel->pool.end(), list.begin(), list.end());
    return first;
  }
};

// Each fills in the instruction and returns true if it knows it.
bool select_integer(Selection& s);
bool select_float(Selection& s);
bool select_compare(Selection& s);
bool select_convert(Selection& s);
bool select_memory(Selection& s);
bool select_warp(Selection& s);
bool select_matrix(Selection& s);

// Control flow, in run.cc.
void branch_always(Warp&, const Instr&);
void branch_if(Warp&, const Instr&);
void branch_indexed(Warp&, const Instr&);
void call_function(Warp&, const Instr&);
void call_indirect(Warp&, const Instr&);
void copy_result(Warp&, const Instr&);
void copy_param(Warp&, const Instr&);
void return_from_function(Warp&, const Instr&);
void exit_threads(Warp&, const Instr&);
void rounded_inner(Warp&, const Instr&);
void unknown_instr(Warp&, const Instr&);
void unknown_call(Warp&, const Instr&);
void assert_fail(Warp&, const Instr&);
void return_zero(Warp&, const Instr&);
void trap(Warp&, const Instr&);
void nothing(Warp&, const Instr&);

}  // namespace ptx
