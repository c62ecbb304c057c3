// Tests of the interpreter with the kernels of test_kernels.cu: test_ptx test_kernels.ptx
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <sstream>

#include "ptx.h"


namespace {

int failures = 0;
std::shared_ptr<ptx::Module> module;
std::mt19937_64 generator(7);

void expect(bool holds, const std::string& what) {
  if (holds) return;
  if (failures++ < 200) std::printf("FAILED: %s\n", what.c_str());
}

std::shared_ptr<const ptx::Kernel> kernel(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const ptx::Kernel>> known;
  auto& k = known[name];
  if (!k) k = ptx::decode(module, name);
  return k;
}

template <class... Args>
void launch(const std::string& name, ptx::Dim grid, ptx::Dim block, size_t shared, Args... args) {
  const void* pointers[] = {&args..., nullptr};
  auto k = kernel(name);
  expect(ptx::parameters(*k).size() == sizeof...(args), name + ": number of parameters");
  ptx::run(*k, grid, block, shared, pointers);
}

template <class... Args>
void launch_over(int n, const std::string& name, Args... args) {
  launch(name, {uint32_t(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, n, args...);
}

template <class T>
void expect_equal(const std::string& name, size_t i, T got, T wanted) {
  if (std::memcmp(&got, &wanted, sizeof(T)) == 0 || (got != got && wanted != wanted)) return;
  std::ostringstream text;
  text.precision(17);
  text << name << " [" << i << "]: " << +got << " instead of " << +wanted;
  expect(false, text.str());
}

template <class T>
void expect_all(const std::string& name, const std::vector<T>& got, const std::function<T(size_t)>& wanted) {
  for (size_t i = 0; i < got.size(); i++) expect_equal(name, i, got[i], wanted(i));
}

template <class T>
std::vector<T> random_integers(size_t n) {
  const T edges[] = {0, 1, T(-1), T(T(1) << (sizeof(T) * 8 - 1)), T(~(T(1) << (sizeof(T) * 8 - 1))), 31, 32, 33, 63, 5, 0xFF, 0x8000,
      0xFFFF};
  std::vector<T> v(n);
  for (auto& x : v) x = generator() % 4 == 0 ? edges[generator() % 13] : generator() % 4 == 0 ? T(generator() % 64) : T(generator());
  return v;
}

template <class T>
std::vector<T> random_floats(size_t n) {
  using L = std::numeric_limits<T>;
  const T edges[] = {0, T(-0.0), 1, -1, L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(), -L::min(), L::max(),
      L::lowest(), T(0.5),
                     T(2.5), T(-1.5), T(65504), T(65519.9), T(65520), T(6e-8), T(3e-8), T(2147483648.0), T(-2147483904.0), T(1e19)};
  std::vector<T> v(n);
  for (auto& x : v) {
    const uint64_t bits = generator();
    if (generator() % 4 == 0) x = edges[generator() % 22];
    else if (generator() % 2) x = T(int64_t(bits)) * T(1e-15);
    else std::memcpy(&x, &bits, sizeof x);
  }
  return v;
}

// ---- What the arithmetic kernels should give.

uint32_t bit_field(uint32_t a, uint32_t position, uint32_t length, bool is_signed) {
  uint32_t sign = is_signed && length ? a >> std::min(position + length - 1, 31u) & 1 : 0, r = 0;
  for (uint32_t k = 0; k < 32; k++) r |= (k < length && position + k < 32 ? a >> (position + k) & 1 : sign) << k;
  return r;
}

uint32_t insert_field(uint32_t a, uint32_t b, uint32_t position, uint32_t length) {
  for (uint32_t k = 0; k < length && position + k < 32; k++)
    b = (b & ~(1u << (position + k))) | (a >> k & 1) << (position + k);
  return b;
}

uint32_t byte_permutation(uint32_t a, uint32_t b, uint32_t selector) {
  uint8_t bytes[8], out[4];
  std::memcpy(bytes, &a, 4);
  std::memcpy(bytes + 4, &b, 4);
  for (int k = 0; k < 4; k++) out[k] = bytes[selector >> 4 * k & 7];
  uint32_t r;
  std::memcpy(&r, out, 4);
  return r;
}

template <class T>
T reversed(T a) {
  T r = 0;
  for (size_t k = 0; k < sizeof(T) * 8; k++) r |= (a >> k & 1) << (sizeof(T) * 8 - 1 - k);
  return r;
}

int32_t signed24(uint32_t a) { return int32_t(a << 8) >> 8; }

std::vector<uint32_t> wanted_integers(uint32_t a, uint32_t b) {
  const int32_t s = int32_t(a), t = int32_t(b);
  const uint32_t shift = b & 63, by = b >> 3 & 31, clamped = std::min(b & 63, 32u);
  const uint64_t both = uint64_t(b) << 32 | a;
  std::vector<uint32_t> w = {a + b, a - b, a * b, uint32_t(uint64_t(a) * b >> 32), uint32_t(int64_t(s) * t >> 32)};
  w.insert(w.end(), {b ? a / b : 7, b ? a % b : 7, t && t != -1 ? uint32_t(s / t) : 7, t && t != -1 ? uint32_t(s % t) : 7});
  w.insert(w.end(), {shift < 32 ? a << shift : 0, shift < 32 ? a >> shift : 0, uint32_t(s >> std::min(shift, 31u))});
  w.insert(w.end(), {bit_field(a, b & 0xFF, b >> 8 & 0x3F, false), bit_field(a, b & 0xFF, b >> 8 & 0x3F, true)});
  w.insert(w.end(), {insert_field(a, b, b & 0x3F, b >> 8 & 0x3F), byte_permutation(a, b, a ^ b)});
  w.insert(w.end(), {uint32_t(__builtin_popcount(a)), uint32_t(a ? __builtin_clz(a) : 32), reversed(a), uint32_t(__builtin_ffs(s))});
  w.insert(w.end(), {uint32_t(both << by >> 32), uint32_t(both >> by), uint32_t(both << clamped >> 32), uint32_t(both >> clamped)});
  w.insert(w.end(), {(a & b) ^ (a * 5), uint32_t(std::min(s, t)), std::max(a, b), s < 0 ? 0 - a : a});
  w.insert(w.end(), {uint32_t(std::llabs(int64_t(s) - t)) + 3, uint32_t(std::llabs(int64_t(a) - int64_t(b))) + 3});
  w.insert(w.end(), {uint32_t(signed24(a)) * uint32_t(signed24(b)), (a & 0xFFFFFF) * (b & 0xFFFFFF), s < t, a <= b});
  uint32_t dots = 1, dotu = 1;
  for (int k = 0; k < 32; k += 8) {
    dots += uint32_t(int32_t(int8_t(a >> k)) * int8_t(b >> k));
    dotu += uint32_t(uint8_t(a >> k)) * uint8_t(b >> k);
  }
  w.insert(w.end(), {dots, dotu, (shift < 32 ? a >> shift : 0) + b});
  w.insert(w.end(), {(a & 0xFFFF) * (b & 0xFFFF), uint32_t(int16_t(a) * int16_t(b)), (a + b) & 0xFFFF, uint32_t(int8_t(a)),
      uint32_t(int16_t(a) >> (b & 15))});
  const uint32_t unsign = s < 0 ? ~a : a;
  w.insert(w.end(), {a ? 31u - uint32_t(__builtin_clz(a)) : ~0u, unsign ? uint32_t(__builtin_clz(unsign)) : ~0u});
  w.push_back(uint32_t(std::min(127, std::max(-128, s))));
  return w;
}

std::vector<uint64_t> wanted_longs(uint64_t a, uint64_t b) {
  const int64_t s = int64_t(a), t = int64_t(b);
  const unsigned __int128 p = (unsigned __int128)a * b + a;
  std::vector<uint64_t> w = {a + b, a - b, a * b, uint64_t(((unsigned __int128)a * b) >> 64), uint64_t(((__int128)s * t) >> 64)};
  w.insert(w.end(), {b ? a / b : 7, b ? a % b : 7, t && t != -1 ? uint64_t(s / t) : 7, t && t != -1 ? uint64_t(s % t) : 7});
  w.insert(w.end(), {a << (b & 63), a >> (b & 63), uint64_t(s >> (b & 63)), uint64_t(__builtin_popcountll(a))});
  w.insert(w.end(), {uint64_t(a ? __builtin_clzll(a) : 64), reversed(a), uint64_t(__builtin_ffsll(s))});
  w.insert(w.end(), {uint64_t(std::min(s, t)), std::max(a, b), s < t, a > b, uint64_t(uint32_t(a)) * uint32_t(b)});
  w.insert(w.end(), {uint64_t(int64_t(int32_t(a)) * int32_t(b)), uint64_t(p >> 64), uint64_t(p)});
  return w;
}

template <class T>
T in_mode(int mode, T a, T b, bool product) {
  std::fesetround(mode);
  volatile T x = a, y = b, r = product ? x * y : x + y;
  std::fesetround(FE_TONEAREST);
  return r;
}

template <class T>
std::vector<T> wanted_floats(T a, T b, T c) {
  std::vector<T> w = {a + b, a - b, a * b, a / b, std::fma(a, b, c), std::sqrt(a), T(1) / a};
  w.insert(w.end(), {in_mode(FE_TOWARDZERO, a, b, false), in_mode(FE_UPWARD, a, b, false), in_mode(FE_DOWNWARD, a, b, true)});
  T low = std::fmin(a, b), high = std::fmax(a, b);
  if (a == b) low = std::signbit(a) ? a : b, high = std::signbit(a) ? b : a;
  if (a != a) low = high = b;  // the host's functions treat signalling NaNs differently
  if (b != b) low = high = a;
  w.insert(w.end(), {low, high, -a, std::fabs(a), std::copysign(a, b), std::trunc(a), std::floor(a), std::ceil(a), std::rint(a)});
  return w;
}

template <class I, class T>
I saturated(T a) {
  if (a != a) return 0;
  const long double wide = std::trunc((long double)a);
  if (wide >= (long double)std::numeric_limits<I>::max()) return std::numeric_limits<I>::max();
  if (wide <= (long double)std::numeric_limits<I>::min()) return std::numeric_limits<I>::min();
  return I(wide);
}

template <class T>
std::vector<int64_t> wanted_rounded(T a, T b, T c) {
  std::vector<int64_t> w = {saturated<int32_t>(a), saturated<uint32_t>(a), saturated<int64_t>(a), int64_t(saturated<uint64_t>(a))};
  w.push_back((a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5 | !(a < b) << 6 | !(a >= b) << 7);
  w.push_back(std::isnan(a) | std::isinf(b) << 1 | std::signbit(c) << 2);
  w.push_back(saturated<int64_t>(std::rint(a)));
  return w;
}

// Rounds to a short format by looking for the neighbours among all values of the format.
uint16_t short_float(double value, int exponent_bits, int mantissa_bits, int mode) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int top = ((1 << exponent_bits) - 1) << mantissa_bits;
  if (value != value) return 0x7FFF;
  auto value_of = [&](int bits) {
    const int e = bits >> mantissa_bits, m = bits & ((1 << mantissa_bits) - 1);
    return e ? std::ldexp(m + (1 << mantissa_bits), e - bias - mantissa_bits) : std::ldexp(m, 1 - bias - mantissa_bits);
  };
  const double size = std::fabs(value);
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isinf(value)) return uint16_t(sign | top);
  int low = 0, high = top;  // value_of(top) is the first value that is too large
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(middle) <= size ? low : high) = middle;
  }
  if (value_of(low) == size) return uint16_t(sign | low);
  const double below = size - value_of(low), above = value_of(high) - size;
  bool up = below > above || (below == above && low % 2);
  if (mode == FE_TOWARDZERO) up = false;
  if (mode == FE_UPWARD) up = !sign;
  if (mode == FE_DOWNWARD) up = sign;
  return uint16_t(sign | (up ? high : low));
}
uint16_t half_of(double value, int mode = FE_TONEAREST) { return short_float(value, 5, 10, mode); }
uint16_t bf16_of(double value, int mode = FE_TONEAREST) { return short_float(value, 8, 7, mode); }
double half_value(uint16_t bits) {
  const int e = bits >> 10 & 31, m = bits & 1023;
  double v = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(m + 1024, e - 25) : std::ldexp(m, -24);
  return bits & 0x8000 ? -v : v;
}
float bf16_value(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float v;
  std::memcpy(&v, &wide, 4);
  return v;
}

