// kernels.h: fused CPU loops. kernels.cc is compiled once per instruction set; table<T>() selects
// the best one for the CPU. All arrays are dense in their last axis; strides count elements.
#pragma once
#include <cstdint>

namespace torchpe {

// The right operand B [K,C] of a product, in panels of columns `panel` elements apart whose rows are
// `row` apart.
template <typename T>
struct Panels {
  const T* data;
  int64_t row, panel;
};

// Rows of numbers, one for each of `tokens` in turn; none where rows is null.
template <typename T>
struct Table {
  const T* rows;
  int64_t tokens, first;
  Table from(int64_t row) const { return {rows, tokens, row % tokens}; }
};

template <typename T>
struct KernelTable {
  // u += bias (bias may be null); y = gelu(u); u = gelu'(u), which is what the backward pass needs
  void (*bias_gelu)(int64_t rows, int64_t cols, T* u, const T* bias, T* y);
  // the same without keeping the derivative: u = gelu(u + bias)
  void (*bias_gelu_only)(int64_t rows, int64_t cols, T* u, const T* bias);
  // u += bias
  void (*add_bias)(int64_t rows, int64_t cols, T* u, const T* bias);
  // du = dy * slope; dbias += column sums of du
  void (*gelu_backward)(int64_t rows, int64_t cols, const T* slope, const T* dy, T* du, T* dbias);
  // out += column sums of x
  void (*column_sum)(int64_t rows, int64_t cols, const T* x, T* out);
  // s = x + y (y may be null); xhat = (s - mean)/std; out = xhat * gain + bias + table. xhat and rstd
  // may be null
  void (*add_layer_norm)(int64_t rows, int64_t cols, const T* x, const T* y, const T* gain, const T* bias, T eps,
                         Table<T> table, T* xhat, T* rstd, T* out);
  // ds from dout; dgain, dbias += column sums
  void (*layer_norm_backward)(int64_t rows, int64_t cols, const T* xhat, const T* rstd, const T* gain, const T* dout,
                              T* ds, T* dgain, T* dbias);
  // C[r,c] = alpha * sum_k A[r*ars + k*acs] * B[k*ldb + c], or C += where add, for small sizes; C's
  // rows are ldc apart
  void (*small_product)(int64_t R, int64_t K, int64_t C, const T* a, int64_t ars, int64_t acs, const T* b, int64_t ldb,
                        T alpha, T* c, int64_t ldc, bool add);
  // C[r,c] = sum_k A[r*ars + k*acs] * B[k,c], or C += where add
  void (*product)(int64_t R, int64_t K, int64_t C, const T* a, int64_t ars, int64_t acs, Panels<T> b, T* c, int64_t ldc,
                  bool add);
  // t[k*P + c] = b[c*bcs + k] for c < n and k < K; behind n, up to a whole vector, 0 or as it was
  void (*transpose)(int64_t n, int64_t K, const T* b, int64_t bcs, T* t, int64_t P);
  // B[k,c] = b[k*brs + c*bcs] for products of R rows: as it lies, where that is faster, else copied
  // into `memory` of packed_size(K, C) elements, zeros behind the last column
  Panels<T> (*pack)(int64_t R, int64_t K, int64_t C, const T* b, int64_t brs, int64_t bcs, T* memory);
  int64_t panel;  // columns of one
  // pairs (x[2k], x[2k+1]), or (x[k], x[k+D/2]), turned by the angles; sign = -1 turns back
  void (*rotate)(int64_t D, const T* x, const T* cos, const T* sin, int half, T sign, T* out);
  // e = exp(l - most) with the logits l = scale * s + bias (bias may be null) in the place of s,
  // and of each row its largest logit and 1 / the sum of e. Rows of s are `lds` apart and have room
  // for whole vectors, those of bias `ldb`
  void (*softmax)(int64_t rows, int64_t cols, T* s, int64_t lds, T scale, const T* bias, int64_t ldb, T* most, T* over);
  // w = e * over in the place of s, and scale * w * (dw - dots) in the place of dw, laid out like s;
  // e, laid out like s too, is made of s anew where it is null
  void (*softmax_backward)(int64_t rows, int64_t cols, T* s, T* dw, int64_t lds, const T* e, T scale, const T* bias,
                           int64_t ldb, const T* most, const T* over, const T* dots);
  // y = the softmax of each row of x
  void (*softmax_rows)(int64_t rows, int64_t cols, const T* x, T* y);
  // dx = y * (dy - the sum of y * dy over the row)
  void (*softmax_rows_backward)(int64_t rows, int64_t cols, const T* y, const T* dy, T* dx);
  // x[r,c] *= by[r]
  void (*scale_rows)(int64_t rows, int64_t cols, T* x, int64_t ldx, const T* by);
  // out[r] = sum_c a[r,c] * b[r,c]
  void (*row_dots)(int64_t rows, int64_t cols, const T* a, int64_t lda, const T* b, int64_t ldb, T* out);
  // out += by * x
  void (*add_scaled)(int64_t n, const T* x, T by, T* out);
  // one Adam step on n parameters
  void (*adam)(int64_t n, T* p, const T* g, T* m, T* v, const struct AdamStep& s);
  const char* name;
};

struct AdamStep {
  double lr, weight_decay, scale, beta1, beta2, eps;
  double correction1, correction2_root;  // 1 - beta1^t, sqrt(1 - beta2^t)
  bool decoupled;
};

template <typename T>
const KernelTable<T>& kernels();

template <typename T>
int64_t packed_size(int64_t K, int64_t C) {
  const int64_t panel = kernels<T>().panel;
  return (C + panel - 1) / panel * panel * K;
}

}  // namespace torchpe
