// Integer and bit instructions, selections and moves.
#include "values.h"

namespace ptx {
namespace {

// Unsigned, and at least as wide as int, so that no operation overflows.
template <class V>
using Wide = std::make_unsigned_t<decltype(V() + V())>;

template <class V>
constexpr int kBits = int(sizeof(V)) * 8;

struct Add { template <class V> static V of(V a, V b) { return V(Wide<V>(a) + Wide<V>(b)); } };
struct Sub { template <class V> static V of(V a, V b) { return V(Wide<V>(a) - Wide<V>(b)); } };
struct MulLo { template <class V> static V of(V a, V b) { return V(Wide<V>(a) * Wide<V>(b)); } };
struct MadLo { template <class V> static V of(V a, V b, V c) { return V(Wide<V>(a) * Wide<V>(b) + Wide<V>(c)); } };
struct MulHi {
  template <class V> static V of(V a, V b) {
    if constexpr (sizeof(V) == 8) {
      using Product = std::conditional_t<std::is_signed_v<V>, __int128, unsigned __int128>;
      return V((Product(a) * Product(b)) >> 64);
    } else {
      using Product = std::conditional_t<std::is_signed_v<V>, int64_t, uint64_t>;
      return V((Product(a) * Product(b)) >> kBits<V>);
    }
  }
};
struct MadHi { template <class V> static V of(V a, V b, V c) { return Add::of(MulHi::of(a, b), c); } };
struct Div {
  template <class V> static V of(V a, V b) {
    if (b == 0) return V(-1);
    if (std::is_signed_v<V> && b == V(-1)) return V(Wide<V>(0) - Wide<V>(a));
    return V(a / b);
  }
};
struct Rem {
  template <class V> static V of(V a, V b) {
    if (b == 0) return a;
    if (std::is_signed_v<V> && b == V(-1)) return 0;
    return V(a % b);
  }
};
struct Min { template <class V> static V of(V a, V b) { return a < b ? a : b; } };
struct Max { template <class V> static V of(V a, V b) { return a > b ? a : b; } };
struct MinRelu { template <class V> static V of(V a, V b) { return Max::of(Min::of(a, b), V(0)); } };
struct MaxRelu { template <class V> static V of(V a, V b) { return Max::of(Max::of(a, b), V(0)); } };
struct Neg { template <class V> static V of(V a) { return V(Wide<V>(0) - Wide<V>(a)); } };
struct Abs { template <class V> static V of(V a) { return a < 0 ? Neg::of(a) : a; } };
struct And { template <class V> static V of(V a, V b) { return V(a & b); } };
struct Or { template <class V> static V of(V a, V b) { return V(a | b); } };
struct Xor { template <class V> static V of(V a, V b) { return V(a ^ b); } };
struct Not { template <class V> static V of(V a) { return V(~a); } };
struct NotPred { template <class V> static V of(V a) { return V((a & 1) ^ 1); } };
struct CNot { template <class V> static V of(V a) { return V(a == 0); } };
struct Move { template <class V> static V of(V a) { return a; } };
struct AddSat {
  static int32_t of(int32_t a, int32_t b) { return int32_t(std::min<int64_t>(std::max<int64_t>(int64_t{a} + b, INT32_MIN), INT32_MAX)); }
};
struct SubSat {
  static int32_t of(int32_t a, int32_t b) { return int32_t(std::min<int64_t>(std::max<int64_t>(int64_t{a} - b, INT32_MIN), INT32_MAX)); }
};
struct Sad {
  template <class V> static V of(V a, V b, V c) { return Add::of(c, a < b ? Sub::of(b, a) : Sub::of(a, b)); }
};
struct Mul24Lo {
  template <class V> static V of(V a, V b) { return V(uint32_t(product(a, b))); }
  template <class V> static int64_t product(V a, V b) {
    if (std::is_signed_v<V>) return int64_t(int32_t(uint32_t(a) << 8) >> 8) * (int32_t(uint32_t(b) << 8) >> 8);
    return int64_t(uint64_t(uint32_t(a) & 0xFFFFFF) * (uint32_t(b) & 0xFFFFFF));
  }
};
struct Mul24Hi { template <class V> static V of(V a, V b) { return V(uint32_t(uint64_t(Mul24Lo::product(a, b)) >> 16)); } };
struct Mad24Lo { template <class V> static V of(V a, V b, V c) { return Add::of(Mul24Lo::of(a, b), c); } };
struct Mad24Hi { template <class V> static V of(V a, V b, V c) { return Add::of(Mul24Hi::of(a, b), c); } };
struct Popc { template <class V> static V of(V a) { return V(__builtin_popcountll(a)); } };
struct Clz { template <class V> static V of(V a) { return V(a ? __builtin_clzll(a) - (64 - kBits<V>) : kBits<V>); } };
struct Brev {
  template <class V> static V of(V a) {
    V r = 0;
    for (int i = 0; i < kBits<V>; i++) r = V(r << 1 | ((a >> i) & 1));
    return r;
  }
};

// The number of the highest bit that differs from the sign; with shiftamt, the shift that brings it to the top.
template <bool Shift>
struct Bfind {
  template <class V> static uint32_t of(V a) {
    using U = std::make_unsigned_t<V>;
    U bits = U(std::is_signed_v<V> && a < 0 ? ~a : a);
    if (!bits) return kAll;
    int top = 63 - __builtin_clzll(bits);
    return uint32_t(Shift ? kBits<V> - 1 - top : top);
  }
};

struct Lop3 {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c, int table) {
    uint32_t r = 0;
    for (int k = 0; k < 8; k++)
      if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
  }
};

template <class T, class Wider, bool Add>
void multiply_wide(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  using U = std::make_unsigned_t<Wider>;
  each(w, [=](int i) { d[i] = U(U(Wider(T(a[i])) * Wider(T(b[i]))) + (Add ? U(c[i]) : U(0))); });
}

// The result is not of the operand's type.
template <class T, class Op>
void count(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = uint64_t(Op::of(T(a[i]))); });
}