template <class T>
__attribute__((noinline)) T narrowed(double value, int mode) {
  volatile double from = value;
  std::fesetround(mode);
  volatile T r = T(from);
  std::fesetround(FE_TONEAREST);
  return r;
}

constexpr int kCount = 5000;

template <class T, class Wanted>
void test_table(const std::string& name, const std::vector<T>& got, Wanted wanted) {
  for (size_t i = 0; i < kCount; i++) {
    const std::vector<T> row = wanted(i);
    for (size_t k = 0; k < row.size(); k++) expect_equal(name + " " + std::to_string(k), i, got[k * kCount + i], row[k]);
  }
}

void test_integers() {
  auto x = random_integers<uint32_t>(kCount), y = random_integers<uint32_t>(kCount);
  std::vector<uint32_t> out(kCount * wanted_integers(1, 1).size());
  launch_over(kCount, "integers32", x.data(), y.data(), out.data());
  test_table("integers32", out, [&](size_t i) { return wanted_integers(x[i], y[i]); });
  auto u = random_integers<uint64_t>(kCount), v = random_integers<uint64_t>(kCount);
  std::vector<uint64_t> wide(kCount * wanted_longs(1, 1).size());
  launch_over(kCount, "integers64", u.data(), v.data(), wide.data());
  test_table("integers64", wide, [&](size_t i) { return wanted_longs(u[i], v[i]); });
}

