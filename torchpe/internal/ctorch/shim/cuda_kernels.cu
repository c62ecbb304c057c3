// cuda_kernels.cu: the kernels of cuda_kernels.h. They are limited by memory traffic: each reads
// and writes every number once, adjacent threads access adjacent numbers, and enough loads are in
// flight at a time to hide their latency.
#include "cuda_attention.cuh"
#include "cuda_common.cuh"

namespace torchpe {
namespace TORCHPE_FORM {
namespace {

// ---- bias and GELU ----

// A block takes 32 columns of a chunk of rows: thread (x,y) column x and every eighth row.
constexpr int COLUMNS = 32, LANES = THREADS / COLUMNS;

// A thread's loads before its first store, which the compiler must assume to alias the next load: the
// same number of bytes for each type.
template <typename S>
constexpr int AT_ONCE = sizeof(S) < 4 ? 8 : 4;

template <typename T, typename S, bool GELU>
__global__ void __launch_bounds__(THREADS) bias_gelu_kernel(const GpuDense<T, S> a, int64_t per_chunk) {
  const int64_t c = int64_t(blockIdx.x) * COLUMNS + threadIdx.x, e = blockIdx.z, first = blockIdx.y * per_chunk;
  if (c >= a.cols) return;
  const int64_t end = first + per_chunk < a.rows ? first + per_chunk : a.rows, base = e * a.rows * a.cols + c;
  const T b = a.bias ? a.bias[e * a.bias_member + c] : T(0);
  for (int64_t r = first + threadIdx.y; r < end; r += AT_ONCE<S> * LANES) {
    T x[AT_ONCE<S>];
    TORCHPE_UNROLL()
    for (int k = 0; k < AT_ONCE<S>; k++)
      if (r + k * LANES < end) x[k] = load(a.u + base + (r + k * LANES) * a.cols) + b;
    TORCHPE_UNROLL()
    for (int k = 0; k < AT_ONCE<S>; k++)
      if (r + k * LANES < end) store(a.y + base + (r + k * LANES) * a.cols, GELU ? gelu(x[k]) : x[k]);
  }
}

template <typename T, typename S>
void bias_gelu(GpuStream s, const GpuDense<T, S>& a) {
  if (a.members * a.rows * a.cols == 0) return;
  const int64_t per = gpu_chunk_rows(a.rows, AT_ONCE<S> * LANES, 60000);
  launch(s, a.gelu ? bias_gelu_kernel<T, S, true> : bias_gelu_kernel<T, S, false>,
         dim3(parts_of(a.cols, COLUMNS), parts_of(a.rows, per), a.members), dim3(COLUMNS, LANES), 0, a, per);
}

template <typename T, typename S, typename U, bool GELU>
__global__ void __launch_bounds__(THREADS)
    dense_backward_kernel(const GpuDense<T, S> a, int64_t per_chunk, const S* __restrict u, const S* __restrict dy,
                          U* __restrict du) {
  TORCHPE_SHARED(T, sums);
  const int64_t c = int64_t(blockIdx.x) * COLUMNS + threadIdx.x, e = blockIdx.z, first = blockIdx.y * per_chunk;
  const int64_t end = first + per_chunk < a.rows ? first + per_chunk : a.rows, base = e * a.rows * a.cols + c;
  T sum = 0;
  if (c < a.cols) {
    const T b = GELU && a.bias ? a.bias[e * a.bias_member + c] : T(0);
    TORCHPE_UNROLL(AT_ONCE<S>)
    for (int64_t r = first + threadIdx.y; r < end; r += LANES) {
      const int64_t i = base + r * a.cols;
      T d = load(dy + i);
      if (GELU) d *= gelu_slope(load(u + i) + b);
      if (du) store(du + i, d);
      sum += d;
    }
  }
  if (!a.parts) return;
  sums[threadIdx.y * COLUMNS + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= a.cols) return;
  for (int l = 1; l < LANES; l++) sum += sums[l * COLUMNS + threadIdx.x];
  a.parts[(e * gridDim.y + blockIdx.y) * a.cols + c] = sum;
}

template <typename T, typename S, typename U>
void dense_backward_to(GpuStream s, const GpuDense<T, S>& a, U* du) {
  launch(s, a.u ? dense_backward_kernel<T, S, U, true> : dense_backward_kernel<T, S, U, false>,
         dim3(parts_of(a.cols, COLUMNS), sum_chunks(a.rows), a.members), dim3(COLUMNS, LANES), sizeof(T) * THREADS, a,
         sum_chunk_rows(a.rows), a.u, a.dy, du);
}

template <typename T, typename S>
void dense_backward(GpuStream s, const GpuDense<T, S>& a) {
  if (a.members * a.rows * a.cols == 0) return;
  if constexpr (sizeof(T) == 4)
    if (a.du16) return dense_backward_to(s, a, a.du16);
  dense_backward_to(s, a, a.du);
}

template <typename T>
__global__ void __launch_bounds__(THREADS) add_sums_kernel(const GpuSums<T> a) {
  TORCHPE_SHARED(T, sums);
  const int64_t c = int64_t(blockIdx.y) * COLUMNS + threadIdx.x, e = blockIdx.x, width = a.count * a.cols;
  T sum = 0;
  if (c < width) {
    TORCHPE_UNROLL(4)
    for (int64_t k = threadIdx.y; k < a.chunks; k += LANES) sum += a.parts[(e * a.chunks + k) * a.part_row + c];
  }
  sums[threadIdx.y * COLUMNS + threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= width) return;
  for (int l = 1; l < LANES; l++) sum += sums[l * COLUMNS + threadIdx.x];
  TORCHPE_UNROLL()
  for (int i = 0; i < 3; i++)
    if (c / a.cols == i) {
      T& into = a.into[i][e * a.into_member[i] + c % a.cols];
      into = a.first[i] ? sum : into + sum;
    }
}

template <typename T>
void add_sums(GpuStream s, const GpuSums<T>& a) {
  if (a.members * a.cols == 0) return;
  launch(s, add_sums_kernel<T>, dim3(a.members, parts_of(a.count * a.cols, COLUMNS)), dim3(COLUMNS, LANES),
         sizeof(T) * THREADS, a);
}

// ---- layer norm ----

// GROUP threads work on a row; each holds up to PER of its numbers.
template <typename T, typename S, int GROUP, int PER, bool GELU>
__global__ void __launch_bounds__(THREADS) add_layer_norm_kernel(const GpuNorm<T, S> a) {
  TORCHPE_SHARED(T, scratch);
  const int lane = threadIdx.x % GROUP, cols = int(a.cols);
  const int64_t e = blockIdx.y, r = int64_t(blockIdx.x) * (THREADS / GROUP) + threadIdx.x / GROUP;
  if (r >= a.rows) return;  // as a group
  const int64_t base = (e * a.rows + r) * cols;
  T h[PER], sum = 0;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    h[k] = 0;
    if (c < cols) {
      T y = a.y ? load(a.y + base + c) : T(0);
      if (a.y_bias) y += a.y_bias[e * a.y_bias_member + c];
      h[k] = a.x[base + c] + (GELU ? gelu(y) : y);
    }
    sum += h[k];
  }
  const T mean = group_sum<T, GROUP>(sum, scratch) / T(cols);
  sum = 0;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const T d = lane + k * GROUP < cols ? h[k] - mean : T(0);
    sum += d * d;
  }
  const T rs = T(1) / root_of(group_sum<T, GROUP>(sum, scratch) / T(cols) + T(a.eps));
  T gain[PER], bias[PER];  // loaded before the first store, which may alias them
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    gain[k] = c < cols ? a.gain[e * a.gain_member + c] : T(0);
    bias[k] = c < cols ? a.bias[e * a.bias_member + c] : T(0);
    if (a.table && c < cols) bias[k] += a.table[e * a.table_member + r % a.cut.tokens * cols + c];
  }
  if (a.rstd && lane == 0) a.rstd[e * a.rows + r] = rs;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    if (c >= cols) continue;
    const T v = (h[k] - mean) * rs;
    if (a.xhat) store(a.xhat + base + c, v);
    const T out = v * gain[k] + bias[k];
    a.out[base + c] = out;
    if constexpr (sizeof(T) == 4)
      if (a.out16) store(a.out16 + base + c, out);
  }
}

