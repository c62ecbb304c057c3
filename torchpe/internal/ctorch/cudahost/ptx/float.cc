// Floating-point arithmetic, comparisons and the sets of predicates.
#include <cfenv>

#include "values.h"

namespace ptx {

uint32_t round_to(double value, int exponent_bits, int mantissa_bits, int rounding) {
  const uint64_t bits = bits_to<uint64_t>(value);
  const int bias = (1 << (exponent_bits - 1)) - 1, smallest = 1 - bias;
  const uint32_t sign = uint32_t(bits >> 63) << (exponent_bits + mantissa_bits);
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (value != value) return infinity | ((1u << (mantissa_bits + exponent_bits)) - 1);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = int(bits >> 52 & 0x7FF) - 1023;
  uint64_t mantissa = (bits & ((1ull << 52) - 1)) | (exponent == -1023 ? 0 : 1ull << 52);
  if (exponent == -1023) exponent = -1022;
  const int shift = 52 - mantissa_bits + std::max(0, smallest - exponent);
  uint64_t kept = shift > 62 ? 0 : mantissa >> shift;
  const uint64_t rest = shift > 62 ? 1 : mantissa & ((1ull << shift) - 1), half = shift > 62 ? 2 : 1ull << (shift - 1);
  bool up = false;
  if (rounding == FE_TONEAREST) up = rest > half || (rest == half && (kept & 1));
  if (rounding == FE_UPWARD) up = rest && !sign;
  if (rounding == FE_DOWNWARD) up = rest && sign;
  kept += up;
  uint64_t result = exponent < smallest ? kept : (uint64_t(exponent + bias - 1) << mantissa_bits) + kept;
  if (result < infinity) return sign | uint32_t(result);
  bool finite = rounding == FE_TOWARDZERO || (rounding == FE_UPWARD && sign) || (rounding == FE_DOWNWARD && !sign);
  return sign | (finite ? infinity - 1 : infinity);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7FFF;
  if (rest >= 0x7C00) return bits_to<float>(sign | 0x7F800000 | (rest & 0x3FF) << 13);
  return bits_to<float>(sign | bits_to<uint32_t>(bits_to<float>(rest << 13) * 0x1p112f));
}

namespace {

struct Add { template <class V> static V of(V a, V b) { return a + b; } };
struct Sub { template <class V> static V of(V a, V b) { return a - b; } };
struct Mul { template <class V> static V of(V a, V b) { return a * b; } };
struct Div { template <class V> static V of(V a, V b) { return a / b; } };
struct Fma { template <class V> static V of(V a, V b, V c) { return std::fma(a, b, c); } };
struct MulAdd { template <class V> static V of(V a, V b, V c) { return a * b + c; } };  // for types whose products are exact
struct FmaRelu { template <class V> static V of(V a, V b, V c) { V r = a * b + c; return r > 0 || r != r ? r : V(0); } };
struct Min {
  template <class V> static V of(V a, V b) { return a < b ? a : b < a ? b : a == b ? (std::signbit(a) ? a : b) : a != a ? b : a; }
};
struct Max {
  template <class V> static V of(V a, V b) { return a > b ? a : b > a ? b : a == b ? (std::signbit(a) ? b : a) : a != a ? b : a; }
};
struct MinNan { template <class V> static V of(V a, V b) { return a != a ? a : b != b ? b : Min::of(a, b); } };
struct MaxNan { template <class V> static V of(V a, V b) { return a != a ? a : b != b ? b : Max::of(a, b); } };
struct Neg { template <class V> static V of(V a) { return -a; } };
struct Abs { template <class V> static V of(V a) { return std::fabs(a); } };
struct CopySign { template <class V> static V of(V a, V b) { return std::copysign(b, a); } };
struct Rcp { template <class V> static V of(V a) { return V(1) / a; } };
struct Sqrt { template <class V> static V of(V a) { return std::sqrt(a); } };
struct Rsqrt { template <class V> static V of(V a) { return V(1 / std::sqrt(double(a))); } };
struct Ex2 { template <class V> static V of(V a) { return V(std::exp2(double(a))); } };
struct Lg2 { template <class V> static V of(V a) { return V(std::log2(double(a))); } };
struct Sin { template <class V> static V of(V a) { return V(std::sin(double(a))); } };
struct Cos { template <class V> static V of(V a) { return V(std::cos(double(a))); } };
struct Tanh { template <class V> static V of(V a) { return V(std::tanh(double(a))); } };

// The approximate double functions read and give only the upper 32 bits, and have no denormals.
inline double upper(double a) { return bits_to<double>(bits_to<uint64_t>(a) & 0xFFFFFFFF00000000u); }
inline double flush(double a) { return std::fabs(a) < 0x1p-1022 ? std::copysign(0.0, a) : a; }
inline float flush(float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }
struct RcpUpper { static double of(double a) { return upper(flush(1 / flush(upper(a)))); } };
struct RsqrtUpper { static double of(double a) { return upper(flush(1 / std::sqrt(flush(upper(a))))); } };

enum { kFtz = 1, kSat = 2 };
template <class Op, int M>
struct Modified {
  template <class V> static V in(V a) { return (M & kFtz) && std::is_same_v<V, float> ? flush(a) : a; }
  template <class V> static V out(V a) { return (M & kSat) ? (a > 0 ? (a < 1 ? in(a) : V(1)) : V(0)) : in(a); }
  template <class V> static V of(V a) { return out(Op::of(in(a))); }
  template <class V> static V of(V a, V b) { return out(Op::of(in(a), in(b))); }
  template <class V> static V of(V a, V b, V c) { return out(Op::of(in(a), in(b), in(c))); }
};

int modifiers(const Opcode& op) { return (op.has("ftz") ? kFtz : 0) | (op.has("sat") ? kSat : 0); }

template <class T, class Op>
Handler one_of(int m) {
  if (m == 0) return unary<T, Op>;
  return m == 1 ? unary<T, Modified<Op, 1>> : m == 2 ? unary<T, Modified<Op, 2>> : unary<T, Modified<Op, 3>>;
}
template <class T, class Op>
Handler two_of(int m) {
  if (m == 0) return binary<T, Op>;
  return m == 1 ? binary<T, Modified<Op, 1>> : m == 2 ? binary<T, Modified<Op, 2>> : binary<T, Modified<Op, 3>>;
}
template <class T, class Op>
Handler three_of(int m) {
  if (m == 0) return ternary<T, Op>;
  return m == 1 ? ternary<T, Modified<Op, 1>> : m == 2 ? ternary<T, Modified<Op, 2>> : ternary<T, Modified<Op, 3>>;
}

template <class Op>
Handler one_for(Type t, int m) {
  switch (t) {
    case Type::kF32: return one_of<float, Op>(m);
    case Type::kF64: return unary<double, Op>;
    case Type::kF16: return unary<Half, Op>;
    case Type::kBf16: return unary<Bf16, Op>;
    case Type::kF16x2: return packed<Half, Op, 1>;
    case Type::kBf16x2: return packed<Bf16, Op, 1>;
    default: return nullptr;
  }
}
template <class Op>
Handler two_for(Type t, int m) {
  bool sat = m & kSat;
  switch (t) {
    case Type::kF32: return two_of<float, Op>(m);
    case Type::kF64: return binary<double, Op>;
    case Type::kF16: return sat ? binary<Half, Modified<Op, kSat>> : binary<Half, Op>;
    case Type::kBf16: return binary<Bf16, Op>;
    case Type::kF16x2: return sat ? packed<Half, Modified<Op, kSat>, 2> : packed<Half, Op, 2>;
    case Type::kBf16x2: return packed<Bf16, Op, 2>;
    default: return nullptr;
  }
}

#if defined(__x86_64__)
// The processor's own instruction is much faster than the C library's function, which has to look for it at each call.
template <class T>
__attribute__((target("fma"))) void fused_by_processor(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  if (w.active == kAll) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; i++) d[i] = As<T>::put(__builtin_fma(As<T>::get(a[i]), As<T>::get(b[i]), As<T>::get(c[i])));
  } else {
    for (uint32_t rest = w.active; rest; rest &= rest - 1) {
      int i = __builtin_ctz(rest);
      d[i] = As<T>::put(__builtin_fma(As<T>::get(a[i]), As<T>::get(b[i]), As<T>::get(c[i])));
    }
  }
}
template <>
__attribute__((target("fma"))) void fused_by_processor<float>(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  if (w.active == kAll) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; i++) d[i] = As<float>::put(__builtin_fmaf(As<float>::get(a[i]), As<float>::get(b[i]),
        As<float>::get(c[i])));
  } else {
    for (uint32_t rest = w.active; rest; rest &= rest - 1) {
      int i = __builtin_ctz(rest);
      d[i] = As<float>::put(__builtin_fmaf(As<float>::get(a[i]), As<float>::get(b[i]), As<float>::get(c[i])));
    }
  }
}
template <class T>
Handler fused() {
  return __builtin_cpu_supports("fma") ? Handler(fused_by_processor<T>) : Handler(ternary<T, Fma>);
}
#else
template <class T>
Handler fused() {
  return ternary<T, Fma>;
}
#endif

