// cuda_kernels.cu: the kernels of cuda_kernels.h. What limits them is memory traffic: each reads and writes every number
// once, neighbouring threads neighbouring numbers, and enough loads are under way at a time that their latency is hidden.
#include "cuda_kernels.h"

#include "erfc.h"
#include "philox.h"

#ifdef TORCHPE_EMULATE
#include "cuda_emulate.h"
#define TORCHPE_FORM emulated
#define TORCHPE_SHARED(T, name) T* const name = static_cast<T*>(Machine::instance().shared())
#define TORCHPE_UNROLL(n)
#else
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#define TORCHPE_FORM compiled
#define TORCHPE_SHARED(T, name)                              \
  extern __shared__ __align__(16) unsigned char room_of_block[]; \
  T* const name = reinterpret_cast<T*>(room_of_block)
#define TORCHPE_PRAGMA(x) _Pragma(#x)
#define TORCHPE_UNROLL(n) TORCHPE_PRAGMA(unroll n)
#endif

namespace torchpe {
namespace TORCHPE_FORM {
namespace {

#ifndef TORCHPE_EMULATE
template <typename... P, typename... A>
void launch(GpuStream s, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... args) {
  kernel<<<grid, block, shared, static_cast<cudaStream_t>(s.stream)>>>(static_cast<P>(args)...);
  const cudaError_t e = cudaGetLastError();
  if (e != cudaSuccess) throw std::runtime_error(std::string("CUDA kernel: ") + cudaGetErrorString(e));
}
#endif

constexpr int THREADS = 256;  // of a block, unless it says otherwise
constexpr unsigned WARP = 0xFFFFFFFFu;

inline int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

__device__ __forceinline__ float exp_of(float x) { return expf(x); }
__device__ __forceinline__ double exp_of(double x) { return exp(x); }
__device__ __forceinline__ float root_of(float x) { return sqrtf(x); }
__device__ __forceinline__ double root_of(double x) { return sqrt(x); }

// Phi(u) and phi(u), in the forms of kernels.cc.
__device__ __forceinline__ void normal(float u, float& cdf, float& pdf) {
  const float e = expf(-0.5f * u * u);
  const float z = fabsf(u) * 0.70710678118654752f;
  const float t = 1.0f / (1.0f + ERFC_P * z);
  float q = ERFC_8;
  q = q * t + ERFC_7;
  q = q * t + ERFC_6;
  q = q * t + ERFC_5;
  q = q * t + ERFC_4;
  q = q * t + ERFC_3;
  q = q * t + ERFC_2;
  q = q * t + ERFC_1;
  const float tail = 0.5f * e * q * t;
  cdf = u < 0 ? tail : 1.0f - tail;
  pdf = 0.39894228040143268f * e;
}
__device__ __forceinline__ void normal(double u, double& cdf, double& pdf) {
  cdf = 0.5 * erfc(-u * 0.70710678118654752440);
  pdf = 0.39894228040143267794 * exp(-0.5 * u * u);
}

template <typename T>
__device__ __forceinline__ T gelu(T u) {
  T cdf, pdf;
  normal(u, cdf, pdf);
  return u * cdf;
}
template <typename T>
__device__ __forceinline__ T gelu_slope(T u) {
  T cdf, pdf;
  normal(u, cdf, pdf);
  return cdf + u * pdf;
}

template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
  for (int lane = 16; lane > 0; lane /= 2) v += __shfl_xor_sync(WARP, v, lane);
  return v;
}
template <typename T>
__device__ __forceinline__ T warp_max(T v) {
  for (int lane = 16; lane > 0; lane /= 2) {
    const T other = __shfl_xor_sync(WARP, v, lane);
    v = other > v ? other : v;
  }
  return v;
}

__device__ __forceinline__ void store(float* p, float v) { *p = v; }
__device__ __forceinline__ void store(double* p, double v) { *p = v; }
// The nearest bfloat16, of two the even one.
template <typename T>
__device__ __forceinline__ void store(uint16_t* p, T v) {
  union {
    float f;
    uint32_t bits;
  } u;
  u.f = float(v);
  *p = v != v ? uint16_t(0x7FC0) : uint16_t((u.bits + 0x7FFFu + ((u.bits >> 16) & 1u)) >> 16);
}

// ---- bias and GELU ----

// A block takes 32 columns of a chunk of rows: thread (x,y) column x and every eighth row.
constexpr int COLUMNS = 32, LANES = THREADS / COLUMNS;

template <typename T, bool GELU>
__global__ void __launch_bounds__(THREADS)
    bias_gelu_kernel(int64_t rows, int64_t cols, int64_t per_chunk, const T* u, const T* bias, int64_t bias_member, T* y) {
  const int64_t c = int64_t(blockIdx.x) * COLUMNS + threadIdx.x, e = blockIdx.z, first = blockIdx.y * per_chunk;
  if (c >= cols) return;
  const int64_t end = first + per_chunk < rows ? first + per_chunk : rows, base = e * rows * cols + c;
  const T b = bias ? bias[e * bias_member + c] : T(0);
  TORCHPE_UNROLL(4)
  for (int64_t r = first + threadIdx.y; r < end; r += LANES) {
    const T x = u[base + r * cols] + b;
    y[base + r * cols] = GELU ? gelu(x) : x;
  }
}

template <typename T>
void bias_gelu(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* u, const T* bias, int64_t bias_member, bool gelu, T* y) {
  if (E * rows * cols == 0) return;
  const int64_t per = gpu_chunk_rows(rows, 4 * LANES, 60000);
  const dim3 grid(parts_of(cols, COLUMNS), parts_of(rows, per), E), block(COLUMNS, LANES);
  launch(s, gelu ? bias_gelu_kernel<T, true> : bias_gelu_kernel<T, false>, grid, block, 0, rows, cols, per, u, bias, bias_member, y);
}

template <typename T, bool GELU, typename U>
__global__ void __launch_bounds__(THREADS) dense_backward_kernel(int64_t rows, int64_t cols, int64_t per_chunk, const T* __restrict u, const T* bias,
                                                                 int64_t bias_member, const T* __restrict dy, U* __restrict du, T* parts) {
  TORCHPE_SHARED(T, sums);
  const int64_t c = int64_t(blockIdx.x) * COLUMNS + threadIdx.x, e = blockIdx.z, first = blockIdx.y * per_chunk;
  const int64_t end = first + per_chunk < rows ? first + per_chunk : rows, base = e * rows * cols + c;
  T sum = 0;
  if (c < cols) {
    const T b = GELU && bias ? bias[e * bias_member + c] : T(0);
    TORCHPE_UNROLL(4)
    for (int64_t r = first + threadIdx.y; r < end; r += LANES) {
      const int64_t i = base + r * cols;
      T d = dy[i];
      if (GELU) d *= gelu_slope(u[i] + b);
      if (du) store(du + i, d);
      sum += d;
    }
  }
  if (!parts) return;
  sums[threadIdx.y * COLUMNS + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= cols) return;
  for (int l = 1; l < LANES; l++) sum += sums[l * COLUMNS + threadIdx.x];
  parts[(e * gridDim.y + blockIdx.y) * cols + c] = sum;
}

template <typename T>
void dense_backward(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* u, const T* bias, int64_t bias_member, const T* dy, T* du, uint16_t* du16,
                    T* parts) {
  if (E * rows * cols == 0) return;
  const int64_t per = sum_chunk_rows(rows);
  const dim3 grid(parts_of(cols, COLUMNS), sum_chunks(rows), E), block(COLUMNS, LANES);
  const size_t shared = sizeof(T) * THREADS;
  if (du16)
    launch(s, u ? dense_backward_kernel<T, true, uint16_t> : dense_backward_kernel<T, false, uint16_t>, grid, block, shared, rows, cols, per, u, bias,
           bias_member, dy, du16, parts);
  else
    launch(s, u ? dense_backward_kernel<T, true, T> : dense_backward_kernel<T, false, T>, grid, block, shared, rows, cols, per, u, bias, bias_member, dy,
           du, parts);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    add_sums_kernel(int64_t chunks, const T* parts, int64_t cols, T* into, int64_t into_member, int64_t cols2, T* into2, int64_t into2_member) {
  TORCHPE_SHARED(T, sums);
  const int64_t c = int64_t(blockIdx.x) * COLUMNS + threadIdx.x, e = blockIdx.y, width = cols + cols2;
  T sum = 0;
  if (c < width) {
    TORCHPE_UNROLL(4)
    for (int64_t k = threadIdx.y; k < chunks; k += LANES) sum += parts[(e * chunks + k) * width + c];
  }
  sums[threadIdx.y * COLUMNS + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= width) return;
  for (int l = 1; l < LANES; l++) sum += sums[l * COLUMNS + threadIdx.x];
  if (c < cols)
    into[e * into_member + c] += sum;
  else
    into2[e * into2_member + c - cols] += sum;
}

template <typename T>
void add_sums(GpuStream s, int64_t E, int64_t chunks, const T* parts, int64_t cols, T* into, int64_t into_member, int64_t cols2, T* into2,
              int64_t into2_member) {
  if (E * chunks * (cols + cols2) == 0) return;
  launch(s, add_sums_kernel<T>, dim3(parts_of(cols + cols2, COLUMNS), E), dim3(COLUMNS, LANES), sizeof(T) * THREADS, chunks, parts, cols, into,
         into_member, cols2, into2, into2_member);
}

// ---- layer norm ----

// A row is GROUP threads', a warp or a block, each of which holds up to PER of its numbers.
template <typename T, int GROUP>
__device__ __forceinline__ T group_sum(T v, T* room) {
  v = warp_sum(v);
  if constexpr (GROUP == 32) {
    return v;
  } else {
    __syncthreads();  // the room may still be read
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = v;
    __syncthreads();
    T sum = 0;
    for (int w = 0; w < GROUP / 32; w++) sum += room[w];
    return sum;
  }
}

template <typename T, int GROUP, int PER>
__global__ void __launch_bounds__(THREADS)
    add_layer_norm_kernel(int64_t rows, int cols, const T* __restrict x, const T* __restrict y, const T* gain, int64_t gain_member, const T* bias,
                          int64_t bias_member, T eps, T* __restrict xhat, T* __restrict rstd, T* __restrict out) {
  TORCHPE_SHARED(T, room);
  const int lane = threadIdx.x % GROUP;
  const int64_t e = blockIdx.y, r = int64_t(blockIdx.x) * (THREADS / GROUP) + threadIdx.x / GROUP;
  if (r >= rows) return;  // as a group
  const int64_t base = (e * rows + r) * cols;
  T h[PER], sum = 0;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    h[k] = c < cols ? x[base + c] + (y ? y[base + c] : T(0)) : T(0);
    sum += h[k];
  }
  const T mean = group_sum<T, GROUP>(sum, room) / T(cols);
  sum = 0;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const T d = lane + k * GROUP < cols ? h[k] - mean : T(0);
    sum += d * d;
  }
  const T rs = T(1) / root_of(group_sum<T, GROUP>(sum, room) / T(cols) + eps);
  if (rstd && lane == 0) rstd[e * rows + r] = rs;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    if (c >= cols) continue;
    const T v = (h[k] - mean) * rs;
    if (xhat) xhat[base + c] = v;
    out[base + c] = v * gain[e * gain_member + c] + bias[e * bias_member + c];
  }
}

