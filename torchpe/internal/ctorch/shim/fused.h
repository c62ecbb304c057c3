// fused.h: shared by the fused operators. Each has up to three forms: hand-written CPU loops with
// their own backward pass; the kernels of cuda_kernels.cu for GPUs (gpu.h); and a composition of
// libtorch operators for everything else, with which tests compare the other forms.
#pragma once
#include <ATen/Parallel.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "handles.h"
#include "kernels.h"

namespace torchpe {

// What tp_set_fused chose: 0 composed, 1 the CPU's loops and the GPU's kernels, 2 the GPU's kernels
// on the CPU too.
int fused_form();

// The loops serve dense float32 and float64 on the CPU.
inline bool use_loops(const at::Tensor& t) {
  return fused_form() == 1 && t.device().is_cpu() && (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble);
}

inline void check_same(const char* what, const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type() && a.device() == b.device(), what, ": dtype ", a.scalar_type(), " on ",
              a.device(), " with ", b.scalar_type(), " on ", b.device());
}

// An operand that may be missing is an empty tensor then: autograd functions of libtorch 1.13 take
// no undefined ones.
inline bool given(const at::Tensor& t) { return t.numel() > 0; }

// DISPATCH runs body with T = float or double, whichever x holds.
#define TORCHPE_DISPATCH(x, ...)       \
  do {                                 \
    if ((x).scalar_type() == at::kFloat) { \
      using T = float;                 \
      (__VA_ARGS__)();                 \
    } else {                           \
      using T = double;                \
      (__VA_ARGS__)();                 \
    }                                  \
  } while (0)

// While one of these lives, the loops take numbers below the smallest normal one (1e-38) for zeros:
// each costs a CPU a hundred times as much as another number, and saturated softmaxes make tensors
// full of them. It restores the thread's own setting at its end, because Go runs on the thread too.
class FlushDenormals {
#if defined(__x86_64__)
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // flush to zero, denormals are zero
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;

 private:
  unsigned before_;
#elif defined(__aarch64__)
 public:
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | uint64_t(1) << 24));  // flush to zero
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
  FlushDenormals(const FlushDenormals&) = delete;

 private:
  uint64_t before_;
#endif
};

// at::parallel_for for the loops.
template <typename F>
void in_parallel(int64_t begin, int64_t end, int64_t grain, const F& f) {
  at::parallel_for(begin, end, grain, [&](int64_t a, int64_t b) {
    [[maybe_unused]] const FlushDenormals flush;
    f(a, b);
  });
}

// Calls f(e, alone) for each of E members, several at once where that keeps all threads busy. alone says
// that f has one thread to itself, and its loops must not start others.
template <typename F>
void for_members(int64_t E, const F& f) {
  const int64_t threads = at::get_num_threads(), rounds = (E + threads - 1) / threads;
  const bool at_once = threads > 1 && rounds * threads * 7 <= E * 8;  // an eighth of their time may be idle
  at::parallel_for(0, E, at_once ? 1 : E, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; e++) f(e, at_once || threads == 1);
  });
}

constexpr int64_t up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Arena holds a thread's blocks and packed operands, and hands them out in whole cache lines: vectors
// that cross one cost twice as much.
template <typename T>
class Arena {
 public:
  static constexpr int64_t LINE = 64 / int64_t(sizeof(T));
  explicit Arena(int64_t n) : memory_(new T[size_t(n + LINE)]) {
    next_ = memory_.get();
    next_ += (64 - reinterpret_cast<uintptr_t>(next_) % 64) % 64 / sizeof(T);
  }
  T* take(int64_t n) {
    T* p = next_;
    next_ += up(n, LINE);
    return p;
  }

 private:
  std::unique_ptr<T[]> memory_;
  T* next_;
};

// Rows are worked on in chunks of fixed size, whose partial sums are added in order: the result
// does not depend on the number of threads.
constexpr int64_t ROW_CHUNK = 96;

template <typename F>
void for_row_chunks(int64_t rows, F&& f) {
  const int64_t chunks = (rows + ROW_CHUNK - 1) / ROW_CHUNK;
  in_parallel(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) f(c, c * ROW_CHUNK, std::min(rows, (c + 1) * ROW_CHUNK));
  });
}

// Adds to `into` the `width` column sums that f(first row, last row, sums) collects of each chunk.
template <typename T, typename F>
void for_row_chunks_summing(int64_t rows, int64_t width, T* into, F&& f) {
  const int64_t chunks = (rows + ROW_CHUNK - 1) / ROW_CHUNK;
  std::vector<T> parts(size_t(chunks * width), T(0));
  for_row_chunks(rows, [&](int64_t c, int64_t begin, int64_t end) { f(begin, end, parts.data() + c * width); });
  for (int64_t c = 0; c < chunks; c++)
    for (int64_t i = 0; i < width; i++) into[i] += parts[size_t(c * width + i)];
}