Handler fused_for(Type t, int m, bool relu) {
  bool sat = m & kSat;
  switch (t) {
    case Type::kF32: return m ? three_of<float, Fma>(m) : fused<float>();
    case Type::kF64: return fused<double>();
    case Type::kF16: return relu ? ternary<Half, FmaRelu> : sat ? ternary<Half, Modified<MulAdd, kSat>> : ternary<Half, MulAdd>;
    case Type::kBf16: return relu ? ternary<Bf16, FmaRelu> : ternary<Bf16, MulAdd>;
    case Type::kF16x2:
      return relu ? packed<Half, FmaRelu, 3> : sat ? packed<Half, Modified<MulAdd, kSat>, 3> : packed<Half, MulAdd, 3>;
    case Type::kBf16x2: return relu ? packed<Bf16, FmaRelu, 3> : packed<Bf16, MulAdd, 3>;
    default: return nullptr;
  }
}

// Negation and magnitude act on the sign bits alone, so that NaNs keep theirs.
template <bool Negate>
void sign_bits(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  uint64_t mask = uint64_t(in.imm);
  each(w, [=](int i) { d[i] = Negate ? a[i] ^ mask : a[i] & ~mask; });
}

int64_t sign_mask(Type t) {
  switch (t) {
    case Type::kF64: return INT64_MIN;
    case Type::kF32: return 0x80000000;
    case Type::kF16: case Type::kBf16: return 0x8000;
    case Type::kF16x2: case Type::kBf16x2: return 0x80008000;
    default: return 0;
  }
}

