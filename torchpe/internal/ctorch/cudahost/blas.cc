// blas.cc: a libcublas.so that needs no GPU: matrix products in order, with operands rounded as the handle's math mode says.
// What torchpe does not call answers that it is not supported (build.sh).
#include <cublas_v2.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "device.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace {

float bfloat16(uint16_t b) {
  const uint32_t u = uint32_t(b) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

// x to the nearest with `bits` fewer bits after the point, ties to even.
float rounded(float x, int bits) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  if ((u & 0x7F800000) == 0x7F800000) return x;
  u += (1u << (bits - 1)) - 1 + ((u >> bits) & 1);
  u &= ~((1u << bits) - 1);
  std::memcpy(&x, &u, 4);
  return x;
}

uint16_t to_bfloat16(float x) {
  if (std::isnan(x)) return 0x7FFF;
  x = rounded(x, 16);
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return uint16_t(u >> 16);
}

template <typename S>
double load(const void* p, int64_t i);
template <>
double load<double>(const void* p, int64_t i) {
  return static_cast<const double*>(p)[i];
}
template <>
double load<float>(const void* p, int64_t i) {
  return static_cast<const float*>(p)[i];
}
template <>
double load<uint16_t>(const void* p, int64_t i) {
  return bfloat16(static_cast<const uint16_t*>(p)[i]);
}
void store(double* p, int64_t i, double v) { p[i] = v; }
void store(float* p, int64_t i, double v) { p[i] = float(v); }
void store(uint16_t* p, int64_t i, double v) { p[i] = to_bfloat16(float(v)); }

struct Product {
  bool ta, tb;
  int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
  double alpha, beta;
  const void *a, *b;
  void* c;
  bool tf32;
};

// C = alpha op(A) op(B) + beta C, column by column. Sums are in double: closer than a GPU's.
template <typename S, typename R>
void multiply(const Product& p) {
  std::vector<double> a(size_t(p.m * p.k)), column(static_cast<size_t>(p.m));
  const auto in = [&](double v) { return p.tf32 ? double(rounded(float(v), 13)) : v; };
  for (int64_t z = 0; z < p.batch; z++) {
    const int64_t oa = z * p.stride_a, ob = z * p.stride_b, oc = z * p.stride_c;
    for (int64_t l = 0; l < p.k; l++)
      for (int64_t i = 0; i < p.m; i++) a[size_t(l * p.m + i)] = in(load<S>(p.a, oa + (p.ta ? i * p.lda + l : l * p.lda + i)));
    for (int64_t j = 0; j < p.n; j++) {
      std::fill(column.begin(), column.end(), 0);
      for (int64_t l = 0; l < p.k; l++) {
        const double b = in(load<S>(p.b, ob + (p.tb ? l * p.ldb + j : j * p.ldb + l)));
        const double* from = a.data() + l * p.m;
        for (int64_t i = 0; i < p.m; i++) column[size_t(i)] += from[i] * b;
      }
      R* c = static_cast<R*>(p.c) + oc + j * p.ldc;
      for (int64_t i = 0; i < p.m; i++) store(c, i, p.alpha * column[size_t(i)] + (p.beta != 0 ? p.beta * load<R>(c, i) : 0));
    }
  }
}

template <typename S>
double scalar(const void* p) {
  return double(*static_cast<const S*>(p));
}

