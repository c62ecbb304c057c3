// kernels.cc: the loops of kernels.h, compiled once for each instruction set: TORCHPE_ISA names the
// namespace, the compiler's -m flags do the rest. It uses plain loops where the compiler vectorises
// them well, else vectors.h.
#include "kernels.h"

#include "erfc.h"
#include "vectors.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#define TORCHPE_STR2(x) #x
#define TORCHPE_STR(x) TORCHPE_STR2(x)
#if defined(__aarch64__)  // its vectors of 16 bytes are NEON's
#define TORCHPE_ISA_NAME "neon"
#else
#define TORCHPE_ISA_NAME TORCHPE_STR(TORCHPE_ISA)
#endif

namespace torchpe {
namespace TORCHPE_ISA {
namespace {

// Phi(u) and phi(u), the standard normal's distribution and density. float: erfc(z) = exp(-z^2) t
// P(t), t = 1/(1 + p z) (the form of Abramowitz & Stegun 7.1.26, refitted: scripts/fit_erfc.py), z
// = |u|/sqrt(2); absolute error of Phi below 1e-7. Written on vectors: in a loop over numbers GCC
// computes all of it twice, for u < 0 and for the others.
inline void normal(V<float> u, V<float>& cdf, V<float>& pdf) {
  const V<float> e = exp_below<float>(-0.5f * u * u);
  const V<float> size = reinterpret_cast<V<float>>(reinterpret_cast<Ints<float>::type>(u) & 0x7fffffff);
  const V<float> t = 1.0f / (1.0f + ERFC_P * (0.70710678118654752f * size));
  V<float> q = 0.5f * ERFC_8 * t + 0.5f * ERFC_7;  // half of P
  q = q * t + 0.5f * ERFC_6;
  q = q * t + 0.5f * ERFC_5;
  q = q * t + 0.5f * ERFC_4;
  q = q * t + 0.5f * ERFC_3;
  q = q * t + 0.5f * ERFC_2;
  q = q * t + 0.5f * ERFC_1;
  const V<float> tail = q * t * e;
  cdf = u < 0.0f ? tail : 1.0f - tail;
  pdf = 0.39894228040143268f * e;
}

inline void normal(V<double> u, V<double>& cdf, V<double>& pdf) {
  for (int i = 0; i < Vec<double>::width; i++) {
    cdf[i] = 0.5 * std::erfc(-u[i] * 0.70710678118654752440);
    pdf[i] = 0.39894228040143267794 * std::exp(-0.5 * u[i] * u[i]);
  }
}

// Calls f(x, columns, place) for vectors of x = u + bias; only the first `columns` elements are valid.
template <typename T, typename F>
inline void each_biased(int64_t rows, int64_t cols, const T* u, const T* bias, const F& f) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c += Vec<T>::width) {
      const V<T> x = load_first(u + r * cols + c, cols - c, false, T(0));
      f(bias ? x + load_first(bias + c, cols - c, false, T(0)) : x, cols - c, r * cols + c);
    }
}

template <typename T>
void bias_gelu(int64_t rows, int64_t cols, T* u, const T* bias, T* y) {
  each_biased(rows, cols, u, bias, [&](V<T> x, int64_t n, int64_t at) {
    V<T> cdf, pdf;
    normal(x, cdf, pdf);
    store_first(y + at, x * cdf, n, false);
    store_first(u + at, cdf + x * pdf, n, false);
  });
}

template <typename T>
void bias_gelu_only(int64_t rows, int64_t cols, T* u, const T* bias) {
  each_biased(rows, cols, u, bias, [&](V<T> x, int64_t n, int64_t at) {
    V<T> cdf, pdf;
    normal(x, cdf, pdf);
    store_first(u + at, x * cdf, n, false);
  });
}

template <typename T>
void add_bias(int64_t rows, int64_t cols, T* __restrict u, const T* __restrict bias) {
  for (int64_t r = 0; r < rows; r++, u += cols)
    for (int64_t c = 0; c < cols; c++) u[c] += bias[c];
}

template <typename T>
void gelu_backward(int64_t rows, int64_t cols, const T* __restrict slope, const T* __restrict dy, T* __restrict du,
                   T* __restrict dbias) {
  for (int64_t r = 0; r < rows; r++, slope += cols, dy += cols, du += cols) {
    if (dbias)
      for (int64_t c = 0; c < cols; c++) {
        const T d = dy[c] * slope[c];
        du[c] = d;
        dbias[c] += d;
      }
    else
      for (int64_t c = 0; c < cols; c++) du[c] = dy[c] * slope[c];
  }
}

template <typename T>
void column_sum(int64_t rows, int64_t cols, const T* __restrict x, T* __restrict out) {
  for (int64_t r = 0; r < rows; r++, x += cols)
    for (int64_t c = 0; c < cols; c++) out[c] += x[c];
}

template <typename T>
void add_layer_norm(int64_t rows, int64_t cols, const T* __restrict x, const T* __restrict y, const T* __restrict gain,
                    const T* __restrict bias, T eps, Table<T> table, T* xhat, T* __restrict rstd, T* __restrict out) {
  for (int64_t r = 0; r < rows; r++) {
    T* __restrict h = xhat ? xhat + r * cols : out + r * cols;
    const T* __restrict xr = x + r * cols;
    if (y) {
      const T* __restrict yr = y + r * cols;
      for (int64_t c = 0; c < cols; c++) h[c] = xr[c] + yr[c];
    } else {
      for (int64_t c = 0; c < cols; c++) h[c] = xr[c];
    }
    const T mean = lane_sum<T>(cols, [&](auto at) { return at(h); }) / T(cols);
    const T var = lane_sum<T>(cols, [&](auto at) { return (at(h) - mean) * (at(h) - mean); }) / T(cols);
    const T rs = T(1) / std::sqrt(var + eps);
    if (rstd) rstd[r] = rs;
    T* o = out + r * cols;
    const T* __restrict t = table.rows ? table.rows + (table.first + r) % table.tokens * cols : nullptr;
    for (int64_t c = 0; c < cols; c++) {
      const T v = (h[c] - mean) * rs;
      h[c] = v;
      o[c] = v * gain[c] + bias[c];
    }
    for (int64_t c = 0; t && c < cols; c++) o[c] += t[c];
  }
}

template <typename T>
void layer_norm_backward(int64_t rows, int64_t cols, const T* __restrict xhat, const T* __restrict rstd,
                         const T* __restrict gain, const T* __restrict dout, T* __restrict ds, T* __restrict dgain,
                         T* __restrict dbias) {
  for (int64_t r = 0; r < rows; r++, xhat += cols, dout += cols, ds += cols) {
    const T a = lane_sum<T>(cols, [&](auto at) { return at(dout) * at(gain); }) / T(cols);
    const T b = lane_sum<T>(cols, [&](auto at) { return at(dout) * at(gain) * at(xhat); }) / T(cols);
    const T rs = rstd[r];
    for (int64_t c = 0; c < cols; c++) {
      const T d = dout[c], h = xhat[c];
      ds[c] = (d * gain[c] - a - h * b) * rs;
      dgain[c] += d * h;
      dbias[c] += d;
    }
  }
}

// The block of C, in vectors, that the registers hold.
constexpr int ROWS = VECTOR_BYTES > 16 ? 6 : 4, COLUMNS = VECTOR_BYTES == 64 ? 4 : 2;

// One block of a product: RB rows by W vectors of C, held in registers over the sum. Only `valid`
// columns are stored.
template <typename T, int RB, int W>
inline __attribute__((always_inline)) void product_block(int64_t K, const T* a, int64_t ars, int64_t acs, const T* b,
                                                         int64_t ldb, T alpha, T* c, int64_t ldc, bool add,
                                                         int64_t valid) {
  typedef typename Vec<T>::type V;
  constexpr int width = Vec<T>::width;
  V acc[RB][W];  // in registers only where all loops over it are unrolled early
#pragma GCC unroll 8
  for (int r = 0; r < RB; r++)
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) acc[r][w] = V{};
  for (int64_t k = 0; k < K; k++) {
    V bv[W];
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) bv[w] = *reinterpret_cast<const V*>(b + k * ldb + w * width);
#pragma GCC unroll 8
    for (int r = 0; r < RB; r++) {
      const T ar = a[r * ars + k * acs];
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) acc[r][w] += ar * bv[w];
    }
  }
  if (valid >= W * width) {
#pragma GCC unroll 8
    for (int r = 0; r < RB; r++)
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) {
        V* out = reinterpret_cast<V*>(c + r * ldc + w * width);
        *out = add ? *out + acc[r][w] * alpha : acc[r][w] * alpha;
      }
    return;
  }
  T edge[W * width];
