// cvt: conversions between all types, with CUDA's saturation.
#include <cfenv>

#include "values.h"

namespace ptx {
namespace {

enum { kSat = 1, kFtz = 2, kRelu = 4 };
enum { kToNearest, kToZero, kDown, kUp, kKeep };  // to integral values

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T>;

inline float flush(float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }

template <class V>
inline V to_integral(V value, int mode) {
  switch (mode) {
    case kToNearest: return std::nearbyint(value);
    case kToZero: return std::trunc(value);
    case kDown: return std::floor(value);
    case kUp: return std::ceil(value);
    default: return value;
  }
}

// The value, already integral, clamped to the integer type; NaN becomes zero.
template <class D, class V>
inline D clamp_to(V value) {
  constexpr V top = V(uint64_t(1) << (sizeof(D) * 8 - 1)) * (std::is_signed_v<D> ? 1 : 2);
  if (!(value == value)) return 0;
  if (value >= top) return std::numeric_limits<D>::max();
  if (value < (std::is_signed_v<D> ? -top : V(0))) return std::numeric_limits<D>::min();
  return D(value);
}

template <class D, class S>
inline D clamp_integer(S value) {
  __int128 wide = value;
  if (wide < std::numeric_limits<D>::min()) return std::numeric_limits<D>::min();
  if (wide > std::numeric_limits<D>::max()) return std::numeric_limits<D>::max();
  return D(value);
}

// A double that rounds to a short format as the integer does: low bits of large values become one sticky bit.
template <class S>
inline double with_sticky_bit(S value) {
  if constexpr (sizeof(S) < 8) return double(value);
  uint64_t magnitude = value < 0 ? -uint64_t(value) : uint64_t(value);
  if (magnitude >> 53) magnitude = (magnitude & ~uint64_t(0xFFF)) | (magnitude & 0xFFF ? 0x1000 : 0);
  return value < 0 ? -double(magnitude) : double(magnitude);
}

template <class D>
inline uint64_t put_short(double value, int rounding) {
  return std::is_same_v<D, Half> ? float_to_half(value, rounding) : float_to_bf16(value, rounding);
}

// mode: to which integral values; imm: the rounding of short formats. float and double are rounded by the machine.
template <class D, class S>
uint64_t convert_one(uint64_t bits, int mode, int flags, int rounding) {
  if constexpr (kIsInteger<D> && kIsInteger<S>) {
    return As<D>::put(flags & kSat ? clamp_integer<D>(S(bits)) : D(S(bits)));
  } else if constexpr (kIsInteger<S>) {
    if constexpr (std::is_same_v<D, float> || std::is_same_v<D, double>) return As<D>::put(D(S(bits)));
    else return put_short<D>(with_sticky_bit(S(bits)), rounding);
  } else {
    Value<S> value = As<S>::get(bits);
    if constexpr (std::is_same_v<S, float>) {
      if (flags & kFtz) value = flush(value);
    }
    if constexpr (kIsInteger<D>) {
      return As<D>::put(clamp_to<D>(to_integral(value, mode)));
    } else {
      value = to_integral(value, mode);
      if (flags & kSat) value = value > 0 ? (value < 1 ? value : 1) : 0;
      if ((flags & kRelu) && !(value > 0) && value == value) value = 0;
      if constexpr (std::is_same_v<D, float>) return As<float>::put(flags & kFtz ? flush(float(value)) : float(value));
      else if constexpr (std::is_same_v<D, double>) return As<double>::put(value);
      else return put_short<D>(value, rounding);
    }
  }
}

template <class D, class S>
void convert(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  const int mode = in.mode, flags = in.flags, rounding = int(in.imm);
  each(w, [=](int i) { d[i] = convert_one<D, S>(a[i], mode, flags, rounding); });
}

template <class D>
void to_zero(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = As<D>::put(clamp_to<D>(As<float>::get(a[i]))); });
}

// Two values become the halves of one register, the first the upper one.
template <class D>
void convert_pair(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  const int flags = in.flags, rounding = int(in.imm);
  if (std::is_same_v<D, Bf16> && !flags && rounding == FE_TONEAREST) {
    each(w, [=](int i) {
      d[i] = uint64_t(float_to_bf16_nearest(As<float>::get(a[i]))) << 16 | float_to_bf16_nearest(As<float>::get(b[i]));
    });
    return;
  }
  each(w, [=](int i) {
    d[i] = convert_one<D, float>(a[i], kKeep, flags, rounding) << 16 | convert_one<D, float>(b[i], kKeep, flags, rounding);
  });
}

