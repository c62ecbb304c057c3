// cuda_softmax.cuh: the softmax between the products of attention over many tokens, and its backward
// pass, in place of the logits. A row is read once into registers.
#pragma once
#include "cuda_common.cuh"

namespace torchpe {
namespace TORCHPE_FORM {
namespace {

// w = exp(l - most) / sum over a row's scaled logits l, whose logits were in w; in the backward pass
// also d = scale w (d - rowsum(w d)), where d held the gradient of w.
template <typename T, int GROUP, int PER, bool BACKWARD>
__global__ void __launch_bounds__(THREADS) softmax_of_logits_kernel(const GpuSoftmax<T> a) {
  TORCHPE_SHARED(T, scratch);
  const int lane = threadIdx.x % GROUP, cols = int(a.cols);
  const int64_t r = int64_t(blockIdx.x) * (THREADS / GROUP) + threadIdx.x / GROUP;
  if (r >= a.rows) return;  // as a group
  T *const w = a.w + r * a.row, *const d = BACKWARD ? a.d + r * a.row : nullptr;
  const T scale = T(a.scale);
  T e[PER], g[BACKWARD ? PER : 1], most = -INFINITY;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    e[k] = c < cols ? scale * w[c] : T(-INFINITY);
    if constexpr (BACKWARD) g[k] = c < cols ? d[c] : T(0);
    most = e[k] > most ? e[k] : most;
  }
  most = group_max<T, GROUP>(most, scratch);
  T sum = 0, dot = 0;
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    e[k] = lane + k * GROUP < cols ? exp_of(e[k] - most) : T(0);
    sum += e[k];
    if constexpr (BACKWARD) dot += e[k] * g[k];
  }
  const T part = T(1) / group_sum<T, GROUP>(sum, scratch);
  if constexpr (BACKWARD) dot = part * group_sum<T, GROUP>(dot, scratch);
  TORCHPE_UNROLL()
  for (int k = 0; k < PER; k++) {
    const int c = lane + k * GROUP;
    if (c >= cols) continue;
    w[c] = part * e[k];
    if constexpr (BACKWARD) d[c] = scale * part * e[k] * (g[k] - dot);
  }
}

template <typename T, int GROUP, int PER>
void softmax_in_groups(GpuStream s, const GpuSoftmax<T>& a) {
  launch(s, a.d ? softmax_of_logits_kernel<T, GROUP, PER, true> : softmax_of_logits_kernel<T, GROUP, PER, false>,
         dim3(parts_of(a.rows, THREADS / GROUP)), dim3(THREADS), sizeof(T) * 8, a);
}

template <typename T>
void softmax(GpuStream s, const GpuSoftmax<T>& a) {
  if (a.rows * a.cols == 0) return;
  if (a.cols <= 128) return softmax_in_groups<T, 32, 4>(s, a);
  if (a.cols <= 384) return softmax_in_groups<T, 32, 12>(s, a);
  if (a.cols <= 768) return softmax_in_groups<T, 32, 24>(s, a);
  if (a.cols <= GPU_SOFTMAX_WIDTH) return softmax_in_groups<T, THREADS, 16>(s, a);
  throw std::runtime_error("softmax of rows of more than 4096");
}

}  // namespace
}  // namespace TORCHPE_FORM
}  // namespace torchpe
