// The kernels of test_ptx.cc.
#include <cassert>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return

extern "C" {

// ---- Arithmetic: each value computed is written to its own row of the output.

__global__ void saxpy(int n, float a, const float* x, float* y) {
  INDEX;
  y[i] = a * x[i] + y[i];
}

__device__ unsigned bits3(unsigned a, unsigned b, unsigned c) {
  unsigned r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6A;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

__global__ void integers32(int n, const uint32_t* x, const uint32_t* y, uint32_t* out) {
  INDEX;
  uint32_t a = x[i], b = y[i], c, k = 0;
  int32_t s = int32_t(a), t = int32_t(b), d;
#define PUT(value) out[n * k++ + i] = uint32_t(value)
  PUT(a + b); PUT(a - b); PUT(a * b); PUT(__umulhi(a, b)); PUT(__mulhi(s, t));
  PUT(b ? a / b : 7); PUT(b ? a % b : 7); PUT(t && t != -1 ? s / t : 7); PUT(t && t != -1 ? s % t : 7);
  asm("shl.b32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b & 63)); PUT(c);
  asm("shr.u32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b & 63)); PUT(c);
  asm("shr.s32 %0, %1, %2;" : "=r"(d) : "r"(s), "r"(b & 63)); PUT(d);
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b & 0xFF), "r"(b >> 8 & 0x3F)); PUT(c);
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(s), "r"(b & 0xFF), "r"(b >> 8 & 0x3F)); PUT(d);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(c) : "r"(a), "r"(b), "r"(b & 0x3F), "r"(b >> 8 & 0x3F)); PUT(c);
  PUT(__byte_perm(a, b, a ^ b)); PUT(__popc(a)); PUT(__clz(a)); PUT(__brev(a)); PUT(__ffs(a));
  PUT(__funnelshift_l(a, b, b >> 3)); PUT(__funnelshift_r(a, b, b >> 3)); PUT(__funnelshift_lc(a, b, b & 63)); PUT(__funnelshift_rc(a,
      b, b & 63));
  PUT(bits3(a, b, a * 5)); PUT(min(s, t)); PUT(max(a, b)); PUT(abs(s)); PUT(__sad(s, t, 3u)); PUT(__usad(a, b, 3u));
  PUT(__mul24(s, t)); PUT(__umul24(a, b)); PUT(s < t); PUT(a <= b); PUT(__dp4a(s, t, 1)); PUT(__dp4a(a, b, 1u));
  asm("vshr.u32.u32.u32.clamp.add %0, %1, %2, %3;" : "=r"(c) : "r"(a), "r"(b & 63), "r"(b)); PUT(c);
  PUT(uint16_t(a) * uint16_t(b)); PUT(int16_t(a) * int16_t(b)); PUT(uint16_t(uint16_t(a) + uint16_t(b))); PUT(int8_t(a));
      PUT(int16_t(a) >> (b & 15));
  asm("bfind.u32 %0, %1;" : "=r"(c) : "r"(a)); PUT(c);
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(c) : "r"(s)); PUT(c);
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(d) : "r"(s)); PUT(d);
#undef PUT
}

__global__ void integers64(int n, const uint64_t* x, const uint64_t* y, uint64_t* out) {
  INDEX;
  uint64_t a = x[i], b = y[i], k = 0;
  int64_t s = int64_t(a), t = int64_t(b);
#define PUT(value) out[n * k++ + i] = uint64_t(value)
  PUT(a + b); PUT(a - b); PUT(a * b); PUT(__umul64hi(a, b)); PUT(__mul64hi(s, t));
  PUT(b ? a / b : 7); PUT(b ? a % b : 7); PUT(t && t != -1 ? s / t : 7); PUT(t && t != -1 ? s % t : 7);
  PUT(a << (b & 63)); PUT(a >> (b & 63)); PUT(s >> (b & 63)); PUT(__popcll(a)); PUT(__clzll(a)); PUT(__brevll(a)); PUT(__ffsll(a));
  PUT(min(s, t)); PUT(max(a, b)); PUT(s < t); PUT(a > b); PUT(uint64_t(uint32_t(a)) * uint32_t(b)); PUT(int64_t(int32_t(a)) * int32_t(b));
  unsigned __int128 p = (unsigned __int128)a * b + a;
  PUT(p >> 64); PUT(p);
#undef PUT
}