// Whether each member's part of t [E,...] is dense, as the loops read and write it; members may lie
// apart.
inline bool members_dense(const at::Tensor& t) {
  int64_t next = 1;  // the stride of a dense axis
  for (int64_t d = t.dim() - 1; d > 0; next *= t.size(d), d--)
    if (t.size(d) != 1 && t.stride(d) != next) return t.numel() == 0;
  return true;
}

inline at::Tensor dense_members(const at::Tensor& t) { return members_dense(t) ? t : t.contiguous(); }

// The numbers of member e.
template <typename T>
T* member(const at::Tensor& t, int64_t e) {
  return t.data_ptr<T>() + e * t.stride(0);
}

// The same; null where there are none.
template <typename T>
T* member_or_null(const at::Tensor& t, int64_t e) {
  return t.defined() && given(t) ? member<T>(t, e) : nullptr;
}

// Where the gradient of parameter w goes: straight into its own gradient buffer where it is a leaf
// that has one (the flat buffer of a ParamSet), which saves a pass over all parameters; else into a
// new tensor that is handed to autograd.
struct GradTarget {
  at::Tensor into;
  bool own = false;    // into is the leaf's buffer: hand nothing to autograd
  bool first = false;  // into holds nothing yet: write all of it; else add
  GradTarget columns(int64_t from, int64_t count) const {
    return {into.defined() ? into.narrow(1, from, count) : into, own, first};
  }
  at::Tensor result() const { return own ? at::Tensor() : into; }
};

// Numbers below this are dropped: a share p of all 32-bit numbers.
inline uint32_t dropout_threshold(double p) { return uint32_t(std::min(p * 4294967296.0, 4294967295.0)); }

// Says whether ZeroGradients has declared the gradient buffer of leaf w empty and nothing has
// written to it since (gradients.cc); from then on it is not: the caller writes it.
bool take_empty(const at::Tensor& w);

// Lets autograd add gradients of a leaf to a buffer that counts as empty.
void fill_before_accumulation(const at::Tensor& leaf);

inline bool has_buffer(const at::Tensor& w) { return w.is_leaf() && w.grad().defined() && members_dense(w.grad()); }

// For a gradient that is added to what is there.
inline GradTarget grad_target(const at::Tensor& w) {
  if (!has_buffer(w)) return {at::zeros(w.sizes(), w.options().requires_grad(false)), false, false};
  if (take_empty(w)) w.grad().zero_();
  return {w.grad(), true, false};
}

// For one that may be the first: the caller then writes all of it.
inline GradTarget write_target(const at::Tensor& w) {
  if (!has_buffer(w)) return {at::empty(w.sizes(), w.options().requires_grad(false)), false, true};
  return {w.grad(), true, take_empty(w)};
}

// What a linear map or layer norm inside a transformer's block stores as bfloat16 on a GPU, where
// that is the precision of products (block_cuda.cc). The CPU's loops round the same numbers.
enum class Stored {
  nothing,
  result,   // of the product, before bias and GELU
  gradient  // that, and the gradient of x
};

// The operators as functions, for composed forms; they heed whether gradients are on. b and y may be
// empty, attention's bias and x16 (gpu.h) undefined.
at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu,
                  Stored stored = Stored::nothing);
// Tokens that share rows: token n of sample b is all[e, index[e,b,n], n] + values[e,b,n] slope[e], all [E,S,N,D],
// index int64 [E,B,N], values [E,B,N] and slope [E,D]. all is undefined where there are none, values and slope
// are empty where they are not given.
struct TokenRows {
  at::Tensor all, index, values, slope;
  bool given() const { return all.defined(); }
};
// The weights [E,3D,D] and biases of a projection to queries, keys and values; x16: gpu.h. The projected
// tokens are those of rows where these are given.
struct Projection {
  at::Tensor x16, w, b;
  int64_t heads;
  TokenRows rows;
};
// Some of queries, keys and values, which are parts 0, 1 and 2.
struct Parts {
  int64_t first, count;
};
// Returns these parts of the projection of x, and x for the residual sum behind it: the loops add the
// gradient of x to the one that comes back through that, for which autograd makes another pass.
torch::autograd::variable_list project(const at::Tensor& x, const Projection& p, Parts parts = {0, 3},
                                       Stored stored = Stored::nothing);
// Likewise x w^T + b [E,B,1,N,D] in the loops, w [E,D,D].
torch::autograd::variable_list map_in_loops(const at::Tensor& x, const TokenRows& rows, const at::Tensor& w,
                                            const at::Tensor& b);
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias,
                     double scale);
at::Tensor softmax(const at::Tensor& x);  // along the last axis
// Gain and bias [E,D]; and a table [E,N,D] that is added to the result [E,B,N,D], or an empty tensor.
struct NormOperands {
  at::Tensor gain, bias, table;
  double eps;
};
struct Normed;
Normed add_layer_norm(const at::Tensor& x, const at::Tensor& y, const NormOperands& n,
                      Stored stored = Stored::nothing);

}  // namespace torchpe