template <typename T, int GROUP, int PER>
__global__ void __launch_bounds__(THREADS)
    layer_norm_backward_kernel(int64_t rows, int cols, int64_t per_chunk, const T* __restrict xhat, const T* __restrict rstd, const T* gain,
                               int64_t gain_member, const T* __restrict dout, T* __restrict ds, T* parts) {
  TORCHPE_SHARED(T, room);  // group_sum's where the block is one group; else a row [2,cols] for each
  constexpr int GROUPS = THREADS / GROUP;
  const int lane = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
  const int64_t e = blockIdx.y, first = blockIdx.x * per_chunk, end = first + per_chunk < rows ? first + per_chunk : rows;
  T g[PER], dgain[PER], dbias[PER];
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    g[k] = c < cols ? gain[e * gain_member + c] : T(0);
    dgain[k] = dbias[k] = 0;
  }
  for (int64_t r = first + group; r < end; r += GROUPS) {
    const int64_t base = (e * rows + r) * cols;
    T h[PER], d[PER], a = 0, b = 0;
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      const int c = lane + k * GROUP;
      h[k] = c < cols ? xhat[base + c] : T(0);
      d[k] = c < cols ? dout[base + c] : T(0);
    }
    const T rs = rstd[e * rows + r];
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      a += d[k] * g[k];
      b += d[k] * g[k] * h[k];
      dgain[k] += d[k] * h[k];
      dbias[k] += d[k];
    }
    a = group_sum<T, GROUP>(a, room) / T(cols);
    b = group_sum<T, GROUP>(b, room) / T(cols);
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      const int c = lane + k * GROUP;
      if (c < cols) ds[base + c] = (d[k] * g[k] - a - h[k] * b) * rs;
    }
  }
  T* const mine = parts + (e * gridDim.x + blockIdx.x) * 2 * cols;
  T* const to = GROUPS == 1 ? mine : room + group * 2 * cols;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    if (c >= cols) continue;
    to[c] = dgain[k];
    to[cols + c] = dbias[k];
  }
  if constexpr (GROUPS > 1) {
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * cols; i += THREADS) {
      T sum = room[i];
      for (int w = 1; w < GROUPS; w++) sum += room[w * 2 * cols + i];
      mine[i] = sum;
    }
  }
}