#pragma GCC unroll 8
  for (int r = 0; r < RB; r++) {
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) *reinterpret_cast<V*>(edge + w * width) = acc[r][w] * alpha;
    for (int64_t j = 0; j < valid; j++) c[r * ldc + j] = add ? c[r * ldc + j] + edge[j] : edge[j];
  }
}

// All rows of one column strip of W vectors.
template <typename T, int W>
inline void product_strip(int64_t R, int64_t K, const T* a, int64_t ars, int64_t acs, const T* b, int64_t ldb, T alpha,
                          T* c, int64_t ldc, bool add, int64_t valid) {
  int64_t r = 0;
  const auto block = [&](auto rows) {
    product_block<T, decltype(rows)::value, W>(K, a + r * ars, ars, acs, b, ldb, alpha, c + r * ldc, ldc, add, valid);
  };
  for (; r + ROWS <= R; r += ROWS) block(std::integral_constant<int, ROWS>());
  switch (R - r) {  // in one block: two would each wait for fewer sums at a time
    case 5: return block(std::integral_constant<int, ROWS == 6 ? 5 : 1>());
    case 4: return block(std::integral_constant<int, ROWS == 6 ? 4 : 1>());
    case 3: return block(std::integral_constant<int, 3>());
    case 2: return block(std::integral_constant<int, 2>());
    case 1: return block(std::integral_constant<int, 1>());
  }
}