#define FLOATS(NAME, T, FMA, SUFFIX) \
  __global__ void NAME(int n, const T* x, const T* y, const T* z, T* out, int64_t* ints) { \
    INDEX; \
    T a = x[i], b = y[i], c = z[i]; \
    int k = 0, m = 0; \
    out[n * k++ + i] = a + b; out[n * k++ + i] = a - b; out[n * k++ + i] = __##SUFFIX##mul_rn(a, b); out[n * k++ + i] = a / b; \
    out[n * k++ + i] = FMA(a, b, c); out[n * k++ + i] = sqrt(a); out[n * k++ + i] = T(1) / a; \
    out[n * k++ + i] = __##SUFFIX##add_rz(a, b); out[n * k++ + i] = __##SUFFIX##add_ru(a, b); out[n * k++ + i] = __##SUFFIX##mul_rd(a, \
        b); \
    out[n * k++ + i] = fmin(a, b); out[n * k++ + i] = fmax(a, b); out[n * k++ + i] = -a; out[n * k++ + i] = fabs(a); \
    out[n * k++ + i] = copysign(a, b); out[n * k++ + i] = trunc(a); out[n * k++ + i] = floor(a); out[n * k++ + i] = ceil(a); \
    out[n * k++ + i] = rint(a); \
    ints[n * m++ + i] = int32_t(a); ints[n * m++ + i] = uint32_t(a); ints[n * m++ + i] = int64_t(a); ints[n * m++ + i] = uint64_t(a); \
    ints[n * m++ + i] = (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 | (a == b) << 4 | (a != b) << 5 | !(a < b) << 6 | !(a >= \
        b) << 7; \
    ints[n * m++ + i] = isnan(a) | isinf(b) << 1 | signbit(c) << 2; ints[n * m++ + i] = llrint(a); \
  }
FLOATS(floats, float, fmaf, f)
FLOATS(doubles, double, fma, d)

__global__ void conversions(int n, const float* f, const double* d, const int64_t* s, float* out, double* wide, uint16_t* half) {
  INDEX;
  int k = 0, m = 0, h = 0;
  int64_t v = s[i];
  out[n * k++ + i] = float(d[i]); out[n * k++ + i] = float(v); out[n * k++ + i] = float(uint64_t(v));
      out[n * k++ + i] = float(int32_t(v));
  out[n * k++ + i] = float(uint32_t(v)); out[n * k++ + i] = __double2float_rz(d[i]); out[n * k++ + i] = __double2float_ru(d[i]);
  out[n * k++ + i] = __saturatef(f[i]); out[n * k++ + i] = __half2float(__ushort_as_half(uint16_t(v)));
  out[n * k++ + i] = __bfloat162float(__ushort_as_bfloat16(uint16_t(v)));
  wide[n * m++ + i] = double(f[i]); wide[n * m++ + i] = double(v); wide[n * m++ + i] = double(uint64_t(v));
  half[n * h++ + i] = __half_as_ushort(__float2half_rn(f[i])); half[n * h++ + i] = __half_as_ushort(__float2half_rz(f[i]));
  half[n * h++ + i] = __half_as_ushort(__float2half_ru(f[i])); half[n * h++ + i] = __half_as_ushort(__float2half_rd(f[i]));
  half[n * h++ + i] = __bfloat16_as_ushort(__float2bfloat16_rn(f[i]));
      half[n * h++ + i] = __bfloat16_as_ushort(__float2bfloat16_rz(f[i]));
  __nv_bfloat162 pair = __floats2bfloat162_rn(f[i], -f[i]);
  half[n * h++ + i] = __bfloat16_as_ushort(pair.x); half[n * h++ + i] = __bfloat16_as_ushort(pair.y);
  __half x = __ushort_as_half(uint16_t(v)), y = __ushort_as_half(uint16_t(v >> 16));
  half[n * h++ + i] = __half_as_ushort(__hadd(x, y)); half[n * h++ + i] = __half_as_ushort(__hmul(x, y));
  __half2 sum = __hadd2(__halves2half2(x, y), __halves2half2(y, y));
  half[n * h++ + i] = __half_as_ushort(sum.x); half[n * h++ + i] = __half_as_ushort(sum.y);
}