template <typename T, int GROUP, int PER>
struct Norm {
  static constexpr int GROUPS = THREADS / GROUP;
  static void forward(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* x, const T* y, const T* gain, int64_t gain_member, const T* bias,
                      int64_t bias_member, double eps, T* xhat, T* rstd, T* out) {
    launch(s, add_layer_norm_kernel<T, GROUP, PER>, dim3(parts_of(rows, GROUPS), E), dim3(THREADS), sizeof(T) * 8, rows, cols, x, y, gain, gain_member,
           bias, bias_member, eps, xhat, rstd, out);
  }
  static void backward(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* xhat, const T* rstd, const T* gain, int64_t gain_member,
                       const T* dout, T* ds, T* parts) {
    const size_t shared = sizeof(T) * size_t(GROUPS == 1 ? 8 : GROUPS * 2 * cols);
    launch(s, layer_norm_backward_kernel<T, GROUP, PER>, dim3(norm_chunks(rows), E), dim3(THREADS), shared, rows, cols, norm_chunk_rows(rows), xhat, rstd,
           gain, gain_member, dout, ds, parts);
  }
};

// Calls f with the Norm that rows of `cols` numbers take; up to GPU_NORM_WIDTH.
template <typename T, typename F>
void with_norm(int64_t cols, F&& f) {
  if (cols <= 32) return f(Norm<T, 32, 1>());
  if (cols <= 64) return f(Norm<T, 32, 2>());
  if (cols <= 160) return f(Norm<T, 32, 5>());
  if (cols <= 256) return f(Norm<T, 32, 8>());
  if (cols <= 1024) return f(Norm<T, THREADS, 4>());
  if (cols <= GPU_NORM_WIDTH) return f(Norm<T, THREADS, 16>());
  throw std::runtime_error("layer norm of rows of more than 4096");
}