template <typename T>
void small_product(int64_t R, int64_t K, int64_t C, const T* a, int64_t ars, int64_t acs, const T* b, int64_t ldb,
                   T alpha, T* c, int64_t ldc, bool add) {
  constexpr int64_t width = Vec<T>::width;
  int64_t j = 0;
  for (; j + COLUMNS * width <= C; j += COLUMNS * width)
    product_strip<T, COLUMNS>(R, K, a, ars, acs, b + j, ldb, alpha, c + j, ldc, add, COLUMNS * width);
  for (; j + width <= C; j += width)
    product_strip<T, 1>(R, K, a, ars, acs, b + j, ldb, alpha, c + j, ldc, add, width);
  for (; j < C; j++)
    for (int64_t r = 0; r < R; r++) {
      T s = 0;
      for (int64_t k = 0; k < K; k++) s += a[r * ars + k * acs] * b[k * ldb + j];
      c[r * ldc + j] = add ? c[r * ldc + j] + s * alpha : s * alpha;
    }
}

template <typename T>
constexpr int64_t PANEL = COLUMNS * Vec<T>::width;

// t[k * P + c] = b[c * bcs + k] for k < width and c < n <= width, and 0 for the other c < width:
// rows are shuffled together, each with the one half the rows away, which as often as rows can be
// halved turns rows into columns.
template <typename T>
inline void turn(int64_t n, const T* b, int64_t bcs, T* t, int64_t P) {
  constexpr int width = Vec<T>::width;
  typename Ints<T>::type low, high;
  for (int i = 0; i < width; i++) {
    low[i] = i / 2 + i % 2 * width;
    high[i] = low[i] + width / 2;
  }
  V<T> rows[width], other[width];
  for (int c = 0; c < width; c++) rows[c] = c < n ? load(b + c * bcs) : V<T>{};
  for (int step = 1; step < width; step *= 2) {
    for (int i = 0; i < width / 2; i++) {
      other[2 * i] = __builtin_shuffle(rows[i], rows[i + width / 2], low);
      other[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + width / 2], high);
    }
    for (int i = 0; i < width; i++) rows[i] = other[i];
  }
  for (int k = 0; k < width; k++) store(t + k * P, rows[k]);
}