#define FUNCTIONS(NAME, T) \
  __global__ void NAME(int n, const T* x, const T* y, T* out) { \
    INDEX; \
    T a = x[i], b = y[i]; \
    int k = 0; \
    out[n * k++ + i] = exp(a); out[n * k++ + i] = log(fabs(a)); out[n * k++ + i] = erf(a); out[n * k++ + i] = tanh(a); \
    out[n * k++ + i] = pow(fabs(a), b); out[n * k++ + i] = sin(a); out[n * k++ + i] = cos(a * 1000); out[n * k++ + i] = log1p(fabs(a)); \
    out[n * k++ + i] = expm1(a); out[n * k++ + i] = rsqrt(fabs(a)); out[n * k++ + i] = cbrt(a); out[n * k++ + i] = atan2(a, b); \
    out[n * k++ + i] = sin(a * T(1e9)); out[n * k++ + i] = lgamma(fabs(a)); out[n * k++ + i] = fmod(a * 100, b); \
  }
FUNCTIONS(float_functions, float)
FUNCTIONS(double_functions, double)

// ---- Blocks and warps.

__global__ void block_sum(int n, const float* x, float* out) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int offset = 16; offset; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

__global__ void collatz(int n, const uint32_t* x, uint32_t* steps) {
  INDEX;
  uint32_t k = 0;
  for (uint64_t v = x[i]; v > 1; k++) v = v % 2 ? 3 * v + 1 : v / 2;
  steps[i] = k;
}

__global__ void warp_votes(const uint32_t* x, uint32_t* out) {
  int i = threadIdx.x, n = blockDim.x;
  uint32_t v = x[i];
  out[i] = __ballot_sync(~0u, v & 1);
  out[n + i] = __any_sync(~0u, v == 5) | __all_sync(~0u, v < 100) << 1;
  out[2 * n + i] = __shfl_sync(~0u, v, (i + 1) % 8, 8);
  out[3 * n + i] = __shfl_up_sync(~0u, v, 3, 16);
  out[4 * n + i] = __match_any_sync(~0u, v & 3);
  out[5 * n + i] = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v);
  if (v & 1) out[6 * n + i] = __activemask();
  else out[6 * n + i] = __ballot_sync(__activemask(), v & 2);
  int sum = 0;
  for (int k = 0; k < int(v % 7); k++) sum += __popc(__activemask());
  __syncwarp();
  out[7 * n + i] = __syncthreads_count(v & 1) + 1000 * __syncthreads_or(v == 5) + 10000 * (sum > 0);
}

// Half of the lanes wait at another place of the text than the rest.
__global__ void warp_split(uint32_t* out) {
  __shared__ uint32_t shared[32];
  uint32_t lane = threadIdx.x;
  if (lane % 2) {
    shared[lane] = lane;
    __syncwarp(0xAAAAAAAA);
    out[lane] = shared[(lane + 2) % 32] + __shfl_sync(0xAAAAAAAA, lane, 1);
  } else {
    for (uint32_t k = 0; k <= lane; k++) shared[lane] = k;
    __syncwarp(0x55555555);
    out[lane] = shared[(lane + 2) % 32] + __shfl_sync(0x55555555, lane, 30);
  }
}