template <class T>
void shift_left(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t by = uint32_t(b[i]);
    d[i] = by >= uint32_t(kBits<T>) ? 0 : T(uint64_t(T(a[i])) << by);
  });
}

template <class T>
void shift_right(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t by = uint32_t(b[i]);
    T x = T(a[i]);
    if (by >= uint32_t(kBits<T>)) d[i] = As<T>::put(std::is_signed_v<T> && x < 0 ? T(-1) : T(0));
    else d[i] = As<T>::put(T(x >> by));
  });
}

template <bool Left, bool Wrap>
void funnel(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t by = uint32_t(c[i]);
    by = Wrap ? by & 31 : by > 32 ? 32 : by;
    uint64_t both = uint64_t(uint32_t(b[i])) << 32 | uint32_t(a[i]);
    d[i] = Left ? uint32_t(both << by >> 32) : uint32_t(both >> by);
  });
}

template <class T>
void extract_bits(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t position = uint32_t(b[i]) & 0xFF, length = uint32_t(c[i]) & 0xFF;
    T x = T(a[i]);
    const uint32_t top = uint32_t(kBits<T>) - 1;
    using U = std::make_unsigned_t<T>;
    bool sign = std::is_signed_v<T> && length && (U(x) >> std::min(position + length - 1, top) & 1);
    U field = position > top ? U(0) : U(U(x) >> position);
    uint32_t valid = position > top ? 0 : std::min(length, top + 1 - position);
    U mask = valid >= top + 1 ? U(~U(0)) : U((U(1) << valid) - 1);
    d[i] = As<T>::put(T(sign ? U(field | U(~mask)) : U(field & mask)));
  });
}

template <class T>
void insert_bits(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c), *length = w.in(int32_t(in.imm));
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t position = uint32_t(c[i]) & 0xFF, bits = uint32_t(length[i]) & 0xFF;
    T mask = bits >= uint32_t(kBits<T>) ? T(~T(0)) : T((T(1) << bits) - 1);
    mask = position >= uint32_t(kBits<T>) ? T(0) : T(mask << position);
    T field = position >= uint32_t(kBits<T>) ? T(0) : T(T(a[i]) << position);
    d[i] = T((T(b[i]) & T(~mask)) | (field & mask));
  });
}

uint32_t permute_selectors(int mode, uint32_t c) {
  uint32_t s = c & 3;
  switch (mode) {
    case 1: return s | (s + 1) << 4 | (s + 2) << 8 | (s + 3) << 12;                                    // f4e
    case 2: return s | ((s - 1) & 7) << 4 | ((s - 2) & 7) << 8 | ((s - 3) & 7) << 12;                  // b4e
    case 3: return s * 0x1111;                                                                         // rc8
    case 4: return std::max(s, 0u) | std::max(s, 1u) << 4 | std::max(s, 2u) << 8 | 3u << 12;           // ecl
    case 5: return 0u | std::min(s, 1u) << 4 | std::min(s, 2u) << 8 | std::min(s, 3u) << 12;           // ecr
    case 6: return s & 1 ? 0x3232 : 0x1010;                                                            // rc16
    default: return c;
  }
}