// mode: 0 finite, 1 infinite, 2 number, 3 not a number, 4 normal, 5 subnormal.
template <class T>
void test_property(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  int mode = in.mode;
  each(w, [=](int i) {
    int c = std::fpclassify(As<T>::get(a[i]));
    const bool is[] = {c != FP_NAN && c != FP_INFINITE, c == FP_INFINITE, c != FP_NAN, c == FP_NAN, c == FP_NORMAL, c == FP_SUBNORMAL};
    d[i] = is[mode];
  });
}

void set_rounding(Selection& s) {
  if (s.op.has("rz")) s.instr.rounding = FE_TOWARDZERO;
  if (s.op.has("rm")) s.instr.rounding = FE_DOWNWARD;
  if (s.op.has("rp")) s.instr.rounding = FE_UPWARD;
}

Handler function_for(std::string_view name, const Opcode& op, Type t, int m) {
  bool upper_only = t == Type::kF64 && op.has("approx") && op.has("ftz");
  if (name == "rcp") return upper_only ? unary<double, RcpUpper> : one_for<Rcp>(t, m);
  if (name == "rsqrt") return upper_only ? unary<double, RsqrtUpper> : one_for<Rsqrt>(t, m);
  if (name == "sqrt") return one_for<Sqrt>(t, m);
  if (name == "ex2") return one_for<Ex2>(t, m);
  if (name == "lg2") return one_for<Lg2>(t, m);
  if (name == "sin") return one_for<Sin>(t, m);
  if (name == "cos") return one_for<Cos>(t, m);
  if (name == "tanh") return one_for<Tanh>(t, m);
  return nullptr;
}

bool is_float(Type t) { return sign_mask(t) != 0; }

// ---- Comparisons.

struct Eq { template <class V> static bool of(V a, V b) { return a == b; } };
struct Ne { template <class V> static bool of(V a, V b) { return a < b || a > b; } };
struct Lt { template <class V> static bool of(V a, V b) { return a < b; } };
struct Le { template <class V> static bool of(V a, V b) { return a <= b; } };
struct Gt { template <class V> static bool of(V a, V b) { return a > b; } };
struct Ge { template <class V> static bool of(V a, V b) { return a >= b; } };
struct Equ { template <class V> static bool of(V a, V b) { return !(a < b || a > b); } };
struct Neu { template <class V> static bool of(V a, V b) { return a != b; } };
struct Ltu { template <class V> static bool of(V a, V b) { return !(a >= b); } };
struct Leu { template <class V> static bool of(V a, V b) { return !(a > b); } };
struct Gtu { template <class V> static bool of(V a, V b) { return !(a <= b); } };
struct Geu { template <class V> static bool of(V a, V b) { return !(a < b); } };
struct Num { template <class V> static bool of(V a, V b) { return a == a && b == b; } };
struct NaN { template <class V> static bool of(V a, V b) { return a != a || b != b; } };