cublasStatus_t product(cublasHandle_t h, const char* name, Product p, void (*how)(const Product&), cudaDataType type, bool tf32) {
  if (h->pointers != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_NOT_SUPPORTED;
  const int64_t rows_a = p.ta ? p.k : p.m, rows_b = p.tb ? p.n : p.k;
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.lda < std::max<int64_t>(1, rows_a) || p.ldb < std::max<int64_t>(1, rows_b) || p.ldc < std::max<int64_t>(1, p.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  p.tf32 = tf32;
  // what tensor cores can load 16 bytes of at a time
  const int64_t size = type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
  const auto odd = [&](const void* q, int64_t ld, int64_t stride) { return (reinterpret_cast<uintptr_t>(q) | uintptr_t(ld * size) | uintptr_t(stride * size)) % 16; };
  const bool aligned = !odd(p.a, p.lda, p.stride_a) && !odd(p.b, p.ldb, p.stride_b);
  char text[200];
  std::snprintf(text, sizeof text, "%s %s%s <%s%s %lldx%lldx%lld of %lld, beta %g>", name, type == CUDA_R_64F ? "f64" : type == CUDA_R_32F ? (tf32 ? "tf32" : "f32") : "bf16",
                aligned ? "" : " unaligned", p.ta ? "T" : "N", p.tb ? "T" : "N", (long long)p.m, (long long)p.n, (long long)p.k, (long long)p.batch, p.beta);
  if (p.m * p.n * p.batch == 0) return CUBLAS_STATUS_SUCCESS;
  return cudahost::enqueue(h->stream, text, [p, how] { how(p); }) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

bool allows_tf32(cublasHandle_t h) { return (h->math & 0xF) == CUBLAS_TF32_TENSOR_OP_MATH; }

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* h) {
  *h = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
  delete h;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
  h->stream = s;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t m) {
  h->math = m;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t* m) {
  *m = h->math;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t m) {
  h->pointers = m;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t* m) {
  *m = h->pointers;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha, const float* a, int lda,
                                         long long sa, const float* b, int ldb, long long sb, const float* beta, float* c, int ldc, long long sc, int batch) {
  return product(h, "gemm", {ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, sa, sb, sc, batch, *alpha, *beta, a, b, c, false}, multiply<float, float>,
                 CUDA_R_32F, allows_tf32(h));
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const double* alpha, const double* a, int lda,
                                         long long sa, const double* b, int ldb, long long sb, const double* beta, double* c, int ldc, long long sc, int batch) {
  return product(h, "gemm", {ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, sa, sb, sc, batch, *alpha, *beta, a, b, c, false}, multiply<double, double>,
                 CUDA_R_64F, false);
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b,
                              int ldb, const float* beta, float* c, int ldc) {
  return cublasSgemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const double* alpha, const double* a, int lda,
                              const double* b, int ldb, const double* beta, double* c, int ldc) {
  return cublasDgemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha, const void* a,
                                          cudaDataType at, int lda, long long sa, const void* b, cudaDataType bt, int ldb, long long sb, const void* beta, void* c,
                                          cudaDataType ct, int ldc, long long sc, int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (at != bt || (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32)) return CUBLAS_STATUS_NOT_SUPPORTED;
  void (*how)(const Product&) = nullptr;
  if (at == CUDA_R_16BF && ct == CUDA_R_16BF) how = multiply<uint16_t, uint16_t>;
  if (at == CUDA_R_16BF && ct == CUDA_R_32F) how = multiply<uint16_t, float>;
  if (at == CUDA_R_32F && ct == CUDA_R_32F) how = multiply<float, float>;
  if (!how) return CUBLAS_STATUS_NOT_SUPPORTED;
  return product(h, "gemmEx", {ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, sa, sb, sc, batch, scalar<float>(alpha), scalar<float>(beta), a, b, c, false},
                 how, at, at == CUDA_R_32F && (compute == CUBLAS_COMPUTE_32F_FAST_TF32 || allows_tf32(h)));
}
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha, const void* a, cudaDataType at, int lda,
                            const void* b, cudaDataType bt, int ldb, const void* beta, void* c, cudaDataType ct, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo) {
  return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1, compute, algo);
}
cublasStatus_t cublasSgemv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, const float* alpha, const float* a, int lda, const float* x, int incx, const float* beta,
                              float* y, int incy) {
  if (incy != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasSgemmStridedBatched(h, t, CUBLAS_OP_T, t == CUBLAS_OP_N ? m : n, 1, t == CUBLAS_OP_N ? n : m, alpha, a, lda, 0, x, incx, 0, beta, y, t == CUBLAS_OP_N ? m : n, 0,
                                   1);
}
cublasStatus_t cublasDgemv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, const double* alpha, const double* a, int lda, const double* x, int incx,
                              const double* beta, double* y, int incy) {
  if (incy != 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  return cublasDgemmStridedBatched(h, t, CUBLAS_OP_T, t == CUBLAS_OP_N ? m : n, 1, t == CUBLAS_OP_N ? n : m, alpha, a, lda, 0, x, incx, 0, beta, y, t == CUBLAS_OP_N ? m : n, 0,
                                   1);
}

}  // extern "C"
