// Loads, stores, atomic operations and asynchronous copies.
#include <cinttypes>
#include <cstdio>

#include "values.h"

namespace ptx {

bool (*valid_address)(uint64_t address, size_t bytes, bool write) = nullptr;

namespace {

[[noreturn]] void bad_address(const Warp& w, const Instr& in, int lane, uint64_t address, size_t bytes, const char* what) {
  char text[160];
  std::snprintf(text, sizeof text, "%s: address 0x%" PRIx64 ", %zu bytes", what, address, bytes);
  fail(w, in, text, lane);
}

inline uint64_t effective(const Instr& in, uint64_t base) {
  return (in.narrow_address ? uint64_t(uint32_t(base)) : base) + uint64_t(in.imm);
}

inline bool within(uint64_t address, size_t bytes, const void* base, size_t size) {
  uint64_t offset = address - uint64_t(base);
  return offset < size && bytes <= size - offset;
}

// Whether the range lies in memory that the machine itself owns.
bool own_memory(const Warp& w, uint64_t address, size_t bytes, bool write) {
  const Block& block = *w.block;
  Module& module = *block.kernel->module;
  return within(address, bytes, block.shared, block.shared_size) || within(address, bytes, block.local, block.local_total) ||
         within(address, bytes, module.base(), module.memory.size() * 8) ||
         (!write && within(address, bytes, block.params, block.kernel->param_size));
}

// Asks about all lanes' addresses, together where they lie close to each other.
void check_global(Warp& w, const Instr& in, const uint64_t* base, size_t bytes, bool write) {
  uint64_t low = ~uint64_t(0), high = 0, bits = 0;
  each(w, [&](int i) {
    uint64_t address = effective(in, base[i]);
    low = std::min(low, address);
    high = std::max(high, address);
    bits |= address;
  });
  if (bits & (bytes - 1)) {
    each(w, [&](int i) {
      uint64_t address = effective(in, base[i]);
      if (address & (bytes - 1)) bad_address(w, in, i, address, bytes, "misaligned access");
    });
  }
  if (low >= 4096 && !valid_address) return;
  if (low >= 4096 && high - low <= 64 * bytes &&
      (own_memory(w, low, high - low + bytes, write) || valid_address(low, high - low + bytes, write)))
    return;
  each(w, [&](int i) {
    uint64_t address = effective(in, base[i]);
    bool valid = address >= 4096 && (!valid_address || own_memory(w, address, bytes, write) || valid_address(address, bytes, write));
    if (!valid) bad_address(w, in, i, address, bytes, write ? "invalid write" : "invalid read");
  });
}

// The host address of a lane's access. Global addresses were checked before.
template <Space S>
inline uint8_t* place(const Warp& w, const Instr& in, uint64_t base, int lane, size_t bytes) {
  uint64_t address = effective(in, base);
  if (S == Space::kGlobal) return reinterpret_cast<uint8_t*>(address);
  const Block& block = *w.block;
  if (S == Space::kShared) address = uint32_t(address);
  const size_t size = S == Space::kShared ? block.shared_size : S == Space::kLocal ? block.local_size : block.kernel->param_size;
  if (address >= size || bytes > size - address) bad_address(w, in, lane, address, bytes, "access outside its memory");
  if (address & (bytes - 1)) bad_address(w, in, lane, address, bytes, "misaligned access");
  if (S == Space::kShared) return block.shared + address;
  if (S == Space::kLocal) return w.local + size_t(lane) * size + address;
  return const_cast<uint8_t*>(block.params) + address;
}

template <class T>
inline T read_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void write_as(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T, Space S>
void load(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  const size_t bytes = sizeof(T) * in.n;
  if (S == Space::kGlobal) check_global(w, in, a, bytes, false);
  if (in.n == 1) {
    uint64_t* d = w.out(in.d);
    each(w, [&](int i) { d[i] = As<T>::put(read_as<T>(place<S>(w, in, a[i], i, sizeof(T)))); });
    return;
  }
  const int32_t* list = &w.block->kernel->pool[in.list];
  uint64_t address[kLanes];
  each(w, [&](int i) { address[i] = uint64_t(place<S>(w, in, a[i], i, bytes)); });
  for (int k = 0; k < in.n; k++) {
    uint64_t* d = w.out(list[k]);
    each(w, [&](int i) { d[i] = As<T>::put(read_as<T>(reinterpret_cast<uint8_t*>(address[i]) + sizeof(T) * size_t(k))); });
  }
}

// A load from one place of the kernel's parameters, the same for all lanes.
template <class T>
void load_param(Warp& w, const Instr& in) {
  for (int k = 0; k < in.n; k++) {
    uint64_t value = As<T>::put(read_as<T>(w.block->params + in.imm + sizeof(T) * size_t(k)));
    uint64_t* d = w.out(in.n == 1 ? in.d : w.block->kernel->pool[in.list + uint32_t(k)]);
    each(w, [=](int i) { d[i] = value; });
  }
}

template <class T, Space S>
void store(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  const size_t bytes = sizeof(T) * in.n;
  if (S == Space::kGlobal) check_global(w, in, a, bytes, true);
  if (in.n == 1) {
    const uint64_t* b = w.in(in.b);
    each(w, [&](int i) { write_as(place<S>(w, in, a[i], i, sizeof(T)), T(b[i])); });
    return;
  }
  const int32_t* list = &w.block->kernel->pool[in.list];
  const uint64_t* values[4];
  for (int k = 0; k < in.n; k++) values[k] = w.in(list[k]);
  each(w, [&](int i) {
    uint8_t* to = place<S>(w, in, a[i], i, bytes);
    for (int k = 0; k < in.n; k++) write_as(to + sizeof(T) * size_t(k), T(values[k][i]));
  });
}

// ---- Atomic operations, in the order of the lanes. d < 0 when the old value is not wanted; c is the value to be stored by cas.

struct AtomAdd { template <class V> static V of(V a, V b) { return V(a + b); } };
struct AtomMin { template <class V> static V of(V a, V b) { return a < b ? a : b; } };
struct AtomMax { template <class V> static V of(V a, V b) { return a > b ? a : b; } };
struct AtomAnd { template <class V> static V of(V a, V b) { return a & b; } };
struct AtomOr { template <class V> static V of(V a, V b) { return a | b; } };
struct AtomXor { template <class V> static V of(V a, V b) { return a ^ b; } };
struct AtomExch { template <class V> static V of(V, V b) { return b; } };
struct AtomInc { template <class V> static V of(V a, V b) { return a >= b ? V(0) : V(a + 1); } };
struct AtomDec { template <class V> static V of(V a, V b) { return a == 0 || a > b ? b : V(a - 1); } };

// T tells how many bytes; change computes the new bits from the old ones.
template <class T, Space S, class F>
inline void modify(Warp& w, const Instr& in, F change) {
  const uint64_t* a = w.in(in.a);
  if (S == Space::kGlobal) check_global(w, in, a, sizeof(T), true);
  uint64_t* d = in.d < 0 ? nullptr : w.out(in.d);
  each(w, [&](int i) {
    uint8_t* at = place<S>(w, in, a[i], i, sizeof(T));
    T old = read_as<T>(at), changed = T(change(old, i));
    std::memcpy(at, &changed, sizeof changed);
    if (d) d[i] = old;
  });
}

template <class T, class Bits, Space S, class Op>
void atomic(Warp& w, const Instr& in) {
  const uint64_t* b = w.in(in.b);
  modify<Bits, S>(w, in, [=](Bits old, int i) { return As<T>::put(Value<T>(Op::of(As<T>::get(old), As<T>::get(b[i])))); });
}

template <class T, Space S>
void atomic_pair(Warp& w, const Instr& in) {
  const uint64_t* b = w.in(in.b);
  auto add = [](uint64_t x, uint64_t y) { return As<T>::put(As<T>::get(x) + As<T>::get(y)); };
  modify<uint32_t, S>(w, in, [=](uint32_t old, int i) { return add(old, b[i]) | add(old >> 16, b[i] >> 16) << 16; });
}

template <class Bits, Space S>
void atomic_cas(Warp& w, const Instr& in) {
  const uint64_t *b = w.in(in.b), *c = w.in(in.c);
  modify<Bits, S>(w, in, [=](Bits old, int i) { return old == Bits(b[i]) ? Bits(c[i]) : old; });
}

template <Space S>
Handler atomic_for(const Opcode& op) {
  const Type t = op.type();
  if (op.has("add")) {
    switch (t) {
      case Type::kF16x2: return atomic_pair<Half, S>;
      case Type::kBf16x2: return atomic_pair<Bf16, S>;
      case Type::kF16: return atomic<Half, uint16_t, S, AtomAdd>;
      case Type::kBf16: return atomic<Bf16, uint16_t, S, AtomAdd>;
      case Type::kF32: return atomic<float, uint32_t, S, AtomAdd>;
      case Type::kF64: return atomic<double, uint64_t, S, AtomAdd>;
      default: return size_of(t) == 8 ? atomic<uint64_t, uint64_t, S, AtomAdd> : atomic<uint32_t, uint32_t, S, AtomAdd>;
    }
  }
  const bool wide = size_of(t) == 8, is_signed = t == Type::kS32 || t == Type::kS64;
  if (op.has("cas")) return wide ? atomic_cas<uint64_t, S> : size_of(t) == 2 ? atomic_cas<uint16_t, S> : atomic_cas<uint32_t, S>;
#define PTX_ATOMIC(name, Op) \
  if (op.has(name)) return wide ? Handler(atomic<uint64_t, uint64_t, S, Op>) : Handler(atomic<uint32_t, uint32_t, S, Op>);
#define PTX_SIGNED_ATOMIC(name, Op) \
  if (is_signed && op.has(name)) return wide ? Handler(atomic<int64_t, uint64_t, S, Op>) : Handler(atomic<int32_t, uint32_t, S, Op>);
  PTX_SIGNED_ATOMIC("min", AtomMin) PTX_SIGNED_ATOMIC("max", AtomMax)
  PTX_ATOMIC("min", AtomMin) PTX_ATOMIC("max", AtomMax) PTX_ATOMIC("and", AtomAnd) PTX_ATOMIC("or", AtomOr) PTX_ATOMIC("xor", AtomXor)
  PTX_ATOMIC("exch", AtomExch) PTX_ATOMIC("inc", AtomInc) PTX_ATOMIC("dec", AtomDec)
#undef PTX_ATOMIC
#undef PTX_SIGNED_ATOMIC
  return nullptr;
}

// ---- cp.async: a is the shared address, b the global one, n the size; c, if there is one, the bytes that are read.

void copy_async(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  const size_t size = in.n;
  int64_t from_offset;
  std::memcpy(&from_offset, &w.block->kernel->pool[in.list], sizeof from_offset);
  each(w, [&](int i) {
    Instr to = in, from = in;
    from.imm = from_offset;
    from.narrow_address = false;
    size_t used = in.flags ? std::min<size_t>(size, uint32_t(c[i])) : size;
    uint8_t* target = place<Space::kShared>(w, to, a[i], i, size);
    uint64_t source = effective(from, b[i]);
    if (source & (size - 1)) bad_address(w, in, i, source, size, "misaligned access");
    if (used) {
      bool valid = source >= 4096 && (!valid_address || own_memory(w, source, used, false) || valid_address(source, used, false));
      if (!valid) bad_address(w, in, i, source, used, "invalid read");
      std::memcpy(target, reinterpret_cast<const void*>(source), used);
    }
    std::memset(target + used, 0, size - used);
  });
}

// ---- Selection.

template <class T>
Handler load_from(Space space) {
  switch (space) {
    case Space::kShared: return load<T, Space::kShared>;
    case Space::kLocal: return load<T, Space::kLocal>;
    case Space::kParam: return load<T, Space::kParam>;
    default: return load<T, Space::kGlobal>;
  }
}

template <class T>
Handler store_to(Space space) {
  switch (space) {
    case Space::kShared: return store<T, Space::kShared>;
    case Space::kLocal: return store<T, Space::kLocal>;
    case Space::kParam: return nullptr;
    default: return store<T, Space::kGlobal>;
  }
}

// Calls f with an integer of the type's size, signed if it is.
template <class F>
Handler for_memory(Type type, F f) {
  switch (type) {
    case Type::kS8: return f(int8_t());
    case Type::kS16: return f(int16_t());
    case Type::kS32: return f(int32_t());
    default: break;
  }
  switch (size_of(type)) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return nullptr;
  }
}

Space space_of(const Opcode& op) {
  for (auto part : op.parts) {
    if (part == "global" || part == "const") return Space::kGlobal;
    if (part.substr(0, 6) == "shared") return Space::kShared;
    if (part == "local") return Space::kLocal;
    if (part.substr(0, 5) == "param") return Space::kParam;
  }
  return Space::kGeneric;
}

void set_address(Instr& in, const Operand& address) {
  in.a = address.slot;
  in.imm = address.offset;
  in.narrow_address = address.narrow;
}

bool select_load_or_store(Selection& s) {
  const bool is_load = s.op.name == "ld" || s.op.name == "ldu";
  if (s.operands.size() != 2) return false;
  const Operand& address = s.operands[is_load ? 1 : 0];
  const Operand& value = s.operands[is_load ? 0 : 1];
  if (address.kind != Operand::kAddress) return false;
  Space space = space_of(s.op);
  if (space == Space::kParam && address.local) space = Space::kLocal;
  Instr& in = s.instr;
  set_address(in, address);
  const Type t = s.op.type();
  if (value.kind == Operand::kVector) {
    in.n = uint16_t(value.elements.size());
    if (in.n == 0 || in.n > 4) return false;
    in.list = uint32_t(s.append(value.elements));
    if (in.n == 1) in.d = in.b = value.elements[0];
  } else {
    in.n = 1;
    in.d = in.b = value.slot;
  }
  if (is_load && in.n == 1 && in.d < 0) return false;
  if (is_load && space == Space::kParam && address.kernel_param) {
    in.inner = for_memory(t, [](auto v) -> Handler { return load_param<decltype(v)>; });
    return in.inner && in.imm >= 0;
  }
  in.inner = for_memory(t, [=](auto v) -> Handler {
    return is_load ? load_from<decltype(v)>(space) : store_to<std::make_unsigned_t<decltype(v)>>(space);
  });
  return in.inner;
}

bool select_atomic(Selection& s) {
  const bool reduces = s.op.name == "red";
  auto& o = s.operands;
  if (s.op.type() == Type::kNone || s.op.has("v2") || s.op.has("v4") || s.op.has("async")) return false;
  if (reduces) o.insert(o.begin(), Operand{});
  const bool cas = s.op.has("cas");
  if (o.size() < (cas ? 4u : 3u) || o[1].kind != Operand::kAddress) return false;
  Instr& in = s.instr;
  set_address(in, o[1]);
  in.d = reduces ? -1 : o[0].slot;
  in.b = o[2].slot;
  if (cas) in.c = o[3].slot;
  const Space space = space_of(s.op);
  if (space == Space::kLocal || space == Space::kParam) return false;
  in.inner = space == Space::kShared ? atomic_for<Space::kShared>(s.op) : atomic_for<Space::kGlobal>(s.op);
  return in.inner;
}

bool select_copy(Selection& s) {
  const Opcode& op = s.op;
  Instr& in = s.instr;
  if (op.has("commit_group") || op.has("wait_group") || op.has("wait_all")) {
    in.inner = nothing;
    return true;
  }
  auto& o = s.operands;
  if (!(op.has("ca") || op.has("cg")) || !op.has("shared") || o.size() < 3 || o.size() > 5) return false;
  if (o[0].kind != Operand::kAddress || o[1].kind != Operand::kAddress || o[2].slot >= 0) return false;
  set_address(in, o[0]);
  in.b = o[1].slot;
  in.n = uint16_t(o[2].offset);
  int64_t offset = o[1].offset;
  in.list = uint32_t(s.append({int32_t(uint64_t(offset)), int32_t(uint64_t(offset) >> 32)}));
  in.flags = o.size() > 3;
  if (in.flags) in.c = o[3].slot;
  in.inner = copy_async;
  return true;
}

}  // namespace

bool select_memory(Selection& s) {
  const std::string_view name = s.op.name;
  if (name == "ld" || name == "ldu" || name == "st") return select_load_or_store(s);
  if (name == "atom" || name == "red") return select_atomic(s);
  if (name == "cp" && s.op.has("async") && !s.op.has("bulk")) return select_copy(s);
  if (name == "membar" || name == "fence" || name == "prefetch" || name == "prefetchu" || name == "discard" || name == "applypriority") {
    s.instr.inner = nothing;
    return true;
  }
  return false;
}

}  // namespace ptx