// How the result is combined with a predicate and what is written. In Instr: c is the predicate; list the second destination.
enum { kCombine = 1, kNegate = 2, kSecond = 4, kFtzInputs = 8 };

inline uint64_t combine(int operation, bool result, bool predicate) {
  return operation == 0 ? result && predicate : operation == 1 ? result || predicate : result != predicate;
}

template <class T, class C>
void set_predicate(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  if (in.flags == 0) {
    each(w, [=](int i) { d[i] = C::of(As<T>::get(a[i]), As<T>::get(b[i])); });
    return;
  }
  const uint64_t* c = w.in(in.c);
  uint64_t* q = w.out(int32_t(in.list));
  const int flags = in.flags, operation = in.mode;
  each(w, [=](int i) {
    auto x = As<T>::get(a[i]), y = As<T>::get(b[i]);
    if constexpr (std::is_same_v<T, float>) {
      if (flags & kFtzInputs) x = flush(x), y = flush(y);
    }
    bool result = C::of(x, y), predicate = (c[i] & 1) != ((flags & kNegate) ? 1u : 0u);
    d[i] = flags & kCombine ? combine(operation, result, predicate) : result;
    if (flags & kSecond) q[i] = flags & kCombine ? combine(operation, !result, predicate) : !result;
  });
}

// set: imm holds the bits that stand for true.
template <class T, class C>
void set_value(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  const uint64_t yes = uint64_t(in.imm);
  const int flags = in.flags, operation = in.mode;
  each(w, [=](int i) {
    uint64_t result = C::of(As<T>::get(a[i]), As<T>::get(b[i]));
    if (flags & kCombine) result = combine(operation, result, (c[i] & 1) != ((flags & kNegate) ? 1u : 0u));
    d[i] = result ? yes : 0;
  });
}

template <class T, class C>
void set_packed(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  const uint64_t yes = uint64_t(in.imm);
  each(w, [=](int i) {
    bool low = C::of(As<T>::get(a[i]), As<T>::get(b[i])), high = C::of(As<T>::get(a[i] >> 16), As<T>::get(b[i] >> 16));
    d[i] = (low ? yes : 0) | (high ? yes << 16 : 0);
  });
}

template <class T, class C>
void set_predicates_of_halves(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t *d = w.out(in.d), *q = w.out(int32_t(in.list));
  const bool second = in.flags & kSecond;
  each(w, [=](int i) {
    uint64_t x = a[i], y = b[i];
    d[i] = C::of(As<T>::get(x), As<T>::get(y));
    if (second) q[i] = C::of(As<T>::get(x >> 16), As<T>::get(y >> 16));
  });
}

template <class C>
Handler predicate_for(Type t) {
  switch (t) {
    case Type::kF32: return set_predicate<float, C>;
    case Type::kF64: return set_predicate<double, C>;
    case Type::kF16: return set_predicate<Half, C>;
    case Type::kBf16: return set_predicate<Bf16, C>;
    case Type::kF16x2: return set_predicates_of_halves<Half, C>;
    case Type::kBf16x2: return set_predicates_of_halves<Bf16, C>;
    default: return for_integer(t, [](auto v) -> Handler { return set_predicate<decltype(v), C>; });
  }
}

template <class C>
Handler value_for(Type t) {
  switch (t) {
    case Type::kF32: return set_value<float, C>;
    case Type::kF64: return set_value<double, C>;
    case Type::kF16: return set_value<Half, C>;
    case Type::kBf16: return set_value<Bf16, C>;
    case Type::kF16x2: return set_packed<Half, C>;
    case Type::kBf16x2: return set_packed<Bf16, C>;
    default: return for_integer(t, [](auto v) -> Handler { return set_value<decltype(v), C>; });
  }
}