__global__ void atomics(int n, const int* x, int* ints, float* f, double* d, unsigned long long* wide, __half2* h) {
  INDEX;
  atomicAdd(&ints[0], x[i]); atomicMin(&ints[1], x[i]); atomicMax(&ints[2], x[i]); atomicXor(&ints[3], x[i]);
  atomicInc((unsigned*)&ints[4], 9u); atomicDec((unsigned*)&ints[5], 6u); atomicOr(&ints[6], x[i]); atomicAnd(&ints[7], x[i]);
  ints[16 + i] = atomicAdd(&ints[8], 1);
  atomicAdd(f, float(x[i])); atomicAdd(d, double(x[i])); atomicAdd(wide, (unsigned long long)x[i]);
  atomicAdd(h, __halves2half2(__float2half(1.0f), __float2half(2.0f)));
  int old = ints[9], seen;
  do {
    seen = old;
    old = atomicCAS(&ints[9], seen, seen + x[i] % 3);
  } while (old != seen);
}

__global__ void histogram(int n, const int* x, int* out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

struct Pair {
  int first;
  double second;
};

__noinline__ __device__ Pair combine(Pair a, int k) { return {a.first * k + 1, a.second / (k + 1)}; }
__noinline__ __device__ int twice(int a, int k) { return combine({a, 1.0}, k).first * 2; }

__global__ void calls(int n, const int* x, int* ints, double* doubles) {
  INDEX;
  Pair p = {x[i], 3.0};
  if (x[i] & 1) p = combine(p, x[i]);
  ints[i] = p.first + twice(x[i], 5);
  doubles[i] = p.second;
}

typedef int (*Operation)(int, int);
__noinline__ __device__ int plus(int a, int b) { return a + b; }
__noinline__ __device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, times, twice};

__global__ void indirect(int n, const int* x, int* out) {
  INDEX;
  out[i] = operations[x[i] & 1](x[i], i);
}

__global__ void switches(int n, const int* x, int* out) {
  INDEX;
  int v = x[i], r;
  switch (v & 15) {
    case 0: r = v * 3; break;
    case 1: r = v ^ 0x55; break;
    case 2: r = v / 7; break;
    case 3: out[n + i] = v; r = 1; break;
    case 4: r = __popc(v); break;
    case 5: r = v % 11; break;
    case 6: out[n + i] = 5; r = v >> 3; break;
    case 7: r = __clz(v); break;
    case 8: r = v - 100; break;
    case 9: out[n + i] = v + v; r = -v; break;
    default: r = 77;
  }
  out[i] = r;
}

__global__ void local_array(int n, const int* x, int* out) {
  INDEX;
  int values[16];
  for (int k = 0; k < 16; k++) values[(k * 7 + x[i]) & 15] = k * x[i];
  int sum = 0;
  for (int k = 0; k < 5; k++) sum = sum * 3 + values[(x[i] >> k) & 15];
  out[i] = sum;
}

__global__ void vectors(int n, const float4* x, const ushort4* h, float4* out, double2* d) {
  INDEX;
  float4 v = x[i];
  ushort4 w = h[i];
  out[i] = make_float4(v.w, v.z + w.x, v.y + w.y, v.x + w.w);
  d[i] = make_double2(v.x, w.z);
}

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int counter = 40;

__global__ void constants(int* out) {
  out[threadIdx.x] = table[threadIdx.x % 8];
  if (threadIdx.x == 0) counter++;
}