template <class T>
void test_floats(const std::string& name) {
  auto x = random_floats<T>(kCount), y = random_floats<T>(kCount), z = random_floats<T>(kCount);
  std::vector<T> out(kCount * 19);
  std::vector<int64_t> ints(kCount * 7);
  launch_over(kCount, name, x.data(), y.data(), z.data(), out.data(), ints.data());
  test_table(name, out, [&](size_t i) { return wanted_floats(x[i], y[i], z[i]); });
  test_table(name + " to integers", ints, [&](size_t i) { return wanted_rounded(x[i], y[i], z[i]); });
}

void test_conversions() {
  auto f = random_floats<float>(kCount);
  auto d = random_floats<double>(kCount);
  auto s = random_integers<uint64_t>(kCount);
  std::vector<float> out(kCount * 10);
  std::vector<double> wide(kCount * 3);
  std::vector<uint16_t> half(kCount * 12);
  launch_over(kCount, "conversions", f.data(), d.data(), s.data(), out.data(), wide.data(), half.data());
  test_table("to float", out, [&](size_t i) {
    const float saturated = f[i] > 0 ? std::min(f[i], 1.0f) : 0.0f;
    return std::vector<float>{float(d[i]), float(int64_t(s[i])), float(s[i]), float(int32_t(s[i])), float(uint32_t(s[i])),
        narrowed<float>(d[i], FE_TOWARDZERO),
                              narrowed<float>(d[i], FE_UPWARD), saturated, float(half_value(uint16_t(s[i]))), bf16_value(uint16_t(s[i]))};
  });
  test_table("to double", wide, [&](size_t i) { return std::vector<double>{double(f[i]), double(int64_t(s[i])), double(s[i])}; });
  test_table("to half", half, [&](size_t i) {
    const double x = half_value(uint16_t(s[i])), y = half_value(uint16_t(s[i] >> 16));
    return std::vector<uint16_t>{half_of(f[i]), half_of(f[i], FE_TOWARDZERO), half_of(f[i], FE_UPWARD), half_of(f[i], FE_DOWNWARD),
        bf16_of(f[i]),
                                 bf16_of(f[i], FE_TOWARDZERO), bf16_of(f[i]), bf16_of(-f[i]), half_of(x + y), half_of(x * y), half_of(x + y),
                                     half_of(y + y)};
  });
}