void permute(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  int mode = in.mode;
  each(w, [=](int i) {
    uint64_t both = uint64_t(uint32_t(b[i])) << 32 | uint32_t(a[i]);
    uint32_t selectors = permute_selectors(mode, uint32_t(c[i])), r = 0;
    for (int k = 0; k < 4; k++) {
      uint32_t selector = selectors >> (4 * k);
      uint32_t byte = uint8_t(both >> (8 * (selector & 7)));
      if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
      r |= byte << (8 * k);
    }
    d[i] = r;
  });
}

void lop3(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  int table = int(in.imm);
  each(w, [=](int i) { d[i] = Lop3::of(uint32_t(a[i]), uint32_t(b[i]), uint32_t(c[i]), table); });
}

// The position of the n-th set bit from a base, or -1.
void find_nth(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t mask = uint32_t(a[i]);
    int base = int(b[i]), n = int(c[i]), step = n < 0 ? -1 : 1, left = n < 0 ? -n : n;
    uint32_t found = kAll;
    if (left == 0) found = base >= 0 && base < 32 && (mask >> base & 1) ? uint32_t(base) : kAll;
    for (int k = base; left && k >= 0 && k < 32; k += step)
      if (mask >> k & 1 && --left == 0) found = uint32_t(k);
    d[i] = found;
  });
}

template <class A, class B>
void dot_bytes(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) {
    uint32_t sum = uint32_t(c[i]);
    for (int k = 0; k < 32; k += 8) sum += uint32_t(int32_t(A(a[i] >> k)) * int32_t(B(b[i] >> k)));
    d[i] = sum;
  });
}

// vshl and vshr of whole 32-bit words. flags: 1 left, 2 wrap, 4 add.
void video_shift(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  int flags = in.flags;
  each(w, [=](int i) {
    uint32_t by = flags & 2 ? uint32_t(b[i]) & 31 : std::min(uint32_t(b[i]), 32u);
    uint64_t x = uint32_t(a[i]);
    d[i] = uint32_t((flags & 1 ? x << by : x >> by) + (flags & 4 ? c[i] : 0));
  });
}

// Additions and subtractions that read or set the carry flag. mode: 0 add, 1 sub, 2 mad.lo, 3 mad.hi; flags: 1 reads, 2 sets.
template <class T>
void with_carry(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t *d = w.out(in.d), *carry = w.out(int32_t(in.imm));
  int mode = in.mode, flags = in.flags;
  each(w, [=](int i) {
    unsigned __int128 x = T(a[i]), y = T(b[i]), in_ = flags & 1 ? carry[i] & 1 : 0, sum;
    if (mode >= 2) {
      x = mode == 2 ? T(x * y) : T(x * y >> kBits<T>);
      y = T(c[i]);
    }
    sum = mode == 1 ? x - y - in_ : x + y + in_;
    d[i] = T(sum);
    if (flags & 2) carry[i] = uint64_t(sum >> kBits<T>) & 1;
  });
}

void select(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  uint64_t negated = in.flags;
  each(w, [=](int i) { d[i] = (c[i] & 1) != negated ? a[i] : b[i]; });
}

template <class T>
void select_by_sign(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = T(c[i]) >= 0 ? a[i] : b[i]; });
}

void select_by_float_sign(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = As<float>::get(c[i]) >= 0 ? a[i] : b[i]; });
}

void pack_word(Warp& w, const Instr& in) {
  const int32_t* parts = &w.block->kernel->pool[in.list];
  uint64_t* d = w.out(in.d);
  int width = in.mode;
  uint64_t mask = ~uint64_t(0) >> (64 - width);
  each(w, [&](int i) {
    uint64_t r = 0;
    for (int k = 0; k < in.n; k++) r |= (w.in(parts[k])[i] & mask) << (width * k);
    d[i] = r;
  });
}

void unpack_word(Warp& w, const Instr& in) {
  const int32_t* parts = &w.block->kernel->pool[in.list];
  const uint64_t* a = w.in(in.a);
  int width = in.mode;
  uint64_t mask = ~uint64_t(0) >> (64 - width);
  each(w, [&](int i) {
    uint64_t x = a[i];
    for (int k = 0; k < in.n; k++) w.out(parts[k])[i] = x >> (width * k) & mask;
  });
}