template <typename T>
void transpose(int64_t n, int64_t K, const T* __restrict b, int64_t bcs, T* __restrict t, int64_t P) {
  constexpr int64_t width = Vec<T>::width;
  int64_t done = 0;  // rows that are turned whole vectors at a time
  for (; done + width <= K; done += width)
    for (int64_t c = 0; c < n; c += width)
      turn(n - c < width ? n - c : width, b + c * bcs + done, bcs, t + done * P + c, P);
  for (int64_t k = done; k < K; k++)
    for (int64_t c = 0; c < n; c++) t[k * P + c] = b[c * bcs + k];
}

template <typename T>
Panels<T> pack(int64_t R, int64_t K, int64_t C, const T* __restrict b, int64_t brs, int64_t bcs, T* __restrict memory) {
  constexpr int64_t P = PANEL<T>, width = Vec<T>::width;
  // Rows of 1 KiB and more fall into few sets of the first-level cache; many rows of A are worth a
  // copy then.
  if (bcs == 1 && C % width == 0 && (R <= 160 || brs * int64_t(sizeof(T)) < 1024)) return {b, brs, P};
  T* packed = memory;
  for (int64_t j = 0; j < C; j += P, packed += K * P) {
    const int64_t n = C - j < P ? C - j : P;
    if (n < P) std::memset(packed, 0, size_t(K * P) * sizeof(T));
    if (bcs == 1) {
      for (int64_t k = 0; k < K; k++) std::memcpy(packed + k * P, b + k * brs + j, size_t(n) * sizeof(T));
      continue;
    }
    if (brs == 1) {
      transpose(n, K, b + j * bcs, bcs, packed, P);
      continue;
    }
    for (int64_t k = 0; k < K; k++)
      for (int64_t c = 0; c < n; c++) packed[k * P + c] = b[k * brs + (j + c) * bcs];
  }
  return {memory, P, K * P};
}

// Depth of the sum that is worked on at a time: a panel of it stays in the first-level cache.
constexpr int64_t DEPTH = 128;

template <typename T>
void product(int64_t R, int64_t K, int64_t C, const T* a, int64_t ars, int64_t acs, Panels<T> b, T* c, int64_t ldc,
             bool add) {
  constexpr int64_t P = PANEL<T>;
  for (int64_t k = 0; k < K || k == 0; k += DEPTH) {
    const int64_t depth = K - k < DEPTH ? K - k : DEPTH;
    for (int64_t j = 0; j < C; j += P) {
      const int64_t valid = C - j < P ? C - j : P;
      const auto strip = [&](auto vectors) {
        product_strip<T, decltype(vectors)::value>(R, depth, a + k * acs, ars, acs,
                                                   b.data + j / P * b.panel + k * b.row, b.row, T(1), c + j, ldc,
                                                   add || k > 0, valid);
      };
      // A last panel that is not full takes no more registers than it needs.
      if (valid <= P / COLUMNS)
        strip(std::integral_constant<int, 1>());
      else if (valid <= P / 2)
        strip(std::integral_constant<int, COLUMNS / 2>());
      else if (COLUMNS == 4 && valid <= P / 4 * 3)
        strip(std::integral_constant<int, COLUMNS - 1>());
      else
        strip(std::integral_constant<int, COLUMNS>());
    }
  }
}