template <class T>
void test_functions(const std::string& name, double ulps) {
  std::vector<T> x(kCount), y(kCount), out(kCount * 15);
  std::uniform_real_distribution<T> range(-20, 20);
  for (auto& v : x) v = range(generator);
  for (auto& v : y) v = range(generator);
  launch_over(kCount, name, x.data(), y.data(), out.data());
  const char* names[] = {"exp", "log", "erf", "tanh", "pow", "sin", "cos", "log1p", "expm1", "rsqrt", "cbrt", "atan2", "sin of large",
      "lgamma", "fmod"};
  double worst[15] = {};
  for (size_t i = 0; i < kCount; i++) {
    const T a = x[i], b = y[i], thousand = a * 1000, large = a * T(1e9), hundred = a * 100;
    using L = long double;
    const L m = std::fabs(L(a));
    const L wanted[] = {std::exp(L(a)), std::log(m), std::erf(L(a)), std::tanh(L(a)), std::pow(m, L(b)), std::sin(L(a)),
        std::cos(L(thousand)), std::log1p(m),
                        std::expm1(L(a)), 1 / std::sqrt(m), std::cbrt(L(a)), std::atan2(L(a), L(b)), std::sin(L(large)),
                            std::lgamma(m), std::fmod(L(hundred), L(b))};
    for (size_t k = 0; k < 15; k++) {
      const T nearest = T(wanted[k]), got = out[k * kCount + i];
      if (got == nearest || (k == 13 && std::fabs(wanted[k]) < 0.1)) continue;
      const T unit = std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity()) - std::fabs(nearest);
      worst[k] = std::max(worst[k], double(std::fabs(got - wanted[k]) / unit));
    }
  }
  for (size_t k = 0; k < 15; k++) expect(worst[k] < ulps + 4 * (k == 4 || k == 13),
      name + ": " + names[k] + " is off by " + std::to_string(worst[k]) + " units");
}

// ---- Blocks and warps.

