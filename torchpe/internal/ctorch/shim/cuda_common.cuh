// cuda_common.cuh: shared by all kernels: how they are compiled and launched, and functions of
// single numbers.
#pragma once
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
  if (e != cudaSuccess)
    throw std::runtime_error(std::string("CUDA error: ") + cudaGetErrorString(e) + " (at a kernel of torchpe)");
}
#endif

constexpr int THREADS = 256;  // of a block, unless it says otherwise
constexpr unsigned WARP = 0xFFFFFFFFu;

inline int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

__device__ __forceinline__ float exp_of(float x) { return expf(x); }
__device__ __forceinline__ double exp_of(double x) { return exp(x); }
__device__ __forceinline__ float log_of(float x) { return logf(x); }
__device__ __forceinline__ double log_of(double x) { return log(x); }
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

// Over LANES neighbouring threads of a warp, all of which call it.
template <int LANES, typename T>
__device__ __forceinline__ T lanes_sum(T v) {
  TORCHPE_UNROLL()
  for (int lane = LANES / 2; lane > 0; lane /= 2) v += __shfl_xor_sync(WARP, v, lane);
  return v;
}
template <int LANES, typename T>
__device__ __forceinline__ T lanes_max(T v) {
  TORCHPE_UNROLL()
  for (int lane = LANES / 2; lane > 0; lane /= 2) {
    const T other = __shfl_xor_sync(WARP, v, lane);
    v = other > v ? other : v;
  }
  return v;
}

// The sum of the values v of a group of GROUP threads, which is a warp or a block.
template <typename T, int GROUP>
__device__ __forceinline__ T group_sum(T v, T* scratch) {
  v = lanes_sum<32>(v);
  if constexpr (GROUP > 32) {
    __syncthreads();  // scratch may still be read
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    v = scratch[0];
    for (int w = 1; w < GROUP / 32; w++) v += scratch[w];
  }
  return v;
}

union FloatBits {
  float f;
  uint32_t bits;
};

__device__ __forceinline__ float load(const float* p) { return *p; }
__device__ __forceinline__ double load(const double* p) { return *p; }
__device__ __forceinline__ float load(const Bf16* p) {
  FloatBits u;
  u.bits = uint32_t(p->bits) << 16;
  return u.f;
}
__device__ __forceinline__ void store(float* p, float v) { *p = v; }
__device__ __forceinline__ void store(double* p, double v) { *p = v; }
// The nearest bfloat16, of two the even one.
__device__ __forceinline__ void store(Bf16* p, float v) {
  FloatBits u;
  u.f = v;
  p->bits = v != v ? uint16_t(0x7FC0) : uint16_t((u.bits + 0x7FFFu + ((u.bits >> 16) & 1u)) >> 16);
}

}  // namespace
}  // namespace TORCHPE_FORM
}  // namespace torchpe
