// heads.h: shared by the operators of attention.
#pragma once
#include "cuda_kernels.h"
#include "fused.h"

namespace torchpe {

// Above this many multiplications a head, BLAS computes each head's product, and the loops of
// attention_fused.cc compute attention as a whole.
constexpr int64_t SMALL_PRODUCT = 64 * 64 * 64;

// A [E,B,H,R,C] tensor whose last axis is dense, as the loops read it.
template <typename T>
struct Heads {
  explicit Heads(const at::Tensor& t) : p(t.data_ptr<T>()), s(t.strides()) {
    B = t.size(1);
    H = t.size(2);
  }
  T* at(int64_t i) const {  // i counts heads over all members and puzzles
    const int64_t h = i % H, b = (i / H) % B, e = i / (H * B);
    return p + e * s[0] + b * s[1] + h * s[2];
  }
  int64_t row() const { return s[3]; }
  T* p;
  at::IntArrayRef s;
  int64_t B, H;
};

// Products a b^T of small matrices: rows of b are turned into columns, padded to whole vectors.
template <typename T>
class TransposedProduct {
 public:
  // c [R,M] of a [R,K] and b [M,K].
  TransposedProduct(int64_t R, int64_t K, int64_t M)
      : R_(R), K_(K), M_(M), padded_(up(M, Arena<T>::LINE)), arena_((K + R) * padded_ + 2 * Arena<T>::LINE),
        bt_(arena_.take(K * padded_)), out_(arena_.take(R * padded_)) {
    std::fill_n(bt_, K * padded_, T(0));
  }
  int64_t padded() const { return padded_; }
  // c = alpha a b^T; rows are lda, ldb and ldc apart. Where ldc is padded(), zeros follow a row.
  void run(const T* a, int64_t lda, const T* b, int64_t ldb, T alpha, T* c, int64_t ldc) {
    const bool direct = ldc == padded_;
    T* const out = direct ? c : out_;
    kernels<T>().transpose(M_, K_, b, ldb, bt_, padded_);
    kernels<T>().small_product(R_, K_, padded_, a, lda, 1, bt_, padded_, alpha, out, padded_, false);
    if (!direct)
      for (int64_t r = 0; r < R_; r++) std::memcpy(c + r * ldc, out + r * padded_, size_t(M_) * sizeof(T));
  }

 private:
  int64_t R_, K_, M_, padded_;
  Arena<T> arena_;
  T *bt_, *out_;
};

inline at::Tensor dense_rows(const at::Tensor& t) { return t.stride(-1) == 1 || t.size(-1) == 1 ? t : t.contiguous(); }

// An empty [E,B,H,N,D] that lies in memory as [E,B,N,H,D], so that merging heads copies nothing.
inline at::Tensor empty_tokens_first(int64_t E, int64_t B, int64_t H, int64_t N, int64_t D,
                                     const at::TensorOptions& o) {
  return at::empty({E, B, N, H, D}, o).permute({0, 1, 3, 2, 4});
}

inline at::Tensor empty_tokens_first_like(const at::Tensor& t) {
  return empty_tokens_first(t.size(0), t.size(1), t.size(2), t.size(3), t.size(4), t.options());
}

// Where a backward pass of attention writes the gradients of its inputs 0 to 2, queries, keys and values
// [E,B,H,N,D]: undefined where they are not wanted. Where "tokens" x [E,B,M,D] are the keys, and values where
// "one" tensor is both, their gradients are added to grads[1], which came back through x and may be undefined.
struct AttentionGradients {
  AttentionGradients(torch::autograd::AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                     const at::Tensor& v, const torch::autograd::variable_list& grads)
      : add_dk(grads.size() > 1 && grads[1].defined()), add_dv(ctx->saved_data["one"].toBool()) {
    if (add_dk) of_1 = grads[1].is_alias_of(grads[0]) ? grads[1].clone() : grads[1].contiguous();
    if (ctx->needs_input_grad(0)) dq = empty_tokens_first_like(q);
    if (ctx->needs_input_grad(1)) {
      const bool tokens = ctx->saved_data["tokens"].toBool();
      if (tokens && !add_dk) of_1 = at::empty(k.squeeze(2).sizes(), k.options());
      dk = tokens ? of_1.unsqueeze(2) : of_1 = empty_tokens_first_like(k);
    }
    if (add_dv)
      dv = dk;
    else if (ctx->needs_input_grad(2))
      of_2 = dv = empty_tokens_first_like(v);
  }
  at::Tensor dq, dk, dv, of_1, of_2;  // of_1 and of_2: what autograd gets as those of inputs 1 and 2
  bool add_dk, add_dv;                // to what is there; dk comes first
};

// The index [E,B,M,D] of the tokens `read` [E,B,M], for gather, and those tokens of x [E,B,N,D].
inline at::Tensor token_index(const at::Tensor& read, int64_t D) {
  return read.unsqueeze(-1).expand({read.size(0), read.size(1), read.size(2), D});
}
at::Tensor tokens_of(const at::Tensor& x, const at::Tensor& read);

inline void check_heads(const char* what, const at::Tensor& a, const at::Tensor& b, bool same_width) {
  TORCH_CHECK(a.dim() == 5 && b.dim() == 5 && a.size(0) == b.size(0) && a.size(1) == b.size(1) &&
                  a.size(2) == b.size(2) && (same_width ? a.size(4) == b.size(4) : a.size(4) == b.size(3)),
              what, " of ", a.sizes(), " and ", b.sizes(), "; expected [E,B,H,N,",
              same_width ? "Dh] and [E,B,H,M,Dh]" : "M] and [E,B,H,M,Dh]");
  check_same(what, a, b);
}

// Whether attention of N queries, D wide, over M keys with values Dv wide is one kernel on a GPU.
// Its arithmetic, on any device, is that of the type; the products of more tokens follow
// tp_set_precision.
inline bool few_tokens(int64_t N, int64_t M, int64_t D, int64_t Dv) {
  return N <= GPU_FEW_TOKENS && M <= GPU_FEW_TOKENS && D <= GPU_FEW_WIDTH && Dv <= GPU_FEW_WIDTH;
}

// softmax(scale q k^T + bias) v for small heads in the loops; bias [E,B,H,N,M] with dense rows, or empty.
at::Tensor attention_of_few(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias,
                            double scale);
// The same, and of many, of one head where x [E,B,M,D] are keys, and values where v is not given; bias without
// a gradient. Returns it [E,B,1,N,D], and x for the residual sum: the gradients of x as keys and values are
// added to that which comes back through it.
torch::autograd::variable_list attention_over_few(const at::Tensor& q, const at::Tensor& x, const at::Tensor& v,
                                                  const at::Tensor& bias, double scale);
torch::autograd::variable_list attention_over(const at::Tensor& q, const at::Tensor& x, const at::Tensor& v,
                                              const at::Tensor& bias, double scale);

// x[..,n,index[n,m]] of each head of x [E,B,H,N,R] in the loops. index [E,B,H,N,M] is the same for all
// heads: one_for_all_heads says whether it is, and the loops take x.
bool one_for_all_heads(const at::Tensor& x, const at::Tensor& index);
at::Tensor gather_pairs(const at::Tensor& x, const at::Tensor& index);

// The operators AttentionLogits and AttentionValues, for others to be composed of.
at::Tensor attention_logits(const at::Tensor& q, const at::Tensor& k, double scale);
at::Tensor attention_values(const at::Tensor& w, const at::Tensor& v);

}  // namespace torchpe