// flags: 1 rounds halves away from zero; otherwise to even.
void convert_to_tf32(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  const bool away = in.flags;
  each(w, [=](int i) {
    uint32_t bits = uint32_t(a[i]);
    if ((bits & 0x7FFFFFFF) >= 0x7F800000) d[i] = (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits;
    else d[i] = (bits + (away ? 0x1000 : 0xFFF + (bits >> 13 & 1))) & 0xFFFFE000;
  });
}

// cvt.pack: a and b, saturated, become the low values of d, c's low values the high ones.
template <class D, class S>
void convert_pack(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  constexpr int bits = sizeof(D) * 8;
  each(w, [=](int i) {
    const uint64_t high = std::make_unsigned_t<D>(clamp_integer<D>(S(a[i]))), low = std::make_unsigned_t<D>(clamp_integer<D>(S(b[i])));
    d[i] = uint32_t(low | high << bits | (bits == 8 ? c[i] << 16 : 0));
  });
}

template <class S>
Handler convert_to(Type destination) {
  switch (destination) {
    case Type::kU8: return convert<uint8_t, S>;
    case Type::kS8: return convert<int8_t, S>;
    case Type::kU16: return convert<uint16_t, S>;
    case Type::kS16: return convert<int16_t, S>;
    case Type::kU32: return convert<uint32_t, S>;
    case Type::kS32: return convert<int32_t, S>;
    case Type::kU64: return convert<uint64_t, S>;
    case Type::kS64: return convert<int64_t, S>;
    case Type::kF16: return convert<Half, S>;
    case Type::kBf16: return convert<Bf16, S>;
    case Type::kF32: return convert<float, S>;
    case Type::kF64: return convert<double, S>;
    default: return nullptr;
  }
}

Handler conversion(Type destination, Type source) {
  switch (source) {
    case Type::kU8: return convert_to<uint8_t>(destination);
    case Type::kS8: return convert_to<int8_t>(destination);
    case Type::kU16: return convert_to<uint16_t>(destination);
    case Type::kS16: return convert_to<int16_t>(destination);
    case Type::kU32: return convert_to<uint32_t>(destination);
    case Type::kS32: return convert_to<int32_t>(destination);
    case Type::kU64: return convert_to<uint64_t>(destination);
    case Type::kS64: return convert_to<int64_t>(destination);
    case Type::kF16: return convert_to<Half>(destination);
    case Type::kBf16: return convert_to<Bf16>(destination);
    case Type::kF32: return convert_to<float>(destination);
    case Type::kF64: return convert_to<double>(destination);
    default: return nullptr;
  }
}

int rounding_of(const Opcode& op) {
  return op.has("rz") ? FE_TOWARDZERO : op.has("rm") ? FE_DOWNWARD : op.has("rp") ? FE_UPWARD : FE_TONEAREST;
}

bool select_pack(Selection& s) {
  const Opcode& op = s.op;
  Handler& h = s.instr.inner;
  const bool bytes = op.types.size() == 3 && op.types[2] == Type::kB32;
  if (!op.has("sat") || op.types.size() < 2 || op.types[1] != Type::kS32) return false;
  if (op.types[0] == Type::kS8 && bytes) h = convert_pack<int8_t, int32_t>;
  if (op.types[0] == Type::kU8 && bytes) h = convert_pack<uint8_t, int32_t>;
  if (op.types[0] == Type::kS16 && !bytes) h = convert_pack<int16_t, int32_t>;
  if (op.types[0] == Type::kU16 && !bytes) h = convert_pack<uint16_t, int32_t>;
  return h && plain_operands(s, bytes ? 4 : 3);
}

}  // namespace

bool select_convert(Selection& s) {
  const Opcode& op = s.op;
  if (op.name == "cvt" && op.has("pack")) return select_pack(s);
  if (op.name != "cvt" || op.types.size() != 2) return false;
  const Type destination = op.types[0], source = op.types[1];
  Instr& in = s.instr;
  in.flags = uint8_t((op.has("sat") ? kSat : 0) | (op.has("ftz") ? kFtz : 0) | (op.has("relu") ? kRelu : 0));
  in.mode = op.has("rni") ? kToNearest : op.has("rzi") ? kToZero : op.has("rmi") ? kDown : op.has("rpi") ? kUp : kKeep;
  in.imm = rounding_of(op);
  if (destination == Type::kF16x2 || destination == Type::kBf16x2) {
    in.inner = destination == Type::kF16x2 ? convert_pair<Half> : convert_pair<Bf16>;
    return source == Type::kF32 && plain_operands(s, 3);
  }
  if (destination == Type::kTf32) {
    if (in.flags) return false;
    in.flags = op.has("rna");
    in.inner = convert_to_tf32;
    return source == Type::kF32 && plain_operands(s, 2);
  }
  in.inner = conversion(destination, source);
  if (source == Type::kF32 && in.mode == kToZero && !in.flags) {
    if (destination == Type::kS32) in.inner = to_zero<int32_t>;
    if (destination == Type::kU32) in.inner = to_zero<uint32_t>;
    if (destination == Type::kS64) in.inner = to_zero<int64_t>;
  }
  if (destination == Type::kF32 || destination == Type::kF64) in.rounding = int(in.imm);
  return in.inner && plain_operands(s, 2);
}

}  // namespace ptx
