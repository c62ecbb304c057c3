// cuda_attention.cuh: attention over few tokens, one block per head.
#pragma once
#include "cuda_common.cuh"

namespace torchpe {
namespace TORCHPE_FORM {
namespace {

// A block takes one head of at most R queries and keys. Sums over the width (logits, and d v^T)
// come from shared memory: a thread takes 4x4 of them over every SLICESth column. Sums over tokens
// (out, dq, dk, dv) are a thread a column, which holds the column of the other operand in registers
// and gets the weights from shared memory, four at a time.
template <typename T>
struct alignas(16) Four {
  T v[4];
};

// How a block is cut up; the same for both passes.
struct Cut {
  int threads, tile, slices;
  size_t shared;  // bytes: the tiles of two operands or the partial sums, then weights and their gradients [R,R]
  int area;       // numbers before the weights
};

template <typename T, int R>
Cut cut_of(int width) {
  constexpr int tasks = R / 4 * (R / 4), numbers = int(46 * 1024 / sizeof(T)) - 2 * R * R;
  Cut c;
  c.threads = (width + 31) / 32 * 32;
  c.threads = c.threads < 64 ? 64 : c.threads;
  const int widest = numbers / (2 * R) - 1;
  c.tile = int(parts_of(width, parts_of(width, widest)));
  c.slices = c.threads / tasks < numbers / (R * R) ? c.threads / tasks : numbers / (R * R);
  const int tiles = 2 * R * (c.tile | 1), sums = c.slices * R * R;
  c.area = ((tiles > sums ? tiles : sums) + 3) / 4 * 4;
  c.shared = sizeof(T) * size_t(c.area + 2 * R * R);
  return c;
}

// Column c of x [count,...] and of its bias, null for none, together; zeros behind. All loads are
// under way at once.
template <typename T, typename S, int R>
__device__ __forceinline__ void column_of(const S* x, int64_t row, const T* bias, int c, int count, T (&column)[R]) {
  const T b = bias ? bias[c] : T(0);
  TORCHPE_UNROLL()
  for (int n = 0; n < R; n++) column[n] = n < count ? load(x + n * row + c) + b : T(0);
}

// Writes parts[slice,n,m], the share of a slice of columns in a[n] . b[m]. a_bias and b_bias are added to
// the rows, null for none. The block synchronises before and after.
template <typename T, typename S, int R>
__device__ __forceinline__ void partial_products(int N, int M, int width, const S* __restrict a, int64_t a_row,
                                                 const T* a_bias, const S* __restrict b, int64_t b_row, const T* b_bias,
                                                 const Cut& cut, T* area) {
  constexpr int SIDE = R / 4;
  const int ld = cut.tile | 1;  // odd: rows lie in different banks
  T *const ta = area, *const tb = area + R * ld;
  const int task = threadIdx.x % (SIDE * SIDE), slice = threadIdx.x / (SIDE * SIDE), i = task / SIDE * 4,
            j = task % SIDE * 4;
  const bool busy = slice < cut.slices && i < N && j < M;
  T sum[4][4] = {};
  for (int from = 0; from < width; from += cut.tile) {
    const int here = cut.tile < width - from ? cut.tile : width - from;
    for (int c = threadIdx.x; c < here; c += blockDim.x) {
      T x[R], y[R];
      column_of<T, S, R>(a, a_row, a_bias, from + c, N, x);
      column_of<T, S, R>(b, b_row, b_bias, from + c, M, y);
      TORCHPE_UNROLL()
      for (int n = 0; n < R; n++) {
        ta[n * ld + c] = x[n];
        tb[n * ld + c] = y[n];
      }
    }
    __syncthreads();
    if (busy)
      for (int c = slice; c < here; c += cut.slices) {
        T x[4], y[4];
        TORCHPE_UNROLL()
        for (int k = 0; k < 4; k++) {
          x[k] = ta[(i + k) * ld + c];
          y[k] = tb[(j + k) * ld + c];
        }
        TORCHPE_UNROLL()
        for (int r = 0; r < 4; r++) {
          TORCHPE_UNROLL()
          for (int k = 0; k < 4; k++) sum[r][k] += x[r] * y[k];
        }
      }
    __syncthreads();
  }
  if (busy) {
    TORCHPE_UNROLL()
    for (int r = 0; r < 4; r++) {
      TORCHPE_UNROLL()
      for (int k = 0; k < 4; k++) area[(slice * R + i + r) * R + j + k] = sum[r][k];
    }
  }
  __syncthreads();
}

template <typename T, int R>
__device__ __forceinline__ T whole_product(const T* parts, int slices, int n, int m) {
  T sum = parts[n * R + m];
  for (int s = 1; s < slices; s++) sum += parts[(s * R + n) * R + m];
  return sum;
}

// w [R,R] = softmax(scale * products + bias), zero outside [N,M]: R threads a row. The block synchronises
// after.
template <typename T, int R>
__device__ __forceinline__ void weights(int N, int M, const T* parts, int slices, T scale, const T* bias,
                                        int64_t bias_row, int64_t bias_column, T* w) {
  const int m = threadIdx.x % R;
  for (int n = threadIdx.x / R; n < R; n += blockDim.x / R) {
    const bool inside = n < N && m < M;
    T l = -INFINITY;
    if (inside) {
      l = scale * whole_product<T, R>(parts, slices, n, m);
      if (bias) l += bias[n * bias_row + m * bias_column];
    }
    const T most = lanes_max<R>(l);
    const T e = inside ? exp_of(l - most) : T(0);
    const T sum = lanes_sum<R>(e);
    w[n * R + m] = inside ? e / sum : T(0);
  }
  __syncthreads();
}

// y[n] = sum over m of w[n,m] x[m] for n < count; returns the sum of them.
template <typename T, typename S, int R>
__device__ __forceinline__ T times_column(const T* w, const T (&x)[R], int count, S* y, int64_t row) {
  T all = 0;
  for (int n = 0; n < count; n++) {
    T sum = 0;
    TORCHPE_UNROLL()
    for (int m = 0; m < R; m += 4) {
      const Four<T> f = *reinterpret_cast<const Four<T>*>(w + n * R + m);
      TORCHPE_UNROLL()
      for (int k = 0; k < 4; k++) sum += f.v[k] * x[m + k];
    }
    store(y + n * row, sum);
    all += sum;
  }
  return all;
}

// y[m] = sum over n of w[n,m] x[n] for m < count; returns the sum of them.
template <typename T, typename S, int R>
__device__ __forceinline__ T transposed_times_column(const T* w, const T (&x)[R], int count, S* y, int64_t row) {
  T all = 0;
  for (int m = 0; m < count; m += 4) {
    T sum[4] = {};
    TORCHPE_UNROLL()
    for (int n = 0; n < R; n++) {
      const Four<T> f = *reinterpret_cast<const Four<T>*>(w + n * R + m);
      TORCHPE_UNROLL()
      for (int k = 0; k < 4; k++) sum[k] += f.v[k] * x[n];
    }
    TORCHPE_UNROLL()
    for (int k = 0; k < 4; k++)
      if (m + k < count) {
        store(y + (m + k) * row, sum[k]);
        all += sum[k];
      }
  }
  return all;
}

// Where the operand of head `i`, counted over all members and puzzles, starts.
template <typename T, typename S, typename U>
__device__ __forceinline__ U* head_of(const GpuAttention<T, S>& a, const GpuHeads<U>& t, int64_t i) {
  if (!t.p) return nullptr;
  const int64_t h = i % a.heads, b = i / a.heads % a.batch, e = i / a.heads / a.batch;
  return t.p + e * t.member + b * t.batch + h * t.head;
}

template <typename T, typename S, int R>
__global__ void __launch_bounds__(THREADS) attention_kernel(const GpuAttention<T, S> a, const Cut cut) {
  TORCHPE_SHARED(T, area);
  T* const w = area + cut.area;
  const int64_t i = blockIdx.x;
  partial_products<T, S, R>(a.N, a.M, a.D, head_of(a, a.q, i), a.q.row, head_of(a, a.q_bias, i), head_of(a, a.k, i),
                         a.k.row, head_of(a, a.k_bias, i), cut, area);
  weights<T, R>(a.N, a.M, area, cut.slices, T(a.scale), head_of(a, a.bias, i), a.bias.row, a.bias.column, w);
  const S* v = head_of(a, a.v, i);
  const T* v_bias = head_of(a, a.v_bias, i);
  S* out = head_of(a, a.out, i);
  for (int c = threadIdx.x; c < a.Dv; c += blockDim.x) {
    T x[R];
    column_of<T, S, R>(v, a.v.row, v_bias, c, a.M, x);
    times_column<T, S, R>(w, x, a.N, out + c, a.out.row);
  }
}

// With w the weights and d the gradient of out: dv = w^T d, dw = d v^T, ds = scale w (dw - rowsum(w
// dw)), dq = ds k and dk = ds^T q.
template <typename T, typename S, int R>
__global__ void __launch_bounds__(THREADS) attention_backward_kernel(const GpuAttention<T, S> a, const Cut cut) {
  TORCHPE_SHARED(T, area);
  T *const w = area + cut.area, *const ds = w + R * R;
  const int64_t i = blockIdx.x;
  const S *const q = head_of(a, a.q, i), *const k = head_of(a, a.k, i), *const d = head_of(a, a.dout, i);
  const T *const q_bias = head_of(a, a.q_bias, i), *const k_bias = head_of(a, a.k_bias, i);
  partial_products<T, S, R>(a.N, a.M, a.D, q, a.q.row, q_bias, k, a.k.row, k_bias, cut, area);
  weights<T, R>(a.N, a.M, area, cut.slices, T(a.scale), head_of(a, a.bias, i), a.bias.row, a.bias.column, w);
  partial_products<T, S, R>(a.N, a.M, a.Dv, d, a.dout.row, nullptr, head_of(a, a.v, i), a.v.row,
                            head_of(a, a.v_bias, i), cut, area);
  const int m = threadIdx.x % R;
  for (int n = threadIdx.x / R; n < R; n += blockDim.x / R) {
    T weight = 0, dw = 0;
    if (n < a.N && m < a.M) {
      weight = w[n * R + m];
      dw = whole_product<T, R>(area, cut.slices, n, m);
    }
    const T dot = lanes_sum<R>(weight * dw);
    ds[n * R + m] = n < a.N && m < a.M ? T(a.scale) * weight * (dw - dot) : T(0);
  }
  __syncthreads();
  S *const dq = head_of(a, a.dq, i), *const dk = head_of(a, a.dk, i), *const dv = head_of(a, a.dv, i);
  T x[R];
  for (int c = threadIdx.x; c < a.D; c += blockDim.x) {
    if (dq) {
      column_of<T, S, R>(k, a.k.row, k_bias, c, a.M, x);
      const T sum = times_column<T, S, R>(ds, x, a.N, dq + c, a.dq.row);
      if (a.dq_sum.p) head_of(a, a.dq_sum, i)[c] = sum;
    }
    if (dk) {
      column_of<T, S, R>(q, a.q.row, q_bias, c, a.N, x);
      const T sum = transposed_times_column<T, S, R>(ds, x, a.M, dk + c, a.dk.row);
      if (a.dk_sum.p) head_of(a, a.dk_sum, i)[c] = sum;
    }
  }
  if (dv)
    for (int c = threadIdx.x; c < a.Dv; c += blockDim.x) {
      column_of<T, S, R>(d, a.dout.row, nullptr, c, a.N, x);
      const T sum = transposed_times_column<T, S, R>(w, x, a.M, dv + c, a.dv.row);
      if (a.dv_sum.p) head_of(a, a.dv_sum, i)[c] = sum;
    }
}

template <typename T, typename S, int R>
void attend(GpuStream s, const GpuAttention<T, S>& a, void (*kernel)(const GpuAttention<T, S>, const Cut)) {
  if (a.members * a.batch * a.heads == 0) return;
  const Cut cut = cut_of<T, R>(a.D > a.Dv ? a.D : a.Dv);
  launch(s, kernel, dim3(a.members * a.batch * a.heads), dim3(cut.threads), cut.shared, a, cut);
}

template <typename T, typename S>
void check_attention(const GpuAttention<T, S>& a) {
  if (a.N < 1 || a.N > GPU_FEW_TOKENS || a.M < 1 || a.M > GPU_FEW_TOKENS || a.D < 1 || a.D > GPU_FEW_WIDTH ||
      a.Dv < 1 || a.Dv > GPU_FEW_WIDTH)
    throw std::runtime_error("attention of few tokens: sizes out of range");
}

template <typename T, typename S>
void attention(GpuStream s, const GpuAttention<T, S>& a) {
  check_attention(a);
  if (a.N <= 16 && a.M <= 16)
    attend<T, S, 16>(s, a, attention_kernel<T, S, 16>);
  else
    attend<T, S, 32>(s, a, attention_kernel<T, S, 32>);
}

template <typename T, typename S>
void attention_backward(GpuStream s, const GpuAttention<T, S>& a) {
  check_attention(a);
  if (a.N <= 16 && a.M <= 16)
    attend<T, S, 16>(s, a, attention_backward_kernel<T, S, 16>);
  else
    attend<T, S, 32>(s, a, attention_backward_kernel<T, S, 32>);
}

}  // namespace
}  // namespace TORCHPE_FORM
}  // namespace torchpe
