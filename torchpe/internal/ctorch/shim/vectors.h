// vectors.h: vector registers of the instruction set TORCHPE_ISA, for kernels.cc, and functions on
// them: sums and maxima across a register, exp, and the partial register at the end of a row.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef TORCHPE_ISA
#error "TORCHPE_ISA names the instruction set this file is compiled for"
#endif

namespace torchpe {
namespace TORCHPE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX2__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif

// A vector register of T.
template <typename T>
struct Vec {
  typedef T type __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  static constexpr int width = VECTOR_BYTES / int(sizeof(T));
};

template <typename T>
using V = typename Vec<T>::type;

// A vector of integers of T's size.
template <typename T>
struct Ints {
  typedef typename std::conditional<sizeof(T) == 4, int32_t, int64_t>::type element;
  typedef element type __attribute__((vector_size(VECTOR_BYTES), may_alias));
};

template <typename T>
inline V<T> load(const T* p) {
  return *reinterpret_cast<const V<T>*>(p);
}

template <typename T>
inline void store(T* p, V<T> v) {
  *reinterpret_cast<V<T>*>(p) = v;
}

// Numbers of a vector's elements: i ^ step for each, in memory, as compilers make such vectors an
// element at a time.
template <typename T>
struct Lanes {
  static constexpr int width = Vec<T>::width;
  alignas(VECTOR_BYTES) typename Ints<T>::element by_step[width][width] = {};
  constexpr Lanes() {
    for (int step = 0; step < width; step++)
      for (int i = 0; i < width; i++) by_step[step][i] = i ^ step;
  }
  typename Ints<T>::type at(int step) const {
    return *reinterpret_cast<const typename Ints<T>::type*>(by_step[step]);
  }
};

template <typename T>
constexpr Lanes<T> lanes;

// f of all elements, two halves at a time, in every element.
template <typename T, typename F>
inline V<T> across(V<T> v, F&& f) {
#pragma GCC unroll 8
  for (int half = Vec<T>::width / 2; half > 0; half /= 2) v = f(v, __builtin_shuffle(v, lanes<T>.at(half)));
  return v;
}

template <typename T>
inline V<T> sum_across(V<T> v) {
  return across<T>(v, [](V<T> a, V<T> b) { return a + b; });
}

template <typename T>
inline V<T> larger(V<T> a, V<T> b) {
  return a > b ? a : b;
}

// The sum of f over columns 0 to n-1, in as many parts as a vector has elements, so that the order of
// additions is fixed. f takes what reads a column of an array, a vector of them or one.
template <typename T, typename F>
inline T lane_sum(int64_t n, const F& f) {
  V<T> sum = {};
  int64_t c = 0;
  for (; c + Vec<T>::width <= n; c += Vec<T>::width) sum += f([c](const T* p) { return load(p + c); });
  T rest = 0;
  for (; c < n; c++) rest += f([c](const T* p) { return p[c]; });
  return sum_across<T>(sum)[0] + rest;
}

// exp(r) - 1 - r over r^2 for |r| <= log(2)/2: Cephes expf's coefficients, about 1 ulp of exp;
// Taylor's in double, whose next term is below 1e-17.
inline V<float> exp_rest(V<float> r) {
  V<float> p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}

inline V<double> exp_rest(V<double> r) {
  V<double> p = r * (1 / 6227020800.) + 1 / 479001600.;  // 1/13!, 1/12!
  p = p * r + 1 / 39916800.;
  p = p * r + 1 / 3628800.;
  p = p * r + 1 / 362880.;
  p = p * r + 1 / 40320.;
  p = p * r + 1 / 5040.;
  p = p * r + 1 / 720.;
  p = p * r + 1 / 120.;
  p = p * r + 1 / 24.;
  p = p * r + 1 / 6.;
  return p * r + 0.5;
}

// exp(x) for x <= 0 (or a rounding above): p = exp of the remainder times 2^n. n is at least the
// exponent that stands for zero, so that the result is 0 where it would be no normal number, and
// for -inf; NaN passes through p.
template <typename T>
inline V<T> exp_below(V<T> x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr int mantissa = single ? 23 : 52, zero = single ? 127 : 1023;  // bits of it, and the exponent's offset
  constexpr T log2 = T(0.693147180559945309417);
  constexpr T log2_high = single ? T(0.693359375) : T(6.93147180369123816490e-01),
              log2_low = single ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
  // 1.5 * 2^mantissa rounds to an integer.
  constexpr T low = -zero * log2, magic = single ? T(12582912.0) : T(6755399441055744.0);
  typedef typename Ints<T>::type I;
  const V<T> y = x < low ? V<T>{} + low : x;
  const V<T> shifted = y * (1 / log2) + magic;
  const V<T> n = shifted - magic;
  const V<T> r = (y - n * log2_high) - n * log2_low;
  const V<T> p = exp_rest(r) * r * r + r + T(1);
  return p * reinterpret_cast<V<T>>((reinterpret_cast<I>(shifted) + zero) << mantissa);
}

// The vector at p, of which n numbers count: the others are `rest`. They are read, too, where
// `readable`.
template <typename T>
inline V<T> load_first(const T* p, int64_t n, bool readable, T rest) {
  constexpr int width = Vec<T>::width;
  if (n >= width) return load(p);
  const V<T> others = V<T>{} + rest;
  if (readable) return lanes<T>.at(0) < typename Ints<T>::element(n) ? load(p) : others;
  T edge[width];
  store(edge, others);
  std::memcpy(edge, p, size_t(n) * sizeof(T));
  return load(edge);
}

// Stores the first n numbers of v, and the others too where `writable`.
template <typename T>
inline void store_first(T* p, V<T> v, int64_t n, bool writable) {
  if (writable || n >= Vec<T>::width) return store(p, v);
  T edge[Vec<T>::width];
  store(edge, v);
  std::memcpy(p, edge, size_t(n) * sizeof(T));
}

}  // namespace
}  // namespace TORCHPE_ISA
}  // namespace torchpe