// The address of a thread's local memory is the block's plus the thread's share.
void local_address(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  uint64_t base = uint64_t(w.local), size = w.block->local_size;
  if (in.flags) each(w, [=](int i) { d[i] = a[i] - base - uint64_t(i) * size; });
  else each(w, [=](int i) { d[i] = a[i] + base + uint64_t(i) * size; });
}

void shared_address(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  uint64_t base = uint64_t(w.block->shared);
  if (in.flags) each(w, [=](int i) { d[i] = a[i] - base; });
  else each(w, [=](int i) { d[i] = a[i] + base; });
}

void param_address(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  uint64_t base = uint64_t(w.block->params);
  if (in.flags) each(w, [=](int i) { d[i] = a[i] - base; });
  else each(w, [=](int i) { d[i] = a[i] + base; });
}

// flags bits: 1 local, 2 shared.
void is_in_space(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  const Block* block = w.block;
  int mode = in.mode;
  each(w, [=](int i) {
    bool shared = a[i] - uint64_t(block->shared) < block->shared_size;
    bool local = a[i] - uint64_t(block->local) < block->local_total;
    d[i] = mode == 0 ? !shared && !local : mode == 1 ? shared : local;
  });
}

Handler width_of(Type type, Handler narrow, Handler wide) { return size_of(type) == 8 ? wide : narrow; }

template <class Op> Handler unary_for(Type t) { return for_integer(t, [](auto v) -> Handler { return unary<decltype(v), Op>; }); }
template <class Op> Handler binary_for(Type t) { return for_integer(t, [](auto v) -> Handler { return binary<decltype(v), Op>; }); }
template <class Op> Handler ternary_for(Type t) { return for_integer(t, [](auto v) -> Handler { return ternary<decltype(v), Op>; }); }

template <class Op>
Handler logic_for(Type t) {
  return t == Type::kPred ? Handler(binary<uint64_t, Op>) : binary_for<Op>(t);
}

template <bool Mad>
Handler wide_for(Type t) {
  switch (t) {
    case Type::kU16: return multiply_wide<uint16_t, uint32_t, Mad>;
    case Type::kS16: return multiply_wide<int16_t, int32_t, Mad>;
    case Type::kU32: return multiply_wide<uint32_t, uint64_t, Mad>;
    case Type::kS32: return multiply_wide<int32_t, int64_t, Mad>;
    default: return nullptr;
  }
}

bool carrying(Selection& s, int mode, bool reads) {
  bool sets = s.op.has("cc");
  s.instr.mode = uint8_t(mode);
  s.instr.flags = uint8_t((reads ? 1 : 0) | (sets ? 2 : 0));
  s.instr.imm = s.carry;
  s.instr.inner = width_of(s.op.type(), with_carry<uint32_t>, with_carry<uint64_t>);
  return plain_operands(s, mode >= 2 ? 4 : 3);
}

bool select_move(Selection& s) {
  auto& o = s.operands;
  if (o.size() != 2) return false;
  size_t size = s.op.type() == Type::kPred ? 8 : size_of(s.op.type());
  if (size == 0 || size > 8) return false;
  if (o[0].kind == Operand::kVector && o[1].kind == Operand::kValue) {
    s.instr.n = uint16_t(o[0].elements.size());
    s.instr.list = uint32_t(s.append(o[0].elements));
    s.instr.a = o[1].slot;
    s.instr.mode = uint8_t(size * 8 / s.instr.n);
    s.instr.inner = unpack_word;
    return true;
  }
  if (o[1].kind == Operand::kVector && o[0].kind == Operand::kValue) {
    s.instr.n = uint16_t(o[1].elements.size());
    s.instr.list = uint32_t(s.append(o[1].elements));
    s.instr.d = o[0].slot;
    s.instr.mode = uint8_t(size * 8 / s.instr.n);
    s.instr.inner = pack_word;
    return true;
  }
  s.instr.inner = s.op.type() == Type::kPred && o[1].negated ? unary<uint64_t, NotPred> : unary<uint64_t, Move>;
  return plain_operands(s, 2);
}

bool select_cvta(Selection& s) {
  bool to = s.op.has("to");
  s.instr.flags = to;
  s.instr.inner = unary<uint64_t, Move>;
  if (s.op.has("local")) s.instr.inner = local_address;
  if (s.op.has("shared") || s.op.has("shared::cta")) s.instr.inner = shared_address;
  if (s.op.has("param")) s.instr.inner = param_address;
  return plain_operands(s, 2);
}