Handler comparison(std::string_view name, Type t, bool value) {
#define PTX_COMPARE(text, C) \
  if (name == text) return value ? value_for<C>(t) : predicate_for<C>(t);
  PTX_COMPARE("eq", Eq) PTX_COMPARE("ne", Ne) PTX_COMPARE("lt", Lt) PTX_COMPARE("le", Le) PTX_COMPARE("gt", Gt) PTX_COMPARE("ge", Ge)
  PTX_COMPARE("lo", Lt) PTX_COMPARE("ls", Le) PTX_COMPARE("hi", Gt) PTX_COMPARE("hs", Ge) PTX_COMPARE("equ", Equ) PTX_COMPARE("neu", Neu)
  PTX_COMPARE("ltu", Ltu) PTX_COMPARE("leu", Leu) PTX_COMPARE("gtu", Gtu) PTX_COMPARE("geu", Geu) PTX_COMPARE("num", Num)
  PTX_COMPARE("nan", NaN)
#undef PTX_COMPARE
  return nullptr;
}

int64_t true_bits(Type destination, Type source) {
  bool pair = source == Type::kF16x2 || source == Type::kBf16x2;
  switch (destination) {
    case Type::kF32: return 0x3F800000;
    case Type::kF16: case Type::kF16x2: return 0x3C00;
    case Type::kBf16: case Type::kBf16x2: return 0x3F80;
    case Type::kU16: case Type::kS16: return 0xFFFF;
    case Type::kU32: case Type::kS32: return pair ? 0xFFFF : 0xFFFFFFFF;
    default: return 0;
  }
}

}  // namespace

bool select_float(Selection& s) {
  const Opcode& op = s.op;
  const Type t = op.type();
  const std::string_view name = op.name;
  if (!is_float(t)) return false;
  const int m = modifiers(op);
  Handler& h = s.instr.inner;
  const bool wide = t == Type::kF32 || t == Type::kF64;
  set_rounding(s);
  if (s.instr.rounding && !wide) return false;
  if (op.has("xorsign")) return false;
  if (name == "fma" || name == "mad") {
    h = fused_for(t, m, op.has("relu"));
    return h && plain_operands(s, 4);
  }
  if ((name == "neg" || name == "abs") && !m) {
    h = name == "neg" ? sign_bits<true> : sign_bits<false>;
    s.instr.imm = sign_mask(t);
    return plain_operands(s, 2);
  }
  if (name == "neg" || name == "abs") {
    h = name == "neg" ? one_for<Neg>(t, m) : one_for<Abs>(t, m);
    return h && plain_operands(s, 2);
  }
  if ((h = function_for(name, op, t, m))) return plain_operands(s, 2);
  if (name == "testp") {
    const char* properties[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (int k = 0; k < 6; k++)
      if (op.has(properties[k])) s.instr.mode = uint8_t(k);
    h = t == Type::kF64 ? test_property<double> : test_property<float>;
    return wide && plain_operands(s, 2);
  }
  const bool nan = op.has("NaN");
  if (name == "add") h = two_for<Add>(t, m);
  else if (name == "sub") h = two_for<Sub>(t, m);
  else if (name == "mul") h = two_for<Mul>(t, m);
  else if (name == "div") h = two_for<Div>(t, m);
  else if (name == "copysign") h = two_for<CopySign>(t, 0);
  else if (name == "min" && s.operands.size() == 3) h = nan ? two_for<MinNan>(t, m) : two_for<Min>(t, m);
  else if (name == "max" && s.operands.size() == 3) h = nan ? two_for<MaxNan>(t, m) : two_for<Max>(t, m);
  return h && plain_operands(s, 3);
}

bool select_compare(Selection& s) {
  const Opcode& op = s.op;
  const bool value = op.name == "set";
  if ((op.name != "setp" && !value) || op.parts.empty()) return false;
  const Type source = op.types.empty() ? Type::kNone : op.types.back();
  Instr& in = s.instr;
  in.inner = comparison(op.parts[0], source, value);
  if (!in.inner) return false;
  if (op.has("ftz") && source == Type::kF32) {
    if (value) return false;
    in.flags |= kFtzInputs;
  }
  const bool combines = op.has("and") || op.has("or") || op.has("xor");
  if (combines) {
    if (source == Type::kF16x2 || source == Type::kBf16x2) return false;
    if (s.operands.size() != 4) return false;
    in.flags |= uint8_t(kCombine | (s.operands[3].negated ? kNegate : 0));
    in.mode = op.has("and") ? 0 : op.has("or") ? 1 : 2;
  }
  if (!s.operands.empty() && s.operands[0].second >= 0) {
    in.flags |= kSecond;
    in.list = uint32_t(s.operands[0].second);
  }
  if (value && !(in.imm = true_bits(op.type(), source))) return false;
  return plain_operands(s, combines ? 4 : 3);
}

}  // namespace ptx