template <typename T>
void add_layer_norm(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* x, const T* y, const T* gain, int64_t gain_member, const T* bias,
                    int64_t bias_member, double eps, T* xhat, T* rstd, T* out) {
  if (E * rows * cols == 0) return;
  with_norm<T>(cols, [&](auto n) { n.forward(s, E, rows, cols, x, y, gain, gain_member, bias, bias_member, eps, xhat, rstd, out); });
}

template <typename T>
void layer_norm_backward(GpuStream s, int64_t E, int64_t rows, int64_t cols, const T* xhat, const T* rstd, const T* gain, int64_t gain_member,
                         const T* dout, T* ds, T* parts) {
  if (E * rows * cols == 0) return;
  with_norm<T>(cols, [&](auto n) { n.backward(s, E, rows, cols, xhat, rstd, gain, gain_member, dout, ds, parts); });
}

// ---- attention over few tokens ----

// A block takes one head of at most R queries and keys. Sums over the width (logits, and d v^T) come from shared memory:
// a thread takes 4x4 of them over every SLICESth column. Sums over tokens (out, dq, dk, dv) are a thread a column, which
// holds the column of the other operand in registers and gets the weights from shared memory, four at a time.
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
  constexpr int tasks = R / 4 * (R / 4), room = int(46 * 1024 / sizeof(T)) - 2 * R * R;
  Cut c;
  c.threads = (width + 31) / 32 * 32;
  c.threads = c.threads < 64 ? 64 : c.threads;
  const int widest = room / (2 * R) - 1;
  c.tile = int(parts_of(width, parts_of(width, widest)));
  c.slices = c.threads / tasks < room / (R * R) ? c.threads / tasks : room / (R * R);
  const int tiles = 2 * R * (c.tile | 1), sums = c.slices * R * R;
  c.area = ((tiles > sums ? tiles : sums) + 3) / 4 * 4;
  c.shared = sizeof(T) * size_t(c.area + 2 * R * R);
  return c;
}