bool select_four_operands(Selection& s, Handler handler) {
  if (s.operands.size() != 5 || !handler) return false;
  int64_t last = s.operands[4].slot;
  s.operands.pop_back();
  s.instr.imm = last;
  s.instr.inner = handler;
  return plain_operands(s, 4);
}

bool select_bits(Selection& s) {
  const Opcode& op = s.op;
  Type t = op.type();
  std::string_view name = op.name;
  Handler& h = s.instr.inner;
  if (name == "and") h = logic_for<And>(t);
  else if (name == "or") h = logic_for<Or>(t);
  else if (name == "xor") h = logic_for<Xor>(t);
  else if (name == "not") { h = t == Type::kPred ? Handler(unary<uint64_t, NotPred>) : unary_for<Not>(t); return h && plain_operands(s, 2); }
  else if (name == "cnot") { h = unary_for<CNot>(t); return h && plain_operands(s, 2); }
  else if (name == "shl") h = for_integer(t, [](auto v) -> Handler { return shift_left<std::make_unsigned_t<decltype(v)>>; });
  else if (name == "shr") h = for_integer(t, [](auto v) -> Handler { return shift_right<decltype(v)>; });
  else if (name == "shf") {
    bool left = op.has("l"), wrap = op.has("wrap");
    h = left ? (wrap ? funnel<true, true> : funnel<true, false>) : (wrap ? funnel<false, true> : funnel<false, false>);
    return plain_operands(s, 4);
  } else if (name == "bfe") {
    h = for_integer(t, [](auto v) -> Handler { return extract_bits<decltype(v)>; });
    return h && plain_operands(s, 4);
  } else if (name == "bfi") {
    return select_four_operands(s, width_of(t, insert_bits<uint32_t>, insert_bits<uint64_t>));
  } else if (name == "prmt") {
    const char* modes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (int k = 1; k < 7; k++)
      if (op.has(modes[k])) s.instr.mode = uint8_t(k);
    h = permute;
    return plain_operands(s, 4);
  } else if (name == "lop3") {
    if (s.operands.size() != 5 || s.operands[4].slot >= 0 || op.has("and") || op.has("or")) return false;
    s.instr.imm = s.operands[4].offset;
    s.operands.pop_back();
    h = lop3;
    return plain_operands(s, 4);
  } else if (name == "fns") {
    h = find_nth;
    return plain_operands(s, 4);
  } else if (name == "popc" || name == "clz" || name == "brev") {
    bool wide = size_of(t) == 8;
    if (name == "popc") h = wide ? count<uint64_t, Popc> : count<uint32_t, Popc>;
    if (name == "clz") h = wide ? count<uint64_t, Clz> : count<uint32_t, Clz>;
    if (name == "brev") h = wide ? count<uint64_t, Brev> : count<uint32_t, Brev>;
    return plain_operands(s, 2);
  } else if (name == "bfind") {
    bool shift = op.has("shiftamt");
    h = for_integer(t, [=](auto v) -> Handler { return shift ? count<decltype(v), Bfind<true>> : count<decltype(v), Bfind<false>>; });
    return h && plain_operands(s, 2);
  } else return false;
  return h && plain_operands(s, 3);
}

bool select_product(Selection& s) {
  const Opcode& op = s.op;
  Type t = op.type();
  std::string_view name = op.name;
  Handler& h = s.instr.inner;
  bool hi = op.has("hi"), wide = op.has("wide");
  if (name == "mad" && op.has("cc")) return carrying(s, hi ? 3 : 2, false);
  if (name == "madc") return carrying(s, hi ? 3 : 2, true);
  if (name == "mul") {
    h = wide ? wide_for<false>(t) : hi ? binary_for<MulHi>(t) : binary_for<MulLo>(t);
    return h && plain_operands(s, 3);
  }
  if (name == "mad" && !op.has("sat")) {
    h = wide ? wide_for<true>(t) : hi ? ternary_for<MadHi>(t) : ternary_for<MadLo>(t);
    return h && plain_operands(s, 4);
  }
  bool is_signed = t == Type::kS32;
  if (name == "mul24") {
    if (hi) h = is_signed ? binary<int32_t, Mul24Hi> : binary<uint32_t, Mul24Hi>;
    else h = is_signed ? binary<int32_t, Mul24Lo> : binary<uint32_t, Mul24Lo>;
    return plain_operands(s, 3);
  }
  if (name == "mad24" && !op.has("sat")) {
    if (hi) h = is_signed ? ternary<int32_t, Mad24Hi> : ternary<uint32_t, Mad24Hi>;
    else h = is_signed ? ternary<int32_t, Mad24Lo> : ternary<uint32_t, Mad24Lo>;
    return plain_operands(s, 4);
  }
  if (name == "dp4a") {
    bool a = t == Type::kS32, b = op.type(1) == Type::kS32;
    h = a ? (b ? dot_bytes<int8_t, int8_t> : dot_bytes<int8_t, uint8_t>) : (b ? dot_bytes<uint8_t, int8_t> : dot_bytes<uint8_t, uint8_t>);
    return plain_operands(s, 4);
  }
  return false;
}