// A row's logits scale * s + bias in the place of s, and -inf from its end to that of the last
// vector.
template <typename T>
inline void to_logits(int64_t cols, T* __restrict s, T scale, const T* __restrict bias) {
  if (bias)
    for (int64_t c = 0; c < cols; c++) s[c] = s[c] * scale + bias[c];
  else
    for (int64_t c = 0; c < cols; c++) s[c] *= scale;
  for (int64_t c = cols; c % Vec<T>::width != 0; c++) s[c] = -std::numeric_limits<T>::infinity();
}

template <typename T>
void softmax(int64_t rows, int64_t cols, T* s, int64_t lds, T scale, const T* bias, int64_t ldb, T* most, T* over) {
  constexpr int64_t width = Vec<T>::width;
  for (int64_t r = 0; r < rows; r++, s += lds, bias += bias ? ldb : 0) {
    to_logits(cols, s, scale, bias);
    V<T> largest = V<T>{} - std::numeric_limits<T>::infinity(), sum = {};
    for (int64_t c = 0; c < cols; c += width) largest = larger<T>(load(s + c), largest);
    const V<T> m = across<T>(largest, larger<T>);
    for (int64_t c = 0; c < cols; c += width) {
      const V<T> e = exp_below<T>(load(s + c) - m);
      store(s + c, e);
      sum += e;
    }
    most[r] = m[0];
    over[r] = T(1) / sum_across<T>(sum)[0];
  }
}

template <typename T>
void softmax_backward(int64_t rows, int64_t cols, T* __restrict s, T* __restrict dw, int64_t lds, const T* e, T scale,
                      const T* bias, int64_t ldb, const T* most, const T* over, const T* dots) {
  for (int64_t r = 0; r < rows; r++, s += lds, dw += lds, e += e ? lds : 0, bias += bias ? ldb : 0) {
    const auto all = [&](const auto& exponential) {
      for (int64_t c = 0; c < cols; c += Vec<T>::width) {
        const V<T> w = exponential(c) * over[r];
        store(s + c, w);
        store(dw + c, w * (load(dw + c) - dots[r]) * scale);
      }
    };
    if (e) {
      all([&](int64_t c) { return load(e + c); });
      continue;
    }
    to_logits(cols, s, scale, bias);
    all([&](int64_t c) { return exp_below<T>(load(s + c) - most[r]); });
  }
}

// A row's last vector may reach into the next rows, which are read again or written later. The last
// rows have no such rows behind them.
template <typename T>
inline bool reaches_no_end(int64_t r, int64_t rows, int64_t cols) {
  constexpr int64_t width = Vec<T>::width;
  return r * cols + (cols + width - 1) / width * width <= rows * cols;
}

template <typename T>
void softmax_rows(int64_t rows, int64_t cols, const T* __restrict x, T* __restrict y) {
  constexpr int64_t width = Vec<T>::width;
  constexpr T none = -std::numeric_limits<T>::infinity();
  for (int64_t r = 0; r < rows; r++, x += cols, y += cols) {
    const bool whole = reaches_no_end<T>(r, rows, cols);
    V<T> largest = V<T>{} + none, sum = {};
    for (int64_t c = 0; c < cols; c += width) largest = larger<T>(load_first(x + c, cols - c, whole, none), largest);
    const V<T> m = across<T>(largest, larger<T>);
    for (int64_t c = 0; c < cols; c += width) {
      const V<T> e = exp_below<T>(load_first(x + c, cols - c, whole, none) - m);
      store_first(y + c, e, cols - c, whole);
      sum += e;
    }
    const V<T> all = sum_across<T>(sum);
    for (int64_t c = 0; c < cols; c += width)
      store_first(y + c, load_first(y + c, cols - c, whole, T(0)) / all, cols - c, whole);
  }
}