// parts[slice,n,m]: the share of a slice of columns in a[n] . b[m]. The block waits before and after.
template <typename T, int R>
__device__ __forceinline__ void partial_products(int N, int M, int width, const T* a, int64_t a_row, const T* b, int64_t b_row, const Cut& cut, T* area) {
  constexpr int SIDE = R / 4;
  const int ld = cut.tile | 1;  // odd: rows lie in different banks
  T *const ta = area, *const tb = area + R * ld;
  const int task = threadIdx.x % (SIDE * SIDE), slice = threadIdx.x / (SIDE * SIDE), i = task / SIDE * 4, j = task % SIDE * 4;
  const bool busy = slice < cut.slices && i < N && j < M;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T sum[4][4] = {};
  for (int from = 0; from < width; from += cut.tile) {
    const int here = cut.tile < width - from ? cut.tile : width - from;
    for (int n = warp; n < R; n += warps)
      for (int c = lane; c < here; c += 32) {
        ta[n * ld + c] = n < N ? a[n * a_row + from + c] : T(0);
        tb[n * ld + c] = n < M ? b[n * b_row + from + c] : T(0);
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

// w [R,R] = softmax(scale * products + bias), zero outside [N,M]: a warp a row. The block waits after.
template <typename T, int R>
__device__ __forceinline__ void weights(int N, int M, const T* parts, int slices, T scale, const T* bias, int64_t bias_row, int64_t bias_column, T* w) {
  const int m = threadIdx.x % 32;
  for (int n = threadIdx.x / 32; n < R; n += blockDim.x / 32) {
    T v = 0;
    if (n < N) {
      T l = -INFINITY;
      if (m < M) {
        l = scale * whole_product<T, R>(parts, slices, n, m);
        if (bias) l += bias[n * bias_row + m * bias_column];
      }
      const T most = warp_max(l);
      const T e = m < M ? exp_of(l - most) : T(0);
      v = e / warp_sum(e);
    }
    if (m < R) w[n * R + m] = m < M ? v : T(0);
  }
  __syncthreads();
}

// column[n] for n < count, zeros behind.
template <typename T, int R>
__device__ __forceinline__ void column_of(const T* x, int64_t row, int count, T (&column)[R]) {
  TORCHPE_UNROLL()
  for (int n = 0; n < R; n++) column[n] = n < count ? x[n * row] : T(0);
}

// y[n] = sum over m of w[n,m] x[m] for n < count.
template <typename T, int R>
__device__ __forceinline__ void times_column(const T* w, const T (&x)[R], int count, T* y, int64_t row) {
  for (int n = 0; n < count; n++) {
    T sum = 0;
    TORCHPE_UNROLL()
    for (int m = 0; m < R; m += 4) {
      const Four<T> f = *reinterpret_cast<const Four<T>*>(w + n * R + m);
      TORCHPE_UNROLL()
      for (int k = 0; k < 4; k++) sum += f.v[k] * x[m + k];
    }
    y[n * row] = sum;
  }
}

// y[m] = sum over n of w[n,m] x[n] for m < count.
template <typename T, int R>
__device__ __forceinline__ void transposed_times_column(const T* w, const T (&x)[R], int count, T* y, int64_t row) {
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
      if (m + k < count) y[(m + k) * row] = sum[k];
  }
}

// Where the operand of head `i`, counted over all members and puzzles, starts.
template <typename T, typename U>
__device__ __forceinline__ T* head_of(const GpuAttention<U>& a, const GpuHeads<T>& t, int64_t i) {
  if (!t.p) return nullptr;
  const int64_t h = i % a.heads, b = i / a.heads % a.batch, e = i / a.heads / a.batch;
  return t.p + e * t.member + b * t.batch + h * t.head;
}

template <typename T, int R>
__global__ void __launch_bounds__(THREADS) attention_kernel(const GpuAttention<T> a, const Cut cut) {
  TORCHPE_SHARED(T, area);
  T* const w = area + cut.area;
  const int64_t i = blockIdx.x;
  partial_products<T, R>(a.N, a.M, a.D, head_of(a, a.q, i), a.q.row, head_of(a, a.k, i), a.k.row, cut, area);
  weights<T, R>(a.N, a.M, area, cut.slices, T(a.scale), head_of(a, a.bias, i), a.bias.row, a.bias.column, w);
  const T* v = head_of(a, a.v, i);
  T* out = head_of(a, a.out, i);
  for (int c = threadIdx.x; c < a.Dv; c += blockDim.x) {
    T x[R];
    column_of<T, R>(v + c, a.v.row, a.M, x);
    times_column<T, R>(w, x, a.N, out + c, a.out.row);
  }
}

// With w the weights and d the gradient of out: dv = w^T d, dw = d v^T, ds = scale w (dw - rowsum(w dw)), dq = ds k and
// dk = ds^T q.
template <typename T, int R>
__global__ void __launch_bounds__(THREADS) attention_backward_kernel(const GpuAttention<T> a, const Cut cut) {
  TORCHPE_SHARED(T, area);
  T *const w = area + cut.area, *const ds = w + R * R;
  const int64_t i = blockIdx.x;
  const T *const q = head_of(a, a.q, i), *const k = head_of(a, a.k, i), *const d = head_of(a, a.dout, i);
  partial_products<T, R>(a.N, a.M, a.D, q, a.q.row, k, a.k.row, cut, area);
  weights<T, R>(a.N, a.M, area, cut.slices, T(a.scale), head_of(a, a.bias, i), a.bias.row, a.bias.column, w);
  partial_products<T, R>(a.N, a.M, a.Dv, d, a.dout.row, head_of(a, a.v, i), a.v.row, cut, area);
  const int m = threadIdx.x % 32;
  for (int n = threadIdx.x / 32; n < R; n += blockDim.x / 32) {
    T weight = 0, dw = 0;
    if (n < a.N && m < a.M) {
      weight = w[n * R + m];
      dw = whole_product<T, R>(area, cut.slices, n, m);
    }
    const T dot = warp_sum(weight * dw);
    if (m < R) ds[n * R + m] = n < a.N && m < a.M ? T(a.scale) * weight * (dw - dot) : T(0);
  }
  __syncthreads();
  T *const dq = head_of(a, a.dq, i), *const dk = head_of(a, a.dk, i), *const dv = head_of(a, a.dv, i);
  T x[R];
  for (int c = threadIdx.x; c < a.D; c += blockDim.x) {
    if (dq) {
      column_of<T, R>(k + c, a.k.row, a.M, x);
      times_column<T, R>(ds, x, a.N, dq + c, a.dq.row);
    }
    if (dk) {
      column_of<T, R>(q + c, a.q.row, a.N, x);
      transposed_times_column<T, R>(ds, x, a.M, dk + c, a.dk.row);
    }
  }
  if (dv)
    for (int c = threadIdx.x; c < a.Dv; c += blockDim.x) {
      column_of<T, R>(d + c, a.dout.row, a.N, x);
      transposed_times_column<T, R>(w, x, a.M, dv + c, a.dv.row);
    }
}

template <typename T, int R>
void attend(GpuStream s, const GpuAttention<T>& a, void (*kernel)(const GpuAttention<T>, const Cut)) {
  if (a.members * a.batch * a.heads == 0) return;
  const Cut cut = cut_of<T, R>(a.D > a.Dv ? a.D : a.Dv);
  launch(s, kernel, dim3(a.members * a.batch * a.heads), dim3(cut.threads), cut.shared, a, cut);
}

template <typename T>
void check_attention(const GpuAttention<T>& a) {
  if (a.N < 1 || a.N > GPU_FEW_TOKENS || a.M < 1 || a.M > GPU_FEW_TOKENS || a.D < 1 || a.D > GPU_FEW_WIDTH || a.Dv < 1 || a.Dv > GPU_FEW_WIDTH)
    throw std::runtime_error("attention of few tokens: sizes out of range");
}

template <typename T>
void attention(GpuStream s, const GpuAttention<T>& a) {
  check_attention(a);
  if (a.N <= 16 && a.M <= 16)
    attend<T, 16>(s, a, attention_kernel<T, 16>);
  else
    attend<T, 32>(s, a, attention_kernel<T, 32>);
}

template <typename T>
void attention_backward(GpuStream s, const GpuAttention<T>& a) {
  check_attention(a);
  if (a.N <= 16 && a.M <= 16)
    attend<T, 16>(s, a, attention_backward_kernel<T, 16>);
  else
    attend<T, 32>(s, a, attention_backward_kernel<T, 32>);
}

// ---- optimizers ----

constexpr int PER_THREAD = 4;  // parameters, THREADS apart

template <typename T>
__global__ void __launch_bounds__(THREADS) adam_kernel(const GpuAdam<T> a) {
  TORCHPE_SHARED(T, set);
  const double* s = a.settings + blockIdx.y * a.settings_member;
  if (s[3] == 0) return;
  if (threadIdx.x == 0) {
    set[0] = T(s[2]);                           // scale of the gradient
    set[1] = a.decoupled ? T(0) : T(s[1]);      // decay that is added to it
    set[2] = a.decoupled ? T(1 - s[0] * s[1]) : T(1);  // factor of the weights
    set[3] = T(s[0] / s[4]);                    // rate
    set[4] = T(1 / s[5]);
  }
  __syncthreads();
  const T scale = set[0], coupled = set[1], shrink = set[2], rate = set[3], root = set[4];
  const T b1 = T(a.beta1), b2 = T(a.beta2), c1 = T(1 - a.beta1), c2 = T(1 - a.beta2), eps = T(a.eps);
  const int64_t e = blockIdx.y, first = int64_t(blockIdx.x) * (THREADS * PER_THREAD) + threadIdx.x;
  T* __restrict p = a.p + e * a.p_member;
  const T* __restrict g = a.g + e * a.g_member;
  T *__restrict m = a.m + e * a.m_member, *__restrict v = a.v + e * a.v_member;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER_THREAD; k++) {
    const int64_t i = first + k * THREADS;
    if (i >= a.count) continue;
    const T w = p[i] * shrink;
    const T d = g[i] * scale + coupled * w;
    const T mi = b1 * m[i] + c1 * d, vi = b2 * v[i] + c2 * d * d;
    m[i] = mi;
    v[i] = vi;
    p[i] = w - rate * mi / (root_of(vi) * root + eps);
  }
}

template <typename T>
__global__ void __launch_bounds__(THREADS) sgd_kernel(const GpuAdam<T> a) {
  const double* s = a.settings + blockIdx.y * a.settings_member;
  if (s[3] == 0) return;
  const T lr = T(s[0]), decay = T(s[1]), scale = T(s[2]), rate = T(s[0] * s[2]);
  const int64_t e = blockIdx.y, first = int64_t(blockIdx.x) * (THREADS * PER_THREAD) + threadIdx.x;
  T* __restrict p = a.p + e * a.p_member;
  const T* __restrict g = a.g + e * a.g_member;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER_THREAD; k++) {
    const int64_t i = first + k * THREADS;
    if (i >= a.count) continue;
    const T w = p[i];
    p[i] = decay != T(0) ? w - lr * (g[i] * scale + decay * w) : w - rate * g[i];
  }
}