bool select_video(Selection& s) {
  const Opcode& op = s.op;
  if (op.name != "vshr" && op.name != "vshl") return false;
  if (op.types != std::vector<Type>(3, Type::kU32) || op.has("sat")) return false;
  for (auto part : op.parts)
    if (part != "clamp" && part != "wrap" && part != "add") return false;
  s.instr.flags = uint8_t((op.name == "vshl" ? 1 : 0) | (op.has("wrap") ? 2 : 0) | (op.has("add") ? 4 : 0));
  s.instr.inner = video_shift;
  return plain_operands(s, op.has("add") ? 4 : 3);
}

bool select_choice(Selection& s) {
  const Opcode& op = s.op;
  if (op.name == "selp") {
    s.instr.inner = select;
    if (s.operands.size() == 4) s.instr.flags = s.operands[3].negated;
    return plain_operands(s, 4);
  }
  if (op.name == "slct") {
    Type t = op.type(1);
    s.instr.inner = t == Type::kS32 ? Handler(select_by_sign<int32_t>) : t == Type::kF32 ? select_by_float_sign : nullptr;
    return s.instr.inner && plain_operands(s, 4);
  }
  if (op.name == "isspacep") {
    s.instr.mode = uint8_t(op.has("global") ? 0 : op.has("shared") || op.has("shared::cta") ? 1 : op.has("local") ? 2 : 3);
    s.instr.inner = is_in_space;
    return s.instr.mode < 3 && plain_operands(s, 2);
  }
  return false;
}

}  // namespace

bool plain_operands(Selection& s, size_t count) {
  if (s.operands.size() != count) return false;
  int32_t* slots[] = {&s.instr.d, &s.instr.a, &s.instr.b, &s.instr.c};
  for (size_t i = 0; i < count; i++) {
    if (s.operands[i].kind != Operand::kValue) return false;
    *slots[i] = s.operands[i].slot;
  }
  return s.instr.d >= 0;
}

bool select_integer(Selection& s) {
  const Opcode& op = s.op;
  Type t = op.type();
  std::string_view name = op.name;
  Handler& h = s.instr.inner;
  if (name == "mov") return select_move(s);
  if (name == "cvta") return select_cvta(s);
  if (select_choice(s) || select_video(s)) return true;
  if (select_bits(s)) return true;
  bool floating = t == Type::kF16 || t == Type::kBf16 || t == Type::kF16x2 || t == Type::kBf16x2 || t == Type::kF32 || t == Type::kF64;
  if (floating || t == Type::kNone) return false;
  if (select_product(s)) return true;
  if (name == "add" && op.has("cc")) return carrying(s, 0, false);
  if (name == "addc") return carrying(s, 0, true);
  if (name == "sub" && op.has("cc")) return carrying(s, 1, false);
  if (name == "subc") return carrying(s, 1, true);
  if (name == "neg" || name == "abs") {
    h = name == "neg" ? unary_for<Neg>(t) : unary_for<Abs>(t);
    return h && plain_operands(s, 2);
  }
  if (name == "sad") {
    h = ternary_for<Sad>(t);
    return h && plain_operands(s, 4);
  }
  bool relu = op.has("relu");
  if (name == "add") h = op.has("sat") ? Handler(binary<int32_t, AddSat>) : binary_for<Add>(t);
  else if (name == "sub") h = op.has("sat") ? Handler(binary<int32_t, SubSat>) : binary_for<Sub>(t);
  else if (name == "div") h = binary_for<Div>(t);
  else if (name == "rem") h = binary_for<Rem>(t);
  else if (name == "min") h = relu ? binary_for<MinRelu>(t) : binary_for<Min>(t);
  else if (name == "max") h = relu ? binary_for<MaxRelu>(t) : binary_for<Max>(t);
  else return false;
  return h && plain_operands(s, 3);
}

}  // namespace ptx