template <typename T, typename S, int GROUP, int PER, bool GELU>
__global__ void __launch_bounds__(THREADS) layer_norm_backward_kernel(const GpuNorm<T, S> a) {
  TORCHPE_SHARED(T, scratch);  // group_sum's where the block is one group; else rows [sums,cols] for each
  constexpr int GROUPS = THREADS / GROUP;
  const int lane = threadIdx.x % GROUP, group = threadIdx.x / GROUP, cols = int(a.cols);
  const int64_t e = blockIdx.y, token = blockIdx.x / a.cut.of_token, each = a.rows / a.cut.tokens,
                first = blockIdx.x % a.cut.of_token * a.cut.rows,
                end = first + a.cut.rows < each ? first + a.cut.rows : each;
  T g[PER], y_bias[GELU ? PER : 1], dgain[PER], dbias[PER], dy_sum[PER];
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    g[k] = c < cols ? a.gain[e * a.gain_member + c] : T(0);
    if constexpr (GELU) y_bias[k] = c < cols && a.y_bias ? a.y_bias[e * a.y_bias_member + c] : T(0);
    dgain[k] = dbias[k] = dy_sum[k] = 0;
  }
  for (int64_t i = first + group; i < end; i += GROUPS) {
    const int64_t r = i * a.cut.tokens + token, base = (e * a.rows + r) * cols;
    T h[PER], d[PER], u[GELU ? PER : 1], m1 = 0, m2 = 0;
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      const int c = lane + k * GROUP;
      h[k] = c < cols ? load(a.xhat + base + c) : T(0);
      d[k] = c < cols ? a.dout[base + c] : T(0);
      if constexpr (GELU) u[k] = c < cols ? load(a.y + base + c) : T(0);
    }
    const T rs = a.rstd[e * a.rows + r];
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      m1 += d[k] * g[k];
      m2 += d[k] * g[k] * h[k];
      dgain[k] += d[k] * h[k];
      dbias[k] += d[k];
    }
    m1 = group_sum<T, GROUP>(m1, scratch) / T(cols);
    m2 = group_sum<T, GROUP>(m2, scratch) / T(cols);
    TORCHPE_UNROLL()
    for (int k = 0; k < PER; k++) {
      const int c = lane + k * GROUP;
      if (c >= cols) continue;
      T ds = (d[k] * g[k] - m1 - h[k] * m2) * rs;
      a.ds[base + c] = ds;
      if constexpr (GELU) ds *= gelu_slope(u[k] + y_bias[k]);
      if (a.dy) store(a.dy + base + c, ds);
      dy_sum[k] += ds;
    }
  }
  T* const mine = a.parts + (e * gridDim.x + blockIdx.x) * a.sums * cols;
  T* const to = GROUPS == 1 ? mine : scratch + group * a.sums * cols;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    if (c >= cols) continue;
    to[c] = dgain[k];
    to[cols + c] = dbias[k];
    if (a.sums > 2) to[2 * cols + c] = dy_sum[k];
  }
  if constexpr (GROUPS > 1) {
    __syncthreads();
    for (int i = threadIdx.x; i < a.sums * cols; i += THREADS) {
      T sum = scratch[i];
      for (int w = 1; w < GROUPS; w++) sum += scratch[w * a.sums * cols + i];
      mine[i] = sum;
    }
  }
}