template <typename T>
void softmax_rows_backward(int64_t rows, int64_t cols, const T* __restrict y, const T* __restrict dy,
                           T* __restrict dx) {
  constexpr int64_t width = Vec<T>::width;
  for (int64_t r = 0; r < rows; r++, y += cols, dy += cols, dx += cols) {
    const bool whole = reaches_no_end<T>(r, rows, cols);
    V<T> sum = {};
    for (int64_t c = 0; c < cols; c += width)
      sum += load_first(y + c, cols - c, whole, T(0)) * load_first(dy + c, cols - c, whole, T(0));
    const V<T> dot = sum_across<T>(sum);
    for (int64_t c = 0; c < cols; c += width)
      store_first(dx + c,
                  load_first(y + c, cols - c, whole, T(0)) * (load_first(dy + c, cols - c, whole, T(0)) - dot),
                  cols - c, whole);
  }
}

template <typename T>
void scale_rows(int64_t rows, int64_t cols, T* __restrict x, int64_t ldx, const T* __restrict by) {
  for (int64_t r = 0; r < rows; r++, x += ldx)
    for (int64_t c = 0; c < cols; c++) x[c] *= by[r];
}

template <typename T>
void add_scaled(int64_t n, const T* __restrict x, T by, T* __restrict out) {
  for (int64_t i = 0; i < n; i++) out[i] += by * x[i];
}

template <typename T>
void row_dots(int64_t rows, int64_t cols, const T* a, int64_t lda, const T* b, int64_t ldb, T* out) {
  for (int64_t r = 0; r < rows; r++, a += lda, b += ldb)
    out[r] = lane_sum<T>(cols, [&](auto at) { return at(a) * at(b); });
}

template <typename T>
void rotate(int64_t D, const T* __restrict x, const T* __restrict cos, const T* __restrict sin, int half, T sign,
            T* __restrict out) {
  const int64_t h = D / 2;
  if (half) {
    for (int64_t k = 0; k < h; k++) {
      const T c = cos[k], s = sign * sin[k];
      out[k] = x[k] * c - x[k + h] * s;
      out[k + h] = x[k + h] * c + x[k] * s;
    }
    return;
  }
  for (int64_t k = 0; k < h; k++) {
    const T c = cos[k], s = sign * sin[k];
    out[2 * k] = x[2 * k] * c - x[2 * k + 1] * s;
    out[2 * k + 1] = x[2 * k + 1] * c + x[2 * k] * s;
  }
}

template <typename T>
void adam(int64_t n, T* __restrict p, const T* __restrict g, T* __restrict m, T* __restrict v, const AdamStep& s) {
  const T b1 = T(s.beta1), b2 = T(s.beta2), c1 = T(1 - s.beta1), c2 = T(1 - s.beta2), scale = T(s.scale);
  const T eps = T(s.eps), rate = T(s.lr / s.correction1), root = T(1 / s.correction2_root);
  const T coupled = s.decoupled ? T(0) : T(s.weight_decay);
  const T shrink = s.decoupled ? T(1 - s.lr * s.weight_decay) : T(1);
  for (int64_t i = 0; i < n; i++) {
    const T w = p[i] * shrink;
    const T d = g[i] * scale + coupled * w;
    m[i] = b1 * m[i] + c1 * d;
    v[i] = b2 * v[i] + c2 * d * d;
    p[i] = w - rate * m[i] / (std::sqrt(v[i]) * root + eps);
  }
}

template <typename T>
KernelTable<T> make_table() {
  return {bias_gelu<T>,     bias_gelu_only<T>,      add_bias<T>,      gelu_backward<T>, column_sum<T>,
          add_layer_norm<T>, layer_norm_backward<T>, small_product<T>, product<T>,       transpose<T>,    pack<T>,
          PANEL<T>,          rotate<T>,              softmax<T>,       softmax_backward<T>, softmax_rows<T>,
          softmax_rows_backward<T>, scale_rows<T>,
          row_dots<T>,       add_scaled<T>,          adam<T>,                TORCHPE_ISA_NAME};
}

}  // namespace

KernelTable<float> float_table() { return make_table<float>(); }
KernelTable<double> double_table() { return make_table<double>(); }

}  // namespace TORCHPE_ISA
}  // namespace torchpe
