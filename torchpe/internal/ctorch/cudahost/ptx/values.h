// How values of PTX's types are read from and written to registers of 64 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "machine.h"

namespace ptx {

struct Half {};
struct Bf16 {};
struct Tf32 {};

template <class To, class From>
inline To bits_to(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Rounds to a format of that many exponent and mantissa bits, by the current mode of the argument (FE_...).
uint32_t round_to(double value, int exponent_bits, int mantissa_bits, int rounding);
float half_to_float(uint16_t bits);

inline float bf16_to_float(uint16_t bits) { return bits_to<float>(uint32_t(bits) << 16); }
inline uint16_t float_to_half(double value, int rounding = 0) { return uint16_t(round_to(value, 5, 10, rounding)); }
inline uint16_t float_to_bf16(double value, int rounding = 0) { return uint16_t(round_to(value, 8, 7, rounding)); }
inline uint16_t float_to_bf16_nearest(float value) {
  uint32_t bits = bits_to<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFF;
  return uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// V is the type in which values are computed.
template <class T>
struct As {
  using V = T;
  static V get(uint64_t bits) { return T(bits); }
  static uint64_t put(V value) { return uint64_t(int64_t(value)); }
};
template <>
struct As<float> {
  using V = float;
  static V get(uint64_t bits) { return bits_to<float>(uint32_t(bits)); }
  static uint64_t put(V value) { return value == value ? bits_to<uint32_t>(value) : 0x7FFFFFFFu; }
};
template <>
struct As<double> {
  using V = double;
  static V get(uint64_t bits) { return bits_to<double>(bits); }
  static uint64_t put(V value) { return bits_to<uint64_t>(value); }
};
template <>
struct As<Half> {
  using V = double;
  static V get(uint64_t bits) { return half_to_float(uint16_t(bits)); }
  static uint64_t put(V value) { return float_to_half(value); }
};
template <>
struct As<Bf16> {
  using V = double;
  static V get(uint64_t bits) { return bf16_to_float(uint16_t(bits)); }
  static uint64_t put(V value) { return float_to_bf16(value); }
};

template <class T>
using Value = typename As<T>::V;

template <class T, class Op>
void unary(Warp& w, const Instr& in) {
  const uint64_t* a = w.in(in.a);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = As<T>::put(Op::of(As<T>::get(a[i]))); });
}

template <class T, class Op>
void binary(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = As<T>::put(Op::of(As<T>::get(a[i]), As<T>::get(b[i]))); });
}

template <class T, class Op>
void ternary(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = As<T>::put(Op::of(As<T>::get(a[i]), As<T>::get(b[i]), As<T>::get(c[i]))); });
}

// The same on both 16-bit halves of a register; Op takes Count arguments.
template <class T, class Op, int Count>
void packed(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t* d = w.out(in.d);
  auto half = [=](int i, int shift) -> uint64_t {
    Value<T> x = As<T>::get(a[i] >> shift), y = Count > 1 ? As<T>::get(b[i] >> shift) : x, z = Count > 2 ? As<T>::get(c[i] >> shift) : x;
    if constexpr (Count == 1) return As<T>::put(Op::of(x)) << shift;
    if constexpr (Count == 2) return As<T>::put(Op::of(x, y)) << shift;
    if constexpr (Count == 3) return As<T>::put(Op::of(x, y, z)) << shift;
    (void)y, (void)z;
  };
  each(w, [=](int i) { d[i] = half(i, 0) | half(i, 16); });
}

// Calls f with a value of the integer type named, bit types as unsigned ones.
template <class F>
Handler for_integer(Type type, F f) {
  switch (type) {
    case Type::kB16: case Type::kU16: return f(uint16_t());
    case Type::kB32: case Type::kU32: return f(uint32_t());
    case Type::kB64: case Type::kU64: return f(uint64_t());
    case Type::kS16: return f(int16_t());
    case Type::kS32: return f(int32_t());
    case Type::kS64: return f(int64_t());
    default: return nullptr;
  }
}

// Sets d, a, b, c from the operands, which must be that many plain values.
bool plain_operands(Selection& s, size_t count);

}  // namespace ptx