// Instructions that the compiler seldom chooses itself.
__global__ void seldom(int n, const uint32_t* x, const uint32_t* y, const uint32_t* z, uint32_t* out) {
  INDEX;
  uint32_t a = x[i], b = y[i], c = z[i], r, k = 0;
#define ONE(text) asm(text : "=r"(r) : "r"(a), "r"(b), "r"(c)); out[n * k++ + i] = r
  ONE("set.le.u32.f16x2 %0, %1, %2;");
  ONE("fma.rn.bf16x2 %0, %1, %2, %3;");
  ONE("mul.f16x2 %0, %1, %2;");
  ONE("min.f16x2 %0, %1, %2;");
  ONE("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;");
  ONE("{.reg .pred p, q; setp.lt.s32 p, %2, %3; setp.ge.or.u32 p|q, %1, %2, !p; selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2;}");
  ONE("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l};}");
  ONE("sub.cc.u32 %0, %1, %2;  subc.u32 %0, %3, 7;");
  ONE("slct.u32.s32 %0, %1, %2, %3;");
  ONE("{.reg .f32 f; .reg .pred p; mov.b32 f, %1; testp.subnormal.f32 p, f; selp.u32 %0, 1, 0, p;}");
  ONE("add.sat.s32 %0, %1, %2;");
  ONE("prmt.b32.rc16 %0, %1, %2, %3;");
  ONE("{.reg .f32 f; cvt.rn.f32.u32 f, %1; ex2.approx.ftz.f32 f, 0f40400000; cvt.rzi.u32.f32 %0, f;}");
  ONE("fns.b32 %0, %1, 0, 3;");
  ONE("bfi.b32 %0, %1, %2, 4, 8;");
  ONE("{.reg .f32 f, g; mov.b32 f, %1; mov.b32 g, %2; set.gtu.u32.f32 %0, f, g;}");
#undef ONE
}

struct Settings {
  float values[8];
  int more[3];
};

__noinline__ __device__ float valueAt(const float* values, int k) { return values[k & 7]; }

__global__ void from_params(Settings s, int n, const int* x, float* out) {
  INDEX;
  out[i] = s.values[x[i] & 7] + s.more[(x[i] & 15) % 3];
}

__global__ void from_constant_params(const __grid_constant__ Settings s, int n, const int* x, float* out) {
  INDEX;
  out[i] = valueAt(s.values, x[i]) + s.more[(x[i] & 15) % 3];
}

extern __shared__ char dynamic[];
__global__ void reverse(const double* x, double* out) {
  __shared__ int count[3];
  double* values = (double*)dynamic;
  if (threadIdx.x < 3) count[threadIdx.x] = int(threadIdx.x) + 1;
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x] * count[1];
}

__global__ void reverse_without_barrier(const double* x, double* out) {
  double* values = (double*)dynamic;
  values[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

__global__ void half_barrier(int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");
  else asm volatile("bar.sync 2, 64;");
  out[threadIdx.x] = 1;
}

__global__ void overrun(int n, float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void asserts(int n, const int* x) {
  INDEX;
  assert(x[i] != 13);
}

// A warp waits in a loop for another one.
__global__ void spin(int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 33) flag = 7;
  if (threadIdx.x == 0) while (flag == 0) {}
  __syncthreads();
  out[threadIdx.x] = flag;
}

// ---- Matrices: D = A B + C by the tensor instructions; 16 x K times K x 8.

__global__ void mma_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
  __shared__ __align__(16) __nv_bfloat16 sa[16][16], sb[16][8];
  int lane = threadIdx.x;
  unsigned target = (unsigned)__cvta_generic_to_shared(&sa[0][0] + lane * 8);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(a + lane * 8));
  target = (unsigned)__cvta_generic_to_shared(&sb[0][0] + lane % 16 * 8);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(b + lane % 16 * 8), "r"(16));
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  unsigned fa[4], fb[2];
  float c[4] = {1, 2, 3, 4};
  unsigned address = (unsigned)__cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]),
      "=r"(fa[3]) : "r"(address));
  address = (unsigned)__cvta_generic_to_shared(&sb[lane % 16][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(address));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  for (int k = 0; k < 4; k++) d[(lane / 4 + k / 2 * 8) * 8 + lane % 4 * 2 + k % 2] = c[k];
}

__global__ void mma_tf32(const float* a, const float* b, float* d) {
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  unsigned fa[4], fb[2];
  float values[6] = {a[g * 8 + t], a[(g + 8) * 8 + t], a[g * 8 + t + 4], a[(g + 8) * 8 + t + 4], b[t * 8 + g], b[(t + 4) * 8 + g]};
  for (int k = 0; k < 4; k++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fa[k]) : "f"(values[k]));
  for (int k = 0; k < 2; k++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fb[k]) : "f"(values[4 + k]));
  float c[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  for (int k = 0; k < 4; k++) d[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = c[k];
}

}  // extern "C"
