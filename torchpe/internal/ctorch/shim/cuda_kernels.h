// cuda_kernels.h: the fused GPU kernels. cuda_kernels.cu is compiled by nvcc, if there is one, and
// always by the C++ compiler too, as loops over the threads of a grid (cuda_emulate.h), so that a
// machine without a GPU can test the code that a GPU runs. Both give a table of the same functions.
//
// All arrays are arguments: no function allocates, waits or reads anything back, so each may be
// captured in a CUDA graph. The order of sums depends only on sizes, without atomics, so a step
// repeats with identical bits. [E,...] arrays are dense unless there is a `..._member`, the
// distance between members in elements. A failed launch throws std::runtime_error.
#pragma once
#include <cstdint>

namespace torchpe {

struct GpuStream {
  void* stream;  // cudaStream_t; the emulation needs none
};

// A float32 without its lower 16 bits: how wide tensors are stored where operands of products are
// bfloat16. Kernels convert as they read and write; their sums are float32.
struct Bf16 {
  uint16_t bits;
};

// A [E,B,H,rows,columns] operand of attention: its address, null for none, and its strides in
// elements.
template <typename T>
struct GpuHeads {
  T* p;
  int64_t member, batch, head, row, column;
};

// u + bias, then GELU where gelu; and the backward pass. u, y, dy, du [E,rows,cols], stored as S;
// bias may be null.
template <typename T, typename S>
struct GpuDense {
  int64_t members, rows, cols;
  const S* u;  // null in the backward pass where there is no GELU
  const T* bias;
  int64_t bias_member;
  bool gelu;
  S* y;  // may be u
  // backward: dy * gelu'(u + bias), or dy, to du or du16; its column sums over chunks of rows to
  // parts [E,sum_chunks(rows),cols]. Each of the three may be null
  const S* dy;
  S* du;
  Bf16* du16;
  T* parts;
};

// Attention over at most GPU_FEW_TOKENS queries and keys, at most GPU_FEW_WIDTH wide; both passes.
// columns are dense but those of bias.
constexpr int GPU_FEW_TOKENS = 32, GPU_FEW_WIDTH = 256;
template <typename T, typename S>
struct GpuAttention {
  int64_t members, batch, heads;
  int N, M, D, Dv;
  double scale;
  GpuHeads<const S> q, k, v, dout;
  GpuHeads<const T> bias;
  // One row [E,1,H,1,width] each, added to all of q, k, v as they are read; null for none.
  GpuHeads<const T> q_bias, k_bias, v_bias;
  GpuHeads<S> out, dq, dk, dv;
  GpuHeads<T> dq_sum, dk_sum, dv_sum;  // sums of dq, dk, dv over their tokens, one row [E,B,H,1,width]; null for none
};

// A chunk of rows whose gradients are summed together: `rows` rows of one token, so that sums over
// chunks also give a table's gradient. Without a table all rows count as one token.
struct GpuNormCut {
  int64_t tokens, rows, of_token;  // of_token: chunks
  int64_t chunks() const { return tokens * of_token; }
};

// Layer norm of x + f(y + y_bias), f GELU where gelu, else nothing; and its backward pass.
// [E,rows,cols] are x, y, xhat, out, dout, ds, dy; [E,cols] the biases and the gain; [E,rows] rstd.
// y and y_bias may be null, y of the backward pass where not gelu.
template <typename T, typename S>
struct GpuNorm {
  int64_t members, rows, cols;
  const T* x;
  const S* y;
  const T* y_bias;
  int64_t y_bias_member;
  bool gelu;
  const T *gain, *bias;
  int64_t gain_member, bias_member;
  double eps;
  S* xhat;  // for the backward pass, with rstd, or null
  T* rstd;
  const T* table;  // [E,tokens,cols], added to out: row r is of token r % tokens; or null
  int64_t table_member;
  T* out;
  Bf16* out16;  // the same again, for products, or null
  // backward
  const T* dout;
  T* ds;      // the gradient of x
  S* dy;      // of y, null where that is ds
  int sums;   // 2, or 3
  T* parts;  // sums over the chunks of `cut` [E,chunks,sums,cols]: of the gradients of gain and bias, and of y
  GpuNormCut cut;
};

// into[i][e,c] = or += the sum over chunks of parts[e,chunk,i,c], for i < count: parts
// [E,chunks,...], chunks part_row apart.
template <typename T>
struct GpuSums {
  int64_t members, chunks, cols, part_row;
  int count;
  const T* parts;
  T* into[3];
  int64_t into_member[3];
  bool first[3];  // =
};

// One Adam step: rows of p, g, m, v [E,P] and of settings [E,6] start this many elements apart.
template <typename T>
struct GpuAdam {
  int64_t members, count;
  T* p;
  const T* g;
  T *m, *v;
  int64_t p_member, g_member, m_member, v_member;
  const double* settings;  // lr, weight decay, gradient scale, active, 1 - beta1^t, sqrt(1 - beta2^t)
  int64_t settings_member;
  double beta1, beta2, eps;
  bool decoupled;
};

// What Account adds up: state has five rows of `members` numbers. correct may be null.
template <typename T>
struct GpuAccount {
  int64_t members;
  const T* each;
  const double* correct;
  double examples;
  const int64_t* step;
  double* state;
};

constexpr int64_t GPU_NORM_WIDTH = 4096;  // rows of layer norm may be this long

constexpr int64_t GPU_FEW_CLASSES = 128;  // a thread goes through the logits of a row

// What reads and writes wide tensors, stored as S: T, or Bf16 with T float.
template <typename T, typename S>
struct GpuWideTable {
  void (*bias_gelu)(GpuStream s, const GpuDense<T, S>& a);
  void (*dense_backward)(GpuStream s, const GpuDense<T, S>& a);
  void (*add_layer_norm)(GpuStream s, const GpuNorm<T, S>& a);
  void (*layer_norm_backward)(GpuStream s, const GpuNorm<T, S>& a);
  // out = softmax(scale q k^T + bias) v, and the gradients that are not null; logits never leave
  // the multiprocessor
  void (*attention)(GpuStream s, const GpuAttention<T, S>& a);
  void (*attention_backward)(GpuStream s, const GpuAttention<T, S>& a);
};

template <typename T>
struct GpuTable {
  void (*add_sums)(GpuStream s, const GpuSums<T>& a);
  void (*adam)(GpuStream s, const GpuAdam<T>& a);
  void (*sgd)(GpuStream s, const GpuAdam<T>& a);  // m and v are not used
  void (*account)(GpuStream s, const GpuAccount<T>& a);
  // Of logits z [E,B,C] and classes target [E,B]: the mean cross-entropy [E] (NaN where a class is
  // none of the C), its gradient times g [E], and in how many rows the first of the largest logits,
  // or of NaNs, is the target's
  void (*cross_entropy)(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target, T* loss);
  void (*cross_entropy_backward)(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target,
                                 const T* g, int64_t g_member, T* dz);
  void (*right_answers)(GpuStream s, int64_t E, int64_t B, int64_t C, const T* z, const int64_t* target, double* right);
  // y = x / (1-p) where the draw of (seed, step, call) is not below threshold, else 0. x [E,n];
  // draws: step, then E seeds
  void (*dropout)(GpuStream s, int64_t E, int64_t n, const T* x, const int64_t* draws, uint64_t call,
                  uint32_t threshold, double keep, T* y);
};

// Columns are summed over chunks of this many rows: at least `least`, and a multiple of 8 that
// makes at most most_chunks of them. It follows from the rows alone, so that no result depends on
// the GPU.
inline int64_t gpu_chunk_rows(int64_t rows, int64_t least, int64_t most_chunks) {
  const int64_t per = (rows + most_chunks - 1) / most_chunks;
  return per <= least ? least : (per + 7) / 8 * 8;
}
inline int64_t sum_chunk_rows(int64_t rows) { return gpu_chunk_rows(rows, 64, 128); }
inline int64_t sum_chunks(int64_t rows) { return (rows + sum_chunk_rows(rows) - 1) / sum_chunk_rows(rows); }
inline GpuNormCut norm_cut(int64_t rows, int64_t tokens) {
  const int64_t each = rows / tokens, per = gpu_chunk_rows(each, 32, tokens < 256 ? 256 / tokens : 1);
  return {tokens, per, (each + per - 1) / per};
}

namespace compiled {  // there where TORCHPE_CUDA_KERNELS is defined
template <typename T>
const GpuTable<T>& table();
template <typename T, typename S>
const GpuWideTable<T, S>& wide_table();
}
namespace emulated {
template <typename T>
const GpuTable<T>& table();
template <typename T, typename S>
const GpuWideTable<T, S>& wide_table();
}

}  // namespace torchpe