template <typename T>
void adam(GpuStream s, const GpuAdam<T>& a) {
  if (a.members * a.count == 0) return;
  launch(s, adam_kernel<T>, dim3(parts_of(a.count, THREADS * PER_THREAD), a.members), dim3(THREADS), 5 * sizeof(T), a);
}

template <typename T>
void sgd(GpuStream s, const GpuAdam<T>& a) {
  if (a.members * a.count == 0) return;
  launch(s, sgd_kernel<T>, dim3(parts_of(a.count, THREADS * PER_THREAD), a.members), dim3(THREADS), 0, a);
}

// ---- dropout ----

template <typename T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS)
    dropout_kernel(int64_t n, const T* __restrict x, const int64_t* draws, uint64_t call, uint32_t threshold, T keep, T* __restrict y) {
  const int64_t e = blockIdx.y, block = int64_t(blockIdx.x) * THREADS + threadIdx.x, first = e * n + 4 * block;
  const int count = int(n - 4 * block < 4 ? n - 4 * block : 4);
  if (count <= 0) return;
  uint32_t r[4];
  philox4x32(uint64_t(block), call, uint64_t(draws[0]), uint64_t(draws[1 + e]), r);
  if constexpr (ALIGNED) {
    Four<T> f = *reinterpret_cast<const Four<T>*>(x + first);
    TORCHPE_UNROLL()
    for (int l = 0; l < 4; l++) f.v[l] *= r[l] >= threshold ? keep : T(0);
    *reinterpret_cast<Four<T>*>(y + first) = f;
  } else {
    TORCHPE_UNROLL()
    for (int l = 0; l < 4; l++)
      if (l < count) y[first + l] = x[first + l] * (r[l] >= threshold ? keep : T(0));
  }
}

template <typename T>
void dropout(GpuStream s, int64_t E, int64_t n, const T* x, const int64_t* draws, uint64_t call, uint32_t threshold, double keep, T* y) {
  if (E * n == 0) return;
  const bool aligned = n % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0;
  launch(s, aligned ? dropout_kernel<T, true> : dropout_kernel<T, false>, dim3(parts_of(parts_of(n, 4), THREADS), E), dim3(THREADS), 0, n, x, draws, call, threshold, keep, y);
}

template <typename T>
constexpr GpuTable<T> TABLE = {bias_gelu<T>,           dense_backward<T>, add_sums<T>,           add_layer_norm<T>,
                               layer_norm_backward<T>, attention<T>,      attention_backward<T>, adam<T>,
                               sgd<T>,                 dropout<T>};

}  // namespace

template <>
const GpuTable<float>& table<float>() {
  return TABLE<float>;
}
template <>
const GpuTable<double>& table<double>() {
  return TABLE<double>;
}

}  // namespace TORCHPE_FORM
}  // namespace torchpe