void test_block_sum() {
  const int n = 12345;
  std::vector<float> x(n), out(3);
  double sum = 0;
  for (auto& v : x) sum += v = float(generator() % 1000) / 8;
  launch("block_sum", {3, 1, 1}, {256, 1, 1}, 0, n, (const float*)x.data(), out.data());
  expect_equal("block_sum", 0, double(out[0]) + out[1] + out[2], sum);
}

void test_warps() {
  std::vector<uint32_t> x(64), out(64 * 8);
  for (auto& v : x) v = generator() % 60;
  launch("warp_votes", {1, 1, 1}, {64, 1, 1}, 0, x.data(), out.data());
  uint32_t odd = 0, five = 0;
  for (auto v : x) odd += v & 1, five |= v == 5;
  for (size_t i = 0; i < 64; i++) {
    const uint32_t* warp = &x[i & 32];
    const size_t lane = i % 32;
    uint32_t ballot = 0, any = 0, same = 0, sum = 0, most = 0, even = 0, second = 0;
    for (size_t k = 0; k < 32; k++) {
      ballot |= (warp[k] & 1) << k, any |= warp[k] == 5, sum += warp[k], most = std::max(most, warp[k]);
      same |= uint32_t((warp[k] & 3) == (x[i] & 3)) << k;
      even |= uint32_t(!(warp[k] & 1)) << k, second |= uint32_t((warp[k] & 3) == 2) << k;
    }
    expect_equal("ballot", i, out[i], ballot);
    expect_equal("any, all", i, out[64 + i], any | 2);
    expect_equal("shfl.idx", i, out[128 + i], warp[(lane & 24) | ((lane + 1) % 8)]);
    expect_equal("shfl.up", i, out[192 + i], warp[lane % 16 < 3 ? lane : lane - 3]);
    expect_equal("match", i, out[256 + i], same);
    expect_equal("redux", i, out[320 + i], sum + most);
    expect_equal("activemask", i, out[384 + i], x[i] & 1 ? ballot : second & even);
    expect_equal("bar.red", i, out[448 + i], odd + 1000 * five + 10000 * (x[i] % 7 > 0));
  }
  launch("warp_split", {1, 1, 1}, {32, 1, 1}, 0, out.data());
  for (uint32_t i = 0; i < 32; i++) expect_equal("warp_split", i, out[i], (i + 2) % 32 + (i % 2 ? 1 : 30));
}

void test_divergence() {
  auto x = random_integers<uint32_t>(kCount);
  for (auto& v : x) v %= 100000;
  std::vector<uint32_t> out(kCount);
  launch_over(kCount, "collatz", x.data(), out.data());
  expect_all<uint32_t>("collatz", out, [&](size_t i) {
    uint32_t steps = 0;
    for (uint64_t v = x[i]; v > 1; steps++) v = v % 2 ? 3 * v + 1 : v / 2;
    return steps;
  });
}

void test_atomics() {
  const int n = 1000;
  std::vector<int> x(n), ints(16 + n);
  for (auto& v : x) v = int(generator() % 2001) - 1000;
  ints[1] = 5000, ints[2] = -5000, ints[7] = -1;
  float f = 0;
  double d = 0;
  uint64_t wide = 0;
  uint16_t halves[2] = {};
  int sum = 0, low = 5000, high = -5000, parity = 0, all = 0, common = -1, third = 0;
  uint32_t up = 0, down = 0;
  for (int v : x) {
    sum += v, low = std::min(low, v), high = std::max(high, v), parity ^= v, all |= v, common &= v, third += v % 3;
    up = up >= 9 ? 0 : up + 1;
    down = down == 0 || down > 6 ? 6 : down - 1;
  }
  launch_over(n, "atomics", x.data(), ints.data(), &f, &d, &wide, halves);
  const int wanted[] = {sum, low, high, parity, int(up), int(down), all, common, n, third};
  for (size_t k = 0; k < 10; k++) expect_equal("atomics", k, ints[k], wanted[k]);
  std::vector<bool> seen(n);
  for (int i = 0; i < n; i++) seen[size_t(ints[16 + i])] = true;
  expect(seen == std::vector<bool>(n, true), "atomics: old values");
  expect(f == float(sum) && d == sum && wide == uint64_t(sum), "atomics: float, double, long");
  expect(half_value(halves[0]) == 1000 && half_value(halves[1]) == 2000, "atomics: half2");
  int bins[16] = {}, counted[16] = {};
  for (int v : x) counted[v & 15]++;
  launch("histogram", {1, 1, 1}, {96, 1, 1}, 0, n, x.data(), bins);
  expect(!std::memcmp(bins, counted, sizeof bins), "histogram");
}