template <typename T, typename S, int GROUP, int PER>
struct Norm {
  static constexpr int GROUPS = THREADS / GROUP;
  static void forward(GpuStream s, const GpuNorm<T, S>& a) {
    launch(s, a.gelu ? add_layer_norm_kernel<T, S, GROUP, PER, true> : add_layer_norm_kernel<T, S, GROUP, PER, false>,
           dim3(parts_of(a.rows, GROUPS), a.members), dim3(THREADS), sizeof(T) * 8, a);
  }
  static void backward(GpuStream s, const GpuNorm<T, S>& a) {
    const size_t shared = sizeof(T) * size_t(GROUPS == 1 ? 8 : GROUPS * a.sums * a.cols);
    launch(s,
           a.gelu ? layer_norm_backward_kernel<T, S, GROUP, PER, true>
                  : layer_norm_backward_kernel<T, S, GROUP, PER, false>,
           dim3(a.cut.chunks(), a.members), dim3(THREADS), shared, a);
  }
};

// Calls f with the Norm that rows of `cols` numbers take; up to GPU_NORM_WIDTH.
template <typename T, typename S, typename F>
void with_norm(int64_t cols, F&& f) {
  if (cols <= 32) return f(Norm<T, S, 32, 1>());
  if (cols <= 64) return f(Norm<T, S, 32, 2>());
  if (cols <= 160) return f(Norm<T, S, 32, 5>());
  if (cols <= 256) return f(Norm<T, S, 32, 8>());
  if (cols <= 1024) return f(Norm<T, S, THREADS, 4>());
  if (cols <= GPU_NORM_WIDTH) return f(Norm<T, S, THREADS, 16>());
  throw std::runtime_error("layer norm of rows of more than 4096");
}