int wanted_switch(int v, int* other) {
  const uint32_t u = uint32_t(v);
  switch (v & 15) {
    case 0: return int(u * 3);
    case 1: return v ^ 0x55;
    case 2: return v / 7;
    case 3: *other = v; return 1;
    case 4: return __builtin_popcount(u);
    case 5: return v % 11;
    case 6: *other = 5; return v >> 3;
    case 7: return v ? __builtin_clz(u) : 32;
    case 8: return int(u - 100);
    case 9: *other = int(u + u); return int(0 - u);
    default: return 77;
  }
}

void test_control() {
  auto bits = random_integers<uint32_t>(kCount);
  std::vector<int> x(bits.begin(), bits.end()), ints(kCount), both(kCount * 2, -9);
  std::vector<double> doubles(kCount);
  launch_over(kCount, "calls", x.data(), ints.data(), doubles.data());
  for (size_t i = 0; i < kCount; i++) {
    const uint32_t v = bits[i], first = v & 1 ? v * v + 1 : v;
    expect_equal("calls", i, uint32_t(ints[i]), first + (v * 5 + 1) * 2);
    expect_equal("calls", i, doubles[i], v & 1 ? 3.0 / int32_t(v + 1) : 3.0);
  }
  launch_over(kCount, "indirect", x.data(), ints.data());
  for (size_t i = 0; i < kCount; i++) expect_equal("indirect", i, uint32_t(ints[i]),
      bits[i] & 1 ? bits[i] * uint32_t(i) : bits[i] + uint32_t(i));
  launch_over(kCount, "switches", x.data(), both.data());
  for (size_t i = 0; i < kCount; i++) {
    int other = -9;
    expect_equal("switches", i, both[i], wanted_switch(x[i], &other));
    expect_equal("switches, other", i, both[kCount + i], other);
  }
  launch_over(kCount, "local_array", x.data(), ints.data());
  for (size_t i = 0; i < kCount; i++) {
    uint32_t values[16], sum = 0;
    for (uint32_t k = 0; k < 16; k++) values[(k * 7 + bits[i]) & 15] = k * bits[i];
    for (int k = 0; k < 5; k++) sum = sum * 3 + values[(x[i] >> k) & 15];
    expect_equal("local_array", i, uint32_t(ints[i]), sum);
  }
}

uint32_t halves(uint16_t low, uint16_t high) { return low | uint32_t(high) << 16; }

std::vector<uint32_t> wanted_seldom(uint32_t a, uint32_t b, uint32_t c) {
  const uint16_t al = uint16_t(a), ah = uint16_t(a >> 16), bl = uint16_t(b), bh = uint16_t(b >> 16);
  auto not_greater = [](uint16_t x, uint16_t y) { return uint16_t(half_value(x) <= half_value(y) ? 0xFFFF : 0); };
  auto fused = [](uint16_t x, uint16_t y, uint16_t z) {
    return bf16_of(std::fma(double(bf16_value(x)), double(bf16_value(y)), double(bf16_value(z))));
  };
  auto product = [](uint16_t x, uint16_t y) { return half_of(half_value(x) * half_value(y)); };
  auto lesser = [](uint16_t x, uint16_t y) {
    const double p = half_value(x), q = half_value(y);
    return p == 0 && q == 0 ? uint16_t(x | y) : half_of(p < q || q != q ? p : q);
  };
  auto byte = [](uint32_t v) { return uint32_t(uint8_t(std::min(127, std::max(-128, int32_t(v))))); };
  const bool p = !(int32_t(b) < int32_t(c)), above = a >= b;
  std::vector<uint32_t> w = {halves(not_greater(al, bl), not_greater(ah, bh))};
  w.push_back(halves(fused(al, bl, uint16_t(c)), fused(ah, bh, uint16_t(c >> 16))));
  w.insert(w.end(), {halves(product(al, bl), product(ah, bh)), halves(lesser(al, bl), lesser(ah, bh)), byte(b) | byte(a) << 8 | c << 16});
  w.insert(w.end(), {uint32_t(above || p) + 2 * (!above || p), a << 16 | a >> 16, c - 7 - (a < b), int32_t(c) >= 0 ? a : b});
  w.push_back((a & 0x7FFFFFFF) != 0 && (a & 0x7FFFFFFF) < 0x800000);
  w.push_back(uint32_t(std::min<int64_t>(INT32_MAX, std::max<int64_t>(INT32_MIN, int64_t(int32_t(a)) + int32_t(b)))));
  w.push_back(c & 1 ? (a & 0xFFFF0000) | a >> 16 : (a & 0xFFFF) | a << 16);
  uint32_t third = ~0u;
  for (uint32_t k = 0, seen = 0; k < 32; k++)
    if (a >> k & 1 && ++seen == 3) third = k;
  float f, g;
  std::memcpy(&f, &a, 4);
  std::memcpy(&g, &b, 4);
  w.insert(w.end(), {8, third, insert_field(a, b, 4, 8), !(f <= g) ? ~0u : 0});
  return w;
}

void test_seldom() {
  auto x = random_integers<uint32_t>(kCount), y = random_integers<uint32_t>(kCount), z = random_integers<uint32_t>(kCount);
  std::vector<uint32_t> out(kCount * wanted_seldom(1, 1, 1).size());
  launch_over(kCount, "seldom", x.data(), y.data(), z.data(), out.data());
  test_table("seldom", out, [&](size_t i) { return wanted_seldom(x[i], y[i], z[i]); });
}

struct Settings {
  float values[8];
  int more[3];
};

void test_params() {
  const Settings s = {{1, 2, 4, 8, 16, 32, 64, 128}, {1000, 2000, 3000}};
  auto bits = random_integers<uint32_t>(200);
  std::vector<int> x(bits.begin(), bits.end());
  for (auto name : {"from_params", "from_constant_params"}) {
    std::vector<float> out(200);
    launch(name, {2, 1, 1}, {100, 1, 1}, 0, s, 200, x.data(), out.data());
    for (size_t i = 0; i < 200; i++) expect_equal(name, i, out[i], s.values[x[i] & 7] + float(s.more[(x[i] & 15) % 3]));
  }
}

void test_memory() {
  const int n = 300;
  alignas(16) static float x[n * 4], out[n * 4];
  alignas(16) static double d[n * 2];
  alignas(16) static uint16_t h[n * 4];
  for (auto& v : x) v = float(generator() % 1000);
  for (auto& v : h) v = uint16_t(generator());
  launch_over(n, "vectors", x, h, out, d);
  for (size_t i = 0; i < n; i++) {
    const float* v = x + 4 * i;
    const uint16_t* w = h + 4 * i;
    const float wanted[] = {v[3], v[2] + w[0], v[1] + w[1], v[0] + w[3]};
    for (size_t k = 0; k < 4; k++) expect_equal("vectors", i, out[4 * i + k], wanted[k]);
    expect_equal("vectors", i, d[2 * i] * 100000 + d[2 * i + 1], v[0] * 100000.0 + w[2]);
  }
  int read[16];
  launch("constants", {1, 1, 1}, {16, 1, 1}, 0, read);
  launch("constants", {1, 1, 1}, {16, 1, 1}, 0, read);
  const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
  for (size_t i = 0; i < 16; i++) expect_equal("constants", i, read[i], table[i % 8]);
  size_t size = 0;
  int* counter = static_cast<int*>(ptx::variable(*module, "counter", &size));
  expect(counter && *counter == 42 && size == 4, "variable");
  expect(!ptx::variable(*module, "nothing", &size), "variable that does not exist");
  std::vector<double> from(128), to(128);
  for (size_t i = 0; i < 128; i++) from[i] = double(i);
  launch("reverse", {1, 1, 1}, {128, 1, 1}, 128 * 8, from.data(), to.data());
  for (size_t i = 0; i < 128; i++) expect_equal("reverse", i, to[i], 2.0 * double(127 - i));
  launch("reverse_without_barrier", {1, 1, 1}, {128, 1, 1}, 128 * 8, from.data(), to.data());
  bool differs = false;
  for (size_t i = 0; i < 128; i++) differs |= to[i] != double(127 - i);
  expect(differs, "a missing barrier shows");
  std::vector<int> flags(64);
  launch("spin", {1, 1, 1}, {64, 1, 1}, 0, flags.data());
  expect(flags == std::vector<int>(64, 7), "a warp waits for another");
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void expect_error(const std::string& error, std::vector<std::string> parts) {
  for (auto& part : parts) expect(error.find(part) != std::string::npos, "error \"" + error + "\" without \"" + part + "\"");
}

uint64_t valid_from, valid_to;

void test_errors() {
  std::vector<float> x(100);
  valid_from = uint64_t(x.data()), valid_to = valid_from + 400;
  ptx::valid_address = [](uint64_t address, size_t bytes, bool) { return address >= valid_from && address + bytes <= valid_to; };
  launch("overrun", {4, 1, 1}, {25, 1, 1}, 0, 100, x.data());
  expect(x == std::vector<float>(100, 1), "overrun: within the memory");
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", (unsigned long long)valid_to);
  expect_error(error_of([&] { launch("overrun", {1, 1, 1}, {128, 1, 1}, 0, 100, x.data()); }), {"overrun", "st.global.u32",
      "invalid write", address, "thread (100, 0, 0)"});
  ptx::valid_address = nullptr;
  expect_error(error_of([&] { launch("overrun", {1, 1, 1}, {32, 1, 1}, 0, 100, (float*)(uintptr_t(x.data()) + 1)); }), {"misaligned"});
  expect_error(error_of([&] { launch("overrun", {1, 1, 1}, {32, 1, 1}, 0, 100, (float*)nullptr); }), {"invalid write"});
  std::vector<double> d(64);
  expect_error(error_of([&] { launch("reverse", {1, 1, 1}, {64, 1, 1}, 63 * 8, d.data(), d.data()); }), {"reverse", "st.shared",
      "outside"});
  std::vector<int> ints(50, 1);
  launch_over(50, "asserts", ints.data());
  ints[37] = 13;
  expect_error(error_of([&] { launch_over(50, "asserts", ints.data()); }), {"x[i] != 13", "test_kernels.cu", "asserts", "thread (37, 0, 0)"});
  expect_error(error_of([&] { launch("half_barrier", {1, 1, 1}, {64, 1, 1}, 0, ints.data()); }), {"deadlock", "bar.sync"});
  expect_error(error_of([&] { ptx::decode(module, "no_such_kernel"); }), {"no_such_kernel"});
  const char* text =
      ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry odd(.param .u64 p)\n{\n.reg .b32 %r<3>;\n"
      "frobnicate.u32 %r1, %r2;\nret;\n}\n";
  auto odd = ptx::decode(ptx::load(text, std::strlen(text)), "odd");
  uint64_t zero = 0;
  const void* arguments[] = {&zero};
  expect_error(error_of([&] { ptx::run(*odd, {}, {}, 0, arguments); }), {"odd", "frobnicate.u32 %r1, %r2", "line 7"});
}

void test_matrices() {
  alignas(16) static uint16_t a[16 * 16], b[16 * 8];
  static float c[16 * 8], d[16 * 8], f[8 * 8];
  for (auto& v : a) v = bf16_of(float(generator() % 2000) / 100 - 10);
  for (auto& v : b) v = bf16_of(float(generator() % 2000) / 100 - 10);
  launch("mma_bf16", {1, 1, 1}, {32, 1, 1}, 0, a, b, d);
  for (size_t i = 0; i < 128; i++) {
    double sum = 1 + double(i % 2) + 2 * double(i / 64);
    for (size_t k = 0; k < 16; k++) sum += double(bf16_value(a[i / 8 * 16 + k])) * bf16_value(b[k * 8 + i % 8]);
    expect(std::fabs(d[i] - sum) < 1e-3, "mma_bf16 " + std::to_string(i));
  }
  for (auto& v : c) v = float(generator() % 2000) / 100 - 10;
  for (auto& v : f) v = float(generator() % 2000) / 100 - 10;
  launch("mma_tf32", {1, 1, 1}, {32, 1, 1}, 0, c, f, d);
  for (size_t i = 0; i < 128; i++) {
    double sum = 0, size = 0;
    for (size_t k = 0; k < 8; k++) {
      const double product = double(c[i / 8 * 8 + k]) * f[k * 8 + i % 8];
      sum += product, size += std::fabs(product);
    }
    expect(std::fabs(d[i] - sum) < size * 1e-3, "mma_tf32 " + std::to_string(i));
  }
}

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string text = content_of(count > 1 ? arguments[1] : "test_kernels.ptx");
  module = ptx::load(text.data(), text.size());
  const std::pair<const char*, void (*)()> tests[] = {
      {"integers", test_integers}, {"floats", [] { test_floats<float>("floats"); }}, {"doubles", [] { test_floats<double>("doubles"); }},
      {"conversions", test_conversions}, {"functions", [] { test_functions<float>("float_functions", 4); }},
      {"double functions", [] { test_functions<double>("double_functions", 4); }}, {"block sum", test_block_sum}, {"warps", test_warps},
      {"divergence", test_divergence},
      {"atomics", test_atomics}, {"control", test_control}, {"parameters", test_params}, {"seldom", test_seldom},
      {"memory", test_memory}, {"errors",
          test_errors}, {"matrices", test_matrices}};
  for (auto& [name, test] : tests) {
    try {
      test();
    } catch (const std::exception& error) {
      expect(false, std::string(name) + ": " + error.what());
    }
  }
  if (failures) std::printf("%d failures\n", failures);
  else std::printf("all tests passed\n");
  return failures != 0;
}