template <typename T, typename S>
void add_layer_norm(GpuStream s, const GpuNorm<T, S>& a) {
  if (a.members * a.rows * a.cols > 0) with_norm<T, S>(a.cols, [&](auto n) { n.forward(s, a); });
}

template <typename T, typename S>
void layer_norm_backward(GpuStream s, const GpuNorm<T, S>& a) {
  if (a.members * a.rows * a.cols > 0) with_norm<T, S>(a.cols, [&](auto n) { n.backward(s, a); });
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

// ---- what a step saw ----

template <typename T>
__global__ void __launch_bounds__(THREADS) account_kernel(const GpuAccount<T> a) {
  const int64_t e = int64_t(blockIdx.x) * THREADS + threadIdx.x, E = a.members;
  if (e >= E) return;
  double* s = a.state + e;
  const double loss = double(a.each[e]);
  s[0] += loss * a.examples;
  if (a.correct) s[E] += a.correct[e];
  if (!(loss - loss == 0)) {  // infinite or NaN
    s[3 * E] += s[2 * E] * double(a.step[0] + 1);
    s[2 * E] = 0;
  }
  s[4 * E] = loss;
}

template <typename T>
void account(GpuStream s, const GpuAccount<T>& a) {
  if (a.members > 0) launch(s, account_kernel<T>, dim3(parts_of(a.members, THREADS)), dim3(THREADS), 0, a);
}

// ---- losses ----

// The largest of a row of logits, NaN if there is one, and its index.
template <typename T>
__device__ __forceinline__ T largest(const T* z, int64_t C, int64_t& at) {
  T most = z[0];
  at = 0;
  for (int64_t c = 1; c < C; c++)
    if (z[c] > most || (z[c] != z[c] && most == most)) {
      most = z[c];
      at = c;
    }
  return most;
}

template <typename T>
__device__ __forceinline__ T sum_of_exponentials(const T* z, int64_t C, T most) {
  T sum = 0;
  for (int64_t c = 0; c < C; c++) sum += exp_of(z[c] - most);
  return sum;
}

// A block is a member.
template <typename T>
__global__ void __launch_bounds__(THREADS)
    cross_entropy_kernel(int64_t B, int64_t C, const T* __restrict z, const int64_t* __restrict target, T* loss) {
  TORCHPE_SHARED(T, scratch);
  const int64_t e = blockIdx.x;
  T sum = 0;
  for (int64_t b = threadIdx.x; b < B; b += THREADS) {
    const T* row = z + (e * B + b) * C;
    const int64_t y = target[e * B + b];
    int64_t at;
    const T most = largest(row, C, at);
    sum += y >= 0 && y < C ? log_of(sum_of_exponentials(row, C, most)) + most - row[y] : T(NAN);
  }
  sum = group_sum<T, THREADS>(sum, scratch);
  if (threadIdx.x == 0) loss[e] = sum / T(B);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    cross_entropy_backward_kernel(int64_t B, int64_t C, const T* __restrict z, const int64_t* __restrict target,
                                  const T* g, int64_t g_member, T* __restrict dz) {
  const int64_t b = int64_t(blockIdx.x) * THREADS + threadIdx.x, e = blockIdx.y, first = (e * B + b) * C;
  if (b >= B) return;
  int64_t at;
  const T most = largest(z + first, C, at), share = g[e * g_member] / T(B),
          scale = share / sum_of_exponentials(z + first, C, most);
  const int64_t y = target[e * B + b];
  for (int64_t c = 0; c < C; c++) dz[first + c] = exp_of(z[first + c] - most) * scale - (c == y ? share : T(0));
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    right_answers_kernel(int64_t B, int64_t C, const T* __restrict z, const int64_t* __restrict target, double* right) {
  TORCHPE_SHARED(double, scratch);
  const int64_t e = blockIdx.x;
  double sum = 0;
  for (int64_t b = threadIdx.x; b < B; b += THREADS) {
    int64_t at;
    largest(z + (e * B + b) * C, C, at);
    sum += at == target[e * B + b] ? 1 : 0;
  }
  sum = group_sum<double, THREADS>(sum, scratch);
  if (threadIdx.x == 0) right[e] = sum;
}

template <typename T>
void cross_entropy(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target, T* loss) {
  if (E * B * C > 0) launch(s, cross_entropy_kernel<T>, dim3(E), dim3(THREADS), sizeof(T) * 8, B, C, z, target, loss);
}

template <typename T>
void cross_entropy_backward(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target, const T* g,
                            int64_t g_member, T* dz) {
  if (E * B * C > 0)
    launch(s, cross_entropy_backward_kernel<T>, dim3(parts_of(B, THREADS), E), dim3(THREADS), 0, B, C, z, target, g,
           g_member, dz);
}

template <typename T>
void right_answers(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target, double* right) {
  if (E * B * C > 0)
    launch(s, right_answers_kernel<T>, dim3(E), dim3(THREADS), sizeof(double) * 8, B, C, z, target, right);
}

// ---- dropout ----

template <typename T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS) dropout_kernel(int64_t n, const T* __restrict x, const int64_t* draws,
                                                          uint64_t call, uint32_t threshold, T keep, T* __restrict y) {
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
void dropout(GpuStream s, int64_t E, int64_t n, const T* x, const int64_t* draws, uint64_t call, uint32_t threshold,
             double keep, T* y) {
  if (E * n == 0) return;
  const bool aligned =
      n % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0;
  launch(s, aligned ? dropout_kernel<T, true> : dropout_kernel<T, false>, dim3(parts_of(parts_of(n, 4), THREADS), E),
         dim3(THREADS), 0, n, x, draws, call, threshold, keep, y);
}

template <typename T>
constexpr GpuTable<T> TABLE = {add_sums<T>,      adam<T>,          sgd<T>,    account<T>, cross_entropy<T>,
                               cross_entropy_backward<T>, right_answers<T>, dropout<T>};

template <typename T, typename S>
constexpr GpuWideTable<T, S> WIDE_TABLE = {bias_gelu<T, S>,           dense_backward<T, S>, add_layer_norm<T, S>,
                                           layer_norm_backward<T, S>, attention<T, S>,      attention_backward<T, S>};

}  // namespace

template <>
const GpuTable<float>& table<float>() {
  return TABLE<float>;
}
template <>
const GpuTable<double>& table<double>() {
  return TABLE<double>;
}
template <>
const GpuWideTable<float, float>& wide_table<float, float>() {
  return WIDE_TABLE<float, float>;
}
template <>
const GpuWideTable<float, Bf16>& wide_table<float, Bf16>() {
  return WIDE_TABLE<float, Bf16>;
}
template <>
const GpuWideTable<double, double>& wide_table<double, double>() {
  return WIDE_TABLE<double, double>;
}

}  // namespace TORCHPE_FORM
}  // namespace torchpe
